//! Normalizes the arguments of a call, which models and files write in several forms.
//!
//! Must never: let an alias win over its argument. If both are given, both stay, and the schema
//! refuses the call.

use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::ToolOutcome;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Renames arguments to their canonical names. Call it before the schema and rules apply.
pub fn normalize_arguments(tool: &ToolName, input: Value) -> Value {
    let Value::Object(written) = input else { return input };
    let aliases = aliases(tool.as_str());
    let mut arguments = Map::new();
    for (name, value) in &written {
        let canonical = aliases.iter().find(|(alias, _)| alias == name).map(|(_, name)| *name);
        match canonical {
            Some(canonical) if !is_given_otherwise(canonical, name, &written, aliases) => {
                arguments.insert(canonical.to_owned(), value.clone());
            }
            Some(_) | None => {
                arguments.insert(name.clone(), value.clone());
            }
        }
    }
    if tool.as_str() == "read_file" {
        lines_from_offset(&mut arguments);
    }
    Value::Object(arguments)
}

fn is_given_otherwise(
    canonical: &str,
    alias: &str,
    written: &Map<String, Value>,
    aliases: &[(&str, &str)],
) -> bool {
    written.contains_key(canonical)
        || aliases.iter().any(|(other, name)| {
            *name == canonical && *other != alias && written.contains_key(*other)
        })
}

#[rustfmt::skip]
fn aliases(tool: &str) -> &'static [(&'static str, &'static str)] {
    match tool {
        "read_file" => &[("file_path", "path"), ("filePath", "path"), ("startLine", "start_line"), ("endLine", "end_line")],
        "write_file" => &[("file_path", "path"), ("filePath", "path"), ("createDirs", "create_dirs")],
        "edit_file" => &[
            ("file_path", "path"), ("filePath", "path"), ("oldString", "old_string"),
            ("newString", "new_string"), ("replaceAll", "replace_all"),
        ],
        "glob" => &[("cwd", "path")],
        "grep" => &[("ignoreCase", "ignore_case"), ("maxResults", "max_results")],
        "bash" => &[
            ("cmd", "command"), ("timeoutMs", "timeout_ms"), ("timeout", "timeout_ms"),
            ("maxOutputChars", "max_output_chars"),
        ],
        _ => &[],
    }
}

/// Replaces `offset` and `limit`, which count lines from `offset`, by a first and a last line.
fn lines_from_offset(arguments: &mut Map<String, Value>) {
    if arguments.contains_key("start_line") || arguments.contains_key("end_line") {
        return;
    }
    let number = |name| arguments.get(name).map(Value::as_u64);
    let (offset, limit) = match (number("offset"), number("limit")) {
        (Some(Some(offset)), Some(Some(limit))) => (offset.max(1), Some(limit)),
        (Some(Some(offset)), None) => (offset.max(1), None),
        (None, Some(Some(limit))) => (1, Some(limit)),
        // Nothing to replace, or no numbers: the schema reports the error.
        _ => return,
    };
    arguments.shift_remove("offset");
    arguments.shift_remove("limit");
    arguments.insert("start_line".to_owned(), offset.into());
    if let Some(limit) = limit {
        arguments.insert("end_line".to_owned(), offset.saturating_add(limit.max(1) - 1).into());
    }
}

/// Parses the arguments as a type, or returns an outcome with the error.
pub(crate) fn parse<T: DeserializeOwned>(input: &Value) -> Result<T, ToolOutcome> {
    T::deserialize(input)
        .map_err(|error| ToolOutcome::failed(format!("The arguments do not fit: {error}.")))
}

/// Parses the arguments and runs the tool; wrong arguments become an outcome as well.
pub(crate) fn run_parsed<T: DeserializeOwned>(
    input: &Value,
    answer: impl FnOnce(T) -> Result<ToolOutcome, ToolOutcome>,
) -> ToolOutcome {
    parse(input).and_then(answer).unwrap_or_else(|outcome| outcome)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(tool: &str, written: Value, expected: Value) {
        assert_eq!(normalize_arguments(&ToolName::canonical(tool), written), expected);
    }

    #[test]
    fn every_documented_alias_becomes_the_canonical_name() {
        check(
            "readFile",
            json!({"path": "a", "startLine": 2, "endLine": 3}),
            json!({"path": "a", "start_line": 2, "end_line": 3}),
        );
        check(
            "Edit",
            json!({"path": "a", "oldString": "x", "newString": "y", "replaceAll": true}),
            json!({"path": "a", "old_string": "x", "new_string": "y", "replace_all": true}),
        );
        check(
            "Write",
            json!({"path": "a", "content": "", "createDirs": false}),
            json!({"path": "a", "content": "", "create_dirs": false}),
        );
        check(
            "shell",
            json!({"cmd": "ls", "timeoutMs": 5, "maxOutputChars": 7}),
            json!({"command": "ls", "timeout_ms": 5, "max_output_chars": 7}),
        );
        check(
            "exec",
            json!({"command": "ls", "timeout": 5}),
            json!({"command": "ls", "timeout_ms": 5}),
        );
        check(
            "glob",
            json!({"pattern": "*", "cwd": "src"}),
            json!({"pattern": "*", "path": "src"}),
        );
        check(
            "Grep",
            json!({"pattern": "x", "ignoreCase": true, "maxResults": 1}),
            json!({"pattern": "x", "ignore_case": true, "max_results": 1}),
        );
    }

    #[test]
    fn offset_and_limit_become_lines() {
        check(
            "Read",
            json!({"path": "a", "offset": 10, "limit": 5}),
            json!({"path": "a", "start_line": 10, "end_line": 14}),
        );
        check(
            "Read",
            json!({"path": "a", "limit": 5}),
            json!({"path": "a", "start_line": 1, "end_line": 5}),
        );
        check("Read", json!({"path": "a", "offset": 0}), json!({"path": "a", "start_line": 1}));
        check("Read", json!({"path": "a", "offset": "x"}), json!({"path": "a", "offset": "x"}));
    }

    #[test]
    fn an_alias_beside_its_argument_stays_so_that_the_schema_refuses_it() {
        for (tool, written) in [
            ("bash", json!({"command": "ls", "cmd": "rm -rf ."})),
            ("bash", json!({"cmd": "rm -rf .", "command": "ls"})),
            ("bash", json!({"command": "ls", "timeout": 1, "timeoutMs": 2})),
            ("read_file", json!({"path": "a", "start_line": 1, "offset": 5})),
        ] {
            check(tool, written.clone(), written);
        }
    }

    #[test]
    fn other_tools_and_other_shapes_are_left_alone() {
        check("github/search", json!({"cmd": "ls"}), json!({"cmd": "ls"}));
        check("bash", json!("ls"), json!("ls"));
    }
}
