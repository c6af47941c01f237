//! A descriptor that becomes readable when a child has ended, for use in a wait with others.
//!
//! Must never: reap the child.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::Pid;

/// Returns a descriptor that becomes readable at the child's end. Do not reap the child before.
#[cfg(target_os = "linux")]
pub(crate) fn open(child: Pid) -> io::Result<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    Ok(pidfd_open(child, PidfdFlags::empty())?)
}

/// Returns a descriptor that becomes readable at the child's end. Do not reap the child before.
#[cfg(not(target_os = "linux"))]
pub(crate) fn open(child: Pid) -> io::Result<OwnedFd> {
    by_thread(child)
}

/// Waits in a thread and then closes a pipe, for systems without process handles.
#[cfg(any(test, not(target_os = "linux")))]
fn by_thread(child: Pid) -> io::Result<OwnedFd> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let (reader, writer) = io::pipe()?;
    let wait = move || {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while waitid(WaitId::Pid(child), ended).is_err_and(|error| error == rustix::io::Errno::INTR)
        {
        }
        drop(writer);
    };
    std::thread::Builder::new().name("end of a child".to_owned()).spawn(wait)?;
    Ok(reader.into())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::poll::is_ready;

    fn check(handle: fn(Pid) -> io::Result<OwnedFd>) {
        let mut child = Command::new("/bin/sh")
            .args(["-c", "read word; exit 7"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let handle = handle(Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap()).unwrap();
        assert!(!is_ready(&handle, Instant::now()).unwrap());
        drop(child.stdin.take());
        assert!(is_ready(&handle, Instant::now() + Duration::from_secs(600)).unwrap());
        assert_eq!(child.wait().unwrap().code(), Some(7));
    }

    #[test]
    fn the_end_of_a_child_is_seen_and_left_to_be_reaped() {
        check(open);
        check(by_thread);
    }
}
