//! `cargo xtask mutants`: starts the mutation audit, which is a package of its own in `mutants/`.
//!
//! Must never: make the workspace depend on what that package needs.

use std::path::Path;

use crate::child;
use crate::failure::CommandFailure;

pub(crate) fn run(root: &Path, audits: &[&str]) -> Result<(), CommandFailure> {
    let mut command = child::cargo(root);
    command.args(["run", "--quiet", "--release", "--manifest-path", "mutants/Cargo.toml", "--"]);
    command.args(audits);
    if child::succeeds(&mut command)? {
        return Ok(());
    }
    Err(CommandFailure::new("The audit found changes that no test notices; they are listed above."))
}
