//! Judges a call of a turn before any concern sees it.
//!
//! Must never: choose; it only collects what is known about the call.

use agentry_protocol::call_facts::CallFacts;
use agentry_protocol::event::Mode;
use agentry_protocol::hook::HookMoment;
use agentry_protocol::tool_call::{RepeatSafety, ToolCall};
use agentry_protocol::verdict::{Finding, Ruling, Stage, Verdict};

use super::events::{digest, standing_key};
use super::hooks::CallHooks;
use super::signal::CallSummary;
use super::{CallRecord, Questions, Turn, withheld_call};
use crate::permission_request;

impl Turn {
    /// Judges a new call by the rules and the danger guard.
    pub(super) fn judged(&mut self, call: &ToolCall, facts: CallFacts) -> CallRecord {
        let mut ruling = self.ruled(call, &facts);
        let danger = self.charter.authority.danger_at(call, &facts).map(|finding| finding.why);
        // An earlier approval was for other content; the question names the change.
        if ruling.verdict == Verdict::Ask {
            withheld_call::ask_first(&mut ruling, &facts);
        }
        // A call that is refused anyway needs no approval.
        let ruling = if danger.is_some() { ruling } else { self.within_room(ruling) };
        CallRecord {
            ruling,
            danger,
            digest: digest(call),
            call: call.clone(),
            facts,
            questions: Questions::default(),
            edited: None,
            running: false,
            outcome: None,
            said: false,
            hooked: CallHooks::default(),
        }
    }

    /// Checks the sender's quota for a call without permission: it becomes a request, or is denied.
    pub(super) fn within_room(&mut self, ruling: Ruling) -> Ruling {
        let Some(why) = permission_request::missing_permission(&ruling) else { return ruling };
        // A sender without a quota cannot make requests; the authority has denied the call already.
        let Some(room) = &mut self.requests else { return ruling };
        let full = match permission_request::check_room(room) {
            Ok(()) => {
                permission_request::count_request(room);
                return ruling;
            }
            Err(full) => full,
        };
        let why = format!("{why}; {full}");
        let mut findings = ruling.findings;
        findings.truncate(
            findings.iter().position(|one| one.stage == Stage::Access).unwrap_or(findings.len()),
        );
        findings.push(Finding { stage: Stage::Access, verdict: Verdict::Deny, why, rule: None });
        Ruling { verdict: Verdict::Deny, findings }
    }

    /// Returns the summary of a call for the concerns.
    pub(super) fn subject(&self, number: usize) -> CallSummary {
        let record = &self.calls[number];
        CallSummary {
            call: number as u64,
            verdict: record.ruling.verdict,
            permission: permission_request::missing_permission(&record.ruling).is_some(),
            standing: !self.charter.authority.is_unconfined()
                && self
                    .plan
                    .standing
                    .contains_key(&standing_key(&record.digest, &record.facts.bound)),
            dangerous: record.danger.is_some(),
            changes: self.changes(&record.call),
            hooked: self.has_hook(&[HookMoment::PreToolUse], &record.call.tool),
            watched: self
                .has_hook(&[HookMoment::AfterToolCall, HookMoment::PostToolUse], &record.call.tool),
        }
    }

    /// Returns true if a call may need approval, so that its dependencies must be known.
    pub fn may_ask(&self, call: &ToolCall, facts: &CallFacts) -> bool {
        let ruling = self.ruled(call, facts);
        let is_asked = match self.plan.mode {
            Mode::Supervised => true,
            Mode::Autonomous => permission_request::missing_permission(&ruling).is_some(),
        };
        self.charter.authority.is_unconfined()
            || ruling.verdict == Verdict::Ask && is_asked
            || self.has_hook(&[HookMoment::PreToolUse], &call.tool)
    }

    /// Returns true if the tool may change state; an unknown tool may.
    pub(super) fn changes(&self, call: &ToolCall) -> bool {
        let spec = self.charter.tools.iter().find(|spec| spec.name == call.tool);
        spec.is_none_or(|spec| spec.repeat == RepeatSafety::Uncertain)
    }
}
