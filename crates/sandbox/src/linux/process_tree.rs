//! The processes that descend from one child, found and ended.
//!
//! They are found in the process table: by parent, and by session for those whose parent is gone.
//! A process that left the session *and* lost its parent before a scan is not found; only a process
//! namespace can find it.
//!
//! Must never: signal a process that merely got the number of one that was ours.

use std::collections::HashSet;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};

use crate::limits::KILL_ROUNDS_MAX;
use crate::linux::sys;
use crate::process_signal::{signal_group, signal_process};

/// One line of the process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ProcessEntry {
    pid: i32,
    started: u64,
    parent: i32,
    group: i32,
    session: i32,
    is_zombie: bool,
}

/// The numbers of all processes before a child was started.
#[derive(Debug)]
pub(crate) struct ProcessBaseline(HashSet<i32>);

/// A child that leads a session, and its descendants.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    root: Pid,
    /// Older processes need no check, unless they are in a session of ours now.
    before: ProcessBaseline,
    /// Number and start time together identify a process for good.
    known: HashSet<(i32, u64)>,
    sessions: HashSet<i32>,
}

impl ProcessTree {
    /// Records the present processes; to be called before a child is started.
    pub(crate) fn before() -> ProcessBaseline {
        ProcessBaseline(numbers().collect())
    }

    /// Returns the tree of a child that has not been reaped; its number thus stays its own.
    pub(crate) fn of(root: Pid, before: ProcessBaseline) -> Self {
        let number = root.as_raw_nonzero().get();
        Self { root, before, known: HashSet::new(), sessions: HashSet::from([number]) }
    }

    /// Asks every process of the tree to end.
    pub(crate) fn terminate(&mut self) {
        let processes = self.look();
        self.signal(&processes, Signal::TERM);
    }

    /// Kills until no process of the tree is left; returns the number killed beside the child.
    pub(crate) fn kill(&mut self) -> usize {
        let mut killed = HashSet::new();
        for _ in 0..KILL_ROUNDS_MAX {
            let processes = self.look();
            if processes.iter().all(|process| killed.contains(&(process.pid, process.started))) {
                break;
            }
            self.signal(&processes, Signal::KILL);
            killed.extend(processes.iter().map(|process| (process.pid, process.started)));
        }
        let root = self.root.as_raw_nonzero().get();
        killed.iter().filter(|(pid, _)| *pid != root).count()
    }

    /// Returns true if a process of the tree still runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        !self.look().is_empty()
    }

    /// Returns the living processes of the tree, and records them.
    fn look(&mut self) -> Vec<ProcessEntry> {
        let table = self.table();
        let root = self.root.as_raw_nonzero().get();
        loop {
            let ours: HashSet<i32> =
                table.iter().filter(|process| self.holds(process)).map(|it| it.pid).collect();
            let before = self.known.len();
            for process in &table {
                let child_of_ours = ours.contains(&process.parent);
                if process.pid == root || child_of_ours || self.sessions.contains(&process.session)
                {
                    self.known.insert((process.pid, process.started));
                    // Only sessions that it leads: one that it was born into may be our own.
                    if process.session == process.pid {
                        self.sessions.insert(process.session);
                    }
                }
            }
            if self.known.len() == before {
                break;
            }
        }
        table.into_iter().filter(|process| self.holds(process) && !process.is_zombie).collect()
    }

    /// Returns the processes that may be of the tree. A number that was reused meanwhile is
    /// recognized by its session.
    fn table(&self) -> Vec<ProcessEntry> {
        let is_in_session = |pid: &i32| {
            sys::session_of(*pid).is_some_and(|session| self.sessions.contains(&session))
        };
        numbers()
            .filter(|pid| !self.before.0.contains(pid) || is_in_session(pid))
            .filter_map(read)
            .collect()
    }

    fn holds(&self, process: &ProcessEntry) -> bool {
        self.known.contains(&(process.pid, process.started))
    }

    fn signal(&self, processes: &[ProcessEntry], signal: Signal) {
        // The group first: it is one call, and reaches processes born since the table was read.
        signal_group(self.root, signal);
        // No process is asked twice: a handler may take the second signal for impatience.
        let group = self.root.as_raw_nonzero().get();
        for process in processes.iter().filter(|process| process.group != group) {
            if let Some(handle) = handle(process) {
                signal_process(&handle, signal);
            }
        }
    }
}

