//! Brings a transcript into an order that every provider accepts.
//!
//! A recorded transcript may have gaps: a call without outcome after an interruption, an answer
//! without text, a steering message between a call and its outcome. Here each call is followed by
//! its outcome, and no message is empty.
//!
//! Must never: know the wire format of one provider, or repeat an outcome.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use agentry_protocol::CallId;
use agentry_protocol::message::{Image, Message, SealedContent};
use agentry_protocol::tool_call::{ToolCall, ToolSpec};
use serde_json::{Value, json};

use crate::limits::TOOL_NAME_BYTES_MAX;

/// The outcome shown for a call whose outcome is unknown.
const NO_OUTCOME: &str =
    "the call was interrupted before it had an outcome; nobody knows whether it happened";

/// One message of the transcript.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TranscriptMessage<'a> {
    /// From outside. Has text or an image.
    User { content: &'a str, images: &'a [Image] },
    /// From the model. Has text or calls.
    Assistant {
        content: &'a str,
        thinking: &'a str,
        calls: &'a [ToolCall],
        sealed: Option<&'a SealedContent>,
    },
    /// The outcome of a call: one for each, right after the answer with the calls, in their order.
    Outcome { call: &'a ToolCall, content: &'a str, ok: bool },
}

/// Returns the messages in the accepted order.
pub(crate) fn transcript(messages: &[Arc<Message>]) -> Vec<TranscriptMessage<'_>> {
    let mut outcomes: HashMap<&CallId, (&str, bool)> = HashMap::new();
    for message in messages {
        if let Message::Tool { call, content, ok } = &**message {
            outcomes.entry(call).or_insert((content, *ok));
        }
    }
    let mut talk = Vec::with_capacity(messages.len());
    for message in messages {
        match &**message {
            Message::User { content, images } => {
                if !content.is_empty() || !images.is_empty() {
                    talk.push(TranscriptMessage::User { content, images });
                }
            }
            Message::Assistant { content, thinking, calls, sealed } => {
                if content.trim().is_empty() && calls.is_empty() {
                    continue;
                }
                talk.push(TranscriptMessage::Assistant {
                    content,
                    thinking,
                    calls,
                    sealed: sealed.as_ref(),
                });
                talk.extend(calls.iter().map(|call| {
                    let (content, ok) = outcomes.remove(&call.id).unwrap_or((NO_OUTCOME, false));
                    TranscriptMessage::Outcome { call, content, ok }
                }));
            }
            // Written with its call; an outcome whose call is gone has no meaning.
            Message::Tool { .. } => {}
        }
    }
    talk
}

/// Returns an outcome as text, for a protocol that cannot mark a failure.
pub(crate) fn outcome_text(content: &str, ok: bool) -> Cow<'_, str> {
    if ok { Cow::Borrowed(content) } else { Cow::Owned(format!("Error: {content}")) }
}

/// Returns the arguments as an object, which providers require for any value of the model.
pub(crate) fn object(input: &Value) -> Cow<'_, Value> {
    if input.is_object() {
        Cow::Borrowed(input)
    } else {
        Cow::Owned(json!({ "unreadable": input }))
    }
}

/// The tools of a request by names that every provider accepts: `server/tool` is `server__tool`.
///
/// The names depend on the list of tools alone, so that the bytes of a transcript stay the same,
/// and no two tools have the same name.
pub(crate) struct ToolNameMap {
    /// Only tools whose written name differs from their own.
    written: HashMap<String, String>,
    meant: HashMap<String, String>,
}

impl ToolNameMap {
    /// Creates the names of these tools.
    pub(crate) fn of(tools: &[ToolSpec]) -> Self {
        let mut names = Self { written: HashMap::new(), meant: HashMap::new() };
        let all = || tools.iter().map(|tool| (tool.name.as_str(), plain(tool.name.as_str())));
        let kept: HashSet<&str> =
            all().filter(|(name, plain)| name == plain).map(|(name, _)| name).collect();
        for (name, plain) in all().filter(|(name, plain)| name != plain) {
            if names.written.contains_key(name) {
                continue;
            }
            let mut candidate = plain.clone();
            let mut number = 2;
            while kept.contains(candidate.as_str()) || names.meant.contains_key(&candidate) {
                candidate = ended(&plain, &format!("_{number}"));
                number += 1;
            }
            names.written.insert(name.to_owned(), candidate.clone());
            names.meant.insert(candidate, name.to_owned());
        }
        names
    }

