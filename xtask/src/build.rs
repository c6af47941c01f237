//! Builds our own programs with cargo.
//!
//! Must never: build with flags of its own; the manifest says how.

use std::path::{Path, PathBuf};

use crate::child;
use crate::failure::CommandFailure;
use crate::packages;

/// Builds `agentry` with the profile `fast`; returns the path of the binary.
pub(crate) fn agentry(root: &Path) -> Result<PathBuf, CommandFailure> {
    package(root, "agentry", "fast")
}

/// Builds one of our programs, and returns its path.
pub(crate) fn package(root: &Path, name: &str, profile: &str) -> Result<PathBuf, CommandFailure> {
    packages::require(&packages::BUILD)?;
    let mut build = child::cargo(root);
    build.args(["build", "--package", name, "--profile", profile]);
    println!("$ {}", child::spelled(&build));
    if !child::succeeds(&mut build)? {
        let text = format!("The build of `{name}` failed; the compiler says why above.");
        return Err(CommandFailure::new(text));
    }
    Ok(child::target_directory(root)?.join(profile).join(name))
}
