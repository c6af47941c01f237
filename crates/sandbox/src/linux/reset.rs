//! Resets a sandbox to its state before a program ran, so that another program can run in it.
//!
//! A program whose processes are gone can leave files in memory, queues, remembered connections,
//! and a slowed down init process. Files are removed; for all else there is a new sandbox.
//!
//! Must never: touch mounted parts of the machine; accept a sandbox that differs from a new one.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dev, Dir, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps, openat2,
};
use rustix::io::Errno;
use rustix::mount::MountAttrFlags;
use rustix::process::{Resource, Rlimit, getrlimit};

use crate::directory_cleaner::{DIRECTORY, DirectoryCleaner};
use crate::limits::EMPTIED_ENTRIES_MAX;
use crate::linux::mounts::{self, WritableMounts};
use crate::linux::sys;
use crate::spec::FilesystemView;

/// The state of a sandbox before its first program.
pub(crate) struct SandboxBaseline {
    scratch: TmpfsBaseline,
    shared: TmpfsBaseline,
    terminals: OwnedFd,
    terminal_modes: [u32; 2],
    /// The message queues; None where the kernel has none.
    queues: Option<OwnedFd>,
    connections: Vec<u64>,
    standing: ProcessSettings,
}

impl SandboxBaseline {
    /// Records the state, while the process still has the rights to read all of it.
    pub(crate) fn capture(own: WritableMounts, view: &FilesystemView) -> io::Result<Self> {
        Ok(Self {
            scratch: TmpfsBaseline::new(&own.scratch, Path::new("/tmp"), view)?,
            shared: TmpfsBaseline::new(&own.shared, Path::new("/dev/shm"), view)?,
            terminal_modes: terminal_modes(&own.terminals)?,
            terminals: own.terminals,
            queues: queues()?,
            connections: connections()?,
            standing: ProcessSettings::now()?,
        })
    }

    /// Removes the program's files; an error if it left anything else, or too many files.
    pub(crate) fn restore(&self) -> io::Result<()> {
        self.scratch.empty()?;
        self.scratch.make_home()?;
        self.shared.empty()?;
        self.scratch.restore_times()?;
        self.shared.restore_times()?;
        let is_same = terminal_modes(&self.terminals)? == self.terminal_modes
            && no_queue_is_left(self.queues.as_ref())?
            && connections()? == self.connections
            && ProcessSettings::now()? == self.standing;
        if is_same {
            Ok(())
        } else {
            Err(io::Error::other("the program has left something behind"))
        }
    }
}

/// Returns the modes of the terminals' directory and of its `ptmx`.
fn terminal_modes(terminals: &OwnedFd) -> io::Result<[u32; 2]> {
    let directory = rustix::fs::statat(terminals, "", AtFlags::EMPTY_PATH)?;
    let maker = rustix::fs::statat(terminals, "ptmx", AtFlags::SYMLINK_NOFOLLOW)?;
    Ok([directory.st_mode, maker.st_mode])
}

