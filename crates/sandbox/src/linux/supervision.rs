//! One sandbox from its start to its end, on the supervisor's side.
//!
//! One loop waits for all events: output, messages of the init process, its end, the timeout, the
//! request to stop. Dropping the value ends all that the command started, and the whole sandbox if
//! it does not stay for another command.
//!
//! Must never: take a sandbox that could not be built for a command that failed.

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::cancel::CancelListener;
use crate::egress::{Egress, EgressSetup};
use crate::limits::{END_GRACE_MS_MAX, END_MS_MAX, KILL_MS_MAX, LAST_WORD_MS_MAX};
use crate::linux::cgroup::Cgroup;
use crate::linux::init_process::InitProcess;
use crate::linux::pool::IdleSandbox;
use crate::linux::working_directory;
use crate::poll::is_ready;
use crate::process::{Command, Cwd, Error, ExitCause, ProcessEnding, ProcessOutcome, not_started};
use crate::spec::{ENTER, InitMessage, InitRequest, ProgramStatus, START, SandboxFailure};
use crate::stdio_pump::StdioPump;

/// A command that runs confined.
pub(crate) struct RunningCommand<'a> {
    first: InitProcess,
    pump: StdioPump<'a>,
    egress: EgressSetup,
    /// The proxy's listener. The proxy starts at the first connection; most programs make none.
    listener: Option<TcpListener>,
    /// A descriptor that reports when a mount is gone; present only if the spec asks for it.
    mounts: Option<OwnedFd>,
    /// The descriptor of `mounts`, once its report ends the wait for a long-lived program.
    mount_watch: Option<OwnedFd>,
    proxy: Option<Egress>,
    started: bool,
    ended: Option<ProgramOutcome>,
    trouble: Option<SandboxFailure>,
}

/// The events that a wait saw.
struct WaitEvents {
    /// The whole sandbox has ended.
    over: bool,
    /// A stop was requested.
    stopped: bool,
    /// A mount is gone.
    unmounted: bool,
}

#[derive(Clone, Copy)]
struct ProgramOutcome {
    status: ProgramStatus,
    left_behind: usize,
    out_of_memory: bool,
}

impl<'a> RunningCommand<'a> {
    pub(crate) fn new(first: InitProcess, pump: StdioPump<'a>, egress: EgressSetup) -> Self {
        Self {
            first,
            pump,
            egress,
            listener: None,
            mounts: None,
            mount_watch: None,
            proxy: None,
            started: false,
            ended: None,
            trouble: None,
        }
    }

    /// Runs a command in a sandbox of the pool.
    pub(crate) fn reuse(resting: IdleSandbox, pump: StdioPump<'a>, egress: EgressSetup) -> Self {
        let IdleSandbox { first, listener, mounts } = resting;
        let (listener, mounts) = (Some(listener), Some(mounts));
        Self { listener, mounts, ..Self::new(first, pump, egress) }
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
    ) -> Result<ExitCause, Error> {
        let end = self.await_end(Some(deadline), listener)?;
        if end != ExitCause::ByItself {
            self.terminate(Duration::from_millis(END_GRACE_MS_MAX), None)?;
        }
        Ok(end)
    }

    /// Waits until the program runs, or its sandbox has failed; returns true if it runs.
    pub(crate) fn await_start(
        &mut self,
        until: Instant,
        listener: &CancelListener,
    ) -> Result<bool, Error> {
        while !self.started && self.trouble.is_none() {
            let events = self.wait(Some(until), Some(listener))?;
            if events.over {
                self.hear_rest()?;
            } else if events.stopped || Instant::now() >= until {
                break;
            }
        }
        Ok(self.started)
    }

    /// Returns true if the sandbox has failed or ended.
    pub(crate) fn has_failed(&self) -> bool {
        self.trouble.is_some() || self.first.is_over(Instant::now()).unwrap_or(true)
    }

    /// Waits for exit, the deadline, cancellation or a lost mount; ends nothing.
    pub(crate) fn await_end(
        &mut self,
        until: Option<Instant>,
        listener: &CancelListener,
    ) -> Result<ExitCause, Error> {
        loop {
            let events = self.wait(until, Some(listener))?;
            if events.over || self.is_left() {
                return Ok(ExitCause::ByItself);
            }
            if events.stopped {
                return Ok(ExitCause::Stopped);
            }
            if events.unmounted {
                return Ok(ExitCause::Unmounted);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(ExitCause::TimedOut);
            }
        }
    }

    /// Ends the wait when a mount of the sandbox goes from now on, or has gone already.
    pub(crate) fn watch_mounts(&mut self) -> Result<(), Error> {
        self.mount_watch = Some(self.mounts.take().ok_or_else(lost)?);
        Ok(())
    }

