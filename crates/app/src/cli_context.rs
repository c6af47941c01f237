//! The context of a command: directories, settings, environment, the host's tools.
//!
//! The one place where definitions are loaded.
//!
//! Must never: print.

mod path_target;
mod programs;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Component, Path, PathBuf};

use agentry_agentfile::agent::{Agent, Persona};
use agentry_agentfile::config::{self, ConfigLayers, Settings};
use agentry_agentfile::diagnostic::{DiagnosticCode, FindingText, Findings, Severity};
use agentry_agentfile::file_tree::{FileTree, FileTreeEntry, lies_in};
use agentry_agentfile::library::{self, Library, LibraryInput, TemplateDefect, TemplateTrial};
use agentry_agentfile::skill::SkillLevel;
use agentry_agentfile::source::{SourceText, SourcedValue};
use agentry_kernel::approval;
use agentry_kernel::prompt::{self, TemplateIds};
use agentry_kernel::template::{TemplateOutcome, TemplateRequest};
use agentry_model::RecordingMode;
use agentry_protocol::tool::ToolName;
use agentry_runtime::definitions::template_process::Renderer;
use agentry_runtime::definitions::tree_reader;
use agentry_runtime::programs::hook_tools;
use agentry_tools::Toolset;

use crate::confirmation::Digests;
use crate::diagnostics;
use crate::env::Environment;
use crate::fault::{Blame, Fault};
use crate::policies;
use crate::sandbox_setup;
use path_target::PathTarget;
pub(crate) use path_target::shown;

/// The name of the user's home as shown to people.
pub(crate) const HOME: &str = "~";

/// The context that all commands share.
pub(crate) struct CliContext {
    /// The environment variables of this process.
    pub(crate) environment: Environment,
    /// Settings from the command line, as `key=value`.
    pub(crate) flags: Vec<String>,
    renderer: RefCell<Renderer>,
    tape: RefCell<Option<RecordingMode>>,
}

/// A loaded project.
pub(crate) struct LoadedProject {
    /// The definitions.
    pub(crate) library: Library,
    /// The findings about the project.
    pub(crate) findings: Findings,
    /// The findings about the settings alone.
    in_settings: Findings,
    /// The path that the request is limited to, as shown to people.
    pub(crate) only: Option<String>,
    /// The agent whose directory was requested, if any.
    pub(crate) asked: Option<String>,
    /// The directory of the project.
    pub(crate) root: PathBuf,
    /// The hash of each definition file.
    pub(crate) digests: Digests,
}

/// All definition files, as read.
pub(crate) struct DefinitionFiles {
    place: PathTarget,
    project: FileTree,
    home: Option<FileTree>,
    skill_roots: Vec<FileTree>,
    settings: Settings,
    findings: Findings,
    in_settings: Findings,
}

impl DefinitionFiles {
    /// Returns a number that changes if any of the files changes.
    pub(crate) fn stamp(&self) -> u64 {
        let mut stamp = DefaultHasher::new();
        for tree in [&self.project].into_iter().chain(&self.home).chain(&self.skill_roots) {
            tree.label.hash(&mut stamp);
            for (path, entry) in tree.below("") {
                path.hash(&mut stamp);
                match entry {
                    FileTreeEntry::File(file) => {
                        (file.hash.as_str(), file.executable).hash(&mut stamp)
                    }
                    FileTreeEntry::Refused(refusal) => format!("{refusal:?}").hash(&mut stamp),
                }
            }
        }
        format!("{:?}", self.settings).hash(&mut stamp);
        stamp.finish()
    }
}

impl LoadedProject {
    /// Returns a fault if the settings have errors; they must not be used then.
    pub(crate) fn settings_fault(&self) -> Option<Fault> {
        let sorted = self.in_settings.sorted();
        let errors = sorted.iter().filter(|one| one.severity == Severity::Error);
        let lines: Vec<String> =
            errors.map(|one| format!("  {}", diagnostics::brief(one))).collect();
        let blame = if lines.iter().any(|line| is_flag(line.trim_start())) {
            Blame::Caller
        } else {
            Blame::Agent
        };
        let fault = Fault::new(blame, format!("the settings have errors:\n{}", lines.join("\n")));
        (!lines.is_empty()).then(|| fault.hint("`agentry config show` shows them with excerpts"))
    }
}

