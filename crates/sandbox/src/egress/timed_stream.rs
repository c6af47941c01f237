//! A connection with a deadline for each read and write, closed when the sandbox ends.
//!
//! Every wait of the proxy is one `poll` with a deadline and the request to stop beside it.
//!
//! Must never: wait without an end, or miss that the sandbox has ended.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::cancel::CancelListener;
use crate::limits::{EGRESS_BUFFER_BYTES, EGRESS_LINGER_MS_MAX};
use crate::poll::poll_until;

/// The reason why a wait ended early.
#[derive(Debug)]
pub(crate) enum WaitError {
    /// The sandbox has ended.
    Stopped,
    /// The deadline has passed.
    Late,
    /// The other side is gone.
    Gone(io::Error),
}

/// Waits until one of the descriptors is ready or gone.
pub(crate) fn wait<'a>(
    stop: &'a CancelListener,
    watched: impl IntoIterator<Item = PollFd<'a>>,
    until: Instant,
) -> Result<(), WaitError> {
    let stopped = PollFd::new(stop, PollFlags::IN);
    let mut all: Vec<PollFd<'a>> = [stopped].into_iter().chain(watched).collect();
    poll_until(&mut all, Some(until)).map_err(WaitError::Gone)?;
    match all.iter().position(|one| !one.revents().is_empty()) {
        Some(0) => Err(WaitError::Stopped),
        Some(_) => Ok(()),
        None => Err(WaitError::Late),
    }
}

/// A connection whose every wait has an end.
pub(crate) struct TimedStream {
    pub(crate) stream: TcpStream,
    pub(crate) stop: Arc<CancelListener>,
}

impl TimedStream {
    /// Takes a connection over.
    pub(crate) fn new(stream: TcpStream, stop: Arc<CancelListener>) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, stop })
    }

    /// Reads the available bytes, at least one; 0 means that the other side has ended.
    pub(crate) fn read(&self, buffer: &mut [u8], until: Instant) -> Result<usize, WaitError> {
        loop {
            match (&self.stream).read(buffer) {
                Ok(count) => return Ok(count),
                Err(error) => self.again(error, PollFlags::IN, until)?,
            }
        }
    }

    /// Writes all bytes.
    pub(crate) fn write_all(&self, mut bytes: &[u8], until: Instant) -> Result<(), WaitError> {
        while !bytes.is_empty() {
            match (&self.stream).write(bytes) {
                Ok(0) => return Err(WaitError::Gone(ErrorKind::WriteZero.into())),
                Ok(count) => bytes = bytes.split_at(count).1,
                Err(error) => self.again(error, PollFlags::OUT, until)?,
            }
        }
        Ok(())
    }

    /// Ends the output, and reads on for a moment: unread bytes would make the system reset the
    /// connection before our last bytes were read.
    pub(crate) fn shutdown(&self) {
        if self.stream.shutdown(Shutdown::Write).is_err() {
            return;
        }
        let until = Instant::now() + Duration::from_millis(EGRESS_LINGER_MS_MAX);
        let mut buffer = [0; EGRESS_BUFFER_BYTES];
        while Instant::now() < until && matches!(self.read(&mut buffer, until), Ok(1..)) {}
    }

    fn again(
        &self,
        error: io::Error,
        for_what: PollFlags,
        until: Instant,
    ) -> Result<(), WaitError> {
        match error.kind() {
            ErrorKind::Interrupted => Ok(()),
            ErrorKind::WouldBlock => {
                let watched = PollFd::from_borrowed_fd(self.stream.as_fd(), for_what);
                wait(&self.stop, [watched], until)
            }
            _ => Err(WaitError::Gone(error)),
        }
    }
}
