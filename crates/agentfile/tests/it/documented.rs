//! What the documents give as examples loads without a finding, with every value in its place.

use agentry_agentfile::agent::HookSwitch;
use serde_json::{Value, json};

use crate::reading::given;

const MY_AGENT: &str = r#"
--- agent.yml
name: "my-agent"
description: "A helpful coding assistant"

model:
  default: "claude-sonnet-4-20250514"
  prefer:
    - "claude-sonnet-4-20250514"
    - "gpt-4.1"

tools:
  # Allowlist of base tools this agent wants to use.
  allow:
    - memory_search
    - memory_store
    - code_execution
    - read_file
    - write_file
    - edit_file
    - bash
    - glob
    - grep
    - web_fetch

  # Agent-specific tools defined in tools/ directory.
  custom:
    - fortune

personas:
  default: null                  # null = use root SOUL.md
  available:
    - coder
    - writer
  router: auto                   # auto | explicit | hook

hooks:
  before_inference: true
  after_tool_call: false
  on_conversation_start: true

capabilities:
  self_modify: true              # Agent can edit its own repo
  spawn_subagents: false         # Agent can create sub-agents
--- AGENT.md
Answer briefly.
--- SOUL.md
Warm.
--- USER.md
---
name: Ada
---
Likes tea.
--- prompts/system.md.liquid
You are {{ agent.name }}, {{ agent.description }}. {{ user.name }} lives in {{ facts.city }}.
--- personas/coder/SOUL.md
Terse.
--- personas/coder/system.md.liquid
You code as {{ persona.name }}.
--- personas/writer/SOUL.md
Florid.
--- personas/writer/system.md.liquid
You write.
--- tools/fortune.yml
name: fortune
description: "Generate a fortune based on zodiac sign"
parameters:
  type: object
  properties:
    sign:
      type: string
      enum: [aries, taurus, gemini, cancer, leo, virgo,
             libra, scorpio, sagittarius, capricorn, aquarius, pisces]
    aspect:
      type: string
      enum: [love, career, health, general]
      default: general
  required: [sign]
--- tools/fortune.rb +x
#!/usr/bin/env ruby
--- hooks/on_conversation_start +x
#!/bin/sh
--- hooks/before_inference +x
#!/bin/sh
--- hooks/after_tool_call +x
#!/bin/sh
--- skills/astrology.md
Read the stars.
--- data/facts.yml
city: Bern
--- data/lorebook.yml
- {name: Orion, kind: hunter}
--- memory/2026-01-31.md
Met Ada.
"#;

#[test]
fn the_agent_program_of_the_documents_loads() {
    given(MY_AGENT).check("");
}

#[test]
fn every_value_of_the_agent_program_arrives() {
    let agent = serde_json::to_value(given(MY_AGENT).agent("agent")).unwrap();
    let at = |pointer: &str| agent.pointer(pointer).cloned().unwrap_or(Value::Null);
    for (pointer, value) in [
        ("/form", json!("program")),
        ("/identity/name", json!({"value": "my-agent", "origin": "agent.yml:1:7"})),
        ("/identity/description/value", json!("A helpful coding assistant")),
        ("/texts/instructions", json!({"value": "Answer briefly.", "origin": "AGENT.md:1:1"})),
        ("/texts/soul/value", json!("Warm.")),
        ("/texts/user", json!({"value": "Likes tea.", "origin": "USER.md:4:1"})),
        ("/texts/user_name", json!({"value": "Ada", "origin": "USER.md:2:7"})),
        ("/models/candidates/0/origin", json!("agent.yml:7:7")),
        ("/models/candidates/1/value", json!("gpt-4.1")),
        ("/models/candidates/2", Value::Null),
        ("/powers/capabilities/self_modify", json!({"value": true, "origin": "agent.yml:41:16"})),
        (
            "/powers/capabilities/spawn_subagents",
            json!({"value": false, "origin": "agent.yml:42:20"}),
        ),
        ("/personas/default", Value::Null),
        ("/personas/router", json!({"value": "auto", "origin": "agent.yml:33:11"})),
        ("/personas/available/0/id", json!("coder")),
        ("/personas/available/0/soul/value", json!("Terse.")),
        ("/personas/available/1/origin", json!("agent.yml:32:7")),
        ("/skills/0", json!({"value": "astrology", "origin": "skills/astrology.md:1:1"})),
        ("/values/facts/value", json!({"city": "Bern"})),
        ("/values/lorebook/value/0/kind", json!("hunter")),
        ("/values/diary/0/day", json!("2026-01-31")),
    ] {
        assert_eq!(at(pointer), value, "{pointer}");
    }
}

