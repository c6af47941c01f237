//! `tools/`: the tools an agent brings itself, and its list of the host's.

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
    use agentry_agentfile::file_tree::{Entry, File};
    let mut given =
        given("--- agent.yml\nname: a\ntools:\n  custom: [fortune]\n--- AGENT.md\nWork.");
    for (path, text, executable) in files {
        let file = File::new(text.as_bytes().to_vec(), *executable);
        given = given.entry(path, Entry::File(file));
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
        .map(|tool| format!("{} {:?} {}", tool.name, tool.kind, tool.origin))
        .collect();
    assert_eq!(
        tools,
        [
            "bash Host agent.yml:2:17",
            "fortune Custom { program: \"tools/fortune.rb\" } agent.yml:2:23"
        ]
    );
}
