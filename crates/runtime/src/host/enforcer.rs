//! The enforcer of confinements: a sandbox, or none because it is switched off or missing.
//!
//! Must never: let a call run unconfined that should be confined.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentry_protocol::confinement::{
    Attestation, Confinement, ConfinementLevel, ConfinementProfile, Connection, NetworkAccess,
};
use agentry_protocol::event::Event;
use agentry_protocol::{ContentHash, RunId};
use agentry_sandbox::{PrivateDirectory, Sandbox};
use agentry_tools::{SandboxSession, ToolSandbox};
use serde::{Deserialize, Serialize};

/// The enforcer of all confinements of this process.
pub enum Enforcer {
    /// A sandbox that passed its escape tests.
    Sandbox(Box<AttestedSandbox>),
    /// No sandbox, by the operator's choice.
    Off,
    /// No sandbox, for this reason; calls that need one are refused.
    Missing(String),
}

/// A sandbox with the results of its escape tests.
pub struct AttestedSandbox {
    sandbox: Arc<Sandbox>,
    attestation: Attestation,
    /// The directory in which the homes of runs are created.
    run_homes: PathBuf,
    /// One session per confinement and workspace, so that helpers live on from turn to turn.
    sessions: Mutex<HashMap<ContentHash, Arc<SandboxSession>>>,
}

/// The place where the tools and programs of a turn run, as a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The confinement of each process.
    pub confinement: Confinement,
    /// The run whose home for this authority commands use; None without such a home.
    pub run_home: Option<RunId>,
}

/// A placement with its sandbox on this machine.
#[derive(Clone)]
pub(crate) struct ResolvedPlacement {
    value: Arc<Placement>,
    sandbox: TurnSandbox,
}

/// The sandbox of a placement.
#[derive(Clone)]
pub enum TurnSandbox {
    /// In this session of a sandbox.
    In(Arc<SandboxSession>),
    /// Without a sandbox, by the operator's choice.
    Off,
    /// Nowhere: there is no sandbox, for this reason.
    Missing(Arc<str>),
}

impl Enforcer {
    /// Returns an enforcer with an attested sandbox that creates run homes in `run_homes`.
    pub fn sandbox(sandbox: Sandbox, attestation: Attestation, run_homes: PathBuf) -> Self {
        let (sandbox, sessions) = (Arc::new(sandbox), Mutex::default());
        Self::Sandbox(Box::new(AttestedSandbox { sandbox, attestation, run_homes, sessions }))
    }

    /// Returns the placement of work outside of a turn.
    pub(crate) fn placement(
        &self,
        confinement: Confinement,
        workspace: &Path,
    ) -> ResolvedPlacement {
        let sandbox = self.sandbox_for(&confinement, workspace);
        ResolvedPlacement::new(Placement { confinement, run_home: None }, sandbox)
    }

    /// Returns the placement of a turn's tools, with the run's home for this authority.
    pub(crate) fn placement_in_run(
        &self,
        confinement: Confinement,
        workspace: &Path,
        homes: &RunHomes,
    ) -> ResolvedPlacement {
        let sandbox = self.sandbox_in_run(&confinement, workspace, homes);
        ResolvedPlacement::new(
            Placement { confinement, run_home: Some(homes.run.clone()) },
            sandbox,
        )
    }

    /// Returns the sandbox, as `sandbox_for` does, with the run's home for this authority. If the
    /// home cannot be created, no call runs.
    fn sandbox_in_run(
        &self,
        confinement: &Confinement,
        workspace: &Path,
        homes: &RunHomes,
    ) -> TurnSandbox {
        let sandbox = self.sandbox_for(confinement, workspace);
        let (Self::Sandbox(opened), TurnSandbox::In(session)) = (self, &sandbox) else {
            return sandbox;
        };
        if confinement.home.is_some() || !opened.gives_run_home(confinement) {
            return sandbox;
        }
        match homes.home(&opened.run_homes, confinement) {
            Ok(home) => TurnSandbox::In(Arc::new(session.with_home(home))),
            Err(error) => {
                let place = opened.run_homes.display();
                let why = format!("the home of the run cannot be made in {place}: {error}");
                TurnSandbox::Missing(why.into())
            }
        }
    }

    /// Returns the level that a new confinement gets; without a sandbox, that of the missing one.
    pub fn level(&self) -> ConfinementLevel {
        match self {
            Self::Sandbox(opened) => opened.attestation.level,
            Self::Off => ConfinementLevel::Off,
            Self::Missing(_) => ConfinementLevel::Ns,
        }
    }

    /// Returns the results of the escape tests; None without a sandbox.
    pub fn attestation(&self) -> Option<&Attestation> {
        match self {
            Self::Sandbox(opened) => Some(&opened.attestation),
            Self::Off | Self::Missing(_) => None,
        }
    }

    /// Returns the event that records the sandbox of a run; None if it is switched off.
    pub(crate) fn event(&self) -> Option<Event> {
        match self {
            Self::Sandbox(opened) => {
                Some(Event::SandboxOpened { attestation: opened.attestation.clone() })
            }
            Self::Off => None,
            Self::Missing(why) => Some(Event::SandboxMissing { why: why.clone() }),
        }
    }

