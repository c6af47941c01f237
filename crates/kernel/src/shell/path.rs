//! Resolves paths by their text alone.
//!
//! Must never: access a file system; links are not followed.

use super::ShellWord;

/// Returns true if a written path is a stream, or lies below the starting directory or in a folder
/// for temporary files.
pub(super) fn is_below(path: &str, dir: Option<&ShellWord>) -> bool {
    if is_stream(path) {
        return true;
    }
    let dir = if path.starts_with('/') { "" } else { dir.map_or(".", ShellWord::text) };
    let full = normalize(&format!("{dir}/{path}"));
    let is_outside = full.starts_with('/') || full == ".." || full.starts_with("../");
    let is_temporary = ["/tmp/", "/var/tmp/"].iter().any(|folder| full.starts_with(folder));
    [dir, path].into_iter().all(is_plain) && (is_temporary || !is_outside)
}

/// True for a descriptor or a sink. A path that only begins like one leads elsewhere.
pub(crate) fn is_stream(text: &str) -> bool {
    is_descriptor(text) || matches!(text, "/dev/null" | "/dev/tty" | "/dev/zero")
}

/// True for the name of an open descriptor. If that is a file, writing to the name writes the file.
pub(super) fn is_descriptor(text: &str) -> bool {
    let number = text.strip_prefix("/dev/fd/");
    matches!(text, "/dev/stdin" | "/dev/stdout" | "/dev/stderr")
        || number.is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns true if a path names a program in a system folder.
pub(super) fn is_system_folder(path: &str) -> bool {
    let folder = path.rsplit_once('/').map(|(folder, _)| folder);
    matches!(
        folder,
        Some("/bin" | "/usr/bin" | "/sbin" | "/usr/sbin" | "/usr/local/bin" | "/opt/homebrew/bin")
    )
}

/// Returns true if the shell expands only patterns in the text.
fn is_plain(text: &str) -> bool {
    !text.contains(['$', '`']) && !text.starts_with(['~', '<', '>'])
}

/// Removes `.`, `..` and doubled slashes from the path.
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