    /// Returns the name for the provider. A tool of an earlier step may be missing from the list.
    pub(crate) fn wire_name(&self, name: &str) -> String {
        self.written.get(name).map_or_else(|| plain(name), Clone::clone)
    }

    /// Returns the tool of a name that the model wrote.
    pub(crate) fn tool_name(&self, written: &str) -> String {
        self.meant.get(written).map_or_else(|| written.to_owned(), Clone::clone)
    }
}

/// Returns the name in accepted characters, cut to the accepted length.
fn plain(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 1);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        out.push('_');
    }
    for c in name.chars() {
        match c {
            '/' => out.push_str("__"),
            c if c.is_ascii_alphanumeric() || c == '_' || c == '-' => out.push(c),
            _ => out.push('_'),
        }
    }
    ended(&out, "")
}

fn ended(name: &str, end: &str) -> String {
    // Only ASCII is left, so every byte is a character.
    let length = name.len().min(TOOL_NAME_BYTES_MAX - end.len());
    format!("{}{end}", &name[..length])
}

#[cfg(test)]
mod tests {
    use agentry_protocol::tool::ToolName;

    use super::*;

    fn call(number: u128) -> ToolCall {
        ToolCall {
            id: CallId::from_number(number),
            tool: ToolName::canonical("bash"),
            input: json!({}),
        }
    }

    #[test]
    fn each_call_is_followed_by_its_outcome_and_nothing_is_empty() {
        let messages: Vec<Arc<Message>> = [
            Message::user("go"),
            Message::Assistant {
                content: " ".to_owned(),
                thinking: "hm".to_owned(),
                calls: Vec::new(),
                sealed: None,
            },
            Message::Assistant {
                content: String::new(),
                thinking: String::new(),
                calls: vec![call(1), call(2)],
                sealed: None,
            },
            Message::Tool { call: CallId::from_number(7), content: "orphan".to_owned(), ok: true },
            Message::user("and then?"),
            Message::Tool { call: CallId::from_number(2), content: "two".to_owned(), ok: true },
            Message::user(""),
        ]
        .map(Arc::new)
        .to_vec();
        let calls = [call(1), call(2)];
        assert_eq!(
            transcript(&messages),
            [
                TranscriptMessage::User { content: "go", images: &[] },
                TranscriptMessage::Assistant {
                    content: "",
                    thinking: "",
                    calls: &calls,
                    sealed: None
                },
                TranscriptMessage::Outcome { call: &calls[0], content: NO_OUTCOME, ok: false },
                TranscriptMessage::Outcome { call: &calls[1], content: "two", ok: true },
                TranscriptMessage::User { content: "and then?", images: &[] },
            ]
        );
    }

    #[test]
    fn a_name_is_written_in_letters_that_all_take_and_found_again() {
        let long = "x".repeat(80);
        let longer = format!("{long}y");
        let names = ["git/log", "git__log", "git log", "7zip", "read_file", &long, &longer];
        let written = [
            "git__log_2",
            "git__log",
            "git_log",
            "_7zip",
            "read_file",
            &long[..TOOL_NAME_BYTES_MAX],
            &format!("{}_2", &long[..TOOL_NAME_BYTES_MAX - 2]),
        ];
        let request = crate::fixture::request(Vec::new());
        let tools = names
            .map(|name| ToolSpec { name: ToolName::canonical(name), ..request.tools[0].clone() });
        let table = ToolNameMap::of(&tools);
        for (name, written) in names.iter().zip(written) {
            assert_eq!(table.wire_name(name), written);
            assert_eq!(table.tool_name(written), *name);
        }
        assert_eq!(table.wire_name("old/tool"), "old__tool");
        assert_eq!(table.tool_name("no_such"), "no_such");
    }
}
