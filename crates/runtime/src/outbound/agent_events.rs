//! Encodes entries of the ledger as lines of the AgentEvent protocol.
//!
//! Must never: emit a line without an entry behind it.

use std::collections::BTreeMap;

use agentry_model::Delta;
use agentry_protocol::agent_event::{AgentEvent, AgentEventLine, ResultStatus, StopReason};
use agentry_protocol::approval::Approval;
use agentry_protocol::context::Compaction;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::{Ending, Event};
use agentry_protocol::message::{ModelReply, Usage};
use agentry_protocol::tool_call::{OutcomeStatus, ToolOutcome};
use agentry_protocol::{ApprovalId, RunId, TurnId};
use serde_json::{Value, json};

use crate::outbound::program_text;

/// Confinement in the first line of a run, unless the ledger records another level.
const UNCONFINED: &str = "off";

/// Encoder of entries, with the totals that the last line of each run needs.
#[derive(Default)]
pub struct AgentLineEncoder {
    runs: BTreeMap<RunId, RunTotals>,
}

#[derive(Clone, Default)]
struct RunTotals {
    usage: Usage,
    result: Option<String>,
    iterations: Option<u32>,
    init: Option<AgentEvent>,
    turn: Option<TurnId>,
    /// True if the active turn is a compaction; its text is not the agent's answer.
    summing: bool,
}

impl RunTotals {
    /// Sets the confinement level in the first line of the run.
    fn confined_by(&mut self, level: &str) {
        if let Some(AgentEvent::Init { confinement, .. }) = &mut self.init {
            level.clone_into(confinement);
        }
    }
}

