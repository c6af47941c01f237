//! Parses the output of a hook's program.
//!
//! A shaping hook writes JSON of the agent program format. A gate writes JSON of other runtimes, or
//! denies by its exit code. Invalid output is no answer: half of it may be the wrong half.
//!
//! Must never: guess the meaning of a program's output.

use agentry_protocol::hook::{GateAnswer, GateVerdict, HookMoment, HookResult, ShapeAnswer};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::limits::{AGENT_STATE_BYTES_MAX, HOOK_REASON_CHARS_MAX, HOOK_TEXT_BYTES_MAX};

/// The exit code with which a gate denies.
const BLOCK: i32 = 2;

/// The raw output of a program.
#[derive(Clone, Copy, Debug)]
pub struct HookProgramOutput<'a> {
    /// The exit code of the program.
    pub exit_code: i32,
    /// Its output file, if it wrote one.
    pub file: Option<&'a [u8]>,
    /// The bytes that it wrote to standard output.
    pub stdout: &'a [u8],
    /// The end of its standard error.
    pub stderr: &'a str,
}

/// Parses a hook's output; the notes list the fields that were dropped.
pub fn read(moment: HookMoment, left: &HookProgramOutput<'_>) -> (HookResult, Vec<String>) {
    let mut notes = Vec::new();
    let result = if moment.is_gate() { gate(moment, left, &mut notes) } else { shape(left) };
    let result = result.unwrap_or_else(|why| HookResult::Failed { why });
    (result, notes)
}

fn shape(left: &HookProgramOutput<'_>) -> Result<HookResult, String> {
    if left.exit_code != 0 {
        return Err(ended_badly(left));
    }
    let Some(value) = output(left)? else {
        return Ok(HookResult::Shaped { shape: Box::default() });
    };
    let shape: ShapeAnswer = serde_json::from_value(without_nulls(value))
        .map_err(|error| format!("its output does not fit: {error}"))?;
    check_length("system_prompt_append", shape.system_prompt_append.as_deref())?;
    let updates = shape.state_updates.as_ref().map_or(0, json_bytes);
    if updates > AGENT_STATE_BYTES_MAX {
        return Err(format!(
            "its state_updates have {updates} bytes; at most {AGENT_STATE_BYTES_MAX} are kept"
        ));
    }
    Ok(HookResult::Shaped { shape: Box::new(shape) })
}

/// Removes nulls, which equal absent fields everywhere but in the state, where they remove a value.
fn without_nulls(value: Map<String, Value>) -> Value {
    Value::Object(value.into_iter().filter(|(_, value)| !value.is_null()).collect())
}

/// Returns the JSON of the output file, or else of standard output. None means no change.
fn output(left: &HookProgramOutput<'_>) -> Result<Option<Map<String, Value>>, String> {
    let (bytes, place) = match left.file {
        Some(bytes) => (bytes, "output file"),
        None => (left.stdout, "standard output"),
    };
    let text = std::str::from_utf8(bytes).map_err(|_| format!("its {place} is not text"))?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(fields)) => Ok(Some(fields)),
        Ok(
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_),
        ) => Err(format!("its {place} is not a JSON object")),
        Err(error) => Err(format!("its {place} is not JSON: {error}")),
    }
}

/// The output fields of other runtimes, under their names.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ForeignHookOutput {
    #[serde(rename = "continue")]
    goes_on: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    hook_specific_output: Option<ForeignHookSpecific>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ForeignHookSpecific {
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Value>,
    additional_context: Option<String>,
}

fn gate(
    moment: HookMoment,
    left: &HookProgramOutput<'_>,
    notes: &mut Vec<String>,
) -> Result<HookResult, String> {
    let answer = match left.exit_code {
        0 => said(moment, left, notes)?,
        BLOCK => GateAnswer {
            say: Some(GateVerdict::Deny),
            reason: Some(shortened(left.stderr)).filter(|reason| !reason.is_empty()),
            ..GateAnswer::default()
        },
        _ => return Err(ended_badly(left)),
    };
    Ok(HookResult::Gated { answer: Box::new(answer) })
}

