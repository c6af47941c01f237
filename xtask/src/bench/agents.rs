//! The cost of an agent beside the work itself: Agentry, with and without its sandbox, and a null
//! agent that only sends requests, runs commands and appends results. Script and model are equal.
//!
//! CPU time is that of all processes below this one, even of those that their parent never waited
//! for: this process adopts them and waits.
//!
//! Must never: count a run that did not make all its calls.

mod model_server;
pub(crate) mod null;
mod process_usage;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::bench::agents::model_server::ScriptedModelServer;
use crate::bench::agents::process_usage::{ProcessTreeUsage, spent_by};
use crate::bench::usage::median;
use crate::build;
use crate::failure::CommandFailure;

const CALLS: [usize; 3] = [0, 20, 200];
const ROUNDS: usize = 5;
const AGENT_FILE: &str = "---
name: Bench
description: Runs the commands of the model.
tools: [Bash]
tool_approvals:
  default: approve
  rules:
    - { tool: Bash, allow: true }
---
You run the commands that are needed, one at a time, and say when all of it is done.
";

const RUN: [&str; 5] = ["run", "--json", "--model", "openai/bench", "Do the work."];

/// Returns the repetitions of a run: the system counts hundredths of a second.
fn times(calls: usize) -> u32 {
    if calls == 0 { 20 } else { 1 }
}

/// The measured program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MeasuredAgent {
    Null,
    Unconfined,
    Confined,
    /// Confined, in a project and a home with very many files.
    ManyFiles,
}

const ARMS: [(MeasuredAgent, &str); 4] = [
    (MeasuredAgent::Null, "null agent"),
    (MeasuredAgent::Unconfined, "agentry, no sandbox"),
    (MeasuredAgent::Confined, "agentry"),
    (MeasuredAgent::ManyFiles, "agentry, many files"),
];

/// The files of the project with many files; the guard visits each of them.
const PROJECT_FILES: usize = 20_000;
/// The files in a hidden directory of the home, as the profile of a browser has them.
const PROFILE_FILES: usize = 15_000;
const FILES_PER_DIRECTORY: usize = 20;

/// Measures the checkout `measured` beside the null agent of this one, which is at `root`.
pub(crate) fn run(root: &Path, measured: &Path) -> Result<(), CommandFailure> {
    let scratch = super::scratch()?;
    // Built as released, since its size is memory; the null agent must be as fast as possible, too.
    let null = build::package(root, "xtask", "release")?;
    let binary = build::package(measured, "agentry", "release")?;
    let place = AgentBenchSetup { binary: &binary, null: &null, dir: scratch.path() };
    place.prepare()?;
    process_usage::adopt()?;
    println!(
        "\nAn agent beside a null agent: same script, same model server, the median of {ROUNDS} in turns\n"
    );
    println!(
        "{:<6} {:<22} {:>9} {:>8} {:>11} {:>14}",
        "calls", "", "cpu ms", "of null", "memory MiB", "request bytes"
    );
    for calls in CALLS {
        let mut figures: Vec<Vec<(ProcessTreeUsage, u64)>> =
            ARMS.iter().map(|_| Vec::new()).collect();
        for _ in 0..ROUNDS {
            for ((arm, _), figures) in ARMS.iter().zip(&mut figures) {
                let (mut spent, bytes) = place.measure(*arm, calls)?;
                for _ in 1..times(calls) {
                    spent.cpu += place.measure(*arm, calls)?.0.cpu;
                }
                spent.cpu /= times(calls);
                figures.push((spent, bytes));
            }
        }
        let cpu = |figures: &[(ProcessTreeUsage, u64)]| {
            median(figures.iter().map(|(spent, _)| spent.cpu.as_secs_f64() * 1e3).collect())
        };
        let null = cpu(&figures[0]);
        for ((_, name), figures) in ARMS.iter().zip(&figures) {
            let memory = figures.iter().map(|(spent, _)| spent.memory_mib()).collect();
            let bytes = figures.iter().map(|(_, bytes)| *bytes).max().unwrap_or_default();
            println!(
                "{calls:<6} {name:<22} {:>9.1} {:>8.2} {:>11.1} {bytes:>14}",
                cpu(figures),
                cpu(figures) / null,
                median(memory)
            );
        }
    }
    println!(
        "\nWithout a sandbox every call is asked about; a program answers, which is in the figure."
    );
    Ok(())
}

struct AgentBenchSetup<'a> {
    binary: &'a Path,
    null: &'a Path,
    dir: &'a Path,
}

