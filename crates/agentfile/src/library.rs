//! All definitions of a directory: agents, skills, tasks, MCP servers, rules.
//!
//! Two passes: the first reads every skill and task and finds every agent, so that all names are
//! known; the second checks references and resolves agents. A broken definition is left out, but
//! its name stays known, so that a reference to it gets a message.
//!
//! Must never: let one broken definition keep another from loading.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use agentry_protocol::TaskId;
use agentry_protocol::tool::ToolName;

use crate::access;
use crate::agent::Agent;
use crate::approval_rule::ExampleChecker;
use crate::config::Settings;
use crate::context_folder;
use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::file_tree::FileTree;
use crate::limits::{READERS_MAX, SKILLS_PER_READER_MIN};
use crate::mcp::{self, McpServer};
use crate::name_index::{DefinitionHealth, NameIndex};
use crate::pack;
use crate::program;
use crate::resolution::ResolveContext;
use crate::skill::{self, Skill, SkillDraft, SkillLevel};
use crate::source::{SourceText, SourcedValue, Span};
use crate::task::{self, Task, TaskDraft};
use crate::trust;

mod discovery;
mod ids;
mod settings_references;

use discovery::{DefinitionKind, FoundDefinition};

/// The input of one reading.
pub struct LibraryInput<'a> {
    /// The project's directory.
    pub project: &'a FileTree,
    /// The user's packs and skills.
    pub home: Option<&'a FileTree>,
    /// Further skill roots from the settings.
    pub skill_roots: &'a [FileTree],
    /// The layered settings.
    pub settings: Settings,
    /// The environment variables that limit the tools.
    pub environment: BTreeMap<String, String>,
    /// Tools of the host.
    pub host: BTreeSet<ToolName>,
    /// The strictness for skills.
    pub level: SkillLevel,
    /// Renders templates, confined in another process, and returns their defects.
    pub try_templates: &'a dyn Fn(TemplateTrial<'_>) -> Vec<TemplateDefect>,
    /// Tests the examples of approval rules; the kernel evaluates them.
    pub try_examples: ExampleChecker,
}

/// The templates to render.
pub enum TemplateTrial<'a> {
    /// All templates of an agent, with its values.
    Agent(&'a Agent),
    /// The templates of an agent that does not load: without values, only parse errors count.
    Texts(&'a [SourceText]),
}

/// A defect of a template.
#[derive(Clone, Debug)]
pub struct TemplateDefect {
    /// The file, as the agent's origins name it.
    pub file: String,
    /// The kind of the defect.
    pub code: DiagnosticCode,
    /// The line, from one.
    pub line: usize,
    /// The column, from one.
    pub column: usize,
    /// The message.
    pub message: String,
    /// The remedy.
    pub help: String,
}

/// All definitions that were found.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// Agents that load, by id.
    pub agents: BTreeMap<String, Agent>,
    /// Agents that do not load: id and file.
    pub broken_agents: BTreeMap<String, String>,
    /// Skills that do not load: id and file.
    pub broken_skills: BTreeMap<String, String>,
    /// Tasks that do not load: id and file.
    pub broken_tasks: BTreeMap<String, String>,
    /// Skills that load, by id.
    pub skills: BTreeMap<String, Skill>,
    /// The agents' own skills, by agent and id.
    pub own_skills: BTreeMap<String, Vec<Skill>>,
    /// Tasks that load, by id.
    pub tasks: BTreeMap<String, Task>,
    /// MCP servers, by name.
    pub mcp: BTreeMap<String, McpServer>,
    /// The workspace's rules.
    pub rules: Option<SourcedValue<String>>,
    /// The access policies.
    pub access: access::PolicySet,
    /// The merged settings.
    pub settings: Settings,
    /// The programs of each agent by id, or why they are unknown. The caller fills it in.
    pub programs: BTreeMap<String, Result<trust::TrustManifest, trust::TrustError>>,
}

impl Library {
    /// Returns a skill of an agent: its own one if it has it, else a shared one.
    pub fn skill(&self, agent: &Agent, id: &str) -> Option<&Skill> {
        let own = self.own_skills.get(agent.id.as_str());
        own.and_then(|skills| skills.iter().find(|skill| skill.id.as_str() == id))
            .or_else(|| self.skills.get(id))
    }

    /// Returns the MCP servers that the project's own files define, one line each.
    pub fn project_servers(&self) -> Vec<String> {
        trust::server_lines(self.mcp.values())
    }

