//! The workspace: one directory, held open, with all files that the tools can reach.
//!
//! The system resolves every path below that handle (`openat2` with `RESOLVE_BENEATH`), so neither
//! `..` nor a link nor a directory swapped in between leads outside.
//!
//! Must never: compare paths as text to decide if they are inside.

use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use agentry_protocol::confinement::{Confinement, denies};
use agentry_protocol::tool_call::ToolOutcome;
use agentry_sandbox::protect::is_protected_among;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, FileType, FileTypeExt, Metadata};
use thiserror::Error;

use crate::output::near;

/// A directory and all files below it.
#[derive(Debug)]
pub struct Workspace {
    dir: Dir,
    path: PathBuf,
    path_as_given: PathBuf,
    /// The confinement of the sandbox around this process, used to explain its refusals.
    confinement: Option<Confinement>,
}

/// The reason why a file cannot be used.
#[derive(Debug, Error)]
pub enum Error {
    /// The workspace itself cannot be opened.
    #[error("The workspace `{path}` cannot be opened: {reason}.")]
    NoWorkspace {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        reason: io::Error,
    },
    /// The path leads out of the workspace.
    #[error(
        "`{path}` leads out of the workspace. Use a path inside of it; links may not be absolute."
    )]
    Outside {
        /// The path as the call gave it.
        path: String,
    },
    /// The path does not exist.
    #[error("There is no `{path}`.{}", did_you_mean(near))]
    NotFound {
        /// The path as the call gave it.
        path: String,
        /// Similar names in its directory.
        near: Vec<String>,
    },
    /// The path is a directory.
    #[error("`{path}` is a directory.")]
    IsDirectory {
        /// The path as the call gave it.
        path: String,
    },
    /// The path is not a directory, or one of its components is not.
    #[error("`{path}` is no directory, or leads through something that is none.")]
    NotDirectory {
        /// The path as the call gave it.
        path: String,
    },
    /// The path is neither a file nor a directory.
    #[error("`{path}` is a {kind}, not a file.")]
    NotRegular {
        /// The path as the call gave it.
        path: String,
        /// The type of the file.
        kind: &'static str,
    },
    /// The path is a link whose target does not exist.
    #[error("`{path}` is a link to something that is not there.")]
    Dangling {
        /// The path as the call gave it.
        path: String,
    },
    /// The file is read-only.
    #[error("`{path}` is read-only.")]
    ReadOnly {
        /// The path as the call gave it.
        path: String,
    },
    /// The path leads elsewhere than when the call was judged.
    #[error(
        "`{path}` leads to another place now than when the call was allowed. Nothing was done; make the call again."
    )]
    Changed {
        /// The path as the call gave it.
        path: String,
    },
    /// The sandbox denies the access.
    #[error("denied by sandbox: `{path}` may not be {what}.")]
    Denied {
        /// The path as the call gave it.
        path: String,
        /// The denied operation, as a participle.
        what: &'static str,
    },
    /// The path is protected: programs outside the sandbox trust it.
    #[error(
        "denied by sandbox: `{path}` is protected, because programs outside of the sandbox trust it."
    )]
    Protected {
        /// The path as the call gave it.
        path: String,
    },
    /// The file exceeds the limit of the tools.
    #[error("`{path}` has {bytes} bytes; at most {bytes_max} are handled.")]
    TooLarge {
        /// The path as the call gave it.
        path: String,
        /// The size of the file, in bytes.
        bytes: u64,
        /// The limit, in bytes.
        bytes_max: u64,
    },
    /// Another error of the system.
    #[error("`{path}` cannot be used: {reason}.")]
    Unusable {
        /// The path as the call gave it.
        path: String,
        /// The error of the system.
        reason: io::Error,
    },
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!(" Did you mean {}?", near.join(" or ")) }
}

impl From<Error> for ToolOutcome {
    fn from(error: Error) -> Self {
        match error {
            Error::Outside { .. }
            | Error::Changed { .. }
            | Error::Denied { .. }
            | Error::Protected { .. } => Self::refused(error.to_string()),
            Error::NoWorkspace { .. }
            | Error::NotFound { .. }
            | Error::IsDirectory { .. }
            | Error::NotDirectory { .. }
            | Error::NotRegular { .. }
            | Error::Dangling { .. }
            | Error::ReadOnly { .. }
            | Error::TooLarge { .. }
            | Error::Unusable { .. } => Self::failed(error.to_string()),
        }
    }
}

