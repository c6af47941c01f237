//! Holes of the attack review: paths.
//!
//! X7: rules look at the place that will be opened. X12: `tool-access.json` counts beside AGENT.md too.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{bash, project, run, script, write};
use crate::story::Story;

/// Rules that let files below `docs/` be written, and ask about those below `src/`.
const DOCS: &str = "    - { tool: Write, allow: false, when: { path: { startsWith: src/ } } }
    - { tool: Write, allow: true, when: { path: { startsWith: docs/ } } }\n";

fn explained(story: &Story, path: &str) -> Option<i32> {
    let args = json!({ "path": path, "content": "" });
    story.ran_in("", &format!("policy explain q --tool Write --args '{args}'")).code
}

#[test]
fn x7_a_rule_for_a_directory_is_not_passed_by_another_spelling_of_a_path() {
    let story = Story::new("");
    project(&story, "q", DOCS);
    fs::create_dir_all(story.path("q/docs")).unwrap();
    fs::create_dir_all(story.path("q/src")).unwrap();
    fs::create_dir_all(story.path("q/x")).unwrap();
    symlink("..", story.path("q/docs/up")).unwrap();
    symlink("src", story.path("q/s")).unwrap();
    let whole = story.path("q/src/a").display().to_string();
    let asked = [
        "docs/../package.json",
        "docs/up/package.json",
        "docs/up/src/a",
        "./src/a",
        "x/../src/a",
        "src//a",
        "s/a",
        whole.as_str(),
    ];
    for path in asked {
        script(&story, &[write(path, "{}")]);
        let ran = run(&story, "q", "");
        assert_eq!(ran.code, Some(4), "{path}: {}\n{}", ran.out, ran.err);
        assert_eq!(explained(&story, path), Some(4), "{path}");
    }
    assert!(!story.path("q/package.json").exists());
    assert!(!story.path("q/src/a").exists());
    let whole = story.path("q/docs/b").display().to_string();
    for path in ["docs/a", "./docs/a", "docs/./new/a", "docs/up/docs/a", whole.as_str()] {
        script(&story, &[write(path, "{}")]);
        let ran = run(&story, "q", "");
        assert_eq!(ran.code, Some(0), "{path}: {}\n{}", ran.out, ran.err);
        assert_eq!(explained(&story, path), Some(0), "{path}");
    }
    assert!(story.path("q/docs/new/a").exists() && story.path("q/docs/b").exists());
}

#[test]
fn x7_a_path_that_is_not_clear_is_asked_about() {
    let story = Story::new("");
    project(&story, "q", DOCS);
    fs::create_dir_all(story.path("q/docs")).unwrap();
    symlink("/etc", story.path("q/docs/out")).unwrap();
    symlink("nowhere", story.path("q/docs/dangling")).unwrap();
    for path in ["docs/out/x", "docs/dangling", "docs/none/../x", "../docs/x"] {
        assert_eq!(explained(&story, path), Some(4), "{path}");
    }
}

#[test]
fn x12_tool_access_beside_agent_md_counts() {
    let story = Story::new("");
    project(&story, "k", "    - { tool: Bash, allow: true }\n");
    let agent = "k/.agentry/agents/b";
    fs::remove_dir_all(story.path(&format!("{agent}/context"))).unwrap();
    let file = format!("{agent}/tool-access.json");
    script(&story, &[bash("touch RAN")]);
    story.file(&file, br#"{"global":{"enabled":false}}"#);
    let ran = run(&story, "k", "");
    assert_eq!(ran.code, Some(3), "{}\n{}", ran.out, ran.err);
    story.file(&file, b"{\n\"global\": {\"enabled\": fals}}");
    let findings = story.findings("check k");
    assert!(findings.contains("agents/b/tool-access.json:2:"), "{findings}");
    run(&story, "k", "");
    assert!(!story.path("k/RAN").exists());
    story.file(&file, br#"{"tools":{"shell":{"enabled":true,"mode":"full"}}}"#);
    let ran = run(&story, "k", "");
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.out, ran.err);
    assert!(story.path("k/RAN").exists());
}

#[test]
fn x12_two_tool_access_files_are_an_error_that_names_both() {
    let story = Story::new("");
    project(&story, "k", "    - { tool: Bash, allow: true }\n");
    story.file("k/.agentry/agents/b/tool-access.json", br#"{"global":{"enabled":false}}"#);
    let findings = story.findings("check k");
    assert!(
        findings.contains("E0806") && findings.contains("context/tool-access.json"),
        "{findings}"
    );
    script(&story, &[bash("touch RAN")]);
    assert_ne!(run(&story, "k", "").code, Some(0));
    assert!(!story.path("k/RAN").exists());
}
