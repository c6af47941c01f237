//! `agentry show agent`: what an agent resolves to, each value with its origin.

use serde_json::Value;

use crate::story::Story;

const ZODIAC: &str = "
    --- zodiac/agent.yml
    name: zodiac
    description: Tells fortunes
    model:
      default: claude-sonnet-4-20250514
      prefer: [gpt-4.1]
    tools:
      allow: [read_file, run_shortcut, load_skill]
      custom: [fortune]
    personas:
      available: [skeptic]
      router: hook
    hooks:
      before_inference: true
      after_tool_call: false
    capabilities:
      self_modify: true
    metadata:
      team: stars
    --- zodiac/AGENT.md
    Ask for the sign.
    --- zodiac/SOUL.md
    A twinkle.
    --- zodiac/USER.md
    ---
    name: Ada
    ---
    Ada likes precision.
    --- zodiac/prompts/system.md.liquid
    You are {{ agent.name }}.
    --- zodiac/personas/skeptic/SOUL.md
    Dry.
    --- zodiac/tools/fortune.yml
    name: fortune
    description: Tell a fortune
    parameters: { type: object, properties: { sign: { type: string } } }
    --- zodiac/tools/fortune.sh +x
    #!/bin/sh
    --- zodiac/hooks/before_inference +x
    #!/bin/sh
    --- zodiac/skills/astrology.md
    ---
    name: astrology
    description: What the signs stand for
    ---
    Each sign has an element.
    --- zodiac/data/facts.yml
    tradition: tropical
    --- zodiac/memory/2026-02-14.md
    Met Ada.
    --- zodiac/agentry.toml
    [agent.args]
    house = \"north\"
    ";

const SEVERAL: &str = "
    --- p/.agentry/agents/a/AGENT.md
    ---
    name: A
    ---
    Do.
    --- p/.agentry/agents/b/AGENT.md
    ---
    name: B
    ---
    Do.
    --- p/.agentry/agents/c/AGENT.md
    ---
    nmae: C
    ---
    Do.
    ";

/// Hashes change with every word of a fixture; that they are there is enough.
fn without_hashes(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some((before, after)) = rest.split_once("blake3:") {
        out.push_str(before);
        out.push_str("blake3:[hash]");
        rest = after.trim_start_matches(|c: char| c.is_ascii_hexdigit());
    }
    out + rest
}

