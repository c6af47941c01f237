//! System packages that a command needs: found, installed where that is allowed, or named.
//!
//! Must never: install anything that is not named here, or ask for a password.

use std::path::Path;
use std::process::Command;

use crate::child;
use crate::failure::CommandFailure;

/// A package of the system.
pub(crate) struct SystemPackage {
    /// The name of the package in Debian.
    name: &'static str,
    /// Returns true if it is installed.
    is_there: fn() -> bool,
}

/// The build's packages: Rust links with the C compiler, and the local model's engine is C++.
pub(crate) const BUILD: [SystemPackage; 3] = [
    SystemPackage { name: "build-essential", is_there: || answers("c++") },
    SystemPackage { name: "cmake", is_there: || answers("cmake") },
    SystemPackage { name: "libclang-dev", is_there: has_libclang },
];

/// The tests' further packages: bubblewrap for a level of the sandbox, tmux for the chat, and the
/// languages of the helper libraries; a sandbox sees only those of the system.
pub(crate) const TEST: [SystemPackage; 6] = [
    SystemPackage { name: "bubblewrap", is_there: || answers("bwrap") },
    SystemPackage { name: "tmux", is_there: || child::answers(Command::new("tmux").arg("-V")) },
    SystemPackage { name: "strace", is_there: || answers("strace") },
    SystemPackage { name: "ruby", is_there: || answers("/usr/bin/ruby") },
    SystemPackage { name: "python3", is_there: || answers("/usr/bin/python3") },
    SystemPackage { name: "nodejs", is_there: || answers("/usr/bin/node") },
];

/// The console's packages; npm installs a newer Node where the system's is too old.
pub(crate) const CONSOLE: [SystemPackage; 1] =
    [SystemPackage { name: "npm", is_there: || answers("npm") }];

/// The browser for the tests of the console.
pub(crate) const BROWSER: [SystemPackage; 1] =
    [SystemPackage { name: "chromium", is_there: || answers("/usr/bin/chromium") }];

/// The programs that the pictures of README.md show or are made with.
pub(crate) const PICTURES: [SystemPackage; 3] = [
    SystemPackage { name: "tmux", is_there: || child::answers(Command::new("tmux").arg("-V")) },
    SystemPackage { name: "python3", is_there: || answers("/usr/bin/python3") },
    SystemPackage { name: "chromium", is_there: || answers("/usr/bin/chromium") },
];

fn answers(program: &str) -> bool {
    child::answers(Command::new(program).arg("--version"))
}

/// Searches where the binding generator searches.
fn has_libclang() -> bool {
    let holds = |dir: &Path| {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.into_iter().any(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libclang") && name.contains(".so") && !name.contains("-cpp")
        })
    };
    if std::env::var_os("LIBCLANG_PATH").is_some_and(|path| Path::new(&path).exists()) {
        return true;
    }
    let versions = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let versions =
        versions.filter(|entry| entry.file_name().to_string_lossy().starts_with("llvm-"));
    versions.into_iter().any(|entry| holds(&entry.path().join("lib")))
        || ["/usr/lib64", "/usr/local/lib", "/opt/homebrew/opt/llvm/lib"]
            .iter()
            .any(|dir| holds(Path::new(dir)))
}

/// Checks that these are installed; installs missing ones where allowed.
pub(crate) fn require(packages: &[SystemPackage]) -> Result<(), CommandFailure> {
    require_by(packages, install)
}

fn require_by(
    packages: &[SystemPackage],
    install: fn(&[&str]) -> bool,
) -> Result<(), CommandFailure> {
    let missing: Vec<&SystemPackage> = packages.iter().filter(|one| !(one.is_there)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|one| one.name).collect();
    let line = format!("apt-get install -y {}", names.join(" "));
    println!("==> missing: {}; trying: {line}", names.join(", "));
    if install(&names) && missing.iter().all(|one| (one.is_there)()) {
        return Ok(());
    }
    Err(CommandFailure::new(format!(
        "Not everything could be installed. Run this, then try again:\nsudo {line}"
    )))
}

/// Installs as root, or by sudo without a password.
fn install(names: &[&str]) -> bool {
    [&["apt-get"][..], &["sudo", "-n", "apt-get"]].iter().any(|apt| {
        let apt = |arguments: &[&str]| {
            let mut command = Command::new(apt[0]);
            command.args(&apt[1..]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
            child::answers(&mut command)
        };
        let install: Vec<&str> = ["install", "-y", "-q"].iter().chain(names).copied().collect();
        apt(&install) || (apt(&["update", "-q"]) && apt(&install))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_installed_and_what_cannot_be_installed_is_named() {
        let there = SystemPackage { name: "there", is_there: || true };
        let absent = SystemPackage { name: "no-such-package-of-debian", is_there: || false };
        assert!(require_by(&[there], |_| false).is_ok());
        let failure = require_by(&[absent], |_| false).expect_err("it is not there").to_string();
        assert!(
            failure.ends_with("sudo apt-get install -y no-such-package-of-debian"),
            "{failure}"
        );
    }
}
