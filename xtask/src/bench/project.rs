//! A project for runs: one agent that may read, search and run commands, and scripts for its model.
//!
//! Must never: need a model that is not a file, or ask a person.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    bench::usage::{ProcessUsage, usage},
    child,
    failure::CommandFailure,
};

/// The agent's name, also the session's name in the histories of the ledger's bench target.
pub(crate) const AGENT: &str = "bench";

const AGENT_FILE: &str = "---
name: Bench
description: Makes the calls of a script.
model: scripted
tools: [Read, Glob, Bash]
tool_approvals:
  default: approve
  rules:
    - { tool: Read, allow: true }
    - { tool: Glob, allow: true }
    - { tool: Bash, allow: true }
---
You make the calls of the script.
";

pub(crate) struct BenchProject {
    binary: PathBuf,
    dir: TempDir,
}

impl BenchProject {
    pub(crate) fn write(binary: &Path) -> Result<BenchProject, CommandFailure> {
        let project = BenchProject { binary: binary.to_owned(), dir: super::scratch()? };
        project.file(&format!(".agentry/agents/{AGENT}/AGENT.md"), AGENT_FILE)?;
        let listing = "- one thing to know about this place\n".repeat(40);
        project.file("notes.md", &listing)?;
        project.file("src/main.rs", "fn main() {}\n")?;
        Ok(project)
    }

    /// Writes a script with `calls` at each of `steps` requests, and a final reply.
    pub(crate) fn script(
        &self,
        name: &str,
        steps: usize,
        calls: &Value,
    ) -> Result<(), CommandFailure> {
        let asks = format!("{}\n", json!({ "tool_calls": calls }));
        let says = format!("{}\n", json!({ "text": "All of it is done." }));
        self.file(&script_file(name), &(asks.repeat(steps) + &says))
    }

    /// Runs `agentry run` with that script; returns its usage and its JSON lines.
    pub(crate) fn run(&self, script: &str, more: &[&str]) -> Result<ProcessUsage, CommandFailure> {
        let model = format!("scripted:{}", script_file(script));
        let arguments = ["run", "--json", "--agent", AGENT, "--model", &model];
        self.agentry(script, &[&arguments, more, &["Do what the script says."]].concat())
    }

    /// Returns a command of `agentry` with the ledger of `home`.
    pub(crate) fn agentry(
        &self,
        home: &str,
        arguments: &[&str],
    ) -> Result<ProcessUsage, CommandFailure> {
        self.agentry_at(&self.dir.path().join("homes").join(home), arguments)
    }

    pub(crate) fn agentry_at(
        &self,
        home: &Path,
        arguments: &[&str],
    ) -> Result<ProcessUsage, CommandFailure> {
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(self.dir.path()).env("AGENTRY_HOME", home);
        self.usage(&mut command)
    }

    pub(crate) fn binary(&self) -> &Path {
        &self.binary
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the JSON that `agentry` prints.
    pub(crate) fn json_at(&self, home: &Path, arguments: &[&str]) -> Result<Value, CommandFailure> {
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(self.dir.path()).env("AGENTRY_HOME", home);
        let out = child::stdout_of(&mut command)?;
        serde_json::from_slice(&out)
            .map_err(|error| CommandFailure::new(format!("`agentry` did not print JSON: {error}.")))
    }

    pub(crate) fn usage(&self, command: &mut Command) -> Result<ProcessUsage, CommandFailure> {
        usage(command, &self.dir.path().join("complaint.txt"))
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> Result<(), CommandFailure> {
        let path = self.dir.path().join(name);
        let folder = path.parent().unwrap_or(self.dir.path());
        fs::create_dir_all(folder)
            .map_err(|error| CommandFailure::file("create", folder, &error))?;
        fs::write(&path, text).map_err(|error| CommandFailure::file("write", &path, &error))
    }
}

fn script_file(name: &str) -> String {
    format!("{name}.jsonl")
}

/// Parses the lines that `agentry run --json` printed.
pub(crate) fn events(stdout: &str) -> Result<Vec<Value>, CommandFailure> {
    let parse = |line| {
        serde_json::from_str(line).map_err(|error| {
            CommandFailure::new(format!("`agentry run --json` printed no JSON: {error}."))
        })
    };
    stdout.lines().map(parse).collect()
}
