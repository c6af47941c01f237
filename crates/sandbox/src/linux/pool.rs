//! Idle sandboxes, kept for the next command that would get exactly the same sandbox.
//!
//! Two sandboxes are equal if their specs are equal and each mounted part of the machine is still
//! the same file or directory. The kernel removes a mount when its target is removed or replaced
//! outside, and reports it; such a sandbox is not used again.
//!
//! Must never: give one sandbox to two commands, or one whose mounts or mounted files have changed.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::File;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::{ConfinementLevel, ConfinementLimits};
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{CWD, Dev, FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::limits::{IDLE_MS_MAX, IDLE_SANDBOXES_MAX, KILL_MS_MAX, READY_MS_MAX};
use crate::linux::init_process::InitProcess;
use crate::poll::poll_until;
use crate::spec::{
    FilesystemView, InitMessage, InitRequest, LandlockAccess, SandboxSpec, SandboxedProgram,
};
use crate::stdio_pump::ChildStdio;

/// Everything that distinguishes one sandbox from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolKey {
    level: ConfinementLevel,
    authority: Option<ContentHash>,
    /// The names of the program's environment variables, without values: secrets are among them.
    variables: Vec<OsString>,
    user: Option<u32>,
    view: FilesystemView,
    fence: LandlockAccess,
    unix_sockets: bool,
    listen: bool,
    limits: ConfinementLimits,
    /// The state of each mounted and each hidden path.
    parts: Vec<PathState>,
    copies: Vec<FileStamp>,
    /// The number of changes to the mounts of the machine so far.
    mount_changes: u64,
}

/// The state of a path, links not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathState {
    There { device: Dev, number: u64, kind: FileType },
    Missing,
}

/// Identity, length and change time of a file; None if there is none.
type FileStamp = Option<[i64; 5]>;

impl PoolKey {
    /// Returns the key that a spec has now; None if a path cannot be inspected.
    fn of(spec: &SandboxSpec, mount_changes: u64) -> Option<Self> {
        // Every field is named here, so that adding one forces a decision.
        let SandboxSpec { level, authority, user, view, fence, .. } = spec;
        let SandboxSpec { unix_sockets, listen, limits, stays, program, .. } = spec;
        if !stays {
            return None;
        }
        let places = view.binds.iter().map(|bind| &bind.from).chain(&view.masks);
        Some(Self {
            level: *level,
            authority: authority.clone(),
            variables: variables(program),
            user: *user,
            view: view.clone(),
            fence: fence.clone(),
            unix_sockets: *unix_sockets,
            listen: *listen,
            limits: *limits,
            parts: places.map(|path| part(path)).collect::<Option<_>>()?,
            copies: view.copies.iter().map(stamp).collect::<Option<_>>()?,
            mount_changes,
        })
    }
}

