//! The public sandbox, equal on every system.
//!
//! Must never: accept a level that one escape got through, or run anything without a sandbox.

use std::sync::Arc;

use agentry_protocol::confinement::{Attestation, Confinement, ConfinementLevel};
use serde_json::Value;
use thiserror::Error as ThisError;

use crate::backend::{Backend, SandboxJob, SandboxSetup, SpawnJob};
use crate::cancel::CancelToken;
#[cfg(target_os = "linux")]
use crate::linux::backend::LinuxBackend as SystemBackend;
#[cfg(target_os = "macos")]
use crate::macos::MacosBackend as SystemBackend;
use crate::process::{Error, ProcessOutcome};
use crate::sandboxed_child::SandboxedChild;
use crate::service::SandboxedService;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
use crate::unsupported::UnsupportedBackend as SystemBackend;

/// The levels of Linux, the strongest first.
#[cfg(target_os = "linux")]
pub const LEVELS: [ConfinementLevel; 3] =
    [ConfinementLevel::Ns, ConfinementLevel::Bwrap, ConfinementLevel::Landlock];
/// The levels of macOS, the strongest first.
#[cfg(target_os = "macos")]
pub const LEVELS: [ConfinementLevel; 1] = [ConfinementLevel::Seatbelt];
/// This system has no levels.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub const LEVELS: [ConfinementLevel; 0] = [];

/// Runs processes, each alone in a sandbox.
pub struct Sandbox(Arc<SystemBackend>);

/// The reason why no level of sandbox is available.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("no sandbox can be had here: {}", why(tried, &LEVELS))]
pub struct SandboxUnavailable {
    /// Each level that was tried, and the reason of its failure.
    pub tried: Vec<(ConfinementLevel, String)>,
}

fn why(tried: &[(ConfinementLevel, String)], levels: &[ConfinementLevel]) -> String {
    match (tried, levels) {
        ([], []) => "this system has no sandbox that Agentry knows".to_owned(),
        ([], levels) => {
            let levels: Vec<&str> = levels.iter().map(|level| level.as_str()).collect();
            format!(
                "sandbox.minimum asks for more than this system has, which is {}",
                levels.join(", ")
            )
        }
        (tried, _) => {
            let tried: Vec<String> =
                tried.iter().map(|(level, why)| format!("{level}: {why}")).collect();
            tried.join("; ")
        }
    }
}

impl Sandbox {
    /// Opens the strongest level down to `minimum` that is available and passes its trial.
    ///
    /// # Errors
    /// When there is none; the error lists what was tried.
    pub fn open(
        setup: &SandboxSetup,
        minimum: ConfinementLevel,
    ) -> Result<(Self, Attestation), SandboxUnavailable> {
        let mut tried = Vec::new();
        for level in LEVELS.into_iter().filter(|level| *level <= minimum) {
            match Self::open_level(setup, level) {
                Ok(opened) => return Ok(opened),
                Err(why) => tried.push((level, why)),
            }
        }
        Err(SandboxUnavailable { tried })
    }

    /// Opens one level and tries it.
    ///
    /// # Errors
    /// When the level is unavailable, or an escape succeeded.
    pub fn open_level(
        setup: &SandboxSetup,
        level: ConfinementLevel,
    ) -> Result<(Self, Attestation), String> {
        let (own, attestation) = SystemBackend::open_level(setup, level)?;
        let got_out: Vec<&str> = attestation
            .escapes
            .iter()
            .filter(|escape| !escape.stopped)
            .map(|escape| &*escape.attempt)
            .collect();
        if got_out.is_empty() {
            Ok((Self(Arc::new(own)), attestation))
        } else {
            Err(format!("it does not hold: a process in it could {}", got_out.join(", ")))
        }
    }

    /// Returns the enforcing level.
    pub fn level(&self) -> ConfinementLevel {
        self.0.level()
    }

    /// Returns the user that must own files which a process reads or writes. None if files keep
    /// their owner: the process runs as our user, or mounts map the owner.
    pub fn owner_of_files(&self, confinement: &Confinement) -> Option<u32> {
        self.0.owner_of_files(confinement)
    }

    /// Runs a command to its end, or ends it on timeout or cancellation.
    ///
    /// # Errors
    /// When the sandbox could not be built, or the command could not be started or watched.
    pub fn run(&self, job: &SandboxJob<'_>, stop: &CancelToken) -> Result<ProcessOutcome, Error> {
        Backend::run(&*self.0, job, stop)
    }

    /// Starts a long-lived program in a sandbox of its own. The program has started when this
    /// returns; `stop` cancels the start only.
    ///
    /// The program is one guarded call from its start to its end: the protected files of its
    /// writable places are read-only for it, are checked every few seconds, and any change to them
    /// is undone and reported, even if the user made it. It is ended when it would otherwise see
    /// or change more than a program that starts now: when such a check cannot be finished, when a
    /// mounted file or directory was replaced, or when a file has appeared that must be hidden.
    ///
    /// # Errors
    /// When the sandbox could not be built, or the program could not be started.
    pub fn spawn(&self, job: SpawnJob, stop: &CancelToken) -> Result<SandboxedChild, Error> {
        Backend::spawn(&self.0, job, stop)
    }

    /// Starts a role of this binary in a sandbox of its own.
    ///
    /// # Errors
    /// When the sandbox could not be built.
    pub fn serve(
        &self,
        role: &str,
        arguments: Value,
        confinement: &Confinement,
    ) -> Result<SandboxedService, Error> {
        Backend::serve(&*self.0, role, arguments, confinement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_without_a_sandbox_says_so() {
        assert_eq!(why(&[], &[]), "this system has no sandbox that Agentry knows");
        let wanted = "sandbox.minimum asks for more than this system has, which is seatbelt";
        assert_eq!(why(&[], &[ConfinementLevel::Seatbelt]), wanted);
    }

    #[test]
    fn every_level_that_was_tried_is_named_with_its_reason() {
        let tried = [
            (ConfinementLevel::Ns, "no".to_owned()),
            (ConfinementLevel::Bwrap, "not there".to_owned()),
        ];
        assert_eq!(why(&tried, &LEVELS), "ns: no; bwrap: not there");
    }
}
