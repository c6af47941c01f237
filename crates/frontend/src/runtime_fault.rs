//! Faults of the runtime's errors: who can act, and what to do.
//!
//! Must never: drop the text of an error.

use agentry_runtime::Error;
use agentry_runtime::definitions::project_error::ProjectError;
use agentry_runtime::secret_store::SecretStoreError;
use agentry_runtime::turn::fork::ForkError;
use agentry_store::ErrorClass;

use crate::fault::{Blame, Fault};

impl From<SecretStoreError> for Fault {
    fn from(error: SecretStoreError) -> Self {
        let blame = match &error {
            SecretStoreError::Value { .. } | SecretStoreError::NoKeyring => Blame::Caller,
            SecretStoreError::NoDirectory
            | SecretStoreError::Unusable { .. }
            | SecretStoreError::Exposed { .. }
            | SecretStoreError::Io { .. }
            | SecretStoreError::Keyring { .. } => Blame::Machine,
        };
        let fault = Self::new(blame, error.to_string());
        match error {
            SecretStoreError::NoDirectory => fault.hint("set AGENTRY_HOME to a directory"),
            SecretStoreError::Unusable { .. } => {
                fault.hint("fix it, or remove it and set the secrets again")
            }
            SecretStoreError::Exposed { path, wanted, .. } => fault.hint(format!(
                "chmod {wanted:o} {}; then replace the secrets that others may have read",
                path.display()
            )),
            SecretStoreError::Keyring { .. } => fault
                .hint("unlock the keyring, or keep secrets in the file: secrets.store = \"file\""),
            SecretStoreError::NoKeyring => {
                fault.hint("build it with `--features keyring`, or set secrets.store = \"file\"")
            }
            SecretStoreError::Value { .. } | SecretStoreError::Io { .. } => fault,
        }
    }
}

impl From<ProjectError> for Fault {
    fn from(error: ProjectError) -> Self {
        let text = error.to_string();
        match error {
            ProjectError::Unreadable { .. } => Self::new(Blame::Caller, text)
                .hint("name an existing directory or file that you may read"),
            ProjectError::Directory { .. } | ProjectError::ChangedPolicies(_) => {
                Self::new(Blame::Caller, text)
            }
            ProjectError::Settings { in_flags, .. } => {
                let blame = if in_flags { Blame::Caller } else { Blame::Agent };
                Self::new(blame, text).hint("`agentry config show` shows them with excerpts")
            }
            ProjectError::Policies(_) => Self::new(Blame::Caller, text)
                .hint("`agentry access check` shows them with excerpts"),
            ProjectError::Template(_) => Self::new(Blame::Agent, text),
            ProjectError::Renderer(_) | ProjectError::Thread(_) => Self::new(Blame::Machine, text),
            ProjectError::NoAgent { hint, .. } => Self::new(Blame::Caller, text).hint(hint),
            ProjectError::BrokenAgent { .. } => {
                Self::new(Blame::Agent, text).hint("`agentry check` shows all its errors")
            }
            ProjectError::SeveralAgents { .. } => {
                Self::new(Blame::Caller, text).hint("choose one with --agent")
            }
            ProjectError::Ledger(error) => store_fault(error),
        }
    }
}

/// Turns an error of the runtime into a fault with a hint.
pub fn fault(error: Error) -> Fault {
    match error {
        Error::Ledger(error) => store_fault(error),
        Error::Model(error) => Fault::new(Blame::Caller, error.to_string())
            .hint("`agentry models` lists the available models; choose one with --model"),
        Error::Workspace { .. }
        | Error::Definition(_)
        | Error::Unready(_)
        | Error::Ended { .. } => Fault::new(Blame::Caller, error.to_string()),
        Error::Denied(_) => Fault::new(Blame::Access, error.to_string())
            .hint("`agentry access test --principal owner` shows each policy's part"),
        Error::Untrusted { ref place, .. } => {
            let hint = format!("review the programs with `agentry trust {place}`");
            Fault::new(Blame::Access, error.to_string()).hint(hint)
        }
        Error::Diverged { .. } => Fault::new(Blame::Machine, error.to_string()),
        Error::Halted(_) => Fault::new(Blame::Us, error.to_string())
            .hint("`agentry show` has the record; the run can be resumed"),
    }
}

/// Turns an error of the store into a fault.
pub fn store_fault(error: agentry_store::Error) -> Fault {
    let blame = match error.class() {
        ErrorClass::NotFound
        | ErrorClass::Ambiguous
        | ErrorClass::Conflict
        | ErrorClass::InUse
        | ErrorClass::NothingToDo => Blame::Caller,
        ErrorClass::Unstorable | ErrorClass::Stale => Blame::Us,
        ErrorClass::Unavailable
        | ErrorClass::StorageFull
        | ErrorClass::Damaged
        | ErrorClass::Unsuitable
        | ErrorClass::Backend => Blame::Machine,
    };
    Fault::new(blame, error.to_string())
}

/// Turns a failed fork into a fault with a hint.
pub fn fork_fault(no: ForkError) -> Fault {
    let blame = match no {
        ForkError::UnderWay(_) => {
            return Fault::new(Blame::Caller, no.to_string())
                .hint("resume or cancel its run first, or fork the turn before it");
        }
        ForkError::Ledger(error) => return store_fault(error),
        ForkError::NoSession(_) => Blame::Us,
        ForkError::Name(_) => Blame::Caller,
    };
    Fault::new(blame, no.to_string())
}
