//! The one check: a directory as text in, its findings as text out.

use std::collections::{BTreeMap, BTreeSet};

use agentry_agentfile::agent::Agent;
use agentry_agentfile::approval_rule::ExampleChecker;
use agentry_agentfile::config::{self, ConfigLayers};
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::{FileContent, FileTree, FileTreeEntry};
use agentry_agentfile::library::{self, Library, LibraryInput, TemplateDefect};
use agentry_agentfile::skill::SkillLevel;
use agentry_agentfile::source::SourceText;
use agentry_protocol::tool::{self, ToolName, ToolRequirement};

/// Reads a directory and compares what is wrong with it, one finding per line.
#[track_caller]
pub(crate) fn check(fixture: &str, expected: &str) {
    given(fixture).check(expected);
}

/// Nothing at all is wrong with a directory.
#[track_caller]
pub(crate) fn check_clean(fixture: &str) {
    check(fixture, "");
}

/// The agent of a directory without errors.
#[track_caller]
pub(crate) fn agent(fixture: &str, id: &str) -> Agent {
    given(fixture).agent(id)
}

/// A directory, and what surrounds it.
pub(crate) struct Given {
    project: FileTree,
    home: Option<FileTree>,
    skill_roots: Vec<FileTree>,
    layers: ConfigLayers,
    tool_variables: BTreeMap<String, String>,
    level: SkillLevel,
    defects: Vec<TemplateDefect>,
    try_examples: ExampleChecker,
}

pub(crate) fn given(fixture: &str) -> Given {
    Given {
        project: FileTree::from_fixture(fixture),
        home: None,
        skill_roots: Vec::new(),
        layers: ConfigLayers::default(),
        tool_variables: BTreeMap::new(),
        level: SkillLevel::Extended,
        defects: Vec::new(),
        try_examples: |_, _| Vec::new(),
    }
}

impl Given {
    pub(crate) fn entry(mut self, path: &str, entry: FileTreeEntry) -> Self {
        self.project.insert(path, entry);
        self
    }

    pub(crate) fn bytes(self, path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        self.entry(path, FileTreeEntry::File(FileContent::new(bytes.into(), false)))
    }

    pub(crate) fn home(mut self, fixture: &str) -> Self {
        let mut home = FileTree::from_fixture(fixture);
        home.label = "~".to_owned();
        self.home = Some(home);
        self
    }

    pub(crate) fn skill_root(mut self, label: &str, fixture: &str) -> Self {
        let mut root = FileTree::from_fixture(fixture);
        root.label = label.to_owned();
        self.skill_roots.push(root);
        self
    }

    pub(crate) fn user_settings(mut self, text: &str) -> Self {
        self.layers.user = Some(SourceText::new("~/.config/agentry/agentry.toml", text));
        self
    }

    /// Variables whose names begin with `AGENTRY_` are settings, the others bound the tools.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        let variables = if name.starts_with("AGENTRY_") {
            &mut self.layers.environment
        } else {
            &mut self.tool_variables
        };
        variables.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn flag(mut self, flag: &str) -> Self {
        self.layers.flags.push(flag.to_owned());
        self
    }

    pub(crate) fn spec(mut self) -> Self {
        self.level = SkillLevel::Spec;
        self
    }

    pub(crate) fn defect(mut self, defect: TemplateDefect) -> Self {
        self.defects.push(defect);
        self
    }

    pub(crate) fn try_examples(mut self, try_examples: ExampleChecker) -> Self {
        self.try_examples = try_examples;
        self
    }

    pub(crate) fn read(&self) -> (Library, Findings) {
        let mut findings = Findings::default();
        let mut layers = self.layers.clone();
        layers.project = self.project.text(config::FILE, &mut findings);
        let input = LibraryInput {
            project: &self.project,
            home: self.home.as_ref(),
            skill_roots: &self.skill_roots,
            settings: config::layered(&layers, &mut findings),
            environment: self.tool_variables.clone(),
            host: host(),
            level: self.level,
            try_templates: &|_| self.defects.clone(),
            try_examples: self.try_examples,
        };
        let library = library::read(input, &mut findings);
        (library, findings)
    }

    #[track_caller]
    pub(crate) fn check(&self, expected: &str) {
        let (_, findings) = self.read();
        let expected: Vec<&str> =
            expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        assert_eq!(lines(&findings), expected, "{}", explained(&findings));
    }

    #[track_caller]
    pub(crate) fn agent(&self, id: &str) -> Agent {
        let (library, findings) = self.read();
        assert!(!findings.has_errors(), "{}", explained(&findings));
        library.agents.get(id).cloned().expect("the agent loads")
    }

    /// The names of the tools that the only agent is offered.
    #[track_caller]
    pub(crate) fn toolset(&self) -> String {
        let (library, findings) = self.read();
        assert!(!findings.has_errors(), "{}", explained(&findings));
        let agent = library.agents.values().next().expect("an agent loads");
        let names = agent.powers.toolset.iter().map(|tool| tool.name.as_str());
        names.collect::<Vec<_>>().join(" ")
    }
}

/// Each finding as `E0302 error agent.yml:1:1`.
pub(crate) fn lines(findings: &Findings) -> Vec<String> {
    let one = |one: &&agentry_agentfile::diagnostic::Diagnostic| {
        format!("{} {} {}:{}:{}", one.code, one.severity, one.file, one.line, one.column)
    };
    findings.sorted().iter().map(one).collect()
}

pub(crate) fn host() -> BTreeSet<ToolName> {
    let offered = |needs| match needs {
        ToolRequirement::Nothing
        | ToolRequirement::Name
        | ToolRequirement::SelfModify
        | ToolRequirement::SpawnSubagents => true,
        ToolRequirement::MacOs | ToolRequirement::SearchService => false,
    };
    let tools = tool::KNOWN.iter().filter(|tool| offered(tool.needs));
    tools.map(|tool| ToolName::canonical(tool.name)).collect()
}

fn explained(findings: &Findings) -> String {
    let words = findings.sorted().into_iter().map(|one| {
        let help = one.help.as_deref().unwrap_or_default();
        format!("{} {}:{}:{} {} ({help})", one.code, one.file, one.line, one.column, one.message)
    });
    words.collect::<Vec<_>>().join("\n")
}
