//! Snapshots of a workspace before and after a turn, for reverting the turn's file changes.
//!
//! They are commits under a hidden reference of the workspace's own repository. The index, HEAD,
//! branches and files are only read; ignored files are left out.
//!
//! Must never: write a file outside of the work tree, or overwrite changes from outside the turn.

mod restore;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use git2::{
    Commit, DiffFormat, DiffOptions, FileMode, Index, IndexEntry, IndexTime, Oid, Repository,
    Signature, Status, StatusOptions, Tree,
};

use crate::limits::{
    CHAT_DIFF_BYTES_MAX, UNDO_BYTES_MAX, UNDO_FILE_BYTES_MAX, UNDO_FILES_MAX, UNDO_TURNS_MAX,
};

/// The snapshots of a session.
#[derive(Clone)]
pub(crate) struct Snapshots {
    workspace: PathBuf,
    reference: String,
}

/// Kind of snapshot; the first word of its commit message.
const BEFORE: &str = "before";
const AFTER: &str = "after";
/// Prefix of a line in a commit message that names a file too large to store.
const LARGE: &str = "too large: ";

impl Snapshots {
    /// Returns the snapshots of a session, by its name.
    pub(crate) fn of(workspace: &Path, key: &str) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let name: String = key.chars().map(plain).collect();
        let workspace = workspace.to_owned();
        Self { workspace, reference: format!("refs/agentry/undo/{name}") }
    }

    /// Takes the snapshot before a turn. Does nothing without a repository.
    pub(crate) fn before(&self) -> Result<(), String> {
        self.record(|repository, tip, taken| {
            let (number, parent) = match tip {
                // A turn that never ended is replaced: its changes cannot be told apart.
                Some(tip) if is(&tip, BEFORE) => (number(&tip), tip.parent(0).ok()),
                Some(tip) if number(&tip) >= UNDO_TURNS_MAX => (1, None),
                Some(tip) => (number(&tip) + 1, Some(tip)),
                None => (1, None),
            };
            self.write(repository, &title(BEFORE, number), parent, taken)
        })
    }

    /// Takes the snapshot after a turn.
    pub(crate) fn after(&self) -> Result<(), String> {
        self.record(|repository, tip, taken| match tip {
            Some(tip) if is(&tip, BEFORE) => {
                self.write(repository, &title(AFTER, number(&tip)), Some(tip), taken)
            }
            Some(_) | None => Ok(()),
        })
    }

    fn record(
        &self,
        write: impl FnOnce(
            &Repository,
            Option<Commit<'_>>,
            &WorkTreeSnapshot,
        ) -> Result<(), git2::Error>,
    ) -> Result<(), String> {
        let Ok(repository) = open(&self.workspace) else { return Ok(()) };
        let taken = take(&repository);
        let written = taken.and_then(|taken| write(&repository, self.tip(&repository), &taken));
        written.map_err(|error| error.message().to_owned())
    }

    fn write(
        &self,
        repository: &Repository,
        title: &str,
        parent: Option<Commit<'_>>,
        taken: &WorkTreeSnapshot,
    ) -> Result<(), git2::Error> {
        let tree = repository.find_tree(taken.tree)?;
        let signature = Signature::now("agentry", "agentry@localhost")?;
        let mut message = format!("{title}\n\n");
        for path in &taken.large {
            message.push_str(&format!("{LARGE}{path}\n"));
        }
        let parents: Vec<&Commit<'_>> = parent.iter().collect();
        let commit = repository.commit(None, &signature, &signature, &message, &tree, &parents)?;
        repository.reference(&self.reference, commit, true, "agentry: a turn").map(|_| ())
    }

    fn tip<'r>(&self, repository: &'r Repository) -> Option<Commit<'r>> {
        repository.find_reference(&self.reference).ok()?.peel_to_commit().ok()
    }

    /// Reverts the file changes of the last turn. Returns their paths; fails if one changed since.
    pub(crate) fn undo(&self) -> Result<Vec<String>, String> {
        let repository = open(&self.workspace).map_err(|_| {
            "The workspace is not a git repository, so turns cannot be reverted.".to_owned()
        })?;
        let said = |error: git2::Error| error.message().to_owned();
        let after = self.tip(&repository).ok_or("No turn of this session can be reverted.")?;
        if !is(&after, AFTER) {
            return Err("The last turn did not finish, so its changes are unknown.".to_owned());
        }
        let before = after.parent(0).map_err(said)?;
        refuse_large(&before, &after)?;
        let changed = changed(&repository, &before, &after).map_err(said)?;
        restore::restore(&repository, &changed)?;
        self.forget(&repository, &before).map_err(said)?;
        Ok(changed.into_keys().collect())
    }

    /// Removes the snapshots of a reverted turn; the turn before is then the last one.
    fn forget(&self, repository: &Repository, before: &Commit<'_>) -> Result<(), git2::Error> {
        match before.parent(0) {
            Ok(earlier) => repository
                .reference(&self.reference, earlier.id(), true, "agentry: reverted")
                .map(|_| ()),
            Err(_) => repository.find_reference(&self.reference)?.delete(),
        }
    }
}