    /// True if there is no definition.
    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
            && self.broken_agents.is_empty()
            && self.broken_skills.is_empty()
            && self.broken_tasks.is_empty()
            && self.skills.is_empty()
            && self.tasks.is_empty()
            && self.access.has_no_files()
    }
}

/// Reads all definitions. Findings name the defects of those that do not load.
pub fn read(input: LibraryInput<'_>, findings: &mut Findings) -> Library {
    let mut reading = LibraryReader {
        input: &input,
        index: NameIndex::default(),
        library: Library::default(),
        ids: BTreeMap::new(),
    };
    reading.library.mcp = mcp::read(input.project, &input.settings, findings);
    reading.library.rules = rules(&input, findings);
    let trees: Vec<&FileTree> = [Some(input.project), input.home].into_iter().flatten().collect();
    reading.library.access = access::read(&trees, findings);
    let found = discovery::find(&input);
    let found = ids::without_duplicates(found, findings);
    let drafts = reading.first_pass(&found, findings);
    reading.second_pass(&found, drafts, findings);
    reading.report_rest(&found, findings);
    let LibraryReader { mut library, .. } = reading;
    library.settings = input.settings.clone();
    library
}

/// Returns the root `AGENTS.md`, or the files that the settings name, one after the other.
fn rules(input: &LibraryInput<'_>, findings: &mut Findings) -> Option<SourcedValue<String>> {
    let configured = input.settings.config.rules.named("/rules");
    if configured.is_empty() {
        let rules = crate::markdown::plain(input.project, "AGENTS.md", findings)?;
        return Some(rules).filter(|rules| !rules.value.is_empty());
    }
    let mut texts: Vec<SourcedValue<String>> = Vec::new();
    for (pointer, path) in configured {
        match crate::markdown::plain(input.project, path.trim_start_matches("./"), findings) {
            Some(rules) => texts.push(rules),
            None => {
                let text = FindingText::new(format!("the rules file `{path}` is not there"))
                    .help("write it, or change the setting");
                input.settings.report(DiagnosticCode::MissingRoot, &pointer, text, findings);
            }
        }
    }
    texts.retain(|rules| !rules.value.is_empty());
    let origin = texts.first()?.origin.clone();
    let all: Vec<&str> = texts.iter().map(|rules| rules.value.as_str()).collect();
    Some(SourcedValue::new(all.join("\n\n"), origin))
}

