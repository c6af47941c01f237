//! The active turn as shown: the reply, calls and questions.
//!
//! Must never: show a fact that is not in the ledger, except deltas of a reply.

use std::collections::VecDeque;
use std::time::Instant;

use agentry_frontend::call_text::mark;
use agentry_frontend::event_description::{EventDescriber, EventNotice, NoticeTone, NoticeTopic};
use agentry_model::Delta;
use agentry_protocol::approval::Approval;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::Event;
use agentry_protocol::message::{ModelReply, Usage};
use agentry_protocol::tool_call::{OutcomeStatus, ToolOutcome};
use agentry_protocol::{ApprovalId, CallId};
use agentry_runtime::SessionHandle;
use agentry_runtime::definitions::plan::{self, CallScope};

use super::call::{ChatCall, FinishedChatCall, status_style};
use super::markdown;
use super::question::ApprovalQuestion;
use super::scroll::{Kind, ScrollbackBuffer};
use super::stream::AnswerStream;
use super::style::{BAD, BOLD, DIM, ITALIC, StyledRow, WARN, YOU, joined, row, span};
use super::wrap::{cut, width, wrapped};
use crate::limits::CHAT_THINKING_BYTES_MAX;

/// A message of the user to the active turn that it has not read yet.
pub(crate) struct SteerMessage {
    pub(crate) seq: u64,
    pub(crate) text: String,
}

/// The reply that is streaming.
#[derive(Default)]
struct LiveAnswer {
    stream: AnswerStream,
    /// The end of its thinking.
    thinking: String,
}

impl LiveAnswer {
    fn thought(&mut self, piece: &str) {
        self.thinking.push_str(piece);
        let from = self.thinking.len().saturating_sub(CHAT_THINKING_BYTES_MAX);
        self.thinking.drain(..self.thinking.ceil_char_boundary(from));
    }

    /// Returns a row with the last line of the thinking, until text arrives.
    fn thinking(&self, columns: usize) -> Option<StyledRow> {
        let line = self.thinking.lines().rfind(|line| !line.trim().is_empty())?;
        let wide = width(line);
        let from: String = line.chars().rev().take(columns.saturating_sub(2)).collect();
        let end: String = from.chars().rev().collect();
        let text =
            if wide > columns { format!("… {}", end.trim_start()) } else { line.to_owned() };
        self.stream.is_empty().then(|| cut(&row(text, DIM.patch(ITALIC)), columns))
    }
}

/// The active turn.
pub(crate) struct ChatTurn {
    pub(crate) handle: SessionHandle,
    pub(crate) about: Option<EntrySubject>,
    pub(crate) began: Instant,
    pub(crate) usage: Usage,
    pub(crate) questions: VecDeque<ApprovalQuestion>,
    pub(crate) steers: Vec<SteerMessage>,
    pub(crate) cancelled: bool,
    answer: LiveAnswer,
    calls: Vec<ChatCall>,
    scope: Option<CallScope>,
    /// True during a compaction.
    summing: bool,
    describer: EventDescriber,
}

/// Changes that the chat must apply after an entry.
#[derive(Default)]
pub(crate) struct ChatTurnUpdate {
    /// A finished call.
    pub(crate) past: Option<FinishedChatCall>,
    /// A question that was answered elsewhere.
    pub(crate) settled: Option<ApprovalId>,
}

impl ChatTurn {
    pub(crate) fn new(handle: SessionHandle) -> Self {
        Self {
            handle,
            about: None,
            began: Instant::now(),
            usage: Usage::default(),
            questions: VecDeque::new(),
            steers: Vec::new(),
            cancelled: false,
            answer: LiveAnswer::default(),
            calls: Vec::new(),
            scope: None,
            summing: false,
            describer: EventDescriber::default(),
        }
    }

