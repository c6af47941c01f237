//! The filter of system calls that a confined process runs under.
//!
//! Two programs, and the kernel obeys the stricter of their answers: the first has the allowed
//! calls, so that an unforeseen call does not exist; the second has the refused calls, and the
//! process sees its answer.
//!
//! Must never: allow a call because it is new, or look at memory that the process can change.

mod allowlist;
mod calls;
mod denylist;
mod ranges;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch};

use crate::linux::StepError;

/// The error of a call that is not on the allowlist: there is no such call.
const NOT_THERE: u16 = 38;
const _: () = assert!(NOT_THERE as i32 == libc::ENOSYS, "the number is that of the system");

/// The kind of process that a filter is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// An ordinary program in namespaces of its own.
    Command {
        /// True if it may make Unix sockets; false where it can see those of others.
        unix_sockets: bool,
    },
    /// Our own code in namespaces of its own, which serves the file tools.
    Own {
        /// True if it may make Unix sockets.
        unix_sockets: bool,
    },
    /// An ordinary program that shares the network and the other namespaces with us.
    CommandNoNet {
        /// True if it may make Unix sockets; only where Landlock bounds them.
        unix_sockets: bool,
    },
    /// Our own code that shares the network and the other namespaces with us.
    OwnNoNet,
}

impl Kind {
    /// Returns true for our own code.
    fn is_own(self) -> bool {
        match self {
            Self::Own { .. } | Self::OwnNoNet => true,
            Self::Command { .. } | Self::CommandNoNet { .. } => false,
        }
    }

    /// Returns true if it sees the network, the message queues and the processes of the machine.
    fn is_shared(self) -> bool {
        match self {
            Self::CommandNoNet { .. } | Self::OwnNoNet => true,
            Self::Command { .. } | Self::Own { .. } => false,
        }
    }

    /// Returns true if it may make Unix sockets.
    fn has_unix_sockets(self) -> bool {
        match self {
            Self::Command { unix_sockets }
            | Self::Own { unix_sockets }
            | Self::CommandNoNet { unix_sockets } => unix_sockets,
            Self::OwnNoNet => false,
        }
    }
}

/// A filter that is ready to be installed, any number of times.
#[derive(Clone, Debug)]
pub(crate) struct SyscallFilter {
    // Invariant: in the order of installation; of two refusals the kernel takes the later one.
    programs: [BpfProgram; 2],
}

impl SyscallFilter {
    /// Compiles the filter for one kind of process.
    pub(crate) fn new(kind: Kind) -> Result<Self, StepError> {
        let denied = denylist::rules(kind).map_err(compiling)?;
        Ok(Self {
            programs: [
                // Programs ask for a new call and fall back when it does not exist.
                ranges::program(&allowlist::calls(kind), NOT_THERE),
                program(
                    denied,
                    SeccompAction::Allow,
                    SeccompAction::Errno(libc::EPERM.cast_unsigned()),
                )?,
            ],
        })
    }

    /// Puts the calling thread, and all that it starts, under the filter for good.
    pub(crate) fn install(&self) -> Result<(), StepError> {
        self.programs
            .iter()
            .try_for_each(|program| seccompiler::apply_filter(program).map_err(installing))
    }
}

fn program(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> Result<BpfProgram, StepError> {
    let machine = TargetArch::try_from(std::env::consts::ARCH).map_err(compiling)?;
    let filter = SeccompFilter::new(rules, otherwise, matched, machine).map_err(compiling)?;
    filter.try_into().map_err(compiling)
}

fn compiling(error: seccompiler::BackendError) -> StepError {
    StepError::refused("make the filter of calls (seccomp)", error.to_string())
}

fn installing(error: seccompiler::Error) -> StepError {
    use seccompiler::Error;
    match error {
        Error::Prctl(cause) => StepError::new("give up new privileges (prctl)", cause),
        Error::Seccomp(cause) => StepError::new("install the filter of calls (seccomp)", cause),
        other @ (Error::Backend(_) | Error::EmptyFilter | Error::ThreadSync(_)) => StepError::new(
            "install the filter of calls (seccomp)",
            io::Error::other(other.to_string()),
        ),
    }
}