/// A file in a snapshot: its content and mode; None if it does not exist.
type FileVersion = Option<(Oid, i32)>;

/// The versions of each changed file before and after a turn, by path.
type SnapshotDiff = BTreeMap<String, (FileVersion, FileVersion)>;

fn changed(
    repository: &Repository,
    before: &Commit<'_>,
    after: &Commit<'_>,
) -> Result<SnapshotDiff, git2::Error> {
    let (old, new): (Tree<'_>, Tree<'_>) = (before.tree()?, after.tree()?);
    let diff = repository.diff_tree_to_tree(Some(&old), Some(&new), None)?;
    let mut changed = SnapshotDiff::new();
    for delta in diff.deltas() {
        let kept = |file: &git2::DiffFile<'_>| {
            (!file.id().is_zero()).then(|| (file.id(), mode_number(file.mode())))
        };
        let (old, new) = (delta.old_file(), delta.new_file());
        let path = new.path().or(old.path()).map(|path| path.display().to_string());
        changed.insert(path.unwrap_or_default(), (kept(&old), kept(&new)));
    }
    Ok(changed)
}

fn mode_number(mode: FileMode) -> i32 {
    mode.into()
}

fn is(commit: &Commit<'_>, what: &str) -> bool {
    commit.message().is_ok_and(|message| message.starts_with(what))
}

fn number(commit: &Commit<'_>) -> u32 {
    let first = commit.message().unwrap_or_default().lines().next().unwrap_or_default();
    first.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Fails if a file that was too large to store changed during the turn.
fn refuse_large(before: &Commit<'_>, after: &Commit<'_>) -> Result<(), String> {
    const SHOWN: usize = 5;
    let lines = |commit: &Commit<'_>| -> BTreeSet<String> {
        let lines = commit.message().unwrap_or_default().lines();
        lines.filter_map(|line| line.strip_prefix(LARGE)).map(str::to_owned).collect()
    };
    let (before, after) = (lines(before), lines(after));
    let name = |line: &String| line.splitn(3, ' ').nth(2).unwrap_or_default().to_owned();
    let names: BTreeSet<String> = before.symmetric_difference(&after).map(name).collect();
    if names.is_empty() {
        return Ok(());
    }
    let shown: Vec<&str> = names.iter().map(String::as_str).take(SHOWN).collect();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(format!("Too large to revert, check by hand: {}{more}", shown.join(", ")))
}

/// Opens the repository that a directory belongs to; fails if it has no work tree.
fn open(workspace: &Path) -> Result<Repository, git2::Error> {
    let repository = Repository::discover(workspace)?;
    match repository.workdir() {
        Some(_) => Ok(repository),
        None => Err(git2::Error::from_str("the repository has no work tree")),
    }
}

/// The state of a work tree.
struct WorkTreeSnapshot {
    tree: Oid,
    /// Changed files that were too large to store.
    large: Vec<String>,
}

/// Returns the title of a snapshot's commit.
fn title(what: &str, number: u32) -> String {
    format!("{what} turn {number}")
}

/// Stores the state of the work tree as a git tree. Unchanged files are not read again.
fn take(repository: &Repository) -> Result<WorkTreeSnapshot, git2::Error> {
    let mut kept = Index::new()?;
    let mut taking = SnapshotBuilder { repository, bytes: 0, files: 0, large: Vec::new() };
    let filtered = is_filtered(repository);
    for entry in repository.index()?.iter() {
        // Entries in conflict have more than one content.
        if entry.flags & 0x3000 != 0 {
            continue;
        }
        let path = String::from_utf8_lossy(&entry.path).into_owned();
        if filtered && !is_as_stored(repository, &entry) {
            taking.keep(&path, &mut kept)?
        } else {
            kept.add(&entry)?
        }
    }
    let mut options = StatusOptions::new();
    options.include_untracked(true).recurse_untracked_dirs(true).include_ignored(false);
    options.exclude_submodules(true).update_index(false).no_refresh(true);
    for status in repository.statuses(Some(&mut options))?.iter() {
        let Ok(path) = status.path() else { continue };
        let in_tree =
            Status::WT_NEW | Status::WT_MODIFIED | Status::WT_TYPECHANGE | Status::WT_DELETED;
        if status.status().intersects(in_tree) {
            taking.keep(path, &mut kept)?;
        }
    }
    Ok(WorkTreeSnapshot { tree: kept.write_tree_to(repository)?, large: taking.large })
}

