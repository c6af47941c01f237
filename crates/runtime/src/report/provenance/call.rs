//! Provenance of a call: the verdicts, hooks and approvals, its confinement, and its result.
//!
//! Must never: omit a stage that gave a verdict.

use std::collections::BTreeSet;

use agentry_protocol::approval::ApprovalAnswer;
use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::{CallConfinement, CallEdit, Event, Permit};
use agentry_protocol::hook::{GateVerdict, HookChange, HookReport, HookResult};
use agentry_protocol::tool_call::OutcomeStatus;
use agentry_protocol::verdict::{Finding, Stage, Verdict};
use agentry_protocol::{ApprovalId, CallId};
use agentry_store::{CallRow, EntryFilter, Error, Ledger};

use super::{ProvenanceChain, ProvenanceLink, ProvenanceStage};
use crate::limits::WHY_ENTRIES_MAX;
use crate::report::source_location::DefinitionLocation;

/// Returns the call that an entry is about.
#[expect(clippy::wildcard_enum_match_arm, reason = "other entries are about no call")]
pub(super) fn subject_call(ledger: &Ledger, entry: &Envelope) -> Result<Option<CallRow>, Error> {
    let id = match &entry.event {
        Event::CallProposed { call, .. } => call.id.clone(),
        Event::ApprovalAsked(approval) => approval.call.id.clone(),
        Event::ApprovalAnswered { approval, .. } => match ledger.approval(approval)? {
            Some(row) => row.approval.call.id,
            None => return Ok(None),
        },
        Event::CallStarted { call, .. }
        | Event::CallFinished { call, .. }
        | Event::CallRefused { call, .. }
        | Event::CallWithheld { call, .. }
        | Event::CallStopped { call }
        | Event::ConnectionEnded { call, .. }
        | Event::Hook(HookChange::Started { call: Some(call), .. }) => call.clone(),
        Event::Hook(HookChange::Finished { number, .. }) => {
            match hook_of(ledger, entry, *number)? {
                Some(call) => call,
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    ledger.call(&id)
}

/// Returns the call that a hook of a turn was about.
#[expect(clippy::wildcard_enum_match_arm, reason = "other entries are about no call")]
fn hook_of(ledger: &Ledger, entry: &Envelope, number: u32) -> Result<Option<CallId>, Error> {
    let Some(turn) = &entry.about.turn else { return Ok(None) };
    let filter = EntryFilter { turn: Some(turn.clone()), ..EntryFilter::default() };
    let before = ledger.read_before(entry.seq, &filter, WHY_ENTRIES_MAX)?;
    Ok(before.into_iter().rev().find_map(|one| match one.event {
        Event::Hook(HookChange::Started { number: its, call, .. }) if its == number => call,
        _ => None,
    }))
}

/// The hooks and approvals of a call that were found so far.
struct CallReferences<'a> {
    id: &'a CallId,
    hooks: BTreeSet<u32>,
    approvals: BTreeSet<ApprovalId>,
}

impl ProvenanceChain<'_> {
    /// Adds all recorded steps of a call.
    pub(super) fn call(&mut self, row: &CallRow) -> Result<(), Error> {
        let Some(after) = row.proposed_seq.checked_sub(1) else { return Ok(()) };
        let filter = EntryFilter { turn: row.turn.clone(), ..EntryFilter::default() };
        let entries = self.ledger.read_from(after, &filter, WHY_ENTRIES_MAX)?;
        let (hooks, approvals) = (BTreeSet::new(), BTreeSet::new());
        let mut told = CallReferences { id: &row.id, hooks, approvals };
        for entry in &entries {
            self.step(&mut told, entry)?;
        }
        Ok(())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "other entries are about no call")]
    fn step(&mut self, told: &mut CallReferences<'_>, entry: &Envelope) -> Result<(), Error> {
        let (seq, id) = (entry.seq, told.id);
        match &entry.event {
            Event::CallProposed { call, ruling } if call.id == *id => {
                let title = format!("the model proposed `{}`", call.tool);
                self.add(
                    ProvenanceLink::new(seq, ProvenanceStage::Agent, title)
                        .detail(call.input.to_string()),
                );
                ruling.findings.iter().for_each(|finding| self.finding(seq, finding));
            }
            Event::Hook(HookChange::Started { number, call: Some(call), .. }) if call == id => {
                told.hooks.insert(*number);
            }
            Event::Hook(HookChange::Finished { number, moment, program, report })
                if told.hooks.contains(number) =>
            {
                let link = ProvenanceLink::new(
                    seq,
                    ProvenanceStage::Hook,
                    format!("{program} at {moment}"),
                );
                self.add(with_report(link, report));
            }
            Event::ApprovalAsked(approval) if approval.call.id == *id => {
                told.approvals.insert(approval.id.clone());
                let deciding = approval.ruling.deciding();
                let why = deciding.map(|finding| finding.why.clone()).unwrap_or_default();
                let link = ProvenanceLink::new(seq, ProvenanceStage::Approval, "approval required");
                let mut link = link.detail(why).verdict(Verdict::Ask);
                let rule = deciding.and_then(|finding| finding.rule.as_deref());
                link.place = rule.and_then(DefinitionLocation::from_rule);
                self.add(link);
            }
            Event::ApprovalAnswered { approval, answer } if told.approvals.contains(approval) => {
                self.add(answered(seq, answer));
            }
            Event::CallStarted { call, by, under, edited } if call == id => {
                self.started(seq, by, under, edited.as_deref())?;
            }
            event => {
                if let Some(link) = result_link(seq, id, event) {
                    self.add(link);
                }
            }
        }
        Ok(())
    }

    /// Adds the finding of one stage.
    fn finding(&mut self, seq: u64, finding: &Finding) {
        let stage = match finding.stage {
            Stage::Access => ProvenanceStage::Access,
            Stage::Sandbox => ProvenanceStage::Confinement,
            Stage::Danger => ProvenanceStage::Guard,
            Stage::Hook => ProvenanceStage::Hook,
            Stage::Content
            | Stage::Registered
            | Stage::Input
            | Stage::Scope
            | Stage::ToolAccess
            | Stage::Rules => ProvenanceStage::Rule,
        };
        let link =
            ProvenanceLink::new(seq, stage, format!("{}: {}", finding.stage, finding.verdict));
        let mut link = link.detail(finding.why.clone()).verdict(finding.verdict);
        link.place = finding.rule.as_deref().and_then(DefinitionLocation::from_rule);
        self.add(link);
    }

    /// Adds the permit of a call, and its confinement.
    fn started(
        &mut self,
        seq: u64,
        by: &Permit,
        under: &CallConfinement,
        edited: Option<&CallEdit>,
    ) -> Result<(), Error> {
        if let Some(edited) = edited {
            let (stage, who) = match &edited.by {
                Some(program) => (ProvenanceStage::Hook, program.as_str()),
                None => (ProvenanceStage::Approval, "a person"),
            };
            let link = ProvenanceLink::new(seq, stage, format!("{who} changed the arguments"));
            self.add(link.detail(edited.input.to_string()));
            edited.ruling.findings.iter().for_each(|finding| self.finding(seq, finding));
        }
        let (stage, title, rule) = match by {
            Permit::Rule { rule } => {
                (ProvenanceStage::Rule, format!("allowed by {rule}"), Some(rule))
            }
            Permit::Approval { approval } => {
                (ProvenanceStage::Approval, format!("allowed by the answer to {approval}"), None)
            }
            Permit::Earlier { approval } => {
                let row = self.ledger.approval(approval)?;
                if let Some(seq) = row.and_then(|row| row.answered_seq) {
                    let link = ProvenanceLink::new(
                        seq,
                        ProvenanceStage::Approval,
                        "this exact call was allowed before",
                    );
                    self.add(link.detail(approval.to_string()).verdict(Verdict::Allow));
                }
                (
                    ProvenanceStage::Approval,
                    format!("allowed by the earlier answer to {approval}"),
                    None,
                )
            }
            Permit::Mode {} => {
                (ProvenanceStage::Rule, "allowed by the mode of the run".to_owned(), None)
            }
        };
        let mut link = ProvenanceLink::new(seq, stage, title).verdict(Verdict::Allow);
        link.place = rule.and_then(|rule| DefinitionLocation::from_rule(rule));
        self.add(link);
        let title = format!("started in the sandbox {}", under.level);
        self.add(
            ProvenanceLink::new(seq, ProvenanceStage::Confinement, title)
                .detail(under.hash.to_string()),
        );
        Ok(())
    }
}

