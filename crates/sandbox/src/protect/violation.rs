//! A call's changes to protected files, and their repair.
//!
//! Must never: print a name unescaped; names in a writable root are chosen by the confined program.

use std::fmt;
use std::path::PathBuf;

/// One protected entry that a call made, changed, moved or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectionViolation {
    /// Its protected path.
    pub path: PathBuf,
    /// The kind of change.
    pub what: ViolationKind,
    /// The quarantine path of the entry that was found in its place; None if there was none.
    pub quarantined: Option<PathBuf>,
    /// True if the state before the call is restored.
    pub restored: bool,
    /// The failure of the repair, if there was one.
    pub problem: Option<String>,
}

/// The kind of a change to a protected entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// It was not there before.
    Planted,
    /// Its content, permissions or kind differ.
    Changed,
    /// It, or a directory around it, was renamed.
    Moved {
        /// The path where it was found.
        to: PathBuf,
    },
    /// It was not found anywhere in the roots.
    Removed,
}

impl fmt::Display for ProtectionViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, what, quarantined, restored, problem } = self;
        match what {
            ViolationKind::Planted => write!(f, "the call made the protected {path:?}")?,
            ViolationKind::Changed => write!(f, "the call changed the protected {path:?}")?,
            ViolationKind::Moved { to } => {
                write!(
                    f,
                    "the call moved {path:?}, which is or holds something protected, to {to:?}"
                )?;
            }
            ViolationKind::Removed => write!(f, "the call removed the protected {path:?}")?,
        }
        if let Some(place) = quarantined {
            write!(f, "; what stood there is now in {place:?}")?;
        }
        match (restored, what) {
            (true, ViolationKind::Planted) => {}
            (
                true,
                ViolationKind::Changed | ViolationKind::Moved { .. } | ViolationKind::Removed,
            ) => {
                f.write_str("; it was put back")?;
            }
            (false, _) => f.write_str("; NOT put right, look at it before you go on")?,
        }
        match problem {
            Some(problem) => write!(f, " ({problem})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_write_lines_of_its_own() {
        let violation = ProtectionViolation {
            path: "/w/.git\nall is well".into(),
            what: ViolationKind::Planted,
            quarantined: None,
            restored: false,
            problem: Some("no room".into()),
        };
        let expected = "the call made the protected \"/w/.git\\nall is well\"; NOT put right, look \
                        at it before you go on (no room)";
        assert_eq!(violation.to_string(), expected);
    }
}
