//! A file that shows if a command was started: it is gone if so.
//!
//! Its name is random and unknown to the command, so that this cannot claim that it never ran.
//!
//! Must never: take a command that failed for one that was not started.

use std::io;
use std::path::{Path, PathBuf};

use crate::limits::TROUBLE_CHARS_MAX;
use crate::process::{Command, Error, ProcessOutcome, not_started};

/// The length of the name's random part, in characters.
const CHANCE_CHARS: usize = 32;

/// The file, from outside of the sandbox.
pub(super) struct StartMarker(PathBuf);

impl StartMarker {
    /// Makes the file in a temporary directory, with which it is removed.
    pub(super) fn create(scratch: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        let file = builder.prefix("").rand_bytes(CHANCE_CHARS).tempfile_in(scratch)?;
        let (_, path) = file.keep().map_err(|error| error.error)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the result of an ended command; an error if it was never started.
    pub(super) fn judge(
        &self,
        command: &Command,
        finished: ProcessOutcome,
    ) -> Result<ProcessOutcome, Error> {
        let left = match std::fs::read_to_string(&self.0) {
            Ok(left) => left,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(finished),
            Err(error) => return Err(Error::Unwatched(error)),
        };
        match left.parse() {
            Ok(number) => Err(not_started(command, io::Error::from_raw_os_error(number))),
            Err(_) => {
                let said = [finished.stdout.head(), finished.stderr.head()].concat();
                let said = String::from_utf8_lossy(&said);
                let said: String = said.trim().chars().take(TROUBLE_CHARS_MAX).collect();
                Err(super::not_built(&format!("{:?} ({said})", finished.ending)))
            }
        }
    }
}

/// Removes the file, inside of the sandbox: the command is about to start.
pub(super) fn take_away(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// Writes the file again, inside of the sandbox: the command could not be started.
pub(super) fn put_back(path: &Path, reason: &io::Error) -> io::Result<()> {
    std::fs::write(path, reason.raw_os_error().unwrap_or_default().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head_tail::HeadTailBuffer;
    use crate::process::{Cwd, ProcessEnding, Streams};

    fn check(change: impl Fn(&Path), expected: Result<ProcessEnding, &str>) {
        let directory = tempfile::tempdir().unwrap();
        let note = StartMarker::create(directory.path()).unwrap();
        change(note.path());
        let command = Command {
            program: "tool".into(),
            args: Vec::new(),
            cwd: Cwd::Path("/".into()),
            env: Vec::new(),
            stdin: None,
            streams: Streams::Together,
        };
        let mut stdout = HeadTailBuffer::with_bytes_max(1024);
        stdout.push(b"sandbox-exec: no\n");
        let ending = ProcessEnding::Exited(71);
        let finished = ProcessOutcome { ending, stdout, ..ProcessOutcome::never_started() };
        let judged = note.judge(&command, finished).map(|finished| finished.ending);
        assert_eq!(judged.map_err(|error| error.to_string()), expected.map_err(str::to_owned));
    }

    #[test]
    fn a_command_that_was_started_is_told_apart_from_one_that_was_not() {
        check(|path| take_away(path).unwrap(), Ok(ProcessEnding::Exited(71)));
        let missing = io::Error::from_raw_os_error(2);
        let absent = |path: &Path| {
            take_away(path).unwrap();
            put_back(path, &missing).unwrap();
        };
        check(absent, Err("there is no program `tool`"));
        let broken = "the sandbox is broken, nothing was run: cannot build the sandbox: \
                      Exited(71) (sandbox-exec: no)";
        check(|_| (), Err(broken));
    }
}
