//! What a turn makes of a call before any concern sees it.
//!
//! Must never: choose; it only says what is known of the call.

use agentry_protocol::call::{Repeat, ToolCall};

use super::ledger_form::digest;
use super::signal::Subject;
use super::{CallRecord, Turn};

impl Turn {
    /// A call as it comes, with what the rules and the guard say about it.
    pub(super) fn judged(&self, call: &ToolCall) -> CallRecord {
        let authority = &self.charter.authority;
        CallRecord {
            ruling: authority.rule(call, &self.skills),
            danger: authority.danger(call).map(|finding| finding.why),
            digest: digest(call),
            call: call.clone(),
            asked: None,
            answered: None,
            no: None,
            running: false,
            outcome: None,
            said: false,
        }
    }

    /// What the concerns are told of a call.
    pub(super) fn subject(&self, number: usize) -> Subject {
        let record = &self.calls[number];
        Subject {
            call: number as u64,
            verdict: record.ruling.verdict,
            standing: !self.charter.authority.is_unconfined()
                && self.plan.standing.contains_key(record.digest.as_str()),
            dangerous: record.danger.is_some(),
            changes: self.changes(&record.call),
        }
    }

    /// What nobody knows may change something.
    pub(super) fn changes(&self, call: &ToolCall) -> bool {
        let spec = self.charter.tools.iter().find(|spec| spec.name == call.tool);
        spec.is_none_or(|spec| spec.repeat == Repeat::Uncertain)
    }
}