impl Workspace {
    /// Opens a directory. From now on its handle is used, even if its name changes.
    ///
    /// # Errors
    /// Fails if there is no such directory or it cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let given = path.as_ref();
        let failed = |reason| Error::NoWorkspace { path: given.to_owned(), reason };
        let path = given.canonicalize().map_err(failed)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(failed)?;
        let path_as_given = std::path::absolute(given).map_err(failed)?;
        Ok(Self { dir, path, path_as_given, confinement: None })
    }

    /// Returns the workspace inside a sandbox with this confinement.
    pub(crate) fn confined_by(self, confinement: Confinement) -> Self {
        Self { confinement: Some(confinement), ..self }
    }

    /// Refuses denied paths that are younger than the sandbox, which therefore does not hide them.
    pub(crate) fn check_read(&self, relative: &Path) -> Result<(), Error> {
        let Some(confinement) = &self.confinement else { return Ok(()) };
        let path = self.path.join(relative);
        let real = self.dir.canonicalize(relative).map(|real| self.path.join(real));
        for path in [Ok(path), real].into_iter().flatten() {
            let path = path.to_string_lossy();
            if confinement.deny_read.iter().any(|entry| denies(entry, &path)) {
                return Err(Error::Denied { path: shown(relative), what: "read" });
            }
        }
        Ok(())
    }

    /// Refuses to create or change a protected or denied path, even one that does not exist.
    pub(crate) fn check_write(&self, relative: &Path) -> Result<(), Error> {
        let Some(confinement) = &self.confinement else { return Ok(()) };
        let has = |path: &Path| self.dir.symlink_metadata(path).is_ok();
        let plain = without_dots(relative);
        if is_protected_among(&plain, &has) {
            return Err(Error::Protected { path: shown(relative) });
        }
        let path = self.path.join(&plain);
        let mut above = path.ancestors().map(Path::to_string_lossy);
        if above.any(|above| confinement.deny_write.iter().any(|entry| denies(entry, &above))) {
            return Err(Error::Denied { path: shown(relative), what: "written" });
        }
        Ok(())
    }

    /// Returns the path of the workspace at the time of opening.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Returns the path below the workspace that a call means. An absolute path loses its
    /// beginning; the handle, not this function, prevents a path that leads outside.
    pub(crate) fn relative(&self, given: &str) -> Result<PathBuf, Error> {
        let path = Path::new(given);
        let relative = if path.is_absolute() {
            path.strip_prefix(&self.path)
                .or_else(|_| path.strip_prefix(&self.path_as_given))
                .map_err(|_| Error::Outside { path: given.to_owned() })?
        } else {
            path
        };
        Ok(if relative.as_os_str().is_empty() { ".".into() } else { relative.to_owned() })
    }

    /// Opens a regular file for reading, at the place that a path leads to.
    pub(crate) fn open_file(&self, relative: &Path) -> Result<(File, Metadata), Error> {
        self.check_read(relative)?;
        let real = self.real(relative)?;
        self.open_real(&real.path)
    }

    /// Converts an error of the system.
    pub(crate) fn error(&self, relative: &Path, reason: io::Error) -> Error {
        let path = shown(relative);
        // The handle's own refusal has no error number of the system; missing permission has one.
        let is_escape = reason.raw_os_error().is_none();
        match reason.kind() {
            ErrorKind::PermissionDenied if is_escape => Error::Outside { path },
            ErrorKind::NotFound if self.is_link(relative) => Error::Dangling { path },
            ErrorKind::NotFound => Error::NotFound { near: self.near(relative), path },
            ErrorKind::ReadOnlyFilesystem if self.confinement.is_some() => {
                Error::Denied { path, what: "written" }
            }
            ErrorKind::PermissionDenied if self.is_hidden(relative) => {
                Error::Denied { path, what: "read" }
            }
            ErrorKind::IsADirectory => Error::IsDirectory { path },
            ErrorKind::NotADirectory => Error::NotDirectory { path },
            _ => Error::Unusable { path, reason },
        }
    }

    /// Returns true for an empty file without permissions: the sandbox's cover of a hidden path.
    fn is_hidden(&self, relative: &Path) -> bool {
        use cap_std::fs::{MetadataExt, PermissionsExt};
        self.confinement.is_some()
            && self.dir.metadata(relative).is_ok_and(|metadata| {
                metadata.permissions().mode() & 0o777 == 0 && metadata.size() == 0
            })
    }

    fn is_link(&self, relative: &Path) -> bool {
        self.dir.symlink_metadata(relative).is_ok_and(|metadata| metadata.is_symlink())
    }

    /// Returns similar names in the directory of a missing file.
    fn near(&self, relative: &Path) -> Vec<String> {
        let Some(name) = relative.file_name().and_then(|name| name.to_str()) else {
            return Vec::new();
        };
        let parent = parent(relative);
        let Ok(entries) = self.dir.read_dir(parent) else { return Vec::new() };
        let names: Vec<String> = entries
            .take(crate::limits::NEAR_CANDIDATES_MAX)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        near(name, names.iter().map(String::as_str))
    }
}

/// Returns the directory of a path; `.` for a bare name.
pub(crate) fn parent(relative: &Path) -> &Path {
    match relative.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

/// Removes `.` and `..` from a path; if there are links on the way, the handle decides.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}

pub(crate) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the type of a file that is not regular; None for a regular file.
pub(crate) fn kind(file_type: FileType) -> Option<&'static str> {
    if file_type.is_file() {
        None
    } else if file_type.is_dir() {
        Some("directory")
    } else if file_type.is_symlink() {
        Some("link")
    } else if file_type.is_fifo() {
        Some("named pipe")
    } else if file_type.is_socket() {
        Some("socket")
    } else {
        Some("device")
    }
}
