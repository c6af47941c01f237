//! Files and directories of an untrusted tree, reached by handles only.
//!
//! Must never: follow a link, open anything but directories and regular files, or wait for a FIFO.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

#[cfg(not(target_os = "linux"))]
use rustix::fs::Stat;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode, RenameFlags};
#[cfg(target_os = "linux")]
use rustix::fs::{Statx, StatxFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// The buffer for reading a directory, in bytes.
const LISTING_BYTES: usize = 32 * 1024;

/// Seconds and nanoseconds, as wide as those of any system.
pub(crate) type FileTime = (i128, i128);

/// The identity of a file, independent of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct FileId {
    pub(crate) dev: i128,
    ino: i128,
    /// The creation time, where the file system has it: the number of a deleted file is reused.
    born: Option<FileTime>,
}

/// The kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    /// A FIFO, a socket or a device.
    Other,
}

/// A name in an open directory.
#[derive(Clone, Copy)]
pub(crate) struct DirectoryEntry<'a> {
    pub(crate) dir: &'a OwnedFd,
    pub(crate) name: &'a CStr,
}

/// The metadata of a directory entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileStatus {
    pub(crate) id: FileId,
    pub(crate) kind: Kind,
    /// The permission bits.
    pub(crate) mode: RawMode,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) links: i128,
    pub(crate) size: u64,
    /// The time of its last creation, change, link or rename; seconds and nanoseconds.
    pub(crate) changed: FileTime,
}

