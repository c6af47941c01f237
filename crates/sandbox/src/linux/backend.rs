//! The supervisor's side on Linux: opens a level, tries it, and runs commands in it.
//!
//! Must never: run a command that should be confined without its sandbox; fork.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use agentry_protocol::confinement::{
    Attestation, Confinement, ConfinementLevel, Escape, ReadAccess,
};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::Value;

use crate::backend::{Backend, SandboxJob, SandboxSetup, SpawnJob};
use crate::cancel::CancelToken;
use crate::egress::{ConnectionRecorder, EgressRules, EgressSetup};
use crate::fs_view::{self, RestrictedPaths, SandboxPaths};
use crate::limits::{ATTEST_MS_MAX, ATTEST_OUTPUT_BYTES_MAX, HELPER_END_MS_MAX};
use crate::linux::attest::{self, ProbeFixture};
use crate::linux::cgroup::{Cgroup, Cgroups};
use crate::linux::escape_probe;
use crate::linux::fd_channel::FdChannel;
use crate::linux::init_process::InitProcess;
use crate::linux::pool::{IdleSandbox, PoolKey, SandboxPool};
use crate::linux::sandbox_user::own_user;
use crate::linux::supervision::{RunningCommand, sandbox_error};
use crate::linux::working_directory;
use crate::poll::is_ready;
use crate::process::{Command, Cwd, Error, ProcessBounds, ProcessOutcome, Streams, not_started};
use crate::protect::secrets::HardLinkCache;
use crate::role::VERB;
use crate::sandboxed_child::SandboxedChild;
use crate::scratch_directory::ScratchDirectory;
use crate::service::SandboxedService;
use crate::spec::{SandboxSpec, SandboxedProgram, SpawnReply};
use crate::stdio_pump::{ChildStdio, StdioPump};
use crate::watch::{ProtectionWatch, ProtectionWatcher};

/// Runs processes, each alone in a sandbox.
pub(crate) struct LinuxBackend {
    pub(crate) setup: SandboxSetup,
    /// Dropped before the helper, which would have to end them otherwise.
    idle: SandboxPool,
    helper: Mutex<SpawnerProcess>,
    level: ConfinementLevel,
    pub(crate) watches: ProtectionWatcher,
    pub(crate) hard_links: HardLinkCache,
    groups: Option<&'static Cgroups>,
    calls: AtomicU64,
}

struct SpawnerProcess {
    channel: FdChannel,
    child: Child,
}

impl SpawnerProcess {
    fn start(binary: &Path) -> io::Result<Self> {
        let (channel, theirs) = FdChannel::pair()?;
        let child = std::process::Command::new(binary)
            .arg(VERB)
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { channel, child })
    }
}

impl SpawnerProcess {
    /// Asks the helper to end, by closing its channel; it then ends all that it started. Waits for
    /// the end, but not for long.
    fn close(&self) -> io::Result<()> {
        rustix::net::shutdown(&self.channel, rustix::net::Shutdown::Both)?;
        let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) else {
            return Ok(());
        };
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        is_ready(&handle, Instant::now() + Duration::from_millis(HELPER_END_MS_MAX)).map(drop)
    }
}

impl Drop for SpawnerProcess {
    /// Ends the helper. An error means that it has ended before, which is the goal.
    fn drop(&mut self) {
        let closed = self.close();
        // Also after an error; a helper that has ended is only reaped.
        let reaped = self.child.kill().and_then(|()| self.child.wait());
        closed.and(reaped).ok();
    }
}

impl Backend for LinuxBackend {
    fn open_level(
        setup: &SandboxSetup,
        level: ConfinementLevel,
    ) -> Result<(Self, Attestation), String> {
        Self::open_level(setup, level)
    }

    fn level(&self) -> ConfinementLevel {
        self.level
    }

    fn run(&self, job: &SandboxJob<'_>, stop: &CancelToken) -> Result<ProcessOutcome, Error> {
        self.run(job, stop)
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
        self.serve(role, arguments, confinement)
    }

    fn owner_of_files(&self, confinement: &Confinement) -> Option<u32> {
        own_user(confinement).filter(|_| self.level == ConfinementLevel::Landlock)
    }
}

impl LinuxBackend {
    /// Opens one level and tries it.
    fn open_level(
        setup: &SandboxSetup,
        level: ConfinementLevel,
    ) -> Result<(Self, Attestation), String> {
        let sandbox = Self::start(setup, level).map_err(|error| {
            format!("cannot start the helper {}: {error}", setup.binary.display())
        })?;
        let escapes = sandbox.try_escapes()?;
        let attestation = attest::attestation(level, escapes, sandbox.groups.is_some());
        Ok((sandbox, attestation))
    }

