//! What confines the processes of runs: a sandbox, nothing because the operator wants it so, or nothing at all.
//!
//! Must never: let a call run that should be confined and is not.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::{
    Attestation, Confinement, ConfinementLevel, ConfinementProfile, Connection, NetworkAccess,
};
use agentry_protocol::event::Event;
use agentry_sandbox::{PrivateDirectory, Sandbox};
use agentry_tools::{SandboxSession, ToolSandbox};

/// What confines.
pub enum Enforcer {
    /// A sandbox that was tried and holds.
    Sandbox(Box<AttestedSandbox>),
    /// Nothing; the operator wants it so.
    Off,
    /// Nothing, and calls that need a sandbox are refused. This is why.
    Missing(String),
}

/// A sandbox that was tried and holds.
pub struct AttestedSandbox {
    sandbox: Arc<Sandbox>,
    attestation: Attestation,
    /// Where the homes of runs are made.
    run_homes: PathBuf,
    /// One for each confinement and workspace, so that their helpers live on from turn to turn.
    confined: Mutex<HashMap<ContentHash, Arc<SandboxSession>>>,
}

/// The same for one turn.
#[derive(Clone)]
pub(crate) enum TurnSandbox {
    In(Arc<SandboxSession>),
    Off,
    Missing(Arc<str>),
}

impl Enforcer {
    /// A sandbox, with what it was found to be worth, and where the homes of runs are made.
    pub fn sandbox(sandbox: Sandbox, attestation: Attestation, run_homes: PathBuf) -> Self {
        let (sandbox, confined) = (Arc::new(sandbox), Mutex::default());
        Self::Sandbox(Box::new(AttestedSandbox { sandbox, attestation, run_homes, confined }))
    }

    /// Where the tools of a turn of a run do their work: as `confining`, with the home that the run has for this
    /// authority. A home that cannot be made means that nothing runs.
    pub(crate) fn confining_in_run(
        &self,
        confinement: &Confinement,
        workspace: &Path,
        homes: &RunHomes,
    ) -> TurnSandbox {
        let confining = self.confining(confinement, workspace);
        let (Self::Sandbox(opened), TurnSandbox::In(confined)) = (self, &confining) else {
            return confining;
        };
        if confinement.home.is_some() || !opened.gives_run_home(confinement) {
            return confining;
        }
        match homes.home(&opened.run_homes, confinement) {
            Ok(home) => TurnSandbox::In(Arc::new(confined.with_home(home))),
            Err(error) => {
                let place = opened.run_homes.display();
                let why = format!("the home of the run cannot be made in {place}: {error}");
                TurnSandbox::Missing(why.into())
            }
        }
    }

    /// What a confinement that is made now is enforced by. Without a sandbox it is the one that is missing.
    pub fn level(&self) -> ConfinementLevel {
        match self {
            Self::Sandbox(opened) => opened.attestation.level,
            Self::Off => ConfinementLevel::Off,
            Self::Missing(_) => ConfinementLevel::Ns,
        }
    }

    /// What the sandbox was found to be worth; none without one.
    pub fn attestation(&self) -> Option<&Attestation> {
        match self {
            Self::Sandbox(opened) => Some(&opened.attestation),
            Self::Off | Self::Missing(_) => None,
        }
    }

    /// What a run records about it.
    pub(crate) fn event(&self) -> Option<Event> {
        match self {
            Self::Sandbox(opened) => {
                Some(Event::SandboxOpened { attestation: opened.attestation.clone() })
            }
            Self::Off => None,
            Self::Missing(why) => Some(Event::SandboxMissing { why: why.clone() }),
        }
    }

    /// Where the tools of a turn do their work. A turn that began under another level, or without one, does not
    /// go on with less.
    pub(crate) fn confining(&self, confinement: &Confinement, workspace: &Path) -> TurnSandbox {
        match (self, confinement.level) {
            (Self::Off, ConfinementLevel::Off) => TurnSandbox::Off,
            (Self::Off, _) => TurnSandbox::Missing(
                "the turn began in a sandbox, and now the sandbox is off; start a new run".into(),
            ),
            (Self::Missing(why), _) => TurnSandbox::Missing(why.as_str().into()),
            (Self::Sandbox(opened), level) if level == opened.attestation.level => {
                TurnSandbox::In(opened.confined(confinement, workspace))
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

/// The homes of one run, removed with it: one for each authority, since the steps of a task may have several agents.
#[derive(Debug, Default)]
pub(crate) struct RunHomes(Mutex<HashMap<Option<ContentHash>, PrivateDirectory>>);

impl RunHomes {
    fn home(&self, parent: &Path, confinement: &Confinement) -> std::io::Result<String> {
        let mut homes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let home = match homes.entry(confinement.authority.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(PrivateDirectory::new_in(parent)?),
        };
        Ok(home.path().display().to_string())
    }
}

impl AttestedSandbox {
    /// Whether commands keep a home within a run. Agents from elsewhere do not; nor does the user that root's commands
    /// run as where files cannot be lent to it, since it could not reach the home.
    fn gives_run_home(&self, confinement: &Confinement) -> bool {
        let cannot_lend =
            self.attestation.level == ConfinementLevel::Landlock && self.attestation.own_user;
        match confinement.profile {
            ConfinementProfile::Untrusted => false,
            ConfinementProfile::Trusted | ConfinementProfile::Host => !cannot_lend,
        }
    }

    fn confined(&self, confinement: &Confinement, workspace: &Path) -> Arc<SandboxSession> {
        let key = format!("{} {}", confinement.hash(), workspace.display());
        let mut known = self.confined.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            if let Some(home) = &confinement.home {
                // If it cannot be made, the first call says so: the sandbox cannot be built without it.
                make_home(Path::new(home)).unwrap_or_default();
            }
            let (sandbox, workspace) = (self.sandbox.clone(), workspace.to_owned());
            Arc::new(SandboxSession::new(sandbox, confinement.clone(), workspace))
        };
        known.entry(ContentHash::of(key.as_bytes())).or_insert_with(new).clone()
    }
}

/// A home that persists, which only we enter.
fn make_home(home: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home)
}

impl TurnSandbox {
    /// The same, with somebody who is told of connections.
    pub(crate) fn telling(
        &self,
        tell: impl FnOnce() -> Arc<dyn Fn(Connection) + Send + Sync>,
    ) -> Self {
        match self {
            Self::In(confined) => Self::In(Arc::new(confined.telling(tell()))),
            Self::Off | Self::Missing(_) => self.clone(),
        }
    }

    /// What may be reached; nothing means that nobody says.
    pub(crate) fn network(&self) -> Option<&NetworkAccess> {
        match self {
            Self::In(confined) => Some(&confined.confinement().network),
            Self::Missing(_) => Some(&NetworkAccess::None),
            Self::Off => None,
        }
    }

    /// The same for the tools.
    pub(crate) fn confines(&self) -> ToolSandbox<'_> {
        match self {
            Self::In(confined) => ToolSandbox::In(confined),
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
        let (one, other) = (RunHomes::default(), RunHomes::default());
        let first = one.home(parent.path(), &of("coder")).unwrap();
        assert_eq!(one.home(parent.path(), &of("coder")).unwrap(), first);
        let second = one.home(parent.path(), &of("writer")).unwrap();
        let of_another_run = other.home(parent.path(), &of("coder")).unwrap();
        assert!(first != second && first != of_another_run);
        drop((one, other));
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
