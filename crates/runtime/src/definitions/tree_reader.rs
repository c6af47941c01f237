//! Reads a directory into a `FileTree`: a snapshot, within limits, that never leaves the directory.
//!
//! Links are followed only inside the directory; pipes, sockets and devices are not opened. Entries
//! that are not read are in the tree with the reason.
//!
//! Must never: follow a link out of the root, or block on a file that is not regular.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use agentry_agentfile::file_tree::{FileContent, FileTree, FileTreeEntry, ReadRefusal};
use agentry_agentfile::layout::{self, DirectoryRole};
use agentry_agentfile::limits::FILE_BYTES_MAX;
use agentry_agentfile::trust::TrustCoverage;
use agentry_protocol::ContentHasher;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt, OpenOptions, OpenOptionsExt, PermissionsExt};
use rustix::io::Errno;

use crate::limits::{
    READ_BYTES_MAX, READ_DEPTH_MAX, READ_DIRECTORIES_MAX, READ_FILES_IN_TIME_MIN, READ_FILES_MAX,
    READ_TIME_MAX,
};

/// Reads the definition files below a directory. `label` is the directory's name for people.
pub fn read_project(directory: &Path, label: &str) -> io::Result<FileTree> {
    read(directory, label, vec![(String::new(), layout::root())])
}

/// Adds one more regular file of the directory to its tree; fails if the path is missing.
pub fn read_extra_file(tree: &mut FileTree, directory: &Path, path: &str) -> io::Result<()> {
    let root = Dir::open_ambient_dir(directory, ambient_authority())?;
    if tree.get(path).is_none() && root.metadata(path)?.is_file() {
        let (path_of_root, empty) = (directory.to_owned(), FileTree::default());
        let (read, files, directories, bytes) = (Arc::default(), 0, 0, 0);
        let mut walk =
            TreeReader { root, path: path_of_root, tree: empty, read, files, directories, bytes };
        if let Some(file) = walk.content(path)? {
            tree.insert(path, FileTreeEntry::File(file));
        }
    }
    Ok(())
}

/// Reads a user's packs and skills below the home directory.
pub fn read_home(home: &Path, label: &str) -> io::Result<FileTree> {
    let starts = layout::HOME_ENTRIES.iter().filter_map(|name| {
        let role = layout::directory_role(&layout::root(), name, &[])?;
        home.join(name).is_dir().then(|| ((*name).to_owned(), role))
    });
    read(home, label, starts.collect())
}

/// Reads the whole content of a directory.
pub fn read_whole(directory: &Path, label: &str) -> io::Result<FileTree> {
    read(directory, label, vec![(String::new(), DirectoryRole::Whole)])
}

/// Reads the parts of an agent's directory that its trust covers, as they are now.
pub fn read_parts(directory: &Path, parts: &TrustCoverage) -> io::Result<FileTree> {
    let is_folder = |folder: &&String| directory.join(folder).is_dir();
    let folders = parts.folders.iter().filter(is_folder);
    let starts = folders.map(|folder| (folder.clone(), layout::trusted_folder(folder))).collect();
    let mut tree = read(directory, "", starts)?;
    let root = Dir::open_ambient_dir(directory, ambient_authority())?;
    let path_of_root = directory.to_owned();
    let (files, bytes) = counted(&tree);
    let empty = FileTree::default();
    let (read, directories) = (Arc::default(), 0);
    let mut walk =
        TreeReader { root, path: path_of_root, tree: empty, read, files, directories, bytes };
    for path in parts.files.iter().filter(|path| tree.get(path).is_none()) {
        if directory.join(path).symlink_metadata().is_ok() && walk.one(path).is_err() {
            break;
        }
    }
    // The path of a folder may hold another kind of entry, such as a link out of the directory.
    for folder in parts.folders.iter().filter(|folder| !directory.join(folder).is_dir()) {
        if directory.join(folder).symlink_metadata().is_ok() {
            walk.refuse(folder, ReadRefusal::WrongKind("a directory".to_owned()));
        }
    }
    for (path, entry) in walk.tree.below("") {
        tree.insert(path, entry.clone());
    }
    Ok(tree)
}

