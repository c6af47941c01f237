//! What every fuzz target shares: how bytes become a directory, and what must hold of any findings.
//!
//! Must never: touch the file system; a target is a function of its bytes.

use std::collections::{BTreeMap, BTreeSet};

use agentry_agentfile::config::Settings;
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::{FileTreeEntry, FileContent, FileTree};
use agentry_agentfile::library::{self, LibraryInput, Library};
use agentry_agentfile::skill::SkillLevel;
use agentry_agentfile::source::SourceText;
use agentry_protocol::tool::{self, ToolName};

/// A directory with these files. A name that ends with `*` is executable.
pub fn tree(files: &[(&str, &[u8])]) -> FileTree {
    let mut tree = FileTree::new("d");
    for (name, bytes) in files {
        let path = name.trim_end_matches('*');
        tree.insert(path, FileTreeEntry::File(FileContent::new(bytes.to_vec(), path != *name)));
    }
    tree
}

/// Bytes as the text of a file, if they are one.
pub fn source(bytes: &[u8]) -> Option<SourceText> {
    let mut findings = Findings::default();
    let source = tree(&[("f", bytes)]).text("f", &mut findings);
    check(&findings);
    source
}

/// Reads all that a directory defines, at both skill levels.
pub fn read(project: &FileTree) {
    for level in [SkillLevel::Extended, SkillLevel::Spec] {
        let mut findings = Findings::default();
        let input = LibraryInput {
            project,
            home: None,
            skill_roots: &[],
            settings: Settings::default(),
            environment: BTreeMap::new(),
            host: tool::KNOWN
                .iter()
                .map(|tool| ToolName::canonical(tool.name))
                .collect::<BTreeSet<_>>(),
            level,
            try_templates: &|_| Vec::new(),
            try_examples: |_, _| Vec::new(),
        };
        let library = library::read(input, &mut findings);
        check(&findings);
        is_serializable(&library);
    }
}

/// Every finding has a place, and the place can be shown.
pub fn check(findings: &Findings) {
    for one in findings.sorted() {
        assert!(one.line > 0 && one.column > 0, "no place: {one:?}");
        assert!(!one.message.is_empty(), "no words: {one:?}");
        serde_json::to_string(one).expect("a finding is plain data");
        if let Some(source) = findings.source(&one.file) {
            assert!(one.span.end >= one.span.start, "turned around: {one:?}");
            assert!(one.span.start <= source.text.len(), "outside: {one:?}");
            assert!(source.text.is_char_boundary(one.span.start), "inside of a character: {one:?}");
        }
    }
}

fn is_serializable(library: &Library) {
    for agent in library.agents.values() {
        serde_json::to_string(agent).expect("an agent is plain data");
    }
    for skill in library.skills.values() {
        serde_json::to_string(skill).expect("a skill is plain data");
    }
    for task in library.tasks.values() {
        serde_json::to_string(task).expect("a task is plain data");
    }
}
