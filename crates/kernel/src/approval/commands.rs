//! Splits the text of a shell call into the commands that approval rules judge.
//!
//! The text of a command is its words joined by single spaces; a word that is not plain is quoted,
//! so that `'git status'` cannot pass for `git status`. Assignments and wrappers come first.
//!
//! Must never: leave out a command that runs, or call a text understood that is not.

use std::ops::Range;

use super::coverage::RuleCoverage;
use crate::shell::{self, ShellCommand, ShellFacts, ShellWord};

/// One command of a shell text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JudgedCommand {
    /// Its assignments and wrappers, then its words.
    pub(super) text: String,
    /// The reason why the text does not show all of the command; None if it does.
    pub(super) hidden: Option<&'static str>,
    /// True if a redirection writes to a file.
    writes: bool,
    /// A variable that it sets and that may change the behavior of a program.
    sets: Option<String>,
    /// The command itself; None if text precedes it, since it then also is a part of its own.
    bare: Option<ShellCommand>,
    /// The byte ranges of the bare command's words in the text.
    places: Vec<Range<usize>>,
}

impl JudgedCommand {
    /// Returns the reason why a rule with this coverage cannot allow the command; None if it can.
    pub(super) fn exclusion_reason(&self, cover: &RuleCoverage<'_>) -> Option<String> {
        if let Some(hidden) = self.hidden {
            return Some(format!("`{}` {hidden}", self.text));
        }
        if self.writes {
            return Some(format!("`{}` writes to a file through a redirection", self.text));
        }
        if let Some(name) = self.sets.as_deref().filter(|name| !cover.has_text(&format!("{name}=")))
        {
            return Some(format!("`{}` sets the variable `{name}`", self.text));
        }
        let simple = self.bare.as_ref()?;
        let elsewhere = self.places.iter().find(|place| cover.leads_elsewhere(&self.text, place));
        if let Some(place) = elsewhere {
            let word = &self.text[place.clone()];
            return Some(format!("`{word}` goes on to another place than the rule names"));
        }
        let is_named =
            |at: usize| self.places.get(at).is_some_and(|place| cover.names(&self.text, place));
        let word = simple.words.get(shell::steering(simple, &is_named)?)?.text();
        Some(format!("`{word}` makes more of `{}` than the rule names", self.text))
    }
}

/// Returns the commands of a text, or the reason why it cannot be parsed completely.
pub(super) fn of(command: &str) -> Result<Vec<JudgedCommand>, String> {
    let facts = shell::read(command);
    match facts.opaque {
        Some(why) => Err(why),
        None => Ok(facts.commands.iter().flat_map(|simple| parts(simple, &facts)).collect()),
    }
}

/// Returns the command alone, and the command with its assignments and wrappers.
fn parts(simple: &ShellCommand, facts: &ShellFacts) -> Vec<JudgedCommand> {
    let words: Vec<String> = simple.words.iter().map(written).collect();
    let sets = simple.assigns.iter().map(|(name, value)| format!("{name}={}", written(value)));
    let before: Vec<String> = sets.chain(simple.wrappers.iter().cloned()).collect();
    let all: Vec<&str> = before.iter().chain(&words).map(String::as_str).collect();
    let whole = JudgedCommand {
        text: all.join(" "),
        hidden: hidden(simple),
        writes: shell::writes_file(simple, facts).is_some(),
        sets: shell::refused_variable(simple).map(str::to_owned),
        bare: None,
        places: Vec::new(),
    };
    let bare = JudgedCommand {
        text: words.join(" "),
        bare: Some(simple.clone()),
        places: places(&words),
        ..whole.clone()
    };
    match (before.is_empty(), words.is_empty()) {
        (true, _) => vec![bare],
        (false, true) => vec![whole],
        (false, false) => vec![whole, bare],
    }
}

/// Returns the byte ranges of words that are joined by one space.
fn places(words: &[String]) -> Vec<Range<usize>> {
    let mut from = 0;
    let place = |word: &String| {
        let place = from..from + word.len();
        from = place.end + 1;
        place
    };
    words.iter().map(place).collect()
}

fn hidden(simple: &ShellCommand) -> Option<&'static str> {
    let is_made = |word: &ShellWord| word.literal().is_none() && word.text().contains(['$', '`']);
    if simple.words.first().is_some_and(|name| name.literal().is_none()) {
        Some("is named by something that is only known when it runs")
    } else if simple.words.iter().any(is_made) {
        Some("has words that are only known when it runs")
    } else {
        None
    }
}

/// Returns a word as the text of a command spells it, quoted if it is not plain.
fn written(word: &ShellWord) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./=:,+@%^~".contains(c);
    match word {
        ShellWord::Dynamic(text) => text.clone(),
        ShellWord::Literal(text) if !text.is_empty() && text.chars().all(is_plain) => text.clone(),
        ShellWord::Literal(text) => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
