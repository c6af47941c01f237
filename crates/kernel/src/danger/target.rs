//! The absolute paths to which a word of a command may expand.
//!
//! Must never: call a path known if it depends on an unknown value; then there are candidates.

use std::collections::BTreeMap;

use super::GuardDirectories;
use super::file::HOMES;
use crate::limits::{DANGER_CANDIDATES_MAX, DANGER_PATH_BYTES_MAX};
use crate::shell::path::normalize;
use crate::shell::{ShellCommand, ShellWord};

/// The home directory if the real one is unknown: any path outside of all other folders.
const SOME_HOME: &str = "/root";

/// The directories, and the variables that the text itself sets.
pub(super) struct VariableScope<'a> {
    pub(super) place: &'a GuardDirectories<'a>,
    variables: BTreeMap<&'a str, Vec<&'a str>>,
}

/// A path to which a word may expand, and whether that requires a variable to be empty.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PathCandidate {
    pub(super) path: String,
    pub(super) if_empty: bool,
}

impl<'a> VariableScope<'a> {
    pub(super) fn new(place: &'a GuardDirectories<'a>) -> Self {
        Self { place, variables: BTreeMap::new() }
    }

    /// Records the variables that a command sets; later ones are not set yet.
    pub(super) fn learn(&mut self, simple: &'a ShellCommand) {
        for (name, value) in &simple.assigns {
            let values = self.variables.entry(name).or_default();
            if values.len() < DANGER_CANDIDATES_MAX {
                values.push(value.text());
            }
        }
    }

    pub(super) fn home(&self) -> &str {
        self.place.home.unwrap_or(SOME_HOME)
    }

    /// Returns the possible forms of a command, with the variables that the text sets replaced.
    pub(super) fn expansions(&self, simple: &ShellCommand) -> Vec<ShellCommand> {
        let mut all: Vec<Vec<ShellWord>> = vec![Vec::new()];
        for word in &simple.words {
            let mut values: Vec<Vec<ShellWord>> = self.assigned(word).map(split).collect();
            if values.is_empty() {
                values.push(vec![word.clone()]);
            }
            let longer = all.iter().flat_map(|words| {
                values.iter().map(move |value| [words.as_slice(), value.as_slice()].concat())
            });
            all = longer.take(DANGER_CANDIDATES_MAX).collect();
        }
        all.into_iter().map(|words| ShellCommand { words, ..simple.clone() }).collect()
    }