fn said(
    moment: HookMoment,
    left: &HookProgramOutput<'_>,
    notes: &mut Vec<String>,
) -> Result<GateAnswer, String> {
    // Plain text on standard output is context for the model at the beginning, and ignored later.
    if left.file.is_none() && !looks_like_json(left.stdout) {
        let text = String::from_utf8_lossy(left.stdout).trim().to_owned();
        let is_heard = matches!(moment, HookMoment::SessionStart | HookMoment::UserPromptSubmit);
        let context = (is_heard && !text.is_empty()).then_some(text);
        check_length("standard output", context.as_deref())?;
        return Ok(GateAnswer { context, ..GateAnswer::default() });
    }
    let Some(fields) = output(left)? else { return Ok(GateAnswer::default()) };
    let said: ForeignHookOutput = serde_json::from_value(without_nulls(fields))
        .map_err(|error| format!("its output does not fit: {error}"))?;
    let specific = said.hook_specific_output.unwrap_or_default();
    let word = specific.permission_decision.or(said.decision);
    let say = word.as_deref().map(say_of).transpose()?;
    let context = specific.additional_context;
    check_length("additionalContext", context.as_deref())?;
    let is_before_a_call = moment == HookMoment::PreToolUse;
    if specific.updated_input.is_some() && !is_before_a_call {
        notes.push(format!("updatedInput means nothing at {moment}"));
    }
    let updated_input = specific.updated_input.filter(|_| is_before_a_call);
    if updated_input.as_ref().is_some_and(|input| !input.is_object()) {
        return Err("its updatedInput is not a JSON object".to_owned());
    }
    let halt = (said.goes_on == Some(false))
        .then(|| said.stop_reason.unwrap_or_else(|| "the hook wants nothing to go on".to_owned()));
    Ok(GateAnswer {
        say,
        reason: specific.permission_decision_reason.or(said.reason).map(|text| shortened(&text)),
        updated_input,
        context,
        message: said.system_message.map(|text| shortened(&text)),
        halt: halt.map(|text| shortened(&text)),
    })
}

fn looks_like_json(bytes: &[u8]) -> bool {
    bytes.trim_ascii_start().first() == Some(&b'{')
}

/// Parses a verdict. Other runtimes have two pairs of words for it.
fn say_of(word: &str) -> Result<GateVerdict, String> {
    match word {
        "allow" | "approve" => Ok(GateVerdict::Allow),
        "ask" => Ok(GateVerdict::Ask),
        "deny" | "block" => Ok(GateVerdict::Deny),
        _ => Err(format!(
            "its decision `{}` is none of allow, deny, ask, approve, block",
            shortened(word)
        )),
    }
}

fn check_length(what: &str, text: Option<&str>) -> Result<(), String> {
    match text {
        Some(text) if text.len() > HOOK_TEXT_BYTES_MAX => Err(format!(
            "its {what} has {} bytes; at most {HOOK_TEXT_BYTES_MAX} go into a prompt",
            text.len()
        )),
        Some(_) | None => Ok(()),
    }
}

fn ended_badly(left: &HookProgramOutput<'_>) -> String {
    let said = shortened(left.stderr);
    if said.is_empty() {
        format!("it ended with exit code {}", left.exit_code)
    } else {
        format!("it ended with exit code {}: {said}", left.exit_code)
    }
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    let short: String = text.chars().take(HOOK_REASON_CHARS_MAX).collect();
    if short.len() < text.len() { short + "…" } else { short }
}

/// Merges changes into the state of a session: a value replaces another, null removes it.
///
/// # Errors
/// Fails if the result is too large; then no change applies.
pub fn merged(
    mut state: Map<String, Value>,
    updates: &Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    for (key, value) in updates {
        match value {
            Value::Null => drop(state.remove(key)),
            Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => drop(state.insert(key.clone(), value.clone())),
        }
    }
    let bytes = json_bytes(&state);
    if bytes > AGENT_STATE_BYTES_MAX {
        return Err(format!(
            "the state would have {bytes} bytes; at most {AGENT_STATE_BYTES_MAX} are kept"
        ));
    }
    Ok(state)
}

