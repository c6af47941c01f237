//! The command line that runs a command under the sandbox of macOS.
//!
//! Must never: run a command when the sandbox's own program is not there.

use std::ffi::OsString;
use std::path::Path;

use agentry_protocol::confinement::Confinement;

use crate::seatbelt::{self, Place};

/// The system's own program; never one that is found in a path.
const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

/// There is no sandbox here.
#[derive(Debug, thiserror::Error)]
#[error("{SANDBOX_EXEC} is not there, so nothing can be confined; the command was not run")]
pub struct Missing;

/// The program and its arguments for a command under a confinement.
pub fn command_line(
    confinement: &Confinement,
    place: &Place,
    command: &[OsString],
) -> Result<Vec<OsString>, Missing> {
    if !Path::new(SANDBOX_EXEC).is_file() {
        return Err(Missing);
    }
    let profile = seatbelt::profile(confinement, place);
    let start = [SANDBOX_EXEC, "-p", &profile, "--"].map(OsString::from);
    Ok(start.into_iter().chain(command.iter().cloned()).collect())
}
