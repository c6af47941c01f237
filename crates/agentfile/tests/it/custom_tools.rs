//! `tools/`: the tools an agent brings itself, and its list of the host's.

use agentry_agentfile::agent::{CustomTool, ToolKind};
use agentry_protocol::ContentHash;

use crate::reading::{agent, check, given};

const FORTUNE_YML: &str = "name: fortune\ndescription: Tells.\n";

#[test]
fn a_tool_of_the_host_must_exist() {
    check(
        "
        --- agent.yml
        name: a
        tools:
          allow:
            - bash
            - bsh
            - github/issues
            - git_*
            - zzz*
            - ../x
        --- AGENT.md
        Work.
        ",
        "
        E0401 error agent.yml:5:7
        E0427 error agent.yml:6:7
        E0401 error agent.yml:8:7
        E0427 error agent.yml:9:7
        ",
    );
}

#[test]
fn a_name_and_its_alias_are_one_tool() {
    check(
        "
        --- agent.yml
        name: a
        tools: {allow: [Read, read_file, bash, bash]}
        --- AGENT.md
        Work.
        ",
        "
        E0411 warning agent.yml:2:23
        E0411 warning agent.yml:2:40
        ",
    );
}

#[test]
fn a_star_stands_for_any_ending() {
    let toolset =
        given("--- agent.yml\nname: a\ntools: {allow: ['git_*', Glob]}\n--- AGENT.md\nWork.")
            .toolset();
    assert_eq!(toolset, "glob git_status git_diff git_log git_show git_commit");
}

#[track_caller]
fn check_tool(files: &[(&str, &str, bool)], expected: &str) {
    use agentry_agentfile::file_tree::{FileContent, FileTreeEntry};
    let mut given =
        given("--- agent.yml\nname: a\ntools:\n  custom: [fortune]\n--- AGENT.md\nWork.");
    for (path, text, executable) in files {
        let file = FileContent::new(text.as_bytes().to_vec(), *executable);
        given = given.entry(path, FileTreeEntry::File(file));
    }
    given.check(expected);
}

#[test]
fn a_custom_tool_has_a_schema_and_one_program() {
    let schema = ("tools/fortune.yml", FORTUNE_YML, false);
    let place = |code: &str| format!("{code} error agent.yml:3:12");
    check_tool(&[], &place("E0403"));
    check_tool(&[("tools/fortune.rb", "", true)], &place("E0403"));
    check_tool(&[schema], &place("E0404"));
    check_tool(&[schema, ("tools/fortune.rb", "", false)], &place("E0406"));
    check_tool(
        &[schema, ("tools/fortune.rb", "", true), ("tools/fortune", "", true)],
        &place("E0405"),
    );
    check_tool(&[schema, ("tools/fortune.rb", "", true), ("tools/fortune.md", "", false)], "");
    check_tool(&[("tools/fortune.yaml", FORTUNE_YML, false), ("tools/fortune", "", true)], "");
}

#[test]
fn each_way_in_which_a_tool_is_broken_is_expected_by_its_line() {
    check(
        "
        --- agent.yml
        name: a
        tools:
          custom:
            - bash
            - lost
            - twice
            - plain
            - idle
            - idle
            - ../x
            - a/b
        --- AGENT.md
        Work.
        --- tools/twice.yml
        name: twice
        description: x
        --- tools/twice.sh +x
        --- tools/twice.py +x
        --- tools/plain.yml
        name: plain
        description: x
        --- tools/plain.sh
        --- tools/idle.yml
        name: idle
        description: x
        --- tools/unlisted.yml
        name: unlisted
        description: x
        ",
        "
        E0402 error agent.yml:4:7
        E0403 error agent.yml:5:7
        E0405 error agent.yml:6:7
        E0406 error agent.yml:7:7
        E0404 error agent.yml:8:7
        E0411 warning agent.yml:9:7
        E0403 error agent.yml:10:7
        E0403 error agent.yml:11:7
        E0409 warning tools/unlisted.yml:1:1
        ",
    );
}

#[track_caller]
fn check_schema(schema: &str, expected: &str) {
    check_tool(&[("tools/fortune.yml", schema, false), ("tools/fortune", "", true)], expected);
}

#[test]
fn a_tools_schema_says_its_own_name_and_only_what_is_known() {
    check_schema(
        "name: fortuna\ndescription: x\n",
        "
        E0407 error tools/fortune.yml:1:7
        ",
    );
    check_schema("name: fortune\n", "E0302 error tools/fortune.yml:1:1");
    check_schema("description: x\n", "E0302 error tools/fortune.yml:1:1");
    check_schema(
        "name: fortune\ndescription: x\nparams: {}\n",
        "E0301 error tools/fortune.yml:3:1",
    );
    check_schema("", "E0209 error tools/fortune.yml:1:1");
}

