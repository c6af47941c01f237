//! Twenty plain prompts with one right tool and argument each, and some that need no tool.
//!
//! Must never: have two right answers.

use agentry_protocol::tool_call::ToolSpec;
use serde_json::{Value, json};

use crate::spec;

/// A prompt and what is right for it.
pub(crate) struct Wanted {
    pub(crate) prompt: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) argument: &'static str,
    /// One of these must stand in the argument.
    pub(crate) values: &'static [&'static str],
}

const fn wanted(
    prompt: &'static str,
    tool: &'static str,
    argument: &'static str,
    values: &'static [&'static str],
) -> Wanted {
    Wanted { prompt, tool, argument, values }
}

pub(crate) const PROMPTS: &[Wanted] = &[
    wanted("Show me what is in README.md.", "read_file", "path", &["README.md"]),
    wanted(
        "Open the file src/main.rs and tell me what it does.",
        "read_file",
        "path",
        &["src/main.rs"],
    ),
    wanted("What does config/settings.toml say?", "read_file", "path", &["config/settings.toml"]),
    wanted("Please look into notes/todo.txt.", "read_file", "path", &["notes/todo.txt"]),
    wanted(
        "Create a file hello.txt with the text Hello World.",
        "write_file",
        "path",
        &["hello.txt"],
    ),
    wanted("Save the word done to out/status.txt.", "write_file", "path", &["out/status.txt"]),
    wanted("Write a new file VERSION that holds 1.2.3.", "write_file", "content", &["1.2.3"]),
    wanted("Search all files for the text TODO.", "grep", "pattern", &["TODO"]),
    wanted(
        "Which lines in the project mention parse_header?",
        "grep",
        "pattern",
        &["parse_header"],
    ),
    wanted(
        "Find every place where the word password occurs in the code.",
        "grep",
        "pattern",
        &["password"],
    ),
    wanted("Look for FIXME in the sources.", "grep", "pattern", &["FIXME"]),
    wanted("Run cargo test.", "bash", "command", &["cargo test"]),
    wanted("Execute the command git status.", "bash", "command", &["git status"]),
    wanted("How much disk space is free? Use df -h.", "bash", "command", &["df -h"]),
    wanted("Build the project with make all.", "bash", "command", &["make all"]),
    wanted("List all Python files by name pattern.", "glob", "pattern", &["*.py"]),
    wanted("Find the files whose names end in .json.", "glob", "pattern", &["*.json"]),
    wanted("Which files match src/**/*.rs?", "glob", "pattern", &["src/**/*.rs"]),
    wanted(
        "Fetch the page https://example.com/news.",
        "web_fetch",
        "url",
        &["https://example.com/news"],
    ),
    wanted(
        "Download https://www.rust-lang.org and read it.",
        "web_fetch",
        "url",
        &["https://www.rust-lang.org"],
    ),
];

pub(crate) const ANSWERS: &[&str] = &[
    "Hello! How are you?",
    "What is the capital of France?",
    "Thank you, that is all.",
    "What is 2 + 2?",
    "Explain in one sentence what a compiler is.",
    "Which of the two is larger, 9 or 11?",
];

pub(crate) fn tools() -> Vec<ToolSpec> {
    let text = |about: &str| json!({"type": "string", "description": about});
    let object = |properties: Value, required: Value| {
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false
        })
    };
    vec![
        spec(
            "read_file",
            "Read a file of the project.",
            object(json!({"path": text("Path of the file.")}), json!(["path"])),
        ),
        spec(
            "write_file",
            "Create or replace a file.",
            object(
                json!({"path": text("Path of the file."), "content": text("The whole text.")}),
                json!(["path", "content"]),
            ),
        ),
        spec(
            "grep",
            "Search the contents of files with a regular expression.",
            object(
                json!({"pattern": text("What to search for."), "path": text("Where to search.")}),
                json!(["pattern"]),
            ),
        ),
        spec(
            "bash",
            "Run a shell command.",
            object(json!({"command": text("The command.")}), json!(["command"])),
        ),
        spec(
            "glob",
            "Find files by a pattern of their names.",
            object(json!({"pattern": text("A pattern such as **/*.md.")}), json!(["pattern"])),
        ),
        spec(
            "web_fetch",
            "Fetch a web page as text.",
            object(json!({"url": text("The address.")}), json!(["url"])),
        ),
    ]
}
