//! Provenance: the decisions that led to an entry of the ledger, with files and lines.
//!
//! All facts come from the ledger; only the text of a line is read from the current definitions.
//!
//! Must never: report a decision that is not recorded.

mod call;

use agentry_kernel::permission_request::{grantees, name_of};
use agentry_protocol::access::{AccessRecord, Effect, PolicyOutcome};
use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::Event;
use agentry_protocol::event_hook::EventHookChange;
use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::IntakeStage;
use agentry_protocol::verdict::Verdict;
use agentry_protocol::{GrantId, RunId, TurnId};
use agentry_store::{EntryFilter, Error, InboundRow, Ledger};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::inbound::trace::decided;
use crate::limits::{WHY_CAUSES_MAX, WHY_INBOUNDS_MAX, WHY_TEXT_CHARS_MAX};
use crate::report::source_location::DefinitionLocation;

/// The number of entries at the start of a run in which its plan is searched.
const PLAN_ENTRIES: usize = 8;

/// The provenance of an entry: the decisions that led to it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// Sequence number of the entry.
    pub seq: u64,
    /// Steps that led to the entry, from cause to effect.
    pub links: Vec<ProvenanceLink>,
}

/// A step on the way to an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProvenanceLink {
    /// Sequence number of the entry that records the step; null if it only follows from one.
    pub seq: Option<u64>,
    /// Kind of the step.
    pub stage: ProvenanceStage,
    /// Title of the step.
    pub title: String,
    /// Details of the step.
    pub detail: String,
    /// Verdict; null if the step is not a decision.
    pub verdict: Option<Verdict>,
    /// Place of the rule behind the step; null if there is none.
    #[serde(rename = "where")]
    pub place: Option<DefinitionLocation>,
    /// Current text of that line; null if the file no longer has it.
    pub text: Option<String>,
}

/// Kind of a step on the way to an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProvenanceStage {
    /// A message was received.
    Received,
    /// Access decided about the sender.
    Access,
    /// A grant contributed to the decision.
    Grant,
    /// The message was routed to a session.
    Route,
    /// An agent started to work.
    Agent,
    /// An approval rule gave a verdict on a call.
    Rule,
    /// The guard against dangerous calls gave a verdict.
    Guard,
    /// A hook of the agent gave a verdict.
    Hook,
    /// A person was asked, or answered.
    Approval,
    /// Confinement of the call.
    Confinement,
    /// The result of the call.
    Result,
}

impl ProvenanceLink {
    fn new(seq: u64, stage: ProvenanceStage, title: impl Into<String>) -> Self {
        Self {
            seq: Some(seq),
            stage,
            title: title.into(),
            detail: String::new(),
            verdict: None,
            place: None,
            text: None,
        }
    }

    fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = short(&detail.into());
        self
    }

    fn verdict(mut self, verdict: Verdict) -> Self {
        self.verdict = Some(verdict);
        self
    }
}

/// Lookups in the current definitions.
pub struct DefinitionLookup<'a> {
    /// Returns the place of a policy.
    pub policy: &'a dyn Fn(&str) -> Option<DefinitionLocation>,
    /// Returns the place of an agent.
    pub agent: &'a dyn Fn(&str) -> Option<DefinitionLocation>,
    /// Returns the current text of a line.
    pub line: &'a dyn Fn(&DefinitionLocation) -> Option<String>,
}

/// Returns the steps that led to an entry; none if there is no such entry.
pub fn provenance_of(
    ledger: &Ledger,
    lookup: &DefinitionLookup<'_>,
    seq: u64,
) -> Result<Option<Vec<ProvenanceLink>>, Error> {
    let Some(entry) = ledger.entry(seq)? else { return Ok(None) };
    let call = call::subject_call(ledger, &entry)?;
    // The links of a call go to its end, no matter which of its entries is the subject.
    let until = if call.is_some() { u64::MAX } else { seq };
    let begun = call.as_ref().map_or(seq, |call| call.proposed_seq);
    let mut chain = ProvenanceChain { ledger, lookup, until, links: Vec::new() };
    for row in inbounds(ledger, &entry)? {
        if row.seq <= begun {
            chain.inbound(&row)?;
        }
    }
    let about = &entry.about;
    if let Some(run) = call.as_ref().and_then(|call| call.run.as_ref()).or(about.run.as_ref()) {
        chain.run(run)?;
    }
    if let Some(turn) = call.as_ref().and_then(|call| call.turn.as_ref()).or(about.turn.as_ref()) {
        chain.turn(turn)?;
    }
    if let Some(call) = &call {
        chain.call(call)?;
    }
    chain.last(entry)?;
    Ok(Some(chain.links))
}

