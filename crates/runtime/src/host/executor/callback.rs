//! The callback of a running program to the runtime: two named pipes, one line each way.
//!
//! No library needed: `echo '{"call": …}' > "$AGENTRY_CALL"; read answer < "$AGENTRY_ANSWER"`.
//!
//! Must never: wait for a program that does not read its answer, or answer beyond the limit.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentry_sandbox::CancelToken;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{CWD, Mode, OFlags};
use serde_json::{Value, json};

use crate::limits::{CALLBACK_BYTES_MAX, CALLBACKS_MAX};

/// The time between two checks whether the program has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Answers the questions of a program.
pub trait Callback: Send + Sync {
    /// Answers one question, or returns why not. `stop` is raised when the program ends.
    fn answer(&self, question: &Value, stop: &CancelToken) -> Result<Value, String>;
}

/// The two pipes of one program.
pub(super) struct Pipes {
    pub(super) call: PathBuf,
    pub(super) answer: PathBuf,
    // Held open for both directions, so that neither side waits for the other to open it.
    calls: File,
    answers: File,
}

impl Pipes {
    /// Creates the pipes in a directory that belongs to the program.
    pub(super) fn make(directory: &Path) -> io::Result<Self> {
        let (call, answer) = (directory.join("call"), directory.join("answer"));
        let open = |path: &Path| -> io::Result<File> {
            rustix::fs::mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR)?;
            let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
        };
        let (calls, answers) = (open(&call)?, open(&answer)?);
        Ok(Self { call, answer, calls, answers })
    }

    /// Answers questions until the program has ended.
    pub(super) fn serve(mut self, callback: &Arc<dyn Callback>, over: &CancelToken) {
        let mut read = Vec::new();
        let mut asked = 0;
        while let Some(line) = self.line(&mut read, over) {
            asked += 1;
            let answer = match line {
                Err(why) => Err(why),
                Ok(_) if asked > CALLBACKS_MAX => {
                    Err(format!("a hook may ask at most {CALLBACKS_MAX} questions"))
                }
                Ok(line) => question(&line).and_then(|asked| callback.answer(&asked, over)),
            };
            let mut text = match answer {
                Ok(Value::Object(mut fields)) => {
                    fields.insert("ok".to_owned(), Value::Bool(true));
                    Value::Object(fields).to_string()
                }
                Ok(value) => json!({ "ok": true, "value": value }).to_string(),
                Err(error) => json!({ "ok": false, "error": error }).to_string(),
            };
            text.push('\n');
            if self.say(text.as_bytes(), over).is_err() {
                return;
            }
        }
    }

    /// Returns the next line; None if the program has ended.
    fn line(&mut self, read: &mut Vec<u8>, over: &CancelToken) -> Option<Result<Vec<u8>, String>> {
        loop {
            if let Some(end) = read.iter().position(|byte| *byte == b'\n') {
                let rest = read.split_off(end + 1);
                return Some(Ok(std::mem::replace(read, rest)));
            }
            if read.len() > CALLBACK_BYTES_MAX {
                read.clear();
                return Some(Err(format!("a question has at most {CALLBACK_BYTES_MAX} bytes")));
            }
            if !self.wait(PollFlags::IN, over) {
                return None;
            }
            let mut piece = [0; 4096];
            match self.calls.read(&mut piece) {
                Ok(count) => read.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return None,
            }
        }
    }

    fn say(&mut self, mut text: &[u8], over: &CancelToken) -> io::Result<()> {
        while !text.is_empty() {
            match self.answers.write(text) {
                Ok(count) => text = &text[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if !self.wait(PollFlags::OUT, over) {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits until the pipe is ready; returns false if the program has ended.
    fn wait(&self, for_what: PollFlags, over: &CancelToken) -> bool {
        let file = if for_what == PollFlags::IN { &self.calls } else { &self.answers };
        while !over.is_stopped() {
            let mut fds = [PollFd::new(file, for_what)];
            let time =
                rustix::time::Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
            match rustix::event::poll(&mut fds, Some(&time)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return true,
                Err(_) => return false,
            }
        }
        false
    }
}

fn question(line: &[u8]) -> Result<Value, String> {
    let value: Value =
        serde_json::from_slice(line).map_err(|error| format!("this is not JSON: {error}"))?;
    if value.is_object() { Ok(value) } else { Err("a question is a JSON object".to_owned()) }
}
