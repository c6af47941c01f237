//! The table of harmless options, subcommands and operands: the part of a command that a prefix
//! rule covers if the program can execute other programs or write files.
//!
//! A harmless option executes no program, writes no file and reads no options from elsewhere. Only
//! complete names count: abbreviated long options are not listed and need approval.
//!
//! Must never: call a word harmless that the row of its command does not list.

mod build;
mod files;
mod git;
mod network;
mod programs;
mod row;

use super::path::is_below;
use super::program::tests_of_find;
use super::{ShellCommand, ShellWord};

pub use row::{DoubleDash, HarmlessRow, Operands, OptionStyle};

/// Returns all rows of the table.
pub fn rows() -> impl Iterator<Item = &'static HarmlessRow> {
    [files::ROWS, git::ROWS, network::ROWS, build::ROWS, programs::ROWS].into_iter().flatten()
}

/// Returns true if the table lists the program.
pub(super) fn is_listed(simple: &ShellCommand) -> bool {
    simple.program().and_then(row_of).is_some()
}

/// Returns the position of the first word that is neither harmless nor named by the rule; that of
/// the name if commands come from the input. None for a command outside the table.
pub(crate) fn first_word_beyond(
    simple: &ShellCommand,
    is_named: &dyn Fn(usize) -> bool,
) -> Option<usize> {
    let (key, row) = row_of(simple.program()?)?;
    if matches!(simple.arguments(), [word] if matches!(word.literal(), Some("--help" | "--version")))
    {
        return None;
    }
    let words = match key {
        "find" => tests_of_find(simple).into_iter().map(|(at, _)| at).collect(),
        _ => (1..simple.words.len()).collect(),
    };
    let key = key.to_owned();
    let walk = ArgumentReader {
        simple,
        is_named,
        words,
        at: 0,
        key,
        row,
        operands: 0,
        met: false,
        ended: false,
    };
    walk.through()
}

/// Finds the row of a program: by its name, without a version, or without the `g` of GNU on macOS.
fn row_of(name: &str) -> Option<(&'static str, &'static HarmlessRow)> {
    let bare = name.split('.').next().unwrap_or(name);
    let bare = bare.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
    let gnu = bare.strip_prefix('g').unwrap_or(bare);
    [name, bare, gnu].into_iter().find_map(exact)
}

fn exact(name: &str) -> Option<(&'static str, &'static HarmlessRow)> {
    rows().find_map(|row| {
        let known = row.names.iter().find(|known| **known == name)?;
        Some((*known, row))
    })
}

/// The classification of the current word.
enum ArgumentStep {
    /// The word and its values, so many words in total, are harmless.
    Next(usize),
    /// The rest belongs to a program that the rule names, or that is judged separately.
    Over,
    /// The table does not list the word.
    Unknown,
}

/// A reader of the words of one command, from left to right.
struct ArgumentReader<'a> {
    simple: &'a ShellCommand,
    is_named: &'a dyn Fn(usize) -> bool,
    /// The positions of the words to read.
    words: Vec<usize>,
    at: usize,
    /// The command and its subcommands so far.
    key: String,
    row: &'static HarmlessRow,
    /// The number of operands of the row so far.
    operands: usize,
    /// True once a word that the row requires has occurred.
    met: bool,
    /// True once `--` has ended the options.
    ended: bool,
}

impl<'a> ArgumentReader<'a> {
    fn through(mut self) -> Option<usize> {
        while let Some(place) = self.words.get(self.at).copied() {
            match self.step(place) {
                ArgumentStep::Next(count) => self.at += count,
                ArgumentStep::Over => return None,
                ArgumentStep::Unknown if (self.is_named)(place) => self.at += 1,
                ArgumentStep::Unknown => return Some(place),
            }
        }
        let is_bare = match self.row.operands {
            Operands::Program => !self.met,
            Operands::Nothing => self.words.is_empty(),
            Operands::Any
            | Operands::UpTo(_)
            | Operands::Without(_)
            | Operands::Starting(_)
            | Operands::Below
            | Operands::Followed
            | Operands::Subcommand => false,
        };
        if is_bare {
            return Some(0);
        }
        let lacks = !self.row.needs.is_empty() && !self.met;
        let mut unnamed = self.words.iter().rev().filter(|place| !(self.is_named)(**place));
        unnamed.next().copied().filter(|_| lacks)
    }

