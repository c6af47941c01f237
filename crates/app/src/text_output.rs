//! A run as text: the agent's text on standard output, events on standard error.
//!
//! Must never: mix the two; standard output has the agent's text only.

use std::io::{self, Write};

use agentry_model::Delta;
use agentry_protocol::confinement::Connection;
use agentry_protocol::context::Compaction;
use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::{Ending, Event, TurnPlan};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{OutcomeStatus, ToolOutcome};
use serde_json::Value;

use crate::agent_events;
use crate::approval_text;
use crate::diagnostics::{escaped, visible};
use crate::limits::PROGRESS_CHARS_MAX;
use crate::outcome_text::hidden;
use crate::program_text;

/// Writer of a run in progress.
pub(crate) struct TextOutput {
    /// True if deltas are shown as they arrive, instead of complete texts only.
    live: bool,
    streamed: bool,
    /// True if the active turn is a compaction.
    summing: bool,
    result: io::Result<()>,
}

impl TextOutput {
    pub(crate) fn new(live: bool) -> Self {
        Self { live, streamed: false, summing: false, result: Ok(()) }
    }

    /// Returns the first error of standard output, if any.
    pub(crate) fn result(self) -> io::Result<()> {
        self.result
    }

    pub(crate) fn piece(&mut self, delta: &Delta) {
        if let (true, Delta::Text(text)) = (self.live, delta) {
            self.streamed = true;
            self.out(|out| {
                write!(out, "{}", escaped(text))?;
                out.flush()
            });
        }
    }

    /// Ends the line of streamed text that is void, so that the next text starts on a new line.
    fn unsaid(&mut self) {
        if std::mem::take(&mut self.streamed) {
            self.out(|out| writeln!(out));
        }
    }

