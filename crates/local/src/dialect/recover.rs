//! A call that a model wrote in a free answer, in a code fence or as the whole answer.
//!
//! Must never: accept an incomplete call; the toolset decides if it is valid.

use agentry_protocol::message::RawToolCall;

use crate::dialect::hermes::call_in_json;

/// A call found in a text, and the text without it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecoveredCall {
    pub(crate) call: RawToolCall,
    pub(crate) before: String,
}

/// Finds the first complete call in a text for which `valid` is true.
pub(crate) fn find_call(text: &str, valid: impl Fn(&RawToolCall) -> bool) -> Option<RecoveredCall> {
    let whole = unmarked(text.trim());
    if let Some(call) = call_in_json(whole).filter(&valid) {
        return Some(RecoveredCall { call, before: String::new() });
    }
    let mut rest = text;
    let mut at = 0;
    while let Some(fence) = rest.find("```") {
        let (language, block) = rest[fence + 3..].split_once('\n')?;
        let end = block.find("```")?;
        let is_json = matches!(language.trim(), "" | "json" | "tool_call");
        if is_json && let Some(call) = call_in_json(unmarked(block[..end].trim())).filter(&valid) {
            let before = text[..at + fence].trim_end().to_owned();
            return Some(RecoveredCall { call, before });
        }
        let skip = fence + 3 + language.len() + 1 + end + 3;
        at += skip;
        rest = &rest[skip..];
    }
    None
}

/// Removes the marks of a call, which a model may have written as text.
fn unmarked(text: &str) -> &str {
    text.strip_prefix("<tool_call>")
        .map_or(text, |text| text.strip_suffix("</tool_call>").unwrap_or(text))
        .trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"name": "read_file", "arguments": {"path": "a"}}"#;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let found = find_call(text, |call| call.name == "read_file");
        assert_eq!(found.as_ref().map(|found| found.before.as_str()), expected, "{text}");
    }

    #[test]
    fn a_fence_or_the_whole_answer_may_be_a_call() {
        check(CALL, Some(""));
        check(&format!("<tool_call>\n{CALL}\n</tool_call>"), Some(""));
        check(&format!("```json\n{CALL}\n```"), Some(""));
        check(&format!("Let me look.\n\n```\n{CALL}\n```\nThen we see."), Some("Let me look."));
        let second = format!("```sh\nls\n```\nand\n```json\n{CALL}\n```");
        check(&second, Some("```sh\nls\n```\nand"));
    }

    #[test]
    fn prose_and_invalid_calls_are_left_alone() {
        check(&format!("You can write {CALL} for that."), None);
        check(&format!("```rust\n{CALL}\n```"), None);
        check(&format!("```json\n{CALL}"), None);
        check("```json\n{\"name\": \"rm\", \"arguments\": {}}\n```", None);
        check("```json\n{\"name\": \"read_file\"}\n```", None);
        check("```", None);
    }
}