/// Returns the inbound events behind an entry.
#[expect(clippy::wildcard_enum_match_arm, reason = "other entries name no inbound event")]
fn inbounds(ledger: &Ledger, entry: &Envelope) -> Result<Vec<InboundRow>, Error> {
    let event: Option<EventId> = match &entry.event {
        Event::Intake(IntakeStage::Received { inbound }) => Some(inbound.event_id.clone()),
        Event::Intake(IntakeStage::Decided { record }) => record.event_id.clone(),
        Event::Intake(IntakeStage::Routed(routed)) => Some(routed.event.clone()),
        Event::Intake(IntakeStage::Delivered(delivered)) => Some(delivered.event.clone()),
        Event::Intake(IntakeStage::Unrun { event, .. } | IntakeStage::ChunkSent { event, .. }) => {
            Some(event.clone())
        }
        Event::SteerReceived { event, .. } => event.clone(),
        Event::EventHook(
            EventHookChange::Matched { event, .. } | EventHookChange::Settled { event },
        ) => Some(event.clone()),
        _ => None,
    };
    if let Some(event) = event {
        return Ok(ledger.inbound(&event)?.into_iter().collect());
    }
    let Some(run) = &entry.about.run else { return Ok(Vec::new()) };
    let mut rows = ledger.inbounds_of_run(run)?;
    rows.truncate(WHY_INBOUNDS_MAX);
    Ok(rows)
}

/// The links collected so far.
struct ProvenanceChain<'a> {
    ledger: &'a Ledger,
    lookup: &'a DefinitionLookup<'a>,
    /// The last entry to include: later entries did not lead to the subject.
    until: u64,
    links: Vec<ProvenanceLink>,
}