    pub(crate) fn note(&mut self, text: &str) {
        // If stderr is closed, the exit code still tells the caller.
        writeln!(crate::output::stderr().lock(), "{}", escaped(text)).unwrap_or_default();
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each event, and no logic in them")]
    pub(crate) fn entry(&mut self, envelope: &Envelope) {
        match &envelope.event {
            Event::RunCreated(plan) => {
                let run = envelope.about.run.as_ref().map_or("", |run| run.as_str());
                let mode = plan.mode.as_str();
                self.note(&format!("{run}: {} with {}, {mode}", plan.agent, plan.asked.model));
            }
            Event::SandboxMissing { why } => {
                self.note(&format!("warning: {why}"));
                self.note(
                    "  commands and file tools are refused; `agentry doctor` shows how to fix it",
                );
            }
            Event::ConnectionEnded {
                connection: Connection { host, port, refused, .. }, ..
            } => {
                if let Some(why) = refused {
                    self.note(&format!("  ✗ {host}:{port}: {why}"));
                }
            }
            Event::TurnStarted(plan) => {
                self.summing = plan.compaction.is_some();
                match &plan.compaction {
                    Some(one) => self.note(&format!("compaction: {}", one.reason.as_str())),
                    None if is_off(plan) => self.note(
                        "warning: the sandbox is off, commands can do everything that you can",
                    ),
                    None => {}
                }
            }
            Event::TurnEnded { context, .. } => {
                if let Some(one) = &context.compaction {
                    self.note(&format!("  {}", compacted(one)));
                }
            }
            Event::ModelReplied { .. } if self.summing => {}
            Event::RunResumed {} => {
                let run = envelope.about.run.as_ref().map_or("", |run| run.as_str());
                self.note(&format!("{run}: resumed"));
            }
            Event::ModelReplied { reply, .. } => self.said(&reply.text),
            Event::CallProposed { call, .. } => self.note(&proposed(&call.tool, &call.input)),
            Event::CallFinished { outcome, .. } => self.note(&finished(outcome)),
            Event::CallRefused { why, .. } => self.note(&format!("  ✗ {why}")),
            Event::CallWithheld { facts, .. } => {
                for change in &facts.changes {
                    self.note(&format!("  not run yet: {}", change.summary_line()));
                }
            }
            Event::CheckStarted { command, .. } => self.note(&format!("check: {command}")),
            Event::CheckFinished { outcome, .. } => self.note(&finished(outcome)),
            Event::IterationCounted { count } => self.note(&format!("iteration {count}")),
            Event::RunPaused { approvals } => {
                let run = envelope.about.run.as_ref().map_or("", |run| run.as_str());
                for approval in approvals {
                    self.note(&format!("waiting for approval: {approval}"));
                    self.note(&format!("  agentry answer {approval} yes|no"));
                }
                self.note(&format!("  agentry resume {run}"));
            }
            Event::ModelRetried { failure, wait_ms, .. } => {
                self.unsaid();
                self.note(&format!("{} (retry in {} s)", failure.message, wait_ms.div_ceil(1000)));
            }
            Event::ModelReplaced { from, to, failure, .. } => {
                self.unsaid();
                self.note(&format!("{from} failed: {}; using {to}", failure.message));
            }
            Event::RunEnded { ending: Ending::Done, .. } => {}
            Event::RunEnded { ending, message } => {
                self.note(&format!(
                    "error: {}",
                    agent_events::in_words(*ending, message.as_deref())
                ));
            }
            event @ Event::Hook(_) => {
                if let Some(text) = program_text::warning(event) {
                    self.note(&format!("warning: {text}"));
                }
            }
            Event::ModelFailed { .. }
            | Event::Job(_)
            | Event::EventHook(_)
            | Event::Trust(_)
            | Event::PromptReceived { .. }
            | Event::SteerReceived { .. }
            | Event::CancelReceived {}
            | Event::LossAccepted { .. }
            | Event::ModeReceived { .. }
            | Event::ApprovalAnswered { .. }
            | Event::ToolAccessChanged { .. }
            | Event::SessionOpened { .. }
            | Event::Intake(_)
            | Event::Access(_)
            | Event::SandboxOpened { .. }
            | Event::StepStarted { .. }
            | Event::StepEnded { .. }
            | Event::InputTaken { .. }
            | Event::ModelAsked { .. }
            | Event::ApprovalAsked(_)
            | Event::CallStarted { .. }
            | Event::CallStopped { .. } => {}
        }
    }

    fn said(&mut self, text: &str) {
        let streamed = std::mem::take(&mut self.streamed);
        if text.is_empty() {
            return;
        }
        self.out(|out| {
            if streamed {
                // The deltas were shown already.
                writeln!(out)
            } else {
                writeln!(out, "{}", visible(text))
            }
        });
    }

    fn out(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.result.is_ok() {
            self.result = write(&mut crate::output::stdout().lock());
        }
    }
}

/// Describes the result of a compaction in words.
pub(crate) fn compacted(one: &Compaction) -> String {
    let kept = match &one.first_kept {
        Some(first) => format!("kept from {first} on"),
        None => "no turn kept unchanged".to_owned(),
    };
    let Compaction { tokens_before, tokens_after, summarized_through, .. } = one;
    format!(
        "{tokens_before} → {tokens_after} tokens; summarized through {summarized_through}, {kept}"
    )
}

/// Returns true if a turn runs without a sandbox.
fn is_off(plan: &TurnPlan) -> bool {
    plan.charter.pointer("/authority/confinement/level").and_then(Value::as_str) == Some("off")
}

fn proposed(tool: &ToolName, input: &Value) -> String {
    let telling = ["command", "path", "pattern", "url", "name"];
    let fields = input.as_object();
    let shown = fields.and_then(|fields| telling.iter().find_map(|key| fields.get(*key)?.as_str()));
    let shown = shown.map_or_else(|| input.to_string(), str::to_owned);
    format!("● {tool} {}", short(&approval_text::legible_text(&shown)))
}

fn finished(outcome: &ToolOutcome) -> String {
    let mark = match outcome.status {
        OutcomeStatus::Done => "✓",
        OutcomeStatus::Failed | OutcomeStatus::Refused => "✗",
        OutcomeStatus::Stopped => "■",
        OutcomeStatus::Uncertain => "?",
    };
    let first = outcome.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    format!(
        "  {mark} {}{}",
        short(first),
        hidden(outcome).map_or(String::new(), |note| format!("  ({note})"))
    )
}

fn short(text: &str) -> String {
    let line: String = text.chars().map(|c| if c == '\n' { ' ' } else { c }).collect();
    match line.char_indices().nth(PROGRESS_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
