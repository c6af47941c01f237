//! What a git command does, by its subcommand and options.
//!
//! Must never: guess at a subcommand it does not know; it may be an alias for anything.

use super::Tag::{
    self, Delete, HistoryRewrite, Interactive, Network, Opaque, OutsideWrite, Persistence,
    ReadOnly, WorkspaceWrite,
};
use super::{Simple, Word};

/// A git command taken apart.
pub(crate) struct Git<'a> {
    /// The subcommand.
    pub(crate) subcommand: Option<&'a str>,
    /// The words after it.
    pub(crate) arguments: Vec<&'a str>,
    /// Where an option stands that changes what git itself runs or where it looks.
    pub(super) steered: Option<usize>,
}

impl<'a> Git<'a> {
    /// Takes a command apart, if it is git.
    pub(crate) fn of(simple: &'a Simple) -> Option<Self> {
        if simple.program() != Some("git") {
            return None;
        }
        let mut at = 1;
        let mut steered = None;
        while let Some(text) =
            simple.words.get(at).map(Word::text).filter(|text| text.starts_with('-'))
        {
            let harmless = matches!(
                text,
                "-p" | "--paginate"
                    | "-P"
                    | "--no-pager"
                    | "--no-replace-objects"
                    | "--bare"
                    | "--literal-pathspecs"
                    | "-v"
                    | "--glob-pathspecs"
                    | "--noglob-pathspecs"
                    | "--icase-pathspecs"
                    | "--no-optional-locks"
                    | "--version"
                    | "--no-lazy-fetch"
                    | "--no-advice"
                    | "--html-path"
                    | "--man-path"
                    | "--info-path"
                    | "--help"
                    | "-h"
                    | "--exec-path"
                    | "--"
            );
            if !harmless && steered.is_none() {
                steered = Some(at);
            }
            // Options that are not known may take the next word as well; they are steering in any case.
            let takes_next = matches!(
                text,
                "-c" | "-C"
                    | "--config-env"
                    | "--git-dir"
                    | "--work-tree"
                    | "--namespace"
                    | "--super-prefix"
                    | "--attr-source"
            );
            at += 1 + usize::from(takes_next);
        }
        let subcommand = simple.words.get(at).map(Word::text);
        let arguments = simple.words.iter().skip(at + 1).map(Word::text).collect();
        Some(Self { subcommand, arguments, steered })
    }

    /// Whether one of these options is given.
    pub(crate) fn has(&self, options: &[&str]) -> bool {
        self.arguments.iter().take_while(|text| **text != "--").any(|text| {
            options.iter().any(|option| {
                let value = text.strip_prefix(option);
                value.is_some_and(|rest| {
                    rest.is_empty() || (option.len() > 2 && rest.starts_with('='))
                })
            })
        })
    }

    /// Whether a short option is given, alone or among others.
    pub(crate) fn has_short(&self, short: char) -> bool {
        let mut options = self.arguments.iter().take_while(|text| **text != "--");
        options.any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains(short))
    }

    /// The arguments that are not options.
    pub(crate) fn operands(&self) -> Vec<&'a str> {
        self.arguments.iter().filter(|text| !text.starts_with('-')).copied().collect()
    }
}

/// Whether an option of a subcommand, perhaps shortened, makes git run or write something else.
pub(super) fn runs_something(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    let options = [
        "--output",
        "--ext-diff",
        "--open-files-in-pager",
        "--upload-pack",
        "--receive-pack",
        "--exec",
        "--extcmd",
        "--textconv",
        "--template",
        "--config",
    ];
    text.starts_with("ext::")
        || (name.len() > 3 && options.iter().any(|option| option.starts_with(name)))
}

/// The effects of a git command.
pub(super) fn tags(git: &Git<'_>) -> Vec<Tag> {
    let mut tags = match git.subcommand {
        None => vec![ReadOnly],
        Some(name) => effects(git, name),
    };
    if git.steered.is_some() {
        tags.push(Opaque);
    }
    if git.arguments.iter().any(|text| runs_something(text))
        || (git.subcommand == Some("grep") && git.has_short('O'))
    {
        tags.push(Opaque);
    }
    tags
}

