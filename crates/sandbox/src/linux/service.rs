//! Starts a role of this binary in a sandbox of its own, on Linux.
//!
//! Must never: wait without an end.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use agentry_protocol::confinement::Confinement;
use serde_json::Value;

use crate::fs_view::{self, RestrictedPaths, SandboxPaths};
use crate::limits::{SERVED_TIMEOUT_MS, START_MS_MAX};
use crate::linux::backend::LinuxBackend;
use crate::linux::init_process::InitProcess;
use crate::linux::supervision::sandbox_error;
use crate::poll::is_ready;
use crate::process::Error;
use crate::service::{SandboxedService, ServiceProcess};
use crate::spec::{InitMessage, SandboxFailure, SandboxedProgram};
use crate::stdio_pump::ChildStdio;
use crate::watch;

impl LinuxBackend {
    /// Starts a role of this binary in a sandbox of its own.
    pub(crate) fn serve(
        &self,
        role: &str,
        arguments: Value,
        confinement: &Confinement,
    ) -> Result<SandboxedService, Error> {
        let failed = |step: &'static str| {
            move |error: io::Error| sandbox_error(SandboxFailure::new(step, &error))
        };
        let (theirs_in, input) = io::pipe().map_err(failed("make a pipe"))?;
        let (output, theirs_out) = io::pipe().map_err(failed("make a pipe"))?;
        let null = std::fs::OpenOptions::new().write(true).open("/dev/null");
        let ends = ChildStdio {
            input: theirs_in.into(),
            output: theirs_out.into(),
            errors: OwnedFd::from(null.map_err(failed("open /dev/null"))?),
        };
        let program = SandboxedProgram::Role { name: role.to_owned(), arguments, cwd: "/".into() };
        let mut confinement = confinement.clone();
        // It lives as long as the session; every question has its own timeout.
        confinement.limits.timeout_ms = SERVED_TIMEOUT_MS;
        let found = RestrictedPaths {
            protected: watch::protected(&confinement)
                .map_err(failed("look for protected files"))?,
            hidden: fs_view::hidden(&confinement, None, &self.hard_links)
                .map_err(failed("look for hidden files"))?,
        };
        let paths = SandboxPaths { restricted: &found, scratch: None };
        let spec = self.spec(&confinement, program, paths)?;
        let first = self.build(&spec, &ends, None)?;
        drop(ends);
        wait_for_start(&first)?;
        Ok(SandboxedService::new(first, input, output))
    }
}

impl ServiceProcess for InitProcess {
    fn is_over(&self) -> bool {
        self.is_over(Instant::now()).unwrap_or(true)
    }
}

fn wait_for_start(first: &InitProcess) -> Result<(), Error> {
    let deadline = Instant::now() + Duration::from_millis(START_MS_MAX);
    loop {
        if !is_ready(&first.control, deadline).map_err(Error::Unwatched)? {
            let late = io::Error::from(io::ErrorKind::TimedOut);
            return Err(sandbox_error(SandboxFailure::new("build the sandbox", &late)));
        }
        match first.control.receive::<InitMessage>().map_err(Error::Unwatched)? {
            Some((InitMessage::Started, _)) => return Ok(()),
            // A role uses no network.
            Some((InitMessage::Listening, _)) => {}
            Some((InitMessage::Failed(trouble), _)) => return Err(sandbox_error(trouble)),
            Some((InitMessage::Ended { .. } | InitMessage::Ready | InitMessage::Taken, _))
            | None => {
                let silent = io::Error::other("its first process ended without a word");
                return Err(sandbox_error(SandboxFailure::new("build the sandbox", &silent)));
            }
        }
    }
}
