//! The directory that a program and the runtime share: the program's input and output.
//!
//! The program only reads `in` and owns `out`; every file in `out` counts as hostile. Slots are
//! reused by one program after another, so that their sandbox can be reused too.
//!
//! Must never: follow a link, open anything but a regular file, or read beyond the given limit.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use agentry_protocol::ContentHash;
use agentry_sandbox::PrivateDirectory;
use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::{Artifact, Base64Bytes};
use crate::limits::{ARTIFACTS_BYTES_MAX, ARTIFACTS_DEPTH_MAX, ARTIFACTS_MAX};

/// The prefix of the copies of agents' programs; the hash of their files follows.
const COPY: &str = "agent-";
const INPUT: &str = "input.json";
const PROGRAM: &str = "program";
const OUTPUT: &str = "output.json";

/// The directory of the helper libraries, each below the name of its language.
const LIBRARY: &str = "lib";
const LIBRARIES: [(&str, &str); 4] = [
    ("ruby/cybros_agent.rb", include_str!("../../../../../sdk/ruby/cybros_agent.rb")),
    ("python/agentry_agent.py", include_str!("../../../../../sdk/python/agentry_agent.py")),
    ("node/agentry_agent.js", include_str!("../../../../../sdk/node/agentry_agent.js")),
    ("sh/agentry.sh", include_str!("../../../../../sdk/sh/agentry.sh")),
];

/// Flags to open hostile files: no link is followed, and a pipe does not block.
const PLAIN: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// The modes of directories and programs, and of files: only their owner has access.
const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// A shared directory, removed on drop. Only we and the program's user enter it: its files are lent
/// to that user by mounts, or owned by it where mounts are missing.
pub(super) struct Slot {
    directory: PrivateDirectory,
    user: Option<u32>,
}

impl Slot {
    /// Creates a slot. `user` must own the files; None means this process's user.
    pub(super) fn new(user: Option<u32>) -> io::Result<Self> {
        let slot = Self { directory: PrivateDirectory::new()?, user };
        slot.own_it(slot.directory.path())?;
        for folder in [slot.given(), slot.own(), slot.libraries()] {
            slot.make_directory(&folder)?;
        }
        for (name, text) in LIBRARIES {
            let file = slot.libraries().join(name);
            slot.make_directory(file.parent().unwrap_or(&file))?;
            slot.write(&file, text.as_bytes(), FILE_MODE)?;
        }
        Ok(slot)
    }

    fn make_directory(&self, path: &Path) -> io::Result<()> {
        std::fs::DirBuilder::new().mode(DIRECTORY_MODE).create(path)?;
        self.own_it(path)
    }

    fn write(&self, path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(bytes)?;
        self.own_it(path)
    }

    fn own_it(&self, path: &Path) -> io::Result<()> {
        match self.user {
            Some(user) => std::os::unix::fs::lchown(path, Some(user), Some(user)),
            None => Ok(()),
        }
    }

    /// Returns the directory that the program only reads.
    pub(super) fn given(&self) -> PathBuf {
        self.directory.path().join("in")
    }

    /// Returns the directory of the helper libraries.
    pub(super) fn libraries(&self) -> PathBuf {
        self.given().join(LIBRARY)
    }

    /// Returns the directory that the program owns.
    pub(super) fn own(&self) -> PathBuf {
        self.directory.path().join("out")
    }

    pub(super) fn input(&self) -> PathBuf {
        self.given().join(INPUT)
    }

    pub(super) fn output(&self) -> PathBuf {
        self.own().join(OUTPUT)
    }

    /// Writes the input, and the program's text if given; returns the path of that text.
    pub(super) fn fill(&self, input: &[u8], program: Option<&[u8]>) -> io::Result<Option<PathBuf>> {
        self.write(&self.input(), input, FILE_MODE)?;
        let path = self.given().join(PROGRAM);
        program.map(|text| self.write(&path, text, DIRECTORY_MODE).map(|()| path)).transpose()
    }

