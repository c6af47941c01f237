//! Decides if a repository that a call made can make git run a program.
//!
//! Strict: unknown settings count as harmful. Nothing is followed, included or unquoted.
//!
//! Must never: accept a line that git could read otherwise than we do.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use agentry_protocol::protected::REPOSITORY;

/// The kind of git settings to judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GitConfigScope {
    /// The settings of a repository.
    Repository,
    /// The settings of a submodule's repository, which names its directory.
    Module,
}

/// Returns true if a repository's settings contain only entries that run nothing.
pub(crate) fn is_harmless(text: &[u8], settings: GitConfigScope) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let mut section: Option<(String, Option<&str>)> = None;
    text.split('\n').map(|line| line.trim_matches([' ', '\t'])).all(|line| {
        if line.is_empty() || line.starts_with(['#', ';']) {
            // Git ends a line at a line feed only, as we do; people would see more lines.
            return !line.contains(|c: char| c.is_control() && c != '\t');
        }
        if line.starts_with('[') {
            section = header(line);
            return section.is_some();
        }
        let Some((name, of)) = &section else { return false };
        let Some((key, value)) = line.split_once('=') else { return false };
        let key = key.trim_matches([' ', '\t']).to_ascii_lowercase();
        let value = value.trim_matches([' ', '\t']);
        is_plain(value)
            && is_known(settings, &GitSetting { section: name, of: *of, key: &key, value })
    })
}

/// Parses `[name]` or `[name "of"]`, alone on its line.
fn header(line: &str) -> Option<(String, Option<&str>)> {
    let inner = line.strip_prefix('[')?.strip_suffix(']')?;
    let (name, of) = match inner.split_once(' ') {
        None => (inner, None),
        Some((name, of)) => (name, Some(of.strip_prefix('"')?.strip_suffix('"')?)),
    };
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_of = of.is_none_or(|of| is_plain(of) && !of.contains([']', '[']));
    (is_name && is_of).then(|| (name.to_ascii_lowercase(), of))
}

/// Returns true if git reads a value just as it is written.
fn is_plain(value: &str) -> bool {
    !value.contains(|c: char| c.is_control() || matches!(c, '"' | '\\' | '#' | ';'))
}

/// A setting, `key = value` in a section `[section "of"]`.
struct GitSetting<'a> {
    section: &'a str,
    of: Option<&'a str>,
    key: &'a str,
    value: &'a str,
}

fn is_known(settings: GitConfigScope, setting: &GitSetting<'_>) -> bool {
    let GitSetting { section, of, key, value } = *setting;
    match (section, of, key) {
        ("core", None, "repositoryformatversion") => matches!(value, "0" | "1"),
        (
            "core",
            None,
            "filemode" | "bare" | "logallrefupdates" | "ignorecase" | "precomposeunicode"
            | "symlinks",
        )
        | ("submodule", Some(_), "active") => is_switch(value),
        ("core", None, "worktree") => settings == GitConfigScope::Module && is_upwards(value),
        ("remote" | "submodule", Some(_), "url") => is_address(value),
        ("remote", Some(_), "fetch") => value.trim_start_matches('+').starts_with("refs/"),
        ("branch", Some(_), "remote") => is_word(value),
        ("branch", Some(_), "merge") => value.starts_with("refs/"),
        ("branch", Some(_), "rebase") => {
            is_switch(value) || matches!(value, "merges" | "interactive")
        }
        ("user", None, "name" | "email") => true,
        ("init", None, "defaultbranch") => is_word(value),
        ("submodule", None, "active") => value == ".",
        _ => false,
    }
}

fn is_switch(value: &str) -> bool {
    ["true", "false", "yes", "no", "on", "off", "1", "0"]
        .iter()
        .any(|word| word.eq_ignore_ascii_case(value))
}

/// Returns true for a name that is no address and no option.
fn is_word(value: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte);
    !value.is_empty() && !value.starts_with('-') && value.bytes().all(is_plain)
}

/// Returns true for `../../../name`: a submodule's directory as seen from its repository.
fn is_upwards(value: &str) -> bool {
    let path = Path::new(value);
    let parts: Vec<Component<'_>> = path.components().collect();
    let ups = parts.iter().take_while(|part| **part == Component::ParentDir).count();
    ups >= 3 && parts[ups..].iter().all(|part| matches!(part, Component::Normal(_)))
}

