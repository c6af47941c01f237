//! Locks on sessions and on the intake: one owner at a time, among all processes.
//!
//! The operating system holds the lock, so it is free again however its owner ends.
//!
//! Must never: be taken from an owner that lives.

use std::fs::{File, TryLockError};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process;

use agentry_protocol::SessionId;

use crate::error::Error;
use crate::home::{self, Home};
use crate::lock_holder::{IntakeHolder, LockHolder};

/// A lock on a session, held until it is dropped.
#[derive(Debug)]
pub struct SessionLock {
    session: SessionId,
    // Held, never read: the lock lives as long as the file is open.
    _file: File,
}

impl SessionLock {
    /// Returns the locked session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Locks the session, or fails with `Error::Busy`, which names the owner.
    pub(crate) fn take(home: &Home, session: &SessionId, now: u64) -> Result<Self, Error> {
        match locked(&lock_path(home, session)?, now, "")? {
            Ok(file) => Ok(Self { session: session.clone(), _file: file }),
            Err(LockHolder { pid, since, .. }) => {
                Err(Error::Busy { session: session.clone(), pid, since })
            }
        }
    }
}

/// A lock on the intake of a home, held until it is dropped.
#[derive(Debug)]
pub struct IntakeLock {
    // Held, never read: the lock lives as long as the file is open.
    _file: File,
}

impl IntakeLock {
    /// Locks the intake, or fails with `Error::IntakeBusy`, which names the owner.
    pub(crate) fn take(home: &Home, now: u64, taker: IntakeHolder) -> Result<Self, Error> {
        let path = home.locks().join("intake.lock");
        match locked(&path, now, taker.mark())? {
            Ok(file) => Ok(Self { _file: file }),
            Err(LockHolder { pid, since, taker }) => Err(Error::IntakeBusy { pid, since, taker }),
        }
    }
}

/// Locks a file and writes the owner to it, or reads the present owner.
fn locked(path: &Path, now: u64, more: &str) -> Result<Result<File, LockHolder>, Error> {
    let fault = |source| Error::File { path: path.to_owned(), doing: "lock", source };
    let options = home::private_file().read(true).write(true).truncate(false).open(path);
    let mut file = options.map_err(fault)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Err(LockHolder::read(file))),
        Err(TryLockError::Error(source)) => return Err(fault(source)),
    }
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| write!(file, "{} {now}{more}", process::id()))
        .map_err(fault)?;
    Ok(Ok(file))
}

/// Returns the path of a session's lock. Only a whole id names a file.
fn lock_path(home: &Home, session: &SessionId) -> Result<PathBuf, Error> {
    match session.as_str().parse::<SessionId>() {
        Ok(session) => Ok(home.locks().join(format!("{session}.lock"))),
        Err(_) => Err(Error::Unknown { what: "session", text: session.to_string() }),
    }
}
