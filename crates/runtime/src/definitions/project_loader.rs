//! Loads the definitions of a project: its files, those of the user's home, and the settings.
//!
//! The one place where definitions are loaded.
//!
//! Must never: print, or read the environment itself.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use agentry_agentfile::agent::{Agent, Persona};
use agentry_agentfile::config::{self, ConfigLayers, Settings};
use agentry_agentfile::diagnostic::{DiagnosticCode, FindingText, Findings, Severity};
use agentry_agentfile::file_tree::{FileTree, FileTreeEntry, lies_in};
use agentry_agentfile::library::{self, Library, LibraryInput, TemplateDefect, TemplateTrial};
use agentry_agentfile::skill::SkillLevel;
use agentry_agentfile::source::{SourceText, SourcedValue};
use agentry_kernel::access::AccessPolicies;
use agentry_kernel::approval;
use agentry_kernel::prompt::{self, TemplateIds};
use agentry_kernel::template::{TemplateOutcome, TemplateRequest};
use agentry_protocol::ContentHash;
use agentry_protocol::confinement::ConfinementLevel;
use agentry_protocol::tool::ToolName;

use crate::definitions::agent_manifests::{ProjectTrees, manifests};
use crate::definitions::path_target::{PathTarget, unreadable};
use crate::definitions::policies::{compile_policies, lint_policies};
use crate::definitions::project_error::ProjectError;
use crate::definitions::template_process::Renderer;
use crate::definitions::{Definitions, tree_reader};
use crate::environment::Environment;

/// The name of the user's home as shown to people.
pub const HOME: &str = "~";

/// The hash of each definition file, by path below the directory.
pub type Digests = BTreeMap<String, ContentHash>;

/// The facts about a process that loading needs, handed in by the binary.
#[derive(Clone)]
pub struct LoaderInput {
    /// The environment variables of the process.
    pub environment: Arc<Environment>,
    /// Settings from the command line, as `key=value`.
    pub flags: Vec<String>,
    /// The names of the host's tools, which no definition can take.
    pub tools: BTreeSet<ToolName>,
    /// The path of the binary, which is also the process that renders templates.
    pub binary: PathBuf,
}

/// Loads the definitions of a project.
pub struct ProjectLoader {
    input: LoaderInput,
    renderer: RefCell<Renderer>,
}

/// A loaded project.
pub struct LoadedProject {
    /// The definitions.
    pub library: Library,
    /// The findings about the project.
    pub findings: Findings,
    /// The findings about the settings alone.
    in_settings: Findings,
    /// The path that the request is limited to, as shown to people.
    pub only: Option<String>,
    /// The agent whose directory was requested, if any.
    pub asked: Option<String>,
    /// The directory of the project.
    pub root: PathBuf,
    /// The hash of each definition file.
    pub digests: Digests,
}

/// All definition files, as read.
pub struct DefinitionFiles {
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
    pub fn stamp(&self) -> u64 {
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
    /// Returns an error if the settings have errors; they must not be used then.
    pub fn settings_error(&self) -> Option<ProjectError> {
        let sorted = self.in_settings.sorted();
        let errors = sorted.iter().filter(|one| one.severity == Severity::Error);
        let lines: Vec<String> = errors.map(|one| format!("  {}", one.brief())).collect();
        let in_flags = lines.iter().any(|line| is_flag(line.trim_start()));
        (!lines.is_empty()).then_some(ProjectError::Settings { lines, in_flags })
    }

    /// Compiles the access policies. Fails if any of them has an error.
    pub fn policies(&self) -> Result<AccessPolicies, ProjectError> {
        compile_policies(&self.library.access, &self.findings)
    }
}

/// Returns true if a finding is about a flag of the command line.
pub fn is_flag(file: &str) -> bool {
    file.starts_with("flag -c")
}

impl ProjectLoader {
    /// Creates a loader with its own process for templates.
    pub fn new(input: LoaderInput) -> Self {
        let renderer = RefCell::new(Renderer::new(&input.binary));
        Self { input, renderer }
    }

    /// Creates a loader like this one, for another thread.
    pub fn duplicate(&self) -> Self {
        Self::new(self.input.clone())
    }