/// Returns the link of an entry that says how the call went; none if the entry is about another call.
#[expect(clippy::wildcard_enum_match_arm, reason = "other entries are about no call")]
fn result_link(seq: u64, id: &CallId, event: &Event) -> Option<ProvenanceLink> {
    let link = |title: &str| ProvenanceLink::new(seq, ProvenanceStage::Result, title);
    Some(match event {
        Event::ConnectionEnded { call, connection } if call == id => {
            let title = format!("connection to {}:{}", connection.host, connection.port);
            let link = ProvenanceLink::new(seq, ProvenanceStage::Confinement, title);
            match &connection.refused {
                Some(why) => link.detail(why.clone()).verdict(Verdict::Deny),
                None => link.detail("allowed").verdict(Verdict::Allow),
            }
        }
        Event::CallRefused { call, why } if call == id => {
            link("refused before it started").detail(why.clone()).verdict(Verdict::Deny)
        }
        Event::CallWithheld { call, facts } if call == id => {
            link("not started: the state that it depends on changed")
                .detail(facts.change_summary().unwrap_or_default())
                .verdict(Verdict::Ask)
        }
        Event::CallStopped { call } if call == id => link("stop requested"),
        Event::CallFinished { call, outcome } if call == id => {
            link(came(outcome.status)).detail(&*outcome.text)
        }
        _ => return None,
    })
}

