//! A long-lived program with pipes: supervised by a thread from its start to its end.
//!
//! The thread starts the process, waits for its end, and ends the whole tree on request, at the
//! deadline, or when the owner drops its value. The caller reads and writes the pipes itself, so
//! that nothing of the output is kept here and a full pipe stops the program.
//!
//! Must never: let a process outlive its `SandboxedChild`, or wait for a pipe.

use std::ffi::OsStr;
use std::io::{self, PipeReader, PipeWriter, Read as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, mpsc};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;

use crate::cancel::{CancelListener, CancelToken};
use crate::child_guard::ChildGuard;
use crate::limits::TROUBLE_CHARS_MAX;
use crate::poll::poll_until;
use crate::process::{ChildBounds, ChildOutcome, Error, ExitCause};
use crate::stdio_pump::{CallerStdio, ChildStdio};

/// A process that a thread supervises. Dropping the value ends the whole tree.
pub(crate) trait SupervisedProcess {
    /// Waits for its end, the deadline or the request to stop; ends nothing.
    fn await_end(
        &mut self,
        until: Option<Instant>,
        stop: &CancelListener,
    ) -> Result<ExitCause, Error>;

    /// Asks the tree to end, and kills it after the grace or when `hurry` is raised.
    fn terminate(&mut self, grace: Duration, hurry: &CancelListener) -> Result<(), Error>;

    /// Ends all that is left of the tree, and returns the outcome.
    fn finish(self, cause: ExitCause) -> Result<ChildOutcome, Error>;
}

/// A long-lived program. Dropping the value kills its whole process tree.
///
/// The pipes block; `std` and asynchronous runtimes can take them over. The descriptor of the value
/// itself becomes readable when the tree has ended and its files are checked.
pub struct SandboxedChild {
    /// Our end of the standard input. Dropping it closes the input of the program.
    pub stdin: Option<PipeWriter>,
    /// Our end of the standard output.
    pub stdout: Option<PipeReader>,
    /// Our end of the standard error.
    pub stderr: Option<PipeReader>,
    handle: ChildHandle,
    /// Ends with the supervising thread.
    over: PipeReader,
    supervision: Option<JoinHandle<Result<ChildOutcome, Error>>>,
    /// The outcome, once it was fetched; or the text of its error.
    outcome: Option<Result<ChildOutcome, String>>,
}

/// A handle on a long-lived program, for other threads.
#[derive(Clone)]
pub struct ChildHandle {
    end: CancelToken,
    kill: CancelToken,
    guard: Arc<ChildGuard>,
}

impl AsFd for SandboxedChild {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.over.as_fd()
    }
}

impl Drop for SandboxedChild {
    fn drop(&mut self) {
        drop(self.stdin.take());
        self.handle.kill();
        // The outcome is of no interest to anyone.
        drop(self.supervision.take().map(JoinHandle::join));
        // Only if the thread panicked before its own check.
        self.handle.guard.end();
    }
}

impl ChildHandle {
    /// Asks the process tree to end, and kills it after the grace. Does not wait.
    pub fn terminate(&self) {
        self.end.stop();
    }

    /// Kills the process tree. Does not wait.
    pub fn kill(&self) {
        self.kill.stop();
        self.end.stop();
    }

    /// Checks the protected files now, as after a command: changes are undone and reported. If the
    /// check cannot be finished, the program is killed. Returns true if the program may go on.
    pub fn check_files(&self) -> bool {
        let may_go_on = self.guard.check();
        if !may_go_on {
            self.kill();
        }
        may_go_on
    }
}

impl SandboxedChild {
    /// Returns a handle for other threads.
    pub fn handle(&self) -> ChildHandle {
        self.handle.clone()
    }

    /// Waits for the end of the program; returns None if it still runs after that time. When it
    /// has ended, its whole tree is gone and its files are checked.
    ///
    /// # Errors
    /// When the program could no longer be watched; it was killed then.
    pub fn wait(&mut self, time: Duration) -> Result<Option<ChildOutcome>, Error> {
        let until = Instant::now().checked_add(time);
        let mut fds = [PollFd::new(&self.over, PollFlags::IN)];
        poll_until(&mut fds, until).map_err(Error::Unwatched)?;
        if fds[0].revents().is_empty() {
            return Ok(None);
        }
        self.fetch_outcome().map(Some)
    }

    /// Closes the input if it was not taken, asks the process tree to end, kills it after the
    /// grace, and waits for that.
    ///
    /// # Errors
    /// When the program could no longer be watched; it was killed then.
    pub fn terminate(&mut self) -> Result<ChildOutcome, Error> {
        drop(self.stdin.take());
        self.handle.terminate();
        self.fetch_outcome()
    }

    fn fetch_outcome(&mut self) -> Result<ChildOutcome, Error> {
        if let Some(supervision) = self.supervision.take() {
            let panicked = |_| Err(unwatched("its supervising thread has panicked"));
            let outcome = supervision.join().unwrap_or_else(panicked);
            self.outcome = Some(outcome.as_ref().copied().map_err(ToString::to_string));
            return outcome;
        }
        match &self.outcome {
            Some(Ok(outcome)) => Ok(*outcome),
            Some(Err(reason)) => Err(unwatched(reason)),
            None => Err(unwatched("it is lost")),
        }
    }
}

