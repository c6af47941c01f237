//! Paths as text: absolute, without `.` and `..`, one in another.
//!
//! Must never: access the file system; callers pass the targets of links.

use super::ConfinementContext;
use crate::shell::path::normalize;

/// Directories that are never writable, nor any path in them.
const SYSTEM: [&str; 10] =
    ["/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/boot", "/dev", "/proc", "/sys"];
/// Directories that are never writable as a whole.
const SHARED: [&str; 16] = [
    "/",
    "/home",
    "/root",
    "/tmp",
    "/usr",
    "/usr/local",
    "/var",
    "/var/tmp",
    "/opt",
    "/run",
    "/mnt",
    "/srv",
    "/Users",
    "/private",
    "/private/tmp",
    "/private/var",
];

/// Makes a path absolute: from `/`, from `~/`, or from a directory. None if it is invalid.
pub(super) fn absolute(text: &str, from: &str, home: Option<&str>) -> Option<String> {
    if text.is_empty() || text.contains(|c: char| c.is_control()) {
        return None;
    }
    let full = match (text.strip_prefix('~'), text.starts_with('/')) {
        (Some(""), _) => home?.to_owned(),
        (Some(below), _) => format!("{}{}", home?, below.strip_prefix('/').map(|_| below)?),
        (None, true) => text.to_owned(),
        (None, false) => format!("{from}/{text}"),
    };
    full.starts_with('/').then(|| normalize(&full))
}

/// Returns true if a path is the directory or lies below it.
pub(super) fn lies_in(path: &str, directory: &str) -> bool {
    let below = path.strip_prefix(directory);
    directory == "/" || below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Joins a directory and a name.
pub(super) fn below(directory: &str, name: &str) -> String {
    format!("{}/{name}", directory.trim_end_matches('/'))
}

/// Intersects a path with directories: itself if it lies in one, and those that lie in it.
pub(super) fn intersection(path: &str, directories: &[String]) -> Vec<String> {
    if directories.iter().any(|directory| lies_in(path, directory)) {
        return vec![path.to_owned()];
    }
    directories.iter().filter(|directory| lies_in(directory, path)).cloned().collect()
}

/// Removes paths that lie in another of these paths.
pub(super) fn without_nested(mut paths: Vec<String>) -> Vec<String> {
    paths.sort();
    paths.dedup();
    let all = paths.clone();
    paths.retain(|path| !all.iter().any(|other| other != path && lies_in(path, other)));
    paths
}

/// Returns the reason why a directory may not be writable as a whole; None if it may.
pub(super) fn write_refusal(root: &str, place: &ConfinementContext) -> Option<String> {
    if let Some(state) = &place.state {
        if lies_in(state, root) {
            return Some(format!("it holds the runtime's own files in {state}"));
        }
        if lies_in(root, state) {
            return Some(format!("it lies in the runtime's own files in {state}"));
        }
    }
    if let Some(home) = place.home.as_ref().filter(|home| lies_in(home, root)) {
        return Some(format!("it is or holds the home directory {home}"));
    }
    let is_home = root
        .rsplit_once('/')
        .is_some_and(|(above, name)| ["/home", "/Users"].contains(&above) && !name.is_empty());
    if is_home {
        return Some("it is a home directory".to_owned());
    }
    let is_system = SYSTEM.iter().any(|directory| lies_in(root, directory));
    (is_system || SHARED.contains(&root)).then(|| "it belongs to the system".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_made_absolute_and_plain() {
        for (text, expected) in [
            ("src", Some("/ws/src")),
            ("./src/", Some("/ws/src")),
            (".", Some("/ws")),
            ("../x", Some("/x")),
            ("../../../x", Some("/x")),
            ("/a//b/./c/..", Some("/a/b")),
            ("~", Some("/people/me")),
            ("~/x", Some("/people/me/x")),
            ("~/../you", Some("/people/you")),
            ("~you", None),
            ("", None),
            ("a\0b", None),
            ("a\nb", None),
        ] {
            assert_eq!(absolute(text, "/ws", Some("/people/me")).as_deref(), expected, "{text:?}");
        }
        assert_eq!(absolute("~/x", "/ws", None), None);
    }

    #[test]
    fn names_that_only_begin_alike_are_not_in_each_other() {
        assert!(lies_in("/a/b", "/a") && lies_in("/a", "/a") && lies_in("/a", "/"));
        assert!(!lies_in("/ab", "/a") && !lies_in("/a", "/a/b"));
        let roots = ["/a".to_owned(), "/b/c".to_owned()];
        assert_eq!(intersection("/a/x", &roots), ["/a/x"]);
        assert_eq!(intersection("/b", &roots), ["/b/c"]);
        assert_eq!(intersection("/", &roots), roots);
        assert_eq!(intersection("/ab", &roots), [""; 0]);
        assert_eq!(
            without_nested(["/a/b", "/a", "/ab", "/a"].map(str::to_owned).to_vec()),
            ["/a", "/ab"]
        );
    }
}
