//! Parses git commands, and knows the options and keys by which git runs a program.
//!
//! Must never: guess the meaning of an unknown subcommand; it may be an alias for any command.

use super::{ShellCommand, ShellWord};

/// A parsed git command.
pub(crate) struct GitCommand<'a> {
    /// The subcommand, if it is known.
    pub(crate) subcommand: Option<&'a str>,
    /// The words after the subcommand.
    pub(crate) arguments: Vec<&'a str>,
    /// The position of an option that changes what git runs or where it looks.
    pub(super) steered: Option<usize>,
}

impl<'a> GitCommand<'a> {
    /// Parses a command; None if it is not git.
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
            // Unknown options may take the next word as well; they are steering in any case.
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

    /// Returns true if one of these options is given.
    pub(crate) fn has(&self, options: &[&str]) -> bool {
        self.arguments.iter().take_while(|text| **text != "--").any(|text| options.contains(text))
    }

    /// Returns true if a short option is given, alone or among others.
    pub(crate) fn has_short(&self, short: char) -> bool {
        let mut options = self.arguments.iter().take_while(|text| **text != "--");
        options.any(|text| text.starts_with('-') && !text.starts_with("--") && text.contains(short))
    }

    /// Returns the arguments that are not options.
    pub(crate) fn operands(&self) -> Vec<&'a str> {
        self.arguments.iter().filter(|text| !text.starts_with('-')).copied().collect()
    }
}

/// Returns true if an option, perhaps abbreviated, makes git run or write another file.
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

/// Returns true if a push overwrites the remote branch unconditionally.
pub(crate) fn is_forced_push(git: &GitCommand<'_>) -> bool {
    git.subcommand == Some("push")
        && (git.has(&["--force", "--mirror"])
            || git.has_short('f')
            || git.operands().iter().any(|operand| operand.starts_with('+')))
}

/// Returns true for keys whose value is a program that git runs.
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

/// Returns the key that a `git config` sets; None if it sets none.
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
