//! Owners of locks, as written in the files of the locks.
//!
//! Must never: fail if an owner has not written itself yet.

use std::fs::File;
use std::io::Read;
use std::process;

/// The kind of process that holds the intake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntakeHolder {
    /// A process that answers one message and ends.
    Once,
    /// A server, which keeps the lock until it ends.
    Server,
}

impl IntakeHolder {
    /// Returns the words that follow the process and the time in the lock file.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Self::Once => "",
            Self::Server => SERVER,
        }
    }
}

/// The mark of a server in the lock file.
const SERVER: &str = " server";

/// The owner of a lock; the fields are None if the owner has not written them yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LockHolder {
    pub(crate) pid: Option<u32>,
    pub(crate) since: Option<u64>,
    pub(crate) taker: IntakeHolder,
}

impl LockHolder {
    /// Returns this process as an owner since a time, in milliseconds since 1970.
    pub(crate) fn of_this_process(since: u64, taker: IntakeHolder) -> Self {
        Self { pid: Some(process::id()), since: Some(since), taker }
    }

    /// Returns the content of the file of the lock.
    pub(crate) fn line(&self) -> String {
        let number = |number: Option<u64>| number.map_or_else(String::new, |one| one.to_string());
        format!("{} {}{}", number(self.pid.map(u64::from)), number(self.since), self.taker.mark())
    }

    /// Reads the owner from the file of its lock.
    pub(crate) fn read(mut file: File) -> Self {
        let mut text = String::new();
        match file.read_to_string(&mut text) {
            Ok(_) => {
                let mut words = text.split_whitespace();
                let pid = words.next().and_then(|word| word.parse().ok());
                let since = words.next().and_then(|word| word.parse().ok());
                let is_server = words.next() == Some(SERVER.trim());
                Self {
                    pid,
                    since,
                    taker: if is_server { IntakeHolder::Server } else { IntakeHolder::Once },
                }
            }
            Err(_) => Self { pid: None, since: None, taker: IntakeHolder::Once },
        }
    }
}
