//! The part of a walk that knows the parts of a repository.
//!
//! Must never: visit the objects of a repository, unless every file of it is to be compared.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use agentry_protocol::confinement::GitAccess;

use super::ProtectionWalk;
use crate::protect::dir::{self, FileStatus, Kind};
use crate::protect::rooted_path::ProtectionRole;

/// The parts of a repository that can make git run a program; `commondir` names its main part.
const PARTS: [&CStr; 4] = [c"hooks", c"config", c"config.worktree", c"commondir"];
const WORKTREE_PARTS: [&CStr; 3] = [c"config.worktree", c"commondir", c"hooks"];
/// The directories of a repository that a search for submodules' repositories skips.
const BULK: [&CStr; 5] = [c"objects", c"refs", c"logs", c"hooks", c"info"];
/// The protected parts of a repository without a directory `.git`; `HEAD` is its mark.
const BARE_PARTS: [&CStr; 5] = [c"HEAD", c"hooks", c"config", c"config.worktree", c"commondir"];

/// The names in a directory by which git knows a repository.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RepositoryMarkers {
    head: bool,
    objects: bool,
    refs: bool,
    commondir: bool,
}

impl RepositoryMarkers {
    pub(super) fn see(&mut self, name: &CStr) {
        match name.to_bytes() {
            b"HEAD" => self.head = true,
            b"objects" => self.objects = true,
            b"refs" => self.refs = true,
            b"commondir" => self.commondir = true,
            _ => {}
        }
    }

    pub(super) fn are_of_repository(self) -> bool {
        self.head && (self.commondir || (self.objects && self.refs))
    }
}

impl ProtectionWalk<'_> {
    /// Records the entries that make a directory a repository, or can make git run a program in it.
    ///
    /// Never the directory itself: it may be the user's, and was made to look like a repository.
    pub(super) fn bare_repository(&mut self, dir: &OwnedFd) -> io::Result<()> {
        let role = match self.task.git {
            GitAccess::Read => ProtectionRole::Protected,
            GitAccess::Write => ProtectionRole::Part,
        };
        self.parts(dir, &BARE_PARTS, role)
    }

    /// Records a directory `.git`, and its entries that can make git run a program.
    pub(super) fn repository(
        &mut self,
        dir: &OwnedFd,
        name: &CStr,
        status: FileStatus,
    ) -> io::Result<()> {
        if self.task.whole_repositories && self.task.git == GitAccess::Read {
            return self.whole(dir, name, status, ProtectionRole::Protected);
        }
        self.note(name, status, ProtectionRole::Repository);
        self.enter(dir, name, |walk, inner, _| {
            walk.parts(inner, &PARTS, ProtectionRole::Part)?;
            walk.inside(inner, c"worktrees", |walk, all| {
                walk.each_below(all, &|walk, one| {
                    walk.parts(one, &WORKTREE_PARTS, ProtectionRole::Part)
                })
            })?;
            walk.inside(inner, c"modules", |walk, modules| walk.modules(modules))
        })
    }

    /// Records those of the parts that exist.
    fn parts(&mut self, dir: &OwnedFd, parts: &[&CStr], role: ProtectionRole) -> io::Result<()> {
        for part in parts {
            if let Some(status) = dir::status(dir, part)? {
                self.whole(dir, part, status, role)?;
            }
        }
        self.inside(dir, c"info", |walk, info| match dir::status(info, c"attributes")? {
            Some(status) => walk.whole(info, c"attributes", status, role),
            None => Ok(()),
        })
    }

    /// Enters a directory of a repository; a link in its place would lead git elsewhere.
    fn inside(
        &mut self,
        dir: &OwnedFd,
        name: &CStr,
        inside: impl FnOnce(&mut Self, &OwnedFd) -> io::Result<()>,
    ) -> io::Result<()> {
        match dir::status(dir, name)? {
            None => Ok(()),
            Some(status) if status.kind == Kind::Directory => {
                self.enter(dir, name, |walk, inner, _| inside(walk, inner))
            }
            Some(status) => self.whole(dir, name, status, ProtectionRole::Part),
        }
    }

    /// Records submodules' repositories; they are anywhere below `modules`, even in one another.
    fn modules(&mut self, dir: &OwnedFd) -> io::Result<()> {
        if dir::status(dir, c"HEAD")?.is_some() {
            self.parts(dir, &PARTS, ProtectionRole::Part)?;
        }
        self.each_below(dir, &|walk, one| walk.modules(one))
    }

    fn each_below(
        &mut self,
        dir: &OwnedFd,
        visit: &dyn Fn(&mut Self, &OwnedFd) -> io::Result<()>,
    ) -> io::Result<()> {
        let is_repository = dir::status(dir, c"HEAD")?.is_some();
        let room = self.task.bounds.entries.saturating_sub(self.entries);
        let Some(names) = self.listing.names(dir, room)? else {
            self.over();
            return Ok(());
        };
        self.entries += names.len();
        for name in names {
            if self.is_over() {
                return Ok(());
            }
            if is_repository && BULK.contains(&name.as_c_str()) {
                continue;
            }
            let Some(status) = dir::status(dir, &name)? else { continue };
            if matches!(status.kind, Kind::Directory | Kind::Link) {
                self.inside(dir, &name, |walk, inner| visit(walk, inner))?;
            }
        }
        Ok(())
    }
}
