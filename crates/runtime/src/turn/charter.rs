//! Builds the charter of a turn from the definition of its agent.
//!
//! Must never: keep state between turns; an agent is read when a turn begins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentry_agentfile::agent::{Agent, ExcludedTool, Persona};
use agentry_agentfile::approval_rule::ApprovalRule;
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::{FileContent, FileTree, FileTreeEntry};
use agentry_agentfile::source::Origin;
use agentry_agentfile::tool_access::{self, ToolAccess};
use agentry_kernel::authority::{self, Authority, CallDirectories};
use agentry_kernel::charter::Charter;
use agentry_kernel::confinement::DroppedSetting;
use agentry_kernel::prompt::{self, PromptSources, TemplateIds};
use agentry_kernel::template::TemplateOutcome;
use agentry_protocol::confinement::Confinement;
use agentry_protocol::event::Mode;
use agentry_protocol::hook::{HookMoment, TurnShape};
use agentry_protocol::tool_call::ToolSpec;

use crate::canonical_json::canonical;
use crate::definitions::confinement;
use crate::definitions::{Definitions, persona};
use crate::error::Error;
use crate::host::tool_registry::{ToolRegistry, TurnToolset};
use crate::host::tool_source::{ToolGrant, ToolScope};
use crate::programs;
use crate::run_request::RunSettings;

/// Builds the charter of a turn for an agent, within a step of a task if the scope has one.
pub(crate) fn of_scope(
    scope: &ToolScope<'_>,
    tools: &ToolRegistry,
    terms: &RunSettings,
    moment: &TemplateIds<'_>,
) -> Result<Charter, Error> {
    let ToolScope { definitions, agent, .. } = *scope;
    let toolset = tools.toolset(scope)?;
    let (confinement, _) = confinement::of_agent(definitions, agent, terms.bounds.as_ref())?;
    let mut authority = definitions.authority(scope, &toolset, confinement);
    authority.bounds.clone_from(&terms.bounds);
    shape(&mut authority, &toolset, &terms.shaping);
    let worn = terms.shaping.persona.as_deref().or(terms.persona.as_deref());
    let persona = persona(agent, worn)?;
    let system = definitions.system_prompt(scope, persona, moment, &terms.shaping)?;
    let tools = offered(&authority);
    let charter = Charter {
        agent: agent.id.clone(),
        agent_hash: agent.hash.clone(),
        model: terms.shaping.model.as_deref().unwrap_or(&terms.model).into(),
        temperature: agent.models.temperature.as_ref().map(|one| one.value),
        max_tokens: agent.models.max_tokens.as_ref().map(|one| one.value),
        system: system.into(),
        tools: tools.into(),
        mode: if authority.may_be_autonomous() { terms.mode } else { Mode::Supervised },
        authority,
        limits: terms.limits,
        check: terms.check.clone(),
        hooks: programs::hooks(agent).filter(|hook| is_inside(hook.moment)).cloned().collect(),
    };
    // Parsed back from its recorded form, because the ledger is the authority.
    let recorded = canonical(serde_json::to_value(&charter).expect("a charter is plain JSON"));
    Ok(serde_json::from_value(recorded).expect("a charter is read as it was written"))
}

impl Definitions {
    /// Returns the directory of an agent, without links.
    pub fn directory(&self, agent: &Agent) -> PathBuf {
        confinement::directory(self, agent)
    }

    /// Returns an agent's confinement for the owner, and the requested settings that were dropped.
    pub fn confinement(&self, agent: &Agent) -> Result<(Confinement, Vec<DroppedSetting>), Error> {
        confinement::of_agent(self, agent, None)
    }

    /// Reads the tool-access file. An agent that no longer loads may call no tool.
    pub(crate) fn access_now(&self, charter: &Charter) -> ToolAccess {
        let Some(agent) = self.library.agents.get(charter.agent.as_str()) else {
            let why = format!("the agent `{}` does not load any more", charter.agent);
            let broken = Some(Origin::named(why));
            return ToolAccess { broken, ..charter.authority.access.clone() };
        };
        let directory = &agent.directory;
        let mut tree = FileTree::new(directory.as_str());
        for file in tool_access::FILES {
            match std::fs::read(Path::new(directory).join(file)) {
                Ok(bytes) => tree.insert(file, FileTreeEntry::File(FileContent::new(bytes, false))),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                // The file exists and is unreadable: it must not count as absent.
                Err(_) => {
                    tree.insert(file, FileTreeEntry::File(FileContent::new(Vec::new(), false)))
                }
            }
        }
        tool_access::read(&tree, &[], &self.environment, &mut Findings::default())
    }