    fn step(&mut self, place: usize) -> ArgumentStep {
        let simple = self.simple;
        let word = &simple.words[place];
        let text = word.text();
        let is_option = text.len() > 1 && text.starts_with('-');
        if self.ended {
            self.operand(word, place)
        } else if may_be_option(word) {
            ArgumentStep::Unknown
        } else if text == "--" {
            self.dashes()
        } else if is_option {
            self.option(text).map_or(ArgumentStep::Unknown, ArgumentStep::Next)
        } else if self.is_bundle() {
            self.bundle(text).map_or(ArgumentStep::Unknown, ArgumentStep::Next)
        } else {
            self.operand(word, place)
        }
    }

    fn dashes(&mut self) -> ArgumentStep {
        if let Some(count) = self.phrase(self.row.phrases) {
            return ArgumentStep::Next(count);
        }
        self.ended = true;
        match self.row.dashes {
            DoubleDash::Operands => ArgumentStep::Next(1),
            DoubleDash::Program => ArgumentStep::Over,
        }
    }

    /// Returns the number of words of a harmless option.
    fn option(&mut self, text: &str) -> Option<usize> {
        if let Some(count) = self.phrase(self.row.needs) {
            self.met = true;
            return Some(count);
        }
        let known = self.phrase(self.row.phrases).or_else(|| self.long(text));
        known.or_else(|| match self.row.style {
            OptionStyle::Getopt | OptionStyle::Bundle => self.letters(&text[1..]),
            OptionStyle::Words => self.joined(&text[1..]),
        })
    }

    /// Matches exact words at this position; returns their number.
    fn phrase(&self, phrases: &[&str]) -> Option<usize> {
        phrases.iter().find_map(|phrase| {
            let wanted: Vec<&str> = phrase.split(' ').collect();
            let places = self.words.get(self.at..self.at + wanted.len())?;
            let fits = places
                .iter()
                .zip(&wanted)
                .all(|(place, wanted)| self.simple.words[*place].literal() == Some(*wanted));
            fits.then_some(wanted.len())
        })
    }

