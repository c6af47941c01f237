//! `agentry policy explain`: what each stage says about a call, and which rule decides.

use crate::story::Story;

const BUILDER: &str = "
    --- p/.agentry/agents/builder/AGENT.md
    ---
    name: Builder
    tools: [Read, Write, Bash, WebSearch]
    tool_approvals:
      rules:
        - {tool: Read, allow: true, when: {path: {startsWith: src/}}}
        - {tool: Bash, allow: false, when: {command: {startsWith: git push}}}
        - tool: Bash
          allow: true
          when: {command: {startsWith: 'git '}}
          examples: {allow: [git status], ask: [git push, git status; ls]}
        - {tool: Bash, allow: true, when: {command: {matches: ^rm}}}
    ---
    Build.
    --- p/.agentry/skills/look/SKILL.md
    ---
    name: look
    description: Looks around.
    tools: [Read]
    ---
    Look.
    --- p/.agentry/tasks/release/TASK.md
    ---
    name: Release
    next: second.md
    ---
    Begin.
    --- p/.agentry/tasks/release/second.md
    ---
    name: Second
    tools: [Write]
    ---
    End.
    ";

fn story() -> Story {
    Story::new(BUILDER).with("SHELL_TOOL_MODE", "full")
}

fn explain(story: &Story, tool: &str, args: &str, more: &str) -> String {
    story.run(&format!("policy explain p --tool {tool} --args '{args}' {more}"))
}

