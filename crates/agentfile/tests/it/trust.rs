//! What of an agent would run, and which files its trust covers.

use agentry_agentfile::file_tree::{FileContent, FileTree, FileTreeEntry, ReadRefusal};
use agentry_agentfile::trust::{self, TrustError, TrustManifest};

use crate::reading::given;

const SETTINGS: &str = r#"
--- .mcp.json
{ "mcpServers": { "files": { "command": "npx", "args": ["-y", "two words"] }, "far": { "url": "https://x.example/" } } }
--- agentry.toml
[agent]
--- AGENTS.md
Be kind.
"#;

const AGENT: &str = r#"
--- agent.yml
name: a
tools: { custom: [fortune] }
hooks: { Stop: { run: hooks/guard, args: [--hard] }, PreToolUse: { run: prompts/check } }
--- AGENT.md
Work.
--- context/tool-access.json
{}
--- hooks/guard +x
#!/bin/sh
--- hooks/notes.md
For people.
--- hooks/run.md +x
#!/bin/sh
--- tools/fortune.yml
name: fortune
description: Tells.
--- tools/fortune.py +x
import shared
--- lib/shared.py
x = 1
--- lib/old.pyc
compiled
--- bin/deep/one
x
--- data/words.txt
{}
--- prompts/check +x
x
--- prompts/loaded
x
--- SOUL.md
Not code.
"#;

/// The agent in a folder of a project.
fn project() -> String {
    format!("{SETTINGS}{}", AGENT.replace("--- ", "--- team/"))
}

fn manifest_with(change: impl Fn(&mut FileTree)) -> Result<TrustManifest, TrustError> {
    let (library, findings) = given(&project()).read();
    assert!(!findings.has_errors(), "{:?}", findings.sorted());
    let mut tree = FileTree::from_fixture(AGENT);
    change(&mut tree);
    trust::manifest(&tree, &library.agents["team"])
}

fn manifest() -> TrustManifest {
    manifest_with(|_| {}).expect("all of it was read")
}

#[test]
fn files_are_all_that_programs_can_load() {
    let files: Vec<String> = manifest().files.into_keys().collect();
    assert_eq!(
        files,
        [
            "agent.yml",
            "bin/deep/one",
            "context/tool-access.json",
            "data/words.txt",
            "hooks/guard",
            "hooks/notes.md",
            "hooks/run.md",
            "lib/old.pyc",
            "lib/shared.py",
            "prompts/check",
            "prompts/loaded",
            "tools/fortune.py",
            "tools/fortune.yml",
        ]
    );
}

#[test]
fn what_runs_is_said_in_words() {
    let runs: Vec<String> = manifest().runs.iter().map(ToString::to_string).collect();
    assert_eq!(
        runs,
        [
            "hook PreToolUse: prompts/check",
            "hook Stop: hooks/guard --hard",
            "tool fortune: tools/fortune.py",
        ]
    );
}

#[test]
fn a_change_of_content_path_or_mode_changes_the_hash() {
    let before = manifest().hash;
    let file =
        |text: &str, executable| FileTreeEntry::File(FileContent::new(text.into(), executable));
    for (path, text, executable) in [
        ("lib/shared.py", "x = 2\n", false),
        ("lib/shared.py", "x = 1\n", true),
        ("lib/more.py", "", false),
        ("lib/old.pyc", "other", false),
        ("tools/new", "", false),
        ("hooks/notes.md", "For others.", false),
        ("data/words.txt", "[]", false),
        ("prompts/loaded", "y", false),
        ("agentry.toml", "", false),
    ] {
        let changed = manifest_with(|tree| tree.insert(path, file(text, executable))).unwrap();
        assert_ne!(changed.hash, before, "{path}");
    }
    for (path, text, executable) in [
        ("lib/shared.py", "x = 1\n", false),
        ("AGENT.md", "Play.", false),
        ("SOUL.md", "More.", false),
        ("other/hooks/guard", "x", true),
    ] {
        let same = manifest_with(|tree| tree.insert(path, file(text, executable))).unwrap();
        assert_eq!(same.hash, before, "{path}");
    }
}

#[test]
fn what_was_not_read_is_never_left_out() {
    for path in ["lib/big", "hooks", "agent.yml", "prompts/check", "."] {
        let refused = || FileTreeEntry::Refused(ReadRefusal::LinkLeavesRoot);
        let answer = manifest_with(|tree| tree.insert(path, refused()));
        let why = "a link that leads out of the directory".to_owned();
        assert_eq!(answer, Err(TrustError::NotRead { path: path.to_owned(), why }));
    }
    // What no program can load is not asked for.
    let refused = FileTreeEntry::Refused(ReadRefusal::LinkLeavesRoot);
    let beside = manifest_with(|tree| tree.insert("docs/link", refused.clone())).unwrap();
    assert_eq!(beside.hash, manifest().hash);
    // One that is too large to be kept has its hash.
    let large = |byte: u8| FileTreeEntry::File(FileContent::new(vec![byte; 2 * 1024 * 1024], true));
    let one = manifest_with(|tree| tree.insert("bin/large", large(1))).unwrap();
    let other = manifest_with(|tree| tree.insert("bin/large", large(2))).unwrap();
    assert!(one.files.contains_key("bin/large"));
    assert_ne!(one.hash, other.hash);
}

#[test]
fn an_agent_without_programs_has_nothing_to_be_looked_at() {
    let plain = "--- agent.yml\nname: a\n--- AGENT.md\nWork.\n";
    let (library, _) = given(plain).read();
    let agent = library.agents.values().next().expect("there is an agent");
    assert!(!trust::brings_programs(agent));
    let mut tree = FileTree::from_fixture(plain);
    tree.insert("lib/link", FileTreeEntry::Refused(ReadRefusal::LinkLeavesRoot));
    let manifest = trust::manifest(&tree, agent).expect("nothing in it can be loaded");
    assert!(manifest.runs.is_empty() && manifest.files.is_empty());
    let (library, _) = given(&project()).read();
    assert!(trust::brings_programs(&library.agents["team"]));
}

#[test]
fn a_program_that_vanished_is_not_passed_over() {
    let (library, _) = given(&project()).read();
    let without = FileTree::from_fixture(&AGENT.replace("prompts/check +x", "prompts/chek +x"));
    let answer = trust::manifest(&without, &library.agents["team"]);
    assert!(matches!(answer, Err(TrustError::NotRead { path, .. }) if path == "prompts/check"));
}

#[test]
fn servers_of_the_project_are_told_and_those_of_the_operator_are_not() {
    let (library, _) = given(&project()).read();
    assert_eq!(
        library.project_servers(),
        ["MCP server far: https://x.example/", "MCP server files: npx -y \"two words\""]
    );
    let given = given("--- agent.yml\nname: a\n--- AGENT.md\nWork.\n")
        .user_settings("[[mcp.servers]]\nid = \"mine\"\ncommand = \"x\"\n");
    let (library, _) = given.read();
    assert_eq!(library.mcp.len(), 1);
    assert!(library.project_servers().is_empty());
}
