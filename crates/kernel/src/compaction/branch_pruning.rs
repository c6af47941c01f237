//! The combined pruning steps of a branch, and the outputs as they are shown after them.
//!
//! Must never: restore a pruned output, or lengthen one.

use std::borrow::Cow;
use std::collections::BTreeMap;

use agentry_protocol::CallId;
use agentry_protocol::context::{OutputCut, PruningStep};
use agentry_protocol::message::Message;
use serde::{Deserialize, Serialize};

/// The combined pruning steps of a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BranchPruning {
    cuts: BTreeMap<CallId, OutputCut>,
}

impl BranchPruning {
    /// Combines these steps.
    pub fn by<'a>(steps: impl IntoIterator<Item = &'a PruningStep>) -> Self {
        let mut pruned = Self::default();
        for step in steps {
            pruned.add(step);
        }
        pruned
    }

    /// Adds a step; an output that is cut stays cut at least as much.
    pub fn add(&mut self, step: &PruningStep) {
        for (call, cut) in &step.cuts {
            match (self.cuts.get(call), cut) {
                // Earlier prompts were built with the first trim, so it stays.
                (Some(OutputCut::Cleared), _)
                | (Some(OutputCut::Trimmed { .. }), OutputCut::Trimmed { .. }) => {}
                (Some(OutputCut::Trimmed { .. }), OutputCut::Cleared) | (None, _) => {
                    self.cuts.insert(call.clone(), *cut);
                }
            }
        }
    }

    pub(super) fn cut(&self, call: &CallId) -> Option<OutputCut> {
        self.cuts.get(call).copied()
    }

    /// Returns true if any output of a message is cut.
    pub(super) fn cuts(&self, message: &Message) -> bool {
        match message {
            Message::Tool { call, .. } => self.cuts.contains_key(call),
            Message::User { .. } | Message::Assistant { .. } => false,
        }
    }

    /// Returns a message with its outputs as they are shown.
    pub fn applied(&self, message: &Message) -> Message {
        match message {
            Message::Tool { call, content, ok } => Message::Tool {
                call: call.clone(),
                content: shown_content(content, self.cut(call)).into_owned(),
                ok: *ok,
            },
            Message::User { .. } | Message::Assistant { .. } => message.clone(),
        }
    }
}

/// Returns an output as it is shown.
pub(super) fn shown_content(content: &str, cut: Option<OutputCut>) -> Cow<'_, str> {
    let Some(cut) = cut else { return Cow::Borrowed(content) };
    let all = content.chars().count();
    let text = match cut {
        OutputCut::Trimmed { head_chars, tail_chars } => {
            let head: String = content.chars().take(head_chars).collect();
            let tail: String =
                content.chars().skip(all.saturating_sub(tail_chars).max(head_chars)).collect();
            format!(
                "{head}\n...\n{tail}\n\n[Tool output trimmed: the first {head_chars} and the last {tail_chars} \
                 of {all} characters are shown.]"
            )
        }
        OutputCut::Cleared => format!("[Old tool output cleared: it had {all} characters.]"),
    };
    // A cut must not lengthen the output.
    if text.len() < content.len() { Cow::Owned(text) } else { Cow::Borrowed(content) }
}
