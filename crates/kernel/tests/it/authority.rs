//! The stages that a call goes through: what each says, in which order, and that none of them widens.

use std::collections::{BTreeMap, BTreeSet};

use agentry_agentfile::config::{self, ConfigLayers};
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::file_tree::FileTree;
use agentry_agentfile::library::{self, Library, LibraryInput};
use agentry_agentfile::skill::SkillLevel;
use agentry_agentfile::source::Origin;
use agentry_agentfile::tool_access;
use agentry_kernel::approval::try_examples;
use agentry_kernel::authority::{Authority, of_agent, schema_errors};
use agentry_protocol::call_facts::{CallFacts, ResolvedPath};
use agentry_protocol::confinement::{Confinement, ConfinementLevel};
use agentry_protocol::tool::{Risk, ToolCategory, ToolName};
use agentry_protocol::tool_call::{RepeatSafety, ToolCall, ToolSpec};
use agentry_protocol::verdict::{Finding, Stage, Verdict};
use agentry_protocol::{CallId, SkillId};
use proptest::prelude::*;
use serde_json::{Value, json};

fn spec(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: ToolName::canonical(name),
        description: String::new(),
        parameters,
        category: ToolCategory::Custom,
        risk: Risk::Medium,
        repeat: RepeatSafety::Uncertain,
    }
}

