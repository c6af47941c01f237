//! The words about calls, checks and their outcomes.
//!
//! Must never: show an outcome without its call if the call is known.

use agentry_protocol::CallId;
use agentry_protocol::call_facts::CallFacts;
use agentry_protocol::confinement::Connection;
use agentry_protocol::event::{CallConfinement, CallEdit, Permit};
use agentry_protocol::message::ModelReply;
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{OutcomeStatus, ToolCall, ToolOutcome};
use agentry_protocol::verdict::Ruling;
use serde_json::Value;

use super::{
    EventDescription, EventNotice, NoticeTone, NoticeTopic, cut, labeled, progress, silent,
};
use crate::approval_text::legible_text;
use crate::call_text::{first_line, hidden, main_argument, status_word};
use crate::limits::{CALL_LABEL_CHARS_MAX, NOTICE_CHARS_MAX};

/// The calls of the last reply, which name the outcomes.
#[derive(Default)]
pub(super) struct ReplyCalls {
    calls: Vec<CallLabel>,
}

struct CallLabel {
    id: CallId,
    tool: ToolName,
    argument: String,
}

impl ReplyCalls {
    pub(super) fn of(reply: &ModelReply) -> Self {
        let label = |call: &ToolCall| CallLabel {
            id: call.id.clone(),
            tool: call.tool.clone(),
            argument: cut(&argument_line(&call.input), CALL_LABEL_CHARS_MAX),
        };
        Self { calls: reply.calls.iter().map(label).collect() }
    }

    /// Describes the end of a call that had started.
    pub(super) fn finished(&self, call: &CallId, outcome: &ToolOutcome) -> EventDescription {
        let words = labeled(&noted(status_word(outcome.status), outcome), &outcome.text);
        let first = noted(&cut(first_line(outcome), NOTICE_CHARS_MAX), outcome);
        self.outcome(call, &words).with(self.notice(call, outcome.status, &first))
    }

    /// Describes a refusal, with the whole reason.
    pub(super) fn refused(&self, call: &CallId, why: &str) -> EventDescription {
        let notice = self.notice(call, OutcomeStatus::Refused, why);
        self.outcome(call, &format!("refused: {why}")).with(notice)
    }

    /// Describes changes since the ruling on a call.
    pub(super) fn withheld(&self, call: &CallId, facts: &CallFacts) -> EventDescription {
        let changes: Vec<String> =
            facts.changes.iter().map(|change| change.summary_line()).collect();
        let words = "is not run yet, and is ruled on again";
        let notice = format!("{} {words}\n{}", self.label(call), changes.join("\n"));
        silent(format!("{call} {words}: {}", changes.join("; ")))
            .with_notice(NoticeTone::Progress, &notice)
    }

    /// Describes a connection; only a refused one is worth a notice.
    pub(super) fn connection_ended(
        &self,
        call: &CallId,
        connection: &Connection,
    ) -> EventDescription {
        let Connection { host, port, refused, bytes_out, bytes_in } = connection;
        match refused {
            None => silent(format!(
                "{call} reached {host}:{port}: {bytes_out} bytes out, {bytes_in} in"
            )),
            Some(why) => {
                let words = format!("no connection to {host}:{port}: {why}");
                let tone = NoticeTone::Outcome(OutcomeStatus::Refused);
                silent(format!("{call}: {words}"))
                    .with_notice(tone, &format!("{}: {words}", self.label(call)))
            }
        }
    }

    fn outcome(&self, call: &CallId, words: &str) -> EventDescription {
        match self.find(call) {
            Some(found) => silent(format!("{call} ({}) {words}", found.tool)),
            None => silent(format!("{call} {words}")),
        }
    }

    fn notice(&self, call: &CallId, status: OutcomeStatus, words: &str) -> EventNotice {
        let text = labeled(&self.label(call), words);
        EventNotice::new(NoticeTone::Outcome(status), &text).about(NoticeTopic::Call)
    }

    /// Returns the tool of a call, with its main argument if the reply calls the tool again.
    fn label(&self, call: &CallId) -> String {
        let Some(found) = self.find(call) else { return call.to_string() };
        let tool = found.tool.to_string();
        let is_alone = self.calls.iter().filter(|one| one.tool == found.tool).count() == 1;
        if is_alone || found.argument.is_empty() {
            return tool;
        }
        format!("{tool} {}", found.argument)
    }

    fn find(&self, call: &CallId) -> Option<&CallLabel> {
        self.calls.iter().find(|one| one.id == *call)
    }
}

pub(super) fn proposed(call: &ToolCall, ruling: &Ruling) -> EventDescription {
    let rule = ruling.deciding().and_then(|finding| finding.rule.as_ref());
    let rule = rule.map_or_else(String::new, |rule| format!(" ({rule})"));
    let ToolCall { id, tool, input } = call;
    let text = format!("{tool} {}", cut(&argument_line(input), NOTICE_CHARS_MAX));
    let notice = EventNotice::new(NoticeTone::Proposal, text.trim_end()).about(NoticeTopic::Call);
    silent(format!("{id}: {tool} {input} → {}{rule}", ruling.verdict)).with(notice)
}

pub(super) fn started(
    call: &CallId,
    by: &Permit,
    under: &CallConfinement,
    edited: Option<&CallEdit>,
) -> String {
    let by = match by {
        Permit::Rule { rule } => format!("the rule {rule}"),
        Permit::Approval { approval } => approval.to_string(),
        Permit::Earlier { approval } => format!("the earlier {approval}"),
        Permit::Mode {} => "the mode".to_owned(),
    };
    let edited = edited.map_or_else(String::new, |one| format!(", changed to {}", one.input));
    format!("{call} starts (sandbox: {}), allowed by {by}{edited}", under.level)
}

pub(super) fn check_started(iteration: u32, command: &str) -> EventDescription {
    progress(format!("check {iteration}: {command}"))
}

pub(super) fn check_finished(iteration: u32, outcome: &ToolOutcome) -> EventDescription {
    let check = format!("check {iteration}");
    let words = format!("{check} {}", noted(status_word(outcome.status), outcome));
    let first = noted(&cut(first_line(outcome), NOTICE_CHARS_MAX), outcome);
    silent(words).with_notice(NoticeTone::Outcome(outcome.status), &labeled(&check, &first))
}

/// Returns the main argument of a call on one line; characters that cannot be seen are escaped.
fn argument_line(input: &Value) -> String {
    legible_text(&main_argument(input)).replace(['\n', '\t'], " ")
}

/// Adds the number of redacted secrets to a text about an outcome.
fn noted(text: &str, outcome: &ToolOutcome) -> String {
    match hidden(outcome) {
        Some(note) => format!("{text} ({note})").trim_start().to_owned(),
        None => text.to_owned(),
    }
}