/// Returns a handle on the message queues, which are not mounted; None if the kernel has none.
fn queues() -> io::Result<Option<OwnedFd>> {
    match mounts::new_file_system("mqueue", &[], MountAttrFlags::MOUNT_ATTR_NOEXEC) {
        Ok(mounted) => Ok(Some(rustix::fs::openat(&mounted, ".", DIRECTORY, Mode::empty())?)),
        Err(error) if error.raw_os_error() == Some(Errno::NODEV.raw_os_error()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns true if no POSIX message queue and no System V queue, semaphore or memory is left.
fn no_queue_is_left(queues: Option<&OwnedFd>) -> io::Result<bool> {
    if let Some(queues) = queues {
        for entry in Dir::read_from(queues)? {
            if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
                return Ok(false);
            }
        }
    }
    for kind in ["shm", "sem", "msg"] {
        // The first line is a heading.
        match std::fs::read_to_string(format!("/proc/sysvipc/{kind}")) {
            Ok(text) if text.lines().count() <= 1 => {}
            Ok(_) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Returns the numbers of sockets in use and of connections that the kernel still remembers.
fn connections() -> io::Result<Vec<u64>> {
    let mut counts = Vec::new();
    for file in ["/proc/self/net/sockstat", "/proc/self/net/sockstat6"] {
        match std::fs::read_to_string(file) {
            Ok(text) => counts.extend(counts_in(&text)),
            // IPv6 may be switched off.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !counts.is_empty() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(counts)
}

/// Parses `TCP: inuse 1 orphan 0 tw 0 alloc 6 mem 1`; only `inuse` and `tw` are per network.
fn counts_in(text: &str) -> Vec<u64> {
    let is_counted = |line: &&str| line.starts_with("TCP") || line.starts_with("UDP");
    let counts = text.lines().filter(is_counted).flat_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let after = |name| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1)?.parse().ok()
        };
        [after("inuse"), after("tw")]
    });
    counts.flatten().collect()
}

/// The process settings that others of the same user can change, and that children inherit.
#[derive(Debug, PartialEq, Eq)]
struct ProcessSettings {
    limits: [Rlimit; RESOURCES.len()],
    cores: Vec<usize>,
    scheduling: [u64; 7],
    disk_turn: i64,
}

const RESOURCES: [Resource; 16] = [
    Resource::Cpu,
    Resource::Fsize,
    Resource::Data,
    Resource::Stack,
    Resource::Core,
    Resource::Rss,
    Resource::Nproc,
    Resource::Nofile,
    Resource::Memlock,
    Resource::As,
    Resource::Locks,
    Resource::Sigpending,
    Resource::Msgqueue,
    Resource::Nice,
    Resource::Rtprio,
    Resource::Rttime,
];

impl ProcessSettings {
    fn now() -> io::Result<Self> {
        let cores = rustix::thread::sched_getaffinity(None)?;
        Ok(Self {
            limits: RESOURCES.map(getrlimit),
            cores: (0..rustix::thread::CpuSet::MAX_CPU)
                .filter(|core| cores.is_set(*core))
                .collect(),
            scheduling: sys::scheduling()?,
            disk_turn: sys::disk_turn()?,
        })
    }
}

/// A file system in memory that is emptied, but for the mount points in it.
struct TmpfsBaseline {
    root: DirectoryBaseline,
    /// The outer before the inner.
    kept: Vec<KeptEntry>,
}

/// An open directory to be emptied, and its attributes to compare and restore.
struct DirectoryBaseline {
    directory: OwnedFd,
    attributes: DirectoryAttributes,
    times: Timestamps,
}

impl DirectoryBaseline {
    /// Opens it through its handle: its name may lead to a mount over it.
    fn of(found: &OwnedFd) -> io::Result<Self> {
        let directory = rustix::fs::openat(found, ".", DIRECTORY, Mode::empty())?;
        let status = rustix::fs::fstat(&directory)?;
        let seconds = |seconds: i64, nanoseconds: u64| Timespec {
            tv_sec: seconds,
            tv_nsec: i64::try_from(nanoseconds).unwrap_or_default(),
        };
        let times = Timestamps {
            last_access: seconds(status.st_atime, status.st_atime_nsec),
            last_modification: seconds(status.st_mtime, status.st_mtime_nsec),
        };
        Ok(Self { attributes: DirectoryAttributes::of(&directory)?, directory, times })
    }

    /// Restores the times: a program can choose them.
    fn restore_times(&self) -> io::Result<()> {
        Ok(rustix::fs::futimens(&self.directory, &self.times)?)
    }
}

/// An entry that must stay, and its identity.
struct KeptEntry {
    path: PathBuf,
    identity: FileIdentity,
    /// A directory on the way to a mount point; None for the mount point itself.
    inside: Option<DirectoryBaseline>,
}

#[derive(Debug, PartialEq, Eq)]
struct FileIdentity {
    device: Dev,
    number: u64,
    mode: u32,
}

impl FileIdentity {
    fn of(status: &Stat) -> Self {
        Self { device: status.st_dev, number: status.st_ino, mode: status.st_mode }
    }
}

impl TmpfsBaseline {
    /// Records the present file system; `at` is its path in the sandbox.
    fn new(mounted: &OwnedFd, at: &Path, view: &FilesystemView) -> io::Result<Self> {
        let root = DirectoryBaseline::of(mounted)?;
        let own = rustix::fs::fstat(&root.directory)?.st_dev;
        let mut ways: Vec<PathBuf> = Vec::new();
        for bind in &view.binds {
            let Ok(inner) = bind.to.strip_prefix(at) else { continue };
            let way = inner.ancestors().filter(|path| !path.as_os_str().is_empty());
            ways.extend(way.map(Path::to_owned));
        }
        ways.sort();
        ways.dedup();
        let mut kept: Vec<KeptEntry> = Vec::new();
        for path in ways {
            // Entries inside of a mount are not ours.
            if kept.iter().any(|kept| kept.inside.is_none() && path.starts_with(&kept.path)) {
                continue;
            }
            let Some(found) = find(&root.directory, &path)? else { continue };
            let identity = FileIdentity::of(&rustix::fs::fstat(&found)?);
            let is_own = identity.device == own;
            let inside = is_own.then(|| DirectoryBaseline::of(&found)).transpose()?;
            kept.push(KeptEntry { path, identity, inside });
        }
        Ok(Self { root, kept })
    }

    /// Removes all entries but mount points; an error if one of those has changed.
    fn empty(&self) -> io::Result<()> {
        let differs = || Err(io::Error::other("a place of something mounted has changed"));
        let root = &self.root.directory;
        rustix::fs::fchmod(root, Mode::from_raw_mode(0o1777))?;
        // A directory on the way could have been renamed, with the mounts below it.
        for kept in &self.kept {
            let found = find(root, &kept.path)?;
            let status = found.map(rustix::fs::fstat).transpose()?;
            if status.map(|status| FileIdentity::of(&status)).as_ref() != Some(&kept.identity) {
                return differs();
            }
        }
        let mut emptying = DirectoryCleaner::of(root, EMPTIED_ENTRIES_MAX)?;
        for kept in &self.kept {
            let Some(inside) = &kept.inside else { continue };
            if DirectoryAttributes::of(&inside.directory)? != inside.attributes {
                return differs();
            }
            emptying.lift(&inside.directory, &|name| self.keeps(&kept.path, name))?;
        }
        if DirectoryAttributes::of(root)? != self.root.attributes {
            return differs();
        }
        emptying.remove_except(&|name| self.keeps(Path::new(""), name))
    }

    /// Restores all times. Call it last: making or reading an entry changes a directory's times.
    fn restore_times(&self) -> io::Result<()> {
        let inner = self.kept.iter().filter_map(|kept| kept.inside.as_ref());
        inner.chain([&self.root]).try_for_each(DirectoryBaseline::restore_times)
    }

    fn keeps(&self, directory: &Path, name: &CStr) -> bool {
        let path = directory.join(OsStr::from_bytes(name.to_bytes()));
        self.kept.iter().any(|kept| kept.path == path)
    }

    /// Makes the home that is discarded with the sandbox.
    fn make_home(&self) -> io::Result<()> {
        let mode = Mode::RWXU;
        match rustix::fs::mkdirat(&self.root.directory, "home", mode) {
            // A directory on the way to a mount; its mode was compared.
            Err(Errno::EXIST) => Ok(()),
            made => Ok(made?),
        }
    }
}

/// Opens a path below a directory without following a link; None when it is missing.
fn find(root: impl AsFd, path: &Path) -> io::Result<Option<OwnedFd>> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(root, path, flags, Mode::empty(), resolve) {
        Ok(found) => Ok(Some(found)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The attributes of a directory that must not change.
#[derive(Debug, PartialEq, Eq)]
struct DirectoryAttributes {
    /// The names of extended attributes, access control lists among them.
    names: Vec<u8>,
    /// The flags that `chattr` sets; None where the file system has none.
    flags: Option<u32>,
}

impl DirectoryAttributes {
    fn of(directory: &OwnedFd) -> io::Result<Self> {
        let mut names = vec![0; rustix::fs::flistxattr_query(directory)?];
        if !names.is_empty() {
            let length = rustix::fs::flistxattr(directory, &mut *names)?;
            names.truncate(length);
        }
        let flags = match rustix::fs::ioctl_getflags(directory) {
            Ok(flags) => Some(flags.bits()),
            Err(Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Self { names, flags })
    }
}
