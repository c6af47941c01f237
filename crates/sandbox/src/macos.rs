//! The sandbox on macOS: the system's own `sandbox-exec`, with a profile made for each call.
//!
//! It has not been run yet: it is only compiled for its target, and its texts are tested.
//!
//! `sandbox-exec` starts this binary again, confined; that process sets the limits and then becomes
//! the command or a role (`launcher`). A file in the temporary directory (`start_marker`), under a
//! name that the command never learns, shows if the command was started.
//!
//! Must never: run a command when the sandbox's own program is not there; run anything as root.

mod confined_child;
mod escape_probe;
pub mod launcher;
mod probe_fixture;
mod start_marker;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentry_protocol::confinement::{
    Attestation, Confinement, ConfinementLevel, ConfinementLimits, Escape, LimitEnforcement,
    NetworkAccess,
};
use rustix::process::Pid;
use serde_json::Value;

use crate::backend::{Backend, SandboxJob, SandboxSetup, SpawnJob};
use crate::cancel::CancelToken;
use crate::child;
use crate::egress::{ConnectionRecorder, Egress, EgressRules};
use crate::fs_view;
use crate::limits::{ATTEST_MS_MAX, ATTEST_OUTPUT_BYTES_MAX, SERVED_TIMEOUT_MS, START_MS_MAX};
use crate::process::{Command, Cwd, Error, ProcessBounds, ProcessEnding, ProcessOutcome, Streams};
use crate::process_group::ProcessGroup;
use crate::protect::secrets::HardLinkCache;
use crate::role::VERB;
use crate::sandboxed_child::SandboxedChild;
use crate::scratch_directory;
use crate::seatbelt::{self, SeatbeltContext};
use crate::service::{SandboxedService, ServiceProcess};
use crate::watch::{self, ProtectionWatcher};

use probe_fixture::MacosProbeFixture;
use start_marker::StartMarker;

/// The system's own program.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";
/// A program that does nothing; it shows that commands can be run.
const NOTHING: &str = "/usr/bin/true";

/// Runs processes, each under a profile of its own.
pub(crate) struct MacosBackend {
    setup: SandboxSetup,
    watches: ProtectionWatcher,
    hard_links: HardLinkCache,
    /// The sandbox program; never one that is found by `PATH`.
    program: PathBuf,
}

impl Backend for MacosBackend {
    fn open_level(
        setup: &SandboxSetup,
        _: ConfinementLevel,
    ) -> Result<(Self, Attestation), String> {
        if !Path::new(SANDBOX_EXEC).is_file() {
            return Err(format!("{SANDBOX_EXEC} is not there"));
        }
        if rustix::process::geteuid().is_root() {
            return Err("root has no user of its own for it; run this as another user".to_owned());
        }
        let opened = Self {
            setup: setup.clone(),
            watches: ProtectionWatcher::new(&setup.quarantine, ConfinementLevel::Seatbelt),
            hard_links: HardLinkCache::default(),
            program: SANDBOX_EXEC.into(),
        };
        let escapes = opened.try_escapes()?;
        opened.try_nothing()?;
        Ok((opened, attestation(escapes)))
    }

    fn level(&self) -> ConfinementLevel {
        ConfinementLevel::Seatbelt
    }

    fn run(&self, job: &SandboxJob<'_>, stop: &CancelToken) -> Result<ProcessOutcome, Error> {
        let watch = self
            .watches
            .begin(job.confinement, stop)
            .map_err(broken("look for protected files"))?;
        let protected = watch.as_ref().map(|watch| &*watch.protected).unwrap_or_default();
        let finished = self.run_watched(job, stop, protected);
        // Also after a failure: the command may have changed files until then.
        let violations = watch.map(|watch| watch.end(&self.setup.quarantine)).unwrap_or_default();
        finished.map(|finished| ProcessOutcome { violations, ..finished })
    }

    fn spawn(self: &Arc<Self>, job: SpawnJob, stop: &CancelToken) -> Result<SandboxedChild, Error> {
        self.spawn(job, stop)
    }

    fn serve(
        &self,
        role: &str,
        arguments: Value,
        confinement: &Confinement,
    ) -> Result<SandboxedService, Error> {
        let (theirs_in, input) = io::pipe().map_err(broken("make a pipe"))?;
        let (output, theirs_out) = io::pipe().map_err(broken("make a pipe"))?;
        let scratch = MacosScratch::new().map_err(broken("make a temporary directory"))?;
        let protected =
            watch::protected(confinement).map_err(broken("look for protected files"))?;
        let profile = self.profile(confinement, &protected, &scratch, None)?;
        let limits = ConfinementLimits { timeout_ms: SERVED_TIMEOUT_MS, ..confinement.limits };
        let role = [launcher::ROLE.into(), words(&limits), role.into()];
        let line = command_line(&profile, &self.setup.binary, role);
        let child = std::process::Command::new(&self.program)
            .args(line)
            .env_clear()
            .envs(fs_view::environment(confinement, &self.setup.path, Some(&scratch.path)))
            .current_dir("/")
            .process_group(0)
            .stdin(theirs_in)
            .stdout(theirs_out)
            .stderr(Stdio::null())
            .spawn()
            .map_err(broken("start the sandbox"))?;
        let life = MacosService { child: Mutex::new(child), _scratch: scratch };
        let mut served = SandboxedService::new(life, input, output);
        // Its arguments are the first question; it answers when it is confined and ready.
        let time = Duration::from_millis(START_MS_MAX);
        match served.ask(&arguments.to_string(), &CancelToken::new(), time) {
            Ok(answer) if answer.trim_end() == launcher::READY => Ok(served),
            Ok(other) => Err(not_built(&other)),
            Err(error) => Err(not_built(&error.to_string())),
        }
    }
}