    fn start(setup: &SandboxSetup, level: ConfinementLevel) -> io::Result<Self> {
        // Before the helper, so that it and all it starts are below us.
        let groups = control_groups();
        let helper = Mutex::new(SpawnerProcess::start(&setup.binary)?);
        Ok(Self {
            setup: setup.clone(),
            idle: SandboxPool::default(),
            helper,
            level,
            watches: ProtectionWatcher::new(&setup.quarantine, level),
            hard_links: HardLinkCache::default(),
            groups,
            calls: AtomicU64::new(0),
        })
    }

    fn try_escapes(&self) -> Result<Vec<Escape>, String> {
        let bait = ProbeFixture::create(self.level)
            .map_err(|error| format!("cannot lay bait: {error}"))?;
        let arguments = serde_json::to_value(&bait.targets).map_err(|error| error.to_string())?;
        let program = SandboxedProgram::Role {
            name: escape_probe::ROLE.to_owned(),
            arguments,
            cwd: "/".into(),
        };
        let command = Command {
            program: escape_probe::ROLE.into(),
            args: Vec::new(),
            cwd: Cwd::Path("/".into()),
            env: Vec::new(),
            stdin: None,
            streams: Streams::Apart,
        };
        let job = SandboxJob {
            command: &command,
            confinement: &Confinement { level: self.level, ..Confinement::most_restricted() },
            bounds: &ProcessBounds {
                time: Duration::from_millis(ATTEST_MS_MAX),
                output_bytes_max: ATTEST_OUTPUT_BYTES_MAX,
            },
            connected: Arc::new(drop),
            hear: None,
        };
        let restricted = &RestrictedPaths::default();
        let paths = SandboxPaths { restricted, scratch: None };
        let (finished, _) = self.run_program(program, &job, &CancelToken::new(), paths).map_err(
            |error| match error {
                Error::Sandbox { step, reason } => format!("cannot {step}: {reason}"),
                other => other.to_string(),
            },
        )?;
        let output = finished.stdout.whole().unwrap_or_default();
        serde_json::from_slice(&output)
            .map_err(|_| format!("the escapes could not be tried: {:?}", finished.ending))
    }

    /// Runs a command to its end, or ends it.
    fn run(&self, job: &SandboxJob<'_>, stop: &CancelToken) -> Result<ProcessOutcome, Error> {
        let cwd = working_directory::path(job.command)?;
        let watch = self
            .watches
            .begin(job.confinement, stop)
            .map_err(broken("look for protected files"))?;
        let finished = self.run_watched(job, cwd, stop, watch.as_ref());
        // Also after a failure: the command may have changed files until then.
        let violations = watch.map(|watch| watch.end(&self.setup.quarantine)).unwrap_or_default();
        let (finished, resting) = finished?;
        if let (Some((key, resting)), []) = (resting, &*violations) {
            self.idle.put(key, resting);
        }
        Ok(ProcessOutcome { violations, ..finished })
    }

    /// Runs a command while the protected files are guarded.
    fn run_watched(
        &self,
        job: &SandboxJob<'_>,
        cwd: PathBuf,
        stop: &CancelToken,
        watch: Option<&ProtectionWatch>,
    ) -> Result<(ProcessOutcome, Option<(PoolKey, IdleSandbox)>), Error> {
        let found = self.restricted(job.confinement, watch)?;
        let scratch = self.scratch(job.confinement)?;
        let own = scratch.as_ref().map(ScratchDirectory::path);
        let program = self.program(job.command, cwd, job.confinement, own);
        self.run_program(program, job, stop, SandboxPaths { restricted: &found, scratch: own })
    }

    /// Returns the protected and the hidden paths of this moment.
    pub(crate) fn restricted(
        &self,
        confinement: &Confinement,
        watch: Option<&ProtectionWatch>,
    ) -> Result<RestrictedPaths, Error> {
        let known = watch.and_then(|watch| watch.secrets.as_deref());
        Ok(RestrictedPaths {
            protected: watch.map(|watch| watch.protected.clone()).unwrap_or_default(),
            hidden: fs_view::hidden(confinement, known, &self.hard_links)
                .map_err(broken("look for hidden files"))?,
        })
    }

