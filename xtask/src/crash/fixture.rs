//! A project, a home, and a script that makes a run append lines.
//!
//! Must never: let the environment of the caller reach the run.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{child, crash::rng::CrashRng, failure::CommandFailure};

const AGENT: &str = "\
---
name: Writer
model: scripted
tools: [Bash]
tool_approvals:
  default: approve
  rules:
    - { tool: Bash, allow: true }
---
You write lines.
";
/// The most calls of one reply; they are made side by side.
const REPLY_CALLS_MOST: u64 = 3;

pub(crate) struct CrashFixture {
    binary: PathBuf,
    // Held, so that the directory is removed with the fixture.
    _dir: TempDir,
    /// The real path, as the system names it.
    pub(crate) root: PathBuf,
}

/// The prompt and the script of one run.
pub(crate) struct CrashScript {
    pub(crate) prompt: String,
    file: PathBuf,
    /// The line that each call writes.
    pub(crate) marks: Vec<String>,
}

impl CrashFixture {
    pub(crate) fn new(binary: &Path) -> Result<CrashFixture, CommandFailure> {
        let dir = tempfile::tempdir().map_err(|error| {
            CommandFailure::new(format!("Could not make a temporary directory: {error}."))
        })?;
        let root = dir
            .path()
            .canonicalize()
            .map_err(|error| CommandFailure::file("find", dir.path(), &error))?;
        let scene = CrashFixture { binary: binary.to_owned(), _dir: dir, root };
        let agent = scene.project().join(".nanobot/agents/writer");
        for dir in [&agent, &scene.home()] {
            fs::create_dir_all(dir).map_err(|error| CommandFailure::file("make", dir, &error))?;
        }
        write(&agent.join("AGENT.md"), AGENT)?;
        Ok(scene)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Writes a script of so many calls, in replies of different sizes.
    pub(crate) fn script(
        &self,
        name: &str,
        calls: usize,
        chance: &mut CrashRng,
    ) -> Result<CrashScript, CommandFailure> {
        let marks: Vec<String> = (0..calls).map(|call| format!("{name}-{call}")).collect();
        let mut text = String::new();
        let mut rest = marks.as_slice();
        while !rest.is_empty() {
            let wanted = 1 + usize::try_from(chance.below(REPLY_CALLS_MOST)).unwrap_or_default();
            let (now, later) = rest.split_at(wanted.min(rest.len()));
            let calls: Vec<Value> = now
                .iter()
                .map(|mark| json!({ "name": "Bash", "input": { "command": command(mark) } }))
                .collect();
            text.push_str(&json!({ "tool_calls": calls }).to_string());
            text.push('\n');
            rest = later;
        }
        text.push_str("{\"text\":\"All lines are written.\"}\n");
        let file = self.root.join(format!("{name}.jsonl"));
        write(&file, &text)?;
        Ok(CrashScript { prompt: format!("Write the lines of {name}."), file, marks })
    }

    /// Returns a command of `agentry` in the project, with only its own environment.
    pub(crate) fn agentry(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.current_dir(self.project()).env_clear().args(arguments);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &self.root).env("AGENTRY_HOME", self.home());
        command
    }

    pub(crate) fn run(&self, script: &CrashScript) -> Command {
        let mut command = self.agentry(&["run", "--json", "--model"]);
        command.arg(format!("scripted:{}", script.file.display())).arg(&script.prompt);
        command
    }

    /// Returns the records of all runs.
    pub(crate) fn runs(&self) -> Result<Vec<Value>, CommandFailure> {
        let printed = child::stdout_of(&mut self.agentry(&["show", "--format", "json"]))?;
        match serde_json::from_slice(&printed) {
            Ok(Value::Array(runs)) => Ok(runs),
            Ok(_) | Err(_) => {
                Err(CommandFailure::new("`agentry show --format json` printed no list."))
            }
        }
    }

    /// Returns the lines that the calls wrote, in order.
    pub(crate) fn lines(&self) -> Result<Vec<String>, CommandFailure> {
        let path = self.project().join("lines.txt");
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(CommandFailure::file("read", &path, &error)),
        }
    }

    /// Checks that the rules allow the calls; otherwise no call would run.
    pub(crate) fn require_allowed(&self) -> Result<(), CommandFailure> {
        let arguments = json!({ "command": command("a-1") }).to_string();
        let explain = ["policy", "explain", "--tool", "Bash", "--args", &arguments];
        child::stdout_of(&mut self.agentry(&explain)).map(|_| ())
    }
}

pub(crate) fn command(mark: &str) -> String {
    format!("echo {mark} >> lines.txt")
}

fn write(path: &Path, text: &str) -> Result<(), CommandFailure> {
    fs::write(path, text).map_err(|error| CommandFailure::file("write", path, &error))
}