fn variables(program: &SandboxedProgram) -> Vec<OsString> {
    let env = match program {
        SandboxedProgram::Command { env, .. } => env.as_slice(),
        SandboxedProgram::Role { .. } => &[],
    };
    let mut names: Vec<OsString> = env.iter().map(|(name, _)| name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

fn part(path: &Path) -> Option<PathState> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let found = match openat2(CWD, path, flags, Mode::empty(), resolve) {
        Ok(found) => found,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => {
            return Some(PathState::Missing);
        }
        Err(_) => return None,
    };
    let status = rustix::fs::fstat(&found).ok()?;
    let kind = FileType::from_raw_mode(status.st_mode);
    Some(PathState::There { device: status.st_dev, number: status.st_ino, kind })
}

fn stamp(path: &PathBuf) -> Option<FileStamp> {
    match std::fs::metadata(path) {
        Ok(metadata) => Some(Some([
            metadata.dev().cast_signed(),
            metadata.ino().cast_signed(),
            metadata.size().cast_signed(),
            metadata.ctime(),
            metadata.ctime_nsec(),
        ])),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some(None),
        Err(_) => None,
    }
}

/// A sandbox whose command has ended.
#[derive(Debug)]
pub(crate) struct IdleSandbox {
    pub(crate) first: InitProcess,
    /// The listener of the proxy; no connection has arrived on it yet.
    pub(crate) listener: TcpListener,
    /// Becomes readable when one of its mounts is gone.
    pub(crate) mounts: OwnedFd,
}

impl IdleSandbox {
    /// Starts another program. None if the sandbox has changed; then the program was not run.
    pub(crate) fn run(self, program: &SandboxedProgram, ends: &ChildStdio) -> Option<Self> {
        let soon = Instant::now() + Duration::from_millis(READY_MS_MAX);
        if !matches!(self.first.word(soon), Some(InitMessage::Ready)) {
            return None;
        }
        let mut fds = [
            PollFd::new(&self.first.handle, PollFlags::IN),
            PollFd::new(&self.mounts, PollFlags::PRI),
            // A pending connection comes from the previous program.
            PollFd::new(&self.listener, PollFlags::IN),
        ];
        poll_until(&mut fds, Some(Instant::now())).ok()?;
        if fds.iter().any(|fd| !fd.revents().is_empty()) {
            return None;
        }
        let streams = [ends.input.as_fd(), ends.output.as_fd(), ends.errors.as_fd()];
        self.first.control.send(&InitRequest::Run(program.clone()), &streams).ok()?;
        self.has_taken().then_some(self)
    }

    /// Returns true if the program may have run. Kills an init process that does not say so soon.
    fn has_taken(&self) -> bool {
        let soon = Instant::now() + Duration::from_millis(READY_MS_MAX);
        if matches!(self.first.word(soon), Some(InitMessage::Taken)) {
            return true;
        }
        self.first.kill_alone();
        let over = self.first.is_over(Instant::now() + Duration::from_millis(KILL_MS_MAX));
        !over.unwrap_or_default()
            || matches!(self.first.word(Instant::now()), Some(InitMessage::Taken))
    }
}

/// The sandboxes that wait for another command.
pub(crate) struct SandboxPool(Mutex<PoolState<IdleSandbox>>);

impl Default for SandboxPool {
    fn default() -> Self {
        let mounts = File::open("/proc/self/mountinfo").ok();
        Self(Mutex::new(PoolState { waiting: VecDeque::new(), mounts, mount_changes: 0 }))
    }
}

impl SandboxPool {
    /// Returns the key of the sandbox that a spec asks for; None if no idle sandbox can match.
    pub(crate) fn key(&self, spec: &SandboxSpec) -> Option<PoolKey> {
        let mount_changes =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).mount_changes()?;
        PoolKey::of(spec, mount_changes)
    }

    /// Starts the program in an idle sandbox; None if there is none, and then it was not run.
    pub(crate) fn run(
        &self,
        key: &PoolKey,
        program: &SandboxedProgram,
        ends: &ChildStdio,
    ) -> Option<IdleSandbox> {
        loop {
            let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let taken = pool.take(key, Instant::now());
            drop(pool);
            if let Some(running) = taken?.run(program, ends) {
                return Some(running);
            }
        }
    }

    /// Adds a sandbox for another command, and drops the oldest one beyond the limit.
    pub(crate) fn put(&self, key: PoolKey, resting: IdleSandbox) {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = pool.put(key, resting, Instant::now());
        drop(pool);
        drop(gone);
    }
}

struct PoolState<T> {
    /// The oldest first.
    waiting: VecDeque<(Instant, PoolKey, T)>,
    /// The mount table of the machine, as this process sees it.
    mounts: Option<File>,
    mount_changes: u64,
}

impl<T> PoolState<T> {
    /// Returns the number of mount changes so far; None if the kernel does not report them.
    fn mount_changes(&mut self) -> Option<u64> {
        let mounts = self.mounts.as_ref()?;
        let mut fds = [PollFd::new(mounts, PollFlags::PRI)];
        poll_until(&mut fds, Some(Instant::now())).ok()?;
        if !fds[0].revents().is_empty() {
            self.mount_changes += 1;
        }
        Some(self.mount_changes)
    }

    /// Removes and returns an entry with the key; drops entries that have waited too long.
    fn take(&mut self, key: &PoolKey, now: Instant) -> Option<T> {
        self.waiting.retain(|(since, ..)| now.saturating_duration_since(*since) < IDLE);
        let place = self.waiting.iter().rposition(|(_, known, _)| known == key)?;
        self.waiting.remove(place).map(|(.., one)| one)
    }

    /// Adds an entry; returns the oldest if there are too many.
    fn put(&mut self, key: PoolKey, one: T, now: Instant) -> Option<T> {
        self.waiting.push_back((now, key, one));
        if self.waiting.len() <= IDLE_SANDBOXES_MAX {
            return None;
        }
        self.waiting.pop_front().map(|(.., one)| one)
    }
}

