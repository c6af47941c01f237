//! The changes that no test can notice or need not notice, each with its reason.
//!
//! A line has three parts with tabs between: the file, the change with the name of its function, and the reason.
//!
//! Must never: explain a change that is not written down.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::Error;
use crate::audit::Audit;
use crate::rewrite::Mutant;

/// Reasons by file and change.
#[derive(Default)]
pub(crate) struct AcceptedMutants {
    reasons: BTreeMap<(String, String), String>,
    used: BTreeSet<(String, String)>,
}

impl AcceptedMutants {
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(&std::fs::read_to_string(path)?)
    }

    fn parse(text: &str) -> Result<Self, Error> {
        let mut accepted = Self::default();
        for (at, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parts: Vec<&str> = line.split('\t').collect();
            let [file, change, reason] = parts[..] else {
                return Err(format!(
                    "accepted.tsv:{}: file, change and reason are expected",
                    at + 1
                )
                .into());
            };
            accepted.reasons.insert((file.to_owned(), change.to_owned()), reason.to_owned());
        }
        Ok(accepted)
    }

    /// Returns whether a change has a reason, and remembers that it was asked for.
    pub(crate) fn take(&mut self, mutant: &Mutant) -> bool {
        let key = (mutant.file.clone(), mutant.change.clone());
        let is_known = self.reasons.contains_key(&key);
        if is_known {
            self.used.insert(key);
        }
        is_known
    }

    /// Returns the reasons of the audits that nothing needed: the change is noticed now, or is gone.
    pub(crate) fn unused(&self, audits: &[&Audit]) -> Vec<String> {
        let is_audited = |file: &str| audits.iter().any(|audit| audit.holds(file));
        let unused =
            self.reasons.keys().filter(|key| is_audited(&key.0) && !self.used.contains(key));
        unused.map(|(file, change)| format!("{file}: {change}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::AUDITS;

    #[test]
    fn a_reason_is_used_once_its_change_survives_and_is_stale_before() {
        let file = "crates/kernel/src/shell/git.rs".to_owned();
        let text = format!("# a comment\n\n{file}\thas: drop !\tit only adds\n");
        let mut accepted = AcceptedMutants::parse(&text).expect("it is written right");
        let audits: Vec<&Audit> = AUDITS.iter().collect();
        assert_eq!(accepted.unused(&audits).len(), 1);
        let mutant = |change: &str| Mutant {
            number: 1,
            file: file.clone(),
            line: 7,
            change: change.to_owned(),
        };
        assert!(!accepted.take(&mutant("has: return true")));
        assert!(accepted.take(&mutant("has: drop !")));
        assert!(accepted.unused(&audits).is_empty());
        assert!(AcceptedMutants::parse("a\tb\n").is_err());
    }
}
