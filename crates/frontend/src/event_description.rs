//! The description of an event for people: a line for its record, and a notice while it happens.
//!
//! `show`, the text output of a run and the chat render these words, each with its own decoration.
//! The lines of the AgentEvent protocol have words of their own, because programs read them.
//!
//! Must never: return a character that controls a terminal, or leave out a failure.

use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::Event;
use agentry_protocol::hook::HookChange;
use agentry_protocol::tool_call::OutcomeStatus;
use agentry_runtime::outbound::program_text;

use crate::diagnostics::{escaped, visible_line};
use crate::limits::RECORD_LINE_CHARS_MAX;

mod calls;
mod inputs;
mod runs;
#[cfg(test)]
mod tests;

use calls::ReplyCalls;
pub use runs::compaction_result;

/// The description of an event. All texts are escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventDescription {
    /// The line for the record.
    pub record: String,
    /// The notice to a person who watches the run; none if the event is not worth an interruption.
    pub notice: Option<EventNotice>,
}

/// A notice about an event to a person who watches the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventNotice {
    /// The subject of the notice.
    pub topic: NoticeTopic,
    /// The severity of the notice.
    pub tone: NoticeTone,
    /// The main line.
    pub text: String,
    /// The lines that belong below the main line.
    pub details: Vec<String>,
}

/// The subject of a notice. A surface that always shows the subject leaves its notices out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeTopic {
    /// The settings of a run, and the commands that continue it.
    Run,
    /// The progress of a turn.
    Turn,
    /// A call and its outcome.
    Call,
}

/// The severity of a notice. Each surface has a decoration for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeTone {
    /// A step of the work.
    Progress,
    /// The proposal of a call.
    Proposal,
    /// The outcome of an act.
    Outcome(OutcomeStatus),
    /// A problem that does not end the run.
    Warning,
    /// The failure of the run.
    Error,
}

/// Describer of the entries of a run or session, in their order.
#[derive(Default)]
pub struct EventDescriber {
    calls: ReplyCalls,
}

impl EventDescriber {
    /// Describes an entry. Outcomes are named by the calls of the entries before.
    pub fn describe(&mut self, envelope: &Envelope) -> EventDescription {
        if let Event::ModelReplied { reply, .. } = &envelope.event {
            self.calls = ReplyCalls::of(reply);
        }
        describe(envelope, &self.calls)
    }
}

