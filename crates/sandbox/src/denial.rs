//! Finds the paths that the sandbox refused to a failed command.
//!
//! The kernel does not report them, so the output is searched for a line with a system message of
//! refusal and a path that the confinement does not allow. The messages come from the C library,
//! and every language repeats them; the confinement decides, not the message.
//!
//! Must never: reveal that a path exists which the sandbox hides.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use agentry_protocol::confinement::{Confinement, ConfinementLevel, ReadAccess, denies};

use crate::fs_view;
use crate::limits::{DENIAL_LINES_MAX, DENIALS_MAX};

/// The system's messages for a refused operation, in lower case.
const REFUSED: [&str; 6] = [
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "eacces",
    "eperm",
    "erofs",
];
/// The system's messages for a missing file, in lower case.
const MISSING: [&str; 2] = ["no such file or directory", "enoent"];

/// A path that was refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeniedPath {
    /// The path as the output names it, made absolute.
    pub path: PathBuf,
    /// True if writing was refused, false if reading was.
    pub write: bool,
}

impl fmt::Display for DeniedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.write { "written" } else { "read" };
        write!(f, "denied by sandbox: {} may not be {what}", self.path.display())
    }
}

/// Returns the refused paths that an output names. Empty at the level `off`.
pub fn denied_paths(output: &str, confinement: &Confinement, cwd: &Path) -> Vec<DeniedPath> {
    if confinement.level == ConfinementLevel::Off {
        return Vec::new();
    }
    let mut found = Vec::new();
    for line in output.lines().rev().take(DENIAL_LINES_MAX) {
        let lower = line.to_lowercase();
        let refused = REFUSED.iter().any(|word| lower.contains(word));
        let missing = MISSING.iter().any(|word| lower.contains(word));
        if !refused && !missing {
            continue;
        }
        for path in paths(line, cwd).chain(last_word(line, &lower, cwd)) {
            let denied = if !is_seen(&path, confinement) {
                Some(DeniedPath { path, write: false })
            } else if refused && !is_writable(&path, confinement) {
                Some(DeniedPath { path, write: true })
            } else {
                None
            };
            found.extend(denied);
        }
    }
    found.sort();
    found.dedup();
    found.truncate(DENIALS_MAX);
    found
}

/// Returns the words of a line that can be paths.
fn paths<'a>(line: &'a str, cwd: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    let between = |c: char| c.is_whitespace() || "'\"`:(),=‘’“”<>[]{};|&".contains(c);
    line.split(between)
        .filter(|word| word.contains('/') && word.len() > 1)
        .map(move |word| normal(&cwd.join(word)))
}

/// Returns the word before the system's message; in `x: Permission denied` even `x` is a path.
fn last_word(line: &str, lower: &str, cwd: &Path) -> Option<PathBuf> {
    let refusals = REFUSED.iter().filter_map(|word| lower.find(&format!(": {word}"))).min()?;
    let before = line.get(..refusals)?;
    let word = before.rsplit(|c: char| c.is_whitespace() || ":'\"`‘’".contains(c));
    let word = word.into_iter().find(|word| !word.is_empty())?;
    Some(normal(&cwd.join(word)))
}

/// Returns the path without `.` and `..`, by text alone: links of a sandbox must not be followed.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => normal.push(part),
        }
    }
    normal
}

fn is_seen(path: &Path, confinement: &Confinement) -> bool {
    let text = path.to_string_lossy();
    let mut above = path.ancestors().map(Path::to_string_lossy);
    let hidden = above.any(|above| confinement.deny_read.iter().any(|entry| denies(entry, &above)));
    let listed = confinement.allow_read.iter().chain(&confinement.allow_write);
    // A directory above a visible path is visible, too, as far as it leads there.
    let within = |root: &Path| path.starts_with(root) || root.starts_with(path);
    !hidden
        && (confinement.reading == ReadAccess::Broad
            || listed.map(Path::new).any(within)
            || fs_view::is_of_system(&text))
}

