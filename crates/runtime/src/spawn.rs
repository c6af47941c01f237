//! Starts named threads, or returns an error if the system refuses; sends messages to threads.
//!
//! Must never: drop work without an error.

use std::sync::mpsc::Sender;
use std::thread;

use crate::error::Error;

/// Runs `work` in a new thread of this name.
pub(crate) fn start(name: String, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let spawned = thread::Builder::new().name(name).spawn(work);
    spawned.map(drop).map_err(|error| Error::Halted(format!("cannot start a thread: {error}")))
}

/// Sends a message to a thread. A thread that has ended has closed its queue and needs no message:
/// its work is done, or what is left of it is in the ledger.
pub(crate) fn send_if_running<T>(sender: &Sender<T>, message: T) {
    sender.send(message).ok();
}
