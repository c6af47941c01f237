//! The part of a walk that visits protected paths without a protected name.
//!
//! Must never: follow a link; a link on the way is protected in place of its target.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::ProtectionWalk;
use crate::protect::dir::{self, Kind};
use crate::protect::rooted_path::{ProtectionRole, RootedPath};

impl ProtectionWalk<'_> {
    /// Records a path that is protected by configuration.
    pub(super) fn explicit(&mut self, place: &RootedPath, role: ProtectionRole) -> io::Result<()> {
        self.root = place.root;
        self.path = PathBuf::new();
        let root = dir::open_dir(&self.task.roots[place.root].dir, c".")?;
        let parents = place.path.parent().unwrap_or_else(|| Path::new(""));
        let parents: Result<Vec<_>, _> = parents.iter().map(dir::c_name).collect();
        let name = dir::c_name(&place.name())?;
        self.explicit_below(&root, &parents?, &name, role)
    }

    /// Returns the paths in a directory whose names begin with a prefix.
    pub(super) fn with_prefix(&mut self, beginning: &RootedPath) -> io::Result<Vec<RootedPath>> {
        let parent = beginning.path.parent().unwrap_or_else(|| Path::new(""));
        let dir = match dir::open_below(&self.task.roots[beginning.root].dir, parent) {
            Ok(dir) => dir,
            Err(error) if dir::is_absent(error) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let start = beginning.name();
        let mut places = Vec::new();
        self.listing.each(&dir, |name, _| {
            if name.to_bytes().starts_with(start.as_bytes()) {
                let path = parent.join(OsStr::from_bytes(name.to_bytes()));
                places.push(RootedPath { root: beginning.root, path });
            }
            ControlFlow::Continue(())
        })?;
        Ok(places)
    }

    fn explicit_below(
        &mut self,
        dir: &OwnedFd,
        parents: &[CString],
        name: &CStr,
        role: ProtectionRole,
    ) -> io::Result<()> {
        if let Some((first, rest)) = parents.split_first() {
            return match dir::status(dir, first)? {
                // Readers of the path follow the link, so the link itself is protected.
                Some(status) if status.kind == Kind::Link => {
                    self.whole(dir, first, status, ProtectionRole::Protected)
                }
                Some(_) => self.enter(dir, first, |walk, inner, _| {
                    walk.explicit_below(inner, rest, name, role)
                }),
                None => Ok(()),
            };
        }
        match dir::status(dir, name)? {
            None => Ok(()),
            Some(status)
                if role == ProtectionRole::Repository && status.kind == Kind::Directory =>
            {
                self.repository(dir, name, status)
            }
            Some(status) => self.whole(dir, name, status, ProtectionRole::Protected),
        }
    }
}
