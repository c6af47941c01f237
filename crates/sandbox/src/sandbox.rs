//! The supervisor's side: starts the helper, sends it what to run, watches, ends.
//!
//! Must never: run a command that should be confined without its sandbox; fork.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentry_protocol::confinement::{Confinement, Level, Network};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Signal, pidfd_send_signal};

use crate::child::{self, Bounds, Command, Cwd, Ending, Error, Finished};
use crate::helper::VERB;
use crate::kept::Kept;
use crate::limits::{END_GRACE_MS_MAX, KILL_MS_MAX, USER_FIRST, USERS};
use crate::spec::{ENTER, Order, Program, Reply, START, Spec, Status, Trouble, Word};
use crate::stop::{Listener, Stop};
use crate::streams::{Ends, Pump, poll_until};
use crate::view::{self, Found};
use crate::wire::Channel;

/// What runs confined.
#[derive(Debug)]
pub struct Job<'a> {
    /// The program.
    pub command: &'a Command,
    /// What it may do.
    pub confinement: &'a Confinement,
    /// Its time and output.
    pub bounds: &'a Bounds,
}

/// Runs processes, each in a sandbox of its own.
#[derive(Debug)]
pub struct Sandbox {
    helper: Mutex<Helper>,
    level: Level,
}

#[derive(Debug)]
struct Helper {
    channel: Channel,
    child: Child,
}

impl Drop for Helper {
    fn drop(&mut self) {
        // It ends when it hears nothing any more; whatever it started ends with it.
        self.child.kill().unwrap_or_default();
        drop(self.child.wait());
    }
}

impl Sandbox {
    /// Starts the helper: `binary` with the helper's verb.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(binary: &Path, level: Level) -> io::Result<Self> {
        let (ours, theirs) = Channel::pair()?;
        let child = std::process::Command::new(binary)
            .arg(VERB)
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { helper: Mutex::new(Helper { channel: ours, child }), level })
    }

    /// Runs a command to its end, or ends it.
    ///
    /// # Errors
    /// When the sandbox could not be built, or the command could not be started or watched.
    pub fn run(&self, job: &Job<'_>, stop: &Stop) -> Result<Finished, Error> {
        if job.confinement.level == Level::Off {
            return child::run(job.command, job.bounds, stop);
        }
        let start = Instant::now();
        let failed = |reason| child::not_started(job.command, reason);
        let listener = stop.listen().map_err(failed)?;
        if stop.is_stopped() {
            return Ok(never_started(start));
        }
        let program = program(job.command)?;
        let (pump, ends) = Pump::new(job.command, job.bounds.output_bytes_max).map_err(failed)?;
        let first = self.begin(job.confinement, program, ends)?;
        let mut running = Running { first, pump, started: false, ended: None, trouble: None };
        let end = running.watch(start + job.bounds.time, &listener)?;
        running.finish(start, end, job.command)
    }

    /// Asks the helper for a sandbox.
    fn begin(
        &self,
        confinement: &Confinement,
        program: Program,
        ends: Ends,
    ) -> Result<First, Error> {
        let user = own_user(confinement);
        let found = Found::default();
        let spec = Spec {
            level: self.level,
            user,
            view: view::view(confinement, user, &found),
            fence: view::fence(confinement, Path::new("/tmp")),
            unix_sockets: true,
            listen: matches!(confinement.network, Network::Domains { .. }),
            limits: confinement.limits,
            program,
        };
        let (control, theirs) = Channel::pair().map_err(broken("make a channel"))?;
        let streams =
            [ends.input.as_fd(), ends.output.as_fd(), ends.errors.as_fd(), theirs.as_fd()];
        let helper = self.helper.lock().unwrap_or_else(PoisonError::into_inner);
        helper.channel.send(&spec, &streams).map_err(broken("reach the helper"))?;
        let answer = helper.channel.receive::<Reply>().map_err(broken("hear the helper"))?;
        match answer {
            Some((Reply::Begun, handles)) => {
                let handle = handles.into_iter().next().ok_or_else(helper_gone)?;
                Ok(First { control, handle })
            }
            Some((Reply::Failed(trouble), _)) => Err(of_sandbox(trouble)),
            None => Err(helper_gone()),
        }
    }
}

/// The first process of a sandbox. It goes when this goes.
#[derive(Debug)]
struct First {
    control: Channel,
    handle: OwnedFd,
}

impl Drop for First {
    fn drop(&mut self) {
        // It may be over already; otherwise nobody is left who wants it.
        pidfd_send_signal(&self.handle, Signal::KILL).unwrap_or_default();
    }
}

impl First {
    fn is_over(&self, until: Instant) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.handle, PollFlags::IN)];
        poll_until(&mut fds, Some(until))?;
        Ok(!fds[0].revents().is_empty())
    }
}

/// Why the waiting is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    ByItself,
    TimedOut,
    Stopped,
}

