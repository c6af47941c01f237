//! `cargo xtask check-macos`: checks that the code for macOS compiles, on a machine without macOS.
//!
//! Nothing is linked and nothing is run. The C code of dependencies is not compiled either: without
//! an SDK, a stand-in for the compiler makes empty files.
//!
//! Must never: be taken for a test of what the code does.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{child, failure::CommandFailure};

const TARGET: &str = "aarch64-apple-darwin";

/// The program with all its crates. The helpers for tests are for Linux.
const PARTS: [&str; 5] =
    ["-pagentry-sandbox", "-pagentry-tools", "-pagentry", "--lib", "--bin=agentry"];

/// A script that makes an empty file after `-o`, or an empty archive.
const COMPILER: &str = "\
#!/bin/sh
before=
for word; do
  case \"$before $word\" in '-o '* | *.a) : > \"$word\" ;; esac
  before=$word
done
";

pub(crate) fn run(root: &Path) -> Result<(), CommandFailure> {
    require_target()?;
    // Always the same path: build scripts run again when their compiler is another.
    let compiler = compiler(&child::target_directory(root)?.join("check-macos"))?;
    let mut check = check(root, &compiler);
    println!("$ {}", child::spelled(&check));
    if child::succeeds(&mut check)? {
        println!("It compiles for {TARGET}. It was not run.");
        return Ok(());
    }
    Err(CommandFailure::new("The code for macOS does not compile; the compiler says why above."))
}

fn check(root: &Path, compiler: &Path) -> Command {
    let mut check = child::cargo(root);
    check.args(["clippy", "--target", TARGET]).args(PARTS).args(["--", "-D", "warnings"]);
    for tool in ["CC", "CXX", "AR"] {
        check.env(format!("{tool}_{}", TARGET.replace('-', "_")), compiler);
    }
    check
}

fn compiler(folder: &Path) -> Result<PathBuf, CommandFailure> {
    let path = folder.join("cc");
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, COMPILER))
        .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o755)))
        .map_err(|error| CommandFailure::file("write", &path, &error))?;
    Ok(path)
}

/// Requires the standard library for macOS, which comes with `rustup`.
fn require_target() -> Result<(), CommandFailure> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--target", TARGET, "--print", "target-libdir"]);
    let printed = child::stdout_of(&mut rustc)?;
    if Path::new(String::from_utf8_lossy(&printed).trim()).is_dir() {
        return Ok(());
    }
    Err(CommandFailure::new(format!(
        "The standard library for macOS is not installed. Add it, then try again:\n\
         rustup target add {TARGET}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_makes_what_it_is_asked_for_and_nothing_in_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let compiler = compiler(folder.path()).expect("it is written");
        for words in [&["-c", "a.c", "-o", "a.o"][..], &["crs", "lib.a", "a.o"][..]] {
            let mut command = Command::new(&compiler);
            assert!(child::answers(command.args(words).current_dir(folder.path())));
        }
        let is_empty = |name| fs::read(folder.path().join(name)).expect("it is made").is_empty();
        assert!(is_empty("a.o") && is_empty("lib.a"));
        assert!(!folder.path().join("a.c").exists());
    }
}