/// Returns true for an https or ssh address or a relative path that names no program or option.
fn is_address(value: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || !c.is_ascii_graphic();
    if value.is_empty() || value.starts_with('-') || value.contains("::") || value.contains(is_odd)
    {
        return false;
    }
    if let Some((scheme, rest)) = value.split_once("://") {
        let host = rest.split('/').next().unwrap_or_default();
        return matches!(scheme, "https" | "ssh") && is_host(host);
    }
    match value.split_once(':') {
        // `user@host:path`, unless a slash comes first.
        Some((host, _)) if !host.contains('/') => is_host(host),
        Some(_) | None => !value.starts_with('/'),
    }
}

/// Returns true for `[user@]host[:port]`; ssh would take a host with a dash for an option.
fn is_host(host: &str) -> bool {
    let parts: Vec<&str> = host.split('@').collect();
    let is_fine = |part: &&str| !part.is_empty() && !part.starts_with('-');
    parts.len() <= 2 && parts.iter().all(is_fine)
}

/// Returns the repository that a file `.git` names, without access to the file system.
pub(crate) fn points_to(text: &[u8], directory: &Path) -> Option<PathBuf> {
    let path = text.strip_prefix(b"gitdir: ")?;
    let path = path.strip_suffix(b"\n").unwrap_or(path);
    let path = path.strip_suffix(b"\r").unwrap_or(path);
    if path.is_empty() || path.contains(&b'\n') || path.contains(&0) {
        return None;
    }
    let mut resolved = PathBuf::new();
    for part in directory.join(std::ffi::OsStr::from_bytes(path)).components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => resolved.push(part),
        }
    }
    Some(resolved)
}

