//! A role of this binary that lives in a sandbox for a whole session: one line in, one line out.
//!
//! Must never: wait without an end; be used again after an answer did not come.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::cancel::CancelToken;
use crate::limits::ANSWER_BYTES_MAX;
use crate::poll::poll_until;

/// The process of a role in its sandbox; dropping the value ends the process.
pub(crate) trait ServiceProcess: Send {
    /// Returns true if the process has ended.
    fn is_over(&self) -> bool;
}

/// A role of this binary in a sandbox. Dropping the value ends it.
pub struct SandboxedService {
    life: Box<dyn ServiceProcess>,
    input: PipeWriter,
    output: BufReader<PipeReader>,
}

/// The reason why an answer is missing.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The caller cancelled the request.
    #[error("stopped")]
    Stopped,
    /// The answer did not come within this many milliseconds.
    #[error("no answer in {0} ms")]
    TimedOut(u128),
    /// The process has ended.
    #[error("the helper in the sandbox is gone: {0}")]
    Gone(io::Error),
}

impl SandboxedService {
    /// Wraps a process that reads requests from one pipe and writes answers to the other.
    pub(crate) fn new(
        life: impl ServiceProcess + 'static,
        input: PipeWriter,
        output: PipeReader,
    ) -> Self {
        Self { life: Box::new(life), input, output: BufReader::new(output) }
    }

    /// Sends a request and waits for the answer. After an error the service must not be used again.
    ///
    /// # Errors
    /// When it was cancelled, took too long, or the process is gone.
    pub fn ask(
        &mut self,
        question: &str,
        stop: &CancelToken,
        time: Duration,
    ) -> Result<String, ServiceError> {
        let deadline = Instant::now() + time;
        let listener = stop.listen().map_err(ServiceError::Gone)?;
        let mut line = question.replace('\n', " ");
        line.push('\n');
        self.input.write_all(line.as_bytes()).map_err(ServiceError::Gone)?;
        let mut answer = Vec::new();
        loop {
            if self.output.buffer().is_empty() {
                let output = self.output.get_ref();
                let mut fds =
                    [PollFd::new(output, PollFlags::IN), PollFd::new(&listener, PollFlags::IN)];
                poll_until(&mut fds, Some(deadline)).map_err(ServiceError::Gone)?;
                let (ready, stopped) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
                if stopped {
                    return Err(ServiceError::Stopped);
                }
                if !ready {
                    return Err(ServiceError::TimedOut(time.as_millis()));
                }
            }
            let piece = self.output.fill_buf().map_err(ServiceError::Gone)?;
            if piece.is_empty() {
                return Err(ServiceError::Gone(io::ErrorKind::UnexpectedEof.into()));
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(piece.len(), |end| end + 1);
            answer.extend_from_slice(&piece[..taken]);
            self.output.consume(taken);
            if answer.len() > ANSWER_BYTES_MAX {
                return Err(ServiceError::Gone(io::Error::other("its answer is too long")));
            }
            if end.is_some() {
                return String::from_utf8(answer)
                    .map_err(|error| ServiceError::Gone(io::Error::other(error)));
            }
        }
    }

    /// Returns true if the process is still running.
    pub fn is_alive(&self) -> bool {
        !self.life.is_over()
    }
}
