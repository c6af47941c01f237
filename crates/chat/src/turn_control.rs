//! Control of turns: starts, steers, cancels, resumes and detaches them.
//!
//! Must never: act on a turn without recording it, or lose a message to a turn.

use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use agentry_frontend::{bootstrap, image};
use agentry_kernel::identity::TERMINAL;
use agentry_protocol::approval::ApprovalAnswer;
use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::Event;
use agentry_runtime::commands::approvals::AnswerRequest;
use agentry_runtime::commands::{self, CommandContext};
use agentry_runtime::{RunExit, RunOutcome};
use agentry_store::EntryFilter;
use ratatui::style::Style;

use super::events::{self, ChatEvent, ChatTurnRequest};
use super::scroll::Kind;
use super::shell_run::ShellRun;
use super::snapshot::Snapshots;
use super::style::{BAD, DIM, WARN};
use super::turn::{self, ChatTurn, SteerMessage};
use super::{InputMode, TerminalChat, call, files, question, recent_turns};

/// The time that a detached turn has to record its pause.
const LETTING_GO: Duration = Duration::from_millis(500);

impl TerminalChat<'_> {
    /// Shows the last turns of the session, and resumes an unfinished run.
    pub(super) fn resume_session(&mut self) {
        let columns = self.screen.width();
        if let Err(error) = recent_turns::show(&self.talk, &mut self.scroll, columns) {
            self.note(&bootstrap::store_fault(error).plain(), BAD);
        }
        match self.talk.unfinished() {
            Ok(Some(run)) => {
                let filter = EntryFilter { run: Some(run.clone()), ..EntryFilter::default() };
                let past = self.talk.ledger().read_from(0, &filter, usize::MAX >> 1);
                let past = past.unwrap_or_default();
                let prompt = past.iter().find_map(|one| {
                    let Event::PromptReceived { content } = &one.event else { return None };
                    Some(content.clone())
                });
                self.show_you(&prompt.unwrap_or_default(), "not finished");
                self.begin(ChatTurnRequest::Resume(run));
                if let Some(turn) = &mut self.turn {
                    turn.recall(&past);
                }
            }
            Ok(None) => {}
            Err(error) => self.note(&bootstrap::store_fault(error).plain(), BAD),
        }
    }

    pub(super) fn begin(&mut self, what: ChatTurnRequest) {
        let snapshots = Snapshots::of(self.talk.workspace(), self.talk.key.as_str());
        let handle = events::begin(&self.talk.engine, what, snapshots, &self.wake);
        self.turn = Some(ChatTurn::new(handle));
    }

    pub(super) fn show_you(&mut self, text: &str, how: &str) {
        let columns = self.screen.width();
        self.scroll.add(Kind::User, turn::user_rows(text, how, columns), columns);
    }

    /// Sends a prompt as a new turn.
    pub(super) fn send(&mut self, text: &str) {
        let pictures = files::attachments(text, self.talk.workspace());
        let mut prompt = files::resolved(text, self.talk.workspace());
        for context in self.backlog.context.drain(..).rev() {
            prompt = format!("{context}\n\n{prompt}");
        }
        self.show_you(text, "");
        let workspace = self.talk.workspace().to_owned();
        let mut images = Vec::new();
        for path in pictures {
            match image::read(&workspace.join(&path)) {
                Ok(image) => images.push(image),
                Err(fault) => return self.note(&fault.plain(), BAD),
            }
        }
        let order = Box::new(self.talk.order(prompt, images));
        self.begin(ChatTurnRequest::Order(order));
    }

    /// Sends a message to the active turn.
    pub(super) fn steer(&mut self, text: &str) {
        let Some(turn) = &mut self.turn else { return };
        let Some(about) = turn.about.clone() else {
            // The turn is not recorded yet, so the message becomes the next prompt.
            self.backlog.queue.push_back(text.to_owned());
            return;
        };
        let content = files::resolved(text, self.talk.workspace());
        let context = CommandContext::from(&*self.talk.engine.parts);
        match commands::runs::steer(context, &about, &content) {
            Ok(Envelope { seq, .. }) => {
                if let Some(turn) = &mut self.turn {
                    turn.steers.push(SteerMessage { seq, text: text.to_owned() });
                }
                self.show_you(text, "during the turn");
            }
            Err(error) => self.note(&format!("The message was not sent: {error}"), BAD),
        }
    }

    /// Cancels the active turn and the running shell command.
    pub(super) fn cancel(&mut self) {
        if let Some((_, _, stop)) = &self.shell {
            stop.stop();
        }
        let Some(turn) = &mut self.turn else { return };
        if turn.cancelled {
            return;
        }
        turn.cancelled = true;
        let Some(about) = turn.about.clone() else { return };
        if let Err(error) = commands::runs::cancel(self.talk.ledger(), &about) {
            self.note(&format!("Cannot interrupt the turn: {error}"), BAD);
        }
    }

    pub(super) fn answer(&mut self, answer: ApprovalAnswer) {
        let columns = self.screen.width();
        let Some(turn) = &mut self.turn else { return };
        let Some(question) = turn.questions.pop_front() else { return };
        let row = question::answered(&question.approval.call.tool, &answer);
        let parts = &self.talk.engine.parts;
        let id = &question.approval.id;
        let request = AnswerRequest { approval: id, answer, by: TERMINAL, digest: None, run: None };
        match commands::approvals::answer(CommandContext::from(&**parts), request) {
            Ok(_) => self.scroll.attach(row, columns),
            Err(error) => self.note(&format!("The answer was not recorded: {error}"), BAD),
        }
    }

    pub(super) fn entry(&mut self, envelope: &Envelope) {
        let columns = self.screen.width();
        let Some(turn) = &mut self.turn else { return };
        // The user interrupted the turn before it was recorded.
        let late = turn.cancelled && matches!(envelope.event, Event::TurnStarted(_));
        let update = turn.entry(envelope, &mut self.scroll, columns);
        if update.settled.is_some() {
            self.typed.typing = InputMode::Prompt;
        }
        if let Some(past) = update.past {
            self.backlog.past = Some(past);
        }
        if late {
            let asked = commands::runs::cancel(self.talk.ledger(), &envelope.about);
            if let Err(error) = asked {
                self.note(&format!("Cannot interrupt the turn: {error}"), BAD);
            }
        }
    }

    pub(super) fn finish_turn(&mut self, outcome: Result<Option<RunOutcome>, String>) {
        let Some(mut turn) = self.turn.take() else { return };
        let columns = self.screen.width();
        turn.end(&mut self.scroll, columns);
        self.typed.typing = InputMode::Prompt;
        match &outcome {
            Ok(Some(RunOutcome { end: RunExit::Paused(_), .. })) => {
                self.note("The turn waits for an approval.", WARN)
            }
            Ok(Some(RunOutcome { end: RunExit::Ended { .. }, .. })) => {}
            Ok(None) => self.note("Nothing to summarize yet.", DIM),
            Err(why) => self.note(why, BAD),
        }
        // Messages that the turn did not read become the next prompts.
        for steer in turn.steers.drain(..).rev() {
            self.backlog.queue.push_front(steer.text);
        }
        if turn.cancelled || outcome.is_err() {
            let waiting: Vec<String> = self.backlog.queue.drain(..).collect();
            if !waiting.is_empty() && self.typed.edit.is_empty() {
                self.typed.edit.set(&waiting.join("\n"));
            }
            return;
        }
        if let Some(next) = self.backlog.queue.pop_front() {
            self.submit(&next);
        }
    }

    /// Detaches the turn before the chat exits; a turn that waits for an approval pauses.
    pub(super) fn detach_turn(&mut self, receiver: &Receiver<ChatEvent>) {
        let Some(turn) = &self.turn else { return };
        turn.handle.set_unattended();
        // The prompt must be recorded before the process exits.
        let mut begins = turn.about.is_none();
        let stays = !turn.questions.is_empty() || turn.cancelled;
        let until = Instant::now() + LETTING_GO;
        while begins || stays {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(wake) = receiver.recv_timeout(left) else { return };
            if let ChatEvent::RunStarted(about) = &wake {
                begins = false;
                self.talk.session.clone_from(&about.session);
            }
            if let ChatEvent::RunEnded(outcome) = wake {
                if let Ok(Some(RunOutcome { end: RunExit::Ended { .. }, .. })) = *outcome {
                    self.turn = None;
                }
                return;
            }
        }
    }

    pub(super) fn ran(&mut self, ran: ShellRun) {
        self.shell = None;
        let columns = self.screen.width();
        let rows = call::block(&ran.outcome.text, Style::new(), columns);
        self.scroll.add(Kind::Call, rows, columns);
        if ran.request.told {
            self.backlog.context.push(ran.context());
        }
    }
}