    /// Returns the known values of a word that consists of one variable of the text.
    fn assigned(&self, word: &ShellWord) -> impl Iterator<Item = &'a str> {
        let name = match word {
            ShellWord::Dynamic(text) => text.strip_prefix('$'),
            ShellWord::Literal(_) => None,
        };
        let name = name.map(|name| name.trim_start_matches('{').trim_end_matches('}'));
        let values = name.and_then(|name| self.variables.get(name)).into_iter().flatten();
        values.copied().filter(|value| !value.contains('$'))
    }

    /// Returns the absolute paths to which a word may expand.
    pub(super) fn paths(&self, word: &ShellWord, dir: Option<&ShellWord>) -> Vec<PathCandidate> {
        let dirs = match dir {
            Some(dir) => self.texts(dir),
            None => vec![(self.place.workspace.to_owned(), false)],
        };
        let mut paths = Vec::new();
        for (text, if_empty) in self.texts(word) {
            if text.is_empty() {
                continue;
            }
            for (dir, dir_empty) in &dirs {
                let dir = absolute(dir, self.place.workspace);
                let is_relative = !text.starts_with('/');
                let if_empty = if_empty || (is_relative && *dir_empty);
                paths.push(PathCandidate { path: absolute(&text, &dir), if_empty });
            }
        }
        paths
    }

    /// Returns the texts to which a word may expand; true marks an assumption of an empty variable.
    fn texts(&self, word: &ShellWord) -> Vec<(String, bool)> {
        let ShellWord::Dynamic(text) = word else { return vec![(word.text().to_owned(), false)] };
        let lists = braces(text);
        lists.iter().flat_map(|text| self.one_text(text)).take(DANGER_CANDIDATES_MAX).collect()
    }

    fn one_text(&self, text: &str) -> Vec<(String, bool)> {
        let mut texts = vec![(String::new(), false)];
        let mut rest = text;
        if let Some(after) = rest.strip_prefix('~') {
            let (user, after) = after.split_at(after.find('/').unwrap_or(after.len()));
            texts = match user {
                "" => self.values("HOME"),
                "+" => vec![(self.place.workspace.to_owned(), false)],
                user => vec![(format!("{}/{user}", HOMES[0]), false)],
            };
            rest = after;
        }
        while let Some(at) = rest.find(['$', '`']) {
            texts.iter_mut().for_each(|(text, _)| text.push_str(&rest[..at]));
            let (name, after) = expansion(&rest[at..]);
            rest = after;
            let values = self.values(name);
            let grown = texts.iter().flat_map(|(text, empty)| {
                values
                    .iter()
                    .map(move |(value, is_empty)| (format!("{text}{value}"), *empty || *is_empty))
            });
            texts = grown
                .filter(|(text, _)| text.len() < DANGER_PATH_BYTES_MAX)
                .take(DANGER_CANDIDATES_MAX)
                .collect();
        }
        texts.iter_mut().for_each(|(text, _)| text.push_str(rest));
        texts
    }

    /// Returns the possible values of an expansion.
    fn values(&self, inside: &str) -> Vec<(String, bool)> {
        let name = inside.split([':', '-', '=', '?', '+', '%', '#', '/']).next().unwrap_or(inside);
        let one = |text: &str| vec![(text.to_owned(), false)];
        if let Some(values) = self.variables.get(name) {
            let known = values.iter().filter(|value| !value.contains('$'));
            return known.map(|value| ((*value).to_owned(), false)).collect();
        }
        match name {
            "HOME" => one(self.home()),
            "PWD" | "(pwd)" | "(git rev" | "(git rev-parse" => one(self.place.workspace),
            "TMPDIR" | "TMP" | "TEMP" => one("/tmp"),
            _ if inside.starts_with('(') => vec![(String::new(), true)],
            // With `:?` an empty variable ends the shell; with `:-` it has another value.
            _ if inside.len() > 1 && inside.contains('?') => Vec::new(),
            _ => match inside.split_once(":-").or_else(|| inside.split_once('-')) {
                Some((_, default)) => one(default),
                None => vec![(String::new(), true)],
            },
        }
    }
}

fn split(value: &str) -> Vec<ShellWord> {
    value.split_whitespace().map(|part| ShellWord::Literal(part.to_owned())).collect()
}

/// Expands the first list in braces.
fn braces(text: &str) -> Vec<String> {
    let list = text.match_indices('{').find(|(at, _)| !text[..*at].ends_with('$')).and_then(
        |(open, _)| {
            let close = open + text[open..].find('}')?;
            let inside = &text[open + 1..close];
            inside.contains(',').then(|| (&text[..open], inside, &text[close + 1..]))
        },
    );
    match list {
        Some((head, inside, tail)) => {
            let words = inside.split(',').map(|part| format!("{head}{part}{tail}"));
            words.take(DANGER_CANDIDATES_MAX).collect()
        }
        None => vec![text.to_owned()],
    }
}

/// Splits a text at the end of the expansion with which it begins: its inside, and the rest.
fn expansion(text: &str) -> (&str, &str) {
    let text = &text[1..];
    let close = match text.chars().next() {
        Some('{') => '}',
        Some('(') => ')',
        _ => {
            let end =
                text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
            let end = if end == 0 { text.chars().next().map_or(0, char::len_utf8) } else { end };
            return (&text[..end], &text[end..]);
        }
    };
    // With nested brackets, the last closing one is a sufficient guess.
    let end = if text[1..].contains(['{', '(']) { text.rfind(close) } else { text.find(close) };
    match end {
        Some(end) => (if close == '}' { &text[1..end] } else { &text[..=end] }, &text[end + 1..]),
        None => (text, ""),
    }
}

/// Makes a tool's path absolute, relative to the workspace.
pub(super) fn from_workspace(path: &str, place: &GuardDirectories<'_>) -> String {
    let home = place.home.unwrap_or(SOME_HOME);
    match path.strip_prefix("~/") {
        Some(rest) => absolute(rest, home),
        None => absolute(path, place.workspace),
    }
}

fn absolute(path: &str, dir: &str) -> String {
    if path.starts_with('/') { normalize(path) } else { normalize(&format!("{dir}/{path}")) }
}