impl ProvenanceChain<'_> {
    fn add(&mut self, mut link: ProvenanceLink) {
        if link.seq.is_some_and(|seq| seq > self.until) {
            return;
        }
        link.text = link.place.as_ref().and_then(|place| (self.lookup.line)(place));
        self.links.push(link);
    }

    fn inbound(&mut self, row: &InboundRow) -> Result<(), Error> {
        let inbound = self.ledger.inbound_received(row)?;
        let sender = inbound.sender.sender_name.as_ref().unwrap_or(&inbound.sender.sender_id);
        let title = format!("received on {} from {sender}", inbound.place.channel);
        self.add(
            ProvenanceLink::new(row.seq, ProvenanceStage::Received, title)
                .detail(&*inbound.body.content),
        );
        if let (Some((_, seq)), Some(record)) = (&row.decided, self.ledger.inbound_decided(row)?) {
            self.decision(*seq, &record)?;
        }
        self.routed(row)
    }

    fn decision(&mut self, seq: u64, record: &AccessRecord) -> Result<(), Error> {
        let (word, verdict) = match record.decision.effect {
            Effect::Allow => ("may reach the agent", Verdict::Allow),
            Effect::Deny => ("may not reach the agent", Verdict::Deny),
        };
        let who = name_of(&record.principal);
        let title = format!("{who} {word}");
        self.add(
            ProvenanceLink::new(seq, ProvenanceStage::Access, title)
                .detail(decided(record))
                .verdict(verdict),
        );
        for part in &record.decision.matched {
            let mut link = ProvenanceLink::new(
                seq,
                ProvenanceStage::Access,
                format!("policy `{}`", part.policy),
            )
            .detail(part.part.to_string());
            link.verdict = match part.part {
                PolicyOutcome::Allowed => Some(Verdict::Allow),
                PolicyOutcome::Denied => Some(Verdict::Deny),
                PolicyOutcome::Disabled
                | PolicyOutcome::NotMatched(_)
                | PolicyOutcome::Modified => None,
            };
            link.place = (self.lookup.policy)(&part.policy);
            self.add(link);
        }
        record.decision.grants.iter().try_for_each(|grant| self.grant(seq, grant))
    }

    fn grant(&mut self, seq: u64, id: &GrantId) -> Result<(), Error> {
        let link = ProvenanceLink::new(seq, ProvenanceStage::Grant, format!("grant `{id}`"));
        let Some(grant) = self.ledger.grant(id)? else {
            self.add(link);
            return Ok(());
        };
        let what: Vec<String> = grant.resources.iter().map(ToString::to_string).collect();
        let (to, by) = (grantees(&grant), &grant.granted_by);
        let text = format!("{} for {to}, granted by {by}", what.join(", "));
        self.add(link.detail(text).verdict(Verdict::Allow));
        Ok(())
    }

    /// Adds the route of a message, or the reason why it gets no turn.
    fn routed(&mut self, row: &InboundRow) -> Result<(), Error> {
        if let (Some(at), Some(routed)) = (&row.routed, self.ledger.inbound_routed(row)?) {
            let session = self.ledger.session(&at.session)?;
            let key = session.map_or_else(|| at.session.to_string(), |row| row.key.to_string());
            let title = format!("routed to the session `{key}`");
            let detail =
                format!("answered by {}; delivery: {}", routed.agent, routed.settings.mode);
            self.add(ProvenanceLink::new(at.seq, ProvenanceStage::Route, title).detail(detail));
        }
        let (Some(_), Some(seq)) = (&row.why, row.settled_seq) else { return Ok(()) };
        let entry = self.ledger.entry(seq)?;
        if let Some(Event::Intake(IntakeStage::Unrun { why, detail, .. })) =
            entry.map(|one| one.event)
        {
            let detail = detail.unwrap_or_else(|| why.to_string());
            self.add(ProvenanceLink::new(seq, ProvenanceStage::Route, "no turn").detail(detail));
        }
        Ok(())
    }

    fn run(&mut self, run: &RunId) -> Result<(), Error> {
        let filter = EntryFilter { run: Some(run.clone()), ..EntryFilter::default() };
        for entry in self.ledger.read_from(0, &filter, PLAN_ENTRIES)? {
            let Event::RunCreated(plan) = entry.event else { continue };
            let what = match &plan.task {
                Some(task) => format!("`{}` starts the task `{task}`", plan.agent),
                None => format!("`{}` starts a run", plan.agent),
            };
            let detail = format!("{run}, {}, {}", plan.asked.model, plan.mode.as_str());
            let mut link =
                ProvenanceLink::new(entry.seq, ProvenanceStage::Agent, what).detail(detail);
            link.place = (self.lookup.agent)(plan.agent.as_str());
            self.add(link);
            break;
        }
        Ok(())
    }

    fn turn(&mut self, turn: &TurnId) -> Result<(), Error> {
        let Some(row) = self.ledger.turn(turn)? else { return Ok(()) };
        let Some(entry) = self.ledger.entry(row.started_seq)? else { return Ok(()) };
        let Event::TurnStarted(plan) = entry.event else { return Ok(()) };
        let tools = plan.charter.get("tools").and_then(Value::as_array);
        let tools = tools.into_iter().flatten().filter_map(|tool| tool.get("name")?.as_str());
        let tools: Vec<&str> = tools.collect();
        let level = plan.charter.pointer("/authority/confinement/level").and_then(Value::as_str);
        let detail = if tools.is_empty() {
            "no tools".to_owned()
        } else {
            format!("tools: {}", tools.join(", "))
        };
        let detail = format!("{detail}; sandbox: {}", level.unwrap_or("unknown"));
        self.add(
            ProvenanceLink::new(entry.seq, ProvenanceStage::Agent, "turn started").detail(detail),
        );
        Ok(())
    }

    /// Adds the entry and its recorded causes, except those that already have a link.
    fn last(&mut self, entry: Envelope) -> Result<(), Error> {
        let mut rest = Vec::new();
        let mut next = Some(entry);
        while let Some(entry) = next.take() {
            let is_told = self.links.iter().any(|link| link.seq == Some(entry.seq));
            if is_told || rest.len() >= WHY_CAUSES_MAX {
                break;
            }
            next = entry.cause.map(|cause| self.ledger.entry(cause)).transpose()?.flatten();
            rest.push(ProvenanceLink::new(entry.seq, ProvenanceStage::Result, name(&entry.event)));
        }
        while let Some(link) = rest.pop() {
            self.add(link);
        }
        Ok(())
    }
}

/// Returns the type of an event in words.
fn name(event: &Event) -> String {
    let value = serde_json::to_value(event).unwrap_or_default();
    let words = ["type", "stage", "change"].iter().filter_map(|key| value.get(key)?.as_str());
    words.collect::<Vec<_>>().join(" ").replace('_', " ")
}

/// Returns a text, cut to `WHY_TEXT_CHARS_MAX` characters.
fn short(text: &str) -> String {
    match text.char_indices().nth(WHY_TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
