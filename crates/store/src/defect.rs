//! Differences between a ledger and what was written to it: lost entries, and defects of entries.
//!
//! Must never: name a difference without its place.

use std::fmt;

/// Entries that the anchor files name and the ledger lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The number of the last entry in the file.
    pub last: u64,
    /// The number of the last entry that was written, by the anchor files.
    pub known: u64,
    /// The hash of that entry, in hexadecimal digits.
    pub hash: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { last, known, .. } = self;
        if last < known {
            return write!(
                f,
                "ends with entry {last}, but {known} entries were written: the end is lost"
            );
        }
        write!(
            f,
            "has another entry {known} than the one that was written: another file is in its place"
        )
    }
}

/// A defect and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryDefect {
    /// The number of the entry; zero if the defect is not about one entry.
    pub seq: u64,
    /// The defect.
    pub defect: Defect,
}

/// A difference from the ledger that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Entries are missing before this one.
    Gap {
        /// The number that the entry should have.
        expected: u64,
    },
    /// The hash of the row does not match its content.
    Changed,
    /// The row does not decode, for this reason.
    Unreadable(String),
    /// An artifact that the row names is missing or changed.
    Artifact(String),
    /// The anchor file names a later entry than the last one.
    Cut {
        /// The number of the last entry.
        last: u64,
    },
    /// The anchor file has another hash for the entry.
    NotAnchored,
    /// A row of a view differs from the fold of the entries.
    View {
        /// The table.
        table: &'static str,
        /// The row in the file; None if it is missing there.
        found: Option<String>,
        /// The row that the entries give; None if they give none.
        expected: Option<String>,
    },
    /// SQLite's integrity check found a defect.
    File(String),
}

impl fmt::Display for EntryDefect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seq, defect } = self;
        match defect {
            Defect::Gap { expected } => {
                write!(f, "entry {seq}: entry {expected} before it is missing")
            }
            Defect::Changed => write!(f, "entry {seq}: was changed after it was written"),
            Defect::Unreadable(why) => write!(f, "entry {seq}: cannot be read: {why}"),
            Defect::Artifact(why) => write!(f, "entry {seq}: {why}"),
            Defect::Cut { last } => {
                write!(f, "entry {seq}: was written, but the ledger ends with entry {last}")
            }
            Defect::NotAnchored => {
                write!(f, "entry {seq}: the anchor file has another hash for it")
            }
            Defect::View { table, found, expected } => {
                let word = |row: &Option<String>| row.clone().unwrap_or(" nothing".to_owned());
                let (found, expected) = (word(found), word(expected));
                write!(f, "the view {table} has{found}, but the entries give{expected}")
            }
            Defect::File(why) => write!(f, "the database file: {why}"),
        }
    }
}