impl AgentBenchSetup<'_> {
    fn prepare(&self) -> Result<(), CommandFailure> {
        self.file("project/.agentry/agents/bench/AGENT.md", AGENT_FILE)?;
        self.file("open/.config/agentry/agentry.toml", "[sandbox]\nenabled = false\n")?;
        self.file("shut/.config/agentry/agentry.toml", "")?;
        self.file("full/.config/agentry/agentry.toml", "")?;
        self.file("large/.agentry/agents/bench/AGENT.md", AGENT_FILE)?;
        self.files("large/src", PROJECT_FILES)?;
        self.files("full/.mozilla", PROFILE_FILES)
    }

    fn files(&self, folder: &str, count: usize) -> Result<(), CommandFailure> {
        for number in 0..count {
            let directory = number / FILES_PER_DIRECTORY;
            self.file(&format!("{folder}/{directory}/{number}.txt"), "text\n")?;
        }
        Ok(())
    }

    fn file(&self, name: &str, text: &str) -> Result<(), CommandFailure> {
        let path = self.dir.join(name);
        let folder = path.parent().unwrap_or(self.dir);
        std::fs::create_dir_all(folder)
            .map_err(|error| CommandFailure::file("create", folder, &error))?;
        std::fs::write(&path, text).map_err(|error| CommandFailure::file("write", &path, &error))
    }

    /// Returns the usage of one run, and the bytes that it sent.
    fn measure(
        &self,
        arm: MeasuredAgent,
        calls: usize,
    ) -> Result<(ProcessTreeUsage, u64), CommandFailure> {
        let server = ScriptedModelServer::start(calls)?;
        let spent = match arm {
            MeasuredAgent::Null => {
                let mut command = Command::new(self.null);
                command.args(["null-agent", &server.address()]).current_dir(self.dir);
                spent_by(&mut command, |child| {
                    child.stdin.take();
                    Ok(())
                })?
            }
            MeasuredAgent::Confined => {
                let mut command = self.agentry("shut", "project", &server);
                command.args(RUN);
                spent_by(&mut command, drain)?
            }
            MeasuredAgent::ManyFiles => {
                let mut command = self.agentry("full", "large", &server);
                command.args(RUN);
                spent_by(&mut command, drain)?
            }
            MeasuredAgent::Unconfined => {
                let mut command = self.agentry("open", "project", &server);
                command.args(["stdio", "--model", "openai/bench"]);
                spent_by(&mut command, say_yes)?
            }
        };
        let made = server.made();
        if made != calls {
            return Err(CommandFailure::new(format!("Only {made} of {calls} calls were made.")));
        }
        Ok((spent, server.bytes()))
    }

    fn agentry(&self, home: &str, project: &str, server: &ScriptedModelServer) -> Command {
        let home = self.dir.join(home);
        let mut command = Command::new(self.binary);
        command
            .current_dir(self.dir.join(project))
            .env_remove("AGENTRY_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_STATE_HOME")
            .env("HOME", home)
            .env("OPENAI_BASE_URL", format!("http://{}/v1", server.address()))
            .env("OPENAI_API_KEY", "bench");
        command
    }
}

/// Reads all output.
fn drain(child: &mut std::process::Child) -> Result<(), CommandFailure> {
    child.stdin.take();
    each_line(child, |_| Ok(true))
}

/// Sends a prompt, and answers every question with yes.
fn say_yes(child: &mut std::process::Child) -> Result<(), CommandFailure> {
    let mut stdin = child.stdin.take().ok_or_else(|| CommandFailure::new("There is no way in."))?;
    let mut write = |line: Value| {
        writeln!(stdin, "{line}")
            .map_err(|error| CommandFailure::new(format!("Cannot prompt: {error}.")))
    };
    write(json!({ "prompt": "Do the work." }))?;
    each_line(child, |line| match line["type"].as_str() {
        Some("approval_gate") => {
            write(json!({ "type": "approval_response", "gateId": line["gateId"], "allow": true }))?;
            Ok(true)
        }
        Some("done") => Ok(false),
        Some(_) | None => Ok(true),
    })
}

fn each_line(
    child: &mut std::process::Child,
    mut with: impl FnMut(Value) -> Result<bool, CommandFailure>,
) -> Result<(), CommandFailure> {
    let Some(stdout) = child.stdout.take() else { return Ok(()) };
    for line in BufReader::new(stdout).lines() {
        let line =
            line.map_err(|error| CommandFailure::new(format!("Cannot read lines: {error}.")))?;
        let value = serde_json::from_str(&line)
            .map_err(|error| CommandFailure::new(format!("`{line}` is no JSON: {error}.")))?;
        if !with(value)? {
            break;
        }
    }
    Ok(())
}

/// Connects input and output to this process, and drops the errors.
fn piped(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null())
}