    /// Adds a delta of the reply.
    pub(crate) fn piece(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.answer.stream.push(text),
            Delta::Thinking(text) => self.answer.thought(text),
            Delta::Restart => self.answer.stream.restart(),
            Delta::Call { .. } => {}
        }
    }

    /// Moves the final rows of the reply to the scrollback.
    pub(crate) fn settle_stream(&mut self, scroll: &mut ScrollbackBuffer, columns: usize) {
        let rows = self.answer.stream.settled(columns);
        scroll.add(Kind::Answer, rows, columns);
    }

    /// Ends the reply when the run has ended or paused.
    pub(crate) fn end(&mut self, scroll: &mut ScrollbackBuffer, columns: usize) {
        self.answered("", scroll, columns);
    }

    /// Applies the entries from before this process resumed the turn, without showing them.
    pub(crate) fn recall(&mut self, past: &[Envelope]) {
        let mut quiet = ScrollbackBuffer::default();
        for envelope in past {
            self.entry(envelope, &mut quiet, 80);
        }
        self.usage = Usage::default();
    }

    /// Shows an entry, and returns the changes for the chat.
    pub(crate) fn entry(
        &mut self,
        envelope: &Envelope,
        scroll: &mut ScrollbackBuffer,
        columns: usize,
    ) -> ChatTurnUpdate {
        let update = self.apply(&envelope.event, scroll, columns);
        match self.describer.describe(envelope).notice {
            Some(notice) if notice.topic == NoticeTopic::Turn => add(&notice, scroll, columns),
            // The header shows the run, and rows and questions show its calls.
            Some(_) | None => {}
        }
        update
    }

    /// Changes the state of the turn by an event.
    fn apply(
        &mut self,
        event: &Event,
        scroll: &mut ScrollbackBuffer,
        columns: usize,
    ) -> ChatTurnUpdate {
        let mut update = ChatTurnUpdate::default();
        match event {
            Event::TurnStarted(plan) => {
                self.scope = plan::call_scope(plan);
                self.summing = plan.compaction.is_some();
            }
            Event::TurnEnded { .. } => self.summing = false,
            Event::ModelReplied { reply, .. } if self.summing => {
                self.usage = self.usage.plus(reply.usage);
            }
            Event::ModelReplied { reply, .. } => self.replied(reply, scroll, columns),
            Event::ModelFailed { .. } => self.answered("", scroll, columns),
            Event::CallProposed { call, .. } => {
                self.calls.push(ChatCall { call: call.clone(), begun: None });
            }
            Event::CallStarted { call, .. } => {
                update.settled = self.settle(call);
                let found = self.calls.iter_mut().find(|one| one.call.id == *call);
                if let Some(found) = found {
                    found.begun = Some(Instant::now());
                }
            }
            Event::ApprovalAsked(approval) => self.asked(approval),
            Event::CallFinished { call, outcome } => {
                update.past = self.over(call, outcome.clone(), scroll, columns);
            }
            Event::CallRefused { call, why } => {
                update.settled = self.settle(call);
                update.past = self.over(call, ToolOutcome::refused(why.clone()), scroll, columns);
            }
            Event::InputTaken { input } => self.steers.retain(|steer| steer.seq != *input),
            // All other events have a notice at most.
            _ => {}
        }
        update
    }

    /// Returns the agent and the confinement of this turn's calls.
    pub(crate) fn call_scope(&self) -> Option<&CallScope> {
        self.scope.as_ref()
    }

    /// Returns the rows that may still change.
    pub(crate) fn live(&mut self, columns: usize) -> Vec<StyledRow> {
        let mut rows = self.answer.stream.live(columns);
        rows.extend(self.answer.thinking(columns));
        let asked =
            |call: &ChatCall| self.questions.iter().any(|one| one.approval.call.id == call.call.id);
        rows.extend(self.calls.iter().filter(|call| !asked(call)).map(|call| call.live(columns)));
        rows
    }

    /// Returns true if a reply is streaming.
    pub(crate) fn is_streaming(&self) -> bool {
        !self.answer.stream.is_empty()
    }

    fn replied(&mut self, reply: &ModelReply, scroll: &mut ScrollbackBuffer, columns: usize) {
        self.usage = self.usage.plus(reply.usage);
        self.answered(&reply.text, scroll, columns);
    }

    fn answered(&mut self, text: &str, scroll: &mut ScrollbackBuffer, columns: usize) {
        let rows = if self.answer.stream.is_empty() {
            markdown::rows(text, columns)
        } else {
            self.answer.stream.end(columns)
        };
        self.answer = LiveAnswer::default();
        scroll.add(Kind::Answer, rows, columns);
        scroll.end_answer();
    }

    fn asked(&mut self, approval: &Approval) {
        self.questions.push_back(ApprovalQuestion::new(approval.clone()));
    }

    /// Removes the question about a call. Returns its id, if there was one.
    fn settle(&mut self, call: &CallId) -> Option<ApprovalId> {
        let at = self.questions.iter().position(|one| one.approval.call.id == *call)?;
        self.questions.remove(at).map(|one| one.approval.id)
    }

    fn over(
        &mut self,
        call: &CallId,
        outcome: ToolOutcome,
        scroll: &mut ScrollbackBuffer,
        columns: usize,
    ) -> Option<FinishedChatCall> {
        let at = self.calls.iter().position(|one| one.call.id == *call)?;
        let past = FinishedChatCall { call: self.calls.remove(at).call, outcome };
        scroll.add(Kind::Call, [past.folded(columns)], columns);
        Some(past)
    }
}

