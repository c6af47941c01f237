//! What can wake the chat, and the threads that do.
//!
//! Must never: touch the terminal; only the one thread that draws does.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use agentry_kernel::identity::TERMINAL;
use agentry_model::Delta;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::{CallId, RunId};
use agentry_runtime::{Attendance, RunObserver, SessionHandle};
use agentry_runtime::{RunOutcome, RunRequest, Runner, SessionInbox};
use ratatui::crossterm::event::{self, Event as Input};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::snapshot::Snapshots;
use super::style::{DIM, StyledRow, row};
use crate::bootstrap::{self, ProjectRuntime};
use crate::fault::Fault;

/// Something that happened.
pub(crate) enum ChatEvent {
    /// A key, pasted text, another size.
    Input(Input),
    /// The terminal does not give anything any more.
    InputClosed,
    /// A signal.
    Signal(i32),
    /// A run is on disk.
    RunStarted(EntrySubject),
    /// Something was recorded.
    Entry(Box<Envelope>),
    /// A piece of an answer.
    Delta(Delta),
    /// A run left; none means that there was nothing to do.
    RunEnded(Box<Result<Option<RunOutcome>, String>>),
    /// What a command of the person did.
    Shell(Box<super::shell::ShellRun>),
    /// Something to show that took its time.
    Rows(Vec<StyledRow>),
    /// What a tool says while it works.
    Progress(String),
    /// A thread broke down.
    ThreadPanicked(String),
}

/// Hands on what a run does.
struct ChatObserver(Sender<ChatEvent>);

impl RunObserver for ChatObserver {
    fn on_entry(&self, envelope: &Envelope) {
        self.0.send(ChatEvent::Entry(Box::new(envelope.clone()))).unwrap_or_default();
    }

    fn on_delta(&self, _about: &EntrySubject, _asked: u64, delta: &Delta) {
        self.0.send(ChatEvent::Delta(delta.clone())).unwrap_or_default();
    }

    fn on_progress(&self, _: &EntrySubject, _: &CallId, line: &str) {
        self.0.send(ChatEvent::Progress(line.to_owned())).unwrap_or_default();
    }
}

/// What a turn is made of.
pub(crate) enum ChatTurnRequest {
    /// A new run.
    Order(Box<RunRequest>),
    /// A compaction of its session, with what it gives most room to.
    Compact(Box<RunRequest>, Option<String>),
    /// One that another process left.
    Resume(RunId),
}

/// Begins a run in a thread of its own.
pub(crate) fn begin(
    engine: &Arc<ProjectRuntime>,
    what: ChatTurnRequest,
    snapshots: Snapshots,
    wake: &Sender<ChatEvent>,
) -> SessionHandle {
    let post = SessionInbox::default();
    let handle = post.handle();
    let (engine, wake) = (engine.clone(), wake.clone());
    thread::spawn(move || {
        // What cannot be kept cannot be taken back later; the turn goes on all the same.
        if let ChatTurnRequest::Order(_) = what {
            keep(snapshots.before(), &wake);
        }
        let run = AssertUnwindSafe(|| run(&engine, what, post, &wake));
        let outcome = panic::catch_unwind(run)
            .map_err(|_| "the run broke down; `agentry show` has its record".to_owned())
            .and_then(|outcome| outcome.map_err(|fault| fault.plain()));
        keep(snapshots.after(), &wake);
        wake.send(ChatEvent::RunEnded(Box::new(outcome))).unwrap_or_default();
    });
    handle
}

fn keep(kept: Result<(), String>, wake: &Sender<ChatEvent>) {
    if let Err(why) = kept {
        let text = format!("/undo will not work for this turn: {why}");
        wake.send(ChatEvent::Rows(vec![row(text, DIM)])).unwrap_or_default();
    }
}

fn run(
    engine: &ProjectRuntime,
    what: ChatTurnRequest,
    post: SessionInbox,
    wake: &Sender<ChatEvent>,
) -> Result<Option<RunOutcome>, Fault> {
    let runner = Runner {
        host: engine.parts.clone(),
        definitions: &engine.definitions,
        witness: Arc::new(ChatObserver(wake.clone())),
        attendance: Attendance::Present,
        post,
    };
    let mut began = |about: &EntrySubject| {
        wake.send(ChatEvent::RunStarted(about.clone())).unwrap_or_default();
    };
    let outcome = match what {
        ChatTurnRequest::Order(order) => {
            runner.start(engine.admit(TERMINAL, *order)?, &mut began).map(Some)
        }
        ChatTurnRequest::Compact(order, focus) => {
            runner.compact(*order, focus.as_deref(), &mut began)
        }
        ChatTurnRequest::Resume(run) => {
            let row = engine.parts.ledger.run(&run).map_err(bootstrap::store_fault)?;
            let session = row.and_then(|row| row.session);
            let about = EntrySubject { session, run: Some(run.clone()), turn: None };
            began(&about);
            runner.resume(&run).map(Some)
        }
    };
    outcome.map_err(bootstrap::fault)
}

/// Reads what is typed, as long as there is a terminal.
pub(crate) fn listen(wake: &Sender<ChatEvent>) {
    let wake = wake.clone();
    thread::spawn(move || {
        while let Ok(input) = event::read() {
            if wake.send(ChatEvent::Input(input)).is_err() {
                return;
            }
        }
        wake.send(ChatEvent::InputClosed).unwrap_or_default();
    });
}

/// Signals that ask the chat to end, or to interrupt.
pub(crate) fn watch_signals(wake: &Sender<ChatEvent>) {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM, SIGHUP]) else { return };
    let wake = wake.clone();
    thread::spawn(move || {
        for signal in signals.forever() {
            if wake.send(ChatEvent::Signal(signal)).is_err() {
                return;
            }
        }
    });
}