impl MacosBackend {
    fn run_watched(
        &self,
        job: &SandboxJob<'_>,
        stop: &CancelToken,
        protected: &[PathBuf],
    ) -> Result<ProcessOutcome, Error> {
        let connected = job.connected.clone();
        let launch = self.launch(job.command, job.confinement, protected, connected)?;
        let finished = child::run_with_listener(&launch.command, job.bounds, stop, job.hear)?;
        launch.judge(job.command, finished)
    }

    /// Prepares all that a command needs in a sandbox of its own.
    fn launch(
        &self,
        command: &Command,
        confinement: &Confinement,
        protected: &[PathBuf],
        connected: ConnectionRecorder,
    ) -> Result<MacosLaunch, Error> {
        let scratch = MacosScratch::new().map_err(broken("make a temporary directory"))?;
        let note =
            StartMarker::create(&scratch.path).map_err(broken("make a temporary directory"))?;
        let (port, proxy) = self.proxy(confinement, connected)?;
        let profile = self.profile(confinement, protected, &scratch, port)?;
        let mut env = fs_view::environment(confinement, &self.setup.path, Some(&scratch.path));
        env.extend(port.map(fs_view::proxy).unwrap_or_default());
        env.extend(command.env.iter().cloned());
        let start = [
            launcher::COMMAND.into(),
            words(&confinement.limits),
            note.path().into(),
            command.program.clone(),
        ];
        let inside = start.into_iter().chain(command.args.iter().cloned());
        let command = Command {
            program: self.program.clone().into(),
            args: command_line(&profile, &self.setup.binary, inside),
            cwd: same(&command.cwd)?,
            env,
            stdin: command.stdin.clone(),
            streams: command.streams,
        };
        Ok(MacosLaunch { command, proxy, note, _scratch: scratch })
    }

    /// Starts the proxy of a call on the machine's loopback interface; there is no other here.
    fn proxy(
        &self,
        confinement: &Confinement,
        tell: ConnectionRecorder,
    ) -> Result<(Option<u16>, Option<Egress>), Error> {
        if confinement.network == NetworkAccess::None {
            return Ok((None, None));
        }
        let rules = EgressRules::new(&confinement.network)
            .map_err(|error| broken("read the list of hosts")(io::Error::other(error)))?;
        let listener = TcpListener::bind("127.0.0.1:0").map_err(broken("start the proxy"))?;
        let port = listener.local_addr().map_err(broken("start the proxy"))?.port();
        let proxy = Egress::start(listener, rules, self.setup.resolve.clone(), tell);
        Ok((Some(port), Some(proxy.map_err(broken("start the proxy"))?)))
    }

    fn profile(
        &self,
        confinement: &Confinement,
        protected: &[PathBuf],
        scratch: &MacosScratch,
        proxy_port: Option<u16>,
    ) -> Result<String, Error> {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        let mut confinement = confinement.clone();
        // The profile has the usual names; these were found in addition.
        confinement.deny_write.extend(protected.iter().map(text));
        // A link is judged by its target.
        let hidden = fs_view::hidden(&confinement, None, &self.hard_links)
            .map_err(broken("look for hidden files"))?;
        confinement.deny_read.extend(hidden.iter().map(text));
        confinement.allow_read.push(text(&self.setup.binary));
        let place = SeatbeltContext { temporary: text(&scratch.path), proxy_port };
        Ok(seatbelt::profile(&confinement, &place))
    }

    fn try_escapes(&self) -> Result<Vec<Escape>, String> {
        let bait =
            MacosProbeFixture::create().map_err(|error| format!("cannot lay bait: {error}"))?;
        let targets = serde_json::to_value(&bait.targets).map_err(|error| error.to_string())?;
        let confinement =
            Confinement { level: ConfinementLevel::Seatbelt, ..Confinement::most_restricted() };
        let served = Backend::serve(self, escape_probe::ROLE, targets, &confinement);
        let mut served = served.map_err(|error| error.to_string())?;
        let time = Duration::from_millis(ATTEST_MS_MAX);
        let answer =
            served.ask("", &CancelToken::new(), time).map_err(|error| error.to_string())?;
        serde_json::from_str(&answer)
            .map_err(|error| format!("the escapes could not be tried: {error}"))
    }