#[test]
fn a_call_that_goes_ahead_names_the_rule() {
    insta::assert_snapshot!(explain(&story(), "Bash", r#"{"command": "git status"}"#, ""), @r#"
    exit 0
    --- stdout
    agent  builder
    call   bash {"command":"git status"}

    registered   allow  this host has the tool `bash`
    input        allow  the arguments fit the tool's schema
    scope        allow  `bash` is one of the agent's tools
    tool access  allow  the mode of the shell is full [environment SHELL_TOOL_MODE]
    rules        allow  a rule allows `bash` when `command` starts with "git " [p/.agentry/agents/builder/AGENT.md:8]
    danger       allow  the guard against dangerous acts has no objection

    verdict: allow
    "#);
}

#[test]
fn a_call_that_is_asked_says_why() {
    let story = story();
    insta::assert_snapshot!(explain(&story, "Bash", r#"{"command": "git status; ls"}"#, ""), @r#"
    exit 4
    --- stdout
    agent  builder
    call   bash {"command":"git status; ls"}

    registered   allow  this host has the tool `bash`
    input        allow  the arguments fit the tool's schema
    scope        allow  `bash` is one of the agent's tools
    tool access  allow  the mode of the shell is full [environment SHELL_TOOL_MODE]
    rules        ask    a rule matches the text, but no rule allows its part `ls`, so it needs approval [p/.agentry/agents/builder/AGENT.md:8]
    danger       allow  the guard against dangerous acts has no objection

    verdict: ask, by the stage rules
    "#);
    insta::assert_snapshot!(explain(&story, "Write", r#"{"path": "a", "content": ""}"#, ""), @r#"
    exit 4
    --- stdout
    agent  builder
    call   write_file {"path":"a","content":""}

    registered   allow  this host has the tool `write_file`
    input        allow  the arguments fit the tool's schema
    scope        allow  `write_file` is one of the agent's tools
    tool access  allow  tool-access has it switched on
    rules        ask    no approval rule matches, so it needs approval
    danger       allow  the guard against dangerous acts has no objection

    verdict: ask, by the stage rules
    "#);
}

#[test]
fn a_list_of_commands_that_was_left_empty_asks_whatever_the_rules_say() {
    let story = Story::new(BUILDER).with("SHELL_TOOL_MODE", "allowlist");
    insta::assert_snapshot!(explain(&story, "Bash", r#"{"command": "git status"}"#, ""), @r#"
    exit 4
    --- stdout
    agent  builder
    call   bash {"command":"git status"}

    registered   allow  this host has the tool `bash`
    input        allow  the arguments fit the tool's schema
    scope        allow  `bash` is one of the agent's tools
    tool access  ask    the mode of the shell is allowlist and the list is empty, so each command needs approval; list allowedPrefixes, or set the mode to full [environment SHELL_TOOL_MODE]
    rules        allow  a rule allows `bash` when `command` starts with "git " [p/.agentry/agents/builder/AGENT.md:8]
    danger       allow  the guard against dangerous acts has no objection

    verdict: ask, by the stage tool access
    "#);
}

#[test]
fn a_dangerous_call_is_denied_whatever_the_rules_say() {
    insta::assert_snapshot!(explain(&story(), "Bash", r#"{"command": "rm -rf /"}"#, ""), @r#"
    exit 3
    --- stdout
    agent  builder
    call   bash {"command":"rm -rf /"}

    registered   allow  this host has the tool `bash`
    input        allow  the arguments fit the tool's schema
    scope        allow  `bash` is one of the agent's tools
    tool access  allow  the mode of the shell is full [environment SHELL_TOOL_MODE]
    rules        allow  a rule allows `bash` when `command` matches "^rm" [p/.agentry/agents/builder/AGENT.md:12]
    danger       deny   it reaches everything on the machine [built-in delete_root]

    verdict: deny, by the stage danger
    "#);
}

#[test]
fn a_tool_that_is_missing_and_arguments_that_do_not_fit_are_denied() {
    let story = story();
    insta::assert_snapshot!(explain(&story, "Raed", "{}", ""), @"
    exit 3
    --- stdout
    agent  builder
    call   Raed {}

    registered   deny   no tool is called `Raed`; known here: bash, read_file, write_file

    verdict: deny, by the stage registered
    ");
    insta::assert_snapshot!(explain(&story, "WebSearch", "{}", ""), @"
    exit 3
    --- stdout
    agent  builder
    call   web_search {}

    registered   deny   the tool `web_search` is left out: it needs a search service, and none is configured [p/.agentry/agents/builder/AGENT.md:3]

    verdict: deny, by the stage registered
    ");
    insta::assert_snapshot!(explain(&story, "Read", r#"{"pth": 1}"#, ""), @r#"
    exit 3
    --- stdout
    agent  builder
    call   read_file {"pth":1}

    registered   allow  this host has the tool `read_file`
    input        deny   the arguments do not fit the schema of `read_file`: the arguments: Additional properties are not allowed ('pth' was unexpected); the arguments: "path" is a required property; call it again with these mended

    verdict: deny, by the stage input
    "#);
}

#[test]
fn a_step_and_an_active_skill_narrow() {
    let story = story();
    let args = r#"{"path": "src/a.rs"}"#;
    let within = |more: &str| {
        let text = explain(&story, "Read", args, more);
        let scope =
            text.lines().find(|line| line.starts_with("scope")).unwrap_or_default().to_owned();
        format!("{}: {scope}", text.lines().next().unwrap_or_default())
    };
    insta::assert_snapshot!(within("--task release"), @"exit 0: scope        allow  `read_file` is one of the agent's tools");
    insta::assert_snapshot!(within("--task release --step second.md"), @"exit 3: scope        deny   the step second.md of the task `release` works with [write_file] only [p/.agentry/tasks/release/second.md:3]");
    insta::assert_snapshot!(within("--skill look"), @"exit 0: scope        allow  `read_file` is one of the agent's tools");
    let bash = explain(&story, "Bash", r#"{"command": "git status"}"#, "--skill look");
    assert!(bash.starts_with("exit 3"), "{bash}");
}

#[test]
fn json_has_every_stage() {
    let story = story();
    let json = story
        .json(r#"policy explain p --tool Bash --args '{"command": "git push"}' --format json"#);
    assert_eq!(json["verdict"], "ask");
    assert_eq!(json["stage"], "rules");
    assert_eq!(json["tool"], "bash");
    let stages: Vec<&str> = json["findings"]
        .as_array()
        .expect("findings are a list")
        .iter()
        .filter_map(|finding| finding["stage"].as_str())
        .collect();
    assert_eq!(stages, ["registered", "input", "scope", "tool_access", "rules", "danger"]);
    assert_eq!(json["findings"][4]["rule"], "p/.agentry/agents/builder/AGENT.md:7");
}

#[test]
fn what_is_asked_for_and_not_there_is_exit_2() {
    let story = story();
    insta::assert_snapshot!(explain(&story, "Read", "{path}", ""), @r#"
    exit 2
    --- stderr
    error: --args is not JSON: key must be a string at line 1 column 2
     help: write the arguments as an object, such as {"command": "git status"}
    "#);
    insta::assert_snapshot!(explain(&story, "Read", "{}", "--task releas"), @"
    exit 2
    --- stderr
    error: p has no task `releas`
     help: did you mean `release`?
    ");
    insta::assert_snapshot!(explain(&story, "Read", "{}", "--task release --step 2.md"), @"
    exit 2
    --- stderr
    error: the task `release` has no step `2.md`
     help: known here: TASK.md, second.md
    ");
    insta::assert_snapshot!(explain(&story, "Read", "{}", "--skill loook"), @"
    exit 2
    --- stderr
    error: the agent has no skill `loook`
     help: did you mean `look`?
    ");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let text = explain(&story(), "Bash", r#"{"command": "git \u001b[2J"}"#, "");
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

#[test]
fn check_reports_an_example_that_comes_out_otherwise() {
    let story = Story::new(&BUILDER.replace("ask: [git push,", "ask: [git log,"));
    insta::assert_snapshot!(story.run("check p"), @r#"
    exit 1
    --- stdout
    note[E0410]: `WebSearch` is left out: it needs a search service, and none is configured
     --> p/.agentry/agents/builder/AGENT.md:3:28
      |
    3 | tools: [Read, Write, Bash, WebSearch]
      |                            ^^^^^^^^^

    error[E0444]: it must need approval, but is allowed: a rule allows `bash` when `command` starts with "git "
      --> p/.agentry/agents/builder/AGENT.md:11:45
       |
    11 |       examples: {allow: [git status], ask: [git log, git status; ls]}
       |                                             ^^^^^^^
       |
       = help: mend the rule or the example; the rules are tried in order, all of them

    checked 1 agent, 1 skill, 1 task: 1 error, 1 note
    "#);
}
