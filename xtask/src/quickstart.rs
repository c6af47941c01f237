//! `cargo xtask quickstart`: from a fresh clone to an agent one can look at, in one command.
//!
//! Each command of `agentry` is shown before it runs, so that it can be typed again.
//!
//! Must never: write into a directory that already holds something.

use std::{
    ffi::OsStr,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{child, failure::Failure};

pub(crate) fn run(root: &Path, dir: &Path) -> Result<(), Failure> {
    let binary = as_typed(child::build_agentry(root)?);
    let dir_argument = dir.as_os_str();
    if holds_something(dir)? {
        println!("\n{} is not empty, so `init` is skipped and nothing is written.", dir.display());
    } else {
        agentry(&binary, &["init".as_ref(), dir_argument, "--profile".as_ref(), "coder".as_ref()])?;
    }
    agentry(&binary, &["check".as_ref(), dir_argument])?;
    agentry(&binary, &["show".as_ref(), "agent".as_ref(), dir_argument])?;
    agentry(&binary, &["show".as_ref(), "prompt".as_ref(), dir_argument])?;
    say_what_next(&binary, dir);
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

fn agentry(binary: &Path, arguments: &[&OsStr]) -> Result<(), Failure> {
    let mut command = Command::new(binary);
    command.args(arguments);
    let spelled = child::spelled(&command);
    println!("\n$ {spelled}");
    if child::succeeds(&mut command)? {
        return Ok(());
    }
    Err(Failure::new(format!(
        "`{spelled}` did not succeed. Mend what it says above, then run the quick start again."
    )))
}

fn say_what_next(binary: &Path, dir: &Path) {
    let (binary, dir) = (binary.display(), dir.display());
    println!("\nWhat next:");
    println!("  Change the files in {dir}; they are the agent.");
    println!("  Run `{binary} check {dir}` after each change: it names file, line and remedy.");
    println!("  Run `{binary} explain E0401` to read the page of an error code.");
    println!("  Run `{binary} --help` to see every command.");
    println!("  Run `cargo xtask test` before you change the code of the project.");
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
