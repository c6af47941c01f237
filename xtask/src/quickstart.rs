//! `cargo xtask quickstart`: from a fresh clone to an agent that works, in one command.
//!
//! Each command of `agentry` is shown before it runs, so that it can be typed again. The agent's model is a
//! script, and its ledger lies beside the binary: nothing outside of the clone is written.
//!
//! Must never: write into a directory that already holds something, or wait for somebody to type.

use std::{
    ffi::OsStr,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{child, failure::Failure};

/// What the model says: one tool call, then an answer.
const SCRIPT: &str = r#"{"text": "Let me look at what I am made of.", "tool_calls": [{"name": "Glob", "input": {"pattern": "**/*.md"}}]}
{"text": "These pages are me. Change one, and I am somebody else."}
"#;
/// `agentry run` ends so when it waits for an approval.
const EXIT_WAITING: i32 = 4;

pub(crate) fn run(root: &Path, dir: &Path) -> Result<(), Failure> {
    let binary = as_typed(child::build_agentry(root)?);
    let quick = QuickStart {
        home: binary.with_file_name("quickstart-home"),
        script: binary.with_file_name("quickstart.jsonl"),
        binary,
    };
    let dir_argument = dir.as_os_str();
    if holds_something(dir)? {
        println!("\n{} is not empty, so `init` is skipped and nothing is written.", dir.display());
    } else {
        quick.agentry(&["init".as_ref(), dir_argument, "--profile".as_ref(), "coder".as_ref()])?;
    }
    quick.agentry(&["check".as_ref(), dir_argument])?;
    quick.agentry(&["show".as_ref(), "agent".as_ref(), dir_argument])?;
    quick.agentry(&["show".as_ref(), "prompt".as_ref(), dir_argument])?;
    quick.let_it_work(dir)?;
    quick.say_what_next(dir);
    Ok(())
}

/// The path from the current directory where there is one: it is what a person types.
fn as_typed(binary: PathBuf) -> PathBuf {
    let Ok(here) = std::env::current_dir() else { return binary };
    binary.strip_prefix(here).map(Path::to_path_buf).unwrap_or(binary)
}

fn holds_something(dir: &Path) -> Result<bool, Failure> {
    match std::fs::read_dir(dir) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Failure::file("look into", dir, &error)),
    }
}

/// What all commands share.
struct QuickStart {
    binary: PathBuf,
    /// Where the ledger is.
    home: PathBuf,
    /// What the model says.
    script: PathBuf,
}

impl QuickStart {
    /// A run with one tool call: it stops to ask, is answered, and goes on to its end.
    fn let_it_work(&self, dir: &Path) -> Result<(), Failure> {
        std::fs::write(&self.script, SCRIPT)
            .map_err(|error| Failure::file("write", &self.script, &error))?;
        let model = format!("scripted:{}", self.script.display());
        let words = ["run", "-C"].map(OsStr::new).into_iter().chain([dir.as_os_str()]);
        let rest = ["--model", &model, "What are you made of?"].map(OsStr::new);
        let words: Vec<&OsStr> = words.chain(rest).collect();
        let mut command = self.command(&words);
        self.show(&command);
        match child::exit_code(&mut command)? {
            Some(0) => {}
            Some(EXIT_WAITING) => {
                println!(
                    "Exit code {EXIT_WAITING}: it waits for an approval. Say yes, and let it go on:"
                );
                let approval = self.latest_approval()?;
                self.agentry(&["answer", &approval, "yes"].map(OsStr::new))?;
                self.agentry(&["resume", "--last"].map(OsStr::new))?;
            }
            Some(_) | None => return Err(did_not_succeed(&command)),
        }
        self.agentry(&["show".as_ref()])?;
        self.agentry(&["ledger", "verify"].map(OsStr::new))
    }

    /// The newest question that waits.
    fn latest_approval(&self) -> Result<String, Failure> {
        let mut command = self.command(&["approvals", "--format", "json"].map(OsStr::new));
        let listed: Value =
            serde_json::from_slice(&child::stdout_of(&mut command)?).map_err(|error| {
                Failure::new(format!("The list of approvals is not JSON: {error}."))
            })?;
        let waiting = listed.as_array().into_iter().flatten();
        let latest = waiting.max_by_key(|one| one["asked"].as_u64());
        let id = latest.and_then(|one| one["id"].as_str()).map(str::to_owned);
        id.ok_or_else(|| Failure::new("The run waits for an approval, and none is listed."))
    }

    fn agentry(&self, arguments: &[&OsStr]) -> Result<(), Failure> {
        let mut command = self.command(arguments);
        self.show(&command);
        if child::succeeds(&mut command)? {
            return Ok(());
        }
        Err(did_not_succeed(&command))
    }

    /// Nobody is asked at the terminal: the quick start answers by itself.
    fn command(&self, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).env("AGENTRY_HOME", &self.home).stdin(Stdio::null());
        command
    }

    fn show(&self, command: &Command) {
        println!("\n$ AGENTRY_HOME={} {}", self.home.display(), child::spelled(command));
    }

    fn say_what_next(&self, dir: &Path) {
        let (binary, dir) = (self.binary.display(), dir.display());
        println!("\nThe ledger of this run is in {}.", self.home.display());
        println!("Without AGENTRY_HOME it is in ~/.local/state/agentry.");
        println!("\nWhat next:");
        println!("  Change the files in {dir}; they are the agent.");
        println!("  Run `{binary} check {dir}` after each change: it names file, line and remedy.");
        println!(
            "  Change {}; it is what the model says, a line for each reply.",
            self.script.display()
        );
        println!("  Run `{binary} explain E0401` to read the page of an error code.");
        println!("  Run `{binary} --help` to see every command, and read docs/guide.");
        println!("  Run `cargo xtask test` before you change the code of the project.");
    }
}

fn did_not_succeed(command: &Command) -> Failure {
    let spelled = child::spelled(command);
    Failure::new(format!(
        "`{spelled}` did not succeed. Mend what it says above, then run the quick start again."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_empty_directory_may_be_filled_and_a_full_one_not() {
        let dir = tempfile::tempdir().expect("a temp directory");
        assert!(!holds_something(&dir.path().join("absent")).expect("absent is no error"));
        assert!(!holds_something(dir.path()).expect("an empty directory can be read"));
        std::fs::write(dir.path().join("AGENT.md"), "mine").expect("a file can be written");
        assert!(holds_something(dir.path()).expect("a full directory can be read"));
    }

    #[test]
    fn each_line_of_the_script_is_a_reply() {
        let replies = SCRIPT.lines().map(serde_json::from_str::<Value>);
        let replies: Vec<Value> = replies.collect::<Result<_, _>>().expect("each line is JSON");
        assert_eq!(replies.len(), 2);
        assert_eq!(replies[0]["tool_calls"][0]["name"], "Glob");
    }
}
