//! The events of the chat, and the threads that send them.
//!
//! Must never: write to the terminal; only the drawing thread does.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use agentry_frontend::bootstrap::{self, ProjectRuntime};
use agentry_frontend::fault::Fault;
use agentry_kernel::identity::TERMINAL;
use agentry_model::Delta;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::{CallId, RunId};
use agentry_runtime::{
    Attendance, RunObserver, RunOutcome, RunRequest, Runner, SessionHandle, SessionInbox,
};
use ratatui::crossterm::event::{self, Event as Input};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::shell_run::ShellRun;
use super::snapshot::Snapshots;
use super::style::{DIM, StyledRow, row};

/// An event that wakes the chat.
pub(crate) enum ChatEvent {
    /// A key, pasted text or a new size.
    Input(Input),
    /// The terminal was closed.
    InputClosed,
    /// A signal, by its number.
    Signal(i32),
    /// A run was recorded.
    RunStarted(EntrySubject),
    /// An entry was appended to the ledger.
    Entry(Box<Envelope>),
    /// A delta of a reply.
    Delta(Delta),
    /// A run ended or paused; None means that there was nothing to do.
    RunEnded(Box<Result<Option<RunOutcome>, String>>),
    /// A shell command of the user ended.
    Shell(Box<ShellRun>),
    /// Rows from a background thread.
    Rows(Vec<StyledRow>),
    /// A line of progress from a tool.
    Progress(String),
    /// A thread panicked, with its message.
    ThreadPanicked(String),
}

/// Sends an event to the chat. A chat that has ended has closed the channel: its runs go on, their
/// entries are in the ledger, and no screen is left to show the event.
pub(crate) fn send_if_open(chat: &Sender<ChatEvent>, event: ChatEvent) {
    chat.send(event).ok();
}

/// Sends the entries, deltas and progress of a run to the chat.
struct ChatObserver(Sender<ChatEvent>);

impl RunObserver for ChatObserver {
    fn on_entry(&self, envelope: &Envelope) {
        send_if_open(&self.0, ChatEvent::Entry(Box::new(envelope.clone())));
    }

    fn on_delta(&self, _about: &EntrySubject, _asked: u64, delta: &Delta) {
        send_if_open(&self.0, ChatEvent::Delta(delta.clone()));
    }

    fn on_progress(&self, _: &EntrySubject, _: &CallId, line: &str) {
        send_if_open(&self.0, ChatEvent::Progress(line.to_owned()));
    }
}

/// Request for a turn of the chat.
pub(crate) enum ChatTurnRequest {
    /// A new run.
    Order(Box<RunRequest>),
    /// A compaction of the session, with the topic to emphasize.
    Compact(Box<RunRequest>, Option<String>),
    /// The continuation of an unfinished run.
    Resume(RunId),
}

/// Starts a run in its own thread. Returns the handle of its session.
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
        // Without a snapshot the turn cannot be undone later, but it runs.
        if let ChatTurnRequest::Order(_) = what {
            keep(snapshots.before(), &wake);
        }
        let run = AssertUnwindSafe(|| run(&engine, what, post, &wake));
        let outcome = panic::catch_unwind(run)
            .map_err(|_| "the run crashed; `agentry show` has its record".to_owned())
            .and_then(|outcome| outcome.map_err(|fault| fault.plain()));
        keep(snapshots.after(), &wake);
        send_if_open(&wake, ChatEvent::RunEnded(Box::new(outcome)));
    });
    handle
}

fn keep(kept: Result<(), String>, wake: &Sender<ChatEvent>) {
    if let Err(why) = kept {
        let text = format!("/undo will not work for this turn: {why}");
        send_if_open(wake, ChatEvent::Rows(vec![row(text, DIM)]));
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
        observer: Arc::new(ChatObserver(wake.clone())),
        attendance: Attendance::Present,
        post,
    };
    let mut began = |about: &EntrySubject| {
        send_if_open(wake, ChatEvent::RunStarted(about.clone()));
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

/// Starts a thread that reads input until the terminal closes.
pub(crate) fn listen(wake: &Sender<ChatEvent>) {
    let wake = wake.clone();
    thread::spawn(move || {
        while let Ok(input) = event::read() {
            if wake.send(ChatEvent::Input(input)).is_err() {
                return;
            }
        }
        send_if_open(&wake, ChatEvent::InputClosed);
    });
}

/// Starts a thread that forwards the signals SIGINT, SIGTERM and SIGHUP.
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