    /// Returns the definitions for runs of a project, for processes confined at this level.
    pub fn definitions(
        &self,
        loaded: &LoadedProject,
        project: &Path,
        level: ConfinementLevel,
    ) -> Result<Definitions, ProjectError> {
        let project = project
            .canonicalize()
            .map_err(|source| ProjectError::Directory { path: project.to_owned(), source })?;
        let environment = &self.input.environment;
        let settings_file = environment.config.as_ref();
        Ok(Definitions {
            library: loaded.library.clone(),
            workspace: project.clone(),
            project,
            state: environment.state.clone(),
            settings_file: settings_file
                .map_or_else(String::new, |path| path.display().to_string()),
            level,
            home: environment.home.as_ref().map(|home| home.display().to_string()),
            environment: environment.tools.clone(),
            renderer: Mutex::new(Renderer::new(&self.input.binary)),
            redactor: Arc::default(),
        })
    }

    /// Reads the effective settings of a project, from all layers.
    pub fn settings(&self, project: &FileTree, findings: &mut Findings) -> Settings {
        let layers = ConfigLayers {
            user: self
                .input
                .environment
                .config
                .as_deref()
                .and_then(|path| user_settings(path, findings)),
            project: project.text(config::FILE, findings),
            agent: None,
            environment: self.input.environment.settings.clone(),
            flags: self.input.flags.clone(),
        };
        config::layered(&layers, findings)
    }

    /// Loads the project of a directory, or of a file in one.
    pub fn load(&self, path: &Path, level: SkillLevel) -> Result<LoadedProject, ProjectError> {
        Ok(self.load_definitions(self.read_definitions(path)?, level))
    }

    /// Reads all definition files; parses only the settings, which name further files.
    pub fn read_definitions(&self, path: &Path) -> Result<DefinitionFiles, ProjectError> {
        let place = PathTarget::of(path)?;
        let mut findings = Findings::default();
        let mut project = tree_reader::read_project(&place.directory, &place.label)
            .map_err(|error| unreadable(path, error))?;
        let settings = self.settings(&project, &mut findings);
        let in_settings = findings.clone();
        place.check_file(&project, &mut findings);
        for (_, rules) in settings.config.rules.named("/rules") {
            let rules = rules.trim_start_matches("./");
            add_rules(&mut project, &place.directory, rules);
        }
        let home = match &self.input.environment.home {
            // The home directory itself is the project.
            Some(home) if place.directory.canonicalize().ok() == home.canonicalize().ok() => None,
            Some(home) => read_home(home, &mut findings),
            None => None,
        };
        let skill_roots = self.skill_roots(&settings, &place, &mut findings);
        Ok(DefinitionFiles { place, project, home, skill_roots, settings, findings, in_settings })
    }

    /// Parses and checks the definition files.
    pub fn load_definitions(&self, gathered: DefinitionFiles, level: SkillLevel) -> LoadedProject {
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
            environment: self.input.environment.tools.clone(),
            host: self.input.tools.clone(),
            level,
            try_templates: &|trial| self.try_templates(trial),
            try_examples: approval::try_examples,
        };
        let mut library = library::read(input, &mut findings);
        let home_path = self.input.environment.home.as_deref();
        let trees = ProjectTrees { project: &project, home: home.as_ref(), home_path };
        library.programs = manifests(&library, &trees);
        lint_policies(&library.access, &self.input.tools, &mut findings);
        let asked = place.asked_agent(&library);
        let root = place.directory.canonicalize().unwrap_or(place.directory);
        LoadedProject { library, findings, in_settings, only: place.only, asked, root, digests }
    }

    /// Renders the template of an agent; None if it has none.
    pub fn render(
        &self,
        agent: &Agent,
        persona: Option<&Persona>,
    ) -> Result<Option<String>, ProjectError> {
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
                Some(below) => self.input.environment.home.clone().unwrap_or_default().join(below),
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
pub fn rendered(
    renderer: &mut Renderer,
    agent: &Agent,
    persona: Option<&Persona>,
) -> Result<Option<String>, ProjectError> {
    let Some(request) = prompt::template_request(agent, persona, &TemplateIds::default()) else {
        return Ok(None);
    };
    match renderer.render(&request).map_err(ProjectError::Renderer)? {
        TemplateOutcome::Rendered { text, .. } => Ok(Some(text)),
        TemplateOutcome::Syntax { message, .. } | TemplateOutcome::Failed { message, .. } => {
            Err(ProjectError::Template(format!("the template does not render: {message}")))
        }
        TemplateOutcome::Budget { what } => {
            Err(ProjectError::Template(format!("the template exceeds its budget: {what}")))
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
pub fn is_of_home(file: &str) -> bool {
    lies_in(file, HOME)
}

/// Adds a file of rules. An unreadable file stays out of the tree, and the check of the settings
/// reports it as missing, at the setting that names it.
fn add_rules(project: &mut FileTree, directory: &Path, rules: &str) {
    tree_reader::read_extra_file(project, directory, rules).ok();
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
