//! The names that a confinement hides at any depth below a directory.
//!
//! Must never: look at the file system.

use std::path::{Path, PathBuf};

use agentry_protocol::confinement::{ANY_DEPTH, denies};

/// A name that is hidden at any depth below a directory.
#[derive(Clone, Debug)]
pub(crate) struct SecretName {
    /// The entry of the confinement.
    entry: String,
    /// The prefix of the name.
    beginning: Vec<u8>,
}

impl SecretName {
    /// Returns the entries of a deny list that apply at any depth.
    pub(crate) fn all(entries: &[String]) -> Vec<Self> {
        let name = |entry: &String| {
            let (_, name) = entry.split_once(ANY_DEPTH)?;
            let beginning = name.strip_suffix('*').unwrap_or(name).as_bytes().to_vec();
            Some(Self { entry: entry.clone(), beginning })
        };
        entries.iter().filter_map(name).collect()
    }

    /// Returns the directories in which such names are hidden.
    pub(crate) fn roots(entries: &[String]) -> Vec<PathBuf> {
        let mut roots: Vec<PathBuf> = entries
            .iter()
            .filter_map(|entry| entry.split_once(ANY_DEPTH))
            .map(|(root, _)| PathBuf::from(root))
            .collect();
        roots.sort();
        roots.dedup();
        let all = roots.clone();
        roots.retain(|root| !all.iter().any(|other| other != root && root.starts_with(other)));
        roots
    }

    /// Returns true if a name may match; `means` decides by the path.
    pub(crate) fn may_match(&self, name: &[u8]) -> bool {
        name.starts_with(&self.beginning)
    }

    pub(crate) fn matches(&self, path: &Path) -> bool {
        denies(&self.entry, &path.to_string_lossy())
    }
}