/// Counts the files of a tree and their bytes.
fn counted(tree: &FileTree) -> (usize, u64) {
    let files = tree.below("").filter_map(|(path, _)| tree.file(path));
    files.fold((0, 0), |(count, bytes), file| (count + 1, bytes + file.length))
}

/// Reads the given parts of a directory.
fn read(
    directory: &Path,
    label: &str,
    starts: Vec<(String, DirectoryRole)>,
) -> io::Result<FileTree> {
    let path = directory.to_owned();
    let root = Dir::open_ambient_dir(&path, ambient_authority())?;
    let mut tree = FileTree::new(label);
    tree.own_name = path
        .canonicalize()
        .ok()
        .and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let empty = tree.clone();
    Ok(within(READ_TIME_MAX, empty, move |read| {
        let mut walk = TreeReader { root, path, tree, read, files: 0, directories: 0, bytes: 0 };
        for (start, role) in starts {
            if walk.directory(&start, &role, &mut HashSet::new()).is_err() {
                break;
            }
        }
        walk.tree
    }))
}

/// Reads in a thread of its own, so that a hanging disk cannot block the caller. The time limit is
/// per `READ_FILES_IN_TIME_MIN` files, so that large projects have enough.
fn within(
    time: Duration,
    empty: FileTree,
    work: impl FnOnce(Arc<AtomicUsize>) -> FileTree + Send + 'static,
) -> FileTree {
    let (sender, receiver) = mpsc::channel();
    let read = Arc::new(AtomicUsize::new(0));
    let count = read.clone();
    // The caller may have stopped waiting; then the tree is dropped.
    thread::spawn(move || sender.send(work(read)).unwrap_or_default());
    let mut before = 0;
    loop {
        if let Ok(tree) = receiver.recv_timeout(time) {
            return tree;
        }
        let now = count.load(Ordering::Relaxed);
        if now < before + READ_FILES_IN_TIME_MIN {
            let mut tree = empty;
            tree.insert(".", FileTreeEntry::Refused(ReadRefusal::Timeout));
            return tree;
        }
        before = now;
    }
}

struct TreeReader {
    root: Dir,
    path: PathBuf,
    tree: FileTree,
    read: Arc<AtomicUsize>,
    files: usize,
    directories: usize,
    bytes: u64,
}

/// A limit was exceeded; the reason is in the tree.
struct TreeOverflow;

struct DirectoryItem {
    name: String,
    path: String,
    kind: DirectoryItemKind,
}

enum DirectoryItemKind {
    File,
    Directory,
    Refused(ReadRefusal),
}

