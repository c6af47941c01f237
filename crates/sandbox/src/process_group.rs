//! The process group of one child, where the process table is not read.
//!
//! A process that left the group is not found.
//!
//! Must never: signal a group whose first process has been reaped; its number may be reused.

use rustix::process::{Pid, Signal, test_kill_process_group};

use crate::process_signal::signal_group;

/// The state recorded before a child is started: none is needed for a group.
pub(crate) struct GroupBaseline;

/// A child that leads a group, and the processes in it.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    root: Pid,
}

impl ProcessGroup {
    /// Records nothing: a group needs no baseline.
    pub(crate) fn before() -> GroupBaseline {
        GroupBaseline
    }

    /// Returns the group of a child that has not been reaped; its number thus stays its own.
    pub(crate) fn of(root: Pid, _: GroupBaseline) -> Self {
        Self { root }
    }

    /// Asks every process of the group to end.
    pub(crate) fn terminate(&mut self) {
        signal_group(self.root, Signal::TERM);
    }

    /// Kills every process of the group; the number beside the child is unknown here, so returns 0.
    pub(crate) fn kill(&mut self) -> usize {
        signal_group(self.root, Signal::KILL);
        0
    }

    /// Returns true if a process of the group still exists.
    pub(crate) fn is_alive(&mut self) -> bool {
        test_kill_process_group(self.root).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::process::{Command, Stdio};

    use super::*;

    fn check(end: impl Fn(&mut ProcessGroup), signal: i32) {
        let mut child = Command::new("/bin/sh")
            .args(["-c", "exec 3<&0; cat <&3 & echo ready; wait"])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        let number = i32::try_from(child.id()).unwrap();
        let mut group = ProcessGroup::of(Pid::from_raw(number).unwrap(), ProcessGroup::before());
        assert!(group.is_alive());
        end(&mut group);
        // A process that was not killed by then ends by itself, and not by a signal.
        drop(child.stdin.take());
        // The output ends when no process of the group holds it any more.
        output.read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(signal));
    }

    #[test]
    fn a_child_and_what_it_started_end_together() {
        check(ProcessGroup::terminate, Signal::TERM.as_raw());
        check(|group| assert_eq!(group.kill(), 0), Signal::KILL.as_raw());
    }
}
