//! Git commands taken apart, and the options and keys by which git runs a program.
//!
//! Must never: guess at a subcommand it does not know; it may be an alias for anything.

use super::{ShellCommand, ShellWord};

/// A git command taken apart.
pub(crate) struct GitCommand<'a> {
    /// The subcommand.
    pub(crate) subcommand: Option<&'a str>,
    /// The words after it.
    pub(crate) arguments: Vec<&'a str>,
    /// Where an option stands that changes what git itself runs or where it looks.
    pub(super) steered: Option<usize>,
}

impl<'a> GitCommand<'a> {
    /// Takes a command apart, if it is git.
    pub(crate) fn of(simple: &'a ShellCommand) -> Option<Self> {
        if simple.program() != Some("git") {
            return None;
        }
        let mut at = 1;
        let mut steered = None;
        while let Some(text) =
            simple.words.get(at).map(ShellWord::text).filter(|text| text.starts_with('-'))
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
            if !harmless {
                steered.get_or_insert(at);
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
        let subcommand = simple.words.get(at).map(ShellWord::text);
        let arguments = simple.words.iter().skip(at + 1).map(ShellWord::text).collect();
        Some(Self { subcommand, arguments, steered })
    }

    /// Whether one of these options is given.
    pub(crate) fn has(&self, options: &[&str]) -> bool {
        self.arguments.iter().take_while(|text| **text != "--").any(|text| options.contains(text))
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

/// Whether a push replaces what is there without looking.
pub(crate) fn is_forced_push(git: &GitCommand<'_>) -> bool {
    git.subcommand == Some("push")
        && (git.has(&["--force", "--mirror"])
            || git.has_short('f')
            || git.operands().iter().any(|operand| operand.starts_with('+')))
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
        || prefixes.iter().any(|prefix| key.starts_with(prefix) && key != "merge.conflictstyle")
        || ends.iter().any(|end| key.ends_with(end))
}

/// The key that a `git config` sets, if it sets one.
pub(crate) fn set_key<'a>(git: &GitCommand<'a>) -> Option<&'a str> {
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
        ["set", key, ..] => Some(key),
        [key, _, ..] => Some(key),
        _ => None,
    }
}
