//! The project of the terminal recording: an agent, a program with a bug, and a scripted model.
//!
//! Must never: hold a reply that the tools could not have led to; the recording is a real session.

/// The files, each with its path below the project.
pub(super) const FILES: [(&str, &str); 4] = [
    (".agentry/agents/coder/AGENT.md", AGENT),
    ("price.py", PROGRAM),
    ("check.py", CHECK),
    ("fix.jsonl", REPLIES),
];

pub(super) const AGENT: &str = r"---
name: coder
description: Fixes bugs and shows that the checks pass.
tools: [read_file, edit_file, bash]
tool_approvals:
  default: approve
  rules:
    - { tool: read_file, allow: true }
    - { tool: bash, allow: true, when: { command: { equals: python3 check.py } } }
---
Read before you edit. Run `python3 check.py` before you say that it works.
";

const PROGRAM: &str = r#"def total(items):
    """Return the sum of all prices, in cents."""
    result = 0
    for price, count in items:
        result += price
    return result
"#;

const CHECK: &str = r#"from price import total

assert total([(250, 2), (100, 1)]) == 600
print("2 coffees and 1 cookie cost 6.00: ok")
"#;

/// One reply of the model on each line.
const REPLIES: &str = r#"{"text": "I read the function first.", "tool_calls": [{"name": "read_file", "input": {"path": "price.py"}}]}
{"text": "`count` is never used. I multiply the price by it.", "tool_calls": [{"name": "edit_file", "input": {"path": "price.py", "old_string": "result += price", "new_string": "result += price * count"}}]}
{"tool_calls": [{"name": "bash", "input": {"command": "python3 check.py"}}]}
{"text": "Fixed: `total` now multiplies each price by its count. The check passes."}
"#;
