//! One event through all stages: times, durations and results.
//!
//! A trace is assembled from the ledger; no extra data is recorded for it.
//!
//! Must never: report a stage as successful because no entry exists for it.

use agentry_protocol::RunId;
use agentry_protocol::access::{AccessRecord, Effect};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::{Direction, EventId, Inbound};
use agentry_protocol::intake::IntakeStage;
use agentry_protocol::tool_call::OutcomeStatus;
use agentry_store::{CallStatus, DeliveryStatus, InboundRow, InboundStatus, Ledger, TurnStatus};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::Error;

/// The path of one event through all stages.
#[derive(Clone, Debug, Serialize)]
pub struct Trace {
    /// The event.
    pub event_id: EventId,
    /// The status of the event.
    pub status: &'static str,
    /// The stages it passed, in order.
    pub pipeline: Vec<StageTrace>,
}

/// The result of one stage.
#[derive(Clone, Debug, Serialize)]
pub struct StageTrace {
    /// The stage: adapter, acl, hooks, broker, agent, delivery or ledger.
    pub stage: &'static str,
    /// The time of its end, in milliseconds since 1970.
    pub timestamp: u64,
    /// Its duration or the wait before it, in milliseconds.
    pub latency_ms: f64,
    /// The result in words.
    pub result: String,
    /// Details, by name.
    pub data: Value,
    /// The error of the stage; None if it succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Builds the trace of an event; None if the event is unknown.
pub fn of(ledger: &Ledger, event: &EventId) -> Result<Option<Trace>, Error> {
    let Some(row) = ledger.inbound(event)? else { return Ok(None) };
    let inbound = ledger.inbound_received(&row)?;
    let mut tracing = TraceBuilder { ledger, row: &row, pipeline: Vec::new() };
    tracing.adapter(&inbound)?;
    if row.status != InboundStatus::Sent {
        tracing.acl()?;
        tracing.hooks()?;
        tracing.broker()?;
        tracing.agent()?;
        tracing.delivery()?;
    }
    let pipeline = tracing.pipeline;
    Ok(Some(Trace { event_id: event.clone(), status: row.status.as_str(), pipeline }))
}

struct TraceBuilder<'a> {
    ledger: &'a Ledger,
    row: &'a InboundRow,
    pipeline: Vec<StageTrace>,
}