    /// Returns the copy of an agent's programs with this hash; `write` makes it if it is missing.
    pub(super) fn copy(
        &self,
        hash: &ContentHash,
        write: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<PathBuf> {
        let name = hash.as_str().replace(':', "-");
        let path = self.given().join(format!("{COPY}{name}"));
        if path.is_dir() {
            return Ok(path);
        }
        self.forget_copies()?;
        let new = self.given().join(format!("{COPY}new"));
        write(&new)?;
        self.own_all(&new)?;
        std::fs::rename(&new, &path)?;
        Ok(path)
    }

    /// Gives a directory and its content to the user of the program.
    fn own_all(&self, path: &Path) -> io::Result<()> {
        if self.user.is_none() {
            return Ok(());
        }
        self.own_it(path)?;
        if path.symlink_metadata()?.is_dir() {
            for entry in std::fs::read_dir(path)? {
                self.own_all(&entry?.path())?;
            }
        }
        Ok(())
    }

    /// Removes the copies of agents' programs.
    pub(super) fn forget_copies(&self) -> io::Result<()> {
        for entry in std::fs::read_dir(self.given())? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(COPY) {
                std::fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    /// Returns the path of a directory that never exists, for caches that must not be used.
    pub(super) fn no_cache(&self) -> PathBuf {
        self.given().join("no-cache")
    }

    /// Creates a folder in the directory that the program owns.
    pub(super) fn make_folder(&self, name: &str) -> io::Result<PathBuf> {
        let mut path = self.own();
        for part in Path::new(name) {
            path.push(part);
            self.make_directory(&path)?;
        }
        Ok(path)
    }

    /// Reads the output file; None if there is none, an error text if it cannot be read.
    pub(super) fn read_output(&self, bytes_max: usize) -> Option<Result<Vec<u8>, String>> {
        let own = match open_directory(CWD, &self.own()) {
            Ok(own) => own,
            Err(error) => {
                return Some(Err(format!("its output directory cannot be opened: {error}")));
            }
        };
        match open_regular(&own, OsStr::new(OUTPUT)) {
            Ok(file) => Some(read_whole(file, bytes_max, "its output file")),
            Err(SlotReadError::Missing) => None,
            Err(SlotReadError::Other(why)) => Some(Err(format!("its output file is {why}"))),
        }
    }

    /// Reads the files of a folder that the program owns, and notes what it left out.
    pub(super) fn collect(&self, folder: &str) -> (Vec<Artifact>, Vec<String>) {
        let mut found = ArtifactCollection::default();
        let top = open_directory(CWD, &self.own());
        let top = top.and_then(|own| open_directory(&own, Path::new(folder)));
        match top {
            Ok(top) => found.walk(&top, "", 0),
            Err(error) => found.notes.push(format!("the folder {folder} cannot be read: {error}")),
        }
        (found.artifacts, found.notes)
    }

    /// Empties the slot. If a file cannot be removed, the slot must not be used again.
    pub(super) fn clear(&self) -> io::Result<()> {
        for name in [self.given(), self.own()] {
            for entry in std::fs::read_dir(&name)? {
                let entry = entry?;
                let is_copy = entry.file_name().to_string_lossy().starts_with(COPY);
                if entry.path() == self.libraries() || name == self.given() && is_copy {
                    continue;
                }
                if entry.file_type()?.is_dir() {
                    std::fs::remove_dir_all(entry.path())?
                } else {
                    std::fs::remove_file(entry.path())?
                }
            }
        }
        Ok(())
    }
}

/// The reason why a file is not read.
enum SlotReadError {
    Missing,
    Other(String),
}

fn open_directory(at: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(at, path, flags, Mode::empty())?)
}

fn open_regular(at: &OwnedFd, name: &OsStr) -> Result<std::fs::File, SlotReadError> {
    let opened =
        rustix::fs::openat(at, name, PLAIN, Mode::empty()).map_err(|error| match error {
            rustix::io::Errno::NOENT => SlotReadError::Missing,
            rustix::io::Errno::LOOP => {
                SlotReadError::Other("a link, and links are not followed".to_owned())
            }
            error => SlotReadError::Other(format!("unreadable: {error}")),
        })?;
    let facts =
        rustix::fs::fstat(&opened).map_err(|error| SlotReadError::Other(error.to_string()))?;
    if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile {
        return Err(SlotReadError::Other("not a regular file".to_owned()));
    }
    if facts.st_nlink != 1 {
        return Err(SlotReadError::Other("a hard link, and links are not followed".to_owned()));
    }
    Ok(opened.into())
}

fn read_whole(file: std::fs::File, bytes_max: usize, what: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let most = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    match file.take(most).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() > bytes_max => Err(format!("{what} has more than {bytes_max} bytes")),
        Ok(_) => Ok(bytes),
        Err(error) => Err(format!("{what} cannot be read: {error}")),
    }
}

#[derive(Default)]
struct ArtifactCollection {
    artifacts: Vec<Artifact>,
    bytes: usize,
    notes: Vec<String>,
}

impl ArtifactCollection {
    fn walk(&mut self, directory: &OwnedFd, above: &str, depth: usize) {
        let Ok(entries) = rustix::fs::Dir::read_from(directory) else { return };
        let mut names: Vec<String> = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_bytes();
            match std::str::from_utf8(name) {
                Ok("." | "..") => {}
                Ok(name) => names.push(name.to_owned()),
                Err(_) => self.notes.push("left out: a file name is not UTF-8".to_owned()),
            }
        }
        names.sort();
        for name in names {
            let shown = if above.is_empty() { name.clone() } else { format!("{above}/{name}") };
            if self.artifacts.len() >= ARTIFACTS_MAX || depth > ARTIFACTS_DEPTH_MAX {
                self.notes.push(format!("{shown} and all later files are left out: limit reached"));
                return;
            }
            if let Ok(inner) = open_directory(directory, Path::new(&name)) {
                self.walk(&inner, &shown, depth + 1);
                continue;
            }
            let read = match open_regular(directory, OsStr::new(&name)) {
                Ok(file) => read_whole(file, ARTIFACTS_BYTES_MAX - self.bytes, &shown),
                Err(SlotReadError::Missing) => continue,
                Err(SlotReadError::Other(why)) => Err(format!("{shown} is {why}")),
            };
            match read {
                Ok(bytes) => {
                    self.bytes += bytes.len();
                    self.artifacts.push(Artifact { name: shown, bytes: Base64Bytes(bytes) });
                }
                Err(why) => self.notes.push(format!("left out: {why}")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::JOB_OUTPUT_BYTES_MAX;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_a_regular_file_of_bounded_size_is_read() {
        let slot = Slot::new(None).unwrap();
        let why = || slot.read_output(JOB_OUTPUT_BYTES_MAX).unwrap().unwrap_err();
        assert!(slot.read_output(JOB_OUTPUT_BYTES_MAX).is_none());
        symlink("/etc/passwd", slot.output()).unwrap();
        assert!(why().contains("a link"));
        slot.clear().unwrap();
        std::fs::create_dir(slot.output()).unwrap();
        assert!(why().contains("not a regular file"));
        slot.clear().unwrap();
        rustix::fs::mkfifoat(CWD, slot.output(), Mode::RUSR | Mode::WUSR).unwrap();
        assert!(why().contains("not a regular file"));
        slot.clear().unwrap();
        std::fs::write(slot.own().join("other"), "{}").unwrap();
        std::fs::hard_link(slot.own().join("other"), slot.output()).unwrap();
        assert!(why().contains("hard link"));
        slot.clear().unwrap();
        std::fs::write(slot.output(), vec![b'x'; JOB_OUTPUT_BYTES_MAX + 1]).unwrap();
        assert!(why().contains("more than"));
        std::fs::write(slot.output(), vec![b'x'; JOB_OUTPUT_BYTES_MAX]).unwrap();
        assert_eq!(
            slot.read_output(JOB_OUTPUT_BYTES_MAX).unwrap().unwrap().len(),
            JOB_OUTPUT_BYTES_MAX
        );
    }

    #[test]
    fn nobody_else_reads_what_a_program_is_given() {
        use std::os::unix::fs::MetadataExt;
        let slot = Slot::new(None).unwrap();
        slot.fill(b"{}", Some(b"#!/bin/sh\n")).unwrap();
        slot.make_folder("charts").unwrap();
        let mut open = vec![slot.directory.path().to_owned()];
        let mut seen = 0;
        while let Some(path) = open.pop() {
            let facts = std::fs::symlink_metadata(&path).unwrap();
            assert_eq!(facts.mode() & 0o077, 0, "{}", path.display());
            seen += 1;
            if facts.is_dir() {
                open.extend(std::fs::read_dir(path).unwrap().map(|one| one.unwrap().path()));
            }
        }
        assert!(seen > 10);
        let path = slot.directory.path().to_owned();
        drop(slot);
        assert!(!path.exists());
    }

    #[test]
    fn what_lies_in_the_folder_is_collected_and_what_is_odd_is_named() {
        let slot = Slot::new(None).unwrap();
        let folder = slot.make_folder("charts").unwrap();
        std::fs::create_dir(folder.join("deep")).unwrap();
        std::fs::write(folder.join("deep/b.txt"), "b").unwrap();
        std::fs::write(folder.join("a.txt"), "a").unwrap();
        symlink("/etc/passwd", folder.join("link")).unwrap();
        let (artifacts, notes) = slot.collect("charts");
        let names: Vec<&str> = artifacts.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a.txt", "deep/b.txt"]);
        assert_eq!(notes.len(), 1);
        assert!(notes[0].contains("link"), "{notes:?}");
    }
}
