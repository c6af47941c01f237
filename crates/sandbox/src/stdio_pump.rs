//! The input and output of a process, moved without ever waiting for one stream alone.
//!
//! Must never: read without a bound, or wait for a pipe that another process keeps open.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;

use crate::head_tail::HeadTailBuffer;
use crate::limits::{DRAIN_MS_MAX, READ_BYTES_MAX};
use crate::poll::poll_until;
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

/// The caller's ends of the pipes of a long-lived process.
pub(crate) struct CallerStdio {
    pub(crate) input: PipeWriter,
    pub(crate) output: PipeReader,
    pub(crate) errors: PipeReader,
}

impl ChildStdio {
    /// Makes three pipes, all of whose ends block.
    pub(crate) fn pipes() -> io::Result<(CallerStdio, Self)> {
        let (reader, input) = io::pipe()?;
        let (output, writer) = io::pipe()?;
        let (errors, errors_writer) = io::pipe()?;
        let ends =
            Self { input: reader.into(), output: writer.into(), errors: errors_writer.into() };
        Ok((CallerStdio { input, output, errors }, ends))
    }
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

    /// Returns a pump without pipes, for a process whose streams belong to the caller.
    pub(crate) fn none() -> Self {
        let kept = [(); 2].map(|()| HeadTailBuffer::default());
        Self { outputs: [None, None], kept, input: None, hear: None }
    }

    /// Adds a callback for the output.
    pub(crate) fn with_listener(self, hear: Option<OutputCallback<'a>>) -> Self {
        Self { hear, ..self }
    }

    /// Waits for the next event, and moves available bytes. Returns which of `others` are ready.
    pub(crate) fn wait(
        &mut self,
        others: Vec<PollFd<'_>>,
        until: Option<Instant>,
    ) -> io::Result<Vec<bool>> {
        let others_count = others.len();
        let mut fds = others;
        for output in self.outputs.iter().flatten() {
            fds.push(PollFd::new(output, PollFlags::IN));
        }
        if let Some((input, _)) = &self.input {
            fds.push(PollFd::new(input, PollFlags::OUT));
        }
        poll_until(&mut fds, until)?;
        let mut ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        let mut own = ready.split_off(others_count).into_iter();
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
            self.wait(Vec::new(), Some(deadline))?;
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