impl TraceBuilder<'_> {
    fn since_last(&self, at: u64) -> f64 {
        let last = self.pipeline.last().map_or(at, |stage| stage.timestamp);
        at.saturating_sub(last) as f64
    }

    fn add(&mut self, stage: &'static str, at: u64, result: String, data: Value) {
        let latency_ms = self.since_last(at);
        let traced = StageTrace { stage, timestamp: at, latency_ms, result, data, error: None };
        self.pipeline.push(traced);
    }

    fn adapter(&mut self, inbound: &Inbound) -> Result<(), Error> {
        let at = self.ledger.entry(self.row.seq)?.map_or(0, |envelope| envelope.time);
        let way = match inbound.direction {
            Direction::Sent => "sent to",
            Direction::Received
            | Direction::Observed
            | Direction::Created
            | Direction::Updated
            | Direction::Deleted => "received on",
        };
        let result = format!("{way} {} as entry {}", inbound.place.channel, self.row.seq);
        let data = json!({
            "channel": inbound.place.channel,
            "sender_id": inbound.sender.sender_id,
            "peer_kind": inbound.place.peer_kind,
            "direction": inbound.direction,
            "seq": self.row.seq,
        });
        self.add("adapter", at, result, data);
        if let Some(last) = self.pipeline.last_mut() {
            last.latency_ms = at.saturating_sub(inbound.timestamp) as f64;
        }
        Ok(())
    }

    fn acl(&mut self) -> Result<(), Error> {
        let Some((_, seq)) = &self.row.decided else { return Ok(()) };
        let Some(record) = self.ledger.inbound_decided(self.row)? else { return Ok(()) };
        let at = self.ledger.entry(*seq)?.map_or(0, |envelope| envelope.time);
        let result = decided(&record);
        let data = json!({
            "access_id": record.id,
            "principal": record.principal,
            "policies_evaluated": record.policies_evaluated.len(),
            "matched": record.decision.matched,
            "session": record.decision.session,
            "grants": record.decision.grants,
        });
        let latency = record.processing_time_ms;
        self.add("acl", at, result, data);
        if let Some(last) = self.pipeline.last_mut() {
            last.latency_ms = latency;
        }
        Ok(())
    }

    /// Adds the hooks that the event triggered, each with its result.
    fn hooks(&mut self) -> Result<(), Error> {
        let rows = self.ledger.invocations_of_event(&self.row.id)?;
        let Some(first) = rows.first() else { return Ok(()) };
        let (at, mut words, mut data) = (first.time, Vec::new(), Vec::new());
        for one in &rows {
            let hook = self.ledger.event_hook(&one.hook)?;
            let name = hook.map_or_else(|| one.hook.to_string(), |row| row.hook.name);
            let came = match &one.invocation {
                None => "under way",
                Some(done) if done.error.is_some() => "failed",
                Some(done) if done.fired => "fired",
                Some(_) => "did not fire",
            };
            words.push(format!("{name} {came}"));
            data.push(json!({ "invocation_id": one.id, "hook": name, "result": came }));
        }
        self.add("hooks", at, words.join(", "), Value::Array(data));
        Ok(())
    }

    /// Adds the route, and the wait in the mailbox.
    fn broker(&mut self) -> Result<(), Error> {
        if let Some(why) = &self.row.why {
            let seq = self.row.settled_seq.unwrap_or_default();
            let entry = self.ledger.entry(seq)?;
            let at = entry.as_ref().map_or(0, |envelope| envelope.time);
            let detail = match entry.map(|envelope| envelope.event) {
                Some(Event::Intake(IntakeStage::Unrun { why, detail, .. })) => {
                    detail.unwrap_or_else(|| why.to_string())
                }
                Some(_) | None => String::new(),
            };
            self.add("broker", at, format!("no turn: {detail}"), json!({ "why": why }));
            return Ok(());
        }
        let (Some(routed), Some(told)) = (&self.row.routed, self.ledger.inbound_routed(self.row)?)
        else {
            return Ok(());
        };
        let session = self.ledger.session(&routed.session)?;
        let key = session.map_or_else(|| routed.session.to_string(), |row| row.key.to_string());
        let begun = match &self.row.run {
            Some(run) => self.run_created(run)?,
            None => None,
        };
        let at = self.ledger.entry(routed.seq)?.map_or(0, |envelope| envelope.time);
        let waited = begun.map(|begun| begun.saturating_sub(at));
        let result = match (self.row.status, waited) {
            (InboundStatus::Waiting | InboundStatus::Steering, _) => {
                format!("waits for {} in `{key}` ({})", told.agent, told.settings.mode)
            }
            (_, Some(waited)) => format!("{} in `{key}` after {waited} ms", told.agent),
            (_, None) => format!("{} in `{key}`, added to the running turn", told.agent),
        };
        let data = json!({
            "session_key": key,
            "session_id": routed.session,
            "agent_id": told.agent,
            "persona": told.persona,
            "queue_mode": told.settings.mode,
            "authority": routed.authority,
            "waited_ms": waited,
        });
        self.add("broker", begun.unwrap_or(at), result, data);
        Ok(())
    }

    fn run_created(&self, run: &RunId) -> Result<Option<u64>, Error> {
        Ok(self.ledger.run(run)?.map(|row| row.created))
    }

    fn agent(&mut self) -> Result<(), Error> {
        let Some(run) = &self.row.run else { return Ok(()) };
        let turn = self.row.turn.as_ref().map(|turn| self.ledger.turn(turn)).transpose()?.flatten();
        let status = turn.as_ref().map(|turn| turn.status);
        let ended = turn.as_ref().and_then(|turn| turn.ended_seq);
        let ended = ended.map(|seq| self.ledger.entry(seq)).transpose()?.flatten();
        let now = self.ledger.now();
        let at = ended.as_ref().map_or(now, |envelope| envelope.time);
        let calls = match &self.row.turn {
            Some(turn) => self.ledger.calls_of_turn(turn)?,
            None => Vec::new(),
        };
        let usage = match ended.map(|envelope| envelope.event) {
            Some(Event::TurnEnded { usage, .. }) => Some(usage),
            Some(_) | None => None,
        };
        let (result, error) = match (self.row.status, status) {
            (InboundStatus::Paused, _) => ("waits for a person".to_owned(), None),
            (_, Some(TurnStatus::Ended(ending))) => {
                let word = json!(ending).as_str().unwrap_or_default().to_owned();
                let bad = self.row.status == InboundStatus::Failed;
                (format!("turn ended: {word}, {} calls", calls.len()), bad.then_some(word))
            }
            (_, Some(TurnStatus::UnderWay)) => ("under way".to_owned(), None),
            (InboundStatus::Failed, None) => {
                let why = "the run ended before its turn began".to_owned();
                (why.clone(), Some(why))
            }
            (_, None) => ("starting".to_owned(), None),
        };
        let uncertain: Vec<&str> = calls
            .iter()
            .filter(|call| call.status == CallStatus::Finished(OutcomeStatus::Uncertain))
            .map(|call| call.id.as_str())
            .collect();
        let data = json!({
            "run_id": run,
            "turn_id": self.row.turn,
            "tool_calls": calls.len(),
            "uncertain": uncertain,
            "tokens_in": usage.map(|usage| usage.input_tokens),
            "tokens_out": usage.map(|usage| usage.output_tokens),
        });
        self.add("agent", at, result, data);
        if let Some(last) = self.pipeline.last_mut() {
            last.error = error;
        }
        Ok(())
    }

    fn delivery(&mut self) -> Result<(), Error> {
        let Some(delivery) = &self.row.delivery else { return Ok(()) };
        let Some(seq) = delivery.seq.filter(|_| delivery.status != DeliveryStatus::Pending) else {
            let now = self.ledger.now();
            let result = format!("{} pieces sent so far", delivery.chunks_sent);
            self.add("delivery", now, result, json!({ "chunks_sent": delivery.chunks_sent }));
            return Ok(());
        };
        let Some(entry) = self.ledger.entry(seq)? else { return Ok(()) };
        let Event::Intake(IntakeStage::Delivered(delivered)) = entry.event else { return Ok(()) };
        let result = match (&delivered.error, delivered.chunks) {
            (Some(error), _) => error.to_string(),
            (None, 0) => "nothing to send".to_owned(),
            (None, chunks) => format!("{chunks} of {chunks} pieces sent"),
        };
        let data = json!({
            "chunks_sent": delivered.chunks_sent,
            "chunks": delivered.chunks,
            "message_ids": delivered.message_ids,
            "total_chars": delivered.total_chars,
        });
        self.add("delivery", entry.time, result, data);
        if let Some(last) = self.pipeline.last_mut() {
            last.error = delivered.error.as_ref().map(ToString::to_string);
        }
        if let Some(sent) = &delivered.sent {
            let data = json!({ "event_id": sent.event_id });
            self.add("ledger", entry.time, format!("recorded as {}", sent.event_id), data);
        }
        Ok(())
    }
}