    /// Asks everything in the sandbox to end, and kills it after the grace or if `hurry` is raised.
    pub(crate) fn terminate(
        &mut self,
        grace: Duration,
        hurry: Option<&CancelListener>,
    ) -> Result<(), Error> {
        self.pump.close_input();
        // No mount is of interest any more, and one that is gone would wake each wait.
        self.mount_watch = None;
        // An init process that cannot be reached is killed below.
        self.first.control.send_if_open(&InitRequest::Terminate);
        let grace = Instant::now() + grace;
        while Instant::now() < grace {
            let events = self.wait(Some(grace), hurry)?;
            if events.over || events.stopped || self.is_left() {
                break;
            }
        }
        self.first.kill();
        let patience = Instant::now() + Duration::from_millis(END_MS_MAX);
        if !self.first.is_over(patience).map_err(Error::Unwatched)? {
            self.first.kill_alone();
        }
        Ok(())
    }

    /// Waits for the next event.
    fn wait(
        &mut self,
        until: Option<Instant>,
        listener: Option<&CancelListener>,
    ) -> Result<WaitEvents, Error> {
        let mut watched = vec![PollFd::new(&self.first.handle, PollFlags::IN)];
        let heard = self.ended.is_none() && self.trouble.is_none();
        if heard {
            watched.push(PollFd::new(&self.first.control, PollFlags::IN));
        }
        watched.extend(self.listener.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        watched.extend(listener.map(|fd| PollFd::new(fd, PollFlags::IN)));
        watched.extend(self.mount_watch.as_ref().map(|fd| PollFd::new(fd, PollFlags::PRI)));
        let ready = self.pump.wait(watched, until).map_err(Error::Unwatched)?;
        let mut ready = ready.into_iter();
        let over = ready.next().unwrap_or_default();
        let said = heard && ready.next().unwrap_or_default();
        let wanted = self.listener.is_some() && ready.next().unwrap_or_default();
        let stopped = listener.is_some() && ready.next().unwrap_or_default();
        let unmounted = ready.next().unwrap_or_default();
        if wanted && let Some(listener) = self.listener.take() {
            self.proxy = Some(self.egress.start(listener).map_err(Error::Unwatched)?);
        }
        if said {
            self.hear()?;
        }
        Ok(WaitEvents { over, stopped, unmounted })
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

    /// Receives the last messages of an init process that has ended, or has ended its program.
    fn hear_rest(&mut self) -> Result<(), Error> {
        while self.ended.is_none() && self.trouble.is_none() {
            // Another process may hold the other end; then neither a message nor the end arrives.
            let late = Instant::now() + Duration::from_millis(LAST_WORD_MS_MAX);
            if is_ready(&self.first.control, late).map_err(Error::Unwatched)? {
                self.hear()?;
            } else {
                self.trouble = Some(self.silence());
            }
        }
        Ok(())
    }

    fn silence(&self) -> SandboxFailure {
        let step = if self.started { "watch the program" } else { "build the sandbox" };
        SandboxFailure::new(step, &io::Error::other("its first process ended without a word"))
    }

    /// Returns the result of `finish`; the control group shows if its memory was used up.
    pub(crate) fn finish_in(
        self,
        group: Option<Cgroup>,
        start: Instant,
        end: ExitCause,
        command: &Command,
    ) -> Result<(ProcessOutcome, Option<IdleSandbox>), Error> {
        if let (ExitCause::TimedOut | ExitCause::Stopped | ExitCause::Unmounted, Some(group)) =
            (end, &group)
        {
            group.kill_rest();
        }
        let (finished, resting) = self.finish(start, end, command)?;
        let killed = group.is_some_and(|group| group.oom_kills().is_ok_and(|kills| kills > 0));
        let ending = match finished.ending {
            ProcessEnding::Exited(_) | ProcessEnding::Signalled(_) if killed => {
                ProcessEnding::OutOfMemory
            }
            ending => ending,
        };
        Ok((ProcessOutcome { ending, ..finished }, resting))
    }

    /// Returns the outcome, and the sandbox if it can run another command.
    fn finish(
        mut self,
        start: Instant,
        end: ExitCause,
        command: &Command,
    ) -> Result<(ProcessOutcome, Option<IdleSandbox>), Error> {
        let deadline = Instant::now() + Duration::from_millis(KILL_MS_MAX);
        let is_left = end == ExitCause::ByItself && self.is_left();
        if !is_left && !self.first.is_over(deadline).map_err(Error::Unwatched)? {
            return Err(Error::Unkillable(0));
        }
        self.hear_rest()?;
        self.pump.drain().map_err(Error::Unwatched)?;
        // Every connection is recorded before the call counts as ended.
        drop(self.proxy.take());
        let [stdout, stderr] = self.pump.take_kept();
        let (ending, left_behind) = match (end, self.ended, self.trouble.take()) {
            (ExitCause::ByItself, Some(ended), _) => (ending(ended), ended.left_behind),
            (ExitCause::ByItself, None, Some(mut trouble)) => {
                let said = if stderr.head().is_empty() { stdout.head() } else { stderr.head() };
                trouble.add(said);
                return Err(of_start(trouble, command));
            }
            (ExitCause::TimedOut, ..) => (ProcessEnding::TimedOut, 0),
            (ExitCause::Stopped | ExitCause::Unmounted, ..) => (ProcessEnding::Stopped, 0),
            (ExitCause::ByItself, None, None) => return Err(lost()),
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
