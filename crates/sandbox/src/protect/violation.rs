//! What a call did to something protected, and what became of it.
//!
//! Must never: print a name as it is; names in a writable root are written by whoever was confined.

use std::fmt;
use std::path::PathBuf;

/// One protected thing that a call made, changed, moved or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtectionViolation {
    /// Where it stands, or stood.
    pub path: PathBuf,
    /// What was done to it.
    pub what: ViolationKind,
    /// Where that which was found in its place is now.
    pub quarantined: Option<PathBuf>,
    /// Whether everything is again as it was before the call.
    pub restored: bool,
    /// What went wrong with putting it right.
    pub problem: Option<String>,
}

/// What was done to something protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// It was not there before.
    Planted,
    /// It has another content, other permissions or another sort.
    Changed,
    /// It, or a directory that it is in, was renamed.
    Moved {
        /// Where it was found.
        to: PathBuf,
    },
    /// It is nowhere.
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
