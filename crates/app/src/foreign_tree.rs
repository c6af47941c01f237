//! Copies directories of other people safely.
//!
//! Copied are directories and the content of regular files, with the executable bit of the mode.
//! All copies belong to the caller. Skipped, and reported, are links that lead out of the tree or
//! nowhere, repositories below the root (git runs their settings), devices, pipes and sockets.
//!
//! Must never: follow a link, wait for a pipe, or copy an owner or another bit of a mode.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};

use crate::fault::{Blame, Fault};
use crate::limits::FOREIGN_TREE_DEPTH_MAX;

/// The modes of new files; the caller's umask restricts them.
const FILE_MODE: u32 = 0o666;
const PROGRAM_MODE: u32 = 0o777;

/// Descriptions of skipped entries.
const REPOSITORY: &str = "a repository of its own";
const SPECIAL: &str = "not a regular file";

/// Flags for opening foreign files: follow no link, do not block on a pipe.
const CAREFUL: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// An entry that was not copied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SkippedEntry {
    /// The path of the entry.
    pub(crate) path: PathBuf,
    /// A description of the entry.
    pub(crate) what: &'static str,
}

/// Copies a directory. Returns the skipped entries, among them all links.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<Vec<SkippedEntry>, Fault> {
    // The root may be a link of the caller; links below it are not followed.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let source = rustix::fs::openat(CWD, from, flags, Mode::empty());
    let source = source.map_err(|error| unreadable(from, &error.into()))?;
    let mut copying = TreeCopier { left_out: Vec::new() };
    fs::create_dir_all(to).map_err(|error| unwritable(to, &error))?;
    copying.directory(&source, CopyPaths { from, to }, 0)?;
    Ok(copying.left_out)
}

/// Removes and returns the entries of a clone that `copy` would skip, except links within the tree.
pub(crate) fn clean(root: &Path) -> Result<Vec<SkippedEntry>, Fault> {
    let real = root.canonicalize().map_err(|error| unreadable(root, &error))?;
    let mut left_out = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        let entries = fs::read_dir(&directory).map_err(|error| unreadable(&directory, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable(&directory, &error))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(|error| unreadable(&path, &error))?;
            if directory == root && is_git(&entry.file_name()) {
                continue;
            }
            let is_repository =
                is_git(&entry.file_name()) || (kind.is_dir() && is_bare_repository(&path));
            let what = if is_repository {
                Some(REPOSITORY)
            } else if kind.is_symlink() {
                leads_out(&path, root, &real)
            } else if kind.is_dir() || kind.is_file() {
                None
            } else {
                Some(SPECIAL)
            };
            match what {
                Some(what) => {
                    let removed = if kind.is_dir() {
                        fs::remove_dir_all(&path)
                    } else {
                        fs::remove_file(&path)
                    };
                    removed.map_err(|error| unwritable(&path, &error))?;
                    left_out.push(SkippedEntry { path, what });
                }
                None if kind.is_dir() => open.push(path),
                None => {}
            }
        }
    }
    left_out.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(left_out)
}

/// Returns true if a directory is a git repository, with or without a work tree.
pub(crate) fn is_repository(path: &Path) -> bool {
    path.join(".git").symlink_metadata().is_ok() || is_bare_repository(path)
}

/// Returns true if a directory has the entries by which git recognizes a bare repository.
fn is_bare_repository(path: &Path) -> bool {
    path.join("HEAD").symlink_metadata().is_ok()
        && ["objects", "refs"].iter().all(|name| path.join(name).is_dir())
}

/// Returns true for `.git`, in any case: some file systems ignore case.
fn is_git(name: &OsStr) -> bool {
    name.as_bytes().eq_ignore_ascii_case(b".git")
}

