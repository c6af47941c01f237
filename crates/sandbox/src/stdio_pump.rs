//! The input and output of a process, moved without ever waiting for one stream alone.
//!
//! Must never: read without a bound, or wait for a pipe that another process keeps open.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::head_tail::HeadTailBuffer;
use crate::limits::{DRAIN_MS_MAX, READ_BYTES_MAX};
use crate::process::{Command, Streams};

/// Our ends of the pipes of a process.
pub(crate) struct StdioPump<'a> {
    outputs: [Option<PipeReader>; 2],
    kept: [HeadTailBuffer; 2],
    input: Option<(PipeWriter, Vec<u8>)>,
    hear: Option<OutputCallback<'a>>,
}

/// Called with each piece of output as it arrives, and its source.
pub type OutputCallback<'a> = &'a dyn Fn(OutputSource, &[u8]);

/// The stream of a piece of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputSource {
    /// Standard output, or both streams if they are captured together.
    Output,
    /// Standard error.
    Errors,
}

/// The process's ends of the pipes.
#[derive(Debug)]
pub(crate) struct ChildStdio {
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    pub(crate) errors: OwnedFd,
}

impl<'a> StdioPump<'a> {
    /// Makes the pipes of a command; keeps at most `output_bytes_max` of each output.
    pub(crate) fn new(
        command: &Command,
        output_bytes_max: usize,
    ) -> io::Result<(Self, ChildStdio)> {
        let (output, writer) = pipe()?;
        let (errors, errors_writer) = match command.streams {
            Streams::Together => (None, writer.try_clone()?),
            Streams::Apart => {
                let (errors, errors_writer) = pipe()?;
                (Some(errors), errors_writer)
            }
        };
        let (input, reader) = match &command.stdin {
            Some(content) => {
                let (reader, writer) = io::pipe()?;
                make_nonblocking(&writer)?;
                (Some((writer, content.clone())), OwnedFd::from(reader))
            }
            None => (None, std::fs::File::open("/dev/null")?.into()),
        };
        let kept = [(); 2].map(|()| HeadTailBuffer::with_bytes_max(output_bytes_max));
        let ends =
            ChildStdio { input: reader, output: writer.into(), errors: errors_writer.into() };
        Ok((Self { outputs: [Some(output), errors], kept, input, hear: None }, ends))
    }

    /// Adds a callback for the output.
    pub(crate) fn with_listener(self, hear: Option<OutputCallback<'a>>) -> Self {
        Self { hear, ..self }
    }

    /// Waits for the next event, and moves available bytes. Returns which of `others` are ready.
    pub(crate) fn wait(
        &mut self,
        others: &[BorrowedFd<'_>],
        until: Option<Instant>,
    ) -> io::Result<Vec<bool>> {
        let mut fds: Vec<PollFd<'_>> =
            others.iter().map(|other| PollFd::new(other, PollFlags::IN)).collect();
        for output in self.outputs.iter().flatten() {
            fds.push(PollFd::new(output, PollFlags::IN));
        }
        if let Some((input, _)) = &self.input {
            fds.push(PollFd::new(input, PollFlags::OUT));
        }
        poll_until(&mut fds, until)?;
        let mut ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        let mut own = ready.split_off(others.len()).into_iter();
        let sources = [OutputSource::Output, OutputSource::Errors];
        for ((output, kept), source) in self.outputs.iter_mut().zip(&mut self.kept).zip(sources) {
            if output.is_some() && own.next().unwrap_or_default() {
                take(output, kept, |piece| {
                    if let Some(hear) = self.hear {
                        hear(source, piece);
                    }
                })?;
            }
        }
        if own.next().unwrap_or_default() {
            self.give();
        }
        Ok(ready)
    }

    /// Reads the rest of the pipes; does not wait for processes that keep them open.
    pub(crate) fn drain(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + Duration::from_millis(DRAIN_MS_MAX);
        while self.outputs.iter().any(Option::is_some) && Instant::now() < deadline {
            self.wait(&[], Some(deadline))?;
        }
        Ok(())
    }

    /// Closes the input of the process.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Takes the kept output of both streams.
    pub(crate) fn take_kept(&mut self) -> [HeadTailBuffer; 2] {
        std::mem::take(&mut self.kept)
    }

    /// Writes the next piece of the input; a process that does not read it is not at fault.
    fn give(&mut self) {
        let Some((input, rest)) = &mut self.input else { return };
        match input.write(rest) {
            Ok(written) => drop(rest.drain(..written)),
            Err(error) if is_passing(&error) => return,
            Err(_) => rest.clear(),
        }
        if rest.is_empty() {
            self.input = None;
        }
    }
}

fn take(
    output: &mut Option<PipeReader>,
    kept: &mut HeadTailBuffer,
    hear: impl Fn(&[u8]),
) -> io::Result<()> {
    let Some(reader) = output else { return Ok(()) };
    let mut piece = [0; READ_BYTES_MAX];
    match reader.read(&mut piece) {
        Ok(0) => *output = None,
        Ok(length) => {
            hear(&piece[..length]);
            kept.push(&piece[..length]);
        }
        Err(error) if is_passing(&error) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Returns a pipe whose reading end never blocks.
fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    make_nonblocking(&reader)?;
    Ok((reader, writer))
}

fn make_nonblocking(fd: &impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(fd)?;
    Ok(rustix::fs::fcntl_setfl(fd, flags | OFlags::NONBLOCK)?)
}

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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::linux::tests::{again, in_child, say};

    #[test]
    fn a_signal_does_not_shorten_a_wait() {
        let said = again("stdio_pump::tests::waits_and_gets_signals").run();
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
