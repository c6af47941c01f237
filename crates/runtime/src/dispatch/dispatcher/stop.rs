//! Cancels active or starting runs, and resumes runs after an approval was answered.
//!
//! Must never: lose a cancel request, at any state of the run.

use agentry_kernel::mailbox::{MailboxInput, MailboxStopReason};
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::intake::UnrunReason;
use agentry_protocol::{RunId, SessionId};

use super::Dispatcher;
use super::run_launcher::RunAction;
use crate::error::Error;

impl Dispatcher {
    pub(super) fn cancel(
        &mut self,
        session: &SessionId,
        why: MailboxStopReason,
    ) -> Result<Option<MailboxInput>, Error> {
        let live = self.live.get_mut(session).expect("its mailbox spoke");
        if let Some(ticket) = live.ticket
            && self.withdraw(session, ticket)
        {
            let items = match self.jobs.remove(&ticket) {
                Some(RunAction::Start { items, .. }) => items,
                Some(RunAction::Resume(run) | RunAction::End(run)) => {
                    self.put_in_line(session, RunAction::End(run));
                    return Ok(None);
                }
                None => return Ok(None),
            };
            let why = match why {
                MailboxStopReason::Interrupt => UnrunReason::Interrupted,
                MailboxStopReason::Abort => UnrunReason::Aborted,
            };
            self.unrun(session, items.into_iter().map(|item| item.id).collect(), why, None)?;
            return Ok(Some(MailboxInput::StartFailed));
        }
        let live = self.live.get_mut(session).expect("its mailbox spoke");
        match live.run.clone() {
            Some(run) if live.is_paused => {
                live.is_paused = false;
                self.put_in_line(session, RunAction::End(run));
            }
            Some(run) => self.ask_to_end(session, run)?,
            None => live.is_unwanted = true,
        }
        Ok(None)
    }

    pub(super) fn ask_to_end(&self, session: &SessionId, run: RunId) -> Result<(), Error> {
        let about = EntrySubject { session: Some(session.clone()), run: Some(run), turn: None };
        let event = Event::CancelReceived {};
        self.host.ledger.append(vec![Draft { cause: None, about, event }])?;
        Ok(())
    }

    /// Removes a turn from the schedule; returns false if it has started already.
    fn withdraw(&mut self, session: &SessionId, ticket: u64) -> bool {
        let held = self.rest.held.iter().position(|wanted| wanted.ticket == ticket);
        if let Some(at) = held {
            self.rest.held.remove(at);
        }
        let withdrawn = held.is_some() || self.schedule.withdraw(session, ticket);
        if withdrawn && let Some(live) = self.live.get_mut(session) {
            live.ticket = None;
        }
        withdrawn
    }

    /// Resumes a paused run after a person answered its approval.
    pub(super) fn answered(&mut self, session: &SessionId) {
        let Some(live) = self.live.get_mut(session).filter(|live| live.is_paused) else { return };
        let Some(run) = live.run.clone() else { return };
        live.is_paused = false;
        self.put_in_line(session, RunAction::Resume(run));
    }

    /// Notes a request to cancel a run; a run that is just leaving would miss it.
    pub(super) fn cancelled(&mut self, session: &SessionId) {
        match self.live.get_mut(session) {
            Some(live) if live.is_paused => self.answered(session),
            Some(live) => live.is_unwanted = live.run.is_some(),
            None => {}
        }
    }
}
