//! Handles a call that was not run because its dependencies changed.
//!
//! The call is judged again with the current facts and needs a new approval, regardless of earlier
//! answers. The autonomous mode runs it with the current facts. After a few times it is refused.
//!
//! Must never: let an answer count for content that it was not given for.

use agentry_bthread::Lane;
use agentry_protocol::CallId;
use agentry_protocol::call_facts::{CallFacts, DependencyChange, DependencyKind};
use agentry_protocol::verdict::{Finding, Ruling, Stage, Verdict};

use super::Turn;
use super::hooks::add_hook_questions;
use super::signal::Signal;
use crate::limits::WITHHELD_MAX;

impl Turn {
    pub(super) fn hear_withheld(&mut self, call: &CallId, facts: &CallFacts) {
        let Some(at) = self.calls.iter().position(|one| one.call.id == *call && one.running) else {
            return;
        };
        let mut ruling = self.ruled(&self.calls[at].call, facts);
        let danger = self.charter.authority.danger_at(&self.calls[at].call, facts);
        let record = &mut self.calls[at];
        record.running = false;
        record.questions.answered = None;
        record.questions.withheld += 1;
        let refusal =
            danger.or_else(|| gone(facts)).or_else(|| too_often(record.questions.withheld, facts));
        if ruling.verdict < Verdict::Deny {
            add_hook_questions(&mut ruling, record.hooked.asks.iter().cloned());
            ask_first(&mut ruling, facts);
            if let Some(finding) = refusal {
                ruling.verdict = Verdict::Deny;
                ruling.findings.push(finding);
            }
        }
        record.facts = facts.clone();
        record.ruling = ruling;
        let mut subject = self.subject(at);
        // The earlier answer was for other content.
        subject.standing = false;
        self.program.offer(Lane::Normal, Signal::Withheld(subject));
    }
}

/// Requires approval because of changed dependencies, and names them as the first reason.
pub(super) fn ask_first(ruling: &mut Ruling, facts: &CallFacts) {
    if ruling.verdict == Verdict::Deny || facts.changes.is_empty() {
        return;
    }
    let finding = |why| Finding { stage: Stage::Content, verdict: Verdict::Ask, why, rule: None };
    let changed = facts.changes.iter().map(|change| finding(change.summary_line()));
    ruling.findings.splice(0..0, changed);
    ruling.verdict = Verdict::Ask;
}

/// Denies the call if the agent no longer has its tool.
fn gone(facts: &CallFacts) -> Option<Finding> {
    let is_gone = |one: &&DependencyChange| one.kind == DependencyKind::Tool && one.is.is_none();
    let tool = facts.changes.iter().find(is_gone)?;
    Some(deny(format!("the agent does not have the tool `{}` any more", tool.name)))
}

fn too_often(times: u32, facts: &CallFacts) -> Option<Finding> {
    let lines: Vec<String> = facts.changes.iter().map(|change| change.summary_line()).collect();
    let why = format!(
        "what the call depends on changed {times} times just before it was made: {}",
        lines.join("; ")
    );
    (times > WITHHELD_MAX).then(|| deny(why))
}

fn deny(why: String) -> Finding {
    Finding { stage: Stage::Content, verdict: Verdict::Deny, why, rule: None }
}
