//! The talk, in an order that every provider takes.
//!
//! What was recorded may have holes: a call whose outcome never came because somebody interrupted, an answer
//! without a word, a steer between a call and its outcome. Here each call is followed by its outcome, and
//! nothing is empty.
//!
//! Must never: know the wire form of one provider, or give an outcome twice.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use agentry_protocol::CallId;
use agentry_protocol::call::{ToolCall, ToolSpec};
use agentry_protocol::message::{Image, Message, Sealed};
use serde_json::{Value, json};

use crate::limits::TOOL_NAME_BYTES_MAX;

/// What a model is told of a call that nobody knows the outcome of.
const NO_OUTCOME: &str =
    "the call was interrupted before it had an outcome; nobody knows whether it happened";

/// One piece of the talk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Said<'a> {
    /// From outside. Has words or a picture.
    User { content: &'a str, images: &'a [Image] },
    /// From the model. Has words or calls.
    Assistant {
        content: &'a str,
        thinking: &'a str,
        calls: &'a [ToolCall],
        sealed: Option<&'a Sealed>,
    },
    /// What came of a call: one for each, right after the answer that asked for it, in its order.
    Outcome { call: &'a ToolCall, content: &'a str, ok: bool },
}

/// The talk, piece by piece.
pub(crate) fn said(messages: &[Arc<Message>]) -> Vec<Said<'_>> {
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
                    talk.push(Said::User { content, images });
                }
            }
            Message::Assistant { content, thinking, calls, sealed } => {
                if content.trim().is_empty() && calls.is_empty() {
                    continue;
                }
                talk.push(Said::Assistant { content, thinking, calls, sealed: sealed.as_ref() });
                talk.extend(calls.iter().map(|call| {
                    let (content, ok) = outcomes.remove(&call.id).unwrap_or((NO_OUTCOME, false));
                    Said::Outcome { call, content, ok }
                }));
            }
            // Said with its call; one whose call is no longer in the talk means nothing to anybody.
            Message::Tool { .. } => {}
        }
    }
    talk
}

/// An outcome as text, for a protocol that cannot mark a failure.
pub(crate) fn marked(content: &str, ok: bool) -> Cow<'_, str> {
    if ok { Cow::Borrowed(content) } else { Cow::Owned(format!("Error: {content}")) }
}

/// The arguments as an object: providers take nothing else, also where the model wrote something else.
pub(crate) fn object(input: &Value) -> Cow<'_, Value> {
    if input.is_object() {
        Cow::Borrowed(input)
    } else {
        Cow::Owned(json!({ "unreadable": input }))
    }
}

/// A tool's name in letters that every provider takes: `server/tool` is `server__tool`.
pub(crate) fn tool_name(name: &str) -> String {
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
    if out.len() > TOOL_NAME_BYTES_MAX {
        let end = format!("_{:08x}", mixed(name));
        out.truncate(TOOL_NAME_BYTES_MAX - end.len());
        out.push_str(&end);
    }
    out
}

/// A number that is hardly the same for two long names that begin alike (FNV-1a).
fn mixed(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The names of a request's tools, to find the one that a model means.
pub(crate) struct Names {
    /// Only those that are written in another way than they are called.
    changed: HashMap<String, String>,
}

impl Names {
    /// Of these tools.
    pub(crate) fn of(tools: &[ToolSpec]) -> Self {
        let changed = tools
            .iter()
            .map(|tool| (tool_name(tool.name.as_str()), tool.name.as_str().to_owned()))
            .filter(|(written, name)| written != name)
            .collect();
        Self { changed }
    }

    /// The tool that the model means.
    pub(crate) fn meant(&self, written: &str) -> String {
        self.changed.get(written).map_or_else(|| written.to_owned(), Clone::clone)
    }
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
            said(&messages),
            [
                Said::User { content: "go", images: &[] },
                Said::Assistant { content: "", thinking: "", calls: &calls, sealed: None },
                Said::Outcome { call: &calls[0], content: NO_OUTCOME, ok: false },
                Said::Outcome { call: &calls[1], content: "two", ok: true },
                Said::User { content: "and then?", images: &[] },
            ]
        );
    }

    #[test]
    fn a_name_is_written_in_letters_that_all_take() {
        assert_eq!(tool_name("read_file"), "read_file");
        assert_eq!(tool_name("git/log"), "git__log");
        assert_eq!(tool_name("7zip"), "_7zip");
        assert_eq!(tool_name("a b.c"), "a_b_c");
        let long = "x".repeat(80);
        assert_eq!(tool_name(&long).len(), TOOL_NAME_BYTES_MAX);
        assert_ne!(tool_name(&long), tool_name(&format!("{long}y")));
    }
}
