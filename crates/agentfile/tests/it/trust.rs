//! What of a directory would run.

use agentry_agentfile::file_tree::{Entry, File, FileTree, Refusal};
use agentry_agentfile::trust::{self, Manifest, Unknown};

use crate::reading::given;

const DIRECTORY: &str = r#"
--- .mcp.json
{ "mcpServers": { "files": { "command": "npx", "args": ["-y", "two words"] }, "far": { "url": "https://x.example/" } } }
--- agentry.toml
[agent]
--- AGENTS.md
Be kind.
--- team/agent.yml
name: a
tools: { custom: [fortune] }
hooks: { Stop: { run: hooks/guard, args: [--hard] }, PreToolUse: { run: data/check } }
--- team/AGENT.md
Work.
--- team/context/tool-access.json
{}
--- team/hooks/guard +x
#!/bin/sh
--- team/hooks/notes.md
For people.
--- team/hooks/run.md +x
#!/bin/sh
--- team/tools/fortune.yml
name: fortune
description: Tells.
--- team/tools/fortune.py +x
import shared
--- team/lib/shared.py
x = 1
--- team/bin/deep/one
x
--- team/data/check +x
x
--- team/data/other +x
x
"#;

fn manifest_with(change: impl Fn(&mut FileTree)) -> Result<Manifest, Unknown> {
    let (library, findings) = given(DIRECTORY).read();
    assert!(!findings.has_errors(), "{:?}", findings.sorted());
    let mut tree = FileTree::from_fixture(DIRECTORY);
    change(&mut tree);
    trust::manifest(&tree, Some(&library.agents["team"]), library.mcp.values())
}

fn manifest() -> Manifest {
    manifest_with(|_| {}).expect("all of it was read")
}

#[test]
fn files_are_what_runs_and_what_says_so() {
    let files: Vec<String> = manifest().files.into_keys().collect();
    assert_eq!(
        files,
        [
            ".mcp.json",
            "agentry.toml",
            "team/agent.yml",
            "team/bin/deep/one",
            "team/context/tool-access.json",
            "team/data/check",
            "team/hooks/guard",
            "team/hooks/run.md",
            "team/lib/shared.py",
            "team/tools/fortune.py",
            "team/tools/fortune.yml",
        ]
    );
}

#[test]
fn what_runs_is_said_in_words() {
    let runs: Vec<String> = manifest().runs.iter().map(ToString::to_string).collect();
    assert_eq!(
        runs,
        [
            "hook PreToolUse: data/check",
            "hook Stop: hooks/guard --hard",
            "tool fortune: tools/fortune.py",
            "MCP server far: https://x.example/",
            "MCP server files: npx -y \"two words\"",
        ]
    );
}

#[test]
fn a_change_of_content_path_or_mode_changes_the_hash() {
    let before = manifest().hash;
    let file = |text: &str, executable| Entry::File(File::new(text.into(), executable));
    for (path, text, executable) in [
        ("team/lib/shared.py", "x = 2\n", false),
        ("team/lib/shared.py", "x = 1\n", true),
        ("team/lib/more.py", "", false),
        ("team/tools/new", "", false),
        ("agentry.toml", "", false),
    ] {
        let changed = manifest_with(|tree| tree.insert(path, file(text, executable))).unwrap();
        assert_ne!(changed.hash, before, "{path}");
    }
    for (path, text, executable) in [
        ("team/lib/shared.py", "x = 1\n", false),
        ("team/AGENT.md", "Play.", false),
        ("team/hooks/notes.md", "For others.", false),
        ("team/data/other", "y", true),
        ("other/hooks/guard", "x", true),
    ] {
        let same = manifest_with(|tree| tree.insert(path, file(text, executable))).unwrap();
        assert_eq!(same.hash, before, "{path}");
    }
}

#[test]
fn what_was_not_read_is_never_left_out() {
    for path in ["team/lib/big", "team/hooks", ".mcp.json", "team/data/check"] {
        let refused = || Entry::Refused(Refusal::LinkLeavesRoot);
        let answer = manifest_with(|tree| tree.insert(path, refused()));
        assert_eq!(answer, Err(Unknown::NotRead { path: path.to_owned() }));
    }
    // One that is too large to be kept has its hash.
    let large = |byte: u8| Entry::File(File::new(vec![byte; 2 * 1024 * 1024], true));
    let one = manifest_with(|tree| tree.insert("team/bin/large", large(1))).unwrap();
    let other = manifest_with(|tree| tree.insert("team/bin/large", large(2))).unwrap();
    assert!(one.files.contains_key("team/bin/large"));
    assert_ne!(one.hash, other.hash);
}

#[test]
fn an_agent_of_another_tree_is_not_told_of() {
    let (library, _) = given(DIRECTORY).read();
    let mut tree = FileTree::from_fixture(DIRECTORY);
    tree.label = "elsewhere".to_owned();
    let answer = trust::manifest(&tree, Some(&library.agents["team"]), []);
    assert_eq!(answer, Err(Unknown::Elsewhere { directory: "team".to_owned() }));
}

#[test]
fn a_program_that_vanished_is_not_passed_over() {
    let (library, _) = given(DIRECTORY).read();
    let without: String = DIRECTORY.replace("--- team/data/check +x", "--- team/data/chek +x");
    let answer =
        trust::manifest(&FileTree::from_fixture(&without), Some(&library.agents["team"]), []);
    assert_eq!(answer, Err(Unknown::NotRead { path: "team/data/check".to_owned() }));
}

#[test]
fn servers_of_the_operator_are_not_the_directorys() {
    let given = given("--- agent.yml\nname: a\n--- AGENT.md\nWork.\n")
        .user_settings("[[mcp.servers]]\nid = \"mine\"\ncommand = \"x\"\n");
    let (library, _) = given.read();
    let tree = FileTree::from_fixture("--- agent.yml\nname: a\n--- AGENT.md\nWork.\n");
    assert_eq!(library.mcp.len(), 1);
    let agent = library.agents.values().next();
    assert!(trust::manifest(&tree, agent, library.mcp.values()).unwrap().is_empty());
}

#[test]
fn without_an_agent_only_servers_count() {
    let (library, _) = given(DIRECTORY).read();
    let tree = FileTree::from_fixture(DIRECTORY);
    let manifest = trust::manifest(&tree, None, library.mcp.values()).unwrap();
    let files: Vec<String> = manifest.files.into_keys().collect();
    assert_eq!(files, [".mcp.json", "agentry.toml"]);
    assert_eq!(manifest.runs.len(), 2);
}