impl From<FileType> for Kind {
    fn from(sort: FileType) -> Self {
        match sort {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

#[cfg(target_os = "linux")]
impl From<Statx> for FileStatus {
    fn from(stat: Statx) -> Self {
        let stamp = |time: rustix::fs::StatxTimestamp| (time.tv_sec.into(), time.tv_nsec.into());
        let knows_birth = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
        Self {
            id: FileId {
                dev: i128::from(stat.stx_dev_major) << 32 | i128::from(stat.stx_dev_minor),
                ino: stat.stx_ino.into(),
                born: knows_birth.then(|| stamp(stat.stx_btime)),
            },
            kind: FileType::from_raw_mode(stat.stx_mode.into()).into(),
            mode: RawMode::from(stat.stx_mode) & 0o7777,
            uid: stat.stx_uid,
            gid: stat.stx_gid,
            links: stat.stx_nlink.into(),
            size: stat.stx_size,
            changed: stamp(stat.stx_ctime),
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl From<Stat> for FileStatus {
    fn from(stat: Stat) -> Self {
        let kind = FileType::from_raw_mode(stat.st_mode).into();
        Self {
            id: FileId { dev: stat.st_dev.into(), ino: stat.st_ino.into(), born: None },
            kind,
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            links: stat.st_nlink.into(),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            changed: (stat.st_ctime.into(), stat.st_ctime_nsec.into()),
        }
    }
}

/// Returns the status of a name without following links; None if there is no such entry.
pub(crate) fn status(dir: impl AsFd, name: &CStr) -> io::Result<Option<FileStatus>> {
    match look(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat.into())),
        Err(error) if is_absent(error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn status_of(handle: impl AsFd) -> io::Result<FileStatus> {
    #[cfg(target_os = "linux")]
    let flags = AtFlags::EMPTY_PATH;
    #[cfg(not(target_os = "linux"))]
    let flags = AtFlags::empty();
    Ok(look(handle, c"", flags)?.into())
}

#[cfg(target_os = "linux")]
fn look(dir: impl AsFd, name: &CStr, flags: AtFlags) -> Result<Statx, Errno> {
    rustix::fs::statx(dir, name, flags, StatxFlags::BASIC_STATS | StatxFlags::BTIME)
}

#[cfg(not(target_os = "linux"))]
fn look(dir: impl AsFd, name: &CStr, flags: AtFlags) -> Result<Stat, Errno> {
    if name.is_empty() { rustix::fs::fstat(dir) } else { rustix::fs::statat(dir, name, flags) }
}

/// Returns true if an error means that the entry is missing, or of another kind than requested.
pub(crate) fn is_absent(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

/// Opens the directory with this name; a link is an error.
pub(crate) fn open_dir(dir: impl AsFd, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty())
}

/// Opens a directory by its path below a root; every component must be a directory and no link.
pub(crate) fn open_below(root: impl AsFd, path: &Path) -> Result<OwnedFd, Errno> {
    let mut dir = open_dir(root, c".")?;
    for part in path.components() {
        match part {
            Component::Normal(name) => dir = open_dir(&dir, &c_name(name)?)?,
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(Errno::INVAL);
            }
        }
    }
    Ok(dir)
}

pub(crate) fn c_name(name: &OsStr) -> Result<CString, Errno> {
    CString::new(name.as_bytes()).map_err(|_| Errno::INVAL)
}

/// A reusable buffer for reading the entries of directories.
#[derive(Debug)]
pub(crate) struct DirectoryReader {
    buffer: Vec<MaybeUninit<u8>>,
}

impl DirectoryReader {
    pub(crate) fn new() -> Self {
        Self { buffer: vec![MaybeUninit::uninit(); LISTING_BYTES] }
    }

    /// Calls back for every entry, with the kind that the directory reports for it.
    #[cfg(target_os = "linux")]
    pub(crate) fn each(
        &mut self,
        dir: &OwnedFd,
        mut visit: impl FnMut(&CStr, FileType) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut entries = rustix::fs::RawDir::new(dir, &mut self.buffer);
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                // The directory was removed while it was read.
                Err(Errno::NOENT) => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            let name = entry.file_name();
            if name != c"." && name != c".." && visit(name, entry.file_type()).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Calls back for every entry, with the kind that the directory reports for it.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn each(
        &mut self,
        dir: &OwnedFd,
        mut visit: impl FnMut(&CStr, FileType) -> ControlFlow<()>,
    ) -> io::Result<()> {
        self.buffer.clear();
        for entry in rustix::fs::Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." && visit(name, entry.file_type()).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns all names, at most `max`; None if there are more.
    pub(crate) fn names(&mut self, dir: &OwnedFd, max: usize) -> io::Result<Option<Vec<CString>>> {
        let mut names = Vec::new();
        let mut too_many = false;
        self.each(dir, |name, _| {
            too_many = names.len() == max;
            if too_many {
                return ControlFlow::Break(());
            }
            names.push(name.to_owned());
            ControlFlow::Continue(())
        })?;
        Ok((!too_many).then_some(names))
    }
}

/// Opens a regular file for reading; None if it is missing or another kind of entry by now.
pub(crate) fn open_file(dir: impl AsFd, name: &CStr) -> io::Result<Option<File>> {
    // Without waiting: it could be a FIFO by now.
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let handle = match rustix::fs::openat(dir, name, flags, Mode::empty()) {
        Ok(handle) => handle,
        Err(error) if is_absent(error) || error == Errno::NXIO => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let is_file = status_of(&handle)?.kind == Kind::File;
    Ok(is_file.then(|| File::from(handle)))
}

/// Returns the content of a regular file; None if it is missing, too long or another kind.
pub(crate) fn read_file(dir: impl AsFd, name: &CStr, max: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open_file(dir, name)? else { return Ok(None) };
    let mut bytes = Vec::new();
    file.take(max + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max).then_some(bytes))
}

/// Sets the permission bits of an entry, not of a link's target.
#[cfg(target_os = "linux")]
pub(crate) fn set_mode(dir: impl AsFd, name: &CStr, mode: RawMode) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    if status_of(&handle)?.kind == Kind::Link {
        return Ok(());
    }
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    Ok(rustix::fs::chmod(path, Mode::from_raw_mode(mode))?)
}

/// Sets the permission bits of an entry, not of a link's target.
#[cfg(not(target_os = "linux"))]
pub(crate) fn set_mode(dir: impl AsFd, name: &CStr, mode: RawMode) -> io::Result<()> {
    let mode = Mode::from_raw_mode(mode);
    Ok(rustix::fs::chmodat(dir, name, mode, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Returns true if an error means that an entry was moved or made between a scan and its repair.
pub(crate) fn is_race(error: &io::Error) -> bool {
    let is_off_the_way = |code| is_absent(Errno::from_raw_os_error(code));
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists)
        || error.raw_os_error().is_some_and(is_off_the_way)
}

/// Renames, but never over an existing entry.
pub(crate) fn rename(from: DirectoryEntry<'_>, to: DirectoryEntry<'_>) -> io::Result<()> {
    match rename_once(from, to) {
        // A directory must be writable to get another parent; the call may have removed that right.
        Err(Errno::ACCESS) => {
            let before = status(from.dir, from.name)?;
            let Some(before) = before else { return Err(Errno::ACCESS.into()) };
            set_mode(from.dir, from.name, before.mode | 0o700)?;
            rename_once(from, to)?;
            set_mode(to.dir, to.name, before.mode)
        }
        other => Ok(other?),
    }
}

fn rename_once(from: DirectoryEntry<'_>, to: DirectoryEntry<'_>) -> Result<(), Errno> {
    let DirectoryEntry { dir: from, name } = from;
    let DirectoryEntry { dir: to, name: new_name } = to;
    match rustix::fs::renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE) {
        // Some file systems cannot guarantee it; then a check just before is the best there is.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            match rustix::fs::statat(to, new_name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => rustix::fs::renameat(from, name, to, new_name),
                Err(error) => Err(error),
                Ok(_) => Err(Errno::EXIST),
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Returns a directory and a handle on it.
    fn scene() -> (tempfile::TempDir, OwnedFd) {
        let scene = tempfile::tempdir().unwrap();
        let handle = open_dir(rustix::fs::CWD, &c_name(scene.path().as_os_str()).unwrap()).unwrap();
        (scene, handle)
    }

    fn too_long() -> CString {
        CString::new("x".repeat(300)).unwrap()
    }

    #[test]
    fn only_a_thing_that_is_not_there_is_absent() {
        for error in [Errno::NOENT, Errno::NOTDIR, Errno::LOOP] {
            assert!(is_absent(error), "{error}");
        }
        for error in [Errno::ACCESS, Errno::INVAL, Errno::NAMETOOLONG, Errno::IO] {
            assert!(!is_absent(error), "{error}");
        }
        let (_scene, dir) = scene();
        assert_eq!(status(&dir, c"missing").unwrap(), None);
        status(&dir, &too_long()).unwrap_err();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_is_named_by_its_device_its_number_and_its_birth() {
        use std::os::unix::fs::MetadataExt as _;
        let (scene, dir) = scene();
        std::fs::write(scene.path().join("file"), "").unwrap();
        let found = status(&dir, c"file").unwrap().unwrap();
        let metadata = scene.path().join("file").metadata().unwrap();
        assert_eq!(found.id.ino, i128::from(metadata.ino()));
        assert_eq!(found.id.born.is_some(), metadata.created().is_ok());
        // Devices of several kinds, with and without a major number.
        for path in [c"/proc", c"/dev", c"/"] {
            let found = status(rustix::fs::CWD, path).unwrap().unwrap();
            let device = rustix::fs::stat(path).unwrap().st_dev;
            let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
            assert_eq!(found.id.dev, i128::from(major) << 32 | i128::from(minor), "{path:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_a_regular_file_is_opened_and_read_as_a_whole() {
        let (scene, dir) = scene();
        let path = |name: &str| scene.path().join(name);
        std::fs::write(path("file"), "text").unwrap();
        symlink("file", path("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(&dir, c"fifo", FileType::Fifo, mode, 0).unwrap();
        let read = |name: &CStr, max| read_file(&dir, name, max).unwrap();
        for name in [c"link", c"socket", c"fifo", c".", c"missing"] {
            assert_eq!(read(name, 100), None, "{name:?}");
        }
        assert_eq!(read(c"file", 4), Some(b"text".to_vec()));
        assert_eq!(read(c"file", 3), None);
        open_file(&dir, &too_long()).unwrap_err();
    }

    #[test]
    fn the_rights_of_a_file_are_not_set_through_a_link() {
        let (scene, dir) = scene();
        let file = scene.path().join("file");
        std::fs::write(&file, "").unwrap();
        symlink("file", scene.path().join("link")).unwrap();
        let mode = || file.metadata().unwrap().permissions().mode() & 0o7777;
        set_mode(&dir, c"file", 0o640).unwrap();
        assert_eq!(mode(), 0o640);
        drop(set_mode(&dir, c"link", 0o777));
        assert_eq!(mode(), 0o640);
    }

    #[test]
    fn only_something_that_was_moved_or_made_meanwhile_is_a_race() {
        for error in [Errno::NOENT, Errno::EXIST, Errno::NOTDIR, Errno::LOOP] {
            assert!(is_race(&error.into()), "{error}");
        }
        assert!(is_race(&io::Error::new(io::ErrorKind::NotFound, "moved")));
        for error in [Errno::ACCESS, Errno::INVAL, Errno::NOSPC] {
            assert!(!is_race(&error.into()), "{error}");
        }
        assert!(!is_race(&io::Error::other("moved")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_directory_that_may_not_be_written_gets_another_parent_and_keeps_its_rights() {
        crate::protect::tests::as_ordinary_user(|| {
            let (scene, dir) = scene();
            let (from, to) = (scene.path().join("from"), scene.path().join("to"));
            std::fs::create_dir(&from).unwrap();
            std::fs::create_dir(&to).unwrap();
            std::fs::set_permissions(&from, std::fs::Permissions::from_mode(0o500)).unwrap();
            let inner = open_dir(&dir, c"to").unwrap();
            let from_entry = DirectoryEntry { dir: &dir, name: c"from" };
            rename(from_entry, DirectoryEntry { dir: &inner, name: c"here" }).unwrap();
            let mode = to.join("here").metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o500);
            assert!(!from.exists());
        });
    }
}
