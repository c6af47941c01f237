//! One sandbox from its start to its end, on the supervisor's side.
//!
//! One loop waits for all events: output, messages of the init process, its end, the timeout, the
//! request to stop. Dropping the value ends all that the command started, and the whole sandbox if
//! it does not stay for another command.
//!
//! Must never: take a sandbox that could not be built for a command that failed.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::cancel::CancelListener;
use crate::egress::Egress;
use crate::limits::{END_GRACE_MS_MAX, END_MS_MAX, KILL_MS_MAX, LAST_WORD_MS_MAX};
use crate::linux::init_process::InitProcess;
use crate::linux::pool::IdleSandbox;
use crate::linux::working_directory;
use crate::poll::is_ready;
use crate::process::{Command, Cwd, Error, ProcessEnding, ProcessOutcome, not_started};
use crate::spec::{ENTER, InitMessage, InitRequest, ProgramStatus, START, SandboxFailure};
use crate::stdio_pump::StdioPump;

/// The cause that ended the wait for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandExitCause {
    ByItself,
    TimedOut,
    Stopped,
}

/// A command that runs confined.
pub(crate) struct RunningCommand<'a> {
    first: InitProcess,
    pump: StdioPump<'a>,
    /// Starts the proxy; its result is kept until the end.
    listen: &'a dyn Fn(TcpListener) -> io::Result<Egress>,
    /// The proxy's listener. The proxy starts at the first connection; most programs make none.
    listener: Option<TcpListener>,
    /// Becomes readable when a mount of the sandbox is gone; present only if the sandbox stays.
    mounts: Option<OwnedFd>,
    proxy: Option<Egress>,
    started: bool,
    ended: Option<ProgramOutcome>,
    trouble: Option<SandboxFailure>,
}

#[derive(Clone, Copy)]
struct ProgramOutcome {
    status: ProgramStatus,
    left_behind: usize,
    out_of_memory: bool,
}

impl<'a> RunningCommand<'a> {
    pub(crate) fn new(
        first: InitProcess,
        pump: StdioPump<'a>,
        listen: &'a dyn Fn(TcpListener) -> io::Result<Egress>,
    ) -> Self {
        Self {
            first,
            pump,
            listen,
            listener: None,
            mounts: None,
            proxy: None,
            started: false,
            ended: None,
            trouble: None,
        }
    }

    /// Runs a command in a sandbox of the pool.
    pub(crate) fn reuse(
        resting: IdleSandbox,
        pump: StdioPump<'a>,
        listen: &'a dyn Fn(TcpListener) -> io::Result<Egress>,
    ) -> Self {
        let IdleSandbox { first, listener, mounts } = resting;
        let (listener, mounts) = (Some(listener), Some(mounts));
        Self { listener, mounts, ..Self::new(first, pump, listen) }
    }

    /// Returns true if the program has ended and its sandbox stays.
    fn is_left(&self) -> bool {
        self.first.stays && self.ended.is_some()
    }

    /// Waits for exit, timeout or cancellation; the latter two end the whole sandbox.
    pub(crate) fn watch(
        &mut self,
        deadline: Instant,
        listener: &CancelListener,
    ) -> Result<CommandExitCause, Error> {
        let end = loop {
            let (over, stopped) = self.wait(deadline, Some(listener))?;
            if over || self.is_left() {
                return Ok(CommandExitCause::ByItself);
            }
            if stopped {
                break CommandExitCause::Stopped;
            }
            if Instant::now() >= deadline {
                break CommandExitCause::TimedOut;
            }
        };
        self.pump.close_input();
        // An init process that cannot be reached is killed below.
        self.first.control.send(&InitRequest::Terminate, &[]).unwrap_or_default();
        let grace = Instant::now() + Duration::from_millis(END_GRACE_MS_MAX);
        while Instant::now() < grace {
            if self.wait(grace, None)?.0 || self.is_left() {
                break;
            }
        }
        self.first.kill();
        let patience = Instant::now() + Duration::from_millis(END_MS_MAX);
        if !self.first.is_over(patience).map_err(Error::Unwatched)? {
            self.first.kill_alone();
        }
        Ok(end)
    }

    /// Waits for the next event; returns whether all has ended, and whether a stop was requested.
    fn wait(
        &mut self,
        until: Instant,
        listener: Option<&CancelListener>,
    ) -> Result<(bool, bool), Error> {
        let mut watched = vec![self.first.handle.as_fd()];
        let heard = self.ended.is_none() && self.trouble.is_none();
        if heard {
            watched.push(self.first.control.as_fd());
        }
        watched.extend(self.listener.as_ref().map(AsFd::as_fd));
        watched.extend(listener.map(|listener| listener.as_fd()));
        let ready = self.pump.wait(&watched, Some(until)).map_err(Error::Unwatched)?;
        let mut ready = ready.into_iter();
        let over = ready.next().unwrap_or_default();
        let said = heard && ready.next().unwrap_or_default();
        let wanted = self.listener.is_some() && ready.next().unwrap_or_default();
        let stopped = ready.next().unwrap_or_default();
        if wanted && let Some(listener) = self.listener.take() {
            self.proxy = Some((self.listen)(listener).map_err(Error::Unwatched)?);
        }
        if said {
            self.hear()?;
        }
        Ok((over, stopped))
    }

