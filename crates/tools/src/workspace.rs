//! The files within reach: one directory, held open.
//!
//! Every path is resolved by the system below that handle (`openat2` with `RESOLVE_BENEATH`), so
//! neither `..` nor a link nor a directory swapped in between leads outside.
//!
//! Must never: compare paths as text to tell whether they are inside.

use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use agentry_protocol::confinement::{Confinement, denies};
use agentry_protocol::tool_call::ToolOutcome;
use agentry_sandbox::protect::is_protected_among;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, FileType, FileTypeExt, Metadata};
use thiserror::Error;

use crate::output::near;

/// A directory and all below it.
#[derive(Debug)]
pub struct Workspace {
    dir: Dir,
    path: PathBuf,
    path_as_given: PathBuf,
    /// What the sandbox around us lets be done, to name what it refuses.
    confinement: Option<Confinement>,
}

/// Why a file cannot be used.
#[derive(Debug, Error)]
pub enum Error {
    /// The workspace itself cannot be opened.
    #[error("The workspace `{path}` cannot be opened: {reason}.")]
    NoWorkspace {
        /// The directory.
        path: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// The path leads out of the workspace.
    #[error(
        "`{path}` leads out of the workspace. Use a path inside of it; links may not be absolute."
    )]
    Outside {
        /// The path as it was given.
        path: String,
    },
    /// There is nothing.
    #[error("There is no `{path}`.{}", did_you_mean(near))]
    NotFound {
        /// The path as it was given.
        path: String,
        /// Names beside it that are alike.
        near: Vec<String>,
    },
    /// It is a directory.
    #[error("`{path}` is a directory.")]
    IsDirectory {
        /// The path as it was given.
        path: String,
    },
    /// It is no directory, or a part of its path is none.
    #[error("`{path}` is no directory, or leads through something that is none.")]
    NotDirectory {
        /// The path as it was given.
        path: String,
    },
    /// It is neither file nor directory.
    #[error("`{path}` is a {kind}, not a file.")]
    NotRegular {
        /// The path as it was given.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// A link whose target is not there.
    #[error("`{path}` is a link to something that is not there.")]
    Dangling {
        /// The path as it was given.
        path: String,
    },
    /// It may not be written.
    #[error("`{path}` is read-only.")]
    ReadOnly {
        /// The path as it was given.
        path: String,
    },
    /// It leads elsewhere than when the call was judged.
    #[error(
        "`{path}` leads to another place now than when the call was allowed. Nothing was done; make the call again."
    )]
    Changed {
        /// The path as it was given.
        path: String,
    },
    /// The sandbox does not let it.
    #[error("denied by sandbox: `{path}` may not be {what}.")]
    Denied {
        /// The path as it was given.
        path: String,
        /// What may not be done.
        what: &'static str,
    },
    /// It decides what programs outside of the sandbox do.
    #[error(
        "denied by sandbox: `{path}` is protected, because programs outside of the sandbox trust it."
    )]
    Protected {
        /// The path as it was given.
        path: String,
    },
    /// It has more bytes than a tool takes.
    #[error("`{path}` has {bytes} bytes; at most {bytes_max} are handled.")]
    TooLarge {
        /// The path as it was given.
        path: String,
        /// How many it has.
        bytes: u64,
        /// How many it may have.
        bytes_max: u64,
    },
    /// The system refuses for another reason.
    #[error("`{path}` cannot be used: {reason}.")]
    Unusable {
        /// The path as it was given.
        path: String,
        /// What the system says.
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
    /// Opens a directory; from now on it is held by its handle, whatever becomes of its name.
    ///
    /// # Errors
    /// When there is no such directory or it cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let given = path.as_ref();
        let failed = |reason| Error::NoWorkspace { path: given.to_owned(), reason };
        let path = given.canonicalize().map_err(failed)?;
        let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(failed)?;
        let path_as_given = std::path::absolute(given).map_err(failed)?;
        Ok(Self { dir, path, path_as_given, confinement: None })
    }

    /// The same in a sandbox.
    pub(crate) fn confined_by(self, confinement: Confinement) -> Self {
        Self { confinement: Some(confinement), ..self }
    }

    /// Refuses what may not be read even though nothing hides it yet: it came to be after the sandbox.
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

    /// Refuses to make or change what is protected or denied, whether it exists or not.
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

    /// Where the workspace is, or was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// The path below the workspace that a call means. Whether it stays inside is for the handle
    /// to say; here an absolute path only loses its beginning.
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

    /// What the system's answer means.
    pub(crate) fn error(&self, relative: &Path, reason: io::Error) -> Error {
        let path = shown(relative);
        // The handle's own refusal carries no number of the system; a missing right does.
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

    /// What the sandbox hides has no right set at all.
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

    /// Names in the same directory that are like the one that is not there.
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

/// The directory that holds a path; `.` for a bare name.
pub(crate) fn parent(relative: &Path) -> &Path {
    match relative.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    }
}

/// A path without `.` and `..`; where links are on the way, the handle has the last word.
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

/// What a thing is that is no regular file.
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