const IDLE: Duration = Duration::from_millis(IDLE_MS_MAX);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::fd_channel::FdChannel;

    fn pool() -> PoolState<&'static str> {
        PoolState { waiting: VecDeque::new(), mounts: None, mount_changes: 0 }
    }

    fn key(user: u32) -> PoolKey {
        PoolKey {
            level: ConfinementLevel::Ns,
            authority: None,
            variables: Vec::new(),
            user: Some(user),
            view: FilesystemView::default(),
            fence: LandlockAccess::default(),
            unix_sockets: true,
            listen: true,
            limits: ConfinementLimits::default(),
            parts: Vec::new(),
            copies: Vec::new(),
            mount_changes: 0,
        }
    }

    #[test]
    fn whoever_is_taken_out_is_not_there_any_more() {
        let (mut pool, now) = (pool(), Instant::now());
        assert_eq!(pool.put(key(1), "one", now), None);
        assert_eq!(pool.take(&key(2), now), None);
        assert_eq!(pool.take(&key(1), now), Some("one"));
        assert_eq!(pool.take(&key(1), now), None);
    }

    #[test]
    fn whoever_waited_too_long_goes() {
        let (mut pool, now) = (pool(), Instant::now());
        pool.put(key(1), "one", now);
        assert_eq!(pool.take(&key(2), now + IDLE - Duration::from_millis(1)), None);
        assert_eq!(pool.waiting.len(), 1);
        assert_eq!(pool.take(&key(1), now + IDLE), None);
        assert_eq!(pool.waiting.len(), 0);
    }

    #[test]
    fn when_there_are_too_many_the_oldest_goes() {
        let (mut pool, now) = (pool(), Instant::now());
        for number in 0..IDLE_SANDBOXES_MAX {
            assert_eq!(pool.put(key(u32::try_from(number).unwrap()), "old", now), None);
        }
        assert_eq!(pool.put(key(99), "new", now), Some("old"));
        assert_eq!(pool.take(&key(0), now), None);
        assert_eq!(pool.take(&key(99), now), Some("new"));
    }

    /// Returns a sandbox whose init process is `sleep`, and the channel end that speaks for it.
    fn resting() -> (IdleSandbox, FdChannel, std::process::Child) {
        let child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        let (control, other) = FdChannel::pair().unwrap();
        let handle = crate::exit_fd::open(pid).unwrap();
        let first = InitProcess { control, handle, holds_all: true, stays: true };
        let listener = TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mounts = File::open("/proc/self/mountinfo").unwrap().into();
        (IdleSandbox { first, listener, mounts }, other, child)
    }

    /// Returns true if it accepts a program after these messages and perhaps a connection.
    fn takes(words: &[InitMessage], is_visited: bool) -> bool {
        let (resting, other, mut child) = resting();
        words.iter().for_each(|word| other.send(word, &[]).unwrap());
        let place = resting.listener.local_addr().unwrap();
        let visitor = is_visited.then(|| std::net::TcpStream::connect(place).unwrap());
        let null = || File::open("/dev/null").unwrap().into();
        let ends = ChildStdio { input: null(), output: null(), errors: null() };
        let program = SandboxedProgram::Command {
            program: "true".into(),
            args: Vec::new(),
            env: Vec::new(),
            cwd: "/".into(),
        };
        let taken = resting.run(&program, &ends).is_some();
        drop(visitor);
        // It was killed, or goes with the sandbox.
        child.wait().unwrap();
        taken
    }

    #[test]
    fn only_who_is_ready_and_was_not_visited_gets_another_program() {
        assert!(takes(&[InitMessage::Ready, InitMessage::Taken], false));
        assert!(!takes(&[InitMessage::Ready, InitMessage::Taken], true));
        assert!(!takes(&[InitMessage::Started, InitMessage::Taken], false));
        assert!(!takes(&[], false), "who is silent is not waited for");
        assert!(!takes(&[InitMessage::Ready], false), "who does not take it is ended");
    }

    #[test]
    fn without_word_of_the_mounts_of_the_machine_nothing_can_be_the_same() {
        assert_eq!(pool().mount_changes(), None);
        let mut pool = PoolState { mounts: File::open("/proc/self/mountinfo").ok(), ..pool() };
        assert!(pool.mount_changes().is_some());
    }

    #[test]
    fn a_part_is_the_same_as_long_as_it_is_the_same_file() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let [file, other, link] = ["file", "other", "link"].map(|name| root.join(name));
        assert_eq!(part(&file), Some(PathState::Missing));
        std::fs::write(&file, "one").unwrap();
        let before = part(&file);
        let stamped = stamp(&file);
        assert_ne!(before, Some(PathState::Missing));
        std::fs::write(&file, "one and more").unwrap();
        assert_eq!(part(&file), before);
        assert_ne!(stamp(&file), stamped);
        std::fs::write(&other, "one").unwrap();
        std::fs::rename(&other, &file).unwrap();
        assert_ne!(part(&file), before);
        std::os::unix::fs::symlink(&root, &link).unwrap();
        assert_eq!(part(&link.join("file")), Some(PathState::Missing));
    }
}
