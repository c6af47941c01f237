//! From an agent's definition to the charter of a turn.
//!
//! Must never: keep anything between turns; an agent is read when a turn begins.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use agentry_agentfile::agent::{Agent, ExcludedTool, Persona};
use agentry_agentfile::approval_rule::ApprovalRule;
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::{FileContent, FileTree, FileTreeEntry};
use agentry_agentfile::library::Library;
use agentry_agentfile::skill::{Skill, SkillForm};
use agentry_agentfile::source::Origin;
use agentry_agentfile::task::Task;
use agentry_agentfile::tool_access::{self, ToolAccess};
use agentry_agentfile::trust::TrustManifest;
use agentry_kernel::authority::{self, Authority, CallDirectories};
use agentry_kernel::charter::Charter;
use agentry_kernel::confinement::DroppedSetting;
use agentry_kernel::prompt::{self, PromptSources, TemplateIds};
use agentry_kernel::template::TemplateOutcome;
use agentry_protocol::AgentId;
use agentry_protocol::access::Bounds;
use agentry_protocol::confinement::{Confinement, ConfinementLevel};
use agentry_protocol::event::{Mode, RunLimits};
use agentry_protocol::hook::{HookMoment, TurnShape};
use agentry_protocol::tool_call::ToolSpec;

use crate::canonical_json::canonical;
use crate::confinement;
use crate::error::Error;
use crate::load_skill::{self, SkillTexts};
use crate::programs;
use crate::redact::Redactor;
use crate::template_process::Renderer;

/// What was read of a project, and where a run of it works.
pub struct Definitions {
    /// What the project defines.
    pub library: Library,
    /// The directory that was read.
    pub project: PathBuf,
    /// The directory that commands and file tools work in.
    pub workspace: PathBuf,
    /// Where the runtime keeps what is its own.
    pub state: Option<PathBuf>,
    /// The operator's own settings file.
    pub settings_file: String,
    /// What confines processes.
    pub level: ConfinementLevel,
    /// The user's home.
    pub home: Option<String>,
    /// The variables that bound the tools.
    pub environment: BTreeMap<String, String>,
    /// What the host's tools look like.
    pub specs: Vec<ToolSpec>,
    /// Renders templates.
    pub renderer: Mutex<Renderer>,
    /// Takes the values of secrets out of prompts.
    pub redactor: Arc<Redactor>,
}

/// What a run settles beside the definitions.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// The model: provider and name.
    pub model: String,
    /// Those that are asked when it does not answer, in order.
    pub fallbacks: Vec<String>,
    /// The mode.
    pub mode: Mode,
    /// How much it may do.
    pub limits: RunLimits,
    /// The command that checks whether the work is done.
    pub check: Option<String>,
    /// The persona that the agent wears; none means its own choice.
    pub persona: Option<String>,
    /// What access decided about the sender; none for the one at the machine.
    pub bounds: Option<Bounds>,
    /// What the hooks before the turn made of it.
    pub shaping: TurnShape,
}

impl Definitions {
    /// The agent of this id.
    pub fn agent(&self, id: &AgentId) -> Result<&Agent, Error> {
        self.library.agents.get(id.as_str()).ok_or_else(|| {
            if let Some(file) = self.library.broken_agents.get(id.as_str()) {
                let why =
                    format!("the agent `{id}` ({file}) does not load; `agentry check` shows why");
                return Error::Definition(why);
            }
            let known: Vec<&str> = self.library.agents.keys().map(String::as_str).collect();
            Error::Definition(format!("there is no agent `{id}`; there are: {}", known.join(", ")))
        })
    }