    fn hear(&mut self) -> Result<(), Error> {
        match self.first.control.receive::<InitMessage>().map_err(Error::Unwatched)? {
            Some((InitMessage::Listening, handles)) => {
                let mut handles = handles.into_iter();
                self.listener = handles.next().map(TcpListener::from);
                self.mounts = handles.next();
            }
            Some((InitMessage::Started, _)) => self.started = true,
            Some((InitMessage::Failed(trouble), _)) => self.trouble = Some(trouble),
            Some((InitMessage::Ended { status, left_behind, out_of_memory }, _)) => {
                self.ended = Some(ProgramOutcome { status, left_behind, out_of_memory });
            }
            // The init process sends both only while no `RunningCommand` listens.
            Some((InitMessage::Ready | InitMessage::Taken, _)) => return Err(lost()),
            None => self.trouble = Some(self.silence()),
        }
        Ok(())
    }

    fn silence(&self) -> SandboxFailure {
        let step = if self.started { "watch the program" } else { "build the sandbox" };
        SandboxFailure::new(step, &io::Error::other("its first process ended without a word"))
    }

    /// Returns the outcome, and the sandbox if it can run another command.
    pub(crate) fn finish(
        mut self,
        start: Instant,
        end: CommandExitCause,
        command: &Command,
    ) -> Result<(ProcessOutcome, Option<IdleSandbox>), Error> {
        let deadline = Instant::now() + Duration::from_millis(KILL_MS_MAX);
        let is_left = end == CommandExitCause::ByItself && self.is_left();
        if !is_left && !self.first.is_over(deadline).map_err(Error::Unwatched)? {
            return Err(Error::Unkillable(0));
        }
        while self.ended.is_none() && self.trouble.is_none() {
            // Another process may hold the other end; then neither a message nor the end arrives.
            let late = Instant::now() + Duration::from_millis(LAST_WORD_MS_MAX);
            if is_ready(&self.first.control, late).map_err(Error::Unwatched)? {
                self.hear()?;
            } else {
                self.trouble = Some(self.silence());
            }
        }
        self.pump.drain().map_err(Error::Unwatched)?;
        // Every connection is recorded before the call counts as ended.
        drop(self.proxy.take());
        let [stdout, stderr] = self.pump.take_kept();
        let (ending, left_behind) = match (end, self.ended, self.trouble.take()) {
            (CommandExitCause::ByItself, Some(ended), _) => (ending(ended), ended.left_behind),
            (CommandExitCause::ByItself, None, Some(mut trouble)) => {
                let said = if stderr.head().is_empty() { stdout.head() } else { stderr.head() };
                trouble.add(said);
                return Err(of_start(trouble, command));
            }
            (CommandExitCause::TimedOut, ..) => (ProcessEnding::TimedOut, 0),
            (CommandExitCause::Stopped, ..) => (ProcessEnding::Stopped, 0),
            (CommandExitCause::ByItself, None, None) => return Err(lost()),
        };
        let (duration, violations) = (start.elapsed(), Vec::new());
        let finished = ProcessOutcome { ending, stdout, stderr, duration, left_behind, violations };
        let is_left = is_left && ending != ProcessEnding::OutOfMemory;
        Ok((finished, is_left.then(|| self.rest()).flatten()))
    }

    /// Returns the sandbox for another command; None if its proxy still remembers connections.
    fn rest(self) -> Option<IdleSandbox> {
        let (Some(listener), Some(mounts)) = (self.listener, self.mounts) else { return None };
        Some(IdleSandbox { first: self.first, listener, mounts })
    }
}

fn ending(ended: ProgramOutcome) -> ProcessEnding {
    match ended.status {
        _ if ended.out_of_memory => ProcessEnding::OutOfMemory,
        ProgramStatus::Exited(code) => ProcessEnding::Exited(code),
        ProgramStatus::Signalled(signal) => ProcessEnding::Signalled(signal),
    }
}

fn lost() -> Error {
    let (step, reason) = ("watch the program".to_owned(), "it is lost".to_owned());
    Error::Sandbox { step, reason }
}

pub(crate) fn sandbox_error(trouble: SandboxFailure) -> Error {
    Error::Sandbox { step: trouble.step, reason: trouble.why }
}

/// Returns a failure of the program's own start as such, any other as a broken sandbox.
fn of_start(trouble: SandboxFailure, command: &Command) -> Error {
    let reason = trouble
        .errno
        .map_or_else(|| io::Error::other(trouble.why.clone()), io::Error::from_raw_os_error);
    match &*trouble.step {
        START => not_started(command, reason),
        ENTER => {
            let path = match &command.cwd {
                Cwd::Path(path) => path.clone(),
                Cwd::Handle(handle) => working_directory::path_of_fd(handle).unwrap_or_default(),
            };
            Error::NoDirectory { path, reason }
        }
        _ => sandbox_error(trouble),
    }
}
