//! The exits of runs from their threads: a run ended, waits for a person, or failed.
//!
//! Must never: leave a sender without an answer because a run could not begin.

use agentry_kernel::mailbox::{MailboxInput, State};
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::{Ending, Event};
use agentry_protocol::intake::UnrunReason;
use agentry_protocol::{RunId, SessionId};

use super::Dispatcher;
use super::run_launcher::RunAction;
use crate::error::Error;
use crate::limits::{BUSY_SESSION_WAIT_MS, BUSY_SESSION_WAIT_MS_MAX};
use crate::turn::runner::{RunExit, RunOutcome};

impl Dispatcher {
    pub(super) fn over(
        &mut self,
        session: &SessionId,
        outcome: Result<RunOutcome, Error>,
    ) -> Result<(), Error> {
        self.schedule.ended(session);
        match outcome {
            Ok(RunOutcome { end: RunExit::Ended { .. }, .. }) => self.ended(session),
            Ok(RunOutcome { run, end: RunExit::Paused(_), .. }) => {
                let Some(live) = self.live.get_mut(session) else { return Ok(()) };
                live.run = Some(run.clone());
                // The approval or the cancel request may have arrived while the run was leaving.
                let is_unwanted = std::mem::take(&mut live.is_unwanted) || live.is_stopped();
                live.is_paused =
                    !is_unwanted && !self.host.ledger.approvals_waiting_of(&run)?.is_empty();
                if is_unwanted {
                    self.put_in_line(session, RunAction::End(run));
                } else if !live.is_paused {
                    self.put_in_line(session, RunAction::Resume(run));
                }
                Ok(())
            }
            Err(error) => self.failed(session, &error),
        }
    }

    fn ended(&mut self, session: &SessionId) -> Result<(), Error> {
        let Some(live) = self.live.get_mut(session) else { return Ok(()) };
        live.run = None;
        live.is_unwanted = false;
        live.steers.clear();
        let input = match live.mailbox.state() {
            State::Running { turn, .. } => MailboxInput::TurnEnded(turn.clone()),
            State::Starting { .. } | State::Idle | State::Compacting { .. } => {
                MailboxInput::StartFailed
            }
        };
        self.with(session, input)
    }

    /// Reports a run that could not start or continue, or schedules another try.
    fn failed(&mut self, session: &SessionId, error: &Error) -> Result<(), Error> {
        let about_agent = matches!(
            error,
            Error::Definition(_)
                | Error::Model(_)
                | Error::Workspace { .. }
                | Error::Untrusted { .. }
        );
        // The operator learns how to repair it; the sender learns no paths.
        let help = if let Error::Untrusted { place, .. } = error {
            format!("; review them with `agentry trust {place}`")
        } else {
            String::new()
        };
        if about_agent && self.host.ledger.turn_under_way(session)?.is_none() {
            // Another try would not help, so the sender gets an answer.
            let Some(live) = self.live.get_mut(session) else { return Ok(()) };
            let (events, run) = (std::mem::take(&mut live.starting), live.run.clone());
            (self.say)(&format!("{session}: run failed: {error}{help}"));
            match run {
                None => {
                    self.unrun(session, events, UnrunReason::NoAgent, Some(&error.to_string()))?
                }
                Some(run) => self.give_up(session, run, error)?,
            }
            return self.ended(session);
        }
        if let Some(run) = self.live.get(session).and_then(|live| live.run.clone()) {
            if self.is_over(&run)? {
                // Another process ended it; its answer is still ours to send.
                self.answer_or_say(session, run);
                return self.ended(session);
            }
            self.rest.left.insert((session.clone(), run));
        }
        let wait = self.rest.waits.entry(session.clone()).or_insert(BUSY_SESSION_WAIT_MS);
        let at = self.host.ledger.now().saturating_add(*wait);
        *wait = wait.saturating_mul(2).min(BUSY_SESSION_WAIT_MS_MAX);
        (self.say)(&format!("{session}: run delayed: {error}{help}; retrying later"));
        // The waiting events are in the ledger; the next try loads them from there.
        self.live.remove(session);
        self.rest.wakes.insert((at, session.clone()));
        Ok(())
    }

    fn is_over(&self, run: &RunId) -> Result<bool, Error> {
        Ok(self.host.ledger.run(run)?.is_some_and(|row| row.ending.is_some()))
    }

    /// Sends the answers of runs that failed here and that another process has ended since.
    pub(super) fn send_missed_answers(&mut self, session: &SessionId) {
        let left = self.rest.left.iter().filter(|(of, _)| of == session);
        for (session, run) in left.cloned().collect::<Vec<_>>() {
            self.rest.left.remove(&(session.clone(), run.clone()));
            match self.is_over(&run) {
                Ok(true) => self.answer_or_say(&session, run),
                // It is resumed now.
                Ok(false) => {}
                Err(error) => self.answer_later(&session, run, &error),
            }
        }
    }

    /// Sends the answer of a run that has ended, or schedules another try.
    fn answer_or_say(&mut self, session: &SessionId, run: RunId) {
        if let Err(error) = self.worker.replies.answer(&self.host, &run) {
            self.answer_later(session, run, &error);
        }
    }

    /// Schedules another try of an answer. Without it, only the next process would send the answer.
    fn answer_later(&mut self, session: &SessionId, run: RunId, error: &Error) {
        (self.say)(&format!("{session}: answer delayed: {error}; retrying later"));
        let at = self.host.ledger.now().saturating_add(BUSY_SESSION_WAIT_MS);
        self.rest.left.insert((session.clone(), run));
        self.rest.wakes.insert((at, session.clone()));
    }

    /// Ends a run whose turn cannot begin.
    fn give_up(&mut self, session: &SessionId, run: RunId, error: &Error) -> Result<(), Error> {
        let about =
            EntrySubject { session: Some(session.clone()), run: Some(run.clone()), turn: None };
        let message = Some(self.host.redactor.hide(&error.to_string()));
        let event = Event::RunEnded { ending: Ending::Failed, message };
        self.host.ledger.append(vec![Draft { cause: None, about, event }])?;
        self.answer_or_say(session, run);
        Ok(())
    }
}