struct Running {
    first: First,
    pump: Pump,
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

impl Running {
    fn watch(&mut self, deadline: Instant, listener: &Listener) -> Result<End, Error> {
        let end = loop {
            let (over, stopped) = self.wait(deadline, Some(listener))?;
            if over {
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
            if self.wait(grace, None)?.0 {
                break;
            }
        }
        pidfd_send_signal(&self.first.handle, Signal::KILL).unwrap_or_default();
        Ok(end)
    }

    /// Waits for the next thing; says whether all is over, and whether a stop was asked for.
    fn wait(&mut self, until: Instant, listener: Option<&Listener>) -> Result<(bool, bool), Error> {
        let mut watched = vec![self.first.handle.as_fd()];
        let heard = self.ended.is_none() && self.trouble.is_none();
        if heard {
            watched.push(self.first.control.as_fd());
        }
        watched.extend(listener.map(|listener| listener.reader.as_fd()));
        let ready = self.pump.wait(&watched, Some(until)).map_err(Error::Unwatched)?;
        if heard && ready[1] {
            self.hear()?;
        }
        let stopped = listener.is_some() && ready.last().copied().unwrap_or_default();
        Ok((ready[0], stopped))
    }

    fn hear(&mut self) -> Result<(), Error> {
        match self.first.control.receive::<Word>().map_err(Error::Unwatched)? {
            Some((Word::Listening, handles)) => {
                let listener = handles.into_iter().next().map(TcpListener::from);
                drop(listener);
            }
            Some((Word::Started, _)) => self.started = true,
            Some((Word::Failed(trouble), _)) => self.trouble = Some(trouble),
            Some((Word::Ended { status, left_behind, out_of_memory }, _)) => {
                self.ended = Some(Ended { status, left_behind, out_of_memory });
            }
            None => {
                let step = if self.started { "watch the program" } else { "build the sandbox" };
                let silent = io::Error::other("its first process ended without a word");
                self.trouble = Some(Trouble::new(step, &silent));
            }
        }
        Ok(())
    }

    fn finish(mut self, start: Instant, end: End, command: &Command) -> Result<Finished, Error> {
        let deadline = Instant::now() + Duration::from_millis(KILL_MS_MAX);
        if !self.first.is_over(deadline).map_err(Error::Unwatched)? {
            return Err(Error::Unkillable(0));
        }
        while self.ended.is_none() && self.trouble.is_none() {
            self.hear()?;
        }
        self.pump.drain().map_err(Error::Unwatched)?;
        let ended = self.ended;
        let (ending, left_behind) = match (end, ended, self.trouble.take()) {
            (End::ByItself, Some(ended), _) => (ending(ended), ended.left_behind),
            (End::ByItself, None, Some(trouble)) => return Err(of_start(trouble, command)),
            (End::TimedOut, ..) => (Ending::TimedOut, 0),
            (End::Stopped, ..) => (Ending::Stopped, 0),
            (End::ByItself, None, None) => return Err(helper_gone()),
        };
        let [stdout, stderr] = self.pump.take_kept();
        Ok(Finished { ending, stdout, stderr, duration: start.elapsed(), left_behind })
    }
}

fn ending(ended: Ended) -> Ending {
    match ended.status {
        _ if ended.out_of_memory => Ending::OutOfMemory,
        Status::Exited(code) => Ending::Exited(code),
        Status::Signalled(signal) => Ending::Signalled(signal),
    }
}

fn never_started(start: Instant) -> Finished {
    Finished {
        ending: Ending::Stopped,
        stdout: Kept::default(),
        stderr: Kept::default(),
        duration: start.elapsed(),
        left_behind: 0,
    }
}

/// The program, in the words of the helper. A directory that is held open is named by where it is: a handle of
/// ours would lead out of the sandbox.
fn program(command: &Command) -> Result<Program, Error> {
    let cwd = match &command.cwd {
        Cwd::Path(path) => path.clone(),
        Cwd::Handle(handle) => place_of(handle).map_err(|reason| Error::NoDirectory {
            path: PathBuf::from("an open directory"),
            reason,
        })?,
    };
    Ok(Program::Command {
        program: command.program.clone(),
        args: command.args.clone(),
        env: command.env.clone(),
        cwd,
    })
}

fn place_of(handle: &OwnedFd) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}

/// Root runs nothing as root: every home has a user of its own, far from those of the machine.
fn own_user(confinement: &Confinement) -> Option<u32> {
    rustix::process::geteuid().is_root().then(|| {
        let name = confinement.home.as_deref().unwrap_or_default();
        let sum = name.bytes().fold(0_u32, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u32::from(byte))
        });
        USER_FIRST + sum % USERS
    })
}

fn broken(step: &'static str) -> impl Fn(io::Error) -> Error {
    move |reason| Error::Sandbox { step: step.to_owned(), reason: reason.to_string() }
}

fn helper_gone() -> Error {
    let (step, reason) = ("reach the helper".to_owned(), "it is gone".to_owned());
    Error::Sandbox { step, reason }
}

fn of_sandbox(trouble: Trouble) -> Error {
    Error::Sandbox { step: trouble.step, reason: trouble.why }
}

/// Only what the program itself is to blame for is told as its own failure.
fn of_start(trouble: Trouble, command: &Command) -> Error {
    let reason = trouble.errno.map_or_else(
        || io::Error::other(trouble.why.clone()),
        io::Error::from_raw_os_error,
    );
    match &*trouble.step {
        START => child::not_started(command, reason),
        ENTER => {
            let path = match &command.cwd {
                Cwd::Path(path) => path.clone(),
                Cwd::Handle(handle) => place_of(handle).unwrap_or_default(),
            };
            Error::NoDirectory { path, reason }
        }
        _ => of_sandbox(trouble),
    }
}
