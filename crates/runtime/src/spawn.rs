//! Starts a thread with a name, or says that the machine gives no more.
//!
//! Must never: leave work undone without a word.

use std::thread;

use crate::error::Error;

/// Does some work in a thread of its own.
pub(crate) fn start(name: String, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let spawned = thread::Builder::new().name(name).spawn(work);
    spawned
        .map(drop)
        .map_err(|error| Error::Halted(format!("the machine gives no more threads: {error}")))
}
