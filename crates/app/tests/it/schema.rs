//! `agentry schema`: the schemas for editors accept the documented examples.

use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::source::{SourceText, Span};
use agentry_agentfile::{toml, yaml};
use serde_json::Value;

use crate::story::Story;

const KINDS: [&str; 8] =
    ["agent", "agent-yml", "skill", "task", "step", "tool", "tool-access", "config"];

fn from_yaml(text: &str) -> Value {
    let mut findings = Findings::default();
    let source = SourceText::new("example.yml", text);
    let node = yaml::parse(&source, Span::new(0, text.len()), &mut findings);
    assert!(findings.is_empty(), "{findings:?}");
    node.expect("the example parses").to_value()
}

fn from_toml(text: &str) -> Value {
    let mut findings = Findings::default();
    let node = toml::parse(&SourceText::new("example.toml", text), &mut findings);
    assert!(findings.is_empty(), "{findings:?}");
    node.expect("the example parses").to_value()
}

#[track_caller]
fn passes(kind: &str, example: &Value) {
    let schema = Story::new("").json(&format!("schema {kind}"));
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let errors: Vec<String> =
        validator.iter_errors(example).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{kind}: {errors:?}");
}

#[track_caller]
fn fails(kind: &str, example: &Value) {
    let schema = Story::new("").json(&format!("schema {kind}"));
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    assert!(!validator.is_valid(example), "{kind}: {example}");
}

#[test]
fn each_kind_has_a_titled_schema_of_fields_with_words() {
    let story = Story::new("");
    for kind in KINDS {
        let schema = story.json(&format!("schema {kind}"));
        assert!(schema["title"].is_string(), "{kind} has no title");
        let fields = schema["properties"].as_object().expect("a schema has properties");
        for (name, field) in fields {
            assert!(
                field["description"].is_string(),
                "{kind}: `{name}` has no description: {field}"
            );
        }
    }
}

/// The console's types are made from this file.
#[test]
fn the_document_that_the_console_is_built_from_is_the_servers() {
    let kept: Value = serde_json::from_str(include_str!("../../../../console/openapi.json"))
        .expect("the file is JSON");
    let said: Value =
        serde_json::from_str(&Story::new("").out("schema api")).expect("the document is JSON");
    assert_eq!(said, kept, "write it anew: agentry schema api > console/openapi.json");
}

#[test]
fn an_unknown_kind_is_exit_2() {
    insta::assert_snapshot!(Story::new("").run("schema agnt"), @"
    exit 2
    --- stderr
    error: invalid value 'agnt' for '<KIND>'
      [possible values: agent, agent-yml, skill, task, step, tool, tool-access, config, access, event-hook, api]

      tip: a similar value exists: 'agent'

    For more information, try '--help'.
    ");
}

#[test]
fn the_documented_agent_program_passes() {
    let example = from_yaml(
        r#"
name: "my-agent"
description: "A helpful coding assistant"
model:
  default: "claude-sonnet-4-20250514"
  prefer:
    - "claude-sonnet-4-20250514"
    - "gpt-4.1"
tools:
  allow:
    - memory_search
    - code_execution
    - read_file
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
  self_modify: true
  spawn_subagents: false
"#,
    );
    passes("agent-yml", &example);
    fails("agent-yml", &from_yaml("name: a\ntols: {}\n"));
}

#[test]
fn the_documented_tool_passes() {
    let example = from_yaml(
        r#"
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
"#,
    );
    passes("tool", &example);
    fails("tool", &from_yaml("name: [fortune]\n"));
}

#[test]
fn an_agent_a_skill_a_task_and_a_step_of_a_pack_pass() {
    let approvals = "
tool_approvals:
  default: approve
  rules:
    - { tool: Read, allow: true }
    - tool: Write
      allow: true
      when:
        path: { allOf: [{ startsWith: docs/ }, { matches: '[.]md$' }] }
        tags: { containsAll: [a, b] }
";
    let scope =
        format!("tools: [inherit, Write, files/list]\nskills: inherit\ntasks: []\n{approvals}");
    let agent = format!(
        "name: Builder\nmodel: gpt-4.1\nallowed_models: [o3-mini]\ntemperature: 0.2\nmax_tokens: 8\n{scope}"
    );
    passes("agent", &from_yaml(&agent));
    passes(
        "skill",
        &from_yaml(&format!("name: x\ndescription: Does x.\nallowed-tools: Read Write\n{scope}")),
    );
    let inputs =
        "inputs:\n  - { name: version, description: The version, default: '1' }\nnext: two.md\n";
    passes("task", &from_yaml(&format!("name: T\nagent: foo/bar\n{inputs}{scope}")));
    passes("step", &from_yaml(&format!("name: Two\n{scope}")));
    fails("step", &from_yaml(&format!("name: Two\n{inputs}")));
    fails("agent", &from_yaml("model: gpt-4.1\n"));
}

#[test]
fn the_documented_tool_access_passes() {
    let example = serde_json::json!({
        "_help": { "modes": "off, allowlist, full" },
        "global": { "enabled": true, "mode": "full", "allowedTools": ["shell"] },
        "tools": { "shell": {
            "enabled": true, "mode": "allowlist", "allowedPrefixes": ["ls"],
            "timeoutMs": 15000, "maxOutputChars": 20000, "allowAnyCwd": false,
        } },
    });
    passes("tool-access", &example);
    fails("tool-access", &serde_json::json!({ "global": { "mode": "open" } }));
}

#[test]
fn the_documented_settings_pass() {
    let example = from_toml(
        r#"
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
"#,
    );
    passes("config", &example);
    fails("config", &from_toml("[agent]\nmodle = \"x\"\n"));
}
