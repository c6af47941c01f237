//! The supervisor's handle on the init process of a sandbox.
//!
//! Must never: wait without a deadline, or let a sandbox live on without an owner.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::process::Signal;

use crate::linux::fd_channel::FdChannel;
use crate::poll::is_ready;
use crate::process_signal::signal_process;
use crate::spec::{InitMessage, InitRequest};

/// The init process of a sandbox. Dropping the value ends it.
#[derive(Debug)]
pub(crate) struct InitProcess {
    pub(crate) control: FdChannel,
    pub(crate) handle: OwnedFd,
    /// True if its end is the end of everything it started.
    pub(crate) holds_all: bool,
    /// True if it lives on when its program has ended.
    pub(crate) stays: bool,
}

impl Drop for InitProcess {
    fn drop(&mut self) {
        // An init process that does not hold all others must end them itself; it does so when its
        // control channel closes. Otherwise it may be over already, or no owner is left to need it.
        if self.holds_all {
            self.kill_alone();
        }
    }
}

impl InitProcess {
    /// Kills it with everything it started.
    pub(crate) fn kill(&self) {
        if self.holds_all {
            self.kill_alone();
        } else {
            self.control.send_if_open(&InitRequest::Kill);
        }
    }

    /// Kills it, and those processes that end with it.
    pub(crate) fn kill_alone(&self) {
        signal_process(&self.handle, Signal::KILL);
    }

    /// Returns its next message until the deadline; None if it is silent or gone.
    pub(crate) fn word(&self, until: Instant) -> Option<InitMessage> {
        if !is_ready(&self.control, until).ok()? {
            return None;
        }
        self.control.receive().ok().flatten().map(|(word, _)| word)
    }

    /// Returns true if it ends before the deadline.
    pub(crate) fn is_over(&self, until: Instant) -> io::Result<bool> {
        is_ready(&self.handle, until)
    }
}
