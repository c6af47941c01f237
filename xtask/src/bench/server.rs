//! A server that runs in a project, and the kernel's figures of its process.
//!
//! Must never: outlive the measurement, or take settings from any source but its arguments.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{bench::project::BenchProject, child, failure::CommandFailure};

/// The unit of CPU time in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;

pub(crate) struct BenchServer {
    child: Child,
    /// `host:port`.
    pub(crate) address: String,
    /// The time from the start of its process to the line that reports it ready.
    pub(crate) ready_after: Duration,
}

/// The inputs of a server's start.
pub(crate) struct BenchServerOptions<'a> {
    pub(crate) project: &'a BenchProject,
    pub(crate) home: &'a Path,
    pub(crate) script: &'a str,
    /// The owner's settings, as TOML.
    pub(crate) settings: &'a str,
}

/// The kernel's figures of a process.
#[derive(Clone, Copy)]
pub(crate) struct ProcessFigures {
    pub(crate) memory_kib: f64,
    pub(crate) cpu_s: f64,
}

impl BenchServerOptions<'_> {
    /// Returns a new key to the server.
    pub(crate) fn key(&self, scopes: &str) -> Result<String, CommandFailure> {
        let mut command = Command::new(self.project.binary());
        command.args(["token", "create", "--scope", scopes]).current_dir(self.project.path(""));
        let said = child::stdout_of(command.env("AGENTRY_HOME", self.home))?;
        Ok(String::from_utf8_lossy(&said).trim().to_owned())
    }
}

impl BenchServer {
    pub(crate) fn start(serving: &BenchServerOptions<'_>) -> Result<Self, CommandFailure> {
        let BenchServerOptions { project, home, script, settings } = serving;
        let config = home.with_extension("config");
        let file = config.join("agentry/agentry.toml");
        let written = fs::create_dir_all(config.join("agentry"));
        written
            .and_then(|()| fs::write(&file, settings))
            .map_err(|error| CommandFailure::file("write", &file, &error))?;
        let complaint = home.with_extension("complaint");
        let stderr = fs::File::create(&complaint)
            .map_err(|error| CommandFailure::file("write", &complaint, &error))?;
        let mut command = Command::new(project.binary());
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--model", &format!("scripted:{script}")])
            .current_dir(project.path(""))
            .env("AGENTRY_HOME", home)
            .env("XDG_CONFIG_HOME", &config)
            .stdout(Stdio::piped())
            .stderr(stderr);
        let started = Instant::now();
        let mut child = command
            .spawn()
            .map_err(|error| CommandFailure::new(format!("The server does not start: {error}.")))?;
        let out = child.stdout.take();
        let mut server = Self { child, address: String::new(), ready_after: Duration::ZERO };
        let mut last = String::new();
        for line in out.into_iter().flat_map(|out| BufReader::new(out).lines()) {
            last = line
                .map_err(|error| CommandFailure::new(format!("The server is silent: {error}.")))?;
            if let Some(rest) = last.strip_prefix("http://") {
                server.address = rest.split_whitespace().next().unwrap_or_default().to_owned();
            }
            if last.starts_with("ready") {
                server.ready_after = started.elapsed();
                return Ok(server);
            }
        }
        let said = fs::read_to_string(&complaint).unwrap_or_default();
        Err(CommandFailure::new(format!(
            "The server is not ready. It said:\n{last}\n{}",
            said.trim_end()
        )))
    }

    pub(crate) fn figures(&self) -> Result<ProcessFigures, CommandFailure> {
        let place = format!("/proc/{}", self.child.id());
        let read = |name: &str| {
            let path = format!("{place}/{name}");
            fs::read_to_string(&path)
                .map_err(|error| CommandFailure::file("read", Path::new(&path), &error))
        };
        let status = read("status")?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|text| text.split_whitespace().next()?.parse().ok());
        let stat = read("stat")?;
        // The name of the program may hold blanks; the fields after it do not.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks = rest.split_whitespace().skip(11).take(2);
        let ticks: f64 = ticks.filter_map(|one| one.parse::<f64>().ok()).sum();
        let memory_kib =
            resident.ok_or_else(|| CommandFailure::new("The server shows no memory."))?;
        Ok(ProcessFigures { memory_kib, cpu_s: ticks / TICKS_PER_SECOND })
    }

    pub(crate) fn stop(&mut self) -> Result<(), CommandFailure> {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        let pid = pid.ok_or_else(|| CommandFailure::new("The server has no number."))?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).map_err(|error| {
            CommandFailure::new(format!("The server cannot be stopped: {error}."))
        })?;
        let status = self.child.wait();
        let status = status
            .map_err(|error| CommandFailure::new(format!("The server does not end: {error}.")))?;
        if status.success() {
            Ok(())
        } else {
            Err(CommandFailure::new(format!("The server ended with {status}.")))
        }
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            eprintln!("The server cannot be stopped: {error}.");
        }
    }
}
