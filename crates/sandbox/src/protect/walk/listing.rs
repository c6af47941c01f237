//! The part of a walk that sorts the entries of a directory.
//!
//! Must never: open anything but the directory itself.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;

use agentry_protocol::protected::{self, AncestorContext};
use rustix::fs::FileType;

use super::repository::RepositoryMarkers;
use super::{ENTRIES_PER_CLOCK, ProtectionWalk};
use crate::protect::dir;

/// The relevant entries of a directory.
#[derive(Default)]
pub(super) struct DirectoryEntries {
    pub(super) hits: Vec<CString>,
    pub(super) below: Vec<CString>,
    pub(super) marks: RepositoryMarkers,
}

impl ProtectionWalk<'_> {
    /// Lists a directory: its protected names, its directories, and its marks of a repository.
    pub(super) fn listed(
        &mut self,
        dir: &OwnedFd,
        here: AncestorContext,
    ) -> io::Result<DirectoryEntries> {
        let mut listed = DirectoryEntries::default();
        let (mut entries, started) = (self.entries, self.started);
        let (names, bounds) = (self.task.names, self.task.bounds);
        let locating = self.search.is_all;
        let may_define = here.may_hold_definitions() && !locating;
        let (mut beside, mut is_agent, mut is_whole) = (Vec::new(), false, false);
        let mut over = false;
        let (mut secrets, sought, names_hidden) = (Vec::new(), &self.search.ids, self.task.secrets);
        let is_secret = |name: &[u8]| names_hidden.iter().any(|one| one.may_match(name));
        let is_sought = |name: &CStr, sort: FileType| {
            let may_be = !sought.is_empty() && sort != FileType::Directory;
            let status = may_be.then(|| dir::status(dir, name).ok().flatten()).flatten();
            status.is_some_and(|status| sought.contains(&status.id))
        };
        self.listing.each(dir, |name, sort| {
            entries += 1;
            let late = entries.is_multiple_of(ENTRIES_PER_CLOCK) && started.elapsed() > bounds.time;
            if entries > bounds.entries || late {
                over = true;
                return ControlFlow::Break(());
            }
            listed.marks.see(name);
            let bytes = name.to_bytes();
            if is_secret(bytes) || is_sought(name, sort) {
                secrets.push(name.to_owned());
            }
            if may_define {
                is_agent |= protected::is_agent_marker(bytes);
                is_whole |= protected::is_skill_or_task_marker(bytes);
            }
            if !locating && names.holds(here, bytes) {
                listed.hits.push(name.to_owned());
            } else if may_define && protected::belongs_to_agent(bytes) {
                beside.push((name.to_owned(), sort));
            } else if is_directory(sort) {
                listed.below.push(name.to_owned());
            }
            ControlFlow::Continue(())
        })?;
        self.entries = entries;
        if over {
            self.over();
        }
        self.note_secrets(secrets, dir);
        for (name, sort) in beside {
            if is_agent {
                listed.hits.push(name);
            } else if is_directory(sort) {
                listed.below.push(name);
            }
        }
        if locating {
            listed.marks = RepositoryMarkers::default();
        }
        // The root itself stays writable, even as a skill; there only the marker is protected.
        if is_whole && !self.path.as_os_str().is_empty() {
            return self.all_of(dir, listed);
        }
        Ok(listed)
    }

    /// Records the names that are hidden here.
    pub(super) fn note_secrets(&mut self, names: Vec<CString>, dir: &OwnedFd) {
        for name in names {
            let path = self.here().join(OsStr::from_bytes(name.to_bytes()));
            let is_named = self.task.secrets.iter().any(|one| one.matches(&path));
            let status = || dir::status(dir, &name).ok().flatten();
            if is_named || status().is_some_and(|status| self.search.ids.contains(&status.id)) {
                self.survey.secrets.push(path);
            }
        }
    }

    /// Lists a directory in which everything is protected.
    fn all_of(&mut self, dir: &OwnedFd, listed: DirectoryEntries) -> io::Result<DirectoryEntries> {
        // A handle can be read only once; the next reading needs one of its own.
        let again = dir::open_dir(dir, c".")?;
        match self.listing.names(&again, self.task.bounds.watched)? {
            Some(hits) => Ok(DirectoryEntries { hits, below: Vec::new(), marks: listed.marks }),
            None => {
                self.too_much_inside();
                Ok(listed)
            }
        }
    }
}

fn is_directory(sort: FileType) -> bool {
    matches!(sort, FileType::Directory | FileType::Unknown)
}
