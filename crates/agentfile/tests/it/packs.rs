//! Agents of a pack: front matter, lists with `inherit`, approval rules.

use crate::reading::{agent, check, check_clean, given};

/// An agent of a pack with this front matter; its first line is line 2.
#[track_caller]
fn check_front(front: &str, expected: &str) {
    given("").bytes("AGENT.md", format!("---\n{front}---\nWork.\n")).check(expected);
}

#[test]
fn an_unknown_field_of_the_front_matter_is_a_warning() {
    check_front(
        "name: a\nid: b\ntype: agent\n",
        "
        E0301 warning AGENT.md:3:1
        E0301 warning AGENT.md:4:1
    ",
    );
}

#[test]
fn an_unknown_field_of_a_rule_is_an_error() {
    // As a warning it was a hole: with `when` misspelt the rule held for every call.
    check_front(
        "name: a\ntool_approvals:\n  rules:\n    - {tool: bash, allow: true, wen: {}}\n",
        "E0301 error AGENT.md:5:33",
    );
    check_front("name: a\ntool_approvals: {defualt: approve}\n", "E0301 error AGENT.md:3:18");
}

#[test]
fn the_name_is_required_and_the_rest_is_checked_all_the_same() {
    check_front("model: m-1\n", "E0302 error AGENT.md:2:1");
    check_front(
        "\n# nothing else\nmodel: m-1\ntools: [bsh]\n",
        "
        E0302 error AGENT.md:4:1
        E0401 error AGENT.md:5:9
    ",
    );
    check_front("name: \"\"\n", "E0305 error AGENT.md:2:7");
}

#[test]
fn numbers_have_a_type_and_a_range() {
    check_front("name: a\ntemperature: 2.5\n", "E0305 error AGENT.md:3:14");
    check_front("name: a\ntemperature: warm\n", "E0303 error AGENT.md:3:14");
    check_front("name: a\nmax_tokens: 0\n", "E0305 error AGENT.md:3:13");
    check_front("name: a\nmax_tokens: 1.5\n", "E0303 error AGENT.md:3:13");
    check_front("name: a\nmax_tokens: 1e30\n", "E0305 error AGENT.md:3:13");
    check_front("name: a\nmax_tokens: 1000.0\ntemperature: 0\n", "");
}

#[test]
fn lists_are_lists_of_names_or_the_word_inherit() {
    check_front("name: a\ntools: all\n", "E0304 error AGENT.md:3:8");
    check_front("name: a\ntools: {bash: true}\n", "E0303 error AGENT.md:3:8");
    check_front("name: a\ntools: [bash, 3]\n", "E0303 error AGENT.md:3:15");
    check_front("name: a\ntools: [bash, \"\"]\n", "E0305 error AGENT.md:3:15");
    check_front(
        "name: a\nskills: none\ntasks: 1\n",
        "
        E0304 error AGENT.md:3:9
        E0303 error AGENT.md:4:8
    ",
    );
}

#[test]
fn every_name_of_a_list_must_exist() {
    check_front(
        "name: a\ntools: [inherit, Read, read_file, Bsh, slack/send, a/b/c]\nskills: [x]\ntasks:\n  - y\n  - y\n",
        "
        E0411 warning AGENT.md:3:24
        E0401 error AGENT.md:3:35
        E0427 error AGENT.md:3:40
        E0401 error AGENT.md:3:52
        E0421 error AGENT.md:4:10
        E0422 error AGENT.md:6:5
        E0411 warning AGENT.md:7:5
        E0422 error AGENT.md:7:5
        ",
    );
}

#[test]
fn a_tool_that_another_agent_brings_is_not_this_agents() {
    check(
        "
        --- .agentry/agents/a/agent.yml
        name: a
        tools: {custom: [fortune]}
        --- .agentry/agents/a/AGENT.md
        Work.
        --- .agentry/agents/a/tools/fortune.yml
        name: fortune
        description: x
        --- .agentry/agents/a/tools/fortune +x
        --- .agentry/agents/b/AGENT.md
        ---
        name: b
        tools: [fortune]
        ---
        --- .agentry/tasks/t/TASK.md
        ---
        name: t
        agent: a
        tools: [fortune]
        ---
        Go.
        ",
        "E0401 error .agentry/agents/b/AGENT.md:3:9",
    );
}

