//! The JSON input of hooks: the hook input schema for shaping, that of other runtimes for gates.
//!
//! Must never: reveal more of the session's messages than needed.

use std::sync::Arc;

use agentry_protocol::hook::HookMoment;
use agentry_protocol::message::Message;
use agentry_protocol::tool_call::{ToolCall, ToolOutcome};
use serde_json::{Map, Value, json};

use crate::limits::{HOOK_MESSAGE_CHARS_MAX, HOOK_MESSAGES_MAX};

/// The facts about the session that a hook receives.
pub(crate) struct HookContext<'a> {
    pub(crate) session: &'a str,
    pub(crate) turn: Option<&'a str>,
    pub(crate) recent: Vec<Value>,
    pub(crate) persona: Option<&'a str>,
    pub(crate) state: Map<String, Value>,
    pub(crate) tools: Vec<String>,
    pub(crate) args: &'a Map<String, Value>,
    pub(crate) cwd: &'a str,
    pub(crate) mode: &'a str,
}

/// The subject of a hook, beside the session.
pub(crate) enum HookTopic<'a> {
    Nothing,
    /// The prompt that the user sent.
    Prompt(&'a str),
    /// A call, and its outcome once it was made.
    Call(&'a ToolCall, Option<&'a ToolOutcome>),
    /// The end of a turn; `again` is true if a hook kept the turn from ending before.
    Finish {
        again: bool,
    },
    /// The reason for a session's start or end, or for a compaction.
    Because(&'static str),
}

/// Returns the input of a hook.
pub(crate) fn input(moment: HookMoment, facts: &HookContext<'_>, subject: &HookTopic<'_>) -> Value {
    if moment.is_gate() { gate(moment, facts, subject) } else { shaping(moment, facts, subject) }
}

fn shaping(moment: HookMoment, facts: &HookContext<'_>, subject: &HookTopic<'_>) -> Value {
    let mut input = json!({
        "event": moment.as_str(),
        "conversation_id": facts.session,
        "turn_id": facts.turn,
        "recent_messages": facts.recent,
        "current_persona": facts.persona,
        "agent_state": facts.state,
        "available_tools": facts.tools,
        "args": facts.args,
    });
    if let HookTopic::Call(call, outcome) = subject {
        input["tool_call"] =
            json!({ "id": call.id.as_str(), "name": call.tool.as_str(), "arguments": call.input });
        if let Some(outcome) = outcome {
            input["tool_result"] = json!({ "status": outcome.status, "output": outcome.text });
        }
    }
    input
}

fn gate(moment: HookMoment, facts: &HookContext<'_>, subject: &HookTopic<'_>) -> Value {
    let mut input = json!({
        "session_id": facts.session,
        "transcript_path": null,
        "cwd": facts.cwd,
        "hook_event_name": moment.as_str(),
        "permission_mode": facts.mode,
        "turn_id": facts.turn,
    });
    match subject {
        HookTopic::Nothing => {}
        HookTopic::Prompt(text) => input["prompt"] = json!(text),
        HookTopic::Call(call, outcome) => {
            input["tool_name"] = json!(call.tool.as_str());
            input["tool_input"] = call.input.clone();
            input["tool_use_id"] = json!(call.id.as_str());
            if let Some(outcome) = outcome {
                input["tool_response"] =
                    json!({ "status": outcome.status, "output": outcome.text });
            }
        }
        HookTopic::Finish { again } => input["stop_hook_active"] = json!(again),
        HookTopic::Because(why) => {
            let field = match moment {
                HookMoment::PreCompact => "trigger",
                HookMoment::SessionEnd => "reason",
                HookMoment::SessionStart
                | HookMoment::UserPromptSubmit
                | HookMoment::PreToolUse
                | HookMoment::PostToolUse
                | HookMoment::Stop
                | HookMoment::OnConversationStart
                | HookMoment::BeforeInference
                | HookMoment::AfterToolCall => "source",
            };
            input[field] = json!(why);
        }
    }
    input
}

/// Returns the last messages in the form of the hook input schema.
pub(crate) fn recent<'a>(messages: impl DoubleEndedIterator<Item = &'a Message>) -> Vec<Value> {
    let told = messages.rev().filter_map(|message| {
        let (role, content) = match message {
            Message::User { content, .. } => ("user", content),
            Message::Assistant { content, .. } if content.is_empty() => return None,
            Message::Assistant { content, .. } => ("assistant", content),
            Message::Tool { content, .. } => ("tool", content),
        };
        let content: String = content.chars().take(HOOK_MESSAGE_CHARS_MAX).collect();
        Some(json!({ "role": role, "content": content }))
    });
    let mut last: Vec<Value> = told.take(HOOK_MESSAGES_MAX).collect();
    last.reverse();
    last
}

/// Returns the last messages of a turn.
pub(crate) fn recent_of(messages: &[Arc<Message>]) -> Vec<Value> {
    recent(messages.iter().map(|message| &**message))
}