    /// Returns the sandbox of a confinement. A turn that began under another level, or with a
    /// sandbox that is off now, is refused: it must not continue with less.
    fn sandbox_for(&self, confinement: &Confinement, workspace: &Path) -> TurnSandbox {
        match (self, confinement.level) {
            (Self::Off, ConfinementLevel::Off) => TurnSandbox::Off,
            (Self::Off, _) => TurnSandbox::Missing(
                "the turn began in a sandbox, and now the sandbox is off; start a new run".into(),
            ),
            (Self::Missing(why), _) => TurnSandbox::Missing(why.as_str().into()),
            (Self::Sandbox(opened), level) if level == opened.attestation.level => {
                TurnSandbox::In(opened.session(confinement, workspace))
            }
            (Self::Sandbox(opened), level) => {
                let now = opened.attestation.level;
                let why = format!(
                    "the turn began with the sandbox at level {level}, and now it is {now}; \
                     start a new run"
                );
                TurnSandbox::Missing(why.into())
            }
        }
    }
}

/// The homes of one run, one per authority (task steps may differ in agent); dropped with the run.
#[derive(Debug)]
pub(crate) struct RunHomes {
    run: RunId,
    homes: Mutex<HashMap<Option<ContentHash>, PrivateDirectory>>,
}

impl RunHomes {
    pub(crate) fn new(run: RunId) -> Self {
        Self { run, homes: Mutex::default() }
    }

    fn home(&self, parent: &Path, confinement: &Confinement) -> std::io::Result<String> {
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        let home = match homes.entry(confinement.authority.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(PrivateDirectory::new_in(parent)?),
        };
        Ok(home.path().display().to_string())
    }
}

impl AttestedSandbox {
    /// True if commands keep a home within a run. Not for untrusted agents, nor for the separate
    /// user of root's commands where files cannot be lent to it: it could not reach the home.
    fn gives_run_home(&self, confinement: &Confinement) -> bool {
        let cannot_lend =
            self.attestation.level == ConfinementLevel::Landlock && self.attestation.own_user;
        match confinement.profile {
            ConfinementProfile::Untrusted => false,
            ConfinementProfile::Trusted | ConfinementProfile::Host => !cannot_lend,
        }
    }

    fn session(&self, confinement: &Confinement, workspace: &Path) -> Arc<SandboxSession> {
        let key = format!("{} {}", confinement.hash(), workspace.display());
        let mut known = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            if let Some(home) = &confinement.home {
                prepare_home(Path::new(home));
            }
            let (sandbox, workspace) = (self.sandbox.clone(), workspace.to_owned());
            Arc::new(SandboxSession::new(sandbox, confinement.clone(), workspace))
        };
        known.entry(ContentHash::of(key.as_bytes())).or_insert_with(new).clone()
    }
}

/// Creates a persistent home that only this user may enter. The sandbox needs the home, so without
/// it the first command fails, and its error names the home.
fn prepare_home(home: &Path) {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home).ok();
}

impl ResolvedPlacement {
    fn new(value: Placement, sandbox: TurnSandbox) -> Self {
        Self { value: Arc::new(value), sandbox }
    }

    /// Returns a placement in which nothing runs, for this reason.
    pub(crate) fn missing(why: &str) -> Self {
        let value = Placement { confinement: Confinement::most_restricted(), run_home: None };
        Self::new(value, TurnSandbox::Missing(why.into()))
    }

    /// Returns the placement as a value.
    pub(crate) fn value(&self) -> &Arc<Placement> {
        &self.value
    }

    /// Returns the sandbox on this machine.
    pub(crate) fn sandbox(&self) -> &TurnSandbox {
        &self.sandbox
    }

    /// Returns a copy that reports each network connection to a listener.
    pub(crate) fn reporting(
        &self,
        listener: impl FnOnce() -> Arc<dyn Fn(Connection) + Send + Sync>,
    ) -> Self {
        let sandbox = match &self.sandbox {
            TurnSandbox::In(session) => TurnSandbox::In(Arc::new(session.telling(listener()))),
            TurnSandbox::Off | TurnSandbox::Missing(_) => self.sandbox.clone(),
        };
        Self { value: self.value.clone(), sandbox }
    }
}

impl TurnSandbox {
    /// Returns the network access of the tools; None if no sandbox limits it.
    pub(crate) fn network(&self) -> Option<&NetworkAccess> {
        match self {
            Self::In(session) => Some(&session.confinement().network),
            Self::Missing(_) => Some(&NetworkAccess::None),
            Self::Off => None,
        }
    }

    /// Returns the sandbox in the form that the tools take.
    pub(crate) fn for_tools(&self) -> ToolSandbox<'_> {
        match self {
            Self::In(session) => ToolSandbox::In(session),
            Self::Off => ToolSandbox::Off,
            Self::Missing(why) => ToolSandbox::Missing(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_authorities_of_one_run_have_two_homes_that_go_with_it() {
        let parent = tempfile::tempdir().unwrap();
        let of = |name: &str| Confinement {
            authority: Some(ContentHash::of(name.as_bytes())),
            ..Confinement::most_restricted()
        };
        let homes = |number| RunHomes::new(RunId::from_number(number));
        let (one, other) = (homes(1), homes(2));
        let first = one.home(parent.path(), &of("coder")).unwrap();
        assert_eq!(one.home(parent.path(), &of("coder")).unwrap(), first);
        let second = one.home(parent.path(), &of("writer")).unwrap();
        let of_another_run = other.home(parent.path(), &of("coder")).unwrap();
        assert!(first != second && first != of_another_run);
        drop((one, other));
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