fn with_report(link: ProvenanceLink, report: &HookReport) -> ProvenanceLink {
    match &report.result {
        HookResult::Shaped { .. } => link.detail("changed the next request"),
        HookResult::Failed { why } => link.detail(format!("failed: {why}")),
        HookResult::Gated { answer } => {
            let texts = [&answer.halt, &answer.reason, &answer.message, &answer.context];
            let text = texts.into_iter().flatten().next().cloned();
            let link = link.detail(text.unwrap_or_else(|| "no objection".to_owned()));
            match (&answer.halt, answer.say) {
                (Some(_), _) | (None, Some(GateVerdict::Deny)) => link.verdict(Verdict::Deny),
                (None, Some(GateVerdict::Ask)) => link.verdict(Verdict::Ask),
                (None, Some(GateVerdict::Allow)) => link.verdict(Verdict::Allow),
                (None, None) => link,
            }
        }
    }
}

fn answered(seq: u64, answer: &ApprovalAnswer) -> ProvenanceLink {
    let (title, verdict) = match (answer.allow, answer.expired) {
        (true, _) => ("allowed by a person", Verdict::Allow),
        (false, true) => ("expired without an answer", Verdict::Deny),
        (false, false) => ("denied by a person", Verdict::Deny),
    };
    let reach = format!("for: {}", answer.reach.as_str());
    let detail = match (&answer.reason, answer.allow) {
        (Some(reason), _) => reason.clone(),
        (None, true) => reach,
        (None, false) => String::new(),
    };
    ProvenanceLink::new(seq, ProvenanceStage::Approval, title).detail(detail).verdict(verdict)
}

fn came(status: OutcomeStatus) -> &'static str {
    match status {
        OutcomeStatus::Done => "done",
        OutcomeStatus::Failed => "failed",
        OutcomeStatus::Refused => "refused",
        OutcomeStatus::Stopped => "stopped",
        OutcomeStatus::Uncertain => "outcome unknown",
    }
}