    /// Runs a command that does nothing, to see that commands can be run.
    fn try_nothing(&self) -> Result<(), String> {
        let command = Command {
            program: NOTHING.into(),
            args: Vec::new(),
            cwd: Cwd::Path("/".into()),
            env: Vec::new(),
            stdin: None,
            streams: Streams::Together,
        };
        let job = SandboxJob {
            command: &command,
            confinement: &Confinement {
                level: ConfinementLevel::Seatbelt,
                ..Confinement::most_restricted()
            },
            bounds: &ProcessBounds {
                time: Duration::from_millis(ATTEST_MS_MAX),
                output_bytes_max: ATTEST_OUTPUT_BYTES_MAX,
            },
            connected: Arc::new(drop),
            hear: None,
        };
        match Backend::run(self, &job, &CancelToken::new())
            .map_err(|error| error.to_string())?
            .ending
        {
            ProcessEnding::Exited(0) => Ok(()),
            other => Err(format!("{NOTHING} does not run in it: {other:?}")),
        }
    }
}

/// A command line of `sandbox-exec`, with all that its process needs until it has ended.
struct MacosLaunch {
    command: Command,
    proxy: Option<Egress>,
    note: StartMarker,
    _scratch: MacosScratch,
}

impl MacosLaunch {
    /// Returns the result of an ended command; an error if it was never started.
    fn judge(self, command: &Command, finished: ProcessOutcome) -> Result<ProcessOutcome, Error> {
        // Its connections are recorded before the call ends.
        drop(self.proxy);
        match finished.ending {
            ProcessEnding::Exited(_) | ProcessEnding::Signalled(_) => {
                self.note.judge(command, finished)
            }
            ProcessEnding::TimedOut | ProcessEnding::Stopped | ProcessEnding::OutOfMemory => {
                Ok(finished)
            }
        }
    }
}

/// A temporary directory for one sandbox, with a home in it. Removed on drop.
struct MacosScratch {
    /// Without links, as the profile wants it.
    path: PathBuf,
    _directory: scratch_directory::ScratchDirectory,
}

impl MacosScratch {
    fn new() -> io::Result<Self> {
        let directory = scratch_directory::ScratchDirectory::new()?;
        let path = directory.path().canonicalize()?;
        std::fs::create_dir(path.join("home"))?;
        Ok(Self { path, _directory: directory })
    }
}

/// A role that lives in a sandbox; it is ended with its group on drop.
struct MacosService {
    child: Mutex<Child>,
    _scratch: MacosScratch,
}

impl ServiceProcess for MacosService {
    fn is_over(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(child.try_wait(), Ok(None))
    }
}

impl Drop for MacosService {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Once it is reaped its number may be reused by another process.
        if matches!(child.try_wait(), Ok(None)) {
            let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            number.map(|number| ProcessGroup::of(number, ProcessGroup::before()).kill());
            drop(child.wait());
        }
    }
}

/// Builds the arguments of `sandbox-exec`: the profile, then this binary with its inner command.
fn command_line(
    profile: &str,
    binary: &Path,
    inside: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    let start = ["-p".into(), profile.into(), "--".into(), binary.into(), VERB.into()];
    start.into_iter().chain(inside).collect()
}

fn words(limits: &ConfinementLimits) -> OsString {
    serde_json::to_string(limits).expect("limits are plain numbers").into()
}

fn same(cwd: &Cwd) -> Result<Cwd, Error> {
    match cwd {
        Cwd::Path(path) => Ok(Cwd::Path(path.clone())),
        Cwd::Handle(handle) => handle.try_clone().map(Cwd::Handle).map_err(|reason| {
            Error::NoDirectory { path: PathBuf::from("an open directory"), reason }
        }),
    }
}

fn broken(step: &'static str) -> impl Fn(io::Error) -> Error {
    move |reason| Error::Sandbox { step: step.to_owned(), reason: reason.to_string() }
}

fn not_built(reason: &str) -> Error {
    Error::Sandbox { step: "build the sandbox".to_owned(), reason: reason.trim().to_owned() }
}

/// Returns the attestation from the results of the escapes. Most limits are not enforced here.
fn attestation(escapes: Vec<Escape>) -> Attestation {
    let limit = |limit: &str, hard, by: &str| {
        let (limit, by) = (limit.to_owned(), by.to_owned());
        LimitEnforcement { limit, hard, by }
    };
    Attestation {
        level: ConfinementLevel::Seatbelt,
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        landlock_abi: 0,
        own_user: false,
        limits: vec![
            limit(
                "time",
                false,
                "the supervisor, which ends the group; who leaves the group stays",
            ),
            limit("memory", false, "nothing"),
            limit("processes", false, "nothing"),
            limit("disk", false, "a limit for each file"),
            limit("files", true, "a limit for each process"),
        ],
        escapes,
    }
}