/// Describes an entry; the only match on all events that words them for people.
fn describe(envelope: &Envelope, calls: &ReplyCalls) -> EventDescription {
    let run = envelope.about.run.as_ref().map_or("", |run| run.as_str());
    match &envelope.event {
        Event::PromptReceived { content } => silent(format!("prompt: {content}")),
        Event::SteerReceived { content, .. } => silent(format!("steer: {content}")),
        Event::CancelReceived {} => silent("cancellation requested"),
        Event::ModeReceived { mode, .. } => silent(format!("mode requested: {}", mode.as_str())),
        Event::LossAccepted { last, known, .. } => {
            silent(format!("loss of entries {} to {known} accepted", last.min(known) + 1))
        }
        Event::ApprovalAnswered { approval, answer } => silent(inputs::answer(approval, answer)),
        Event::ToolAccessChanged { .. } => silent("tool-access.json changed"),
        Event::Intake(stage) => silent(inputs::intake(stage)),
        Event::Access(change) => silent(inputs::access(change)),
        Event::Job(change) => silent(program_text::job(change)),
        event @ Event::Hook(change) => hook(event, change),
        Event::EventHook(change) => silent(program_text::event_hook(change)),
        Event::Trust(change) => silent(program_text::trust(change)),
        Event::SessionOpened { key, agent, .. } => silent(format!("session `{key}` with {agent}")),
        Event::RunCreated(plan) => runs::created(run, plan),
        Event::RunResumed {} => runs::resumed(run),
        Event::RunPaused { approvals } => runs::paused(run, approvals),
        Event::RunEnded { ending, message } => runs::ended(*ending, message.as_deref()),
        Event::SandboxOpened { attestation } => silent(runs::sandbox(attestation)),
        Event::SandboxMissing { why } => runs::sandbox_missing(why),
        Event::StepStarted { index } => silent(format!("step {} starts", index + 1)),
        Event::StepEnded { index, status } => {
            silent(format!("step {} {}", index + 1, status.as_str()))
        }
        Event::TurnStarted(plan) => runs::turn_started(plan),
        Event::TurnEnded { ending, usage, context, .. } => {
            runs::turn_ended(*ending, *usage, context.compaction.as_ref())
        }
        Event::InputTaken { input } => silent(format!("read entry {input}")),
        Event::IterationCounted { count } => progress(format!("iteration {count}")),
        Event::CheckStarted { iteration, command } => calls::check_started(*iteration, command),
        Event::CheckFinished { iteration, outcome } => calls::check_finished(*iteration, outcome),
        Event::ModelAsked { step, bytes, check: false, .. } => {
            silent(format!("the model is called (request {step}, {bytes} bytes)"))
        }
        Event::ModelAsked { step, bytes, check: true, .. } => silent(format!(
            "the model is asked if the work is done (request {step}, {bytes} bytes)"
        )),
        Event::ModelReplied { reply, .. } => silent(runs::reply(reply)),
        Event::ModelFailed { failure, .. } => silent(labeled("the model failed", &failure.message)),
        Event::ModelRetried { attempt, failure, wait_ms, .. } => {
            let (why, wait) = (&failure.message, wait_ms.div_ceil(1000));
            warning(format!("attempt {attempt} failed: {why}; retry in {wait} s"))
        }
        Event::ModelReplaced { from, to, failure, .. } => {
            warning(format!("{from} failed: {}; {to} is called instead", failure.message))
        }
        Event::CallProposed { call, ruling } => calls::proposed(call, ruling),
        Event::ApprovalAsked(approval) => silent(inputs::question(approval)),
        Event::CallStarted { call, by, under, edited } => {
            silent(calls::started(call, by, under, edited.as_deref()))
        }
        Event::CallFinished { call, outcome } => calls.finished(call, outcome),
        Event::CallRefused { call, why } => calls.refused(call, why),
        Event::CallWithheld { call, facts } => calls.withheld(call, facts),
        Event::CallStopped { call } => silent(format!("{call} is stopped")),
        Event::ConnectionEnded { call, connection } => calls.connection_ended(call, connection),
    }
}

/// Describes a hook; only its failures, objections and messages are worth a notice.
fn hook(event: &Event, change: &HookChange) -> EventDescription {
    let warning = program_text::warning(event);
    let notice = warning.map(|text| EventNotice::new(NoticeTone::Warning, &text));
    EventDescription { notice, ..silent(program_text::hook(change)) }
}

/// Describes an event that watchers are not told of.
fn silent(words: impl AsRef<str>) -> EventDescription {
    // The line is cut before it is escaped as well: texts of tools can be very long.
    let first: String = words.as_ref().chars().take(RECORD_LINE_CHARS_MAX + 1).collect();
    EventDescription { record: cut(&escaped_line(&first), RECORD_LINE_CHARS_MAX), notice: None }
}

/// Describes a step of the work in the words of its record.
fn progress(words: String) -> EventDescription {
    silent(&words).with_notice(NoticeTone::Progress, &words)
}

/// Describes a problem in the words of its record.
fn warning(words: String) -> EventDescription {
    silent(&words).with_notice(NoticeTone::Warning, &words)
}

impl EventDescription {
    fn with_notice(self, tone: NoticeTone, text: &str) -> Self {
        self.with(EventNotice::new(tone, text))
    }

    fn with(self, notice: EventNotice) -> Self {
        Self { notice: Some(notice), ..self }
    }
}

impl EventNotice {
    /// Creates a notice about a turn. Further lines of the text become details.
    fn new(tone: NoticeTone, text: &str) -> Self {
        let mut lines = text.lines().map(escaped_line);
        let text = lines.next().unwrap_or_default();
        Self { topic: NoticeTopic::Turn, tone, text, details: lines.collect() }
    }

    fn about(self, topic: NoticeTopic) -> Self {
        Self { topic, ..self }
    }

    fn detail(mut self, line: &str) -> Self {
        self.details.push(escaped_line(line));
        self
    }
}

/// Returns a text after a label, or the label alone.
fn labeled(label: &str, text: &str) -> String {
    if text.is_empty() { label.to_owned() } else { format!("{label}: {text}") }
}

/// Escapes a text for one line.
fn escaped_line(text: &str) -> String {
    visible_line(&escaped(text))
}

/// Cuts a text to a length in characters; a cut text ends with an ellipsis.
fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
