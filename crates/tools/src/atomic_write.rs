//! Replaces the content of a file atomically, and previews the change.
//!
//! Must never: leave a file half written, or write through a link that leads out.

use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cap_std::fs::{Dir, File, OpenOptions, Permissions};
use similar::TextDiff;

use crate::limits::{PREVIEW_CHARS_MAX, PREVIEW_MS_MAX, TEMPORARY_NAMES_MAX};
use crate::output::cut_end;
use crate::tool::ToolContext;
use crate::workspace::{Error, Workspace, kind, parent, shown};

/// The target of a write: a path without links, and the permissions of the file if it exists.
pub(crate) struct WriteTarget {
    pub(crate) relative: PathBuf,
    pub(crate) permissions: Option<Permissions>,
}

impl WriteTarget {
    pub(crate) fn is_new(&self) -> bool {
        self.permissions.is_none()
    }
}

/// Returns the target that a path means. A link inside is followed, so that it stays a link.
pub(crate) fn target(context: &ToolContext<'_>, path: &str) -> Result<WriteTarget, Error> {
    let workspace = context.workspace;
    let given = workspace.relative(path)?;
    if given.file_name().is_none() || path.ends_with('/') {
        return Err(Error::IsDirectory { path: path.to_owned() });
    }
    workspace.check_write(&given)?;
    let real = workspace.locate(path, context.judged)?;
    workspace.check_write(&real.path)?;
    if real.is_new {
        return Ok(WriteTarget { relative: real.path, permissions: None });
    }
    let relative = real.path;
    let metadata = workspace.dir().symlink_metadata(&relative);
    let metadata = metadata.map_err(|reason| workspace.error(&relative, reason))?;
    match kind(metadata.file_type()) {
        Some("directory") => Err(Error::IsDirectory { path: path.to_owned() }),
        Some(kind) => Err(Error::NotRegular { path: path.to_owned(), kind }),
        None if metadata.permissions().readonly() => Err(Error::ReadOnly { path: path.to_owned() }),
        None => Ok(WriteTarget { relative, permissions: Some(metadata.permissions()) }),
    }
}

/// Reads the whole content of a file, up to the limit of the tools.
pub(crate) fn content(context: &ToolContext<'_>, relative: &Path) -> Result<Vec<u8>, Error> {
    let (file, metadata) = context.workspace.open_real(relative)?;
    let bytes_max = context.bounds.write_bytes;
    let too_large = |bytes| Error::TooLarge { path: shown(relative), bytes, bytes_max };
    if metadata.len() > bytes_max {
        return Err(too_large(metadata.len()));
    }
    let mut content = Vec::new();
    // One more byte shows if the file has grown since.
    file.take(bytes_max + 1)
        .read_to_end(&mut content)
        .map_err(|reason| context.workspace.error(relative, reason))?;
    match u64::try_from(content.len()) {
        Ok(bytes) if bytes <= bytes_max => Ok(content),
        Ok(bytes) => Err(too_large(bytes)),
        Err(_) => Err(too_large(u64::MAX)),
    }
}

/// Writes a temporary file beside the target and renames it to the target.
pub(crate) fn replace(
    workspace: &Workspace,
    target: &WriteTarget,
    content: &[u8],
) -> Result<(), Error> {
    let failed = |reason| workspace.error(&target.relative, reason);
    let name = target.relative.file_name().expect("a target has a name");
    let dir = workspace.descend(parent(&target.relative)).map_err(failed)?;
    let dir = Dir::from_std_file(std::fs::File::from(dir));
    let (mut file, temporary) = create(&dir).map_err(failed)?;
    let written = fill(&mut file, target.permissions.clone(), content)
        .and_then(|()| dir.rename(&temporary, &dir, name));
    if let Err(reason) = written {
        remove_temporary(&dir, &temporary);
        return Err(failed(reason));
    }
    Ok(())
}

fn fill(file: &mut File, permissions: Option<Permissions>, content: &[u8]) -> io::Result<()> {
    // Before the content, so that private content is never readable by others.
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.write_all(content)?;
    // Otherwise a power failure could leave the new name without content.
    file.sync_data()
}

fn create(dir: &Dir) -> io::Result<(File, String)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut tries = 0;
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".agentry-{}-{count}.tmp", std::process::id());
        match dir.open_with(&name, &options) {
            Ok(file) => return Ok((file, name)),
            Err(error)
                if error.kind() == ErrorKind::AlreadyExists && tries < TEMPORARY_NAMES_MAX =>
            {
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Removes the temporary file of a failed write. The error of the write is the one to return; a
/// file that cannot be removed has a name by which a person finds it.
fn remove_temporary(dir: &Dir, name: &str) {
    dir.remove_file(name).ok();
}

/// Returns the change as a unified diff, cut to a readable length; None if there is no change.
pub(crate) fn diff(path: &str, old: Option<&[u8]>, new: &[u8]) -> Option<String> {
    unified_diff(path, old, new).map(|diff| cut_end(&diff, PREVIEW_CHARS_MAX).text)
}

/// Returns the change as a unified diff; None if there is no change.
pub fn unified_diff(path: &str, old: Option<&[u8]>, new: &[u8]) -> Option<String> {
    let before = if old.is_some() { path } else { "/dev/null" };
    let old = old.unwrap_or_default();
    if old == new && before == path {
        return None;
    }
    let (Ok(old_text), Ok(new_text)) = (std::str::from_utf8(old), std::str::from_utf8(new)) else {
        return Some(format!("`{path}`: {} bytes become {} bytes.", old.len(), new.len()));
    };
    let text = TextDiff::configure()
        .timeout(Duration::from_millis(PREVIEW_MS_MAX))
        .diff_lines(old_text, new_text);
    Some(text.unified_diff().context_radius(3).header(before, path).to_string())
}