/// Returns the repository `…/.git` whose worktree or submodule a path in it belongs to.
pub(crate) fn owner(path: &Path) -> Option<&Path> {
    let is_home = |path: &&Path| {
        path.ends_with(Path::new(REPOSITORY).join("worktrees"))
            || path.ends_with(Path::new(REPOSITORY).join("modules"))
    };
    path.ancestors().skip(1).find(is_home).and_then(Path::parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(is_harmless(text.as_bytes(), GitConfigScope::Repository), expected, "{text}");
    }

    #[test]
    fn what_git_itself_writes_is_harmless() {
        check("", true);
        check(
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
             \tlogallrefupdates = true\n[remote \"origin\"]\n\turl = https://example.org/x.git\n\
             \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\
             \tmerge = refs/heads/main\n[user]\n\tname = A B\n\temail = a@b.c\n\
             [submodule \"x\"]\n\tactive = true\n\turl = ../x.git\n",
            true,
        );
        check("[remote \"o\"]\nurl = git@example.org:x/y.git\n", true);
        check("[remote \"o\"]\nurl = ssh://git@example.org:22/x\n", true);
    }

    #[test]
    fn what_runs_something_or_could_is_not() {
        for text in [
            "[core]\nfsmonitor = ./x",
            "[core]\nhooksPath = x",
            "[core]\nsshCommand = x",
            "[core]\npager = x",
            "[core]\neditor = x",
            "[core]\nworktree = ../../../x",
            "[include]\npath = x",
            "[includeIf \"gitdir:/\"]\npath = x",
            "[filter \"x\"]\nclean = y",
            "[alias]\nst = !x",
            "[diff]\nexternal = x",
            "[credential]\nhelper = x",
            "[remote \"o\"]\nurl = ext::sh -c x",
            "[remote \"o\"]\nurl = ext::sh",
            "[remote \"o\"]\nurl = -x",
            "[remote \"o\"]\nurl = ssh://-oProxyCommand=x/y",
            "[remote \"o\"]\nurl = -oProxyCommand=x:y",
            "[remote \"o\"]\nurl = a@-oProxyCommand=x:y",
            "[remote \"o\"]\nurl = /elsewhere",
            "[remote \"o\"]\nurl = file:///elsewhere",
            "[remote \"o\"]\nuploadpack = x",
            "[remote \"o\"]\nvcs = x",
            "[branch \"m\"]\nremote = ext::sh",
            "[submodule \"x\"]\nupdate = !x",
            "[extensions]\nworktreeConfig = true",
        ] {
            check(text, false);
        }
    }

    #[test]
    fn each_setting_has_only_the_values_that_are_known() {
        for (section, key, value, expected) in [
            ("core", "repositoryformatversion", "1", true),
            ("core", "repositoryformatversion", "2", false),
            ("core", "bare", "yes", true),
            ("core", "bare", "perhaps", false),
            ("submodule \"x\"", "active", "off", true),
            ("submodule \"x\"", "active", "./x", false),
            ("submodule", "active", ".", true),
            ("submodule", "active", "./x", false),
            ("branch \"m\"", "rebase", "true", true),
            ("branch \"m\"", "rebase", "merges", true),
            ("branch \"m\"", "rebase", "exec", false),
            ("branch \"m\"", "remote", "origin", true),
            ("branch \"m\"", "remote", "-x", false),
            ("branch \"m\"", "remote", "", false),
            ("branch \"m\"", "remote", "a b", false),
            ("branch \"m\"", "merge", "refs/heads/m", true),
            ("branch \"m\"", "merge", "x", false),
            ("init", "defaultbranch", "main", true),
            ("init", "defaultbranch", "--x", false),
            ("remote \"o\"", "fetch", "refs/heads/m", true),
            ("remote \"o\"", "fetch", "x", false),
            ("remote \"o\"", "url", "a/b:c", true),
            ("remote \"o\"", "url", "/a:b", false),
            ("remote \"o\"", "url", "a b", false),
            ("remote \"o\"", "url", "a\u{e9}", false),
            ("remote \"o\"", "url", "a@b@c:d", false),
            ("remote \"a[b\"", "url", "x", false),
            ("us-er", "name", "x", false),
            ("", "name", "x", false),
        ] {
            check(&format!("[{section}]\n{key} = {value}\n"), expected);
        }
    }

    #[test]
    fn comments_are_harmless_unless_they_hide_another_line() {
        check("# a\tcomment\n; another\n[user]\nname = x\n", true);
        check("# a\r[core]\n", false);
        check("a # b\n", false);
    }

    #[test]
    fn a_line_that_git_reads_otherwise_is_not_harmless() {
        for text in [
            "[user] name = x",
            "[core] fsmonitor = x",
            "[user]\nname = a\\\n[core]\nfsmonitor = x",
            "[user]\nname = \"a\\nb\"",
            "[user]\nname = a\r[core]",
            "[user]\nname",
            "name = x",
            "[user \"a\\\"]\nname = x",
            "[core.fsmonitor]\nx = y",
            "[CORE]\nFsMonitor = x",
            "[us\u{e9}r]\nname = x",
            "[user]]\nname = x",
            "[us-er]",
            "[-]",
            "[]",
        ] {
            check(text, false);
        }
        assert!(!is_harmless(b"[user]\nname = \xff", GitConfigScope::Repository));
    }

    #[test]
    fn only_a_submodule_names_its_directory_and_only_upwards() {
        let check = |value: &str, expected| {
            let text = format!("[core]\nworktree = {value}\n");
            assert_eq!(is_harmless(text.as_bytes(), GitConfigScope::Module), expected, "{value}");
        };
        check("../../../sub", true);
        check("/etc", false);
        check("../sub", false);
        check("../../../sub/../../..", false);
    }

    #[test]
    fn a_file_in_place_of_a_repository_is_read_by_the_letter() {
        let at = Path::new("/w/sub");
        let to = |text: &str| points_to(text.as_bytes(), at);
        assert_eq!(to("gitdir: ../.git/modules/sub\n"), Some("/w/.git/modules/sub".into()));
        assert_eq!(to("gitdir: /w/.git/worktrees/x"), Some("/w/.git/worktrees/x".into()));
        assert_eq!(to("gitdir: ../.git/modules/../../x\n"), Some("/w/x".into()));
        assert_eq!(to("gitdir: a\nb\n"), None);
        assert_eq!(to("elsewhere\n"), None);
    }

    #[test]
    fn only_worktrees_and_submodules_have_an_owner() {
        let owner = |path: &str| owner(Path::new(path)).map(Path::to_owned);
        assert_eq!(owner("/w/.git/modules/a/b"), Some("/w/.git".into()));
        assert_eq!(owner("/w/.git/worktrees/a"), Some("/w/.git".into()));
        assert_eq!(owner("/w/.git/objects/a"), None);
        assert_eq!(owner("/w/x/modules/a"), None);
        assert_eq!(owner("/w/.git/modules"), None);
        assert_eq!(owner("/modules/a"), None);
    }
}
