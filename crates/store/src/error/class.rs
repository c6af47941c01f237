//! Classes of errors, for callers that need a code and not the details.
//!
//! Must never: put two errors into one class if callers answer them differently.

use super::Error;

/// The class of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// No object has the id or name.
    NotFound,
    /// Several objects match the id or name.
    Ambiguous,
    /// The event has no stored form.
    Unstorable,
    /// The recorded state forbids the change, and its author can choose another one.
    Conflict,
    /// The recorded state moved since the caller read it.
    Stale,
    /// Another process owns the intake until it ends.
    InUse,
    /// Another process writes at this moment; the same request may succeed later.
    Unavailable,
    /// The disk has no space left.
    StorageFull,
    /// The record already is in the wanted state.
    NothingToDo,
    /// Entries or artifacts are missing, or differ from what was written.
    Damaged,
    /// The file, or the way in which it was opened, does not fit the operation.
    Unsuitable,
    /// The operating system or the database failed.
    Backend,
}

impl Error {
    /// Returns the class of the error.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Unknown { .. } => ErrorClass::NotFound,
            Self::Ambiguous { .. } => ErrorClass::Ambiguous,
            Self::Unstorable { .. } => ErrorClass::Unstorable,
            Self::SessionExists { .. }
            | Self::NotWaiting { .. }
            | Self::Repeated { .. }
            | Self::IdentityTaken { .. }
            | Self::TokenGone { .. }
            | Self::JobMoved { .. }
            | Self::WorkspaceLocked { .. }
            | Self::HookNameTaken { .. }
            | Self::HookVersion { .. }
            | Self::HookDeleted { .. }
            | Self::Busy { .. } => ErrorClass::Conflict,
            Self::HeadMoved { .. }
            | Self::Handled { .. }
            | Self::Fenced { .. }
            | Self::HooksMatched { .. }
            | Self::HooksPending { .. }
            | Self::InvocationMoved { .. } => ErrorClass::Stale,
            Self::IntakeBusy { .. } => ErrorClass::InUse,
            Self::Locked { .. } => ErrorClass::Unavailable,
            Self::DiskFull { .. } => ErrorClass::StorageFull,
            Self::NothingLost { .. } => ErrorClass::NothingToDo,
            Self::Unreadable { .. }
            | Self::Artifact { .. }
            | Self::Lost { .. }
            | Self::Broken { .. } => ErrorClass::Damaged,
            Self::Upgrade { .. }
            | Self::FromTheFuture { .. }
            | Self::ReadOnly { .. }
            | Self::NeedsUpgrade { .. } => ErrorClass::Unsuitable,
            Self::File { .. } | Self::Read { .. } | Self::OutcomeUnknown { .. } => {
                ErrorClass::Backend
            }
        }
    }
}
