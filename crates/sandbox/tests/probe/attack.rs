//! The attacks, each one small function, and what they are told of the world outside.
//!
//! An attack runs confined. It says `denied: …` with the answer of the system, or `allowed: …` with what it got.
//!
//! Must never: do harm beyond what proves the point; they are also run without a sandbox, to see that they work.

pub(crate) mod filesystem;
pub(crate) mod network;
pub(crate) mod processes;
pub(crate) mod raw;
pub(crate) mod secrets;

use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What came of an attack: what it got, or what the system said.
pub(crate) type Tried = Result<String, String>;

/// One way of attacking.
pub(crate) type Attack = fn(&Targets) -> Tried;

/// What there is to be attacked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Targets {
    pub(crate) files: Files,
    pub(crate) others: Others,
    pub(crate) network: Network,
    /// Names the processes of this call, so that those that are left can be found.
    pub(crate) marker: String,
}

/// Files inside and outside.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Files {
    /// What may be written.
    pub(crate) workspace: PathBuf,
    /// A directory beside it that may not be seen.
    pub(crate) outside: PathBuf,
    /// A file in there with something secret in it.
    pub(crate) secret: PathBuf,
    /// Where things are put that a call had no right to make.
    pub(crate) quarantine: PathBuf,
}

/// Processes and what they share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Others {
    pub(crate) supervisor: i32,
    pub(crate) helper: i32,
    /// A process in another sandbox.
    pub(crate) sibling: i32,
    /// The number of a piece of memory that a process outside shares.
    pub(crate) shared_memory: i32,
}

/// What listens outside.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Network {
    pub(crate) tcp: SocketAddr,
    pub(crate) tcp6: Option<SocketAddr>,
    pub(crate) udp: SocketAddr,
    /// An address of the machine that is not the loopback's.
    pub(crate) machine: Option<SocketAddr>,
    /// A socket in the file system.
    pub(crate) socket: PathBuf,
    /// A socket with a name only.
    pub(crate) name: String,
}

/// What is in secret files and in the environment of the supervisor.
pub(crate) const CANARY: &str = "canary-4711";
/// The variable of the supervisor that holds it.
pub(crate) const CANARY_VARIABLE: &str = "PROBE_CANARY";

/// Any success is a way out, any failure is a refusal.
fn out<T>(result: io::Result<T>, got: impl Display) -> Tried {
    match result {
        Ok(_) => Ok(got.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// A call of the system that must not even be looked at: only some answers are refusals.
fn refused(result: io::Result<i64>, what: &str) -> Tried {
    match result {
        Ok(value) => Ok(format!("{what} gave {value}")),
        Err(error) => match error.raw_os_error() {
            Some(libc::EPERM | libc::ENOSYS | libc::EACCES) => Err(format!("{what}: {error}")),
            _ => Ok(format!("{what} was let through: {error}")),
        },
    }
}

/// The first way that leads out, or why the last one does not.
fn any(attempts: impl IntoIterator<Item = Tried>) -> Tried {
    let mut said = Err("nothing was tried".to_owned());
    for attempt in attempts {
        match attempt {
            Ok(got) => return Ok(got),
            Err(why) => said = Err(why),
        }
    }
    said
}