#[test]
fn every_value_has_its_origin() {
    let story = Story::new(ZODIAC);
    insta::assert_snapshot!(without_hashes(&story.run("show agent zodiac")), @r#"
    exit 0
    --- stdout
    zodiac (program)
      directory            zodiac
      hash                 blake3:[hash]
      name                 zodiac  zodiac/agent.yml:1:7
      description          Tells fortunes  zodiac/agent.yml:2:14
      metadata             {"team":"stars"}  zodiac/agent.yml:18:3
    texts
      instructions         17 bytes  zodiac/AGENT.md:1:1
      soul                 10 bytes  zodiac/SOUL.md:1:1
      user                 20 bytes  zodiac/USER.md:4:1
      template             25 bytes  zodiac/prompts/system.md.liquid:1:1
      user.name            Ada  zodiac/USER.md:2:7
    models
      choice 1             gpt-4.1  zodiac/agent.yml:5:12
      choice 2             claude-sonnet-4-20250514  zodiac/agent.yml:4:12
    tools
      read_file            low risk  zodiac/agent.yml:7:11
      load_skill           low risk  zodiac/agent.yml:7:36
      fortune              high risk, custom, runs tools/fortune.sh  zodiac/agent.yml:8:12
      - run_shortcut       left out: it needs a macOS machine  zodiac/agent.yml:7:22
      - agent_read_self    left out: this host does not have it  zodiac/agent.yml:16:3
      - agent_write_self   left out: this host does not have it  zodiac/agent.yml:16:3
      - agent_edit_self    left out: this host does not have it  zodiac/agent.yml:16:3
      - agent_commit       left out: this host does not have it  zodiac/agent.yml:16:3
      - agent_diff         left out: this host does not have it  zodiac/agent.yml:16:3
      - agent_revert       left out: this host does not have it  zodiac/agent.yml:16:3
      - agent_log          left out: this host does not have it  zodiac/agent.yml:16:3
    approval
      (anything else)      needs approval
    access
      tools                on  built-in
      mode                 full  built-in
      shell mode           allowlist  built-in
      shell timeout        15000 ms  built-in
      shell output         20000 characters  built-in
      any directory        false  built-in
      self_modify          true  zodiac/agent.yml:16:16
      spawn_subagents      false  built-in
    personas
      default              root SOUL.md
      router               hook  zodiac/agent.yml:11:11
      skeptic              SOUL.md  zodiac/agent.yml:10:15
    hooks
      before_inference     hooks/before_inference  zodiac/agent.yml:13:21
      after_tool_call      off  zodiac/agent.yml:14:20
    skills
      astrology            What the signs stand for  zodiac/skills/astrology.md:2:7
    values
      facts                {"tradition":"tropical"}  zodiac/data/facts.yml:1:1
      diary                2026-02-14 (9 bytes)
      args.house           "north"  zodiac/agentry.toml:2:9
    "#);
}

/// Every value that knows its origin, one line each.
fn origins(path: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(map) if map.contains_key("origin") => {
            let what =
                ["value", "name", "id", "moment", "subject"].iter().find_map(|key| map.get(*key));
            let what = what.map(Value::to_string).unwrap_or_default();
            lines.push(format!("{path} {what} {}", map["origin"].as_str().unwrap_or_default()));
        }
        Value::Object(map) => {
            for (key, value) in map {
                origins(&format!("{path}.{key}"), value, lines);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| origins(path, value, lines)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn json_has_the_same_values() {
    let story = Story::new(ZODIAC);
    let agent = story.json("show agent zodiac --format json");
    let keys: Vec<&str> =
        agent.as_object().expect("an object").keys().map(String::as_str).collect();
    insta::assert_snapshot!(keys.join(" "), @"id form directory hash identity texts models powers personas skills tasks values skill_definitions task_definitions mcp_servers");
    let mut lines = Vec::new();
    origins("", &agent, &mut lines);
    insta::assert_snapshot!(lines.join("\n"), @r#"
    .identity.name "zodiac" zodiac/agent.yml:1:7
    .identity.description "Tells fortunes" zodiac/agent.yml:2:14
    .identity.metadata {"team":"stars"} zodiac/agent.yml:18:3
    .texts.instructions "Ask for the sign." zodiac/AGENT.md:1:1
    .texts.soul "A twinkle." zodiac/SOUL.md:1:1
    .texts.user "Ada likes precision." zodiac/USER.md:4:1
    .texts.user_name "Ada" zodiac/USER.md:2:7
    .texts.template "You are {{ agent.name }}." zodiac/prompts/system.md.liquid:1:1
    .models.candidates "gpt-4.1" zodiac/agent.yml:5:12
    .models.candidates "claude-sonnet-4-20250514" zodiac/agent.yml:4:12
    .powers.toolset "read_file" zodiac/agent.yml:7:11
    .powers.toolset "load_skill" zodiac/agent.yml:7:36
    .powers.toolset "fortune" zodiac/agent.yml:8:12
    .powers.left_out "run_shortcut" zodiac/agent.yml:7:22
    .powers.left_out "agent_read_self" zodiac/agent.yml:16:3
    .powers.left_out "agent_write_self" zodiac/agent.yml:16:3
    .powers.left_out "agent_edit_self" zodiac/agent.yml:16:3
    .powers.left_out "agent_commit" zodiac/agent.yml:16:3
    .powers.left_out "agent_diff" zodiac/agent.yml:16:3
    .powers.left_out "agent_revert" zodiac/agent.yml:16:3
    .powers.left_out "agent_log" zodiac/agent.yml:16:3
    .powers.hooks "before_inference" zodiac/agent.yml:13:21
    .powers.hooks "after_tool_call" zodiac/agent.yml:14:20
    .powers.capabilities.self_modify true zodiac/agent.yml:16:16
    .powers.capabilities.spawn_subagents false built-in
    .powers.access.enabled true built-in
    .powers.access.mode "full" built-in
    .powers.access.shell.mode "allowlist" built-in
    .powers.access.shell.timeout_ms 15000 built-in
    .powers.access.shell.max_output_chars 20000 built-in
    .powers.access.shell.allow_any_cwd false built-in
    .personas.router "hook" zodiac/agent.yml:11:11
    .personas.available "skeptic" zodiac/agent.yml:10:15
    .skills "astrology" zodiac/skills/astrology.md:2:7
    .values.facts {"tradition":"tropical"} zodiac/data/facts.yml:1:1
    .values.args.house "north" zodiac/agentry.toml:2:9
    .skill_definitions.name "astrology" zodiac/skills/astrology.md:2:7
    .skill_definitions.description "What the signs stand for" zodiac/skills/astrology.md:3:14
    .skill_definitions.body "Each sign has an element." zodiac/skills/astrology.md:5:1
    "#);
}

#[test]
fn rules_matchers_and_models_of_a_pack_are_shown() {
    let story = Story::new(
        "
        --- p/.agentry/agents/a/AGENT.md
        ---
        name: A
        model: claude-sonnet-4-20250514
        allowed_models: [gpt-4.1]
        temperature: 0.2
        max_tokens: 800
        tools: [Read, Bash, files/list]
        tool_approvals:
          default: approve
          rules:
            - { tool: Read, allow: true }
            - { tool: Bash, allow: true, when: { command: { startsWith: 'cargo ' } } }
        tasks: [t]
        task_approvals:
          rules:
            - { task: t, allow: false }
        ---
        Do.
        --- p/.agentry/tasks/t/TASK.md
        ---
        name: T
        ---
        Do t.
        --- p/.mcp.json
        { \"mcpServers\": { \"files\": { \"command\": \"files-server\" } } }
        ",
    );
    insta::assert_snapshot!(without_hashes(&story.run("show agent p")), @r#"
    exit 0
    --- stdout
    a (pack)
      directory            p/.agentry/agents/a
      hash                 blake3:[hash]
      name                 A  p/.agentry/agents/a/AGENT.md:2:7
    texts
      instructions         3 bytes  p/.agentry/agents/a/AGENT.md:18:1
    models
      choice 1             claude-sonnet-4-20250514  p/.agentry/agents/a/AGENT.md:3:8
      also allowed         gpt-4.1  p/.agentry/agents/a/AGENT.md:4:18
      temperature          0.2  p/.agentry/agents/a/AGENT.md:5:14
      max_tokens           800  p/.agentry/agents/a/AGENT.md:6:13
    tools
      read_file            low risk  p/.agentry/agents/a/AGENT.md:7:9
      bash                 high risk  p/.agentry/agents/a/AGENT.md:7:15
      files/list           medium risk, of MCP server files  p/.agentry/agents/a/AGENT.md:7:21
    approval
      read_file            allowed  p/.agentry/agents/a/AGENT.md:11:7
      bash                 allowed when {"command":{"startsWith":"cargo "}}  p/.agentry/agents/a/AGENT.md:12:7
      t                    needs approval  p/.agentry/agents/a/AGENT.md:16:7
      (anything else)      needs approval
    access
      tools                on  built-in
      mode                 full  built-in
      shell mode           allowlist  built-in
      shell timeout        15000 ms  built-in
      shell output         20000 characters  built-in
      any directory        false  built-in
      self_modify          false  built-in
      spawn_subagents      false  built-in
    tasks
      t                    1 step  p/.agentry/agents/a/AGENT.md:13:9
    "#);
}

#[test]
fn tool_access_and_the_environment_bound_the_tools() {
    let story = Story::new(
        "
        --- c/context/system_prompt.md
        Be careful.
        --- c/context/tool-access.json
        {
          \"global\": { \"enabled\": true, \"mode\": \"allowlist\", \"allowedTools\": [\"shell\"] },
          \"tools\": { \"shell\": { \"mode\": \"allowlist\", \"allowedPrefixes\": [\"ls\"], \"timeoutMs\": 900000 } }
        }
        ",
    )
    .with("SHELL_TOOL_MAX_OUTPUT_CHARS", "5000")
    .with("SHELL_TOOL_TIMEOUT_MS", "1000");
    insta::assert_snapshot!(without_hashes(&story.run("show agent c")), @"
    exit 0
    --- stdout
    c (context folder)
      directory            c
      hash                 blake3:[hash]
      name                 c  directory
    texts
      instructions         11 bytes  c/context/system_prompt.md:1:1
    models
      (none named)         the host's default is used
    tools
      bash                 high risk  built-in
      - read_file          left out: it is not in allowedTools (c/context/tool-access.json:2:40)  built-in
      - write_file         left out: it is not in allowedTools (c/context/tool-access.json:2:40)  built-in
      - edit_file          left out: it is not in allowedTools (c/context/tool-access.json:2:40)  built-in
      - glob               left out: it is not in allowedTools (c/context/tool-access.json:2:40)  built-in
      - grep               left out: it is not in allowedTools (c/context/tool-access.json:2:40)  built-in
      - web_fetch          left out: it is not in allowedTools (c/context/tool-access.json:2:40)  built-in
      - load_skill         left out: it is not in allowedTools (c/context/tool-access.json:2:40)  built-in
    approval
      (anything else)      needs approval
    access
      tools                on  c/context/tool-access.json:2:26
      mode                 allowlist  c/context/tool-access.json:2:40
      shell mode           allowlist  c/context/tool-access.json:3:33
      shell prefix         ls  c/context/tool-access.json:3:66
      shell timeout        120000 ms  c/context/tool-access.json:3:86
      shell output         5000 characters  environment SHELL_TOOL_MAX_OUTPUT_CHARS
      any directory        false  built-in
      self_modify          false  built-in
      spawn_subagents      false  built-in
    ");
    insta::assert_snapshot!(story.findings("check c"), @"E0804 c/context/tool-access.json:3:86 warning 900000 is above the cap of 120000, which is used");
}

#[test]
fn of_several_agents_one_must_be_chosen() {
    let story = Story::new(SEVERAL);
    insta::assert_snapshot!(story.run("show agent p"), @"
    exit 2
    --- stderr
    error: p has several agents: a, b, c (does not load)
     help: choose one with --agent
    ");
    insta::assert_snapshot!(story.run("show agent p --agent d"), @"
    exit 2
    --- stderr
    error: p has no agent `d`
     help: did you mean `a`?
    ");
    assert!(story.out("show agent p --agent b").starts_with("b (pack)"));
    assert!(story.out("show agent p/.agentry/agents/a").starts_with("a (pack)"));
    assert!(story.out("show agent p -c agent.default=a").starts_with("a (pack)"));
}

#[test]
fn a_broken_agent_is_named_with_its_findings() {
    let story = Story::new(SEVERAL);
    insta::assert_snapshot!(story.run("show agent p --agent c"), @"
    exit 1
    --- stderr
    error: the agent `c` (p/.agentry/agents/c/AGENT.md) does not load:
      p/.agentry/agents/c/AGENT.md:2:1 E0302 the field `name` is missing
     help: `agentry check` shows all its errors
    ");
    insta::assert_snapshot!(story.run("show agent p/.agentry/agents/c"), @"
    exit 1
    --- stderr
    error: the agent `c` (p/.agentry/agents/c/AGENT.md) does not load:
      p/.agentry/agents/c/AGENT.md:2:1 E0302 the field `name` is missing
     help: `agentry check` shows all its errors
    ");
    insta::assert_snapshot!(story.run("show prompt p --agent c"), @"
    exit 1
    --- stderr
    error: the agent `c` (p/.agentry/agents/c/AGENT.md) does not load:
      p/.agentry/agents/c/AGENT.md:2:1 E0302 the field `name` is missing
     help: `agentry check` shows all its errors
    ");
}

#[test]
fn where_no_agent_is_the_way_to_one_is_named() {
    let story = Story::new("");
    insta::assert_snapshot!(story.run("show agent"), @"
    exit 2
    --- stderr
    error: no agent was found in .
     help: create one with `agentry init <dir>`
    ");
    insta::assert_snapshot!(story.run("show agent nowhere"), @"
    exit 2
    --- stderr
    error: cannot read nowhere: No such file or directory (os error 2)
     help: name an existing directory or file that you may read
    ");
}

#[test]
fn the_hash_changes_with_any_file_and_not_with_the_place() {
    let story = Story::new(ZODIAC);
    let hash = |directory: &str| {
        story.json(&format!("show agent {directory} --format json"))["hash"].clone()
    };
    let before = hash("zodiac");
    std::fs::create_dir(story.path("else")).expect("it can be made");
    std::fs::rename(story.path("zodiac"), story.path("else/zodiac")).expect("it can be moved");
    assert_eq!(before, hash("else/zodiac"));
    story.file("else/zodiac/skills/astrology.md", b"Other words.\n");
    assert_ne!(before, hash("else/zodiac"));
}
