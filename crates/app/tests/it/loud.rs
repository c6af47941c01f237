//! What would otherwise pass in silence is said, and what is said is exact.

use crate::story::Story;

const AGENT: &str = "\n--- a/agent.yml\nname: a\n--- a/AGENT.md\nDo.\n";

fn codes(story: &Story, path: &str) -> Vec<String> {
    let found = story.json(&format!("check {path} --format json"));
    let found = found.as_array().expect("it is an array").iter();
    found.map(|one| format!("{} {}", one["code"], one["file"]).replace('"', "")).collect()
}

#[test]
fn raw_is_exactly_the_prompt_and_nothing_else_reaches_a_terminal() {
    let story = Story::new(AGENT);
    story.file("a/AGENT.md", b"Do \x1b[31m red\n");
    assert_eq!(story.out("show prompt a --raw"), "Do \x1b[31m red");
    assert!(!story.run("show prompt a --color always").contains("\x1b[31m red"));
    story.file("a/skills/x\x1b[31mred/SKILL.md", b"---\nname: x\n---\n");
    assert!(!story.run("check a --color always").contains("x\x1b[31mred"));
}

#[test]
fn a_template_cannot_read_the_clock() {
    let story = Story::new(AGENT);
    story.file("a/prompts/system.md.liquid", b"{{ 'now' | date: '%N' }}");
    assert_eq!(codes(&story, "a"), ["E0701 a/prompts/system.md.liquid"]);
}

#[test]
fn settings_that_are_broken_stop_show() {
    let story = Story::new(AGENT);
    assert!(story.run("-c agent.modle=x show agent a").starts_with("exit 2"));
    story.file("a/agentry.toml", b"[agent]\nmodel =\n");
    for command in ["show agent a", "show prompt a"] {
        let ran = story.run(command);
        assert!(ran.starts_with("exit 1") && ran.contains("a/agentry.toml:2:8 E0211"), "{ran}");
    }
}

#[test]
fn a_wrong_flag_is_a_wrong_command() {
    let story = Story::new(AGENT);
    assert!(story.run("check a -c nonsense").starts_with("exit 2"));
    assert!(story.run("check a -c agent.modle=x").starts_with("exit 2"));
}

#[test]
fn a_file_where_a_directory_belongs_is_named_and_so_is_the_other_way_round() {
    let story = Story::new(AGENT);
    story.file("a/SOUL.md/x", b"");
    story.file("a/skills", b"");
    assert_eq!(codes(&story, "a"), ["E0109 a/SOUL.md", "E0109 a/skills"]);
}

#[test]
fn a_guard_under_a_wrong_name_is_named() {
    let story = Story::new(AGENT);
    story.file("a/context/tool_access.json", b"{\"global\": {\"enabled\": false}}");
    story.file("a/prompts/system.liquid", b"x");
    story.file("a/data/facts.yaml", b"x: y");
    let expected = [
        "E0112 a/context/tool_access.json",
        "E0112 a/data/facts.yaml",
        "E0112 a/prompts/system.liquid",
    ];
    assert_eq!(codes(&story, "a"), expected);
}

#[test]
fn tool_access_beside_an_agent_program_holds() {
    let story =
        Story::new("\n--- a/agent.yml\nname: a\ntools: {allow: [bash]}\n--- a/AGENT.md\nDo.\n");
    story.file("a/context/tool-access.json", b"{\"global\": {\"enabled\": false}}");
    let agent = story.json("show agent a --format json");
    assert_eq!(agent["powers"]["toolset"], serde_json::json!([]));
}

#[test]
fn servers_alone_are_something_and_a_file_without_them_is_not() {
    let story = Story::new("");
    story.file("m/.mcp.json", b"{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}");
    assert_eq!(codes(&story, "m"), Vec::<String>::new());
    story.file("m/.mcp.json", b"{\"servers\": {}}");
    assert_eq!(codes(&story, "m"), ["E0108 m", "E0302 m/.mcp.json"]);
}

#[test]
fn a_file_that_is_no_definition_is_not_checked_in_silence() {
    let story = Story::new(AGENT);
    story.file("a/notes.txt", b"");
    assert_eq!(codes(&story, "a/notes.txt"), ["E0108 a/notes.txt"]);
    assert_eq!(codes(&story, "a/AGENT.md"), Vec::<String>::new());
}

#[test]
fn a_broken_rule_does_not_hide_the_next() {
    let story = Story::new(
        "
        --- p/.agentry/agents/x/AGENT.md
        ---
        name: x
        tools: [Read]
        tool_approvals:
          rules:
            - {tool: Read, allow: perhaps}
            - {tool: Bash, allow: true}
            - {tool: Read, allow: true, when: {path: {matches: '('}}}
        ---
        ",
    );
    let file = "p/.agentry/agents/x/AGENT.md";
    let expected = [format!("E0303 {file}"), format!("E0441 {file}"), format!("E0442 {file}")];
    assert_eq!(codes(&story, "p"), expected);
}

#[test]
fn a_persona_that_nobody_has_and_a_key_in_place_of_its_name_are_named() {
    let story = Story::new(AGENT);
    let settings = "[agent]\npersona = \"zz\"\n\
                    [providers.x]\napi_key_env = \"sk-1-2\"\nmodel_allowlist = [\"m1\"]\n";
    story.file("a/agentry.toml", settings.as_bytes());
    assert_eq!(codes(&story, "a"), ["E0431 a/agentry.toml", "E0305 a/agentry.toml"]);
    assert!(!story.run("check a --format json").contains("sk-1-2"));
}

#[test]
fn a_misspelt_variable_for_the_shell_is_named() {
    let story = Story::new(AGENT).with("SHELL_TOOL_MOD", "off");
    assert_eq!(codes(&story, "a"), ["E0904 environment SHELL_TOOL_MOD"]);
}

#[test]
fn a_source_without_an_agent_is_not_a_success() {
    let story = Story::new("\n--- src/readme.txt\nHi.\n");
    let ran = story.run("init b --from src");
    assert!(ran.starts_with("exit 1") && ran.contains("it has no agent yet"), "{ran}");
}

#[test]
fn an_agents_own_settings_hold_in_a_project_too() {
    let story = Story::new("\n--- p/agentry.toml\n[agent]\nmodel = \"m-1\"\n");
    story.run("init p/agents/x --blank --arg tone=dry");
    story.file("p/agents/x/prompts/system.md.liquid", b"Be {{ args.tone }}.");
    assert_eq!(codes(&story, "p"), Vec::<String>::new());
    let agent = story.json("show agent p --agent x --format json");
    assert_eq!(agent["values"]["args"]["tone"]["origin"], "p/agents/x/agentry.toml:5:8");
    assert_eq!(agent["models"]["candidates"][0]["value"], "m-1");
    story.file("p/agents/x/agentry.toml", b"[agent]\nmodle = 1\n");
    assert_eq!(
        codes(&story, "p"),
        ["E0301 p/agents/x/agentry.toml", "E0702 p/agents/x/prompts/system.md.liquid"]
    );
}