    /// The charter of a turn of this agent, perhaps within a step of a task.
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
        // As it will be read again: the record is what counts.
        let recorded = canonical(serde_json::to_value(&charter).expect("a charter is plain JSON"));
        Ok(serde_json::from_value(recorded).expect("a charter is read as it was written"))
    }

    /// Where an agent lives, without links.
    pub fn directory(&self, agent: &Agent) -> PathBuf {
        confinement::directory(self, agent)
    }

    /// What of an agent would run.
    ///
    /// # Errors
    /// When that cannot be said; then nothing of it may run.
    pub fn manifest(&self, agent: &Agent) -> Result<&TrustManifest, Error> {
        match self.library.programs.get(agent.id.as_str()) {
            Some(Ok(manifest)) => Ok(manifest),
            Some(Err(unknown)) => Err(Error::Definition(format!(
                "it cannot be said what of `{}` would run: {unknown}",
                agent.id
            ))),
            None => Err(Error::Definition(format!("the agent `{}` was not read", agent.id))),
        }
    }

    /// What hooks add to and take from the tools of a turn.
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
                why: "a hook took it away for this turn".to_owned(),
                origin: Origin::named("hook"),
                switched_off: false,
            });
        }
    }

    /// What an agent's processes may do for the owner, and what of its and the project's requests was left out.
    pub fn confinement(&self, agent: &Agent) -> Result<(Confinement, Vec<DroppedSetting>), Error> {
        confinement::of_agent(self, agent, None)
    }

    /// The skills that can be loaded on request, with their texts.
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

    /// What the tool-access file says now. An agent that does not load any more may nothing.
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
                // There and not readable: it must not pass for absent.
                Err(_) => {
                    tree.insert(file, FileTreeEntry::File(FileContent::new(Vec::new(), false)))
                }
            }
        }
        tool_access::read(&tree, &[], &self.environment, &mut Findings::default())
    }

    /// An agent's skills, or only those that a step names.
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
        let specs = match own.is_empty() {
            true => Cow::Borrowed(&self.specs),
            false => Cow::Owned(self.specs.iter().cloned().chain(own).collect()),
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
                        let why = format!("the template of `{}` costs too much: {what}", agent.id);
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

/// The persona that an agent wears: one that somebody wants, else its own choice.
pub(crate) fn persona<'a>(
    agent: &'a Agent,
    wanted: Option<&str>,
) -> Result<Option<&'a Persona>, Error> {
    let default = agent.personas.default.as_ref().map(|id| id.value.as_str());
    let persona = wanted
        .or(default)
        .and_then(|id| agent.personas.available.iter().find(|one| one.id.as_str() == id));
    match (wanted, persona) {
        (Some(name), None) => {
            let why = format!("the agent `{}` has no persona `{name}`", agent.id);
            Err(Error::Definition(why))
        }
        (_, persona) => Ok(persona),
    }
}

/// What hooks add to the system prompt, marked as what it is: the agent's own words, for this turn.
fn appended(shaping: &TurnShape) -> Option<String> {
    let texts = shaping.appended.iter();
    let texts: Vec<String> =
        texts.map(|one| format!("# From {}\n\n{}", one.program, one.text)).collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Whether a hook of this moment runs inside of a turn.
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

/// What a model sees: the tools of the agent, without those that a step leaves out or that the sender cannot
/// have.
fn offered(authority: &Authority) -> Vec<ToolSpec> {
    let list = authority.scope.as_ref().and_then(|scope| scope.tools.as_ref());
    let in_scope = |spec: &&ToolSpec| list.is_none_or(|names| names.contains(&spec.name));
    let in_bounds = |spec: &&ToolSpec| authority.is_offered(&spec.name);
    authority.tools.iter().filter(in_scope).filter(in_bounds).cloned().collect()
}

/// An agent's own skills are its own words; loading one shows them to it.
fn may_load_skills() -> ApprovalRule {
    ApprovalRule {
        subject: "load_skill".to_owned(),
        allow: true,
        when: BTreeMap::new(),
        examples: Vec::new(),
        origin: Origin::named("built-in"),
    }
}

/// A skill as the model gets it.
fn told(skill: &Skill) -> String {
    let mut text = format!("<skill name=\"{}\">\n{}\n</skill>", skill.id, skill.body.value.trim());
    if !skill.resources.is_empty() {
        text.push_str("\nFiles beside it: ");
        text.push_str(&skill.resources.join(", "));
    }
    text
}
