//! `cargo xtask quickstart`: from a fresh clone to a talk with an agent, in one command.
//!
//! Installs the build's packages where it may, builds, makes an agent, and starts a chat with it.
//! Without a key for a provider, it uses the bundled local model; its size and licence are shown
//! before the download. Each command of `agentry` is shown before it runs, so that it can be typed
//! again. Without a terminal, the agent is asked one question instead.
//!
//! Must never: write into a directory that is not empty, or wait for an absent person.

use std::{
    ffi::OsStr,
    io::{ErrorKind, IsTerminal},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{build, child, console, failure::CommandFailure, limits::QUICKSTART_ANSWERS_MAX};

/// The question to the agent when there is no terminal.
const QUESTION: &str = "Say in one sentence what you can do for me.";
/// The exit code of `agentry run` when it waits for an approval.
const EXIT_WAITING: i32 = 4;

pub(crate) fn run(root: &Path, dir: &Path) -> Result<(), CommandFailure> {
    // Agents work without the web console.
    if let Err(failure) = console::build(root) {
        println!("The web console is left out of this binary. {failure}\n");
    }
    let quick = QuickStart { binary: as_typed(build::agentry(root)?) };
    let dir_argument = dir.as_os_str();
    if holds_something(dir)? {
        println!("\n{} is not empty, so `init` is skipped and nothing is written.", dir.display());
    } else {
        quick.agentry(&["init".as_ref(), dir_argument, "--profile".as_ref(), "coder".as_ref()])?;
    }
    quick.agentry(&["check".as_ref(), dir_argument])?;
    quick.agentry(&["models".as_ref(), dir_argument])?;
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        quick.say_what_next(dir);
        return quick.agentry(&["chat".as_ref(), "-C".as_ref(), dir_argument]);
    }
    quick.ask(dir)?;
    quick.say_what_next(dir);
    Ok(())
}

/// Returns the path from the current directory where there is one: it is what a person types.
fn as_typed(binary: PathBuf) -> PathBuf {
    let Ok(here) = std::env::current_dir() else { return binary };
    binary.strip_prefix(here).map(Path::to_path_buf).unwrap_or(binary)
}

fn holds_something(dir: &Path) -> Result<bool, CommandFailure> {
    match std::fs::read_dir(dir) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(CommandFailure::file("look into", dir, &error)),
    }
}

/// The inputs of all commands.
struct QuickStart {
    binary: PathBuf,
}

impl QuickStart {
    /// Asks one question. Allows the tool calls that the agent asks approval for.
    fn ask(&self, dir: &Path) -> Result<(), CommandFailure> {
        let words = ["run", "-C"].map(OsStr::new).into_iter().chain([dir.as_os_str()]);
        let words: Vec<&OsStr> = words.chain([OsStr::new(QUESTION)]).collect();
        let mut code = self.exit_code(&words)?;
        for _ in 0..QUICKSTART_ANSWERS_MAX {
            if code != Some(EXIT_WAITING) {
                break;
            }
            println!(
                "Exit code {EXIT_WAITING}: it waits for an approval. Say yes, and let it go on:"
            );
            let approval = self.latest_approval()?;
            self.agentry(&["answer", &approval, "yes"].map(OsStr::new))?;
            code = self.exit_code(&["resume", "--last"].map(OsStr::new))?;
        }
        match code {
            Some(0) => self.agentry(&["show".as_ref()]),
            Some(_) | None => Err(did_not_succeed(&self.command(&words))),
        }
    }

    /// Returns the id of the newest pending approval.
    fn latest_approval(&self) -> Result<String, CommandFailure> {
        let mut command = self.command(&["approvals", "--format", "json"].map(OsStr::new));
        let listed: Value =
            serde_json::from_slice(&child::stdout_of(&mut command)?).map_err(|error| {
                CommandFailure::new(format!("The list of approvals is not JSON: {error}."))
            })?;
        let waiting = listed.as_array().into_iter().flatten();
        let latest = waiting.max_by_key(|one| one["asked"].as_u64());
        let id = latest.and_then(|one| one["id"].as_str()).map(str::to_owned);
        id.ok_or_else(|| CommandFailure::new("The run waits for an approval, and none is listed."))
    }

    fn agentry(&self, arguments: &[&OsStr]) -> Result<(), CommandFailure> {
        match self.exit_code(arguments)? {
            Some(0) => Ok(()),
            Some(_) | None => Err(did_not_succeed(&self.command(arguments))),
        }
    }

    fn exit_code(&self, arguments: &[&OsStr]) -> Result<Option<i32>, CommandFailure> {
        let mut command = self.command(arguments);
        println!("\n$ {}", child::spelled(&command));
        child::exit_code(&mut command)
    }

    /// Returns a command of `agentry`; the input stays closed, only the chat gets the terminal's.
    fn command(&self, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments);
        if arguments.first() != Some(&OsStr::new("chat")) {
            command.stdin(Stdio::null());
        }
        command
    }

    fn say_what_next(&self, dir: &Path) {
        let (binary, dir) = (self.binary.display(), dir.display());
        println!("\nWhat next:");
        println!("  {binary} chat -C {dir}     talk; /help says what can be typed");
        println!("  {binary} check {dir}       after each change of its files: they are the agent");
        println!("  {binary} models {dir}      which model it gets, and why");
        println!("  {binary} show              what it did, and why it was allowed");
        println!("  {binary} --help            every command; docs/guide explains them");
    }
}

fn did_not_succeed(command: &Command) -> CommandFailure {
    let spelled = child::spelled(command);
    CommandFailure::new(format!(
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
}