/// Starts a process by `begin`, in the thread that then supervises it, and waits until it runs.
///
/// A start may wait, for a guard of the same roots for example. If it fails after a cancel, the
/// cancel is the reason, wherever it was noticed.
pub(crate) fn start<P: SupervisedProcess>(
    program: &OsStr,
    bounds: ChildBounds,
    stop: &CancelToken,
    begin: impl FnOnce(ChildStdio, &CancelToken) -> Result<(P, ChildGuard), Error> + Send + 'static,
) -> Result<SandboxedChild, Error> {
    let program = program.to_string_lossy().into_owned();
    let failed = |reason| Error::NotStarted { program: program.clone(), reason };
    let (ours, theirs) = ChildStdio::pipes().map_err(failed)?;
    let (over, writer) = io::pipe().map_err(failed)?;
    let (end, kill) = (CancelToken::new(), CancelToken::new());
    let requests = (end.clone(), kill.clone());
    let (stop, cancelled_program) = (stop.clone(), program.clone());
    let (tell, told) = mpsc::channel();
    let supervise = move || {
        // Closed when the thread ends, also by a panic.
        let _writer = writer;
        let begun = if stop.is_stopped() {
            Err(start_cancelled(&cancelled_program))
        } else {
            begin(theirs, &stop)
        };
        let (process, guard) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                let is_cancelled = stop.is_stopped();
                let error = if is_cancelled { start_cancelled(&cancelled_program) } else { error };
                let reason = error.to_string();
                // The caller waits for it.
                drop(tell.send(Err(error)));
                return Err(unwatched(&reason));
            }
        };
        let (end, kill) = requests;
        let handle = ChildHandle { end, kill, guard: Arc::new(guard) };
        drop(tell.send(Ok(handle.guard.clone())));
        let outcome = guarded(process, bounds, &handle);
        handle.guard.end();
        outcome
    };
    let thread = Builder::new().name("child".to_owned()).spawn(supervise).map_err(failed)?;
    let CallerStdio { input, output, errors } = ours;
    match told.recv() {
        Ok(Ok(guard)) => Ok(SandboxedChild {
            stdin: Some(input),
            stdout: Some(output),
            stderr: Some(errors),
            handle: ChildHandle { end, kill, guard },
            over,
            supervision: Some(thread),
            outcome: None,
        }),
        Ok(Err(error)) => Err(with_diagnostics(error, errors)),
        Err(_) => Err(unwatched("its supervising thread has panicked")),
    }
}

fn start_cancelled(program: &str) -> Error {
    let reason = io::Error::new(io::ErrorKind::Interrupted, "the start was cancelled");
    Error::NotStarted { program: program.to_owned(), reason }
}

/// Supervises a process while another thread checks its files.
fn guarded(
    process: impl SupervisedProcess,
    bounds: ChildBounds,
    handle: &ChildHandle,
) -> Result<ChildOutcome, Error> {
    std::thread::scope(|scope| {
        let over = EndNotice(CancelToken::new());
        if handle.guard.is_needed() {
            let over = over.0.clone();
            let check = move || {
                handle.guard.check_regularly(&over);
                // It returned because the process is over, or must be.
                handle.kill();
            };
            let named = Builder::new().name("child guard".to_owned());
            named.spawn_scoped(scope, check).map_err(Error::Unwatched)?;
        }
        supervised(process, bounds, handle)
    })
}

/// Tells the guard that the process is over, also when its supervision has panicked.
struct EndNotice(CancelToken);

impl Drop for EndNotice {
    fn drop(&mut self) {
        self.0.stop();
    }
}

fn supervised(
    mut process: impl SupervisedProcess,
    bounds: ChildBounds,
    handle: &ChildHandle,
) -> Result<ChildOutcome, Error> {
    let end = handle.end.listen().map_err(Error::Unwatched)?;
    let kill = handle.kill.listen().map_err(Error::Unwatched)?;
    let deadline = bounds.time.and_then(|time| Instant::now().checked_add(time));
    let cause = process.await_end(deadline, &end)?;
    let grace = match cause {
        ExitCause::ByItself => None,
        ExitCause::TimedOut | ExitCause::Stopped => Some(bounds.grace),
        ExitCause::Unmounted => {
            handle.guard.report(
                "a file or directory that the sandbox of a program mounts was replaced or removed; the \
                 program is ended, start it again",
            );
            Some(Duration::ZERO)
        }
    };
    if let Some(grace) = grace {
        process.terminate(grace, &kill)?;
    }
    process.finish(cause)
}

/// Adds the diagnostic output of a sandbox that could not be built; all its processes are gone.
fn with_diagnostics(error: Error, mut errors: PipeReader) -> Error {
    let Error::Sandbox { step, reason } = error else { return error };
    let mut said = [0; 4 * TROUBLE_CHARS_MAX];
    let flags = rustix::fs::fcntl_getfl(&errors).unwrap_or(OFlags::empty());
    let read = rustix::fs::fcntl_setfl(&errors, flags | OFlags::NONBLOCK)
        .map_err(io::Error::from)
        .and_then(|()| errors.read(&mut said));
    // Nothing was said if there is nothing to read.
    let said = String::from_utf8_lossy(&said[..read.unwrap_or(0)]);
    let said: String = said.trim().chars().take(TROUBLE_CHARS_MAX).collect();
    let reason = if said.is_empty() { reason } else { format!("{reason} ({said})") };
    Error::Sandbox { step, reason }
}

fn unwatched(reason: &str) -> Error {
    Error::Unwatched(io::Error::other(reason.to_owned()))
}
