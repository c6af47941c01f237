//! Compares the definitions of a directory with those that the owner confirmed.
//!
//! Must never: treat a definition as confirmed that no entry of the ledger confirms.

use agentry_store::{Ledger, RecordedDefinitions};

use crate::definitions::project_loader::{Digests, LoadedProject};
use crate::limits::DEFINITIONS_SHOWN_MAX;

/// One difference between two states of the definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionChange {
    /// The kind of change.
    pub what: DefinitionChangeKind,
    /// The path of the file, relative to the directory.
    pub path: String,
}

/// Kind of change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionChangeKind {
    /// The file is new.
    New,
    /// The content changed.
    Changed,
    /// The file was removed.
    Removed,
}

impl DefinitionChangeKind {
    fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// Returns the differences between two states.
pub fn changes(before: &Digests, now: &Digests) -> Vec<DefinitionChange> {
    let mut all = Vec::new();
    for (path, hash) in now {
        let what = match before.get(path) {
            None => DefinitionChangeKind::New,
            Some(was) if was != hash => DefinitionChangeKind::Changed,
            Some(_) => continue,
        };
        all.push(DefinitionChange { what, path: path.clone() });
    }
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    all.extend(
        gone.map(|path| DefinitionChange {
            what: DefinitionChangeKind::Removed,
            path: path.clone(),
        }),
    );
    all
}

/// Names the changed files in one line, up to `DEFINITIONS_SHOWN_MAX`.
pub fn in_words(changes: &[DefinitionChange]) -> String {
    let word = |change: &DefinitionChange| format!("{} ({})", change.path, change.what.word());
    let mut words: Vec<String> = changes.iter().take(DEFINITIONS_SHOWN_MAX).map(word).collect();
    let more = changes.len().saturating_sub(DEFINITIONS_SHOWN_MAX);
    if more > 0 {
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

/// Returns the changes since the definitions were confirmed; None if they never were.
pub fn unconfirmed(
    ledger: &Ledger,
    loaded: &LoadedProject,
) -> Result<Option<Vec<DefinitionChange>>, agentry_store::Error> {
    let path = loaded.root.display().to_string();
    let confirmed = ledger.known_definitions(&path, RecordedDefinitions::Confirmed)?;
    Ok(confirmed.map(|confirmed| changes(&confirmed.files, &loaded.digests)))
}
