//! Who works on a session: one owner at a time, among all processes.
//!
//! The operating system holds the lock, so that it is free again however its owner ends.
//!
//! Must never: be taken from an owner that lives.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;
use std::process;

use agentry_protocol::SessionId;

use crate::error::Error;
use crate::home::{self, Home};

/// A session that nobody else works on. It is given back on drop.
#[derive(Debug)]
pub struct Ownership {
    session: SessionId,
    // Held, never read: the lock lives as long as the file is open.
    _file: File,
}

impl Ownership {
    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Takes the session, or says who has it.
    pub(crate) fn take(home: &Home, session: &SessionId, now: u64) -> Result<Self, Error> {
        let path = lock_path(home, session)?;
        let fault = |source| Error::File { path: path.clone(), doing: "lock", source };
        let options = home::private_file().read(true).write(true).truncate(false).open(&path);
        let mut file = options.map_err(fault)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(busy(session, file)),
            Err(TryLockError::Error(source)) => return Err(fault(source)),
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| write!(file, "{} {now}", process::id()))
            .map_err(fault)?;
        Ok(Self { session: session.clone(), _file: file })
    }
}

/// Only a whole id names a file.
fn lock_path(home: &Home, session: &SessionId) -> Result<PathBuf, Error> {
    match session.as_str().parse::<SessionId>() {
        Ok(session) => Ok(home.locks().join(format!("{session}.lock"))),
        Err(_) => Err(Error::Unknown { what: "session", text: session.to_string() }),
    }
}

/// What the owner wrote. It may be about to write it; then it is only known that there is one.
fn busy(session: &SessionId, mut file: File) -> Error {
    let mut text = String::new();
    let (pid, since) = match file.read_to_string(&mut text) {
        Ok(_) => {
            let mut words = text.split_whitespace();
            let pid = words.next().and_then(|word| word.parse().ok());
            (pid, words.next().and_then(|word| word.parse().ok()))
        }
        Err(_) => (None, None),
    };
    Error::Busy { session: session.clone(), pid, since }
}