#[test]
fn the_parameters_of_a_tool_are_a_json_schema_of_an_object() {
    let with = |parameters: &str| format!("{FORTUNE_YML}parameters:\n  {parameters}\n");
    check_schema(
        &with("type: string"),
        "
        E0408 error tools/fortune.yml:4:9
        ",
    );
    check_schema(&with("type: objekt"), "E0408 error tools/fortune.yml:4:9");
    check_schema(&with("properties: {sign: {type: sting}}"), "E0408 error tools/fortune.yml:4:29");
    check_schema(&with("properties: {sign: {type: string}}"), "");
}

#[test]
fn a_schema_of_a_tool_reaches_nothing_outside() {
    check_schema(
        &format!("{FORTUNE_YML}parameters:\n  $ref: https://example.org/x.json\n"),
        "E0408 error tools/fortune.yml:4:3",
    );
}

#[test]
fn a_custom_tool_may_be_listed_under_allow() {
    let agent = agent(
        "
        --- agent.yml
        name: a
        tools: {allow: [bash, fortune]}
        --- AGENT.md
        Work.
        --- tools/fortune.yml
        name: fortune
        description: Tells.
        --- tools/fortune.rb +x
        #!/usr/bin/env ruby
        ",
        "agent",
    );
    let tools: Vec<String> = agent
        .powers
        .toolset
        .iter()
        .map(|tool| {
            let kind = match &tool.kind {
                ToolKind::Custom(custom) => &custom.program,
                ToolKind::Host | ToolKind::Mcp { .. } => "of the host",
            };
            format!("{} {kind} {}", tool.name, tool.origin)
        })
        .collect();
    assert_eq!(
        tools,
        ["bash of the host agent.yml:2:17", "fortune tools/fortune.rb agent.yml:2:23"]
    );
}

#[test]
fn a_tool_says_what_it_answers_and_what_it_may_spend() {
    let fixture = "
        --- agent.yml
        name: a
        tools: {custom: [fortune, plain]}
        --- AGENT.md
        Work.
        --- tools/fortune.yml
        name: fortune
        description: Tells.
        parameters: {properties: {sign: {type: string, default: leo}}}
        output: {type: string}
        artifacts: out/cards/
        timeout_ms: 600000
        read_only: true
        --- tools/fortune +x
        x
        --- tools/plain.yml
        name: plain
        description: Plain.
        --- tools/plain +x
        y
        ";
    let agent = agent(fixture, "agent");
    let custom = |at: usize| match &agent.powers.toolset[at].kind {
        ToolKind::Custom(custom) => (**custom).clone(),
        ToolKind::Host | ToolKind::Mcp { .. } => panic!("a custom tool"),
    };
    let full = CustomTool {
        program: "tools/fortune".to_owned(),
        hash: ContentHash::of(b"x\n"),
        output: Some(serde_json::json!({ "type": "string" })),
        artifacts: Some("out/cards".to_owned()),
        timeout_ms: 600_000,
        read_only: true,
    };
    let plain = CustomTool {
        program: "tools/plain".to_owned(),
        hash: ContentHash::of(b"y\n\n"),
        output: None,
        artifacts: None,
        timeout_ms: 120_000,
        read_only: false,
    };
    assert_eq!([custom(0), custom(1)], [full, plain]);
    let parameters = agent.powers.toolset[0].parameters.as_ref().unwrap();
    assert_eq!(parameters["properties"]["sign"]["default"], "leo");
}

#[test]
fn what_a_tool_may_not_say_is_found_at_its_line() {
    let program = ("tools/fortune", "x", true);
    let check_field = |line: &str, expected: &str| {
        let schema = format!("{FORTUNE_YML}{line}\n");
        check_tool(&[("tools/fortune.yml", &schema, false), program], expected);
    };
    check_field("output: {type: strng}", "E0413 error tools/fortune.yml:3:16");
    check_field("output: x", "E0303 error tools/fortune.yml:3:9");
    check_field("timeout_ms: 0", "E0305 error tools/fortune.yml:3:13");
    check_field("timeout_ms: 600001", "E0305 error tools/fortune.yml:3:13");
    check_field("read_only: maybe", "E0303 error tools/fortune.yml:3:12");
    check_field("reads_only: true", "E0301 error tools/fortune.yml:3:1");
    for folder in ["..", "/tmp", "a/../b", "a//b", "''", "./a", "~/a", "'a\\b'", ".git"] {
        check_field(&format!("artifacts: {folder}"), "E0414 error tools/fortune.yml:3:12");
    }
}

#[test]
fn a_tool_has_a_name_that_models_take() {
    let long = "a".repeat(65);
    for name in ["tell.me", "tell me", "écho", &long] {
        let fixture = format!(
            "--- agent.yml\nname: a\ntools:\n  custom: ['{name}']\n--- AGENT.md\nWork.\n\
             --- tools/{name}.yml\nname: '{name}'\ndescription: x\n--- tools/{name} +x\nx\n"
        );
        check(&fixture, "E0412 error agent.yml:3:12");
    }
}
