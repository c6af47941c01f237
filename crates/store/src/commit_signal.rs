//! The state that the writer shares with all callers: commits, the last entry, and the failure.
//!
//! Must never: lose a failed commit.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use agentry_protocol::envelope::LedgerStream;

use crate::error::{AppendOutcome, Error};

/// The state that the writer shares with all callers.
#[derive(Default)]
pub(crate) struct CommitSignal {
    state: Mutex<State>,
    changed: Condvar,
    /// Woken only by entries of the world stream, so that its tails sleep while agents work.
    came_in: Condvar,
    commits: AtomicU64,
}

#[derive(Default)]
struct State {
    last_seq: u64,
    last_input_seq: u64,
    poison: Option<Poison>,
}

/// The reason why the ledger accepts no more requests.
#[derive(Clone)]
pub(crate) enum Poison {
    DiskFull,
    Unknown(String),
}

/// The entry that a tail waits for: the first of a stream after a number.
pub(crate) struct AwaitedEntry<'a> {
    pub(crate) after_seq: u64,
    /// The stream; None means both.
    pub(crate) stream: Option<LedgerStream>,
    /// The flag that ends the wait.
    pub(crate) is_woken: &'a AtomicBool,
}

impl CommitSignal {
    /// Returns the number of commits.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Returns the error for all callers after a failed commit; None while the writer works.
    pub(crate) fn refusal(&self, path: PathBuf) -> Option<Error> {
        self.state().poison.clone().map(|poison| match poison {
            Poison::DiskFull => Error::DiskFull { path, outcome: AppendOutcome::NothingWritten },
            Poison::Unknown(cause) => Error::OutcomeUnknown { path, cause },
        })
    }

    /// Waits until the entry is written, the waker is used, the writer fails, or the time is over.
    pub(crate) fn wait_for(&self, awaited: &AwaitedEntry<'_>, time: Duration) {
        let only_inputs = awaited.stream == Some(LedgerStream::World);
        let nothing_new = |state: &mut State| {
            let last = if only_inputs { state.last_input_seq } else { state.last_seq };
            let is_woken = awaited.is_woken.load(Ordering::Relaxed);
            last <= awaited.after_seq && state.poison.is_none() && !is_woken
        };
        let woken = if only_inputs { &self.came_in } else { &self.changed };
        let waited = woken.wait_timeout_while(self.state(), time, nothing_new);
        drop(waited.expect("nobody panics while holding the state"));
    }

    /// Ends the wait of the caller that owns the flag.
    pub(crate) fn wake(&self, is_woken: &AtomicBool) {
        // Under the lock, or a caller between its check and its wait would miss it.
        let state = self.state();
        is_woken.store(true, Ordering::Relaxed);
        drop(state);
        self.changed.notify_all();
        self.came_in.notify_all();
    }

    /// Sets the number of the last entry when the ledger is opened.
    pub(crate) fn start(&self, last_seq: u64) {
        self.state().last_seq = last_seq;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while holding the state")
    }

    /// Counts a commit and wakes the callers that wait for its entries.
    pub(crate) fn committed(&self, seq: u64, input_seq: Option<u64>) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state();
        state.last_seq = seq;
        if let Some(input_seq) = input_seq {
            state.last_input_seq = input_seq;
            self.came_in.notify_all();
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Refuses all further requests, and wakes all waiting callers.
    pub(crate) fn poison(&self, poison: Poison) {
        self.state().poison = Some(poison);
        self.changed.notify_all();
        self.came_in.notify_all();
    }
}
