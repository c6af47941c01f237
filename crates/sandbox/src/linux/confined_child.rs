//! Starts a long-lived program in a sandbox of its own, on Linux.
//!
//! Must never: reuse the sandbox of another command, or let the program run unguarded.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentry_protocol::confinement::{Confinement, ConfinementLevel};

use crate::backend::SpawnJob;
use crate::cancel::{CancelListener, CancelToken};
use crate::child_guard::ChildGuard;
use crate::egress::ConnectionRecorder;
use crate::fs_view::{self, RestrictedPaths, SandboxPaths};
use crate::limits::START_MS_MAX;
use crate::linux::backend::{LinuxBackend, broken};
use crate::linux::cgroup::Cgroup;
use crate::linux::supervision::RunningCommand;
use crate::linux::working_directory;
use crate::process::{ChildBounds, ChildOutcome, Command, Error, ExitCause, not_started};
use crate::sandboxed_child::{self, SandboxedChild, SupervisedProcess};
use crate::scratch_directory::ScratchDirectory;
use crate::spec::SandboxSpec;
use crate::stdio_pump::{ChildStdio, StdioPump};

/// A long-lived program that runs confined.
pub(crate) struct ConfinedChild {
    start: Instant,
    command: Command,
    /// Dropped before the directory that its processes may write.
    running: RunningCommand<'static>,
    group: Option<Cgroup>,
    _scratch: Option<ScratchDirectory>,
    /// Holds the helper, whose end would be the end of the sandbox.
    _backend: Arc<LinuxBackend>,
}

/// A program that is about to start.
struct ChildPlan {
    command: Command,
    confinement: Confinement,
    bounds: ChildBounds,
    connected: ConnectionRecorder,
}

impl SupervisedProcess for ConfinedChild {
    fn await_end(
        &mut self,
        until: Option<Instant>,
        stop: &CancelListener,
    ) -> Result<ExitCause, Error> {
        self.running.await_end(until, stop)
    }

    fn terminate(&mut self, grace: Duration, hurry: &CancelListener) -> Result<(), Error> {
        self.running.terminate(grace, Some(hurry))
    }

    fn finish(self, cause: ExitCause) -> Result<ChildOutcome, Error> {
        let (finished, _) = self.running.finish_in(self.group, self.start, cause, &self.command)?;
        let (ending, left_behind) = (finished.ending, finished.left_behind);
        Ok(ChildOutcome { ending, duration: finished.duration, left_behind })
    }
}

impl LinuxBackend {
    /// Starts a long-lived program in a sandbox of its own.
    pub(crate) fn spawn(
        self: &Arc<Self>,
        job: SpawnJob,
        stop: &CancelToken,
    ) -> Result<SandboxedChild, Error> {
        let (backend, program, bounds) = (self.clone(), job.command.program.clone(), job.bounds);
        sandboxed_child::start(&program, bounds, stop, move |ends, stop| {
            backend.begin_child(job, stop, ends)
        })
    }

    fn begin_child(
        self: Arc<Self>,
        job: SpawnJob,
        stop: &CancelToken,
        ends: ChildStdio,
    ) -> Result<(ConfinedChild, ChildGuard), Error> {
        let SpawnJob { command, confinement, bounds, connected, violated } = job;
        let command = command.without_streams();
        let watch =
            self.watches.begin(&confinement, stop).map_err(broken("look for protected files"))?;
        let found = self.restricted(&confinement, watch.as_ref());
        let mut guard = ChildGuard::new(watch, self.setup.quarantine.clone(), violated);
        if let Ok(found) = &found
            && !confinement.deny_read.is_empty()
        {
            guard = guard.with_hidden(&found.hidden, self.clone().hidden_finder(&confinement));
        }
        let plan = ChildPlan { command, confinement, bounds, connected };
        let backend = self.clone();
        match found.and_then(|found| backend.start_child(plan, &found, stop, ends)) {
            Ok(child) => Ok((child, guard)),
            Err(error) => {
                // The program may have changed files until then.
                guard.end();
                Err(error)
            }
        }
    }

    fn hidden_finder(
        self: Arc<Self>,
        confinement: &Confinement,
    ) -> Box<dyn Fn() -> io::Result<Vec<PathBuf>> + Send + Sync> {
        let confinement = confinement.clone();
        Box::new(move || fs_view::hidden(&confinement, None, &self.hard_links))
    }

    fn start_child(
        self: Arc<Self>,
        plan: ChildPlan,
        found: &RestrictedPaths,
        stop: &CancelToken,
        ends: ChildStdio,
    ) -> Result<ConfinedChild, Error> {
        let ChildPlan { command, mut confinement, bounds, connected } = plan;
        let start = Instant::now();
        let listener = stop.listen().map_err(|reason| not_started(&command, reason))?;
        let cwd = working_directory::path(&command)?;
        let egress = self.egress(&confinement, connected)?;
        let scratch = self.scratch(&confinement)?;
        let own = scratch.as_ref().map(ScratchDirectory::path);
        let program = self.program(&command, cwd, &confinement, own);
        let group = self.group(&confinement)?;
        confinement.limits.timeout_ms = bounds.processor_time_ms();
        let spec =
            self.spec(&confinement, program, SandboxPaths { restricted: found, scratch: own })?;
        let spec = SandboxSpec { stays: false, reports_mounts: true, ..spec };
        let first = self.build(&spec, &ends, group.as_ref())?;
        // Our copies of the pipe ends must be closed, or the output would never end.
        drop(ends);
        let mut running = RunningCommand::new(first, StdioPump::none(), egress);
        let until = start + Duration::from_millis(START_MS_MAX);
        if !running.await_start(until, &listener)? {
            return Err(start_failure(running, start, &command));
        }
        if matches!(spec.level, ConfinementLevel::Ns | ConfinementLevel::Bwrap) {
            running.watch_mounts()?;
        }
        Ok(ConfinedChild { start, command, running, group, _scratch: scratch, _backend: self })
    }
}

/// Ends a sandbox whose program did not start, and returns the reason.
fn start_failure(mut running: RunningCommand<'static>, start: Instant, command: &Command) -> Error {
    let late = || broken("build the sandbox")(io::ErrorKind::TimedOut.into());
    if !running.has_failed() {
        return running.terminate(Duration::ZERO, None).err().unwrap_or_else(late);
    }
    match running.finish_in(None, start, ExitCause::ByItself, command) {
        Err(error) => error,
        Ok(_) => late(),
    }
}