/// Returns true if a finding is about a flag of the command line.
pub(crate) fn is_flag(file: &str) -> bool {
    file.starts_with("flag -c")
}

impl CliContext {
    /// Creates the context of this process.
    pub(crate) fn new(flags: Vec<String>) -> Self {
        let renderer = RefCell::new(Renderer::new(&sandbox_setup::binary()));
        Self { environment: Environment::read(), flags, renderer, tape: RefCell::default() }
    }

    /// Sets the recording mode for exchanges with providers; None records and plays nothing.
    pub(crate) fn use_tape(&self, tape: Option<RecordingMode>) {
        self.tape.replace(tape);
    }

    /// Returns the recording mode for exchanges with providers.
    pub(crate) fn tape(&self) -> Option<RecordingMode> {
        self.tape.borrow().clone()
    }

    /// Reads the effective settings of a project, from all layers.
    pub(crate) fn settings(&self, project: &FileTree, findings: &mut Findings) -> Settings {
        let layers = ConfigLayers {
            user: self.environment.config.as_deref().and_then(|path| user_settings(path, findings)),
            project: project.text(config::FILE, findings),
            agent: None,
            environment: self.environment.settings.clone(),
            flags: self.flags.clone(),
        };
        config::layered(&layers, findings)
    }

    /// Loads the project of a directory, or of a file in one.
    pub(crate) fn load(&self, path: &Path, level: SkillLevel) -> Result<LoadedProject, Fault> {
        Ok(self.load_definitions(self.read_definitions(path)?, level))
    }

    /// Reads all definition files; parses only the settings, which name further files.
    pub(crate) fn read_definitions(&self, path: &Path) -> Result<DefinitionFiles, Fault> {
        let place = PathTarget::of(path)?;
        let mut findings = Findings::default();
        let mut project = tree_reader::read_project(&place.directory, &place.label)
            .map_err(|error| unreadable(path, &error))?;
        let settings = self.settings(&project, &mut findings);
        let in_settings = findings.clone();
        place.check_file(&project, &mut findings);
        for (_, rules) in settings.config.rules.named("/rules") {
            let rules = rules.trim_start_matches("./");
            // An unreadable file is reported as missing, at the setting that names it.
            tree_reader::read_extra_file(&mut project, &place.directory, rules).unwrap_or_default();
        }
        let home = match &self.environment.home {
            // The home directory itself is the project.
            Some(home) if place.directory.canonicalize().ok() == home.canonicalize().ok() => None,
            Some(home) => read_home(home, &mut findings),
            None => None,
        };
        let skill_roots = self.skill_roots(&settings, &place, &mut findings);
        Ok(DefinitionFiles { place, project, home, skill_roots, settings, findings, in_settings })
    }

    /// Parses and checks the definition files.
    pub(crate) fn load_definitions(
        &self,
        gathered: DefinitionFiles,
        level: SkillLevel,
    ) -> LoadedProject {
        let DefinitionFiles {
            place,
            project,
            home,
            skill_roots,
            settings,
            mut findings,
            in_settings,
        } = gathered;
        let digests = digests(&project, &skill_roots);
        let input = LibraryInput {
            project: &project,
            home: home.as_ref(),
            skill_roots: &skill_roots,
            settings,
            environment: self.environment.tools.clone(),
            host: host_tool_names(),
            level,
            try_templates: &|trial| self.try_templates(trial),
            try_examples: approval::try_examples,
        };
        let mut library = library::read(input, &mut findings);
        let home_path = self.environment.home.as_deref();
        let trees = programs::ProjectTrees { project: &project, home: home.as_ref(), home_path };
        library.programs = programs::of_all(&library, &trees);
        policies::lint_policies(&library.access, &mut findings);
        let asked = place.asked_agent(&library);
        let root = place.directory.canonicalize().unwrap_or(place.directory);
        LoadedProject { library, findings, in_settings, only: place.only, asked, root, digests }
    }

    /// Renders the template of an agent; None if it has none.
    pub(crate) fn render(
        &self,
        agent: &Agent,
        persona: Option<&Persona>,
    ) -> Result<Option<String>, Fault> {
        rendered(&mut self.renderer.borrow_mut(), agent, persona)
    }

