//! The developer commands: `cargo xtask test`, `quickstart`, `console`, `bench`, `crash`,
//! `mutants`, `fuzz-api`, `pictures`, `check-macos` and `tidy`.
//!
//! Each command is one file beside this one; this file only chooses between them.
//!
//! Must never: depend on our crates, or need anything but Rust, git and a C compiler to start.

mod bench;
mod build;
mod child;
mod console;
mod crash;
mod failure;
mod fuzz_api;
mod limits;
mod macos;
mod mutants;
mod packages;
mod pictures;
mod quickstart;
mod server_client;
mod test;
mod tidy;

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::failure::CommandFailure;

const USAGE: &str = "\
Usage: cargo xtask <command>

Commands:
  quickstart [dir]   Build the binary, write an agent into dir (my-agent), and chat with it.
  test               Run everything that must pass: format, lints, tests, doc tests, and the
                     console in a browser.
  console            Build the pages that the binary carries; needs npm.
  tidy               Check the rules of the house that no compiler knows.
  check-macos        See that the code for macOS compiles; it is not run.
  bench [part…] [--sizes 100,1000,10000] [--beside DIR [--rounds 3] | --from DIR]
                     Measure, side by side in one run. Parts: check (also beside the reference
                     validator of skills), run, ledger, session, program, sandbox, agent, local,
                     replay, intake, serve. With --beside, compare with another checkout in
                     turns; with --from, measure that one alone.
  crash [--short] [--kills 500] [--seed N] [--binary FILE]
                     Kill the binary at random moments, fill and break its disk, and let several
                     race; see that nothing is lost and nothing is done twice.
  mutants [audit…]   Change the deciding code in small ways; see that a test notices each change.
                     Audits: authority, confinement, shell, guard, trust.
  fuzz-api [--binary FILE]
                     Send the server what its own document allows, and what it does not; see
                     that it never breaks down. Needs python3 with venv.
  pictures [--binary FILE]
                     Make the pictures of README.md from real sessions: the chat in a terminal and
                     the console in a browser. Needs tmux, python3 and chromium.";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[OsString]) -> Result<(), CommandFailure> {
    let arguments = arguments
        .iter()
        .map(|argument| argument.to_str().ok_or_else(|| not_text(argument)))
        .collect::<Result<Vec<&str>, CommandFailure>>()?;
    match arguments.as_slice() {
        ["test"] => test::run(&root()?),
        ["console"] => console::run(&root()?),
        ["tidy"] => tidy::run(&root()?),
        ["check-macos"] => macos::run(&root()?),
        ["quickstart"] => quickstart::run(&root()?, Path::new("my-agent")),
        ["quickstart", dir] if !dir.starts_with('-') => quickstart::run(&root()?, Path::new(dir)),
        ["bench", options @ ..] => bench::run(&root()?, options),
        // The null agent of `bench agent`; not for people.
        ["null-agent", address] => bench::agents::null::run(address),
        // The channel of `bench intake`; not for people either.
        ["bench-channel", options @ ..] => bench::intake::channel(options),
        ["crash", options @ ..] => crash::run(&root()?, options),
        ["mutants", audits @ ..] => mutants::run(&root()?, audits),
        ["fuzz-api"] => fuzz_api::run(&root()?, None),
        ["fuzz-api", "--binary", binary] => fuzz_api::run(&root()?, Some(binary)),
        ["pictures"] => pictures::run(&root()?, None),
        ["pictures", "--binary", binary] => pictures::run(&root()?, Some(binary)),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        [] => Err(CommandFailure::new(USAGE)),
        [..] => Err(CommandFailure::new(format!(
            "There is no such command: `cargo xtask {}`.\n\n{USAGE}",
            arguments.join(" ")
        ))),
    }
}

fn not_text(argument: &OsString) -> CommandFailure {
    CommandFailure::new(format!("The argument {argument:?} is not valid UTF-8. Use a plain name."))
}

/// Returns the root of the repository: the folder above this package.
fn root() -> Result<PathBuf, CommandFailure> {
    // Cargo sets the variable for `run` and `test`; the value baked in serves a binary run by hand.
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map(Path::to_path_buf).ok_or_else(|| {
        CommandFailure::new(
            "The package xtask has no folder above it. Run this inside the repository.",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_is_refused_with_the_usage() {
        let refusal = run(&["tset".into()]).expect_err("there is no such command").to_string();
        assert!(refusal.starts_with("There is no such command: `cargo xtask tset`."), "{refusal}");
        assert!(refusal.contains("Usage:"), "{refusal}");
    }

    #[test]
    fn an_option_is_not_taken_for_a_directory() {
        assert!(run(&["quickstart".into(), "--help".into()]).is_err());
    }
}
