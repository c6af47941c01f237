//! The names that are protected in every directory of a writable root: the list of the protocol and
//! the operator's additions.
//!
//! Must never: look at the file system.

use std::ffi::OsStr;
use std::path::Path;

use agentry_protocol::protected::{AncestorContext, kinds_in};

/// Names that are protected at any depth, compared without regard to case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedNames {
    more: Vec<Vec<u8>>,
}

impl ProtectedNames {
    /// Returns the listed names and these.
    pub fn with(more: &[&str]) -> Self {
        Self { more: more.iter().map(|name| name.as_bytes().to_vec()).collect() }
    }

    /// Returns true if a name is protected below these ancestors, independent of its siblings.
    pub(crate) fn holds(&self, here: AncestorContext, name: &[u8]) -> bool {
        here.kind_of(name).is_some() || self.is_added(name)
    }

    fn is_added(&self, name: &[u8]) -> bool {
        self.more.iter().any(|one| one.eq_ignore_ascii_case(name))
    }

    /// Returns true if a path below a writable root is protected by one of the names in it.
    pub(crate) fn holds_path(&self, path: &Path) -> bool {
        let names = || path.iter().map(OsStr::as_encoded_bytes);
        kinds_in(names()).next().is_some() || names().any(|name| self.is_added(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_protected_by_any_name_in_it() {
        let names = ProtectedNames::with(&[".own"]);
        for yes in ["a/.vscode", ".git/config", "node_modules/a/.git/hooks", "x/.OWN/y", "a/.envrc"]
        {
            assert!(names.holds_path(Path::new(yes)), "{yes}");
        }
        for no in ["node_modules/a/.vscode/tasks.json", "vendor/a/.idea", "src/vendored", "own"] {
            assert!(!names.holds_path(Path::new(no)), "{no}");
        }
    }
}