fn json_bytes(fields: &Map<String, Value>) -> usize {
    serde_json::to_vec(fields).map_or(usize::MAX, |bytes| bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn left<'a>(exit_code: i32, file: Option<&'a str>, stdout: &'a str) -> HookProgramOutput<'a> {
        let (file, stdout) = (file.map(str::as_bytes), stdout.as_bytes());
        HookProgramOutput { exit_code, file, stdout, stderr: "because" }
    }

    fn shaped(left: &HookProgramOutput<'_>) -> Result<ShapeAnswer, String> {
        match read(HookMoment::BeforeInference, left).0 {
            HookResult::Shaped { shape } => Ok(*shape),
            HookResult::Failed { why } => Err(why),
            HookResult::Gated { .. } => panic!("a shaping hook is no gate"),
        }
    }

    fn gated(moment: HookMoment, left: &HookProgramOutput<'_>) -> Result<GateAnswer, String> {
        match read(moment, left).0 {
            HookResult::Gated { answer } => Ok(*answer),
            HookResult::Failed { why } => Err(why),
            HookResult::Shaped { .. } => panic!("a gate does not shape"),
        }
    }

    #[test]
    fn the_documented_output_is_understood() {
        let text = r#"{
            "system_prompt_append": "Focus on Ruby style and performance.",
            "persona_override": "coder",
            "tool_additions": ["grep", "git_diff"],
            "tool_removals": [],
            "state_updates": { "last_topic": "ruby refactoring", "old": null },
            "model_override": null
        }"#;
        for left in [left(0, Some(text), ""), left(0, None, text), left(0, Some(text), "chatter")] {
            let shape = shaped(&left).unwrap();
            assert_eq!(shape.persona_override.as_deref(), Some("coder"));
            assert_eq!(shape.tool_additions, ["grep", "git_diff"]);
            assert_eq!(shape.model_override, None);
            let updates = shape.state_updates.unwrap();
            assert_eq!(updates["old"], Value::Null);
        }
        assert_eq!(shaped(&left(0, None, "")).unwrap(), ShapeAnswer::default());
        assert_eq!(shaped(&left(0, Some("{}"), "")).unwrap(), ShapeAnswer::default());
    }

    #[test]
    fn what_does_not_fit_is_no_answer() {
        let long = "x".repeat(HOOK_TEXT_BYTES_MAX + 1);
        let long = json!({ "system_prompt_append": long }).to_string();
        let large =
            json!({ "state_updates": { "x": "y".repeat(AGENT_STATE_BYTES_MAX) } }).to_string();
        for (text, why) in [
            ("garbage", "not JSON"),
            ("[]", "not a JSON object"),
            (r#"{"tool_additions": "grep"}"#, "does not fit"),
            (r#"{"system_prompt_append": 7}"#, "does not fit"),
            (r#"{"state_updates": []}"#, "does not fit"),
            (&long, "at most"),
            (&large, "at most"),
        ] {
            let found = shaped(&left(0, Some(text), "")).unwrap_err();
            assert!(found.contains(why), "{text:.40}: {found}");
        }
        let bytes = [0xff, 0xfe];
        let binary = HookProgramOutput { file: Some(&bytes), ..left(0, None, "") };
        assert!(shaped(&binary).unwrap_err().contains("not text"));
        assert!(shaped(&left(3, Some("{}"), "")).unwrap_err().contains("exit code 3: because"));
    }

    #[test]
    fn a_gate_says_no_by_its_exit_code_or_in_either_form() {
        let deny = |answer: GateAnswer| (answer.say, answer.reason);
        let because = Some("because".to_owned());
        assert_eq!(
            deny(gated(HookMoment::PreToolUse, &left(2, None, "")).unwrap()),
            (Some(GateVerdict::Deny), because.clone())
        );
        for text in [
            r#"{"decision": "block", "reason": "because"}"#,
            r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                "permissionDecisionReason": "because"}}"#,
        ] {
            let answer = gated(HookMoment::PreToolUse, &left(0, None, text)).unwrap();
            assert_eq!(deny(answer), (Some(GateVerdict::Deny), because.clone()));
        }
        let ask = r#"{"hookSpecificOutput": {"permissionDecision": "ask"}}"#;
        assert_eq!(
            gated(HookMoment::PreToolUse, &left(0, None, ask)).unwrap().say,
            Some(GateVerdict::Ask)
        );
        assert!(gated(HookMoment::PreToolUse, &left(1, None, "")).is_err());
        assert!(gated(HookMoment::PreToolUse, &left(0, None, r#"{"decision": "maybe"}"#)).is_err());
        assert!(gated(HookMoment::PreToolUse, &left(0, Some("garbage"), "")).is_err());
    }

    #[test]
    fn plain_words_are_context_at_the_beginning_only() {
        let words = left(0, None, "Today is a holiday.\n");
        let heard = gated(HookMoment::UserPromptSubmit, &words).unwrap();
        assert_eq!(heard.context.as_deref(), Some("Today is a holiday."));
        assert_eq!(gated(HookMoment::PreToolUse, &words).unwrap(), GateAnswer::default());
    }

    #[test]
    fn a_gate_may_change_arguments_halt_and_add() {
        let text = r#"{"continue": false, "stopReason": "enough", "systemMessage": "look",
            "hookSpecificOutput": {"updatedInput": {"command": "ls"}, "additionalContext": "more"}}"#;
        let answer = gated(HookMoment::PreToolUse, &left(0, None, text)).unwrap();
        assert_eq!(answer.updated_input, Some(json!({"command": "ls"})));
        assert_eq!(answer.halt.as_deref(), Some("enough"));
        assert_eq!(answer.context.as_deref(), Some("more"));
        let (result, notes) = read(HookMoment::PostToolUse, &left(0, None, text));
        assert!(matches!(result, HookResult::Gated { answer } if answer.updated_input.is_none()));
        assert_eq!(notes.len(), 1);
        let list = r#"{"hookSpecificOutput": {"updatedInput": []}}"#;
        assert!(gated(HookMoment::PreToolUse, &left(0, None, list)).is_err());
    }

    #[test]
    fn the_state_is_merged_one_level_deep() {
        let state = json!({"a": 1, "b": {"x": 1}, "c": 3});
        let updates = json!({"b": {"y": 2}, "c": null, "d": [1]});
        let (state, updates) = (state.as_object().unwrap(), updates.as_object().unwrap());
        let merged = merged(state.clone(), updates).unwrap();
        assert_eq!(Value::Object(merged), json!({"a": 1, "b": {"y": 2}, "d": [1]}));
        let much = json!({"x": "y".repeat(AGENT_STATE_BYTES_MAX)});
        assert!(super::merged(state.clone(), much.as_object().unwrap()).is_err());
    }
}
