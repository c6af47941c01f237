//! Signals to processes that may have ended in the meantime.
//!
//! Must never: take a number that may have been reused: the leader of a group is not reaped yet, and
//! a single process is a handle.

#[cfg(target_os = "linux")]
use std::os::fd::AsFd;

#[cfg(target_os = "linux")]
use rustix::process::pidfd_send_signal;
use rustix::process::{Pid, Signal, kill_process_group};

/// Signals every process of a group. An error means that the group is already empty, which is the
/// goal; callers that must know look for what is left.
pub(crate) fn signal_group(leader: Pid, signal: Signal) {
    kill_process_group(leader, signal).ok();
}

/// Signals one process. An error means that it has ended by itself in between, which is the goal;
/// callers that must know look for what is left.
#[cfg(target_os = "linux")]
pub(crate) fn signal_process(process: impl AsFd, signal: Signal) {
    pidfd_send_signal(process, signal).ok();
}