/// Describes an access decision in words.
pub fn decided(record: &AccessRecord) -> String {
    let who = record.principal.name.as_deref().unwrap_or(&record.sender_identifier);
    let kind = record.principal.kind;
    match (record.decision.effect, &record.decision.deny_reason) {
        (Effect::Allow, _) => {
            let by: Vec<&str> = record.decision.matched.iter().map(|part| &*part.policy).collect();
            format!("{kind} {who}: allowed by {}", by.join(", "))
        }
        (Effect::Deny, Some(why)) => format!("{kind} {who}: denied, {why}"),
        (Effect::Deny, None) => format!("{kind} {who}: denied"),
    }
}

/// Returns the answer to an event, as it was sent or would have been.
pub fn answer(ledger: &Ledger, row: &InboundRow) -> Result<Option<String>, Error> {
    // An event that steered a running turn shares the answer of that turn.
    let about = row.run.as_ref().map(|run| ledger.inbounds_of_run(run)).transpose()?;
    let delivered = about.iter().flatten().find_map(|one| one.delivery?.seq);
    let entry = |seq: u64| -> Result<Option<Event>, Error> {
        Ok(ledger.entry(seq)?.map(|envelope| envelope.event))
    };
    let sent = match delivered.map(entry).transpose()?.flatten() {
        Some(Event::Intake(IntakeStage::Delivered(delivered))) => {
            delivered.sent.map(|sent| sent.body.content)
        }
        Some(_) | None => None,
    };
    if sent.is_some() {
        return Ok(sent);
    }
    // An answer that was not sent is in the ending of the turn.
    let turn = row.turn.as_ref().map(|turn| ledger.turn(turn)).transpose()?.flatten();
    Ok(match turn.and_then(|turn| turn.ended_seq).map(entry).transpose()?.flatten() {
        Some(Event::TurnEnded { result, .. }) => result,
        Some(_) | None => None,
    })
}
