//! The commands that a text of the shell runs, as an approval rule looks at them.
//!
//! Each is its words with one space between; a word that is not plain stands in single quotes, so that
//! `'git status'` cannot pass for `git status`. What is set for a command and what runs it stand before it.
//!
//! Must never: leave out a command that runs, or call a text understood that is not.

use crate::shell::path::is_stream;
use crate::shell::{self, Allowlist, Facts, Simple, Word};

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Its words.
    pub(super) text: String,
    /// What of it the text does not say.
    pub(super) hidden: Option<&'static str>,
    /// Whether a redirection of it writes to a file.
    pub(super) writes: bool,
    /// The word that makes more of the program than its name says, as `-c` does for `git`.
    pub(super) steered_by: Option<String>,
}

impl Part {
    /// Why a rule that names these texts cannot speak for it, whatever its words are.
    pub(super) fn bar(&self, named: &[&str]) -> Option<String> {
        if let Some(hidden) = self.hidden {
            return Some(format!("`{}` {hidden}", self.text));
        }
        if self.writes {
            return Some(format!("`{}` writes to a file through a redirection", self.text));
        }
        let word = self.steered_by.as_deref()?;
        let option = word.split('=').next().unwrap_or(word);
        let is_named = !option.is_empty() && named.iter().any(|text| text.contains(option));
        (!is_named).then(|| format!("`{word}` makes more of `{}` than the rule names", self.text))
    }
}

/// The commands of a text, or why it is not understood.
pub(super) fn of(command: &str) -> Result<Vec<Part>, String> {
    let facts = shell::read(command);
    match facts.opaque {
        Some(why) => Err(why),
        None => Ok(facts.commands.iter().flat_map(parts).collect()),
    }
}

/// The command by itself, and the command with all that stands before it.
fn parts(simple: &Simple) -> Vec<Part> {
    let words: Vec<String> = simple.words.iter().map(written).collect();
    let sets = simple.assigns.iter().map(|(name, value)| format!("{name}={}", written(value)));
    let before: Vec<String> = sets.chain(simple.wrappers.iter().cloned()).collect();
    let all: Vec<&str> = before.iter().chain(&words).map(String::as_str).collect();
    let mut texts = vec![all.join(" ")];
    if !before.is_empty() && !words.is_empty() {
        texts.push(words.join(" "));
    }
    let writes = simple.writes.iter().any(|word| !is_stream(word.text()));
    let (hidden, steered_by) = (hidden(simple), steered_by(simple));
    let part = |text| Part { text, hidden, writes, steered_by: steered_by.clone() };
    texts.into_iter().map(part).collect()
}

/// The last word that must be allowed by name so that the command alone stays within what it names.
fn steered_by(simple: &Simple) -> Option<String> {
    let bare = Simple { words: simple.words.clone(), ..Simple::default() };
    let facts = Facts { commands: vec![bare], ..Facts::default() };
    let words: Vec<&str> = simple.words.iter().map(Word::text).collect();
    let is_inside = |count: &usize| {
        let prefix = words[..*count].join(" ");
        shell::within(&facts, &[prefix.as_str()]) == Allowlist::Inside
    };
    match (1..=words.len()).find(is_inside) {
        Some(1) => None,
        Some(count) => words.get(count - 1).map(|word| (*word).to_owned()),
        None if words.is_empty() => None,
        None => Some(String::new()),
    }
}

fn hidden(simple: &Simple) -> Option<&'static str> {
    let is_made = |word: &Word| word.literal().is_none() && word.text().contains(['$', '`']);
    if simple.words.first().is_some_and(|name| name.literal().is_none()) {
        Some("is named by something that is only known when it runs")
    } else if simple.words.iter().any(is_made) {
        Some("has words that are only known when it runs")
    } else {
        None
    }
}

/// A word as it would be written.
fn written(word: &Word) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./=:,+@%^~".contains(c);
    match word {
        Word::Dynamic(text) => text.clone(),
        Word::Literal(text) if !text.is_empty() && text.chars().all(is_plain) => text.clone(),
        Word::Literal(text) => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