    fn try_templates(&self, trial: TemplateTrial<'_>) -> Vec<TemplateDefect> {
        let agent = match trial {
            TemplateTrial::Agent(agent) => agent,
            TemplateTrial::Texts(sources) => {
                return sources.iter().filter_map(|source| self.try_text(source)).collect();
            }
        };
        let root = agent.texts.template.iter().map(|template| (template, None));
        let variants = agent
            .personas
            .available
            .iter()
            .filter_map(|persona| Some((persona.template.as_ref()?, Some(persona))));
        root.chain(variants)
            .filter_map(|(template, persona)| self.try_template(agent, template, persona))
            .collect()
    }

    fn try_template(
        &self,
        agent: &Agent,
        template: &SourcedValue<String>,
        persona: Option<&Persona>,
    ) -> Option<TemplateDefect> {
        let request = prompt::template_request(agent, persona, &TemplateIds::default())?;
        let outcome = self.renderer.borrow_mut().render(&request);
        defect(outcome, &template.origin.file, &template.value)
    }

    /// Checks only that a template parses, because there are no values to render it with.
    fn try_text(&self, source: &SourceText) -> Option<TemplateDefect> {
        let request =
            TemplateRequest { template: source.text.to_string(), values: serde_json::json!({}) };
        match self.renderer.borrow_mut().render(&request) {
            Ok(TemplateOutcome::Failed { .. }) => None,
            outcome => defect(outcome, &source.file, &source.text),
        }
    }

    /// Reads the skill roots that the settings name.
    fn skill_roots(
        &self,
        settings: &Settings,
        place: &PathTarget,
        findings: &mut Findings,
    ) -> Vec<FileTree> {
        let mut trees = Vec::new();
        for (pointer, root) in settings.config.skills.named("/skills") {
            let mut refuse = |what: &str, help: &str| {
                let text = FindingText::new(format!("the skill root `{root}` {what}")).help(help);
                settings.report(DiagnosticCode::MissingRoot, &pointer, text, findings);
            };
            let by_project = *settings.origin(&pointer).file == *place.shown(config::FILE);
            let path = match root.strip_prefix("~/") {
                Some(below) => self.environment.home.clone().unwrap_or_default().join(below),
                None => place.directory.join(root),
            };
            let leaves = root.starts_with("~/")
                || Path::new(root)
                    .components()
                    .any(|part| matches!(part, Component::ParentDir | Component::RootDir))
                || path.exists() && !place.holds(&path);
            if by_project && leaves {
                refuse(
                    "lies outside of the project, which a project may not name",
                    "name it in your own settings",
                );
            } else if let Ok(tree) = tree_reader::read_whole(&path, root) {
                trees.push(tree);
            } else {
                refuse("does not exist", "create it, or change the setting");
            }
        }
        trees
    }
}

/// Returns the hash of each definition file; files of agents' memory are not included.
fn digests(project: &FileTree, skill_roots: &[FileTree]) -> Digests {
    let is_memory = |path: &str| path.starts_with("memory/") || path.contains("/memory/");
    let mut all = Digests::new();
    let roots = skill_roots.iter().map(|tree| (format!("{}/", tree.label), tree));
    for (prefix, tree) in [(String::new(), project)].into_iter().chain(roots) {
        for (path, entry) in tree.below("") {
            if let FileTreeEntry::File(file) = entry
                && !is_memory(path)
            {
                all.insert(format!("{prefix}{path}"), file.hash.clone());
            }
        }
    }
    all
}

/// Returns the rendered template of an agent; None if it has none.
pub(crate) fn rendered(
    renderer: &mut Renderer,
    agent: &Agent,
    persona: Option<&Persona>,
) -> Result<Option<String>, Fault> {
    let Some(request) = prompt::template_request(agent, persona, &TemplateIds::default()) else {
        return Ok(None);
    };
    match renderer.render(&request).map_err(|error| no_renderer(&error))? {
        TemplateOutcome::Rendered { text, .. } => Ok(Some(text)),
        TemplateOutcome::Syntax { message, .. } | TemplateOutcome::Failed { message, .. } => {
            Err(Fault::new(Blame::Agent, format!("the template does not render: {message}")))
        }
        TemplateOutcome::Budget { what } => {
            Err(Fault::new(Blame::Agent, format!("the template exceeds its budget: {what}")))
        }
    }
}

