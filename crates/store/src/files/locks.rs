//! Locks on files of the home.
//!
//! The operating system holds the lock, so it is free again however its owner ends.
//!
//! Must never: write to the file of a lock that another owner holds.

use std::fs::{File, TryLockError};
use std::io::{Seek, Write};
use std::path::PathBuf;

use crate::error::Error;
use crate::home::{self, Home};
use crate::lock_holder::LockHolder;
use crate::lock_store::{HeldLock, LockAttempt, LockGuard, LockStore, LockTarget};

/// The directory of the lock files.
pub(crate) struct FileLocks {
    root: PathBuf,
}

impl FileLocks {
    pub(crate) fn new(home: &Home) -> Self {
        Self { root: home.locks() }
    }
}

/// A lock lives as long as its file is open.
impl HeldLock for File {}

impl LockStore for FileLocks {
    fn lock(&self, target: LockTarget<'_>, holder: &LockHolder) -> Result<LockAttempt, Error> {
        let path = self.root.join(match target {
            LockTarget::Session(session) => format!("{session}.lock"),
            LockTarget::Intake => "intake.lock".to_owned(),
        });
        let fault = |source| Error::File { path: path.clone(), doing: "lock", source };
        let options = home::private_file().read(true).write(true).truncate(false).open(&path);
        let mut file = options.map_err(fault)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(LockAttempt::Busy(LockHolder::read(file))),
            Err(TryLockError::Error(source)) => return Err(fault(source)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(holder.line().as_bytes()))
            .map_err(fault)?;
        Ok(LockAttempt::Locked(LockGuard::new(file)))
    }
}