/// Returns the living descendants of this process, which must adopt orphans.
fn descendants() -> Vec<ProcessEntry> {
    let table: Vec<ProcessEntry> = numbers().filter_map(read).collect();
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut known = HashSet::from([own]);
    loop {
        let before = known.len();
        let born = table.iter().filter(|process| known.contains(&process.parent));
        let born: Vec<i32> = born.map(|process| process.pid).collect();
        known.extend(born);
        if known.len() == before {
            break;
        }
    }
    let is_ours = |process: &ProcessEntry| process.pid != own && known.contains(&process.pid);
    table.into_iter().filter(|process| is_ours(process) && !process.is_zombie).collect()
}

/// Returns the numbers of the living descendants of this process, which adopts orphans.
pub(crate) fn descendants_of_us() -> Vec<u32> {
    descendants().iter().filter_map(|process| u32::try_from(process.pid).ok()).collect()
}

/// Signals every descendant of this process, which adopts orphans.
pub(crate) fn signal_descendants(signal: i32) {
    let signal = if signal == libc::SIGKILL { Signal::KILL } else { Signal::TERM };
    for process in descendants() {
        if let Some(handle) = handle(&process) {
            signal_process(&handle, signal);
        }
    }
}

/// Kills until no descendant is left; returns the number of killed ones.
pub(crate) fn kill_descendants() -> usize {
    let mut killed = HashSet::new();
    for _ in 0..KILL_ROUNDS_MAX {
        let left = descendants();
        if left.is_empty() {
            break;
        }
        killed.extend(left.iter().map(|process| (process.pid, process.started)));
        signal_descendants(libc::SIGKILL);
    }
    killed.len()
}

/// Returns a handle on exactly this process; None if it is gone.
fn handle(process: &ProcessEntry) -> Option<OwnedFd> {
    let handle = pidfd_open(Pid::from_raw(process.pid)?, PidfdFlags::empty()).ok()?;
    // The number could have been reused before the handle was opened, not after.
    let now = read(process.pid)?;
    (now.started == process.started).then_some(handle)
}

/// Returns the numbers of all processes.
fn numbers() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn read(pid: i32) -> Option<ProcessEntry> {
    parse(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses `pid (name) state parent group session …`; the name may hold blanks and parentheses.
fn parse(pid: i32, stat: &str) -> Option<ProcessEntry> {
    const STATE: usize = 0;
    const PARENT: usize = 1;
    const GROUP: usize = 2;
    const SESSION: usize = 3;
    const STARTED: usize = 19;
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    Some(ProcessEntry {
        pid,
        started: fields.get(STARTED)?.parse().ok()?,
        parent: fields.get(PARENT)?.parse().ok()?,
        group: fields.get(GROUP)?.parse().ok()?,
        session: fields.get(SESSION)?.parse().ok()?,
        is_zombie: matches!(*fields.get(STATE)?, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_shift_the_fields() {
        let line = "42 (a) Z (b) S 7 42 41 0 -1 4194304 1 0 0 0 1 1 0 0 20 0 1 0 98765 1 2 3";
        let expected = ProcessEntry {
            pid: 42,
            started: 98_765,
            parent: 7,
            group: 42,
            session: 41,
            is_zombie: false,
        };
        assert_eq!(parse(42, line), Some(expected));
    }

    #[test]
    fn a_line_that_is_cut_is_no_process() {
        assert_eq!(parse(42, "42 (a) S 7 42"), None);
    }
}