/// Returns the defect of a template from the outcome of its rendering; None if it rendered.
fn defect(
    outcome: std::io::Result<TemplateOutcome>,
    file: &str,
    template: &str,
) -> Option<TemplateDefect> {
    let (code, (line, column), message, help) = match outcome {
        Ok(TemplateOutcome::Rendered { .. }) => return None,
        Ok(TemplateOutcome::Syntax { message, line, column }) => {
            let text = format!("the template does not parse: {message}");
            (
                DiagnosticCode::TemplateSyntax,
                (line, column),
                text,
                "the guide's page on agents lists the tags, filters and variables",
            )
        }
        Ok(TemplateOutcome::Budget { what }) => {
            let text = format!("the template exceeds its budget: {what}");
            (
                DiagnosticCode::TemplateBudget,
                first_loop(template),
                text,
                "loop over fewer items, or write the text out",
            )
        }
        Ok(TemplateOutcome::Failed { message, place }) => {
            let text = format!("the template does not render: {message}");
            let place = place.unwrap_or_else(|| first_loop(template));
            (DiagnosticCode::TemplateFails, place, text, "test its parts one by one")
        }
        Err(error) => {
            let text = format!("the template could not be tested: {error}");
            (
                DiagnosticCode::TemplateFails,
                (1, 1),
                text,
                "the process that renders templates cannot start",
            )
        }
    };
    let (file, help) = (file.to_owned(), help.to_owned());
    Some(TemplateDefect { file, code, line, column, message, help })
}

/// Returns true if a finding is about the user's own packs. They are read so that a project can
/// refer to them; their defects are not the project's.
pub(crate) fn is_of_home(file: &str) -> bool {
    lies_in(file, HOME)
}

/// Returns the names of the host's tools, including `load_skill`.
pub(crate) fn host_tool_names() -> BTreeSet<ToolName> {
    let tools = Toolset::builtin();
    let own = tools.specs().map(|spec| spec.name.clone());
    let hooks = hook_tools::specs().map(|spec| spec.name);
    own.chain(hooks).chain([ToolName::canonical("load_skill")]).collect()
}

/// Reads the user's packs and skills. Returns None if the home does not exist or is unreadable.
pub(crate) fn read_home(home: &Path, findings: &mut Findings) -> Option<FileTree> {
    match tree_reader::read_home(home, HOME) {
        Ok(tree) => Some(tree),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            let text = FindingText::new(format!("your home directory cannot be read: {error}"))
                .help("its packs and skills are missing; check the permissions");
            findings.about(DiagnosticCode::Unreadable, HOME, text);
            None
        }
    }
}

fn user_settings(path: &Path, findings: &mut Findings) -> Option<SourceText> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let directory = path.parent()?;
    let shown = directory.display().to_string();
    path.exists().then_some(())?;
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let text = FindingText::new(format!("your settings file cannot be read: {error}"));
            findings.about(DiagnosticCode::Unreadable, path.display().to_string(), text);
            return None;
        }
    };
    let mut tree = FileTree::new(shown);
    let file = agentry_agentfile::file_tree::FileContent::new(bytes, false);
    tree.insert(name.clone(), FileTreeEntry::File(file));
    tree.text(&name, findings)
}

fn first_loop(template: &str) -> (usize, usize) {
    let at = ["{% for", "{%- for", "{% tablerow", "{%- tablerow", "{% capture", "{%"]
        .iter()
        .find_map(|tag| template.find(tag))
        .unwrap_or_default();
    SourceText::new("template", template).position(at)
}

pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Fault {
    Fault::new(Blame::Caller, format!("cannot read {}: {error}", path.display()))
        .hint("name an existing directory or file that you may read")
}

fn no_renderer(error: &std::io::Error) -> Fault {
    Fault::new(Blame::Machine, format!("cannot start the process that renders templates: {error}"))
}

/// Returns the project directory of a path on the command line, and its name as shown to people.
pub(crate) fn project_directory(path: &Path) -> Result<(PathBuf, String), Fault> {
    PathTarget::of(path).map(|place| (place.directory, place.label))
}
