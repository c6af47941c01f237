//! Builds the charter of a turn from the definition of its agent.
//!
//! Must never: keep state between turns; an agent is read when a turn begins.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentry_agentfile::agent::{Agent, ExcludedTool, Persona};
use agentry_agentfile::approval_rule::ApprovalRule;
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::{FileContent, FileTree, FileTreeEntry};
use agentry_agentfile::skill::{Skill, SkillForm};
use agentry_agentfile::source::Origin;
use agentry_agentfile::task::Task;
use agentry_agentfile::tool_access::{self, ToolAccess};
use agentry_kernel::authority::{self, Authority, CallDirectories};
use agentry_kernel::charter::Charter;
use agentry_kernel::confinement::DroppedSetting;
use agentry_kernel::prompt::{self, PromptSources, TemplateIds};
use agentry_kernel::template::TemplateOutcome;
use agentry_protocol::AgentId;
use agentry_protocol::confinement::Confinement;
use agentry_protocol::event::Mode;
use agentry_protocol::hook::{HookMoment, TurnShape};
use agentry_protocol::tool_call::ToolSpec;

use crate::canonical_json::canonical;
use crate::definitions::confinement;
use crate::definitions::load_skill::{self, SkillTexts};
use crate::definitions::{Definitions, persona};
use crate::error::Error;
use crate::programs;
use crate::run_request::RunSettings;

impl Definitions {
    /// Builds the charter of an agent's turn, within a step of a task if there is one.
    pub fn charter(
        &self,
        id: &AgentId,
        step: Option<(&Task, usize)>,
        terms: &RunSettings,
        moment: &TemplateIds<'_>,
    ) -> Result<Charter, Error> {
        let agent = self.agent(id)?;
        let skills = self.skills(agent, step);
        let (confinement, _) = confinement::of_agent(self, agent, terms.bounds.as_ref())?;
        let mut authority = self.authority(agent, step, &skills, confinement);
        authority.bounds.clone_from(&terms.bounds);
        self.shape(&mut authority, &terms.shaping);
        let worn = terms.shaping.persona.as_deref().or(terms.persona.as_deref());
        let persona = persona(agent, worn)?;
        let system = self.system_prompt(agent, &skills, (persona, moment), &terms.shaping)?;
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

    /// Returns the directory of an agent, without links.
    pub fn directory(&self, agent: &Agent) -> PathBuf {
        confinement::directory(self, agent)
    }

    /// Applies the tools that hooks added and removed to the authority of a turn.
    fn shape(&self, authority: &mut Authority, shaping: &TurnShape) {
        for name in &shaping.additions {
            let spec = self.specs.iter().find(|spec| spec.name == *name);
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

    /// Returns an agent's confinement for the owner, and the requested settings that were dropped.
    pub fn confinement(&self, agent: &Agent) -> Result<(Confinement, Vec<DroppedSetting>), Error> {
        confinement::of_agent(self, agent, None)
    }

    /// Returns the texts of the skills that can be loaded on request, by id.
    pub(crate) fn loadable(
        &self,
        id: &AgentId,
        step: Option<(&Task, usize)>,
    ) -> Result<SkillTexts, Error> {
        let agent = self.agent(id)?;
        let skills = self.skills(agent, step);
        let folders = skills.iter().filter(|skill| skill.form == SkillForm::Folder);
        Ok(folders.map(|skill| (skill.id.as_str().to_owned(), told(skill))).collect())
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

    /// Returns an agent's skills, or only those that a step names.
    fn skills(&self, agent: &Agent, step: Option<(&Task, usize)>) -> Vec<&Skill> {
        let own = agent.skills.iter().map(|skill| skill.value.as_str());
        let own = own.filter_map(|id| self.library.skill(agent, id));
        let choice = step.and_then(|(task, at)| Some(&task.steps.get(at)?.scope.skills));
        match choice {
            Some(choice) if !choice.inherit => own
                .filter(|skill| choice.names.iter().any(|name| name.value == skill.id.as_str()))
                .collect(),
            Some(choice) => {
                let mut all: Vec<&Skill> = own.collect();
                let named = choice.names.iter().map(|name| name.value.as_str());
                let named = named.filter_map(|id| self.library.skill(agent, id));
                let new: Vec<&Skill> =
                    named.filter(|skill| all.iter().all(|one| one.id != skill.id)).collect();
                all.extend(new);
                all
            }
            None => own.collect(),
        }
    }

    fn authority(
        &self,
        agent: &Agent,
        step: Option<(&Task, usize)>,
        skills: &[&Skill],
        confinement: Confinement,
    ) -> Authority {
        let folders = skills.iter().filter(|skill| skill.form == SkillForm::Folder);
        let names: Vec<&str> = folders.map(|skill| skill.id.as_str()).collect();
        let own: Vec<ToolSpec> = programs::specs(agent).collect();
        let specs = if own.is_empty() {
            Cow::Borrowed(&self.specs)
        } else {
            Cow::Owned(self.specs.iter().cloned().chain(own).collect())
        };
        let mut authority = authority::of_agent(agent, &self.library, &specs, step, confinement);
        authority.place = CallDirectories {
            workspace: self.workspace.display().to_string(),
            home: self.home.clone(),
        };
        authority.tools.retain(|spec| spec.name.as_str() != "load_skill");
        if !names.is_empty() {
            let spec = load_skill::spec(&names);
            authority.known.push(spec.name.clone());
            authority.tools.push(spec);
            let scopes = authority.scope.iter_mut().chain(authority.skills.values_mut());
            for scope in scopes {
                scope.tools.iter_mut().for_each(|tools| {
                    tools.push(agentry_protocol::tool::ToolName::canonical("load_skill"));
                });
                scope.rules.iter_mut().for_each(|rules| rules.push(may_load_skills()));
            }
            authority.agent_rules.push(may_load_skills());
        }
        authority
    }

    fn system_prompt(
        &self,
        agent: &Agent,
        skills: &[&Skill],
        (persona, moment): (Option<&Persona>, &TemplateIds<'_>),
        shaping: &TurnShape,
    ) -> Result<String, Error> {
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
            skills: skills.to_vec(),
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

/// Allows `load_skill` without approval: an agent's skills are its own text.
fn may_load_skills() -> ApprovalRule {
    ApprovalRule {
        subject: "load_skill".to_owned(),
        allow: true,
        when: BTreeMap::new(),
        examples: Vec::new(),
        origin: Origin::named("built-in"),
    }
}

/// Returns a skill in the form that the model receives.
fn told(skill: &Skill) -> String {
    let mut text = format!("<skill name=\"{}\">\n{}\n</skill>", skill.id, skill.body.value.trim());
    if !skill.resources.is_empty() {
        text.push_str("\nFiles beside it: ");
        text.push_str(&skill.resources.join(", "));
    }
    text
}