/// Returns a description if a link leads out of the tree, by its text or by its target.
fn leads_out(link: &Path, root: &Path, real: &Path) -> Option<&'static str> {
    let out = Some("a link that leads out of the directory, or nowhere");
    let Ok(target) = fs::read_link(link) else { return out };
    let below = link.strip_prefix(root).ok().and_then(Path::parent);
    let mut depth = below.map_or(0, |below| below.components().count());
    for part in target.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return out,
        }
    }
    match link.canonicalize() {
        Ok(led) if led.starts_with(real) => None,
        Ok(_) | Err(_) => out,
    }
}

/// The paths of an entry and of its copy.
#[derive(Clone, Copy)]
struct CopyPaths<'a> {
    from: &'a Path,
    to: &'a Path,
}

struct TreeCopier {
    left_out: Vec<SkippedEntry>,
}

impl TreeCopier {
    fn directory(
        &mut self,
        source: &OwnedFd,
        CopyPaths { from, to }: CopyPaths<'_>,
        depth: usize,
    ) -> Result<(), Fault> {
        if depth > FOREIGN_TREE_DEPTH_MAX {
            let what = format!("{} is nested too deeply to be copied", from.display());
            return Err(Fault::new(Blame::Caller, what));
        }
        for name in names(source).map_err(|error| unreadable(from, &error))? {
            let (from, to) = (from.join(&name), to.join(&name));
            let status = rustix::fs::statat(source, &*name, AtFlags::SYMLINK_NOFOLLOW);
            let kind = status.map(|status| FileType::from_raw_mode(status.st_mode));
            let kind = kind.map_err(|error| unreadable(&from, &error.into()))?;
            match kind {
                _ if is_git(&name) => self.leave(from, REPOSITORY),
                FileType::Directory if is_bare_repository(&from) => {
                    self.leave(from, REPOSITORY);
                }
                FileType::Directory => {
                    let flags = CAREFUL.union(OFlags::DIRECTORY);
                    let inner = rustix::fs::openat(source, &*name, flags, Mode::empty());
                    let inner = inner.map_err(|error| unreadable(&from, &error.into()))?;
                    fs::create_dir(&to).map_err(|error| unwritable(&to, &error))?;
                    self.directory(&inner, CopyPaths { from: &from, to: &to }, depth + 1)?;
                }
                FileType::RegularFile => {
                    let file = rustix::fs::openat(source, &*name, CAREFUL, Mode::empty());
                    let file = file.map_err(|error| unreadable(&from, &error.into()))?;
                    copy_file(File::from(file), CopyPaths { from: &from, to: &to })?;
                }
                FileType::Symlink => self.leave(from, "a link"),
                _ => self.leave(from, SPECIAL),
            }
        }
        Ok(())
    }

    fn leave(&mut self, path: PathBuf, what: &'static str) {
        self.left_out.push(SkippedEntry { path, what });
    }
}

/// Copies the content of a file and its executable bit.
fn copy_file(mut file: File, CopyPaths { from, to }: CopyPaths<'_>) -> Result<(), Fault> {
    use std::os::unix::fs::MetadataExt;
    let facts = file.metadata().map_err(|error| unreadable(from, &error))?;
    if !facts.is_file() {
        return Err(unreadable(from, &io::Error::other("it is no longer a regular file")));
    }
    let mode = if facts.mode() & 0o111 == 0 { FILE_MODE } else { PROGRAM_MODE };
    let made = OpenOptions::new().write(true).create_new(true).mode(mode).open(to);
    let mut made = made.map_err(|error| unwritable(to, &error))?;
    io::copy(&mut file, &mut made).map_err(|error| unwritable(to, &error))?;
    Ok(())
}

