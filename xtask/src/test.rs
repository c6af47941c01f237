//! `cargo xtask test`: everything that must pass before a change is merged, in one command.
//!
//! The quick steps come first; the first step that fails ends the run with its name.
//!
//! Must never: repair files that it checks, pass a step that did not run, or install anything but
//! the system packages that `packages` names.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    child,
    console::{self, ConsoleBuild, Npm},
    failure::CommandFailure,
    packages,
};

/// The models of the tests.
const WEIGHTS: [&str; 2] = ["smollm2-135m", "all-minilm-l6-v2"];

struct TestStep {
    name: &'static str,
    work: TestAction,
}

/// The action of a step.
enum TestAction {
    Cargo(&'static [&'static str]),
    /// Builds the pages, which checks their sources on the way.
    Console,
    /// An npm script of the console, by its name.
    Browser(&'static str),
}

const FORMAT: TestStep =
    TestStep { name: "format", work: TestAction::Cargo(&["fmt", "--all", "--check"]) };
// The binary carries the pages, so they come before all that is compiled.
const CONSOLE: TestStep = TestStep { name: "console check", work: TestAction::Console };

// Lints and tests take the same packages with the same features, profile and flags: so the second
// finds the build scripts (the C code among them), procedural macros and features of the first.
const LINTS: TestStep = TestStep {
    name: "lints",
    work: TestAction::Cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
};
// The fuzz targets are a workspace of their own, and a rename here does not show there.
const FUZZ_TARGETS: TestStep = TestStep {
    name: "fuzz targets",
    work: TestAction::Cargo(&[
        "check",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--bins",
        "--target-dir",
        "target",
    ]),
};
// Tests of the local model need its weights, and the binary fetches them.
const BUILD: TestStep =
    TestStep { name: "build", work: TestAction::Cargo(&["build", "--workspace", "--all-targets"]) };
const TESTS: TestStep = TestStep {
    name: "tests",
    work: TestAction::Cargo(&["nextest", "run", "--workspace", "--no-fail-fast"]),
};
const DOC_TESTS: TestStep =
    TestStep { name: "doc tests", work: TestAction::Cargo(&["test", "--workspace", "--doc"]) };
const BROWSER: TestStep =
    TestStep { name: "browser tests", work: TestAction::Browser("test:browser") };

// Plain cargo runs the doc tests along with the others; nextest does not know them.
const TESTS_AND_DOC_TESTS: TestStep = TestStep {
    name: "tests and doc tests",
    work: TestAction::Cargo(&["test", "--workspace", "--no-fail-fast"]),
};

pub(crate) fn run(root: &Path) -> Result<(), CommandFailure> {
    packages::require(&packages::BUILD)?;
    packages::require(&packages::TEST)?;
    packages::require(&packages::BROWSER)?;
    require_components(root)?;

    let started = Instant::now();
    let mut passed = Vec::new();
    for step in steps(root) {
        let lasted = run_step(root, step)?;
        passed.push(format!("{} {}", step.name, seconds(lasted)));
        if step.name == BUILD.name {
            provide_weights(root)?;
        }
    }
    println!("All passed in {}: {}.", seconds(started.elapsed()), passed.join(", "));
    Ok(())
}

fn require_components(root: &Path) -> Result<(), CommandFailure> {
    let both = ["fmt", "clippy"]
        .iter()
        .all(|component| child::answers(child::cargo(root).args([component, "--version"])));
    if both {
        return Ok(());
    }
    Err(CommandFailure::new(
        "The formatter or the linter of Rust is not installed. Add both, then try again:\n\
         rustup component add rustfmt clippy",
    ))
}

/// Stores the tests' models in the weights directory of `agentry`, outside of the checkout.
fn provide_weights(root: &Path) -> Result<(), CommandFailure> {
    let binary = child::target_directory(root)?.join("debug").join("agentry");
    for model in WEIGHTS {
        let mut pull = Command::new(&binary);
        pull.args(["pull", "--quiet", model]);
        println!("==> weights: {}", child::spelled(&pull));
        if !child::succeeds(&mut pull)? {
            return Err(CommandFailure::new(format!(
                "The weights of {model} could not be fetched, and tests need them. Mend what it says above."
            )));
        }
    }
    Ok(())
}

fn steps(root: &Path) -> &'static [TestStep] {
    if child::answers(child::cargo(root).args(["nextest", "--version"])) {
        &[FORMAT, CONSOLE, LINTS, FUZZ_TARGETS, BUILD, DOC_TESTS, TESTS, BROWSER]
    } else {
        &[FORMAT, CONSOLE, LINTS, FUZZ_TARGETS, BUILD, TESTS_AND_DOC_TESTS, BROWSER]
    }
}

fn run_step(root: &Path, step: &TestStep) -> Result<Duration, CommandFailure> {
    println!("==> {}", step.name);
    let started = Instant::now();
    let worked = match step.work {
        TestAction::Cargo(arguments) => cargo(root, arguments),
        TestAction::Console => check_console(root),
        TestAction::Browser(script) => browse(root, script),
    };
    let lasted = started.elapsed();
    if let Err(failure) = worked {
        let name = step.name;
        return Err(CommandFailure::new(format!(
            "The step `{name}` failed after {}. {failure}",
            seconds(lasted)
        )));
    }
    println!("    {} passed in {}", step.name, seconds(lasted));
    Ok(lasted)
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<(), CommandFailure> {
    let mut command = child::cargo(root);
    command.args(arguments);
    let spelled = child::spelled(&command);
    println!("$ {spelled}");
    if child::succeeds(&mut command)? {
        Ok(())
    } else {
        Err(CommandFailure::new(format!("Mend what it says above; `{spelled}` repeats it alone.")))
    }
}

fn check_console(root: &Path) -> Result<(), CommandFailure> {
    let built = console::build(root)?;
    let npm = Npm::find(root)?;
    npm.install()?;
    // A build checks on its way; if none was needed, changed tests may still be unchecked.
    if built == ConsoleBuild::UpToDate {
        npm.run(&["run", "check"])?;
    }
    npm.run(&["run", "test:unit"])
}

/// Tests the console in a browser, with the binary that was built before.
fn browse(root: &Path, script: &str) -> Result<(), CommandFailure> {
    let binary = child::target_directory(root)?.join("debug").join("agentry");
    let npm = Npm::find(root)?;
    let mut command = npm.command(&["run", script])?;
    command.env("AGENTRY_BIN", binary);
    println!("$ npm run {script}   (in console)");
    if child::succeeds(&mut command)? {
        Ok(())
    } else {
        Err(CommandFailure::new(format!(
            "Mend what it says above; `npm run {script}` in the folder `console` repeats it alone."
        )))
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