    /// Matches a whole word: `--name`, `--name=value`, `--name value`.
    fn long(&self, text: &str) -> Option<usize> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let mut listed = self.row.long.split_whitespace();
        let takes = listed.find_map(|entry| {
            entry.strip_prefix(name).filter(|takes| matches!(*takes, "" | "=" | "[=]"))
        })?;
        match (takes, value) {
            ("" | "[=]", None) => Some(1),
            ("=" | "[=]", Some(value)) => self.is_value(value).then_some(1),
            ("=", None) => self.next_value(),
            _ => None,
        }
    }

    /// Matches letters after one dash; one that takes a value ends them.
    fn letters(&self, text: &str) -> Option<usize> {
        let mut rest = text.chars();
        while let Some(letter) = rest.next() {
            match takes(self.row.short, letter)? {
                OptionArity::Nothing => {}
                OptionArity::Value if rest.as_str().is_empty() => return self.next_value(),
                OptionArity::Value | OptionArity::Joined => {
                    return self.is_value(rest.as_str()).then_some(1);
                }
            }
        }
        Some(1)
    }

    /// Matches a letter with a value, where a dash begins a whole word: `-O2`, `-I include`.
    fn joined(&self, text: &str) -> Option<usize> {
        let letter = text.chars().next()?;
        match takes(self.row.short, letter)? {
            OptionArity::Nothing => None,
            OptionArity::Value if text.len() == letter.len_utf8() => self.next_value(),
            OptionArity::Value | OptionArity::Joined => {
                self.is_value(&text[letter.len_utf8()..]).then_some(1)
            }
        }
    }

    /// Returns true if the first word is letters without a dash, as `tar` takes it.
    fn is_bundle(&self) -> bool {
        self.row.style == OptionStyle::Bundle && self.at == 0
    }

    /// Matches letters without a dash; values follow in order, so only the last may take one.
    fn bundle(&self, text: &str) -> Option<usize> {
        let last = text.chars().next_back()?;
        let before = &text[..text.len() - last.len_utf8()];
        let is_flag = |letter| matches!(takes(self.row.short, letter), Some(OptionArity::Nothing));
        before.chars().all(is_flag).then(|| self.letters(&text[before.len()..]))?
    }

    /// Accepts the next word as a value: it must exist, and be literal.
    fn next_value(&self) -> Option<usize> {
        let place = *self.words.get(self.at + 1)?;
        self.simple.words[place].literal().filter(|value| self.is_value(value)).map(|_| 2)
    }

    fn is_value(&self, value: &str) -> bool {
        !self.row.values_without.iter().any(|part| value.contains(part))
    }

    fn operand(&mut self, word: &'a ShellWord, at: usize) -> ArgumentStep {
        self.operands += 1;
        let next = |fits: bool| if fits { ArgumentStep::Next(1) } else { ArgumentStep::Unknown };
        match self.row.operands {
            Operands::Any => ArgumentStep::Next(1),
            Operands::Nothing => ArgumentStep::Unknown,
            // A pattern may expand to several words.
            Operands::UpTo(max) => next(self.operands <= max && word.literal().is_some()),
            Operands::Without(parts) => next(
                word.literal().is_some_and(|text| !parts.iter().any(|part| text.contains(part))),
            ),
            Operands::Starting(start) => {
                next(word.literal().is_some_and(|text| text.starts_with(start)))
            }
            Operands::Below => {
                next(word.literal().is_some_and(|text| is_below(text, self.simple.dir.as_ref())))
            }
            Operands::Followed => ArgumentStep::Over,
            Operands::Program if (self.is_named)(at) => ArgumentStep::Over,
            Operands::Program => ArgumentStep::Unknown,
            Operands::Subcommand => self.enter(word, at),
        }
    }

    /// Enters the row of a subcommand. A subcommand without a row has no harmless words.
    fn enter(&mut self, word: &ShellWord, at: usize) -> ArgumentStep {
        self.key = format!("{} {}", self.key, word.text());
        let known = exact(&self.key).map(|(_, row)| row).filter(|_| word.literal().is_some());
        self.row = known.unwrap_or(&HarmlessRow::NOTHING);
        self.operands = 0;
        if known.is_some() || (self.is_named)(at) {
            ArgumentStep::Next(1)
        } else {
            ArgumentStep::Unknown
        }
    }
}

/// Returns true if an unknown word may expand to an option: no literal text precedes it.
pub(super) fn may_be_option(word: &ShellWord) -> bool {
    let text = word.text();
    word.literal().is_none()
        && (text.contains(['$', '`']) && !text.starts_with(['/', '.'])
            || text.starts_with(['*', '?', '[', '{', '-', '<', '+', '@', '!']))
}

/// The argument of a one-letter option.
#[derive(Clone, Copy)]
enum OptionArity {
    Nothing,
    /// A value, joined or in the next word.
    Value,
    /// A value only if it is joined.
    Joined,
}

/// Parses letters in `getopt` notation; `#` stands for every digit.
fn takes(letters: &str, letter: char) -> Option<OptionArity> {
    let listed = if letter.is_ascii_digit() { '#' } else { letter };
    let listed = if letters.contains(letter) { letter } else { listed };
    let at = letters.find(listed).filter(|_| !matches!(letter, ':' | ' ' | '#' | '-'))?;
    let after = &letters[at + listed.len_utf8()..];
    Some(match (after.starts_with("::"), after.starts_with(':')) {
        (true, _) => OptionArity::Joined,
        (false, true) => OptionArity::Value,
        (false, false) => OptionArity::Nothing,
    })
}
