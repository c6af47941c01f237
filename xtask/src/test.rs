//! `cargo xtask test`: everything that must pass before a change goes in, in one command.
//!
//! The quick steps come first; the first step that fails ends the run with its name.
//!
//! Must never: mend what it checks, pass a step that did not run, or install anything but bubblewrap and tmux, the
//! system packages that tests need (as root; otherwise it says how).

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{child, failure::Failure};

struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
}

const FORMAT: Step = Step { name: "format", arguments: &["fmt", "--all", "--check"] };

// Lints and tests take the same packages with the same features, profile and flags: so the second
// finds the build scripts (the C code among them), procedural macros and features of the first.
const LINTS: Step = Step {
    name: "lints",
    arguments: &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"],
};
const TESTS: Step =
    Step { name: "tests", arguments: &["nextest", "run", "--workspace", "--no-fail-fast"] };
const DOC_TESTS: Step = Step { name: "doc tests", arguments: &["test", "--workspace", "--doc"] };

// Plain cargo runs the doc tests along with the others; nextest does not know them.
const TESTS_AND_DOC_TESTS: Step =
    Step { name: "tests and doc tests", arguments: &["test", "--workspace", "--no-fail-fast"] };

pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    child::require_c_compiler()?;
    require_components(root)?;
    // One level of the sandbox is bubblewrap's; without it that level would go untested.
    require_package("bubblewrap", Command::new("bwrap").arg("--version"))?;
    // The chat is driven in a real terminal.
    require_package("tmux", Command::new("tmux").arg("-V"))?;

    let started = Instant::now();
    let mut passed = Vec::new();
    for step in steps(root) {
        let lasted = run_step(root, step)?;
        passed.push(format!("{} {}", step.name, seconds(lasted)));
    }
    println!("All passed in {}: {}.", seconds(started.elapsed()), passed.join(", "));
    Ok(())
}

fn require_components(root: &Path) -> Result<(), Failure> {
    let both = ["fmt", "clippy"]
        .iter()
        .all(|component| child::answers(child::cargo(root).args([component, "--version"])));
    if both {
        return Ok(());
    }
    Err(Failure::new(
        "The formatter or the linter of Rust is not installed. Add both, then try again:\n\
         rustup component add rustfmt clippy",
    ))
}

/// A program that tests run; where it is missing, its package is installed.
fn require_package(package: &str, program: &mut Command) -> Result<(), Failure> {
    if child::answers(program) {
        return Ok(());
    }
    let install = format!("apt-get install -y {package}");
    println!("==> {package} is missing: {install}");
    let mut command = Command::new("apt-get");
    command.args(["install", "-y", "-q", package]);
    let mut update = Command::new("apt-get");
    update.args(["update", "-q"]);
    let installed = child::answers(&mut command)
        || (child::answers(&mut update) && child::answers(&mut command));
    if installed {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{package} could not be installed. Install it, then try again:\nsudo {install}"
    )))
}

fn steps(root: &Path) -> &'static [Step] {
    if child::answers(child::cargo(root).args(["nextest", "--version"])) {
        &[FORMAT, LINTS, DOC_TESTS, TESTS]
    } else {
        &[FORMAT, LINTS, TESTS_AND_DOC_TESTS]
    }
}

fn run_step(root: &Path, step: &Step) -> Result<Duration, Failure> {
    let mut command = child::cargo(root);
    command.args(step.arguments);
    let spelled = child::spelled(&command);
    println!("==> {}: {spelled}", step.name);

    let started = Instant::now();
    let success = child::succeeds(&mut command)?;
    let lasted = started.elapsed();
    if !success {
        return Err(Failure::new(format!(
            "The step `{}` failed after {}. Mend what it says above; `{spelled}` repeats it alone.",
            step.name,
            seconds(lasted)
        )));
    }
    println!("    {} passed in {}", step.name, seconds(lasted));
    Ok(lasted)
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