fn is_writable(path: &Path, confinement: &Confinement) -> bool {
    let own = ["/tmp", "/dev", "/proc", fs_view::home(confinement)];
    let written = own.into_iter().chain(confinement.allow_write.iter().map(String::as_str));
    let read = confinement.allow_read.iter().map(String::as_str);
    // The innermost directory decides; if listed as both readable and writable, it is writable.
    let roots = read.map(|root| (root, false)).chain(written.map(|root| (root, true)));
    let around = roots.filter(|(root, _)| path.starts_with(root));
    let innermost =
        around.max_by_key(|(root, write)| (Path::new(root).components().count(), *write));
    let denied = |above: &Path| {
        let above = above.to_string_lossy();
        confinement.deny_write.iter().any(|entry| denies(entry, &above))
    };
    let protected = confinement
        .allow_write
        .iter()
        .any(|root| path.strip_prefix(root).is_ok_and(crate::protect::is_protected));
    innermost.is_some_and(|(_, write)| write) && !path.ancestors().any(denied) && !protected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, expected: &[&str]) {
        let confinement = Confinement {
            allow_write: vec!["/desk".to_owned()],
            allow_read: vec!["/people/me/.rustup".to_owned()],
            deny_read: vec!["/desk/.env".to_owned(), "/desk/keys/*".to_owned()],
            deny_write: vec!["/desk/fixed".to_owned()],
            ..Confinement::most_restricted()
        };
        let found = denied_paths(output, &confinement, Path::new("/desk/src"));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let expected: Vec<String> =
            expected.iter().map(|line| format!("denied by sandbox: {line}")).collect();
        assert_eq!(found, expected, "{output}");
    }

    #[test]
    fn a_refused_path_is_named_whoever_says_it() {
        let written = &["/usr/bin/x may not be written"];
        check("bash: line 1: /usr/bin/x: Read-only file system", written);
        check("PermissionError: [Errno 13] Permission denied: '/usr/bin/x'", written);
        check("Error: EROFS: read-only file system, open '/usr/bin/x'", written);
        check("touch: cannot touch ‘/usr/bin/x’: Read-only file system", written);
        check("bash: line 1: /usr/bin/x: Permission denied", written);
        let read = &["/etc/shadow may not be read"];
        check("cat: /etc/shadow: No such file or directory", read);
        check("Error: open \"/etc/shadow\": Permission denied (os error 13)", read);
        check("cat: ../../etc/shadow: No such file or directory", read);
    }

    #[test]
    fn a_bare_name_is_taken_from_where_the_command_runs() {
        let confinement = Confinement::most_restricted();
        for line in [
            "sh: 1: cannot create note.txt: Read-only file system",
            "touch: cannot touch 'note.txt': Permission denied",
        ] {
            let found = denied_paths(line, &confinement, Path::new("/usr/share/x"));
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            let expected = ["denied by sandbox: /usr/share/x/note.txt may not be written"];
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn what_is_denied_inside_of_a_writable_directory_is_named() {
        check("cat: /desk/.env: Permission denied", &["/desk/.env may not be read"]);
        check("cat: ../keys/a: Permission denied", &["/desk/keys/a may not be read"]);
        check(
            "rm: cannot remove '/desk/fixed/a': Read-only file system",
            &["/desk/fixed/a may not be written"],
        );
        check(
            "touch: /desk/.git/config: Read-only file system",
            &["/desk/.git/config may not be written"],
        );
    }

    #[test]
    fn what_is_only_read_is_not_written_although_it_lies_in_a_directory_of_its_own() {
        let confinement =
            Confinement { allow_read: vec!["/tmp/x".to_owned()], ..Confinement::most_restricted() };
        let found = |line: &str| denied_paths(line, &confinement, Path::new("/")).len();
        assert_eq!(found("touch: /tmp/x/y: Read-only file system"), 1);
        assert_eq!(found("touch: /tmp/y: Permission denied"), 0);
    }

    #[test]
    fn a_failure_that_is_the_commands_own_is_not_blamed_on_the_sandbox() {
        check("cat: /desk/nothing: No such file or directory", &[]);
        check("cat: /usr/share/nothing: No such file or directory", &[]);
        check("error: could not compile `x` (bin) /etc/shadow", &[]);
        check("chmod: changing permissions of '/desk/a': Operation not permitted", &[]);
        check("ls: /people/me/.rustup/none: No such file or directory", &[]);
    }
}
