//! `tool-access.json` and the variables: which tools are on, and how the shell is bounded.

use std::collections::BTreeMap;

use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::FileTree;
use agentry_agentfile::tool_access::{self, ToolAccess};
use agentry_protocol::tool::{KNOWN, ToolName};

use crate::reading::{Given, given};

fn with(json: &str) -> Given {
    given("--- context/system_prompt.md\nWork.").bytes("context/tool-access.json", json)
}

fn without() -> Given {
    given("--- context/system_prompt.md\nWork.")
}

/// What the file and the variables say together.
fn access(json: Option<&str>, variables: &[(&str, &str)]) -> ToolAccess {
    let mut tree = FileTree::default();
    if let Some(json) = json {
        let fixture = format!("--- {}\n{json}\n", tool_access::FILES[0]);
        tree = FileTree::from_fixture(&fixture);
    }
    let variables: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    tool_access::read(&tree, &[], &variables, &mut Findings::default())
}

#[test]
fn a_tool_is_on_unless_something_switches_it_off() {
    let all = without().toolset();
    assert!(all.contains("bash") && all.contains("read_file"));
    assert_eq!(with("{}").toolset(), all);
    assert_eq!(with(r#"{"global": {"enabled": false}}"#).toolset(), "");
    assert_eq!(with(r#"{"global": {"mode": "off"}}"#).toolset(), "");
    assert_eq!(
        with(r#"{"global": {"mode": "allowlist", "allowedTools": ["Read", "shell"]}}"#).toolset(),
        "read_file bash"
    );
    assert_eq!(with(r#"{"global": {"mode": "allowlist"}}"#).toolset(), "");
    let less = with(r#"{"tools": {"Read": {"enabled": false}}}"#).toolset();
    assert_eq!(less, all.replace("read_file ", ""));
}

#[test]
fn off_is_off_for_every_tool_and_not_only_for_the_shell() {
    assert!(!with(r#"{"tools": {"shell": {"mode": "off"}}}"#).toolset().contains("bash"));
    assert!(!with(r#"{"tools": {"web_fetch": {"mode": "off"}}}"#).toolset().contains("web_fetch"));
}

#[test]
fn the_global_switch_is_asked_before_the_list_and_the_list_before_the_tool() {
    let why = |json: &str, tool: &str| {
        let access = access(Some(json), &[]);
        access.why_off(&ToolName::canonical(tool)).map(|off| format!("{} {}", off.why, off.origin))
    };
    let all =
        r#"{"global": {"enabled": false, "mode": "off"}, "tools": {"bash": {"enabled": false}}}"#;
    assert_eq!(
        why(all, "bash").unwrap(),
        "all tools are switched off context/tool-access.json:1:24"
    );
    let listed = r#"{"global": {"mode": "allowlist", "allowedTools": ["bash"]},
"tools": {"bash": {"enabled": false}}}"#;
    assert_eq!(why(listed, "bash").unwrap(), "it is switched off context/tool-access.json:2:31");
    assert_eq!(
        why(listed, "grep").unwrap(),
        "it is not in allowedTools context/tool-access.json:1:21"
    );
    assert_eq!(why("{}", "bash"), None);
}

#[test]
fn a_broken_file_denies_every_tool() {
    for json in [
        "{",
        "",
        "[]",
        r#"{"global": {"enabled": "no"}}"#,
        r#"{"globl": {"enabled": false}}"#,
        r#"{"tools": {"bash": {"allowedPrefix": ["ls"]}}}"#,
        r#"{"tools": {"bash": {}, "bash": {"enabled": false}}}"#,
        r#"{"tools": {"bash": {}, "shell": {"mode": "off"}}}"#,
    ] {
        let access = access(Some(json), &[("TOOLS_ENABLED", "true"), ("TOOLS_MODE", "full")]);
        let on =
            KNOWN.iter().filter(|tool| access.why_off(&ToolName::canonical(tool.name)).is_none());
        assert_eq!(on.count(), 0, "{json}");
        let (library, _) = with(json).read();
        assert!(library.agents.is_empty(), "{json}");
    }
}

#[test]
fn each_defect_is_found_at_its_place() {
    let check = |json: &str, expected: &str| with(json).check(expected);
    check("{", "E0210 error context/tool-access.json:1:1");
    check("[]", "E0209 error context/tool-access.json:1:1");
    check(r#"{"globl": {}}"#, "E0301 error context/tool-access.json:1:2");
    check(r#"{"tools": {"bash": {"timeout": 1}}}"#, "E0301 error context/tool-access.json:1:21");
    check(r#"{"global": {"mode": "some"}}"#, "E0304 error context/tool-access.json:1:21");
    check(r#"{"tools": {"shell": {"timeoutMs": 0}}}"#, "E0305 error context/tool-access.json:1:35");
    check(
        r#"{"tools": {"shell": {"timeoutMs": -5}}}"#,
        "E0305 error context/tool-access.json:1:35",
    );
    check(
        r#"{"tools": {"shel": {}}, "global": {"allowedTools": ["Raed", "a/b"]}}"#,
        "
        E0805 warning context/tool-access.json:1:12
        E0805 warning context/tool-access.json:1:53
        ",
    );
    check(
        r#"{"tools": {"shell": {"timeoutMs": 120001, "maxOutputChars": 200001}}}"#,
        "
        E0804 warning context/tool-access.json:1:35
        E0804 warning context/tool-access.json:1:61
        ",
    );
    check(r#"{"tools": {"bash": {}, "shell": {}}}"#, "E0204 error context/tool-access.json:1:24");
}

#[test]
fn the_file_counts_beside_agent_md_too() {
    let beside = |json: &str| {
        given("--- AGENT.md\n---\nname: A\ntools: [Bash, Read]\n---\nWork.")
            .bytes("tool-access.json", json)
    };
    assert_eq!(beside("{}").toolset(), "read_file bash");
    assert_eq!(beside(r#"{"global": {"enabled": false}}"#).toolset(), "");
    assert_eq!(beside(r#"{"tools": {"shell": {"enabled": false}}}"#).toolset(), "read_file");
    beside("{\n\"globl\": {}}").check(
        "
        E0410 note AGENT.md:3:9
        E0410 note AGENT.md:3:15
        E0301 error tool-access.json:2:1
        ",
    );
    let (library, _) = beside("{").read();
    assert!(library.agents.is_empty(), "a broken file lets nothing load");
}

#[test]
fn two_files_are_an_error_and_nothing_is_on() {
    let both = with("{}").bytes("tool-access.json", "{}");
    both.check("E0806 error tool-access.json:1:1");
    let (library, _) = with("{}").bytes("tool-access.json", "{}").read();
    assert!(library.agents.is_empty());
    let tree =
        FileTree::from_fixture("--- tool-access.json\n{}\n--- context/tool-access.json\n{}\n");
    let access = tool_access::read(&tree, &[], &BTreeMap::new(), &mut Findings::default());
    assert!(access.why_off(&ToolName::canonical("read_file")).is_some());
}

#[test]
fn a_custom_tool_can_be_switched_off_too() {
    given(
        "
        --- agent.yml
        name: a
        tools: {custom: [fortune], allow: [Read]}
        --- AGENT.md
        Work.
        --- tools/fortune.yml
        name: fortune
        description: x
        --- tools/fortune +x
        --- context/tool-access.json
        {\"tools\": {\"fortune\": {\"enabled\": false}, \"read_file\": {\"enabled\": false}}}
        ",
    )
    .check("E0410 note agent.yml:2:36");
}

#[test]
fn variables_speak_where_the_file_is_silent() {
    let origin = |json: Option<&str>| {
        let access = access(
            json,
            &[
                ("TOOLS_MODE", "allowlist"),
                ("TOOLS_ALLOWED", "Read, bash ,,"),
                ("SHELL_TOOL_ENABLED", "false"),
                ("SHELL_TOOL_MODE", "full"),
                ("SHELL_TOOL_TIMEOUT_MS", "500"),
                ("SHELL_TOOL_MAX_OUTPUT_CHARS", "900000"),
                ("SHELL_TOOL_ALLOWED_PREFIXES", "git ,ls"),
                ("SHELL_TOOL_ALLOW_ANY_CWD", "yes"),
            ],
        );
        let names = |list: &[agentry_agentfile::source::SourcedValue<ToolName>]| {
            list.iter().map(|one| one.value.as_str()).collect::<Vec<_>>().join("+")
        };
        let shell = &access.shell;
        [
            format!("mode {:?} {}", access.mode.value, access.mode.origin),
            format!("allowed {}", names(&access.allowed)),
            format!("off {}", names(&access.off)),
            format!("shell {:?} {}", shell.mode.value, shell.mode.origin),
            format!("timeout {} {}", shell.timeout_ms.value, shell.timeout_ms.origin),
            format!("output {}", shell.max_output_chars.value),
            format!("prefixes {}", shell.allowed_prefixes.len()),
            format!("cwd {} {}", shell.allow_any_cwd.value, shell.allow_any_cwd.origin),
        ]
        .join("\n")
    };
    insta::assert_snapshot!(origin(None), @r"
    mode Allowlist environment TOOLS_MODE
    allowed read_file+bash
    off bash
    shell Full environment SHELL_TOOL_MODE
    timeout 500 environment SHELL_TOOL_TIMEOUT_MS
    output 200000
    prefixes 2
    cwd true environment SHELL_TOOL_ALLOW_ANY_CWD
    ");
    insta::assert_snapshot!(
        origin(Some(
            r#"{"global": {"mode": "full", "allowedTools": []}, "tools": {"shell": {"enabled": true,
    "mode": "allowlist", "timeoutMs": 7, "allowedPrefixes": ["x"], "allowAnyCwd": false}}}"#
        )),
        @r"
    mode Full context/tool-access.json:1:21
    allowed 
    off 
    shell Allowlist context/tool-access.json:2:13
    timeout 7 context/tool-access.json:2:39
    output 200000
    prefixes 1
    cwd false context/tool-access.json:2:83
    "
    );
}

#[test]
fn without_a_file_and_variables_the_shell_runs_nothing_and_is_bounded() {
    let shell = access(None, &[]).shell;
    assert_eq!(format!("{:?}", shell.mode.value), "Allowlist");
    assert!(shell.allowed_prefixes.is_empty());
    assert_eq!((shell.timeout_ms.value, shell.max_output_chars.value), (15_000, 20_000));
    assert!(!shell.allow_any_cwd.value);
}

#[test]
fn a_variable_that_cannot_be_used_is_an_error_where_it_is_needed() {
    without()
        .variable("SHELL_TOOL_TIMEOUT_MS", "0")
        .variable("TOOLS_MODE", "alowlist")
        .variable("TOOLS_ENABLED", "maybe")
        .check(
            "
            E0803 error environment SHELL_TOOL_TIMEOUT_MS:1:1
            E0803 error environment TOOLS_ENABLED:1:1
            E0803 error environment TOOLS_MODE:1:1
            ",
        );
    without()
        .variable("SHELL_TOOL_TIMEOUT_MS", "120001")
        .check("E0804 warning environment SHELL_TOOL_TIMEOUT_MS:1:1");
    with(r#"{"tools": {"shell": {"enabled": true, "timeoutMs": 5}}}"#)
        .variable("SHELL_TOOL_TIMEOUT_MS", "soon")
        .variable("SHELL_TOOL_ENABLED", "maybe")
        .check("");
}
