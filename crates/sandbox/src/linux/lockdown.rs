//! Confines the process that is about to become the program: its limits, paths and system calls.
//!
//! Must never: continue after a failed step.

use std::io;
use std::sync::OnceLock;

use agentry_protocol::confinement::ConfinementLevel;

use crate::limits::LANDLOCK_ABI_MIN;
use crate::linux::landlock::{self, LandlockPath, LandlockRules};
use crate::linux::seccomp::{Kind, SyscallFilter};
use crate::linux::{StepError, rlimits};
use crate::spec::{SandboxFailure, SandboxSpec, SandboxedProgram};

/// Returns the kind of system call filter for a program.
pub(crate) fn kind(spec: &SandboxSpec) -> Kind {
    let is_own = match &spec.program {
        SandboxedProgram::Role { .. } => true,
        SandboxedProgram::Command { .. } => false,
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

/// Returns the number of cores. Asked by the helper, once: the answer takes reading every mount.
pub(crate) fn cores() -> u64 {
    static CORES: OnceLock<u64> = OnceLock::new();
    *CORES.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        u64::try_from(cores).unwrap_or(1)
    })
}

/// Confines this process for good.
pub(crate) fn apply(spec: &SandboxSpec, filter: &SyscallFilter) -> Result<(), SandboxFailure> {
    rlimits::limit(&spec.limits, cores()).map_err(trouble)?;
    let allowed = |paths: &[std::path::PathBuf]| paths.iter().map(LandlockPath::required).collect();
    let rules = LandlockRules {
        read: allowed(&spec.fence.read),
        write: allowed(&spec.fence.write),
        deny_tcp: spec.level == ConfinementLevel::Landlock,
        abi_min: LANDLOCK_ABI_MIN,
    };
    landlock::restrict(&rules).map_err(trouble)?;
    filter.install().map_err(trouble)
}

pub(crate) fn trouble(failed: StepError) -> SandboxFailure {
    let StepError { step, cause } = failed;
    let mut trouble = SandboxFailure::new(step, &cause);
    if cause.kind() == io::ErrorKind::Unsupported {
        trouble.why = "this kernel does not have it".to_owned();
    }
    trouble
}
