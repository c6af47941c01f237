//! What confines the processes of runs: a sandbox, nothing because the operator wants it so, or nothing at all.
//!
//! Must never: let a call run that should be confined and is not.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::{Attestation, Confinement, Connection, Level, Network};
use agentry_protocol::event::Event;
use agentry_sandbox::Sandbox;
use agentry_tools::{Confined, Confines};

/// What confines.
pub enum Enforcer {
    /// A sandbox that was tried and holds.
    Sandbox(Box<Opened>),
    /// Nothing; the operator wants it so.
    Off,
    /// Nothing, and calls that need a sandbox are refused. This is why.
    Missing(String),
}

/// A sandbox that was tried and holds.
pub struct Opened {
    sandbox: Arc<Sandbox>,
    attestation: Attestation,
    /// One for each confinement and workspace, so that their helpers live on from turn to turn.
    confined: Mutex<HashMap<ContentHash, Arc<Confined>>>,
}

/// The same for one turn.
#[derive(Clone)]
pub(crate) enum Confining {
    In(Arc<Confined>),
    Off,
    Missing(Arc<str>),
}

impl Enforcer {
    /// A sandbox, with what it was found to be worth.
    pub fn sandbox(sandbox: Sandbox, attestation: Attestation) -> Self {
        let (sandbox, confined) = (Arc::new(sandbox), Mutex::default());
        Self::Sandbox(Box::new(Opened { sandbox, attestation, confined }))
    }

    /// What a confinement that is made now is enforced by. Without a sandbox it is the one that is missing.
    pub fn level(&self) -> Level {
        match self {
            Self::Sandbox(opened) => opened.attestation.level,
            Self::Off => Level::Off,
            Self::Missing(_) => Level::Ns,
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
    pub(crate) fn confining(&self, confinement: &Confinement, workspace: &Path) -> Confining {
        match (self, confinement.level) {
            (Self::Off, Level::Off) => Confining::Off,
            (Self::Off, _) => Confining::Missing(
                "the turn began in a sandbox, and now the sandbox is off; start a new run".into(),
            ),
            (Self::Missing(why), _) => Confining::Missing(why.as_str().into()),
            (Self::Sandbox(opened), level) if level == opened.attestation.level => {
                Confining::In(opened.confined(confinement, workspace))
            }
            (Self::Sandbox(opened), level) => {
                let now = opened.attestation.level;
                let why = format!(
                    "the turn began with the sandbox at level {level}, and now it is {now}; \
                     start a new run"
                );
                Confining::Missing(why.into())
            }
        }
    }
}

impl Opened {
    fn confined(&self, confinement: &Confinement, workspace: &Path) -> Arc<Confined> {
        let key = format!("{} {}", confinement.hash(), workspace.display());
        let mut known = self.confined.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            if let Some(home) = &confinement.home {
                // If it cannot be made, the first call says so: the sandbox cannot be built without it.
                make_home(Path::new(home)).unwrap_or_default();
            }
            let (sandbox, workspace) = (self.sandbox.clone(), workspace.to_owned());
            Arc::new(Confined::new(sandbox, confinement.clone(), workspace))
        };
        known.entry(ContentHash::of(key.as_bytes())).or_insert_with(new).clone()
    }
}

/// A directory that is the agent's own.
fn make_home(home: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home)
}

impl Confining {
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
    pub(crate) fn network(&self) -> Option<&Network> {
        match self {
            Self::In(confined) => Some(&confined.confinement().network),
            Self::Missing(_) => Some(&Network::None),
            Self::Off => None,
        }
    }

    /// The same for the tools.
    pub(crate) fn confines(&self) -> Confines<'_> {
        match self {
            Self::In(confined) => Confines::In(confined),
            Self::Off => Confines::Off,
            Self::Missing(why) => Confines::Missing(why),
        }
    }
}