#[test]
fn inherit_is_a_word_a_list_of_it_or_a_member_and_the_default() {
    let toolset = |tools: &str| {
        given("").bytes("AGENT.md", format!("---\nname: a\n{tools}---\nWork.\n")).toolset()
    };
    let all = toolset("");
    assert!(all.starts_with("read_file write_file edit_file glob grep bash"), "{all}");
    assert!(!all.contains("agent_commit") && !all.contains("delegate"), "{all}");
    assert_eq!(toolset("tools: inherit\n"), all);
    assert_eq!(toolset("tools: [inherit]\n"), all);
    assert_eq!(toolset("tools:\n  - Read\n  - inherit\n"), all);
    assert_eq!(toolset("tools: [WebFetch, Read]\n"), "read_file web_fetch");
    assert_eq!(toolset("tools: []\n"), "");
}

#[test]
fn skills_and_tasks_are_inherited_like_tools() {
    let agent = |front: &str| {
        let given = given(
            "
            --- .agentry/skills/x/SKILL.md
            ---
            name: x
            description: Does x.
            ---
            --- .agentry/tasks/y/z/TASK.md
            ---
            name: y
            ---
            Go.
            ",
        );
        given.bytes(".agentry/agents/a/AGENT.md", format!("---\nname: a\n{front}---\n")).agent("a")
    };
    let ids = |agent: &agentry_agentfile::agent::Agent| {
        let skills = agent.skills.iter().map(|one| format!("{} {}", one.value, one.origin));
        let tasks = agent.tasks.iter().map(|one| format!("{} {}", one.value, one.origin));
        skills.chain(tasks).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(ids(&agent("")), "x inherit, y/z inherit");
    assert_eq!(ids(&agent("skills: []\ntasks: [inherit]\n")), "y/z inherit");
    assert_eq!(
        ids(&agent("skills: [x]\ntasks: [y/z]\n")),
        "x .agentry/agents/a/AGENT.md:3:10, y/z .agentry/agents/a/AGENT.md:4:9"
    );
}

#[test]
fn a_rule_is_for_a_tool_or_task_that_is_there() {
    check_front(
        "name: a
tools: [Read, fs/list]
tasks: []
tool_approvals:
  default: approve
  rules:
    - {tool: read_file, allow: true}
    - {tool: Write, allow: true}
task_approvals:
  rules:
    - {task: t, allow: true}
",
        "
        E0427 error AGENT.md:3:15
        E0441 error AGENT.md:9:14
        E0441 error AGENT.md:12:14
        ",
    );
}

#[test]
fn a_rule_says_what_it_is_for_and_what_it_does() {
    check_front(
        "name: a
tool_approvals:
  default: allow
  rules:
    - {allow: true}
    - {tool: bash}
    - {tool: bash, allow: maybe}
    - bash
",
        "
        E0304 error AGENT.md:4:12
        E0302 error AGENT.md:6:7
        E0302 error AGENT.md:7:7
        E0303 error AGENT.md:8:27
        E0303 error AGENT.md:9:7
        ",
    );
    check_front("name: a\ntool_approvals: []\n", "E0303 error AGENT.md:3:17");
}

/// One rule for bash with this condition on `cmd`; the condition begins at 6:20.
#[track_caller]
fn check_matcher(matcher: &str, expected: &str) {
    check_front(
        &format!(
            "name: a\ntool_approvals:\n  rules:\n    - {{tool: bash, allow: true, when: {{\n      cmd: \
             {matcher} }}}}\n"
        ),
        expected,
    );
}

#[test]
fn a_matcher_has_exactly_one_of_eight_keys() {
    for matcher in [
        "{equals: 1}",
        "{equals: null}",
        "{in: [a, 2, true]}",
        "{startsWith: docs/}",
        "{matches: '^git (log|diff)'}",
        "{contains: x}",
        "{containsAll: [x, y]}",
        "{anyOf: [{equals: a}, {allOf: [{contains: b}, {startsWith: c}]}]}",
        "{allOf: [{contains: x}]}",
    ] {
        check_matcher(matcher, "");
    }
    check_matcher("{}", "E0306 error AGENT.md:6:12");
    check_matcher("{equals: a, contains: b}", "E0306 error AGENT.md:6:12");
    check_matcher("{startswith: a}", "E0306 error AGENT.md:6:13");
    check_matcher("{anyOf: [{equals: a}, {near: b}]}", "E0306 error AGENT.md:6:35");
}

#[test]
fn a_matcher_has_a_value_of_the_right_type() {
    check_matcher("a", "E0303 error AGENT.md:6:12");
    check_matcher("{equals: [a]}", "E0303 error AGENT.md:6:21");
    check_matcher("{in: a}", "E0303 error AGENT.md:6:17");
    check_matcher("{startsWith: 1}", "E0303 error AGENT.md:6:25");
    check_matcher("{containsAll: a}", "E0303 error AGENT.md:6:26");
    check_matcher("{anyOf: []}", "E0305 error AGENT.md:6:20");
    check_matcher("{allOf: [a]}", "E0303 error AGENT.md:6:21");
}

#[test]
fn a_regular_expression_must_compile_and_stay_small() {
    check_matcher("{matches: '('}", "E0442 error AGENT.md:6:22");
    check_matcher("{matches: '(?=x)'}", "E0442 error AGENT.md:6:22");
    check_matcher("{matches: '(?:a{1000}){1000}'}", "E0442 error AGENT.md:6:22");
    check_matcher("{anyOf: [{equals: a}, {matches: '*'}]}", "E0442 error AGENT.md:6:44");
}

#[test]
fn matchers_nest_only_so_deep() {
    let nested = |depth: usize| {
        let (open, close) = ("{anyOf: [".repeat(depth), "]}".repeat(depth));
        format!("{open}{{equals: a}}{close}")
    };
    check_matcher(&nested(8), "");
    check_matcher(&nested(9), "E0205 error AGENT.md:6:84");
}

#[test]
fn a_rule_after_one_that_always_matches_is_never_reached() {
    check_front(
        "name: a
tool_approvals:
  rules:
    - {tool: bash, allow: true, when: {cmd: {equals: ls}}}
    - {tool: Bash, allow: false}
    - {tool: shell, allow: true, when: {cmd: {equals: pwd}}}
    - {tool: Read, allow: true}
",
        "E0443 warning AGENT.md:7:7",
    );
}

#[test]
fn rules_are_kept_in_order_under_canonical_names() {
    let agent = agent(
        "
        --- AGENT.md
        ---
        name: a
        tool_approvals:
          rules:
            - tool: Write
              allow: false
              when: {path: {startsWith: secret/}}
            - {tool: Write, allow: true}
        ---
        ",
        "agent",
    );
    let rules: Vec<String> = agent
        .powers
        .tool_rules
        .iter()
        .map(|rule| format!("{} {} {}", rule.subject, rule.allow, rule.origin))
        .collect();
    assert_eq!(rules, ["write_file false AGENT.md:5:7", "write_file true AGENT.md:8:7"]);
}

#[test]
fn ids_are_paths_below_the_collection() {
    let (library, _) = given(
        "
        --- .nanobot/agents/foo/bar/baz/AGENT.md
        ---
        name: x
        ---
        --- .nanobot/agents/foo/AGENT.md
        ---
        name: y
        ---
        --- .nanobot/skills/foo/bar/SKILL.md
        ---
        name: bar
        description: Does.
        ---
        --- .nanobot/tasks/foo/bar/TASK.md
        ---
        name: z
        ---
        ",
    )
    .read();
    assert_eq!(library.agents.keys().collect::<Vec<_>>(), ["foo", "foo/bar/baz"]);
    assert_eq!(library.skills.keys().collect::<Vec<_>>(), ["foo/bar"]);
    assert_eq!(library.tasks.keys().collect::<Vec<_>>(), ["foo/bar"]);
}

#[test]
fn of_two_definitions_with_one_id_the_nearer_holds() {
    let fixture = |pack: &str| {
        format!(
            "--- {pack}/agents/a/AGENT.md\n---\nname: {pack}\n---\n\
             --- {pack}/skills/s/SKILL.md\n---\nname: s\ndescription: {pack}\n---\n\
             --- {pack}/tasks/t/TASK.md\n---\nname: {pack}\n---\n"
        )
    };
    let both = fixture(".agentry") + &fixture(".nanobot");
    let given = given(&both)
        .home(&fixture(".agentry"))
        .skill_root("more", "--- s/SKILL.md\n---\nname: s\ndescription: more\n---\n");
    given.check(
        "
        E0424 warning .nanobot/agents/a/AGENT.md:1:1
        E0424 warning .nanobot/skills/s/SKILL.md:1:1
        E0424 warning .nanobot/tasks/t/TASK.md:1:1
        E0424 warning more/s/SKILL.md:1:1
        E0424 warning ~/.agentry/agents/a/AGENT.md:1:1
        E0424 warning ~/.agentry/skills/s/SKILL.md:1:1
        E0424 warning ~/.agentry/tasks/t/TASK.md:1:1
        ",
    );
    assert_eq!(given.agent("a").identity.name.value, ".agentry");
}

#[test]
fn a_pack_and_a_program_share_their_ids() {
    check(
        "
        --- .agentry/agents/a/AGENT.md
        ---
        name: a
        ---
        --- .nanobot/agents/a/agent.yml
        name: a
        --- .nanobot/agents/a/AGENT.md
        Work.
        ",
        "E0424 warning .nanobot/agents/a/agent.yml:1:1",
    );
}

#[test]
fn a_tool_of_an_mcp_server_is_named_by_server_and_tool() {
    check_clean(
        "
        --- .mcp.json
        {\"mcpServers\": {\"github\": {\"command\": \"gh-mcp\", \"type\": \"stdio\", \"vendor\": 1}}}
        --- AGENT.md
        ---
        name: a
        tools: [inherit, github/create_issue]
        tool_approvals:
          rules:
            - {tool: github/create_issue, allow: true}
        ---
        ",
    );
}

#[test]
fn an_id_that_is_an_option_hides_or_steers_a_terminal_does_not_load() {
    const AGENT: &str = "---\nname: a\n---\nWork.\n";
    for name in
        ["--help", "-x", ".x", "a b", "x\u{1b}]0;PWN\u{7}", "x\n", "a\u{202e}b", "a\u{200b}"]
    {
        let path = format!(".agentry/agents/{name}/AGENT.md");
        let given = given("").bytes(&path, AGENT.to_owned());
        let (library, findings) = given.read();
        assert_eq!(library.agents.len(), 0, "{name:?}");
        let all: Vec<String> = findings.sorted().iter().map(|one| one.code.to_string()).collect();
        assert_eq!(all, ["E0429"], "{name:?}");
        let one = findings.sorted().into_iter().next().expect("there is one");
        let words = format!("{} {}", one.message, one.help.as_deref().unwrap_or_default());
        assert!(words.chars().all(|c| !c.is_control()), "{words:?}");
        assert!(words.contains("rename the directory"), "{words}");
    }
    given("")
        .bytes(".agentry/agents/-x/AGENT.md", AGENT.to_owned())
        .check("E0429 error .agentry/agents/-x/AGENT.md:1:1");
    for name in ["a", "A-1", "a.b_c", "übersetzer", "team/coder", "助手"] {
        given("").bytes(&format!(".agentry/agents/{name}/AGENT.md"), AGENT.to_owned()).check("");
    }
}

#[test]
fn of_two_ids_that_differ_only_in_case_the_first_holds() {
    let agent = "---\nname: a\n---\nWork.\n".to_owned();
    let given = given("")
        .bytes(".agentry/agents/Coder/AGENT.md", agent.clone())
        .bytes(".agentry/agents/coder/AGENT.md", agent);
    given.check("E0430 error .agentry/agents/coder/AGENT.md:1:1");
    let (library, _) = given.read();
    assert_eq!(library.agents.keys().collect::<Vec<_>>(), ["Coder"]);
}
