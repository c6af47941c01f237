//! The timeline of a run: model requests, tool calls, approvals, hooks and checks, with durations.
//!
//! Must never: invent an end that is not recorded.

use std::collections::HashMap;

use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::Event;
use agentry_protocol::hook::HookChange;
use agentry_store::CallStatus;
use schemars::JsonSchema;
use serde::Serialize;

/// A timed span of a run.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimelineSpan {
    /// Sequence number of its first entry.
    seq: u64,
    /// model, tool, approval, hook or check.
    kind: &'static str,
    /// Label, such as the name of the tool.
    label: String,
    /// Start time, in milliseconds since 1970.
    started_at: u64,
    /// End time, in milliseconds since 1970; null while it runs.
    ended_at: Option<u64>,
    /// running, done, or the outcome.
    status: String,
    /// Input tokens; null unless it is a model request.
    input_tokens: Option<u64>,
    /// Output tokens; null unless it is a model request.
    output_tokens: Option<u64>,
    /// Id of the call; null unless it is a tool call.
    call_id: Option<String>,
    /// Id of the turn.
    turn_id: Option<String>,
}

/// The key of an open span, by which its end is found.
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

/// Returns the spans of these entries, in order of their start.
pub fn timeline_of(entries: &[Envelope]) -> Vec<TimelineSpan> {
    let mut making = TimelineBuilder::default();
    entries.iter().for_each(|entry| making.take(entry));
    making.spans
}

impl TimelineBuilder {
    fn take(&mut self, entry: &Envelope) {
        let turn = entry.about.turn.as_ref().map(ToString::to_string);
        let event = &entry.event;
        if let Event::ModelAsked { step, check, .. } = event {
            let label = if *check { "completion check" } else { "model" };
            self.begin(entry, SpanKey::Model(turn, *step), "model", label.to_owned());
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
            self.begin(entry, SpanKey::Call(call.to_string()), "tool", label);
            if let Some(span) = self.spans.last_mut() {
                span.call_id = Some(call.to_string());
            }
        } else if let Event::CallFinished { call, outcome } = event {
            let status = CallStatus::Finished(outcome.status).as_str();
            self.end(entry, &SpanKey::Call(call.to_string()), status);
        } else if let Event::ApprovalAsked(approval) = event {
            let label = approval.call.tool.to_string();
            self.begin(entry, SpanKey::Approval(approval.id.to_string()), "approval", label);
        } else if let Event::ApprovalAnswered { approval, answer } = event {
            let word = if answer.allow { "allowed" } else { "denied" };
            self.end(entry, &SpanKey::Approval(approval.to_string()), word);
        } else {
            self.take_rest(entry, turn);
        }
    }

    fn take_rest(&mut self, entry: &Envelope, turn: Option<String>) {
        if let Event::CheckStarted { iteration, command } = &entry.event {
            self.begin(entry, SpanKey::Check(turn, *iteration), "check", command.clone());
        } else if let Event::CheckFinished { iteration, outcome } = &entry.event {
            self.end(
                entry,
                &SpanKey::Check(turn, *iteration),
                CallStatus::Finished(outcome.status).as_str(),
            );
        } else if let Event::Hook(change) = &entry.event {
            match hook(change) {
                Some((label, None)) => {
                    self.begin(entry, SpanKey::Hook(turn, label.clone()), "hook", label);
                }
                Some((label, Some(status))) => {
                    self.end(entry, &SpanKey::Hook(turn, label), status);
                }
                None => {}
            }
        }
    }

    fn begin(&mut self, entry: &Envelope, open: SpanKey, kind: &'static str, label: String) {
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

/// Returns the label of a hook and its status; no status if it only starts.
fn hook(change: &HookChange) -> Option<(String, Option<&'static str>)> {
    match change {
        HookChange::Started { number, program, .. } => Some((format!("{program} #{number}"), None)),
        HookChange::Finished { number, program, .. } => {
            Some((format!("{program} #{number}"), Some("done")))
        }
        HookChange::StateSet { .. } => None,
    }
}
