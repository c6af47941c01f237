//! Confines the process that is about to become the program: what it may spend, write and ask of the kernel.
//!
//! Must never: go on after a step that did not work.

use std::io;
use std::sync::OnceLock;

use agentry_protocol::confinement::ConfinementLevel;

use crate::limits::LANDLOCK_ABI_MIN;
use crate::linux::landlock::{self, Allowed, Rules};
use crate::linux::seccomp::{Filter, Kind};
use crate::linux::{Failed, spend};
use crate::spec::{Program, Spec, Trouble};

/// What the kernel is asked to refuse to a program.
pub(crate) fn kind(spec: &Spec) -> Kind {
    let is_own = match &spec.program {
        Program::Role { .. } => true,
        Program::Command { .. } => false,
    };
    let unix_sockets = spec.unix_sockets;
    match (spec.level, is_own) {
        (ConfinementLevel::Ns | ConfinementLevel::Bwrap, true) => Kind::Own { unix_sockets },
        (ConfinementLevel::Ns | ConfinementLevel::Bwrap, false) => Kind::Command { unix_sockets },
        (ConfinementLevel::Landlock | ConfinementLevel::Seatbelt | ConfinementLevel::Off, true) => {
            Kind::OwnNoNet
        }
        (
            ConfinementLevel::Landlock | ConfinementLevel::Seatbelt | ConfinementLevel::Off,
            false,
        ) => Kind::CommandNoNet { unix_sockets: false },
    }
}

/// How many cores there are. Asked by the helper, once: the answer takes reading every mount.
pub(crate) fn cores() -> u64 {
    static CORES: OnceLock<u64> = OnceLock::new();
    *CORES.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        u64::try_from(cores).unwrap_or(1)
    })
}

/// Puts this process behind the fence, for good.
pub(crate) fn raise(spec: &Spec, filter: &Filter) -> Result<(), Trouble> {
    spend::limit(&spec.limits, cores()).map_err(trouble)?;
    let allowed = |paths: &[std::path::PathBuf]| paths.iter().map(Allowed::required).collect();
    let rules = Rules {
        read: allowed(&spec.fence.read),
        write: allowed(&spec.fence.write),
        deny_tcp: spec.level == ConfinementLevel::Landlock,
        abi_min: LANDLOCK_ABI_MIN,
    };
    landlock::restrict(&rules).map_err(trouble)?;
    filter.install().map_err(trouble)
}

pub(crate) fn trouble(failed: Failed) -> Trouble {
    let Failed { step, cause } = failed;
    let mut trouble = Trouble::new(step, &cause);
    if cause.kind() == io::ErrorKind::Unsupported {
        trouble.why = "this kernel does not have it".to_owned();
    }
    trouble
}