fn names(directory: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(&name).to_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn unreadable(path: &Path, error: &io::Error) -> Fault {
    Fault::new(Blame::Caller, format!("cannot read {}: {error}", path.display()))
}

fn unwritable(path: &Path, error: &io::Error) -> Fault {
    Fault::new(Blame::Machine, format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    struct Scene {
        directory: tempfile::TempDir,
    }

    impl Scene {
        fn new() -> Self {
            let scene = Self { directory: tempfile::tempdir().unwrap() };
            for (path, mode) in [
                ("a.txt", 0o644),
                ("bin/tool", 0o4755),
                ("bin/group", 0o2755),
                ("bin/sticky", 0o1644),
                ("sub/.git/config", 0o644),
                ("module/.git", 0o644),
                ("bare/HEAD", 0o644),
                ("bare/objects/x", 0o644),
                ("bare/refs/x", 0o644),
                ("HEAD", 0o644),
            ] {
                let path = scene.source().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, "content").unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
            let sub = scene.source().join("sub");
            fs::set_permissions(sub, fs::Permissions::from_mode(0o3777)).unwrap();
            symlink("../a.txt", scene.source().join("bin/inner")).unwrap();
            symlink("/etc/passwd", scene.source().join("absolute")).unwrap();
            symlink("../../etc", scene.source().join("bin/up")).unwrap();
            symlink("missing", scene.source().join("dangling")).unwrap();
            symlink(".", scene.source().join("here")).unwrap();
            symlink("here/bin/../../..", scene.source().join("turned")).unwrap();
            let pipe = scene.source().join("pipe");
            rustix::fs::mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
            UnixListener::bind(scene.source().join("socket")).unwrap();
            scene
        }

        fn source(&self) -> PathBuf {
            self.directory.path().join("source")
        }

        fn copy(&self) -> PathBuf {
            self.directory.path().join("copy")
        }
    }

    fn below(root: &Path, left_out: &[SkippedEntry]) -> Vec<String> {
        let name = |one: &SkippedEntry| one.path.strip_prefix(root).unwrap().display().to_string();
        let mut names: Vec<String> = left_out.iter().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_copy_has_plain_files_and_names_what_it_leaves_out() {
        let scene = Scene::new();
        let left_out = copy(&scene.source(), &scene.copy()).unwrap();
        assert_eq!(
            below(&scene.source(), &left_out),
            [
                "absolute",
                "bare",
                "bin/inner",
                "bin/up",
                "dangling",
                "here",
                "module/.git",
                "pipe",
                "socket",
                "sub/.git",
                "turned",
            ]
        );
        let own = rustix::process::geteuid().as_raw();
        for (path, is_program) in
            [("a.txt", false), ("bin/tool", true), ("bin/group", true), ("bin/sticky", false)]
        {
            let facts = fs::metadata(scene.copy().join(path)).unwrap();
            assert_eq!(facts.mode() & 0o7000, 0, "{path}");
            assert_eq!(facts.mode() & 0o100 != 0, is_program, "{path}");
            assert_eq!(facts.uid(), own, "{path}");
        }
        assert_eq!(fs::metadata(scene.copy().join("sub")).unwrap().mode() & 0o7002, 0);
    }

    #[test]
    fn a_clone_keeps_its_own_repository_and_links_within() {
        let scene = Scene::new();
        let source = scene.source();
        fs::create_dir_all(source.join(".git/objects")).unwrap();
        let left_out = clean(&source).unwrap();
        assert_eq!(
            below(&source, &left_out),
            [
                "absolute",
                "bare",
                "bin/up",
                "dangling",
                "module/.git",
                "pipe",
                "socket",
                "sub/.git",
                "turned",
            ]
        );
        assert!(source.join(".git/objects").is_dir());
        assert!(source.join("bin/inner").is_file());
    }

    #[test]
    fn what_belongs_to_another_user_belongs_to_the_caller() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let scene = Scene::new();
        std::os::unix::fs::chown(scene.source().join("bin/tool"), Some(65534), Some(65534))
            .unwrap();
        let mode = fs::Permissions::from_mode(0o4755);
        fs::set_permissions(scene.source().join("bin/tool"), mode).unwrap();
        copy(&scene.source(), &scene.copy()).unwrap();
        let facts = fs::metadata(scene.copy().join("bin/tool")).unwrap();
        assert_eq!((facts.uid(), facts.gid(), facts.mode() & 0o7000), (0, 0, 0));
    }
}