/// Adds a notice to the scrollback.
fn add(notice: &EventNotice, scroll: &mut ScrollbackBuffer, columns: usize) {
    let (mark, style) = match notice.tone {
        NoticeTone::Progress | NoticeTone::Proposal => ("", DIM),
        NoticeTone::Outcome(OutcomeStatus::Done) => (mark(OutcomeStatus::Done), DIM),
        NoticeTone::Outcome(status) => (mark(status), status_style(status)),
        NoticeTone::Warning => ("", WARN),
        NoticeTone::Error => ("", BAD),
    };
    scroll.note(format!("{mark} {}", notice.text).trim_start(), style, columns);
    for detail in &notice.details {
        scroll.note(&format!("  {detail}"), style, columns);
    }
}

/// Returns the rows of a text of the user, for the scrollback.
pub(crate) fn user_rows(text: &str, how: &str, columns: usize) -> Vec<StyledRow> {
    let mut rows = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let mark = if at == 0 { "› " } else { "  " };
        let mut parts = vec![span(mark, YOU), span(line, BOLD)];
        if at == 0 && !how.is_empty() {
            parts.push(span(format!("  ({how})"), DIM));
        }
        rows.extend(wrapped(&joined(parts), columns, 2));
    }
    if rows.is_empty() { vec![row("› ", YOU)] } else { rows }
}

#[cfg(test)]
mod tests {
    use agentry_protocol::envelope::EVENT_VERSION;
    use agentry_runtime::SessionInbox;

    use super::*;

    /// Returns the rows that a turn shows for events, without the empty rows between.
    fn shown(events: &[Event]) -> Vec<String> {
        let mut turn = ChatTurn::new(SessionInbox::default().handle());
        let mut scroll = ScrollbackBuffer::default();
        for event in events {
            let envelope = Envelope {
                seq: 1,
                time: 0,
                cause: None,
                version: EVENT_VERSION,
                stream: event.stream(),
                about: EntrySubject::default(),
                event: event.clone(),
            };
            turn.entry(&envelope, &mut scroll, 60);
        }
        let text = |row: &StyledRow| row.spans.iter().map(|span| &*span.content).collect();
        let rows: Vec<String> = scroll.take().iter().map(text).collect();
        rows.into_iter().filter(|row| !row.is_empty()).collect()
    }

    fn events(lines: &[&str]) -> Vec<Event> {
        let parsed = lines.iter().map(|line| serde_json::from_str(line));
        parsed.map(|event| event.expect("the event is complete")).collect()
    }

    #[test]
    fn the_progress_of_a_turn_is_noted() {
        let lines = [
            r#"{"type":"check_started","iteration":1,"command":"cargo test"}"#,
            r#"{"type":"check_finished","iteration":1,"outcome":{"status":"failed","text":"no"}}"#,
            r#"{"type":"sandbox_missing","why":"no \u001b[2J"}"#,
            r#"{"type":"run_ended","ending":"denied"}"#,
        ];
        assert_eq!(
            shown(&events(&lines)),
            [
                "check 1: cargo test",
                "✗ check 1: no",
                "no sandbox: no \\u{1b}[2J",
                "  commands and file tools are refused; `agentry doctor`",
                "  shows how to fix it",
                "every call was denied",
            ]
        );
    }

    #[test]
    fn a_call_has_one_row_and_a_pause_has_none() {
        let lines = [
            r#"{"type":"call_proposed","call":{"id":"call_1","tool":"glob","input":{"pattern":"*"}},"ruling":{"verdict":"allow","findings":[]}}"#,
            r#"{"type":"call_finished","call":"call_1","outcome":{"status":"done","text":"a.txt"}}"#,
            r#"{"type":"run_paused","approvals":["apr_1"]}"#,
        ];
        assert_eq!(shown(&events(&lines)), ["✓ glob *  a.txt"]);
    }
}
