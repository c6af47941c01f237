//! The part of a walk that looks at places which are protected although their names are not.
//!
//! Must never: follow a link; one on the way stands for what is at its end.

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
    /// Takes note of a place that is protected because we were told so.
    pub(super) fn explicit(&mut self, place: &RootedPath, role: ProtectionRole) -> io::Result<()> {
        self.root = place.root;
        self.path = PathBuf::new();
        let root = dir::open_dir(&self.task.roots[place.root].dir, c".")?;
        let parents = place.path.parent().unwrap_or_else(|| Path::new(""));
        let parents: Result<Vec<_>, _> = parents.iter().map(dir::c_name).collect();
        let name = dir::c_name(&place.name())?;
        self.explicit_below(&root, &parents?, (&name, role))
    }

    /// The places in a directory whose names begin in a certain way.
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
        last: (&CStr, ProtectionRole),
    ) -> io::Result<()> {
        if let Some((first, rest)) = parents.split_first() {
            return match dir::status(dir, first)? {
                // Whoever reads the path follows it, so it stands for what is at its end.
                Some(status) if status.kind == Kind::Link => {
                    self.whole(dir, first, status, ProtectionRole::Protected)
                }
                Some(_) => {
                    self.enter(dir, first, |walk, inner, _| walk.explicit_below(inner, rest, last))
                }
                None => Ok(()),
            };
        }
        let (name, role) = last;
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