/// Stores files of the work tree, within the limits.
struct SnapshotBuilder<'r> {
    repository: &'r Repository,
    bytes: u64,
    files: u32,
    large: Vec<String>,
}

impl SnapshotBuilder<'_> {
    fn keep(&mut self, path: &str, kept: &mut Index) -> Result<(), git2::Error> {
        kept.remove_path(Path::new(path))?;
        let full = self.repository.workdir().unwrap_or(Path::new("")).join(path);
        let Some((content, mode)) = read(&full) else { return Ok(()) };
        self.bytes += content.len() as u64;
        self.files += 1;
        let fits = content.len() as u64 <= UNDO_FILE_BYTES_MAX;
        if !fits || self.bytes > UNDO_BYTES_MAX || self.files > UNDO_FILES_MAX {
            self.large.push(format!("{} {path}", stamp(&full)));
            return Ok(());
        }
        let id = self.repository.blob(&content)?;
        kept.add(&entry(path, id, mode))
    }
}

/// Returns a stamp that changes with a file that is not read: its size and time of writing.
fn stamp(path: &Path) -> String {
    use std::os::unix::fs::MetadataExt;
    let found = path.symlink_metadata();
    let (size, time) = found.map_or((0, 0), |found| {
        (found.size(), found.mtime().wrapping_mul(1_000_000_000).wrapping_add(found.mtime_nsec()))
    });
    format!("{size} {time}")
}

/// Returns true if filters may change stored files, such as line ends or files stored elsewhere.
fn is_filtered(repository: &Repository) -> bool {
    let settings = repository.config().and_then(|mut config| config.snapshot());
    let converts =
        settings.is_ok_and(|one| one.get_str("core.autocrlf").is_ok_and(|value| value != "false"));
    let index = repository.index();
    let listed =
        index.is_ok_and(|index| index.iter().any(|entry| entry.path.ends_with(b".gitattributes")));
    converts || listed || repository.path().join("info/attributes").exists()
}

fn is_as_stored(repository: &Repository, entry: &IndexEntry) -> bool {
    let header = repository.odb().and_then(|odb| odb.read_header(entry.id));
    header.is_ok_and(|(size, _)| u32::try_from(size).is_ok_and(|size| size == entry.file_size))
}

/// Reads a file or link with its mode, up to one byte more than `UNDO_FILE_BYTES_MAX`.
fn read(path: &Path) -> Option<(Vec<u8>, u32)> {
    use std::io::Read;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;
    let found = path.symlink_metadata().ok()?;
    if found.is_symlink() {
        let target = std::fs::read_link(path).ok()?;
        return Some((target.as_os_str().as_bytes().to_vec(), 0o120_000));
    }
    if !found.is_file() {
        return None;
    }
    let mode = if found.permissions().mode() & 0o100 == 0 { 0o100_644 } else { 0o100_755 };
    let mut content = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(UNDO_FILE_BYTES_MAX + 1).read_to_end(&mut content).ok()?;
    Some((content, mode))
}

fn entry(path: &str, id: Oid, mode: u32) -> IndexEntry {
    let time = IndexTime::new(0, 0);
    IndexEntry {
        ctime: time,
        mtime: time,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.as_bytes().to_vec(),
    }
}

/// Returns the diff of a workspace since the last commit, with new files.
pub(crate) fn diff(workspace: &Path) -> Result<String, String> {
    let repository = open(workspace).map_err(|_| {
        "The workspace is not a git repository, so there is nothing to compare with.".to_owned()
    })?;
    let text = || -> Result<String, git2::Error> {
        let head = repository.head().ok().and_then(|head| head.peel_to_tree().ok());
        let mut options = DiffOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(true).show_untracked_content(true);
        let diff = repository.diff_tree_to_workdir_with_index(head.as_ref(), Some(&mut options))?;
        let mut text = String::new();
        diff.print(DiffFormat::Patch, |_, _, line| {
            if matches!(line.origin(), '+' | '-' | ' ') {
                text.push(line.origin());
            }
            text.push_str(&String::from_utf8_lossy(line.content()));
            text.len() < CHAT_DIFF_BYTES_MAX
        })
        .or_else(|error| if text.len() < CHAT_DIFF_BYTES_MAX { Err(error) } else { Ok(()) })?;
        if text.len() >= CHAT_DIFF_BYTES_MAX {
            text.push_str("\n… and more\n");
        }
        Ok(text)
    };
    text().map_err(|error| error.message().to_owned())
}

#[cfg(test)]
mod tests;