    /// Returns the program of a command with its whole environment.
    pub(crate) fn program(
        &self,
        command: &Command,
        cwd: PathBuf,
        confinement: &Confinement,
        scratch: Option<&Path>,
    ) -> SandboxedProgram {
        let mut env = fs_view::environment(confinement, &self.setup.path, scratch);
        env.extend(command.env.iter().cloned());
        let (program, args) = (command.program.clone(), command.args.clone());
        SandboxedProgram::Command { program, args, env, cwd }
    }

    /// Makes a temporary directory for a process that cannot have a file system of its own.
    pub(crate) fn scratch(
        &self,
        confinement: &Confinement,
    ) -> Result<Option<ScratchDirectory>, Error> {
        if self.level != ConfinementLevel::Landlock {
            return Ok(None);
        }
        let made = ScratchDirectory::new().and_then(|directory| {
            std::fs::create_dir(directory.path().join("home"))?;
            if let Some(user) = own_user(confinement) {
                for path in [directory.path().to_owned(), directory.path().join("home")] {
                    std::os::unix::fs::chown(path, Some(user), Some(user))?;
                }
            }
            Ok(Some(directory))
        });
        made.map_err(broken("make a temporary directory"))
    }

    fn run_program(
        &self,
        program: SandboxedProgram,
        job: &SandboxJob<'_>,
        stop: &CancelToken,
        paths: SandboxPaths<'_>,
    ) -> Result<(ProcessOutcome, Option<(PoolKey, IdleSandbox)>), Error> {
        let start = Instant::now();
        let failed = |reason| not_started(job.command, reason);
        let listener = stop.listen().map_err(failed)?;
        if stop.is_stopped() {
            return Ok((ProcessOutcome::never_started(), None));
        }
        let egress = self.egress(job.confinement, job.connected.clone())?;
        let (pump, ends) =
            StdioPump::new(job.command, job.bounds.output_bytes_max).map_err(failed)?;
        let pump = pump.with_listener(job.hear);
        let group = self.group(job.confinement)?;
        let spec = self.spec(job.confinement, program, paths)?;
        let key = self.idle.key(&spec);
        let resting = key.as_ref().and_then(|key| self.idle.run(key, &spec.program, &ends));
        let mut running = match resting {
            Some(resting) => RunningCommand::reuse(resting, pump, egress),
            None => RunningCommand::new(self.build(&spec, &ends, group.as_ref())?, pump, egress),
        };
        // Our copies of the pipe ends must be closed, or the output would never end.
        drop(ends);
        let end = running.watch(start + job.bounds.time, &listener)?;
        let (finished, resting) = running.finish_in(group, start, end, job.command)?;
        Ok((finished, key.zip(resting)))
    }

    /// Returns the parts of the proxy of one sandbox.
    pub(crate) fn egress(
        &self,
        confinement: &Confinement,
        tell: ConnectionRecorder,
    ) -> Result<EgressSetup, Error> {
        let rules = EgressRules::new(&confinement.network)
            .map_err(|error| broken("read the list of hosts")(io::Error::other(error)))?;
        Ok(EgressSetup { rules, resolve: self.setup.resolve.clone(), tell })
    }

