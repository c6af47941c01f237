//! Locks with one holder at a time, among all processes.
//!
//! A lock ends with its holder, however that ends, so no lock needs a time limit.
//!
//! Must never: be taken from a holder that lives.

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

use agentry_protocol::SessionId;

use crate::error::Error;
use crate::lock_holder::LockHolder;

/// The storage of locks.
pub(crate) trait LockStore: Send + Sync {
    /// Locks an object for the holder, or returns its present holder.
    fn lock(&self, target: LockTarget<'_>, holder: &LockHolder) -> Result<LockAttempt, Error>;
}

/// The object of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LockTarget<'a> {
    /// A session, by a whole id.
    Session(&'a SessionId),
    /// The intake of the home.
    Intake,
}

/// The result of an attempt to lock.
pub(crate) enum LockAttempt {
    /// The lock is held until the guard is dropped.
    Locked(LockGuard),
    /// Another owner holds it.
    Busy(LockHolder),
}

/// A held lock; dropping it ends the lock.
pub(crate) struct LockGuard {
    // Held, never read: its drop ends the lock.
    _held: Box<dyn HeldLock>,
}

/// The object of a lock store whose drop ends the lock.
pub(crate) trait HeldLock: Send + Sync + UnwindSafe + RefUnwindSafe {}

impl LockGuard {
    /// Creates a guard from the object whose drop ends the lock.
    pub(crate) fn new(held: impl HeldLock + 'static) -> Self {
        Self { _held: Box::new(held) }
    }
}

impl fmt::Debug for LockGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LockGuard")
    }
}
