//! The temporary directory of a process that has no file system of its own; it goes with all that is in it.
//!
//! Whoever was confined has filled it: with directories that cannot be opened, or that go deeper than any path.
//!
//! Must never: go down by recursion, follow a link, or be used while a process still writes there.

use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use tempfile::TempDir;

/// A temporary directory; it is removed when this goes.
#[derive(Debug)]
pub(crate) struct Scratch(TempDir);

impl Scratch {
    /// A new one.
    pub(crate) fn new() -> io::Result<Self> {
        tempfile::tempdir().map(Self)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be emptied stays for whoever cleans the machine's temporary files.
        empty(self.0.path()).unwrap_or_default();
    }
}

/// Empties a directory. What lies in a directory in it is moved up first, so that nothing is ever deep.
fn empty(path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::chmod(path, Mode::RWXU)?;
    let top = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    let mut moved: u64 = 0;
    loop {
        let names = names(&top)?;
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            if !make_open(&top, &name)? {
                rustix::fs::unlinkat(&top, &*name, AtFlags::empty())?;
                continue;
            }
            let inner = rustix::fs::openat(&top, &*name, flags, Mode::empty())?;
            for child in self::names(&inner)? {
                if !make_open(&inner, &child)? {
                    rustix::fs::unlinkat(&inner, &*child, AtFlags::empty())?;
                    continue;
                }
                loop {
                    moved += 1;
                    let place = format!("moved-{moved}");
                    // It must be a new name: another directory would take its place, or be taken for it.
                    let flags = rustix::fs::RenameFlags::NOREPLACE;
                    match rustix::fs::renameat_with(&inner, &*child, &top, place, flags) {
                        Err(Errno::EXIST) => {}
                        result => break result?,
                    }
                }
            }
            rustix::fs::unlinkat(&top, &*name, AtFlags::REMOVEDIR)?;
        }
    }
}

fn names(directory: &impl std::os::fd::AsFd) -> io::Result<Vec<std::ffi::CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.as_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

/// Makes sure that a directory can be opened; false when it is something else.
fn make_open(parent: &impl std::os::fd::AsFd, name: &std::ffi::CStr) -> io::Result<bool> {
    let status = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if !FileType::from_raw_mode(status.st_mode).is_dir() {
        return Ok(false);
    }
    rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn whatever_was_put_there_goes_and_nothing_else() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("mine"), "mine").unwrap();
        let scratch = Scratch::new().unwrap();
        let path = scratch.path().to_owned();
        symlink(outside.path(), path.join("link")).unwrap();
        fs::create_dir_all(path.join("a/b/c")).unwrap();
        fs::write(path.join("a/b/c/file"), "x").unwrap();
        fs::write(path.join("moved-1"), "x").unwrap();
        symlink(outside.path(), path.join("a/b/link")).unwrap();
        for closed in ["a/b/c", "a/b", "a", ""] {
            fs::set_permissions(path.join(closed), fs::Permissions::from_mode(0o000)).unwrap();
        }
        drop(scratch);
        assert!(!path.exists());
        assert_eq!(fs::read_to_string(outside.path().join("mine")).unwrap(), "mine");
    }

    #[test]
    fn depth_does_not_matter() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.path().to_owned();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = rustix::fs::openat(CWD, &path, flags, Mode::empty()).unwrap();
        for _ in 0..3_000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, "d", flags, Mode::empty()).unwrap();
        }
        drop((at, scratch));
        assert!(!path.exists());
    }
}
