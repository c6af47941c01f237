//! One sandbox from its start to its end, as the supervisor sees it.
//!
//! One loop waits for everything at once: output, words of the first process, the end, the time, the request to
//! stop. Whatever happens, all that the command started is gone when this is, and the whole sandbox if it does not
//! stay for another command.
//!
//! Must never: take a sandbox that could not be built for a command that failed.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::process::{Signal, pidfd_send_signal};

use crate::child::{self, Command, Cwd, Ending, Error, Finished};
use crate::egress::Egress;
use crate::idle::Resting;
use crate::limits::{END_GRACE_MS_MAX, END_MS_MAX, KILL_MS_MAX, LAST_WORD_MS_MAX};
use crate::spec::{ENTER, Order, START, Status, Trouble, Word};
use crate::stop::Listener;
use crate::streams::{Pump, is_ready};
use crate::wire::Channel;

/// The first process of a sandbox. It goes when this goes.
#[derive(Debug)]
pub(crate) struct First {
    pub(crate) control: Channel,
    pub(crate) handle: OwnedFd,
    /// Whether its end is the end of everything it started.
    pub(crate) holds_all: bool,
    /// Whether it lives on when its program is over.
    pub(crate) stays: bool,
}

impl Drop for First {
    fn drop(&mut self) {
        // Who holds nothing must end the others itself: it does so when it hears no more from us. Otherwise it may be
        // over already, or nobody is left who wants it.
        if self.holds_all {
            self.kill_alone();
        }
    }
}

impl First {
    /// Ends it with everything it started.
    fn kill(&self) {
        if self.holds_all {
            self.kill_alone();
        } else {
            self.control.send(&Order::Kill, &[]).unwrap_or_default();
        }
    }

    /// Ends it, and those who end with it.
    pub(crate) fn kill_alone(&self) {
        pidfd_send_signal(&self.handle, Signal::KILL).unwrap_or_default();
    }

    /// The next that it says until then; nothing if it is silent or gone.
    pub(crate) fn word(&self, until: Instant) -> Option<Word> {
        if !is_ready(&self.control, until).ok()? {
            return None;
        }
        self.control.receive().ok().flatten().map(|(word, _)| word)
    }

    /// Whether it ends until then.
    pub(crate) fn is_over(&self, until: Instant) -> io::Result<bool> {
        is_ready(&self.handle, until)
    }
}

/// Why the waiting is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    ByItself,
    TimedOut,
    Stopped,
}

/// A command that runs confined.
pub(crate) struct Running<'a> {
    first: First,
    pump: Pump<'a>,
    /// Starts the proxy; what it gives is kept until the end.
    listen: &'a dyn Fn(TcpListener) -> io::Result<Egress>,
    /// Where the program can reach the proxy. Most programs never do, so there is none until one does.
    listener: Option<TcpListener>,
    /// Tells when a mount of the sandbox is gone, where it stays.
    mounts: Option<OwnedFd>,
    proxy: Option<Egress>,
    started: bool,
    ended: Option<Ended>,
    trouble: Option<Trouble>,
}

#[derive(Clone, Copy)]
struct Ended {
    status: Status,
    left_behind: usize,
    out_of_memory: bool,
}

