//! Where a path leads, by its text alone.
//!
//! Must never: look at a file system; a link is what its name says.

use super::Word;

/// Where a written word leads, seen from where the command starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// Output that nobody keeps, or a stream that is already open.
    Nowhere,
    /// A folder for temporary files.
    Temporary,
    /// Below the place where the command starts.
    Here,
    /// Anywhere else, or nobody knows.
    Elsewhere,
}

/// Where a word leads when the command runs in this directory.
pub(super) fn place(word: &Word, dir: Option<&Word>) -> Where {
    let text = word.text();
    if is_stream(text) {
        return Where::Nowhere;
    }
    if let Some(rest) = after_temporary_variable(text) {
        return if is_plain(rest) && !rest.contains("..") {
            Where::Temporary
        } else {
            Where::Elsewhere
        };
    }
    if !is_plain(text) {
        return Where::Elsewhere;
    }
    let full = match dir {
        Some(dir) if !text.starts_with('/') => {
            if !is_plain(dir.text()) {
                return Where::Elsewhere;
            }
            normalize(&format!("{}/{text}", dir.text()))
        }
        Some(_) | None => normalize(text),
    };
    if ["/tmp/", "/var/tmp/"].iter().any(|folder| full.starts_with(folder)) {
        Where::Temporary
    } else if full.starts_with('/') || full == ".." || full.starts_with("../") {
        Where::Elsewhere
    } else {
        Where::Here
    }
}

/// A descriptor or a place that swallows what it is given. A path that only begins like one leads elsewhere.
pub(crate) fn is_stream(text: &str) -> bool {
    is_descriptor(text) || matches!(text, "/dev/null" | "/dev/tty" | "/dev/zero")
}

/// A name for a descriptor that is open. If that is a file, writing to the name writes the file.
pub(super) fn is_descriptor(text: &str) -> bool {
    let number = text.strip_prefix("/dev/fd/");
    matches!(text, "/dev/stdin" | "/dev/stdout" | "/dev/stderr")
        || number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a path names a program where systems keep theirs.
pub(super) fn is_system_folder(path: &str) -> bool {
    let folder = path.rsplit_once('/').map(|(folder, _)| folder);
    matches!(
        folder,
        Some("/bin" | "/usr/bin" | "/sbin" | "/usr/sbin" | "/usr/local/bin" | "/opt/homebrew/bin")
    )
}

/// Whether nothing but patterns is expanded in it.
fn is_plain(text: &str) -> bool {
    !text.contains(['$', '`']) && !text.starts_with(['~', '<', '>'])
}

fn after_temporary_variable(text: &str) -> Option<&str> {
    ["$TMPDIR/", "${TMPDIR}/", "${TMPDIR:-/tmp}/"].iter().find_map(|start| text.strip_prefix(start))
}

/// The path without `.`, `..` and doubled slashes.
pub(crate) fn normalize(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}
