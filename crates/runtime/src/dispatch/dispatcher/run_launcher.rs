//! Runs a run in a thread of its own, and reports its exit to the dispatcher.
//!
//! Must never: end without a report to the dispatcher.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;

use agentry_kernel::mailbox::MailboxItem;
use agentry_kernel::route;
use agentry_model::Delta;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::Event;
use agentry_protocol::{CallId, RunId, SessionId};

use super::ActiveSession;
use super::message::DispatcherMessage;
use crate::definitions::definition_source::DefinitionSource;
use crate::error::Error;
use crate::host::session_message::Attendance;
use crate::host::session_message::SessionInbox;
use crate::host::{RunObserver, SharedHost};
use crate::inbound::permission_request;
use crate::outbound::reply::ReplySender;
use crate::run_request::RunRequest;
use crate::spawn;
use crate::turn::runner::{RunExit, RunOutcome, Runner};

/// The work that a thread does in a session.
pub(super) enum RunAction {
    /// Start a run for waiting events.
    Start { items: Vec<MailboxItem>, prompt: String },
    /// Resume a run that was left.
    Resume(RunId),
    /// End a run that waits.
    End(RunId),
}

/// The shared services for every run of the dispatcher.
#[derive(Clone)]
pub(super) struct RunLauncher {
    pub(super) host: SharedHost,
    pub(super) definition_source: Arc<dyn DefinitionSource>,
    pub(super) observer: Arc<dyn RunObserver>,
    pub(super) replies: ReplySender,
    pub(super) words: Sender<DispatcherMessage>,
}

impl RunLauncher {
    /// Starts the action of a session on a new thread.
    pub(super) fn start(&self, session: &SessionId, job: RunAction, live: &mut ActiveSession) {
        if let RunAction::Start { items, .. } = &job {
            live.starting = items.iter().map(|item| item.id.clone()).collect();
        }
        let worker = self.clone();
        let told =
            RunExitReporter { session: session.clone(), words: self.words.clone(), said: None };
        let spawned = thread::Builder::new().name(format!("run {session}")).spawn(move || {
            let mut told = told;
            told.said = Some(worker.work(&told.session, job));
        });
        // If the thread did not start, the dropped reporter has informed the dispatcher.
        drop(spawned);
    }

    fn work(&self, session: &SessionId, job: RunAction) -> Result<RunOutcome, Error> {
        let definitions = self.definition_source.definitions()?;
        let looking = DispatcherObserver {
            session: session.clone(),
            words: self.words.clone(),
            outer: self.observer.clone(),
            compacts: AtomicBool::new(false),
        };
        let runner = Runner {
            host: self.host.clone(),
            definitions: &definitions,
            observer: Arc::new(looking),
            attendance: Attendance::Absent,
            post: SessionInbox::default(),
        };
        let outcome = match job {
            RunAction::Start { items, prompt } => {
                runner.start(self.order(&runner, session, &items, prompt)?, &mut |_| {})
            }
            RunAction::Resume(run) => runner.resume(&run),
            RunAction::End(run) => runner.cancel(&run),
        }?;
        if let RunExit::Ended { .. } = outcome.end {
            self.replies.answer(&self.host, &outcome.run)?;
        }
        Ok(outcome)
    }

    fn order(
        &self,
        runner: &Runner<'_>,
        session: &SessionId,
        items: &[MailboxItem],
        prompt: String,
    ) -> Result<RunRequest, Error> {
        let ledger = &self.host.ledger;
        let unknown =
            || Error::Halted(format!("{session} or its waiting event is not in the ledger"));
        let row = ledger.session(session)?.ok_or_else(unknown)?;
        let last = items.last().ok_or_else(unknown)?;
        let came = ledger.inbound_whole(&last.id)?.ok_or_else(unknown)?;
        let record = came.decided.ok_or_else(unknown)?;
        let wish = route::run_overrides(&came.inbound, &record.principal);
        let mut terms = self.definition_source.terms(runner.definitions, &row.agent, &wish)?;
        terms.persona = came.routed.ok_or_else(unknown)?.persona;
        let limits =
            permission_request::limits(&runner.definitions.library.settings.config.requests);
        terms.bounds = Some(permission_request::bounds(ledger, &record, limits)?);
        let prompt = match route::sender_note(&came.inbound, &record.principal) {
            Some(about) => format!("{prompt}\n\n{about}"),
            None => prompt,
        };
        Ok(RunRequest {
            agent: row.agent,
            task: wish.task,
            prompt,
            images: Vec::new(),
            inputs: wish.inputs,
            terms,
            session: Some(row.key),
            project: self.definition_source.project(),
            inbounds: items.iter().map(|item| item.id.clone()).collect(),
            said: None,
        })
    }
}

/// Reports the exit of a run to the dispatcher, even if its thread panics.
struct RunExitReporter {
    session: SessionId,
    words: Sender<DispatcherMessage>,
    said: Option<Result<RunOutcome, Error>>,
}

impl Drop for RunExitReporter {
    fn drop(&mut self) {
        let broke =
            || Err(Error::Halted("the thread of the run panicked or did not start".to_owned()));
        let outcome = self.said.take().unwrap_or_else(broke);
        // A dispatcher that has ended needs no message.
        let exited = DispatcherMessage::RunExited(self.session.clone(), outcome);
        spawn::send_if_running(&self.words, exited);
    }
}

/// Reports the entries that a mailbox needs to the dispatcher, and forwards everything.
struct DispatcherObserver {
    session: SessionId,
    words: Sender<DispatcherMessage>,
    outer: Arc<dyn RunObserver>,
    /// True if the active turn is a compaction.
    compacts: AtomicBool,
}

impl RunObserver for DispatcherObserver {
    fn on_entry(&self, envelope: &Envelope) {
        let session = self.session.clone();
        let word = if let Event::RunCreated(_) | Event::RunResumed {} = &envelope.event {
            envelope.about.run.clone().map(|run| DispatcherMessage::RunBegan(session, run))
        } else if let Event::TurnStarted(plan) = &envelope.event {
            self.compacts.store(plan.compaction.is_some(), Ordering::SeqCst);
            envelope.about.turn.clone().map(|turn| {
                let compacts = plan.compaction.is_some();
                DispatcherMessage::TurnBegan { session, turn, compacts }
            })
        } else if let Event::TurnEnded { .. } = &envelope.event {
            self.compacts
                .swap(false, Ordering::SeqCst)
                .then_some(DispatcherMessage::Compacted(session))
        } else if let Event::InputTaken { input } = &envelope.event {
            Some(DispatcherMessage::SteerTaken(session, *input))
        } else {
            None
        };
        if let Some(word) = word {
            spawn::send_if_running(&self.words, word);
        }
        self.outer.on_entry(envelope);
    }

    fn on_delta(&self, about: &EntrySubject, asked: u64, delta: &Delta) {
        self.outer.on_delta(about, asked, delta);
    }

    fn on_progress(&self, about: &EntrySubject, call: &CallId, line: &str) {
        self.outer.on_progress(about, call, line);
    }
}
