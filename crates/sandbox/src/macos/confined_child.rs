//! Starts a long-lived program in a sandbox of its own, on macOS. Not run yet.
//!
//! Must never: let the program run unguarded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{MacosBackend, MacosLaunch, broken};
use crate::backend::SpawnJob;
use crate::cancel::{CancelListener, CancelToken};
use crate::child::OpenChild;
use crate::child_guard::ChildGuard;
use crate::process::{ChildOutcome, Command, Error, ExitCause, ProcessOutcome};
use crate::sandboxed_child::{self, SandboxedChild, SupervisedProcess};
use crate::stdio_pump::ChildStdio;

/// A long-lived program under a profile of its own.
struct MacosChild {
    command: Command,
    child: OpenChild,
    launch: MacosLaunch,
}

impl SupervisedProcess for MacosChild {
    fn await_end(
        &mut self,
        until: Option<Instant>,
        stop: &CancelListener,
    ) -> Result<ExitCause, Error> {
        self.child.await_end(until, stop)
    }

    fn terminate(&mut self, grace: Duration, hurry: &CancelListener) -> Result<(), Error> {
        self.child.terminate(grace, hurry)
    }

    fn finish(self, cause: ExitCause) -> Result<ChildOutcome, Error> {
        let outcome = self.child.finish(cause)?;
        let finished = ProcessOutcome { ending: outcome.ending, ..ProcessOutcome::never_started() };
        self.launch.judge(&self.command, finished)?;
        Ok(outcome)
    }
}

impl MacosBackend {
    /// Starts a long-lived program in a sandbox of its own. If the program itself cannot be
    /// started, its end says so.
    pub(super) fn spawn(
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
    ) -> Result<(MacosChild, ChildGuard), Error> {
        let SpawnJob { command, mut confinement, bounds, connected, violated } = job;
        let watch =
            self.watches.begin(&confinement, stop).map_err(broken("look for protected files"))?;
        let protected = watch.as_ref().map(|watch| watch.protected.clone()).unwrap_or_default();
        let guard = ChildGuard::new(watch, self.setup.quarantine.clone(), violated);
        confinement.limits.timeout_ms = bounds.processor_time_ms();
        let command = command.without_streams();
        let started =
            self.launch(&command, &confinement, &protected, connected).and_then(|launch| {
                let child = OpenChild::start(&launch.command, ends)?;
                Ok(MacosChild { command, child, launch })
            });
        match started {
            Ok(child) => Ok((child, guard)),
            Err(error) => {
                guard.end();
                Err(error)
            }
        }
    }
}
