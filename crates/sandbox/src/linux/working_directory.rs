//! The working directory of a command, as a path that its sandbox can enter.
//!
//! Must never: pass an open directory on; it would lead out of the sandbox.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use crate::process::{Command, Cwd, Error};

/// Returns the working directory of a command. An open directory is translated to its path: one of
/// our handles would lead out of the sandbox.
pub(crate) fn path(command: &Command) -> Result<PathBuf, Error> {
    match &command.cwd {
        Cwd::Path(path) => Ok(path.clone()),
        Cwd::Handle(handle) => path_of_fd(handle).map_err(|reason| Error::NoDirectory {
            path: PathBuf::from("an open directory"),
            reason,
        }),
    }
}

/// Returns the present path of an open directory.
pub(crate) fn path_of_fd(handle: &OwnedFd) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd()))
}
