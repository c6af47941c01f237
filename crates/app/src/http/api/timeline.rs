//! What took time in a run: requests to models, calls of tools, questions to people, hooks and checks.
//!
//! Must never: make up an end that is not recorded.

use std::collections::HashMap;

use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::Event;
use agentry_protocol::hook::HookChange;
use agentry_store::CallStatus;
use schemars::JsonSchema;
use serde::Serialize;

/// Something that took time.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TimelineSpan {
    /// The entry it began with.
    seq: u64,
    /// model, tool, approval, hook or check.
    kind: &'static str,
    /// What, in a word.
    label: String,
    /// When it began.
    started_at: u64,
    /// When it ended; null while it goes on.
    ended_at: Option<u64>,
    /// running, done, or what became of it.
    status: String,
    /// Tokens that the model read.
    input_tokens: Option<u64>,
    /// Tokens that the model wrote.
    output_tokens: Option<u64>,
    /// The call.
    call_id: Option<String>,
    /// The turn.
    turn_id: Option<String>,
}

/// What is under way, by what ends it.
#[derive(PartialEq, Eq, Hash)]
enum SpanKey {
    Model(Option<String>, u32),
    Call(String),
    Approval(String),
    Check(Option<String>, u32),
    Hook(Option<String>, String),
}

#[derive(Default)]
struct TimelineBuilder {
    spans: Vec<TimelineSpan>,
    open: HashMap<SpanKey, usize>,
    labels: HashMap<String, String>,
}

/// What took time, in the order it began.
pub(crate) fn timeline_of(entries: &[Envelope]) -> Vec<TimelineSpan> {
    let mut making = TimelineBuilder::default();
    entries.iter().for_each(|entry| making.take(entry));
    making.spans
}

impl TimelineBuilder {
    fn take(&mut self, entry: &Envelope) {
        let turn = entry.about.turn.as_ref().map(ToString::to_string);
        let event = &entry.event;
        if let Event::ModelAsked { step, check, .. } = event {
            let label = if *check { "is it done?" } else { "model" };
            self.begin(entry, SpanKey::Model(turn, *step), ("model", label.to_owned()));
        } else if let Event::ModelReplied { step, reply, .. } = event {
            if let Some(span) = self.end(entry, &SpanKey::Model(turn, *step), "done") {
                span.input_tokens = Some(reply.usage.input_tokens);
                span.output_tokens = Some(reply.usage.output_tokens);
            }
        } else if let Event::ModelFailed { step, failure } = event {
            let why = format!("failed: {}", failure.message);
            self.end(entry, &SpanKey::Model(turn, *step), &why);
        } else if let Event::CallProposed { call, .. } = event {
            self.labels.insert(call.id.to_string(), call.tool.to_string());
        } else if let Event::CallStarted { call, .. } = event {
            let label = self.labels.get(call.as_str()).cloned().unwrap_or_default();
            self.begin(entry, SpanKey::Call(call.to_string()), ("tool", label));
            if let Some(span) = self.spans.last_mut() {
                span.call_id = Some(call.to_string());
            }
        } else if let Event::CallFinished { call, outcome } = event {
            let status = CallStatus::Finished(outcome.status).as_str();
            self.end(entry, &SpanKey::Call(call.to_string()), status);
        } else if let Event::ApprovalAsked(approval) = event {
            let label = approval.call.tool.to_string();
            self.begin(entry, SpanKey::Approval(approval.id.to_string()), ("approval", label));
        } else if let Event::ApprovalAnswered { approval, answer } = event {
            let word = if answer.allow { "allowed" } else { "denied" };
            self.end(entry, &SpanKey::Approval(approval.to_string()), word);
        } else {
            self.take_rest(entry, turn);
        }
    }

    fn take_rest(&mut self, entry: &Envelope, turn: Option<String>) {
        if let Event::CheckStarted { iteration, command } = &entry.event {
            self.begin(entry, SpanKey::Check(turn, *iteration), ("check", command.clone()));
        } else if let Event::CheckFinished { iteration, outcome } = &entry.event {
            self.end(
                entry,
                &SpanKey::Check(turn, *iteration),
                CallStatus::Finished(outcome.status).as_str(),
            );
        } else if let Event::Hook(change) = &entry.event {
            match hook(change) {
                Some((label, None)) => {
                    self.begin(entry, SpanKey::Hook(turn, label.clone()), ("hook", label));
                }
                Some((label, Some(status))) => {
                    self.end(entry, &SpanKey::Hook(turn, label), status);
                }
                None => {}
            }
        }
    }

    fn begin(&mut self, entry: &Envelope, open: SpanKey, (kind, label): (&'static str, String)) {
        self.open.insert(open, self.spans.len());
        self.spans.push(TimelineSpan {
            seq: entry.seq,
            kind,
            label,
            started_at: entry.time,
            ended_at: None,
            status: "running".to_owned(),
            input_tokens: None,
            output_tokens: None,
            call_id: None,
            turn_id: entry.about.turn.as_ref().map(ToString::to_string),
        });
    }

    fn end(&mut self, entry: &Envelope, open: &SpanKey, status: &str) -> Option<&mut TimelineSpan> {
        let span = self.spans.get_mut(self.open.remove(open)?)?;
        span.ended_at = Some(entry.time);
        status.clone_into(&mut span.status);
        Some(span)
    }
}

/// The hook, and how it ended; nothing if it only begins.
fn hook(change: &HookChange) -> Option<(String, Option<&'static str>)> {
    match change {
        HookChange::Started { number, program, .. } => Some((format!("{program} #{number}"), None)),
        HookChange::Finished { number, program, .. } => {
            Some((format!("{program} #{number}"), Some("done")))
        }
        HookChange::StateSet { .. } => None,
    }
}