fn program(switch: &HookSwitch) -> &str {
    match switch {
        HookSwitch::On(spec) => &spec.program,
        HookSwitch::Off => "off",
    }
}

#[test]
fn the_toolset_of_the_agent_program_is_what_was_asked_for_and_what_it_brings() {
    let agent = given(MY_AGENT).agent("agent");
    let tools = agent.powers.toolset.iter().map(|tool| tool.name.as_str());
    insta::assert_snapshot!(tools.collect::<Vec<_>>().join(" "), @"read_file write_file edit_file glob grep bash code_execution web_fetch memory_search memory_store agent_read_self agent_write_self agent_edit_self agent_commit agent_diff agent_revert agent_log fortune");
    let hooks = agent.powers.hooks.iter();
    let hooks: Vec<String> =
        hooks.map(|hook| format!("{} {}", program(&hook.switch), hook.origin)).collect();
    assert_eq!(
        hooks,
        [
            "hooks/on_conversation_start agent.yml:38:26",
            "hooks/before_inference agent.yml:36:21",
            "off agent.yml:37:20",
        ]
    );
    let fortune = agent.powers.toolset.iter().find(|tool| tool.name.as_str() == "fortune").unwrap();
    assert_eq!(fortune.parameters.as_ref().unwrap()["required"], json!(["sign"]));
    assert_eq!(fortune.origin.to_string(), "agent.yml:26:7");
}

#[test]
fn a_tool_that_this_host_lacks_is_left_out_with_a_note() {
    // The document lists web_search; this host has no search service.
    let fixture = MY_AGENT.replace("    - web_fetch\n", "    - web_search\n");
    given(&fixture).check("E0410 note agent.yml:22:7");
}

const PACK: &str = r#"
--- .nanobot/agents/builder/AGENT.md
---
name: Builder
description: Builds things
metadata: {team: core, level: 3}
model: claude-sonnet
allowed_models: [gpt-4.1, claude-opus]
temperature: 0.2
max_tokens: 4096
tools: [inherit, fs/list]
tool_approvals:
  default: approve
  rules:
    - tool: Read
      allow: true
    - tool: Write
      allow: false
      when: {path: {startsWith: secret/}}
    - tool: Write
      allow: true
      when:
        path: {anyOf: [{startsWith: docs/}, {matches: '\.md$'}]}
        mode: {equals: 420}
        encoding: {in: [utf-8, ascii]}
    - tool: Bash
      allow: true
      when:
        command: {allOf: [{contains: cargo}, {containsAll: [test, --locked]}]}
    - tool: fs/list
      allow: true
skills: inherit
tasks: [inherit]
task_approvals:
  rules:
    - {task: scaffold, allow: true, when: {topic: {equals: design}}}