impl<'a> Running<'a> {
    pub(crate) fn new(
        first: First,
        pump: Pump<'a>,
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

    /// A command in a sandbox that was there already.
    pub(crate) fn again(
        resting: Resting,
        pump: Pump<'a>,
        listen: &'a dyn Fn(TcpListener) -> io::Result<Egress>,
    ) -> Self {
        let Resting { first, listener, mounts } = resting;
        let (listener, mounts) = (Some(listener), Some(mounts));
        Self { listener, mounts, ..Self::new(first, pump, listen) }
    }

    /// Whether the program is over and its sandbox is not.
    fn is_left(&self) -> bool {
        self.first.stays && self.ended.is_some()
    }

    /// Waits for the first end there is; a time out or a stop then ends the whole sandbox.
    pub(crate) fn watch(&mut self, deadline: Instant, listener: &Listener) -> Result<End, Error> {
        let end = loop {
            let (over, stopped) = self.wait(deadline, Some(listener))?;
            if over || self.is_left() {
                return Ok(End::ByItself);
            }
            if stopped {
                break End::Stopped;
            }
            if Instant::now() >= deadline {
                break End::TimedOut;
            }
        };
        self.pump.close_input();
        // Who cannot be asked any more is ended below.
        self.first.control.send(&Order::Terminate, &[]).unwrap_or_default();
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

    /// Waits for the next thing; says whether all is over, and whether a stop was asked for.
    fn wait(&mut self, until: Instant, listener: Option<&Listener>) -> Result<(bool, bool), Error> {
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
        match self.first.control.receive::<Word>().map_err(Error::Unwatched)? {
            Some((Word::Listening, handles)) => {
                let mut handles = handles.into_iter();
                self.listener = handles.next().map(TcpListener::from);
                self.mounts = handles.next();
            }
            Some((Word::Started, _)) => self.started = true,
            Some((Word::Failed(trouble), _)) => self.trouble = Some(trouble),
            Some((Word::Ended { status, left_behind, out_of_memory }, _)) => {
                self.ended = Some(Ended { status, left_behind, out_of_memory });
            }
            // Both are said only while nobody listens here.
            Some((Word::Ready | Word::Taken, _)) => return Err(lost()),
            None => self.trouble = Some(self.silence()),
        }
        Ok(())
    }

    fn silence(&self) -> Trouble {
        let step = if self.started { "watch the program" } else { "build the sandbox" };
        Trouble::new(step, &io::Error::other("its first process ended without a word"))
    }

    /// What came of it, and the sandbox if it can serve another command.
    pub(crate) fn finish(
        mut self,
        start: Instant,
        end: End,
        command: &Command,
    ) -> Result<(Finished, Option<Resting>), Error> {
        let deadline = Instant::now() + Duration::from_millis(KILL_MS_MAX);
        let is_left = end == End::ByItself && self.is_left();
        if !is_left && !self.first.is_over(deadline).map_err(Error::Unwatched)? {
            return Err(Error::Unkillable(0));
        }
        while self.ended.is_none() && self.trouble.is_none() {
            // Somebody else may hold the other end; then nothing comes, not even its end.
            let late = Instant::now() + Duration::from_millis(LAST_WORD_MS_MAX);
            if is_ready(&self.first.control, late).map_err(Error::Unwatched)? {
                self.hear()?;
            } else {
                self.trouble = Some(self.silence());
            }
        }
        self.pump.drain().map_err(Error::Unwatched)?;
        // Every connection is recorded before the call counts as over.
        drop(self.proxy.take());
        let [stdout, stderr] = self.pump.take_kept();
        let (ending, left_behind) = match (end, self.ended, self.trouble.take()) {
            (End::ByItself, Some(ended), _) => (ending(ended), ended.left_behind),
            (End::ByItself, None, Some(mut trouble)) => {
                let said = if stderr.head().is_empty() { stdout.head() } else { stderr.head() };
                trouble.add(said);
                return Err(of_start(trouble, command));
            }
            (End::TimedOut, ..) => (Ending::TimedOut, 0),
            (End::Stopped, ..) => (Ending::Stopped, 0),
            (End::ByItself, None, None) => return Err(lost()),
        };
        let (duration, violations) = (start.elapsed(), Vec::new());
        let finished = Finished { ending, stdout, stderr, duration, left_behind, violations };
        let is_left = is_left && ending != Ending::OutOfMemory;
        Ok((finished, is_left.then(|| self.rest()).flatten()))
    }

    /// The sandbox for another command. Where the proxy was used there is none: its connections are not forgotten yet.
    fn rest(self) -> Option<Resting> {
        let (Some(listener), Some(mounts)) = (self.listener, self.mounts) else { return None };
        Some(Resting { first: self.first, listener, mounts })
    }
}

fn ending(ended: Ended) -> Ending {
    match ended.status {
        _ if ended.out_of_memory => Ending::OutOfMemory,
        Status::Exited(code) => Ending::Exited(code),
        Status::Signalled(signal) => Ending::Signalled(signal),
    }
}

fn lost() -> Error {
    let (step, reason) = ("watch the program".to_owned(), "it is lost".to_owned());
    Error::Sandbox { step, reason }
}

pub(crate) fn of_sandbox(trouble: Trouble) -> Error {
    Error::Sandbox { step: trouble.step, reason: trouble.why }
}

/// Only what the program itself is to blame for is told as its own failure.
fn of_start(trouble: Trouble, command: &Command) -> Error {
    let reason = trouble
        .errno
        .map_or_else(|| io::Error::other(trouble.why.clone()), io::Error::from_raw_os_error);
    match &*trouble.step {
        START => child::not_started(command, reason),
        ENTER => {
            let path = match &command.cwd {
                Cwd::Path(path) => path.clone(),
                Cwd::Handle(handle) => crate::sandbox::place_of(handle).unwrap_or_default(),
            };
            Error::NoDirectory { path, reason }
        }
        _ => of_sandbox(trouble),
    }
}