/// The tools of the host of these tests.
fn specs() -> Vec<ToolSpec> {
    let object = |required: &str| {
        json!({
            "type": "object",
            "properties": {required: {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
            "required": [required],
            "additionalProperties": false,
        })
    };
    vec![
        spec("read_file", object("path")),
        spec("write_file", object("path")),
        spec("grep", object("pattern")),
        spec("bash", object("command")),
    ]
}

fn read(fixture: &str, environment: &[(&str, &str)]) -> Library {
    let project = FileTree::from_fixture(fixture);
    let mut findings = Findings::default();
    let variables = environment.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let input = LibraryInput {
        project: &project,
        home: None,
        skill_roots: &[],
        settings: config::layered(&ConfigLayers::default(), &mut findings),
        environment: variables.collect::<BTreeMap<_, _>>(),
        host: specs().into_iter().map(|spec| spec.name).collect::<BTreeSet<_>>(),
        level: SkillLevel::Extended,
        try_templates: &|_| Vec::new(),
        try_examples,
    };
    library::read(input, &mut findings)
}

fn authority_of(library: &Library, step: Option<usize>) -> Authority {
    let agent = library.agents.values().next().expect("there is an agent that loads");
    let task = step.map(|at| (library.tasks.values().next().expect("there is a task"), at));
    of_agent(agent, library, &specs(), task, Confinement::most_restricted())
}

/// The authority of the only agent of a directory, with the shell in the mode `full`.
fn authority(fixture: &str) -> Authority {
    authority_of(&read(fixture, &[("SHELL_TOOL_MODE", "full")]), None)
}

fn call(tool: &str, input: Value) -> ToolCall {
    ToolCall { id: CallId::from_number(1), tool: ToolName::canonical(tool), input }
}

fn bash(command: &str) -> ToolCall {
    call("bash", json!({"command": command}))
}

/// One line for each stage.
fn told(findings: &[Finding]) -> String {
    let line = |one: &Finding| {
        let rule = one.rule.as_ref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
        format!("{}: {}: {}{rule}", one.stage, one.verdict, one.why)
    };
    findings.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(authority: &Authority, call: &ToolCall, active: &[&str], last: &str) {
    let active: Vec<SkillId> = active.iter().map(|id| SkillId::new(*id)).collect();
    let told = told(&authority.rule(call, &active).findings);
    assert_eq!(told.lines().last().unwrap_or_default(), last, "{told}");
}

const BUILDER: &str = "
--- .agentry/agents/builder/AGENT.md
---
name: Builder
tools: [Read, Grep, Bash]
tool_approvals:
  rules:
    - {tool: Read, allow: true}
    - {tool: Bash, allow: true, when: {command: {startsWith: 'git '}}}
---
Build.
";

#[test]
fn a_call_goes_through_all_stages_in_order() {
    let findings = authority(BUILDER).chain(&bash("git status"), &[]);
    assert_eq!(
        told(&findings),
        "registered: allow: this host has the tool `bash`\n\
         input: allow: the arguments fit the tool's schema\n\
         scope: allow: `bash` is one of the agent's tools\n\
         tool access: allow: the mode of the shell is full [environment SHELL_TOOL_MODE]\n\
         rules: allow: a rule allows `bash` when `command` starts with \"git \" \
         [.agentry/agents/builder/AGENT.md:7]\n\
         danger: allow: the guard against dangerous acts has no objection"
    );
}

#[test]
fn the_ruling_leaves_the_danger_guard_to_the_turn() {
    let authority = authority(BUILDER);
    let ruling = authority.rule(&bash("git status"), &[]);
    assert_eq!((ruling.verdict, ruling.findings.len()), (Verdict::Allow, 5));
    assert_eq!(authority.rule(&bash("ls"), &[]).verdict, Verdict::Ask);
}

#[test]
fn an_unknown_tool_is_denied_with_the_name_that_was_probably_meant() {
    let authority = authority(BUILDER);
    let expected = "registered: deny: no tool is called `read_fil`; did you mean `read_file`?";
    check(&authority, &call("read_fil", json!({})), &[], expected);
    let expected = "registered: deny: no tool is called `zzz`; known here: bash, grep, read_file";
    check(&authority, &call("zzz", json!({})), &[], expected);
}

#[test]
fn a_tool_that_was_asked_for_and_is_missing_says_why() {
    let fixture = BUILDER.replace("[Read, Grep, Bash]", "[Read, Grep, Bash, WebSearch]");
    let expected = "registered: deny: the tool `web_search` is left out: \
                    it needs a search service, and none is configured \
                    [.agentry/agents/builder/AGENT.md:3]";
    check(&authority(&fixture), &call("WebSearch", json!({})), &[], expected);
}

#[test]
fn each_missing_tool_says_its_own_reason() {
    // Known to the host as tools, and not given to this agent.
    let names = "[Read, Grep, Bash, WebSearch, memory_search]";
    let fixture = BUILDER.replace("[Read, Grep, Bash]", names);
    let library = read(&fixture, &[("SHELL_TOOL_MODE", "full")]);
    let agent = library.agents.values().next().expect("there is an agent that loads");
    let mut authority = authority_of(&library, None);
    authority.known.extend(["web_search", "memory_search"].map(ToolName::canonical));
    for one in &agent.powers.left_out {
        let name = ToolName::canonical(&one.name);
        let findings = authority.rule(&call(&one.name, json!({})), &[]).findings;
        let last = findings.last().expect("there is a finding");
        assert_eq!(last.why, format!("the agent does not get `{name}`: {}", one.why));
    }
    assert_eq!(agent.powers.left_out.len(), 2);
    // A tool of the agent that this host does not run.
    let few: Vec<_> = specs().into_iter().filter(|one| one.name.as_str() != "grep").collect();
    let authority = of_agent(agent, &library, &few, None, Confinement::most_restricted());
    let missing: Vec<_> = authority.left_out.iter().map(|one| &*one.name).collect();
    assert_eq!(missing, ["WebSearch", "memory_search", "grep"]);
}

#[test]
fn arguments_that_do_not_fit_are_denied_with_all_that_is_wrong() {
    let authority = authority(BUILDER);
    let wrong = call("grep", json!({"limit": 0, "more": 1}));
    let findings = authority.rule(&wrong, &[]).findings;
    assert_eq!(
        told(&findings).lines().last().unwrap_or_default(),
        "input: deny: the arguments do not fit the schema of `grep`: /limit: the value is less than the \
         minimum of 1; the arguments: Additional properties are not allowed ('more' was unexpected); \
         the arguments: \"pattern\" is a required property; call it again with these mended"
    );
    assert_eq!(findings.len(), 2, "later stages are not asked");
}

#[test]
fn the_number_and_length_of_told_defects_is_bounded() {
    let mut authority = authority(BUILDER);
    let list = json!({"type": "array", "items": {"enum": ["é".repeat(2_000)]}});
    authority.tools.push(spec("many", list));
    authority.known.push(ToolName::canonical("many"));
    let ruling = authority.rule(&call("many", json!(vec![1; 50])), &[]);
    let why = &ruling.findings[1].why;
    assert!(why.contains("and 30 more"), "{why}");
    assert!(why.chars().count() < 21 * 320, "{}", why.chars().count());
}

#[test]
fn a_schema_that_does_not_compile_denies() {
    let mut authority = authority(BUILDER);
    authority.tools.push(spec("odd", json!({"type": 7})));
    authority.known.push(ToolName::canonical("odd"));
    let ruling = authority.rule(&call("odd", json!({})), &[]);
    assert_eq!(ruling.verdict, Verdict::Deny);
    assert!(ruling.findings[1].why.contains("schema does not compile"), "{ruling:?}");
}

#[test]
fn a_schema_that_changes_is_compiled_anew() {
    let mut authority = authority(BUILDER);
    assert_eq!(authority.rule(&bash("git status"), &[]).verdict, Verdict::Allow);
    for spec in authority.tools.iter_mut().filter(|spec| spec.name.as_str() == "bash") {
        spec.parameters = json!({"type": "string"});
    }
    assert_eq!(authority.rule(&bash("git status"), &[]).verdict, Verdict::Deny);
}

#[test]
fn a_tool_of_the_host_that_is_not_the_agents_is_out_of_scope() {
    let expected = "scope: deny: `write_file` is not one of the agent's tools";
    check(&authority(BUILDER), &call("Write", json!({"path": "a"})), &[], expected);
}

const WITH_SKILLS: &str = "
--- .agentry/agents/builder/AGENT.md
---
name: Builder
tools: [Read, Grep, Bash]
tool_approvals:
  rules:
    - {tool: Read, allow: true}
---
--- .agentry/skills/look/SKILL.md
---
name: look
description: Looks.
tools: [Read, Grep, Write]
---
--- .agentry/skills/ship/SKILL.md
---
name: ship
description: Ships.
tool_approvals:
  rules:
    - {tool: Bash, allow: true}
    - {tool: Write, allow: true}
---
";

#[test]
fn an_active_skill_with_a_list_narrows_the_agent() {
    let authority = authority(WITH_SKILLS);
    let read = call("Read", json!({"path": "a"}));
    assert_eq!(authority.rule(&read, &[SkillId::new("look")]).verdict, Verdict::Allow);
    let expected = "scope: deny: the skill `look` works with [read_file, grep, write_file] only \
                    [.agentry/skills/look/SKILL.md:4]";
    check(&authority, &bash("ls"), &["look"], expected);
    check(&authority, &bash("ls"), &["look", "ship"], expected);
}

#[test]
fn a_skill_cannot_give_a_tool_that_the_agent_does_not_have() {
    let authority = authority(WITH_SKILLS);
    let write = call("Write", json!({"path": "a"}));
    let expected = "scope: deny: `write_file` is not one of the agent's tools";
    for active in [vec!["look"], vec!["ship"], vec!["look", "ship"]] {
        check(&authority, &write, &active, expected);
    }
}

#[test]
fn the_rules_of_the_skill_that_was_loaded_last_decide() {
    let authority = authority(WITH_SKILLS);
    let expected = "rules: allow: a rule allows every `bash` \
                    [.agentry/skills/ship/SKILL.md:6]";
    check(&authority, &bash("ls"), &["ship"], expected);
    let expected = "rules: ask: no approval rule matches, so it needs approval";
    check(&authority, &bash("ls"), &[], expected);
    // The skill has rules, so the agent's rule for reading does not count.
    check(&authority, &call("Read", json!({"path": "a"})), &["ship"], expected);
}

#[test]
fn of_two_skills_with_rules_the_later_one_decides() {
    let cautious = "
--- .agentry/skills/cautious/SKILL.md
---
name: cautious
description: Asks.
tool_approvals:
  rules: [{tool: Bash, allow: false}]
---
";
    let authority = authority(&format!("{WITH_SKILLS}{cautious}"));
    let verdict =
        |active: [&str; 2]| authority.rule(&bash("ls"), &active.map(SkillId::new)).verdict;
    assert_eq!(verdict(["cautious", "ship"]), Verdict::Allow);
    assert_eq!(verdict(["ship", "cautious"]), Verdict::Ask);
}

#[test]
fn an_active_skill_that_nobody_knows_denies() {
    let expected = "scope: deny: the skill `ghost` is active but is not one of the agent's";
    check(&authority(WITH_SKILLS), &bash("ls"), &["ghost"], expected);
}

const WITH_TASK: &str = "
--- .agentry/agents/builder/AGENT.md
---
name: Builder
tools: [Read, Grep, Bash]
tool_approvals:
  rules:
    - {tool: Bash, allow: true}
---
--- .agentry/tasks/release/TASK.md
---
name: Release
tools: [Read, Bash]
tool_approvals:
  rules:
    - {tool: Bash, allow: true, when: {command: {equals: make}}}
next: second.md
---
--- .agentry/tasks/release/second.md
---
name: Second
next: third.md
---
--- .agentry/tasks/release/third.md
---
name: Third
tools: [Grep, Write]
tool_approvals:
  rules: []
---
";

#[test]
fn a_step_narrows_the_agent_and_a_silent_one_takes_what_the_task_says() {
    let library = read(WITH_TASK, &[("SHELL_TOOL_MODE", "full")]);
    let rulings = |step: Option<usize>| {
        let authority = authority_of(&library, step);
        let grep = call("Grep", json!({"pattern": "a"}));
        let write = call("Write", json!({"path": "a"}));
        [bash("make"), bash("ls"), grep, write].map(|call| authority.rule(&call, &[]).verdict)
    };
    use Verdict::{Allow, Ask, Deny};
    assert_eq!(rulings(None), [Allow, Allow, Ask, Deny]);
    assert_eq!(rulings(Some(0)), [Allow, Ask, Deny, Deny]);
    assert_eq!(rulings(Some(1)), [Allow, Ask, Deny, Deny]);
    // Its empty list of rules is a list: nothing goes ahead.
    assert_eq!(rulings(Some(2)), [Deny, Deny, Ask, Deny]);
    let expected = "scope: deny: the step third.md of the task `release` works with [grep, write_file] \
                    only [.agentry/tasks/release/third.md:3]";
    check(&authority_of(&library, Some(2)), &bash("make"), &[], expected);
}

#[test]
fn a_step_that_inherits_and_names_more_has_both_as_far_as_the_agent_has_them() {
    let files =
        WITH_TASK.replace("name: Second\n", "name: Second\ntools: [inherit, Grep, Write]\n");
    let library = read(&files, &[("SHELL_TOOL_MODE", "full")]);
    let authority = authority_of(&library, Some(1));
    let grep = call("Grep", json!({"pattern": "a"}));
    let write = call("Write", json!({"path": "a"}));
    let verdicts = [bash("make"), grep, write].map(|call| authority.rule(&call, &[]).verdict);
    assert_eq!(verdicts, [Verdict::Allow, Verdict::Ask, Verdict::Deny]);
}

const CONTEXT: &str = "
--- context/system_prompt.md
Work.
--- context/tool-access.json
";

fn with_access(json: &str) -> Authority {
    authority_of(&read(&format!("{CONTEXT}{json}\n"), &[]), None)
}

#[test]
fn a_tool_that_is_switched_off_is_denied_by_tool_access() {
    let authority = with_access(r#"{"tools": {"grep": {"enabled": false}}}"#);
    let expected = "tool access: deny: tool-access does not let `grep`: it is switched off \
                    [context/tool-access.json:1]";
    check(&authority, &call("grep", json!({"pattern": "a"})), &[], expected);
    assert!(authority.tools.iter().all(|spec| spec.name.as_str() != "grep"));
    let off = with_access(r#"{"tools": {"shell": {"mode": "off"}}}"#);
    assert_eq!(off.rule(&bash("ls"), &[]).verdict, Verdict::Deny);
}

#[test]
fn a_broken_file_denies_everything() {
    let broken = format!("{CONTEXT}{{\n");
    assert!(read(&broken, &[]).agents.is_empty(), "nor does such an agent load");
    let mut findings = Findings::default();
    let tree = FileTree::from_fixture(&broken);
    let mut authority = with_access("{}");
    authority.set_access(tool_access::read(&tree, &[], &BTreeMap::new(), &mut findings));
    for call in [bash("ls"), call("grep", json!({"pattern": "a"}))] {
        let expected = format!(
            "tool access: deny: tool-access does not let `{}`: \
             tool-access.json cannot be used, so nothing is on [context/tool-access.json:1]",
            call.tool
        );
        check(&authority, &call, &[], &expected);
    }
}

#[test]
fn a_list_of_commands_that_was_left_empty_asks_about_each_whatever_the_rules_say() {
    let fixture = BUILDER.replace(", when: {command: {startsWith: 'git '}}", "");
    let library = read(&fixture, &[("SHELL_TOOL_MODE", "allowlist")]);
    let ruling = authority_of(&library, None).rule(&bash("git status"), &[]);
    assert_eq!(ruling.verdict, Verdict::Ask);
    let deciding = ruling.deciding().expect("something decided");
    assert_eq!(deciding.rule.as_deref(), Some("environment SHELL_TOOL_MODE"));
    assert!(deciding.why.contains("the list is empty"), "{}", deciding.why);
}

#[test]
fn where_nobody_said_anything_about_the_shell_the_approval_rules_are_the_list() {
    let authority = authority_of(&read(BUILDER, &[]), None);
    for (command, expected) in [
        ("git status", Verdict::Allow),
        ("git status; git log", Verdict::Allow),
        ("git status; ls", Verdict::Ask),
        ("ls", Verdict::Ask),
    ] {
        assert_eq!(authority.rule(&bash(command), &[]).verdict, expected, "{command}");
    }
    // Not even a rule for everything speaks for what is not understood.
    let fixture = BUILDER.replace(", when: {command: {startsWith: 'git '}}", "");
    let authority = authority_of(&read(&fixture, &[]), None);
    assert_eq!(authority.rule(&bash("ls"), &[]).verdict, Verdict::Allow);
    let ruling = authority.rule(&bash("eval \"$X\""), &[]);
    assert_eq!((ruling.verdict, ruling.findings[3].verdict), (Verdict::Ask, Verdict::Ask));
}

const LISTED: &str =
    r#"{"tools": {"shell": {"mode": "allowlist", "allowedPrefixes": ["git status", "ls"]}}}"#;

#[test]
fn a_command_outside_of_the_list_is_denied() {
    let authority = with_access(LISTED);
    for (command, expected) in [
        ("ls -l", Verdict::Allow),
        ("git status --short", Verdict::Allow),
        ("git status && ls", Verdict::Allow),
        ("git status --frob", Verdict::Ask),
        ("ls; git status -x", Verdict::Ask),
        ("git status --frob; rm x", Verdict::Deny),
        ("git push", Verdict::Deny),
        ("ls; rm -rf x", Verdict::Deny),
        ("lsof", Verdict::Deny),
        ("rm x", Verdict::Deny),
    ] {
        let findings = authority.rule(&bash(command), &[]).findings;
        assert_eq!(findings[3].verdict, expected, "{command}: {}", findings[3].why);
    }
}

/// A word that is not known yet may turn out to be allowed, so it needs approval.
#[test]
fn a_command_with_an_unknown_word_is_asked_about_and_one_that_is_known_denied() {
    let authority = with_access(LISTED);
    for (command, expected) in
        [("git $X", Verdict::Ask), ("git push", Verdict::Deny), ("git $X; rm x", Verdict::Deny)]
    {
        let findings = authority.rule(&bash(command), &[]).findings;
        assert_eq!(findings[3].verdict, expected, "{command}: {}", findings[3].why);
    }
}

#[test]
fn a_command_that_is_not_understood_is_never_let_by_the_list() {
    let authority = with_access(LISTED);
    for command in ["ls $(rm x)", "ls `rm x`", "ls; $X", "ls (", "ls; eval \"$X\""] {
        let finding = &authority.rule(&bash(command), &[]).findings[3];
        assert!(finding.verdict >= Verdict::Ask, "{command}: {}", finding.why);
    }
}

#[test]
fn tool_access_can_change_while_the_turn_is_under_way() {
    let mut authority = authority(BUILDER);
    let before = authority.rule(&bash("git status"), &[]);
    let mut access = authority.access.clone();
    access.broken = Some(Origin::named("context/tool-access.json"));
    authority.set_access(access);
    assert_eq!(authority.rule(&bash("git status"), &[]).verdict, Verdict::Deny);
    let mut access = authority.access.clone();
    access.broken = None;
    authority.set_access(access);
    assert_eq!(authority.rule(&bash("git status"), &[]), before);
}

#[test]
fn a_dangerous_act_is_denied_by_the_chain_whatever_the_rules_say() {
    let fixture = BUILDER.replace(", when: {command: {startsWith: 'git '}}", "");
    let mut authority = authority(&fixture);
    authority.place.workspace = "/work".to_owned();
    let call = bash("rm -rf /");
    assert_eq!(authority.rule(&call, &[]).verdict, Verdict::Allow);
    let last = authority.chain(&call, &[]).pop().expect("the guard speaks last");
    assert_eq!(last.verdict, Verdict::Deny, "{last:?}");
    assert!(last.rule.is_some_and(|rule| rule.starts_with("built-in ")));
    assert_eq!(authority.danger(&bash("git status")), None);
}

#[test]
fn examples_are_not_recorded() {
    let fixture = BUILDER.replace(
        "{tool: Read, allow: true}",
        "{tool: Read, allow: true, examples: {allow: [{path: a}]}}",
    );
    let authority = authority(&fixture);
    assert!(authority.agent_rules.iter().all(|rule| rule.examples.is_empty()));
}

fn some_call() -> impl Strategy<Value = ToolCall> {
    let command = prop_oneof![
        Just("git status"),
        Just("git status; ls"),
        Just("ls $(x)"),
        Just("ls"),
        Just("rm -rf /"),
        Just(""),
    ];
    let input = prop_oneof![
        command.prop_map(|text| json!({"command": text})),
        "[a-z.]{0,3}".prop_map(|path| json!({"path": path})),
        Just(json!({"pattern": "a", "limit": 1.0})),
        Just(json!({"pattern": "a", "limit": 0.1})),
        Just(json!(null)),
    ];
    let tool = prop_oneof![Just("bash"), Just("Read"), Just("Write"), Just("grep"), Just("nope")];
    (tool, input).prop_map(|(tool, input)| call(tool, input))
}

fn some_authority() -> impl Strategy<Value = Authority> {
    let fixture = prop_oneof![
        Just(BUILDER.to_owned()),
        Just(WITH_SKILLS.to_owned()),
        Just(format!("{CONTEXT}{LISTED}\n")),
        Just(format!("{CONTEXT}{{\"tools\": {{\"grep\": {{\"enabled\": false}}}}}}\n")),
    ];
    let mode = prop_oneof![Just("off"), Just("allowlist"), Just("full")];
    (fixture, mode).prop_map(|(fixture, mode)| {
        authority_of(&read(&fixture, &[("SHELL_TOOL_MODE", mode)]), None)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_authority_that_was_recorded_rules_as_before(
        authority in some_authority(), call in some_call(), number in any::<f64>(),
    ) {
        let mut authority = authority;
        let rule = json!({
            "subject": "grep", "allow": true, "origin": "AGENT.md:9:1",
            "when": {"limit": {"anyOf": [{"equals": number}, {"in": [0.1, 1]}, {"equals": null}]}},
        });
        authority.agent_rules.extend(serde_json::from_value(rule));
        let text = serde_json::to_string(&authority).expect("it can be recorded");
        let back: Authority = serde_json::from_str(&text).expect("it can be read");
        for active in [vec![], vec![SkillId::new("look")], vec![SkillId::new("ghost")]] {
            prop_assert_eq!(authority.rule(&call, &active), back.rule(&call, &active));
            prop_assert_eq!(authority.chain(&call, &active), back.chain(&call, &active));
        }
        prop_assert_eq!(serde_json::to_string(&back).expect("it can be recorded"), text);
    }

    #[test]
    fn a_broken_tool_access_never_allows(authority in some_authority(), call in some_call()) {
        let mut authority = authority;
        authority.access.broken = Some(Origin::named("context/tool-access.json"));
        prop_assert_eq!(authority.rule(&call, &[]).verdict, Verdict::Deny);
    }

    #[test]
    fn a_ruling_is_as_strict_as_its_strictest_stage(
        authority in some_authority(), call in some_call(),
    ) {
        let ruling = authority.rule(&call, &[]);
        let strictest = ruling.findings.iter().map(|one| one.verdict).max();
        prop_assert_eq!(Some(ruling.verdict), strictest);
        let denials = ruling.findings.iter().filter(|one| one.verdict == Verdict::Deny).count();
        prop_assert!(denials <= 1);
        prop_assert!(ruling.deciding().is_some());
    }
}

#[test]
fn with_the_sandbox_off_a_person_is_asked_about_each_call() {
    let mut authority = authority(BUILDER);
    assert!(!told(&authority.rule(&bash("git status"), &[]).findings).contains("sandbox is off"));
    authority.confinement.level = ConfinementLevel::Off;
    assert!(authority.is_unconfined());
    for call in [bash("git status"), call("read_file", json!({"path": "a"}))] {
        let ruling = authority.rule(&call, &[]);
        assert!(ruling.verdict >= Verdict::Ask, "{ruling:?}");
        let is_off = |one: &Finding| one.stage == Stage::Sandbox && one.verdict == Verdict::Ask;
        assert!(ruling.findings.iter().any(is_off), "{ruling:?}");
    }
}

const WRITER: &str = "
--- .agentry/agents/writer/AGENT.md
---
name: Writer
tools: [Read, Write, WebFetch, Glob]
tool_approvals:
  rules:
    - { tool: Write, allow: true, when: { path: { startsWith: docs/ } } }
---
Write.
";

#[test]
fn a_ruling_is_about_the_place_that_the_host_found() {
    let authority = authority(WRITER);
    let write = call("write_file", json!({"path": "docs/a"}));
    let at = |path: &str| {
        let place = ResolvedPath::Inside { path: path.to_owned(), folds_case: false };
        CallFacts { paths: [("path".to_owned(), place)].into(), ..CallFacts::default() }
    };
    assert_eq!(authority.rule_at(&write, &at("docs/a"), &[]).verdict, Verdict::Allow);
    assert_eq!(authority.rule_at(&write, &at("src/a"), &[]).verdict, Verdict::Ask);
    // A link into a repository is dangerous, although nothing of the text says so.
    assert!(authority.danger_at(&write, &at("docs/a")).is_none());
    assert!(authority.danger_at(&write, &at(".git/config")).is_some());
    assert!(authority.danger(&write).is_none());
    assert!(authority.danger(&call("write_file", json!({"path": ".git/config"}))).is_some());
}

#[test]
fn a_tool_that_the_host_does_not_run_is_refused_with_that_reason() {
    let authority = authority(WRITER);
    for (tool, line) in [
        ("web_fetch", "scope: deny: the agent does not get `web_fetch`: this host does not run it"),
        ("glob", "scope: deny: the agent does not get `glob`: this host does not run it"),
    ] {
        let call = call(tool, json!({}));
        let told = told(&authority.chain(&call, &[]));
        assert!(told.contains(line) || told.starts_with("registered: deny"), "{told}");
        let left_out =
            authority.left_out.iter().any(|one| ToolName::canonical(&one.name) == call.tool);
        assert!(left_out, "{tool}");
    }
    let left_out = |name: &str| authority.left_out.iter().any(|one| one.name == name);
    assert!(!left_out("read_file") && !left_out("write_file"));
}

#[test]
fn arguments_that_are_not_one_object_are_refused_with_the_reason() {
    let authority = authority(BUILDER);
    for (input, why) in [(json!("{\"path\": "), "EOF"), (json!("7"), "they are no object")] {
        let told = told(&authority.rule(&call("read_file", input), &[]).findings);
        assert!(told.contains("input: deny") && told.contains(why), "{told}");
    }
}

#[test]
fn arguments_are_held_against_the_schema_that_holds_now() {
    let mut authority = authority(BUILDER);
    let read = call("read_file", json!({"path": "a"}));
    let input = |authority: &Authority| {
        let findings = authority.rule(&read, &[]).findings;
        findings.iter().find(|one| one.stage == Stage::Input).map(|one| one.verdict)
    };
    assert_ne!(input(&authority), Some(Verdict::Deny));
    for (kind, denied) in [("integer", true), ("string", false), ("integer", true)] {
        let spec = authority.tools.iter_mut().find(|spec| spec.name.as_str() == "read_file");
        spec.expect("it is offered").parameters["properties"]["path"] = json!({"type": kind});
        assert_eq!(input(&authority) == Some(Verdict::Deny), denied, "{kind}");
    }
    let before = authority.clone();
    input(&authority);
    assert_eq!(before, authority, "what is compiled makes no difference");
}

#[test]
fn a_value_is_held_against_a_schema_with_its_place() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    assert_eq!(schema_errors(&schema, &json!({"a": 1}), "the answer"), Vec::<String>::new());
    let [defect] = &schema_errors(&schema, &json!({"a": "x"}), "the answer")[..] else { panic!() };
    assert!(defect.starts_with("/a: "), "{defect}");
    let [defect] = &schema_errors(&schema, &json!(1), "the answer")[..] else { panic!() };
    assert!(defect.starts_with("the answer: "), "{defect}");
}