impl TreeReader {
    fn directory(
        &mut self,
        path: &str,
        role: &DirectoryRole,
        above: &mut HashSet<(u64, u64)>,
    ) -> Result<(), TreeOverflow> {
        self.directories += 1;
        if self.directories > READ_DIRECTORIES_MAX {
            return self.full(path, format!("more than {READ_DIRECTORIES_MAX} directories"));
        }
        // A directory that is too deep is left out alone; its neighbors are still read.
        if path.matches('/').count() >= READ_DEPTH_MAX {
            let what = format!("directories nest more than {READ_DEPTH_MAX} deep");
            self.refuse(path, ReadRefusal::TooMuch(what));
            return Ok(());
        }
        let here = if path.is_empty() { "." } else { path };
        let (identity, children) = match self.children(path) {
            Ok(read) => read,
            Err(error) => {
                self.refuse(here, ReadRefusal::Unreadable(error.to_string()));
                return Ok(());
            }
        };
        // A link to a parent directory would lead into a cycle.
        if !above.insert(identity) {
            return Ok(());
        }
        let names: Vec<&str> = children.iter().map(|child| child.name.as_str()).collect();
        for child in &children {
            if let Some(meant) = layout::suggested_name(role, &child.name, &names) {
                self.refuse(&child.path, ReadRefusal::Misnamed(meant.to_owned()));
                continue;
            }
            let is_directory = match child.kind {
                DirectoryItemKind::Directory => Some(true),
                DirectoryItemKind::File => Some(false),
                DirectoryItemKind::Refused(_) => None,
            };
            let expected = is_directory.and_then(|is_directory| {
                layout::expected_kind(role, &child.name, is_directory, &names)
            });
            if let Some(expected) = expected {
                self.refuse(&child.path, ReadRefusal::WrongKind(expected.to_owned()));
                continue;
            }
            match &child.kind {
                DirectoryItemKind::Directory => {
                    if let Some(role) = layout::directory_role(role, &child.name, &names) {
                        self.directory(&child.path, &role, above)?;
                    }
                }
                DirectoryItemKind::File if layout::includes_file(role, &child.name, &names) => {
                    self.file(&child.path)?
                }
                DirectoryItemKind::Refused(refusal) if matters(role, &child.name, &names) => {
                    self.refuse(&child.path, refusal.clone());
                }
                DirectoryItemKind::File | DirectoryItemKind::Refused(_) => {}
            }
        }
        above.remove(&identity);
        Ok(())
    }

    /// Returns the device and inode of a directory, and its entries.
    fn children(&self, path: &str) -> io::Result<((u64, u64), Vec<DirectoryItem>)> {
        let directory =
            if path.is_empty() { self.root.try_clone()? } else { self.root.open_dir(path)? };
        let metadata = directory.dir_metadata()?;
        let mut children = Vec::new();
        for entry in directory.entries()? {
            let entry = entry?;
            // No definition has a name that is not UTF-8.
            let Ok(name) = entry.file_name().into_string() else { continue };
            let below = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            let kind = self.kind(&below, entry.file_type()?);
            children.push(DirectoryItem { name, path: below, kind });
        }
        children.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(((metadata.dev(), metadata.ino()), children))
    }

    fn kind(&self, path: &str, kind: cap_std::fs::FileType) -> DirectoryItemKind {
        if kind.is_file() {
            DirectoryItemKind::File
        } else if kind.is_dir() {
            DirectoryItemKind::Directory
        } else if kind.is_symlink() {
            self.link(path)
        } else {
            DirectoryItemKind::Refused(ReadRefusal::NotARegularFile)
        }
    }

    /// Resolves the kind of a link's target.
    fn link(&self, path: &str) -> DirectoryItemKind {
        match self.root.metadata(path) {
            Ok(target) if target.is_file() => DirectoryItemKind::File,
            Ok(target) if target.is_dir() => DirectoryItemKind::Directory,
            Ok(_) => DirectoryItemKind::Refused(ReadRefusal::NotARegularFile),
            // It resolves, only not beneath the root.
            Err(_) if fs::metadata(self.path.join(path)).is_ok() => {
                DirectoryItemKind::Refused(ReadRefusal::LinkLeavesRoot)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => DirectoryItemKind::Refused(
                ReadRefusal::Unreadable("the link points to nothing".to_owned()),
            ),
            Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                DirectoryItemKind::Refused(ReadRefusal::Unreadable(
                    "the link leads to itself".to_owned(),
                ))
            }
            Err(_) => DirectoryItemKind::Refused(ReadRefusal::LinkLeavesRoot),
        }
    }

