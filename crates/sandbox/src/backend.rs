//! The sandbox as the other crates see it, the same on every system, and what each system has to offer for it.
//!
//! Must never: call a level good that one escape got through, or run anything where there is no sandbox.

use std::path::PathBuf;
use std::sync::Arc;

use agentry_protocol::confinement::{Attestation, Confinement, ConfinementLevel, Connection};
use serde_json::Value;
use thiserror::Error as ThisError;

use crate::cancel::CancelToken;
use crate::child::{Command, Error, ProcessBounds, ProcessOutcome};
use crate::egress::Resolver;
#[cfg(target_os = "linux")]
use crate::linux_backend::LinuxBackend as SystemBackend;
#[cfg(target_os = "macos")]
use crate::macos::MacosBackend as SystemBackend;
use crate::service::SandboxedService;
use crate::stdio_pump::OutputCallback;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
use crate::unsupported::UnsupportedBackend as SystemBackend;

/// The levels of this system, the strongest first.
#[cfg(target_os = "linux")]
pub const LEVELS: [ConfinementLevel; 3] =
    [ConfinementLevel::Ns, ConfinementLevel::Bwrap, ConfinementLevel::Landlock];
/// The levels of this system, the strongest first.
#[cfg(target_os = "macos")]
pub const LEVELS: [ConfinementLevel; 1] = [ConfinementLevel::Seatbelt];
/// The levels of this system, the strongest first.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub const LEVELS: [ConfinementLevel; 0] = [];

/// What a sandbox needs of its surroundings.
#[derive(Clone)]
pub struct SandboxSetup {
    /// The binary that is the helper when it gets the helper's verb.
    pub binary: PathBuf,
    /// Where the user's own programs are, as in `PATH`.
    pub path: String,
    /// Where things are put that a call had no right to make.
    pub quarantine: PathBuf,
    /// How names become addresses.
    pub resolve: Resolver,
}

/// What runs confined.
pub struct SandboxJob<'a> {
    /// The program. Its environment is put on top of the sandbox's own.
    pub command: &'a Command,
    /// What it may do.
    pub confinement: &'a Confinement,
    /// Its time and output.
    pub bounds: &'a ProcessBounds,
    /// Told of every connection when it ends.
    pub connected: Arc<dyn Fn(Connection) + Send + Sync>,
    /// Told of output as it comes.
    pub hear: Option<OutputCallback<'a>>,
}

/// What a system must offer to confine processes.
pub(crate) trait Backend: Sized {
    /// Opens one level, and tries the ways out of it.
    fn open_level(
        setup: &SandboxSetup,
        level: ConfinementLevel,
    ) -> Result<(Self, Attestation), String>;

    /// What enforces.
    fn level(&self) -> ConfinementLevel;

    /// Runs a command to its end, or ends it.
    fn run(&self, job: &SandboxJob<'_>, stop: &CancelToken) -> Result<ProcessOutcome, Error>;

    /// Starts a part of ourselves in a sandbox of its own.
    fn serve(
        &self,
        role: &str,
        arguments: Value,
        confinement: &Confinement,
    ) -> Result<SandboxedService, Error>;

    /// Who must own files that a process reads or writes; nothing where it has them as we do.
    fn owner_of_files(&self, _confinement: &Confinement) -> Option<u32> {
        None
    }
}

/// Runs processes, each alone in a sandbox.
pub struct Sandbox(SystemBackend);

/// Why there is no sandbox.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("no sandbox can be had here: {}", why(tried, &LEVELS))]
pub struct SandboxUnavailable {
    /// What was tried, and why it is not to be had.
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
    /// Opens the strongest level that is to be had and holds, down to `minimum`.
    ///
    /// # Errors
    /// When there is none; it says what was tried.
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
    /// When it is not to be had, or something got out of it.
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
            Ok((Self(own), attestation))
        } else {
            Err(format!("it does not hold: a process in it could {}", got_out.join(", ")))
        }
    }

    /// What enforces.
    pub fn level(&self) -> ConfinementLevel {
        self.0.level()
    }

    /// The user that must own files which a process reads or writes. Nothing where it has them as we do: it runs as
    /// us, or files are lent to it by mounts.
    pub fn owner_of_files(&self, confinement: &Confinement) -> Option<u32> {
        self.0.owner_of_files(confinement)
    }

    /// Runs a command to its end, or ends it.
    ///
    /// # Errors
    /// When the sandbox could not be built, or the command could not be started or watched.
    pub fn run(&self, job: &SandboxJob<'_>, stop: &CancelToken) -> Result<ProcessOutcome, Error> {
        Backend::run(&self.0, job, stop)
    }

    /// Starts a part of ourselves in a sandbox of its own.
    ///
    /// # Errors
    /// When the sandbox could not be built.
    pub fn serve(
        &self,
        role: &str,
        arguments: Value,
        confinement: &Confinement,
    ) -> Result<SandboxedService, Error> {
        Backend::serve(&self.0, role, arguments, confinement)
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
