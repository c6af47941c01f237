//! Where a path leads, by its text alone.
//!
//! Must never: look at a file system; a link is what its name says.

use super::ShellWord;

/// Returns whether a path that a command writes is a stream, lies below the place where the command starts, or in a
/// folder for temporary files.
pub(super) fn is_below(path: &str, dir: Option<&ShellWord>) -> bool {
    if is_stream(path) {
        return true;
    }
    let dir = match path.starts_with('/') {
        true => "",
        false => dir.map_or(".", ShellWord::text),
    };
    let full = normalize(&format!("{dir}/{path}"));
    let is_outside = full.starts_with('/') || full == ".." || full.starts_with("../");
    let is_temporary = ["/tmp/", "/var/tmp/"].iter().any(|folder| full.starts_with(folder));
    [dir, path].into_iter().all(is_plain) && (is_temporary || !is_outside)
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

/// Returns whether a path names a program where systems keep theirs.
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