    /// Sends a spec to the helper. Replaces a helper that is gone, and with it its sandboxes.
    fn ask_helper(
        &self,
        spec: &SandboxSpec,
        streams: &[BorrowedFd<'_>],
    ) -> Result<Option<(SpawnReply, Vec<OwnedFd>)>, Error> {
        let mut helper = self.helper.lock().unwrap_or_else(PoisonError::into_inner);
        if helper.channel.send(spec, streams).is_err() {
            *helper =
                SpawnerProcess::start(&self.setup.binary).map_err(broken("start the helper"))?;
            helper.channel.send(spec, streams).map_err(broken("reach the helper"))?;
        }
        helper.channel.receive::<SpawnReply>().map_err(broken("hear the helper"))
    }

    /// Makes a control group for one call; None if the system grants us none.
    pub(crate) fn group(&self, confinement: &Confinement) -> Result<Option<Cgroup>, Error> {
        let Some(groups) = self.groups else { return Ok(None) };
        let name = format!("call-{}", self.calls.fetch_add(1, Ordering::Relaxed));
        let group = groups.create(&name, &confinement.limits);
        group.map(Some).map_err(broken("make a control group"))
    }

    /// Refuses a writable path that an earlier call made a link, which would lead elsewhere. The
    /// level `ns` follows no link anyway.
    fn check_places(&self, confinement: &Confinement) -> Result<(), Error> {
        if self.level == ConfinementLevel::Ns {
            return Ok(());
        }
        let Confinement { allow_read, allow_write, home, .. } = confinement;
        for place in allow_read.iter().chain(allow_write).chain(home) {
            let place = Path::new(place);
            if place.canonicalize().is_ok_and(|found| found != place) {
                return Err(Error::Sandbox {
                    step: format!("find {}", place.display()),
                    reason: "it is, or lies behind, a link; name the place itself".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Fails if a hidden path is inside of an allowed one: Landlock cannot take back a part.
    fn check_hidden(
        &self,
        confinement: &Confinement,
        found: &RestrictedPaths,
    ) -> Result<(), Error> {
        if self.level != ConfinementLevel::Landlock {
            return Ok(());
        }
        let Confinement { allow_read, allow_write, reading, .. } = confinement;
        let seen = |path: &&PathBuf| {
            let mut roots = allow_read.iter().chain(allow_write);
            (*reading == ReadAccess::Broad || roots.any(|root| path.starts_with(root)))
                && path.symlink_metadata().is_ok()
        };
        match found.hidden.iter().find(seen) {
            None => Ok(()),
            Some(path) => Err(Error::Sandbox {
                step: format!("hide {}", path.display()),
                reason: "the level landlock cannot hide a part of what may be read; move it elsewhere, or \
                         use a machine with namespaces"
                    .to_owned(),
            }),
        }
    }

    /// Returns the spec of the sandbox that a confinement asks for.
    pub(crate) fn spec(
        &self,
        confinement: &Confinement,
        program: SandboxedProgram,
        paths: SandboxPaths<'_>,
    ) -> Result<SandboxSpec, Error> {
        self.check_places(confinement)?;
        let SandboxPaths { restricted, scratch } = paths;
        self.check_hidden(confinement, restricted)?;
        let user = own_user(confinement);
        let is_command = matches!(program, SandboxedProgram::Command { .. });
        // With the whole machine in view, a program can write in more places than a reset
        // empties. A control group counts the use of one call only.
        let stays = is_command
            && self.level == ConfinementLevel::Ns
            && confinement.reading == ReadAccess::Strict
            && self.groups.is_none();
        Ok(SandboxSpec {
            level: self.level,
            authority: confinement.authority.clone(),
            user,
            view: fs_view::view(confinement, user, restricted),
            fence: fs_view::fence(confinement, scratch),
            unix_sockets: confinement.reading == ReadAccess::Strict,
            // Also without a list: the proxy then refuses every host, and reports it.
            listen: is_command
                && matches!(self.level, ConfinementLevel::Ns | ConfinementLevel::Bwrap),
            limits: confinement.limits,
            reports_mounts: stays,
            stays,
            program,
        })
    }

    /// Asks the helper for a sandbox.
    pub(crate) fn build(
        &self,
        spec: &SandboxSpec,
        ends: &ChildStdio,
        group: Option<&Cgroup>,
    ) -> Result<InitProcess, Error> {
        let (control, theirs) = FdChannel::pair().map_err(broken("make a channel"))?;
        let members = group.map(|group| {
            std::fs::OpenOptions::new().write(true).open(group.dir().join("cgroup.procs"))
        });
        let members = members.transpose().map_err(broken("enter the control group"))?;
        let mut streams =
            vec![ends.input.as_fd(), ends.output.as_fd(), ends.errors.as_fd(), theirs.as_fd()];
        streams.extend(members.as_ref().map(AsFd::as_fd));
        match self.ask_helper(spec, &streams)? {
            Some((SpawnReply::Begun, handles)) => {
                let handle = handles.into_iter().next().ok_or_else(helper_gone)?;
                // Bubblewrap's own process is not process 1: it ends a moment before the others.
                let holds_all = self.level == ConfinementLevel::Ns;
                Ok(InitProcess { control, handle, holds_all, stays: spec.stays })
            }
            Some((SpawnReply::Failed(trouble), _)) => Err(sandbox_error(trouble)),
            None => Err(helper_gone()),
        }
    }
}

/// Returns the control groups that were delegated to us, if there are any. The search moves this
/// process into a group of its own, so it runs once.
fn control_groups() -> Option<&'static Cgroups> {
    static GROUPS: OnceLock<Option<Cgroups>> = OnceLock::new();
    let find = || {
        let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        Cgroups::find(Path::new("/sys/fs/cgroup"), &own)
    };
    GROUPS.get_or_init(find).as_ref()
}

pub(crate) fn broken(step: &'static str) -> impl Fn(io::Error) -> Error {
    move |reason| Error::Sandbox { step: step.to_owned(), reason: reason.to_string() }
}

fn helper_gone() -> Error {
    let (step, reason) = ("reach the helper".to_owned(), "it is gone".to_owned());
    Error::Sandbox { step, reason }
}