    /// Reads a single file, or records why it is refused.
    fn one(&mut self, path: &str) -> Result<(), TreeOverflow> {
        let kind = fs::symlink_metadata(self.path.join(path)).map(|found| found.file_type());
        let kind = match kind {
            Ok(kind) if kind.is_symlink() => self.link(path),
            Ok(kind) if kind.is_file() => DirectoryItemKind::File,
            Ok(_) => DirectoryItemKind::Refused(ReadRefusal::NotARegularFile),
            Err(error) => DirectoryItemKind::Refused(ReadRefusal::Unreadable(error.to_string())),
        };
        match kind {
            DirectoryItemKind::File => return self.file(path),
            DirectoryItemKind::Directory => self.refuse(path, ReadRefusal::NotARegularFile),
            DirectoryItemKind::Refused(refusal) => self.refuse(path, refusal),
        }
        Ok(())
    }

    fn file(&mut self, path: &str) -> Result<(), TreeOverflow> {
        self.files += 1;
        self.read.store(self.files, Ordering::Relaxed);
        if self.files > READ_FILES_MAX {
            return self.full(path, format!("more than {READ_FILES_MAX} files"));
        }
        match self.content(path) {
            Ok(Some(file)) => self.tree.insert(path, FileTreeEntry::File(file)),
            // This file is refused; its neighbors can still be read.
            Ok(None) => {
                let what = format!("more than {READ_BYTES_MAX} bytes altogether");
                self.refuse(path, ReadRefusal::TooMuch(what));
            }
            Err(error) => self.refuse(path, ReadRefusal::Unreadable(error.to_string())),
        }
        Ok(())
    }

    /// Returns the content of a file; None if the total size would exceed the limit.
    fn content(&mut self, path: &str) -> io::Result<Option<FileContent>> {
        let mut options = OpenOptions::new();
        let without_waiting =
            i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
        let mut file =
            self.root.open_with(path, options.read(true).custom_flags(without_waiting))?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        if self.bytes.saturating_add(metadata.len()) > READ_BYTES_MAX {
            return Ok(None);
        }
        let executable = metadata.permissions().mode() & 0o111 != 0;
        let mut bytes = Vec::with_capacity(
            usize::try_from(metadata.len()).unwrap_or_default().min(FILE_BYTES_MAX),
        );
        (&mut file).take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() <= FILE_BYTES_MAX {
            self.bytes += bytes.len() as u64;
            return Ok(Some(FileContent::new(bytes, executable)));
        }
        let mut hasher = ContentHasher::default();
        hasher.piece(&bytes);
        let mut length = bytes.len() as u64;
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            length += read as u64;
            if self.bytes + length > READ_BYTES_MAX {
                return Ok(None);
            }
            hasher.piece(&buffer[..read]);
        }
        self.bytes += length;
        Ok(Some(FileContent { bytes: None, hash: hasher.finish(), length, executable }))
    }

    fn refuse(&mut self, path: &str, refusal: ReadRefusal) {
        self.tree.insert(path, FileTreeEntry::Refused(refusal));
    }

    fn full(&mut self, path: &str, what: String) -> Result<(), TreeOverflow> {
        self.refuse(if path.is_empty() { "." } else { path }, ReadRefusal::TooMuch(what));
        Err(TreeOverflow)
    }
}

/// True if an unreadable entry would have been read as a file or directory.
fn matters(role: &DirectoryRole, name: &str, beside: &[&str]) -> bool {
    let as_directory = match layout::directory_role(role, name, beside) {
        Some(
            DirectoryRole::Whole
            | DirectoryRole::Code
            | DirectoryRole::SkillsOnly
            | DirectoryRole::Context,
        ) => true,
        Some(DirectoryRole::Candidate { .. }) | None => false,
    };
    layout::includes_file(role, name, beside) || as_directory
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_hangs_does_not_hold_the_caller() {
        let (release, held) = mpsc::channel::<()>();
        let tree = within(Duration::from_millis(1), FileTree::new("p"), move |_| {
            held.recv().unwrap_or_default();
            FileTree::new("too late")
        });
        assert_eq!(tree.label, "p");
        assert!(matches!(tree.get("."), Some(FileTreeEntry::Refused(ReadRefusal::Timeout))));
        drop(release);
    }
}