---
Build what is asked.
--- .nanobot/agents/foo/bar/baz/AGENT.md
---
name: Deep
tools: inherit
skills: [write-doc]
---
--- .nanobot/skills/write-doc/SKILL.md
---
name: write-doc
description: Writes a document. Use when one is wanted.
license: MIT
compatibility: Needs a workspace.
metadata: {author: core, version: "1.0"}
allowed-tools: Read Bash(git:*)
tools: [inherit]
skills: []
tasks: inherit
tool_approvals: {default: approve, rules: [{tool: Write, allow: true}]}
task_approvals: {rules: []}
---
Write it.
--- .nanobot/skills/write-doc/references/style.md
Short.
--- .nanobot/tasks/scaffold/TASK.md
---
name: Scaffold
description: Makes an agent pack
agent: builder
inputs:
  - {name: topic, description: What it is about}
  - {name: depth, description: How deep, default: shallow}
tools: [Read, Write]
skills: [write-doc]
next: review.md
---
Make a pack on {{input.topic}}, {{ input.depth }}.
--- .nanobot/tasks/scaffold/review.md
---
name: Review
agent: foo/bar/baz
tools: [Read]
tasks: []
---
Look again at {{input.topic}}.
--- .mcp.json
{"mcpServers": {"fs": {"command": "mcp-fs", "args": ["."], "env": {"A": "b"}, "timeout_ms": 30000}},
 "mcpRegistries": {"main": {"url": "https://registry.example"}}}
"#;

#[test]
fn the_pack_of_the_documents_loads() {
    given(PACK).check("");
}

