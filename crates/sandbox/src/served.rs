//! A part of ourselves that lives in a sandbox for a whole session and answers questions, one line each way.
//!
//! Must never: wait without an end; be used again after an answer did not come.

use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use agentry_protocol::confinement::Confinement;
use rustix::event::{PollFd, PollFlags};
use serde_json::Value;

use crate::child::Error;
use crate::limits::{ANSWER_BYTES_MAX, SERVED_TIMEOUT_MS, START_MS_MAX};
use crate::running::{First, of_sandbox};
use crate::sandbox::Sandbox;
use crate::spec::{Program, Trouble, Word};
use crate::stop::Stop;
use crate::streams::{Ends, poll_until};
use crate::view::{self, Found};
use crate::watch;

/// A part of ourselves in a sandbox. It ends when this goes.
pub struct Served {
    first: First,
    input: PipeWriter,
    output: BufReader<PipeReader>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// It was asked to stop.
    #[error("stopped")]
    Stopped,
    /// It took too long.
    #[error("no answer in {0} ms")]
    TimedOut(u128),
    /// It is gone.
    #[error("the helper in the sandbox is gone: {0}")]
    Gone(io::Error),
}

impl Sandbox {
    /// Starts a part of ourselves in a sandbox of its own.
    ///
    /// # Errors
    /// When the sandbox could not be built.
    pub fn serve(
        &self,
        role: &str,
        arguments: Value,
        confinement: &Confinement,
    ) -> Result<Served, Error> {
        let failed =
            |step: &'static str| move |error: io::Error| of_sandbox(Trouble::new(step, &error));
        let (theirs_in, input) = io::pipe().map_err(failed("make a pipe"))?;
        let (output, theirs_out) = io::pipe().map_err(failed("make a pipe"))?;
        let null = std::fs::OpenOptions::new().write(true).open("/dev/null");
        let ends = Ends {
            input: theirs_in.into(),
            output: theirs_out.into(),
            errors: OwnedFd::from(null.map_err(failed("open /dev/null"))?),
        };
        let program = Program::Role { name: role.to_owned(), arguments, cwd: "/".into() };
        let mut confinement = confinement.clone();
        // It lives as long as the session; every question has its own time.
        confinement.limits.timeout_ms = SERVED_TIMEOUT_MS;
        let found = Found {
            protected: watch::protected(&confinement)
                .map_err(failed("look for protected files"))?,
            hidden: view::hidden(&confinement),
        };
        let first = self.begin(&confinement, program, ends, (&found, None, None))?;
        wait_for_start(&first)?;
        Ok(Served { first, input, output: BufReader::new(output) })
    }
}

fn wait_for_start(first: &First) -> Result<(), Error> {
    let deadline = Instant::now() + Duration::from_millis(START_MS_MAX);
    loop {
        let mut fds = [PollFd::new(&first.control, PollFlags::IN)];
        poll_until(&mut fds, Some(deadline)).map_err(Error::Unwatched)?;
        if fds[0].revents().is_empty() {
            let late = io::Error::from(io::ErrorKind::TimedOut);
            return Err(of_sandbox(Trouble::new("build the sandbox", &late)));
        }
        match first.control.receive::<Word>().map_err(Error::Unwatched)? {
            Some((Word::Started, _)) => return Ok(()),
            // Nobody in here uses a network.
            Some((Word::Listening, _)) => {}
            Some((Word::Failed(trouble), _)) => return Err(of_sandbox(trouble)),
            Some((Word::Ended { .. }, _)) | None => {
                let silent = io::Error::other("its first process ended without a word");
                return Err(of_sandbox(Trouble::new("build the sandbox", &silent)));
            }
        }
    }
}

impl Served {
    /// Asks, and waits for the answer. After an error it must not be asked again.
    ///
    /// # Errors
    /// When it was stopped, took too long, or is gone.
    pub fn ask(&mut self, question: &str, stop: &Stop, time: Duration) -> Result<String, NoAnswer> {
        let deadline = Instant::now() + time;
        let listener = stop.listen().map_err(NoAnswer::Gone)?;
        let mut line = question.replace('\n', " ");
        line.push('\n');
        self.input.write_all(line.as_bytes()).map_err(NoAnswer::Gone)?;
        let mut answer = Vec::new();
        loop {
            if self.output.buffer().is_empty() {
                let output = self.output.get_ref();
                let mut fds = [
                    PollFd::new(output, PollFlags::IN),
                    PollFd::new(&listener.reader, PollFlags::IN),
                ];
                poll_until(&mut fds, Some(deadline)).map_err(NoAnswer::Gone)?;
                let (ready, stopped) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
                if stopped {
                    return Err(NoAnswer::Stopped);
                }
                if !ready {
                    return Err(NoAnswer::TimedOut(time.as_millis()));
                }
            }
            let piece = self.output.fill_buf().map_err(NoAnswer::Gone)?;
            if piece.is_empty() {
                return Err(NoAnswer::Gone(io::ErrorKind::UnexpectedEof.into()));
            }
            let end = piece.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(piece.len(), |end| end + 1);
            answer.extend_from_slice(&piece[..taken]);
            self.output.consume(taken);
            if answer.len() > ANSWER_BYTES_MAX {
                return Err(NoAnswer::Gone(io::Error::other("its answer is too long")));
            }
            if end.is_some() {
                return String::from_utf8(answer)
                    .map_err(|error| NoAnswer::Gone(io::Error::other(error)));
            }
        }
    }

    /// Whether it still lives.
    pub fn is_alive(&self) -> bool {
        self.first.is_over(Instant::now()).is_ok_and(|over| !over)
    }
}
