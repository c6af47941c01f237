//! Runs other programs for the commands of xtask.
//!
//! Must never: hide a failing exit status, or go through a shell.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::failure::CommandFailure;

/// Returns a cargo command in the root of the repository, as if a person had called it.
pub(crate) fn cargo(root: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root);
    // `cargo run` describes xtask to us in these; a build script that watches one of them would
    // run again for the child, and once more for the person's next own build.
    for (name, _) in std::env::vars_os() {
        if describes_a_package(&name) {
            command.env_remove(name);
        }
    }
    command
}

fn describes_a_package(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        name.starts_with("CARGO_PKG_")
            || name.starts_with("CARGO_MANIFEST_")
            || ["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"].contains(&name)
    })
}

/// Returns true if the program can be started and succeeds; its output is not shown.
pub(crate) fn answers(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs to the end with our own output streams; returns true on success.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool, CommandFailure> {
    command.status().map(|status| status.success()).map_err(|error| not_started(command, &error))
}

/// Runs to the end with our own output streams; returns its exit code, None if it was killed.
pub(crate) fn exit_code(command: &mut Command) -> Result<Option<i32>, CommandFailure> {
    command.status().map(|status| status.code()).map_err(|error| not_started(command, &error))
}

/// Returns the program's output; a failing status is a failure that carries its error output.
pub(crate) fn stdout_of(command: &mut Command) -> Result<Vec<u8>, CommandFailure> {
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| not_started(command, &error))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(CommandFailure::new(format!(
        "`{}` failed ({}). It said:\n{}",
        spelled(command),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim_end()
    )))
}

fn not_started(command: &Command, error: &std::io::Error) -> CommandFailure {
    let program = command.get_program().to_string_lossy();
    CommandFailure::new(format!("Could not start `{program}`: {error}. Is it installed?"))
}

/// Returns the command as a person would type it.
pub(crate) fn spelled(command: &Command) -> String {
    let program = Path::new(command.get_program());
    // Cargo is named by a full path of the toolchain, which no person types.
    let program = match program.file_name() {
        Some(name) if name == "cargo" => name.to_string_lossy(),
        Some(_) | None => program.as_os_str().to_string_lossy(),
    };
    let mut text = program.into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&quoted(&argument.to_string_lossy()));
    }
    text
}

/// Quotes a word that a shell would not read as it is.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@+%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Returns cargo's target directory, as set by environment, configuration or default.
pub(crate) fn target_directory(root: &Path) -> Result<PathBuf, CommandFailure> {
    metadata(root)?["target_directory"].as_str().map(PathBuf::from).ok_or_else(|| {
        CommandFailure::new("`cargo metadata` names no target directory. Update cargo.")
    })
}

/// Returns the packages of the workspace as cargo sees them. Needs no network.
pub(crate) fn metadata(root: &Path) -> Result<Value, CommandFailure> {
    let json = stdout_of(cargo(root).args(["metadata", "--format-version", "1", "--no-deps"]))?;
    serde_json::from_slice(&json)
        .map_err(|error| CommandFailure::new(format!("`cargo metadata` printed no JSON: {error}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_a_failure_with_its_complaint() {
        let failure = stdout_of(Command::new("cc").arg("--no-such-option"))
            .expect_err("cc refuses")
            .to_string();
        assert!(failure.starts_with("`cc --no-such-option` failed"), "{failure}");
    }

    #[test]
    fn a_word_with_spaces_can_be_typed_again() {
        let mut command = Command::new("agentry");
        command.args(["run", "--model", "scripted:a.jsonl", "Who's there?"]);
        assert_eq!(spelled(&command), r"agentry run --model scripted:a.jsonl 'Who'\''s there?'");
    }

    #[test]
    fn a_missing_program_does_not_answer() {
        assert!(!answers(&mut Command::new("agentry-no-such-program")));
    }

    #[test]
    fn cargo_is_spelled_as_it_is_typed() {
        let mut command = Command::new("/opt/toolchain/bin/cargo");
        assert_eq!(spelled(command.args(["fmt", "--all"])), "cargo fmt --all");
    }
}
