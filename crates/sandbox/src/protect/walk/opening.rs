//! The part of a walk that opens directories.
//!
//! Must never: follow a link, or take another directory for the expected one.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;

use super::ProtectionWalk;
use crate::protect::dir::{self, FileId, FileStatus};
use crate::protect::rooted_path::RootedPath;

impl ProtectionWalk<'_> {
    /// Opens the directory at the present path; None if it is missing, another root or reported.
    pub(super) fn opened(
        &mut self,
        dir: &OwnedFd,
        name: &CStr,
    ) -> io::Result<Option<(OwnedFd, FileStatus)>> {
        if self.is_another_root() {
            return Ok(None);
        }
        let inner = match dir::open_dir(dir, name) {
            Ok(inner) => inner,
            Err(Errno::ACCESS) => match self.opened_by_force(dir, name)? {
                Some(inner) => inner,
                None => return Ok(None),
            },
            Err(error) if dir::is_absent(error) => return Ok(None),
            Err(error) => {
                self.incomplete(&format!("{:?} cannot be opened: {error}", self.here()));
                return Ok(None);
            }
        };
        let status = dir::status_of(&inner)?;
        if status.mode & 0o100 == 0 && !rustix::process::geteuid().is_root() {
            // It can be listed, but its entries cannot be inspected.
            return match self.opened_by_force(dir, name)? {
                Some(inner) => Ok(Some((inner, status))),
                None => Ok(None),
            };
        }
        if self.search.ids.contains(&status.id) {
            let place = RootedPath { root: self.root, path: self.path.clone() };
            self.search.located.insert(status.id, place);
        }
        if self.task.since.is_none() {
            self.survey.directories.insert(status.id);
        }
        Ok(Some((inner, status)))
    }

    /// Opens an unreadable directory that changed since the call began; reports it on failure.
    fn opened_by_force(&mut self, dir: &OwnedFd, name: &CStr) -> io::Result<Option<OwnedFd>> {
        let Some(status) = dir::status(dir, name)? else { return Ok(None) };
        let is_new = self.task.since.is_some_and(|since| status.changed >= since);
        if is_new && dir::set_mode(dir, name, status.mode | 0o700).is_ok() {
            return Ok(dir::open_dir(dir, name).ok());
        }
        // Without the right to enter it, a call could not reach anything below it either.
        if is_new || status.mode & 0o111 != 0 {
            self.incomplete(&format!("{:?} may not be read", self.here()));
        }
        Ok(None)
    }
}

/// Opens the parent of a directory; None if it is not the expected one.
pub(super) fn parent_of(dir: &OwnedFd, expected: FileId) -> io::Result<Option<OwnedFd>> {
    let parent = match dir::open_dir(dir, c"..") {
        Ok(parent) => parent,
        Err(error) if dir::is_absent(error) || error == Errno::ACCESS => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok((dir::status_of(&parent)?.id == expected).then_some(parent))
}

/// Returns true if a directory is on a virtual file system of the kernel.
#[cfg(target_os = "linux")]
pub(super) fn is_made_up(dir: &OwnedFd) -> bool {
    /// proc, sysfs, cgroup, cgroup2, debugfs, tracefs, bpf, securityfs.
    const MADE_UP: [i128; 8] = [
        0x9fa0,
        0x6265_6572,
        0x27_e0eb,
        0x6367_7270,
        0x6462_6720,
        0x7472_6163,
        0xcafe_4a11,
        0x7363_6673,
    ];
    rustix::fs::fstatfs(dir).is_ok_and(|it| MADE_UP.contains(&it.f_type.into()))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_made_up(_: &OwnedFd) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    #[cfg(target_os = "linux")]
    use std::path::Path;

    use super::super::WalkBounds;
    use super::super::tests::{check, open};
    use super::*;
    #[cfg(target_os = "linux")]
    use crate::protect::dir::FileTime;

    #[test]
    fn a_directory_that_cannot_be_opened_is_told_unless_it_is_gone() {
        let scene = tempfile::tempdir().unwrap();
        check(scene.path(), &WalkBounds::default(), None, |mut walk| {
            let root = open(scene.path());
            walk.path = "inner".into();
            assert!(walk.opened(&root, c"missing").unwrap().is_none());
            assert_eq!(walk.survey.incomplete, None);
            let too_long = CString::new("x".repeat(300)).unwrap();
            assert!(walk.opened(&root, &too_long).unwrap().is_none());
            assert!(walk.survey.incomplete.unwrap().contains("cannot be opened"));
        });
    }

    #[test]
    fn the_parent_of_a_directory_is_only_the_one_that_is_expected() {
        let scene = tempfile::tempdir().unwrap();
        let inner = scene.path().join("inner");
        std::fs::create_dir(&inner).unwrap();
        let (outer, handle) = (open(scene.path()), open(&inner));
        let id = |dir: &OwnedFd| dir::status_of(dir).unwrap().id;
        assert!(parent_of(&handle, id(&outer)).unwrap().is_some());
        assert!(parent_of(&handle, id(&handle)).unwrap().is_none());
        let file = OwnedFd::from(std::fs::File::create(scene.path().join("file")).unwrap());
        assert!(parent_of(&file, id(&outer)).unwrap().is_none());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_parent_of_a_directory_that_was_closed_is_not_found() {
        use std::os::unix::fs::PermissionsExt as _;
        crate::protect::tests::as_ordinary_user(|| {
            let scene = tempfile::tempdir().unwrap();
            let inner = scene.path().join("inner");
            std::fs::create_dir(&inner).unwrap();
            let (outer, handle) = (open(scene.path()), open(&inner));
            let set_mode = |mode| {
                std::fs::set_permissions(&inner, std::fs::Permissions::from_mode(mode)).unwrap();
            };
            set_mode(0o000);
            let id = dir::status_of(&outer).unwrap().id;
            assert!(parent_of(&handle, id).unwrap().is_none());
            // So that it can be removed.
            set_mode(0o700);
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_closed_directory_is_opened_by_force_only_if_it_is_as_new_as_the_call() {
        use std::os::unix::fs::PermissionsExt as _;
        crate::protect::tests::as_ordinary_user(|| {
            let scene = tempfile::tempdir().unwrap();
            let path = scene.path().join("dark");
            std::fs::create_dir(&path).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
            let root = open(scene.path());
            let (seconds, nanos) = dir::status(&root, c"dark").unwrap().unwrap().changed;
            let opened = |since: Option<FileTime>, expected: bool| {
                check(scene.path(), &WalkBounds::default(), since, |mut walk| {
                    walk.path = "dark".into();
                    let opened = walk.opened(&root, c"dark").unwrap();
                    assert_eq!(opened.is_some(), expected, "{since:?}");
                    assert_eq!(walk.survey.incomplete, None);
                });
            };
            opened(None, false);
            opened(Some((seconds, nanos + 1)), false);
            opened(Some((seconds, nanos)), true);
        });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_that_the_kernel_makes_up_is_known() {
        for (path, expected) in [("/proc", true), ("/sys", true), ("/dev/shm", false)] {
            assert_eq!(is_made_up(&open(Path::new(path))), expected, "{path}");
        }
    }
}