impl AgentLineEncoder {
    /// Returns the lines for an entry; most entries have one, some none.
    pub fn of(&mut self, envelope: &Envelope) -> Vec<AgentEventLine> {
        let events = self.events(envelope);
        let last_turn = || self.runs.get(envelope.about.run.as_ref()?)?.turn.clone();
        let turn = envelope.about.turn.clone().or_else(last_turn);
        let about = EntrySubject { turn, ..envelope.about.clone() };
        let line = |event| AgentEventLine { event, seq: Some(envelope.seq), about: about.clone() };
        events.into_iter().map(line).collect()
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each event, and no logic in them")]
    fn events(&mut self, envelope: &Envelope) -> Vec<AgentEvent> {
        let run = envelope.about.run.clone();
        let mut nothing = RunTotals::default();
        let sum = match run {
            Some(run) => self.runs.entry(run).or_default(),
            None => &mut nothing,
        };
        sum.turn = envelope.about.turn.clone().or(sum.turn.take());
        match &envelope.event {
            Event::RunCreated(plan) => {
                sum.init = Some(AgentEvent::Init {
                    model: plan.asked.model.clone(),
                    agent: plan.agent.to_string(),
                    mode: plan.mode.as_str().to_owned(),
                    confinement: UNCONFINED.to_owned(),
                });
                Vec::new()
            }
            Event::SandboxOpened { attestation } => {
                sum.confined_by(attestation.level.as_str());
                Vec::new()
            }
            Event::SandboxMissing { why } => {
                sum.confined_by("missing");
                vec![missing(why)]
            }
            // Emitted with the first turn, when the confinement is known.
            Event::TurnStarted(plan) => {
                sum.summing = plan.compaction.is_some();
                sum.init.take().into_iter().collect()
            }
            Event::ModelReplied { .. } if sum.summing => Vec::new(),
            Event::ModelReplied { reply, .. } => replied(reply),
            Event::CallProposed { call, .. } => vec![AgentEvent::ToolUse {
                tool_call_id: call.id.to_string(),
                tool_name: call.tool.to_string(),
                input: call.input.clone(),
            }],
            Event::ApprovalAsked(approval) => vec![gate(approval)],
            Event::CallFinished { call, outcome } => vec![result(call.as_str(), outcome)],
            Event::CallRefused { call, why } => {
                vec![result(call.as_str(), &ToolOutcome::refused(why.clone()))]
            }
            Event::IterationCounted { count } => {
                sum.iterations = Some(*count);
                vec![AgentEvent::Iteration { count: *count }]
            }
            Event::TurnEnded { usage, result, context, .. } => {
                sum.usage = sum.usage.plus(*usage);
                if !std::mem::take(&mut sum.summing) {
                    sum.result = result.clone().or(sum.result.take());
                }
                context.compaction.iter().map(compacted).collect()
            }
            Event::RunPaused { approvals } => vec![paused(approvals)],
            Event::RunEnded { ending, message } => ended(sum, *ending, message.as_deref()),
            Event::ModelRetried { failure, .. } => {
                vec![passing("model_retry", failure.message.clone())]
            }
            Event::ModelReplaced { from, to, failure, .. } => {
                let message = format!("{from}: {}; asking {to}", failure.message);
                vec![passing("model_fallback", message)]
            }
            event @ Event::Hook(_) => {
                program_text::warning(event).map(|text| passing("hook", text)).into_iter().collect()
            }
            Event::PromptReceived { .. }
            | Event::Job(_)
            | Event::EventHook(_)
            | Event::Trust(_)
            | Event::SteerReceived { .. }
            | Event::CancelReceived {}
            | Event::LossAccepted { .. }
            | Event::ModeReceived { .. }
            | Event::ApprovalAnswered { .. }
            | Event::ToolAccessChanged { .. }
            | Event::SessionOpened { .. }
            | Event::Intake(_)
            | Event::Access(_)
            | Event::RunResumed {}
            | Event::ConnectionEnded { .. }
            | Event::StepStarted { .. }
            | Event::StepEnded { .. }
            | Event::InputTaken { .. }
            | Event::ModelAsked { .. }
            | Event::ModelFailed { .. }
            | Event::CallStarted { .. }
            | Event::CallStopped { .. }
            | Event::CallWithheld { .. }
            | Event::CheckStarted { .. }
            | Event::CheckFinished { .. } => Vec::new(),
        }
    }
}

/// Returns the lines of a reply: the thinking, then the text.
fn replied(reply: &ModelReply) -> Vec<AgentEvent> {
    let thinking = (!reply.thinking.is_empty())
        .then(|| AgentEvent::Thinking { content: reply.thinking.clone() });
    let text = (!reply.text.is_empty())
        .then(|| AgentEvent::Text { content: reply.text.clone(), is_partial: false });
    thinking.into_iter().chain(text).collect()
}

fn compacted(compaction: &Compaction) -> AgentEvent {
    AgentEvent::Compaction {
        tokens_before: compaction.tokens_before,
        tokens_after: compaction.tokens_after,
        summarized_through_turn_id: compaction.summarized_through.to_string(),
        first_kept_turn_id: compaction.first_kept.as_ref().map(ToString::to_string),
    }
}

/// Returns the error line for a missing sandbox; the run continues without commands.
fn missing(why: &str) -> AgentEvent {
    let message = format!("{why}; `agentry doctor` shows how to fix it");
    AgentEvent::Error { code: "sandbox_missing".to_owned(), message, recoverable: true }
}

/// Returns the line for a delta of text; thinking is emitted only when it is complete.
pub fn of_delta(about: &EntrySubject, asked: u64, delta: &Delta) -> Option<AgentEventLine> {
    match delta {
        Delta::Text(text) => Some(AgentEventLine {
            event: AgentEvent::Text { content: text.clone(), is_partial: true },
            seq: Some(asked),
            about: about.clone(),
        }),
        Delta::Thinking(_) | Delta::Call { .. } | Delta::Restart => None,
    }
}

/// Returns an error line for a failure that is not in the ledger.
pub fn error_line(code: &str, message: String, recoverable: bool) -> AgentEventLine {
    let event = AgentEvent::Error { code: code.to_owned(), message, recoverable };
    AgentEventLine { event, seq: None, about: EntrySubject::default() }
}

/// Returns a line for an error that does not end the run.
fn passing(code: &str, message: String) -> AgentEvent {
    AgentEvent::Error { code: code.to_owned(), message, recoverable: true }
}

fn gate(approval: &Approval) -> AgentEvent {
    AgentEvent::ApprovalGate {
        gate_id: approval.id.to_string(),
        tool_name: approval.call.tool.to_string(),
        input: approval.call.input.clone(),
        tool_call_id: approval.call.id.to_string(),
        reason: approval.ruling.deciding().map_or_else(String::new, |one| one.why.clone()),
    }
}

fn paused(approvals: &[ApprovalId]) -> AgentEvent {
    let ids: Vec<&str> = approvals.iter().map(|id| id.as_str()).collect();
    AgentEvent::Error {
        code: "waiting_for_approval".to_owned(),
        message: format!("waiting for approval: {}", ids.join(", ")),
        recoverable: true,
    }
}

fn result(call: &str, outcome: &ToolOutcome) -> AgentEvent {
    let (status, word) = match outcome.status {
        OutcomeStatus::Done => (ResultStatus::Completed, "done"),
        OutcomeStatus::Failed => (ResultStatus::Failed, "failed"),
        OutcomeStatus::Refused => (ResultStatus::Failed, "refused"),
        OutcomeStatus::Stopped => (ResultStatus::Failed, "stopped"),
        OutcomeStatus::Uncertain => (ResultStatus::Failed, "uncertain"),
    };
    AgentEvent::ToolResult {
        tool_call_id: call.to_owned(),
        status,
        output: Some(Value::String(outcome.text.clone())),
        outcome: Some(word.to_owned()),
        exit_code: outcome.measured.exit_code,
    }
}

/// Returns the last lines of a run: an error, if there was one, and `done`.
fn ended(sum: &RunTotals, ending: Ending, message: Option<&str>) -> Vec<AgentEvent> {
    let (code, recoverable) = match ending {
        Ending::Done | Ending::Cancelled => (None, false),
        Ending::Failed => (Some("failed"), false),
        Ending::Denied => (Some("denied"), true),
        Ending::LimitReached => match message {
            Some("the iteration limit") => (Some("max_iterations"), true),
            Some(_) | None => (Some("limit_reached"), true),
        },
        Ending::ModelFailed => (Some("model_failed"), true),
    };
    let error = code.map(|code| AgentEvent::Error {
        code: code.to_owned(),
        message: in_words(ending, message),
        recoverable,
    });
    let stop_reason = match ending {
        Ending::Done => StopReason::EndTurn,
        Ending::Cancelled => StopReason::Cancelled,
        Ending::Failed | Ending::Denied | Ending::LimitReached | Ending::ModelFailed => {
            StopReason::Error
        }
    };
    let done = AgentEvent::Done {
        stop_reason,
        result: sum.result.clone(),
        iterations: sum.iterations,
        usage: sum.usage.into(),
    };
    error.into_iter().chain([done]).collect()
}

/// Describes the ending of a run in words.
pub fn in_words(ending: Ending, message: Option<&str>) -> String {
    let what = match ending {
        Ending::Done => "done",
        Ending::Failed => "failed",
        Ending::Denied => "every call was denied",
        Ending::LimitReached => "stopped at a limit",
        Ending::ModelFailed => "the model did not answer",
        Ending::Cancelled => "cancelled",
    };
    match message {
        Some(message) => format!("{what}: {message}"),
        None => what.to_owned(),
    }
}

/// Serializes a line as JSON.
pub fn text(line: &AgentEventLine) -> String {
    serde_json::to_string(line).unwrap_or_else(|error| {
        json!({ "type": "error", "message": error.to_string() }).to_string()
    })
}