#[rustfmt::skip]
fn effects(git: &Git<'_>, name: &str) -> Vec<Tag> {
    match name {
        "status" | "log" | "diff" | "show" | "rev-parse" | "ls-files" | "ls-tree" | "cat-file" | "blame" | "annotate"
        | "shortlog" | "describe" | "name-rev" | "merge-base" | "rev-list" | "grep" | "for-each-ref" | "show-ref"
        | "count-objects" | "check-ignore" | "check-attr" | "var" | "whatchanged" | "diff-tree" | "diff-index"
        | "diff-files" | "version" | "help" | "show-branch" | "cherry" | "range-diff" | "verify-commit" | "fsck"
            => vec![ReadOnly],
        "add" | "mv" | "init" | "cherry-pick" | "revert" | "am" | "apply" | "merge" | "notes" | "sparse-checkout"
            if git.has(&["-i", "-p", "--patch", "--interactive", "-e", "--edit"]) => vec![WorkspaceWrite, Interactive],
        "add" | "mv" | "init" | "cherry-pick" | "revert" | "am" | "apply" | "merge" | "notes" | "sparse-checkout"
            => vec![WorkspaceWrite],
        "fetch" | "ls-remote" => vec![Network],
        "pull" | "clone" => vec![Network, WorkspaceWrite],
        "push" => push(git),
        "commit" if git.has(&["--amend"]) => vec![WorkspaceWrite, HistoryRewrite],
        "commit" => vec![WorkspaceWrite],
        "rebase" | "filter-branch" | "filter-repo" | "gc" | "prune" | "update-ref" | "replace" | "repack" | "commit-tree"
            => vec![HistoryRewrite, WorkspaceWrite],
        "reset" if git.has(&["--hard", "--merge", "--keep"]) => vec![HistoryRewrite, Delete],
        "reset" => vec![HistoryRewrite, WorkspaceWrite],
        "clean" if git.has(&["--dry-run"]) || git.has_short('n') => vec![ReadOnly],
        "clean" | "rm" => vec![Delete],
        "checkout" | "switch" | "restore" => vec![WorkspaceWrite, checkout(git, name)],
        "branch" | "tag" => label(git),
        "stash" => stash(git),
        "reflog" if matches!(git.operands().first(), Some(&"expire" | &"delete")) => vec![HistoryRewrite],
        "reflog" => vec![ReadOnly],
        "remote" | "worktree" | "submodule" | "bisect" | "lfs" | "bundle" | "archive" => porcelain(git, name),
        "config" => config(git),
        _ => vec![Opaque],
    }
}

/// Whether a push replaces what is there without looking.
pub(crate) fn is_forced_push(git: &Git<'_>) -> bool {
    git.subcommand == Some("push")
        && (git.has(&["--force", "--mirror"])
            || git.has_short('f')
            || git.operands().iter().any(|operand| operand.starts_with('+')))
}

fn push(git: &Git<'_>) -> Vec<Tag> {
    let deletes = git.has(&["--delete", "--prune"])
        || git.has_short('d')
        || git.operands().iter().any(|operand| operand.starts_with(':'));
    let leased = git.arguments.iter().any(|text| text.starts_with("--force-"));
    match is_forced_push(git) || deletes || leased {
        true => vec![Network, HistoryRewrite],
        false => vec![Network],
    }
}

/// Going to a branch keeps changes; taking files from one does not.
fn checkout(git: &Git<'_>, name: &str) -> Tag {
    let creates = git.has(&["-b", "-B", "-c", "-C", "--create", "--orphan", "--detach"]);
    let forced =
        git.has(&["--force", "--discard-changes", "--worktree", "-W", "--ours", "--theirs"])
            || git.has_short('f');
    let operands = git.operands();
    let files = git.arguments.contains(&"--")
        || git.has(&["--pathspec-from-file"])
        || operands.len() > 1
        || operands
            .iter()
            .any(|operand| operand.rsplit('/').next().is_some_and(|last| last.contains('.')));
    let only_index = name == "restore" && git.has(&["--staged", "-S"]);
    match name {
        "restore" if only_index && !forced => WorkspaceWrite,
        "restore" => Delete,
        _ if forced || (files && !creates) => Delete,
        _ => WorkspaceWrite,
    }
}