/// Reads all skills, in their order. Skills do not depend on each other, so threads share the work.
fn read_skills(
    found: &[FoundDefinition<'_>],
    level: SkillLevel,
    findings: &mut Findings,
) -> Vec<Option<SkillDraft>> {
    let skills: Vec<&FoundDefinition<'_>> =
        found.iter().filter(|one| one.what == DefinitionKind::Skill).collect();
    let read = |skills: &[&FoundDefinition<'_>]| {
        let mut own = Findings::default();
        let drafts: Vec<Option<SkillDraft>> = skills
            .iter()
            .map(|one| skill::read(one.tree, &one.path, &one.id, level, &mut own))
            .collect();
        (drafts, own)
    };
    let share = skills.len().div_ceil(READERS_MAX).max(SKILLS_PER_READER_MIN);
    let shares: Vec<_> = thread::scope(|scope| {
        let readers: Vec<_> =
            skills.chunks(share).map(|share| scope.spawn(move || read(share))).collect();
        readers.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let mut drafts = Vec::with_capacity(skills.len());
    for share in shares {
        match share {
            Ok((some, own)) => {
                drafts.extend(some);
                findings.append(own);
            }
            // A defect of ours; the panic continues here.
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    drafts
}

fn without_skills(agent: Agent) -> (Agent, Vec<Skill>) {
    (agent, Vec::new())
}

struct DefinitionDrafts {
    skills: Vec<SkillDraftEntry>,
    tasks: Vec<TaskDraftEntry>,
}

type SkillDraftEntry = (String, SkillDraft);
type TaskDraftEntry = (String, TaskDraft);

struct LibraryReader<'a> {
    input: &'a LibraryInput<'a>,
    index: NameIndex,
    library: Library,
    /// The ids of agents, by their folded form.
    ids: BTreeMap<String, String>,
}

impl LibraryReader<'_> {
    fn first_pass(
        &mut self,
        found: &[FoundDefinition<'_>],
        findings: &mut Findings,
    ) -> DefinitionDrafts {
        let mut drafts = DefinitionDrafts { skills: Vec::new(), tasks: Vec::new() };
        self.index.host = self.input.host.clone();
        self.index.try_examples = Some(self.input.try_examples);
        self.index.mcp = self.library.mcp.keys().cloned().collect();
        let mcp_file = self.input.project.display_path(mcp::FILE);
        self.index.mcp_broken = findings.has_errors_in(&mcp_file).then_some(mcp_file);
        let mut skills = read_skills(found, self.input.level, findings).into_iter();
        for one in found {
            let health = |good: bool| {
                if good { DefinitionHealth::Valid } else { DefinitionHealth::Broken(one.shown()) }
            };
            match one.what {
                DefinitionKind::Skill => {
                    let draft = skills.next().flatten();
                    if draft.is_none() {
                        self.library.broken_skills.insert(one.id.clone(), one.shown());
                    }
                    self.index.skills.insert(one.id.clone(), health(draft.is_some()));
                    drafts.skills.extend(draft.map(|draft| (one.id.clone(), draft)));
                }
                DefinitionKind::Task => {
                    let draft = task::read(one.tree, &one.path, &one.id, findings);
                    let whole = draft.as_ref().is_some_and(|draft| draft.whole);
                    if !whole {
                        self.library.broken_tasks.insert(one.id.clone(), one.shown());
                    }
                    self.index.tasks.insert(one.id.clone(), health(whole));
                    drafts.tasks.extend(draft.map(|draft| (one.id.clone(), draft)));
                }
                DefinitionKind::Program => {
                    self.index.custom.extend(program::tool_names(one.tree, one.directory()));
                }
                DefinitionKind::Pack | DefinitionKind::ContextFolder => {}
            }
        }
        drafts
    }

    fn second_pass(
        &mut self,
        found: &[FoundDefinition<'_>],
        drafts: DefinitionDrafts,
        findings: &mut Findings,
    ) {
        for (id, draft) in drafts.skills {
            let mut own = Findings::default();
            let skill = skill::resolve(draft, &self.index, &mut own);
            if own.has_errors() {
                let file = skill.body.origin.file.to_string();
                self.index.skills.insert(id.clone(), DefinitionHealth::Broken(file.clone()));
                self.library.broken_skills.insert(id, file);
            } else {
                self.library.skills.insert(id, skill);
            }
            findings.append(own);
        }
        // Agents come before tasks, since tasks name agents.
        for one in found {
            self.agent(one, findings);
        }
        for (id, draft) in drafts.tasks {
            let mut own = Findings::default();
            let whole = draft.whole;
            let task = task::resolve(draft, &self.index, &mut own);
            if own.has_errors() || !whole {
                self.library.broken_tasks.insert(id, task.name.origin.file.to_string());
            } else {
                self.library.tasks.insert(id, task);
            }
            findings.append(own);
        }
        for one in found {
            self.drop_broken_tasks(one, findings);
        }
    }

    /// Removes broken tasks from the agents: agents are resolved before tasks, since tasks name
    /// agents, so they may refer to tasks that do not load after all.
    fn drop_broken_tasks(&mut self, one: &FoundDefinition<'_>, findings: &mut Findings) {
        let Some(agent) = self.library.agents.get_mut(&one.id).filter(|_| one.what.is_agent())
        else {
            return;
        };
        let loads =
            |task: &SourcedValue<TaskId>| self.library.tasks.contains_key(task.value.as_str());
        let lost: Vec<_> = agent.tasks.iter().filter(|task| !loads(task)).cloned().collect();
        agent.tasks.retain(loads);
        let mut named = lost.iter().filter(|task| task.origin.line > 0).peekable();
        if named.peek().is_none() {
            return;
        }
        let source = one.tree.text(&one.beside(pack::FILE), &mut Findings::default());
        for task in named {
            let file = self.library.broken_tasks.get(task.value.as_str());
            let text = FindingText::new(format!("the task `{}` does not load", task.value))
                .help(format!("mend {} first", file.map_or("it", String::as_str)));
            match &source {
                Some(source) => {
                    let at = source.offset(task.origin.line, task.origin.column);
                    let end = at + task.value.as_str().len();
                    findings.at(DiagnosticCode::BrokenReference, source, Span::new(at, end), text);
                }
                None => findings.about(DiagnosticCode::BrokenReference, one.shown(), text),
            }
        }
        self.library.agents.remove(&one.id);
        self.break_agent(one);
    }

    fn break_agent(&mut self, one: &FoundDefinition<'_>) {
        self.index.agents.insert(one.id.clone(), DefinitionHealth::Broken(one.shown()));
        self.library.broken_agents.insert(one.id.clone(), one.shown());
    }

    /// Returns the settings of an agent; one inside a project may have a file of its own.
    fn settings_of<'s>(
        &'s self,
        one: &FoundDefinition<'_>,
        findings: &mut Findings,
    ) -> Cow<'s, Settings> {
        let source = match (one.what.is_agent(), one.directory()) {
            (false, _) | (true, "") => None,
            (true, _) => one.tree.text(&one.beside(crate::config::FILE), findings),
        };
        match source {
            Some(source) => Cow::Owned(self.input.settings.for_agent(&source, findings)),
            None => Cow::Borrowed(&self.input.settings),
        }
    }

    fn agent(&mut self, one: &FoundDefinition<'_>, findings: &mut Findings) {
        if !one.what.is_agent() {
            return;
        }
        if let Some((code, text)) = ids::defect(one, &self.ids) {
            findings.about(code, one.shown(), text);
            return self.break_agent(one);
        }
        self.ids.insert(ids::folded(&one.id), one.id.clone());
        let mut own = Findings::default();
        let settings = self.settings_of(one, &mut own);
        let around = ResolveContext {
            index: &self.index,
            settings: &settings,
            environment: &self.input.environment,
            level: self.input.level,
            rules: self.library.rules.as_ref(),
        };
        let tree = match one.what {
            DefinitionKind::Skill | DefinitionKind::Task => return,
            DefinitionKind::Program | DefinitionKind::Pack | DefinitionKind::ContextFolder => {
                one.tree.subtree(one.directory())
            }
        };
        let tree = match one.what {
            DefinitionKind::Pack => discovery::without_nested(&tree),
            DefinitionKind::Skill
            | DefinitionKind::Task
            | DefinitionKind::Program
            | DefinitionKind::ContextFolder => tree,
        };
        tree.report_refusals(&mut own);
        let read = match one.what {
            DefinitionKind::Program => program::read(&tree, &one.id, &around, &mut own),
            DefinitionKind::Pack => {
                pack::read(&tree, &one.id, &around, &mut own).map(without_skills)
            }
            DefinitionKind::ContextFolder => {
                context_folder::read(&tree, &one.id, &around, &mut own).map(without_skills)
            }
            DefinitionKind::Skill | DefinitionKind::Task => None,
        };
        let agent = read.as_ref().map(|(agent, _)| agent).filter(|_| !own.has_errors());
        check_templates(&tree, agent, self.input.try_templates, &mut own);
        let read = read.filter(|_| !own.has_errors());
        findings.append(own);
        match read {
            Some((agent, skills)) => {
                self.index.agents.insert(one.id.clone(), DefinitionHealth::Valid);
                self.library.own_skills.insert(one.id.clone(), skills);
                self.library.agents.insert(one.id.clone(), agent);
            }
            None => self.break_agent(one),
        }
    }

    /// Reports refused files outside of agents, and broken references from the settings.
    fn report_rest(&self, found: &[FoundDefinition<'_>], findings: &mut Findings) {
        let mut own = Findings::default();
        self.input.project.report_refusals(&mut own);
        for root in self.input.skill_roots {
            root.report_refusals(findings);
        }
        discovery::report_misnamed(self.input.project, findings);
        let inside: Vec<String> = found
            .iter()
            .filter(|one| !matches!(one.what, DefinitionKind::Skill | DefinitionKind::Task))
            .map(|one| one.tree.display_path(one.directory()))
            .collect();
        if inside.is_empty()
            || !inside.iter().any(|directory| *directory == self.input.project.display_path(""))
        {
            findings.append(own);
        }
        settings_references::check(&self.input.settings, &self.index, &self.library, findings);
    }
}

/// True if an agent's templates render.
fn check_templates(
    tree: &FileTree,
    agent: Option<&Agent>,
    try_templates: &dyn Fn(TemplateTrial<'_>) -> Vec<TemplateDefect>,
    findings: &mut Findings,
) {
    let sources = program::templates(tree);
    if sources.is_empty() {
        return;
    }
    let trial = agent.map_or(TemplateTrial::Texts(&sources), TemplateTrial::Agent);
    for defect in try_templates(trial) {
        let text = FindingText::new(defect.message).help(defect.help);
        match sources.iter().find(|source| *source.file == defect.file) {
            Some(source) => {
                let at = source.offset(defect.line, defect.column);
                findings.at(defect.code, source, Span::new(at, at + 1), text);
            }
            None => findings.about(defect.code, defect.file, text),
        }
    }
}