    fn authority(
        &self,
        scope: &ToolScope<'_>,
        toolset: &TurnToolset,
        confinement: Confinement,
    ) -> Authority {
        let listed: Vec<ToolSpec> = toolset.granted(ToolGrant::Listed).cloned().collect();
        let ToolScope { agent, step, .. } = *scope;
        let mut authority = authority::of_agent(agent, &self.library, &listed, step, confinement);
        authority.place = CallDirectories {
            workspace: self.workspace.display().to_string(),
            home: self.home.clone(),
        };
        for spec in toolset.granted(ToolGrant::Inherent) {
            add_inherent(&mut authority, spec);
        }
        authority
    }

    fn system_prompt(
        &self,
        scope: &ToolScope<'_>,
        persona: Option<&Persona>,
        moment: &TemplateIds<'_>,
        shaping: &TurnShape,
    ) -> Result<String, Error> {
        let agent = scope.agent;
        let template = match prompt::template_request(agent, persona, moment) {
            Some(request) => {
                let mut renderer = self.renderer.lock().unwrap_or_else(|one| one.into_inner());
                let outcome = renderer.render(&request).map_err(|error| {
                    Error::Definition(format!("the template process does not start: {error}"))
                })?;
                match outcome {
                    TemplateOutcome::Rendered { text, .. } => Some(text),
                    TemplateOutcome::Syntax { message, .. }
                    | TemplateOutcome::Failed { message, .. } => {
                        let why =
                            format!("the template of `{}` does not render: {message}", agent.id);
                        return Err(Error::Definition(why));
                    }
                    TemplateOutcome::Budget { what } => {
                        let why = format!("the template of `{}` exceeds a limit: {what}", agent.id);
                        return Err(Error::Definition(why));
                    }
                }
            }
            None => None,
        };
        let prompt = prompt::assemble(&PromptSources {
            agent,
            persona,
            skills: scope.skills(),
            template: template.as_deref(),
            hook_output: appended(shaping).as_deref(),
        });
        Ok(self.redactor.hide(&prompt.text()))
    }
}

/// Returns the text that hooks add to the system prompt, each part under its program's name.
fn appended(shaping: &TurnShape) -> Option<String> {
    let texts = shaping.appended.iter();
    let texts: Vec<String> =
        texts.map(|one| format!("# From {}\n\n{}", one.program, one.text)).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// True if a hook of this moment runs within a turn.
fn is_inside(moment: HookMoment) -> bool {
    match moment {
        HookMoment::AfterToolCall
        | HookMoment::PreToolUse
        | HookMoment::PostToolUse
        | HookMoment::Stop => true,
        HookMoment::OnConversationStart
        | HookMoment::BeforeInference
        | HookMoment::SessionStart
        | HookMoment::UserPromptSubmit
        | HookMoment::PreCompact
        | HookMoment::SessionEnd => false,
    }
}

/// Returns the tools that a model sees: the agent's tools without those that the step or the bounds
/// of the sender exclude.
fn offered(authority: &Authority) -> Vec<ToolSpec> {
    let list = authority.scope.as_ref().and_then(|scope| scope.tools.as_ref());
    let in_scope = |spec: &&ToolSpec| list.is_none_or(|names| names.contains(&spec.name));
    let in_bounds = |spec: &&ToolSpec| authority.is_offered(&spec.name);
    authority.tools.iter().filter(in_scope).filter(in_bounds).cloned().collect()
}

/// Adds a tool that no list names: to all scopes, with a rule that allows it without approval.
fn add_inherent(authority: &mut Authority, spec: &ToolSpec) {
    authority.known.push(spec.name.clone());
    authority.tools.push(spec.clone());
    let rule = || ApprovalRule {
        subject: spec.name.as_str().to_owned(),
        allow: true,
        when: BTreeMap::new(),
        examples: Vec::new(),
        origin: Origin::named("built-in"),
    };
    for scope in authority.scope.iter_mut().chain(authority.skills.values_mut()) {
        scope.tools.iter_mut().for_each(|tools| tools.push(spec.name.clone()));
        scope.rules.iter_mut().for_each(|rules| rules.push(rule()));
    }
    authority.agent_rules.push(rule());
}

/// Applies the tools that hooks added and removed to the authority of a turn.
fn shape(authority: &mut Authority, toolset: &TurnToolset, shaping: &TurnShape) {
    for name in &shaping.additions {
        let spec = toolset.granted(ToolGrant::Listed).find(|spec| spec.name == *name);
        authority.tools.extend(spec.cloned());
    }
    for name in &shaping.removals {
        authority.tools.retain(|spec| spec.name != *name);
        authority.left_out.retain(|one| one.name != name.as_str());
        authority.left_out.push(ExcludedTool {
            name: name.as_str().to_owned(),
            why: "a hook removed it for this turn".to_owned(),
            origin: Origin::named("hook"),
            switched_off: false,
        });
    }
}