fn label(git: &Git<'_>) -> Vec<Tag> {
    let lists = git.has(&[
        "-a",
        "-r",
        "-v",
        "-vv",
        "-l",
        "--list",
        "--all",
        "--show-current",
        "--contains",
        "--merged",
        "--no-merged",
        "--points-at",
        "-n",
    ]);
    let drops = git.has(&["--delete", "--force", "--move"])
        || ['d', 'D', 'f', 'M', 'm']
            .into_iter()
            .any(|short| git.subcommand == Some("branch") && git.has_short(short))
        || (git.subcommand == Some("tag") && (git.has_short('d') || git.has_short('f')));
    match () {
        () if drops => vec![HistoryRewrite],
        () if lists || git.arguments.is_empty() => vec![ReadOnly],
        () => vec![WorkspaceWrite],
    }
}

fn stash(git: &Git<'_>) -> Vec<Tag> {
    match git.operands().first() {
        Some(&"list" | &"show") => vec![ReadOnly],
        Some(&"drop" | &"clear") => vec![Delete, HistoryRewrite],
        _ => vec![WorkspaceWrite],
    }
}

fn porcelain(git: &Git<'_>, name: &str) -> Vec<Tag> {
    let first = git.operands().first().copied().unwrap_or_default();
    match (name, first) {
        ("remote", "show") => vec![ReadOnly, Network],
        ("remote", "" | "get-url") | ("worktree", "list") | ("submodule", "" | "status") => {
            vec![ReadOnly]
        }
        ("remote", "update" | "prune") => vec![Network],
        ("worktree", "remove" | "prune") | ("submodule", "deinit") => vec![Delete],
        ("worktree", "add") => vec![WorkspaceWrite, OutsideWrite],
        ("bisect", "log" | "view") | ("bundle", "verify" | "list-heads") => vec![ReadOnly],
        ("remote" | "worktree" | "bisect", _) => vec![WorkspaceWrite],
        _ => vec![Opaque],
    }
}

/// Keys that name a program which git will run.
pub(crate) fn is_running_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let exact = [
        "core.hookspath",
        "core.pager",
        "core.editor",
        "core.sshcommand",
        "core.fsmonitor",
        "core.askpass",
        "core.gitproxy",
        "core.attributesfile",
        "sequence.editor",
        "diff.external",
        "gpg.program",
        "credential.helper",
        "init.templatedir",
        "interactive.difffilter",
        "include.path",
        "core.worktree",
    ];
    let prefixes =
        ["alias.", "pager.", "filter.", "includeif.", "difftool.", "mergetool.", "merge.", "url."];
    let ends = [
        ".command",
        ".textconv",
        ".cmd",
        ".driver",
        ".program",
        ".helper",
        ".uploadpack",
        ".receivepack",
    ];
    exact.contains(&key.as_str())
        || prefixes
            .iter()
            .any(|prefix| key.starts_with(prefix) && !key.starts_with("merge.conflictstyle"))
        || ends.iter().any(|end| key.ends_with(end))
}

/// The key that a `git config` sets, if it sets one.
pub(crate) fn set_key<'a>(git: &Git<'a>) -> Option<&'a str> {
    let reads = [
        "--get",
        "--get-all",
        "--get-regexp",
        "--list",
        "-l",
        "--get-urlmatch",
        "--get-color",
        "--unset",
        "--unset-all",
        "--show-origin",
    ];
    if git.subcommand != Some("config") || git.has(&reads) {
        return None;
    }
    let operands = git.operands();
    match operands.as_slice() {
        ["get" | "list" | "unset", ..] => None,
        ["set", key, ..] => Some(key),
        [key, _, ..] => Some(key),
        _ => None,
    }
}

fn config(git: &Git<'_>) -> Vec<Tag> {
    let wide = git.has(&["--global", "--system", "--file", "-f"]);
    match set_key(git) {
        Some(key) if is_running_key(key) => vec![WorkspaceWrite, Persistence],
        Some(_) if wide => vec![OutsideWrite],
        Some(_) => vec![WorkspaceWrite],
        None if git.has(&[
            "--unset",
            "--unset-all",
            "--edit",
            "-e",
            "--remove-section",
            "--rename-section",
        ]) =>
        {
            vec![WorkspaceWrite]
        }
        None if git.operands().first() == Some(&"unset") => vec![WorkspaceWrite],
        None => vec![ReadOnly],
    }
}
