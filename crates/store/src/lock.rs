//! Locks on sessions and on the intake: one owner at a time, among all processes.
//!
//! Must never: be taken from an owner that lives.

use agentry_protocol::SessionId;

use crate::error::Error;
use crate::lock_holder::{IntakeHolder, LockHolder};
use crate::lock_store::{LockAttempt, LockGuard, LockStore, LockTarget};

/// A lock on a session, held until it is dropped.
#[derive(Debug)]
pub struct SessionLock {
    session: SessionId,
    // Held, never read.
    _guard: LockGuard,
}

impl SessionLock {
    /// Returns the locked session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Locks the session, or fails with `Error::Busy`, which names the owner.
    pub(crate) fn take(
        locks: &dyn LockStore,
        session: &SessionId,
        now: u64,
    ) -> Result<Self, Error> {
        // Only a whole id names a lock: another text could name another file.
        let whole: SessionId = session
            .as_str()
            .parse()
            .map_err(|_| Error::Unknown { what: "session", text: session.to_string() })?;
        let holder = LockHolder::of_this_process(now, IntakeHolder::Once);
        match locks.lock(LockTarget::Session(&whole), &holder)? {
            LockAttempt::Locked(guard) => Ok(Self { session: session.clone(), _guard: guard }),
            LockAttempt::Busy(LockHolder { pid, since, .. }) => {
                Err(Error::Busy { session: session.clone(), pid, since })
            }
        }
    }
}

/// A lock on the intake of a home, held until it is dropped.
#[derive(Debug)]
pub struct IntakeLock {
    // Held, never read.
    _guard: LockGuard,
}

impl IntakeLock {
    /// Locks the intake, or fails with `Error::IntakeBusy`, which names the owner.
    pub(crate) fn take(
        locks: &dyn LockStore,
        now: u64,
        taker: IntakeHolder,
    ) -> Result<Self, Error> {
        match locks.lock(LockTarget::Intake, &LockHolder::of_this_process(now, taker))? {
            LockAttempt::Locked(guard) => Ok(Self { _guard: guard }),
            LockAttempt::Busy(LockHolder { pid, since, taker }) => {
                Err(Error::IntakeBusy { pid, since, taker })
            }
        }
    }
}
