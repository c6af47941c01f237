//! Waits for descriptors until a deadline.
//!
//! Must never: read or write a descriptor, or let a signal shorten a wait.

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Waits until a descriptor is ready or the deadline has passed; a signal does not shorten it.
pub(crate) fn poll_until(fds: &mut [PollFd<'_>], until: Option<Instant>) -> io::Result<()> {
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.map(|left| Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        });
        match poll(fds, timeout.as_ref()) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns true if data, or the end, is available before the deadline.
pub(crate) fn is_ready(fd: &impl AsFd, until: Instant) -> io::Result<bool> {
    let mut fds = [PollFd::new(fd, PollFlags::IN)];
    poll_until(&mut fds, Some(until))?;
    Ok(!fds[0].revents().is_empty())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::*;
    use crate::linux::tests::{again, in_child, say};

    #[test]
    fn a_signal_does_not_shorten_a_wait() {
        let said = again("poll::tests::waits_and_gets_signals").run();
        assert!(said.contains("it was ready"), "{said}");
    }

    #[test]
    #[ignore = "runs as a child"]
    fn waits_and_gets_signals() {
        in_child(|| {
            let signal = signal_hook::consts::SIGUSR1;
            signal_hook::flag::register(signal, std::sync::Arc::default()).unwrap();
            let thread = rustix::thread::gettid().as_raw_nonzero().get();
            let process = rustix::process::getpid().as_raw_nonzero().get();
            let (reader, mut writer) = io::pipe().unwrap();
            std::thread::spawn(move || {
                let sleeps = || {
                    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
                    stat.unwrap().rsplit(") ").next().unwrap().starts_with('S')
                };
                for _ in 0..20 {
                    while !sleeps() {
                        std::thread::yield_now();
                    }
                    let words = [process, thread, signal, 0, 0].map(libc::c_long::from);
                    crate::linux::sys::attempt(libc::SYS_tgkill, words).unwrap();
                }
                writer.write_all(b"x").unwrap();
            });
            assert!(is_ready(&reader, Instant::now() + Duration::from_secs(600)).unwrap());
            say("it was ready");
        });
    }
}
