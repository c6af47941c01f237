//! The allowlist of shell commands: each command of a text must begin with an allowed prefix.
//!
//! A prefix is a list of words. It allows the named words, not every option: options that write,
//! execute or steer must be part of the prefix.
//!
//! Must never: allow from partial knowledge.

use super::path::{is_descriptor, is_stream};
use super::program::{is_dangerous_variable, is_harmless_variable};
use super::{ShellCommand, ShellFacts, ShellWord, escape, harmless};

/// The relation of a shell text to an allowlist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowlistMatch {
    /// Every command of the text is allowed.
    Inside,
    /// Every command begins with an allowed prefix, but one has words not known to be harmless.
    Beyond {
        /// The first such command.
        command: String,
        /// The word that goes beyond the prefix, in a sentence.
        why: String,
    },
    /// At least one command is not allowed.
    Outside {
        /// The first command that is not allowed, as far as it is known.
        command: String,
        /// The reason why it is not allowed.
        why: String,
    },
}

/// Compares every command with the allowed prefixes, word by word.
pub fn check_allowlist(facts: &ShellFacts, allowed_prefixes: &[&str]) -> AllowlistMatch {
    let prefixes: Vec<Vec<&str>> =
        allowed_prefixes.iter().map(|prefix| prefix.split_whitespace().collect()).collect();
    let mut commands = facts.commands.iter();
    let refused = commands.find_map(|simple| Some((simple, refusal(simple, facts, &prefixes)?)));
    if let Some((simple, why)) = refused {
        return AllowlistMatch::Outside { command: simple.to_string(), why };
    }
    if let Some(why) = &facts.opaque {
        return AllowlistMatch::Outside { command: String::new(), why: why.clone() };
    }
    let beyond = facts.commands.iter().find_map(|simple| {
        let longest = longest(simple, &prefixes)?;
        Some((simple, harmless::first_word_beyond(simple, &|at| at < longest)?))
    });
    match beyond {
        Some((simple, at)) => {
            let why = format!("`{}` is not known to be harmless", simple.words[at].text());
            AllowlistMatch::Beyond { command: simple.to_string(), why }
        }
        None => AllowlistMatch::Inside,
    }
}

/// Returns the position of the first unnamed word that widens what the command does.
pub(crate) fn steering(simple: &ShellCommand, is_named: &dyn Fn(usize) -> bool) -> Option<usize> {
    if harmless::is_listed(simple) {
        harmless::first_word_beyond(simple, is_named)
    } else {
        escape::of(simple).into_iter().map(|escape| escape.at).find(|at| !is_named(*at))
    }
}

/// Returns the first file that a redirection writes. A descriptor counts as a file if the text
/// opens any file for reading: the descriptor may be that file.
pub(crate) fn writes_file<'a>(
    simple: &'a ShellCommand,
    facts: &ShellFacts,
) -> Option<&'a ShellWord> {
    let reads = facts.commands.iter().any(|simple| !simple.reads.is_empty());
    let is_file = |text: &str| !is_stream(text) || (reads && is_descriptor(text));
    simple.writes.iter().find(|word| is_file(word.text()))
}

/// Returns the first variable that a command may not set unless a rule names it.
pub(crate) fn refused_variable(simple: &ShellCommand) -> Option<&str> {
    let mut names = simple.assigns.iter().map(|(name, _)| name.as_str());
    names.find(|name| is_refused(name, simple))
}

/// Returns the length, in words, of the longest prefix that matches a command.
fn longest(simple: &ShellCommand, prefixes: &[Vec<&str>]) -> Option<usize> {
    let matching =
        prefixes.iter().filter(|prefix| !prefix.is_empty() && begins(&simple.words, prefix));
    matching.map(Vec::len).max()
}

fn refusal(simple: &ShellCommand, facts: &ShellFacts, prefixes: &[Vec<&str>]) -> Option<String> {
    if let Some(file) = writes_file(simple, facts) {
        return Some(format!("it writes the file `{}`", file.text()));
    }
    if let Some(name) = refused_variable(simple) {
        return Some(format!("it sets the variable `{name}`"));
    }
    let rights = simple.wrappers.iter().find(|wrapper| !is_transparent(wrapper));
    if let Some(wrapper) =
        rights.filter(|wrapper| !prefixes.iter().any(|prefix| prefix == &[wrapper.as_str()]))
    {
        return Some(format!("it runs under `{wrapper}`"));
    }
    if simple.words.is_empty() {
        return None;
    }
    let Some(longest) = longest(simple, prefixes) else {
        return Some("it is not in the list of allowed commands".to_owned());
    };
    // A word that the table lists as harmless is no escape.
    steering(simple, &|at| at < longest)?;
    let escape = escape::of(simple).into_iter().find(|escape| escape.at >= longest);
    escape.map(|escape| format!("`{}`: {}", simple.words[escape.at].text(), escape.why))
}

/// Returns true if the variable is refused. For a program it must be known as harmless.
fn is_refused(name: &str, simple: &ShellCommand) -> bool {
    if simple.words.is_empty() { is_dangerous_variable(name) } else { !is_harmless_variable(name) }
}

/// Returns true for wrappers that affect only when, how often or how gently a command runs.
fn is_transparent(wrapper: &str) -> bool {
    matches!(
        wrapper.split(' ').next().unwrap_or(wrapper),
        "env"
            | "command"
            | "builtin"
            | "exec"
            | "nohup"
            | "setsid"
            | "nice"
            | "ionice"
            | "stdbuf"
            | "timeout"
            | "gtimeout"
            | "time"
            | "xargs"
            | "find"
            | "fd"
            | "fdfind"
            | "eval"
            | "trap"
    ) || wrapper.ends_with(" -c")
        || super::program::is_shell(wrapper)
}

/// Matches a prefix; the program may be written with a system folder.
fn begins(words: &[ShellWord], prefix: &[&str]) -> bool {
    words.len() >= prefix.len()
        && words.iter().zip(prefix).enumerate().all(|(at, (word, wanted))| {
            let text = word.literal();
            let bare = text.and_then(|text| {
                text.strip_prefix("/usr/bin/").or_else(|| text.strip_prefix("/bin/"))
            });
            text == Some(wanted) || (at == 0 && bare == Some(wanted))
        })
}
