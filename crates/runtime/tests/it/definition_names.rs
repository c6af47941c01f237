//! Whatever the loader would read, the guard and the file tools protect, also where it does not exist yet.

use std::collections::BTreeSet;
use std::path::Path;

use agentry_agentfile::layout::{self, DirectoryRole};
use agentry_sandbox::protect::is_protected_among;
use proptest::prelude::*;

const DIRECTORIES: [&str; 16] = [
    "a",
    "src",
    "agents",
    "skills",
    "prompts",
    "personas",
    "tools",
    "hooks",
    "data",
    "memory",
    "context",
    ".agentry",
    ".nanobot",
    ".claude",
    "vendor",
    "node_modules",
];
const FILES: [&str; 14] = [
    "agent.yml",
    "AGENT.md",
    "SOUL.md",
    "USER.md",
    "SKILL.md",
    "skill.md",
    "TASK.md",
    "AGENTS.md",
    "agentry.toml",
    ".mcp.json",
    "tool-access.json",
    "soul.json",
    "system_prompt.md",
    "x.md",
];

fn paths() -> impl Strategy<Value = BTreeSet<String>> {
    let path = (
        prop::collection::vec(prop::sample::select(&DIRECTORIES[..]), 0..5),
        prop::sample::select(&FILES[..]),
    );
    let path = path
        .prop_map(|(above, name)| above.into_iter().chain([name]).collect::<Vec<_>>().join("/"));
    // A workspace that is a skill itself is worked in; there only the marker is protected.
    let is_of_root = |path: &String| ["SKILL.md", "skill.md", "TASK.md"].contains(&path.as_str());
    prop::collection::btree_set(path.prop_filter("a skill", move |path| !is_of_root(path)), 1..12)
}

/// The files that the loader takes of these.
fn taken(files: &BTreeSet<String>) -> Vec<String> {
    let mut taken = Vec::new();
    let mut waiting = vec![(String::new(), layout::root())];
    while let Some((directory, role)) = waiting.pop() {
        let below: BTreeSet<(&str, bool)> = files
            .iter()
            .filter_map(|path| path.strip_prefix(&directory))
            .map(|rest| match rest.split_once('/') {
                Some((name, _)) => (name, true),
                None => (rest, false),
            })
            .collect();
        let beside: Vec<&str> = below.iter().map(|(name, _)| *name).collect();
        for (name, is_directory) in &below {
            let path = format!("{directory}{name}");
            if !is_directory {
                taken.extend(layout::includes_file(&role, name, &beside).then_some(path));
            } else if let Some(role) = layout::directory_role(&role, name, &beside) {
                waiting.push((format!("{path}/"), role));
            }
        }
        assert!(!matches!(role, DirectoryRole::Whole) || !beside.is_empty());
    }
    taken
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn every_file_that_the_loader_reads_is_protected(files in paths()) {
        let has = |path: &Path| {
            let path = path.to_string_lossy();
            files.iter().any(|one| *one == path || one.starts_with(&format!("{path}/")))
        };
        for path in taken(&files) {
            prop_assert!(is_protected_among(Path::new(&path), &has), "{}", path);
        }
    }
}
