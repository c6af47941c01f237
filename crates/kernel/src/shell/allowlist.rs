//! The allowlist of a shell: whether every command of a text begins with an allowed prefix.
//!
//! A prefix is a list of words. It allows what its words name, not what their options smuggle in: writing,
//! executing and steering options must stand in the prefix themselves.
//!
//! Must never: allow from partial knowledge.

use super::path::{is_descriptor, is_stream};
use super::program::{is_dangerous_variable, is_harmless_variable};
use super::{ShellCommand, ShellFacts, ShellWord, escape, harmless};

/// Whether a command stays within an allowlist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowlistMatch {
    /// Every command of it is allowed.
    Inside,
    /// Every command begins with an allowed prefix, but one goes on with more than is known to be harmless.
    Beyond {
        /// The first such command.
        command: String,
        /// Which word goes beyond.
        why: String,
    },
    /// One is not.
    Outside {
        /// The first command that is not allowed, as far as it is known.
        command: String,
        /// Why it is not.
        why: String,
    },
}

/// Whether every command begins with an allowed prefix, word by word.
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

/// The place of the first word that makes more of a command than its name says and that nobody names.
pub(crate) fn steering(simple: &ShellCommand, is_named: &dyn Fn(usize) -> bool) -> Option<usize> {
    match harmless::is_listed(simple) {
        true => harmless::first_word_beyond(simple, is_named),
        false => escape::of(simple).into_iter().map(|escape| escape.at).find(|at| !is_named(*at)),
    }
}

/// The first file that a redirection writes. The name of a descriptor counts as a file if anything in the text
/// opens a file for reading: the descriptor may be that file.
pub(crate) fn writes_file<'a>(
    simple: &'a ShellCommand,
    facts: &ShellFacts,
) -> Option<&'a ShellWord> {
    let reads = facts.commands.iter().any(|simple| !simple.reads.is_empty());
    let is_file = |text: &str| !is_stream(text) || (reads && is_descriptor(text));
    simple.writes.iter().find(|word| is_file(word.text()))
}

/// The first variable that a command may not set unnamed.
pub(crate) fn refused_variable(simple: &ShellCommand) -> Option<&str> {
    let mut names = simple.assigns.iter().map(|(name, _)| name.as_str());
    names.find(|name| is_refused(name, simple))
}

/// How many words of a command the longest prefix that fits it has.
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
    // What the table knows to be harmless is no escape.
    steering(simple, &|at| at < longest)?;
    let escape = escape::of(simple).into_iter().find(|escape| escape.at >= longest);
    escape.map(|escape| format!("`{}`: {}", simple.words[escape.at].text(), escape.why))
}

/// A variable of its own may have any name that steers nothing; one for a program must be known.
fn is_refused(name: &str, simple: &ShellCommand) -> bool {
    match simple.words.is_empty() {
        true => is_dangerous_variable(name),
        false => !is_harmless_variable(name),
    }
}

/// Wrappers that change nothing but when, how often or how gently a command runs.
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

/// The program may be written with the folder where systems keep it.
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
