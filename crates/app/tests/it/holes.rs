//! Attacks that once got through, each with its id from the attack review, against the real binary.
//!
//! A test here failed before its fix. The scene builders write what an attacker would: a project with one agent,
//! a scripted reply, and a program whose effect cannot be read from its text.

mod approvals;
mod guard;
mod home;
mod http;
mod paths;
mod shell;
mod store;
mod text;
mod trust;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::story::{Ran, Story};

/// Rules that allow every command and every write.
const ALLOW_ALL: &str = "    - { tool: Bash, allow: true }\n    - { tool: Write, allow: true }\n";

/// Writes a project with the agent `b`, whose approval rules are `rules` and whose shell mode is `full`.
fn project(story: &Story, directory: &str, rules: &str) {
    named_project(story, directory, "b", rules);
}

/// Writes a project with one agent of the given id.
fn named_project(story: &Story, directory: &str, id: &str, rules: &str) {
    let agent = format!("{directory}/.agentry/agents/{id}");
    let text = format!(
        "---\nname: B\ntools: [Read, Write, Edit, Bash]\ntool_approvals:\n  rules:\n{rules}---\nx\n"
    );
    story.file(&format!("{agent}/AGENT.md"), text.as_bytes());
    let access = br#"{"tools":{"shell":{"enabled":true,"mode":"full"}}}"#;
    story.file(&format!("{agent}/context/tool-access.json"), access);
}

/// A `Bash` call.
fn bash(command: &str) -> Value {
    json!({ "name": "Bash", "input": { "command": command } })
}

/// A `Write` call.
fn write(path: &str, content: &str) -> Value {
    json!({ "name": "Write", "input": { "path": path, "content": content } })
}

/// Writes a script for the model: one reply for each call, then a final text.
fn script(story: &Story, calls: &[Value]) {
    let mut lines: Vec<String> =
        calls.iter().map(|call| json!({ "text": "t", "tool_calls": [call] }).to_string()).collect();
    lines.push(json!({ "text": "done" }).to_string());
    story.file("x.jsonl", lines.join("\n").as_bytes());
}

/// A command line that runs `program` in a shell, encoded so that no analysis of the text can read it.
fn hidden(program: &str) -> String {
    let encoded = BASE64_STANDARD.encode(program);
    format!("python3 -c 'import os,base64;os.system(base64.b64decode(\"{encoded}\").decode())'")
}

/// Runs the script in a project.
fn run(story: &Story, directory: &str, options: &str) -> Ran {
    story.ran_in("", &format!("run -C {directory} --model scripted:x.jsonl {options} go"))
}