#[test]
fn every_value_of_the_pack_arrives() {
    let (library, _) = given(PACK).read();
    let builder = serde_json::to_value(&library.agents["builder"]).unwrap();
    let rules: Vec<Value> = builder["powers"]["tool_rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["when"].clone())
        .collect();
    assert_eq!(
        rules,
        [
            Value::Null,
            json!({"path": {"startsWith": "secret/"}}),
            json!({
                "path": {"anyOf": [{"startsWith": "docs/"}, {"matches": "\\.md$"}]},
                "mode": {"equals": 420},
                "encoding": {"in": ["utf-8", "ascii"]},
            }),
            json!({"command": {"allOf": [{"contains": "cargo"}, {"containsAll": ["test", "--locked"]}]}}),
            Value::Null,
        ]
    );
    assert_eq!(builder["identity"]["metadata"]["value"], json!({"team": "core", "level": 3}));
    assert_eq!(builder["models"]["candidates"][0]["value"], "claude-sonnet");
    assert_eq!(builder["models"]["allowed"][1]["value"], "claude-opus");
    assert_eq!(builder["models"]["temperature"]["value"], 0.2);
    assert_eq!(builder["models"]["max_tokens"]["value"], 4096);
    assert_eq!(builder["skills"], json!([{"value": "write-doc", "origin": "inherit"}]));
    assert_eq!(builder["tasks"], json!([{"value": "scaffold", "origin": "inherit"}]));
    assert_eq!(builder["powers"]["task_rules"][0]["subject"], "scaffold");
    let skill = serde_json::to_value(&library.skills["write-doc"]).unwrap();
    assert_eq!(skill["allowed_tools"], json!(["Read", "Bash(git:*)"]));
    assert_eq!(skill["resources"], json!(["references/style.md"]));
    assert_eq!(skill["about"]["metadata"]["version"], "1.0");
    assert_eq!(skill["scope"]["skills"], json!({"inherit": false, "names": []}));
    let task = serde_json::to_value(&library.tasks["scaffold"]).unwrap();
    assert_eq!(task["inputs"][1]["value"]["default"], "shallow");
    assert_eq!(task["steps"][0]["agent"]["value"], "builder");
    assert_eq!(task["steps"][1]["agent"]["value"], "foo/bar/baz");
    assert_eq!(task["steps"][1]["scope"]["tools"]["names"][0]["value"], "Read");
}

#[test]
fn the_context_folder_of_the_documents_loads() {
    let given = given(
        r#"
        --- context/system_prompt.md
        # Ayati

        You work in layers.
        --- context/soul.json
        {"version": 1, "soul": {"name": "Ayati", "identity": "A guide", "personality": ["calm"],
         "values": ["truth"]}, "voice": {"tone": "warm", "style": "plain", "quirks": [], "never_do": ["lie"]}}
        --- context/user_profile.json
        {"name": "Ada", "nickname": null, "languages": ["en"], "communication": {"verbosity": "low"},
         "emotional_patterns": {"joy_triggers": ["tea"]}, "active_hours": "9-17", "last_updated": 1}
        --- context/tool-access.json
        {"_help": "what may be used", "global": {"enabled": true, "mode": "full", "allowedTools": []},
         "tools": {"shell": {"enabled": true, "mode": "allowlist", "allowedPrefixes": ["git ", "ls"],
          "timeoutMs": 15000, "maxOutputChars": 20000, "allowAnyCwd": false}, "web_fetch": {"enabled": false}}}
        "#,
    );
    given.check("");
    let agent = serde_json::to_value(given.agent("agent")).unwrap();
    assert_eq!(agent["form"], "context_folder");
    assert_eq!(agent["identity"]["name"]["value"], "Ayati");
    assert_eq!(agent["texts"]["instructions"]["value"], "# Ayati\n\nYou work in layers.");
    insta::assert_snapshot!(agent["texts"]["soul"]["value"].as_str().unwrap(), @r"
    # Soul
    - soul:
      - name: Ayati
      - identity: A guide
      - personality: calm
      - values: truth
    - voice:
      - tone: warm
      - style: plain
      - never do: lie
    ");
    assert_eq!(agent["texts"]["user_name"]["value"], "Ada");
    assert_eq!(agent["powers"]["access"]["shell"]["allowed_prefixes"][0]["value"], "git ");
    assert_eq!(agent["powers"]["left_out"][0]["name"], "web_fetch");
}

#[test]
fn the_project_settings_of_the_documents_load() {
    let given = given(
        r#"
        --- agentry.toml
        [agent]
        name = "my-project-agent"
        model = "functiongemma"

        [[mcp.servers]]
        id = "github"
        name = "GitHub MCP"
        transport = "http"
        url = "https://mcp.github.com"

        [skills]
        root = ".plaited/skills"

        [rules]
        root = "AGENTS.md"

        [sandbox]
        enabled = true

        [sandbox.security]
        allowWrite = ["./src", "./tests", "./.plaited"]
        denyRead = ["~/.ssh", "~/.aws", ".env"]
        allowedDomains = ["api.github.com"]

        [sandbox.limits]
        timeout = 28_800_000
        memory = 4_294_967_296
        --- AGENTS.md
        Test before you commit.
        --- context/system_prompt.md
        Work.
        "#,
    );
    given.check("");
    let (library, _) = given.read();
    let config = serde_json::to_value(&library.settings.config).unwrap();
    assert_eq!(config["skills"]["root"], ".plaited/skills");
    let asked = serde_json::to_value(&library.settings.sandbox().requests[0].sandbox).unwrap();
    assert_eq!(asked["enabled"], true);
    assert_eq!(
        asked["security"],
        json!({
            "read": null,
            "allowRead": null,
            "allowedAddresses": null,
            "allowWrite": ["./src", "./tests", "./.plaited"],
            "denyWrite": null,
            "denyRead": ["~/.ssh", "~/.aws", ".env"],
            "allowedDomains": ["api.github.com"],
        })
    );
    assert_eq!(asked["limits"]["timeout"], 28_800_000);
    assert_eq!(asked["limits"]["memory"], 4_294_967_296_u64);
    assert_eq!(format!("{:?}", library.mcp["github"].reach), "Url(\"https://mcp.github.com\")");
    let agent = &library.agents["agent"];
    assert_eq!(agent.identity.name.origin.to_string(), "agentry.toml:2:8");
    assert_eq!(agent.models.candidates[0].value, "functiongemma");
    assert_eq!(agent.texts.rules.as_ref().unwrap().value, "Test before you commit.");
}
