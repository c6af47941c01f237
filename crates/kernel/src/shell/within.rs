//! The allowlist of a shell: whether every command of a text begins with an allowed prefix.
//!
//! A prefix is a list of words. It allows what its words name, not what their options smuggle in: writing,
//! executing and steering options must stand in the prefix themselves.
//!
//! Must never: allow from partial knowledge.

use super::path::is_stream;
use super::program::{is_dangerous_variable, is_harmless_variable};
use super::{Facts, Simple, Word, escape};

/// Whether a command stays within an allowlist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowlist {
    /// Every command of it is allowed.
    Inside,
    /// One is not.
    Outside {
        /// The first command that is not allowed, as far as it is known.
        command: String,
        /// Why it is not.
        why: String,
    },
}

/// Whether every command begins with an allowed prefix, word by word.
pub fn within(facts: &Facts, allowed_prefixes: &[&str]) -> Allowlist {
    let prefixes: Vec<Vec<&str>> =
        allowed_prefixes.iter().map(|prefix| prefix.split_whitespace().collect()).collect();
    let refused =
        facts.commands.iter().find_map(|simple| Some((simple, refusal(simple, &prefixes)?)));
    match (refused, &facts.opaque) {
        (Some((simple, why)), _) => Allowlist::Outside { command: simple.to_string(), why },
        (None, Some(why)) => Allowlist::Outside { command: String::new(), why: why.clone() },
        (None, None) => Allowlist::Inside,
    }
}

fn refusal(simple: &Simple, prefixes: &[Vec<&str>]) -> Option<String> {
    if let Some(file) = simple.writes.iter().find(|word| !is_stream(word.text())) {
        return Some(format!("it writes the file `{}`", file.text()));
    }
    if let Some((name, _)) = simple.assigns.iter().find(|(name, _)| is_refused(name, simple)) {
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
    let matching =
        prefixes.iter().filter(|prefix| !prefix.is_empty() && begins(&simple.words, prefix));
    let Some(longest) = matching.map(Vec::len).max() else {
        return Some("it is not in the list of allowed commands".to_owned());
    };
    let escape = escape::of(simple).filter(|escape| escape.at >= longest);
    escape.map(|escape| format!("`{}`: {}", simple.words[escape.at].text(), escape.why))
}

/// A variable of its own may have any name that steers nothing; one for a program must be known.
fn is_refused(name: &str, simple: &Simple) -> bool {
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
fn begins(words: &[Word], prefix: &[&str]) -> bool {
    words.len() >= prefix.len()
        && words.iter().zip(prefix).enumerate().all(|(at, (word, wanted))| {
            let text = word.literal();
            let bare = text.and_then(|text| {
                text.strip_prefix("/usr/bin/").or_else(|| text.strip_prefix("/bin/"))
            });
            text == Some(wanted) || (at == 0 && bare == Some(wanted))
        })
}
