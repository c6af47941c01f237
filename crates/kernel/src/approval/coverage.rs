//! Coverage: the part of a command's words that a rule names beyond the program.
//!
//! A `starts_with` rule names the words that it spells out, an expression the words that it
//! contains literally. Words that are not named must be harmless.
//!
//! Must never: call a word named if the rule contains only a part of it.

use std::ops::Range;

use agentry_agentfile::approval_rule::{ApprovalRule, COMMAND};
use agentry_agentfile::manifest::approvals::Matcher;
use serde_json::Value;

use super::{RulePatterns, holds};

/// The words of one command that a rule names.
pub(super) struct RuleCoverage<'a> {
    /// The length, in bytes, of the command's beginning that the rule spells out.
    start: usize,
    /// The length, in bytes, of the beginning that an expression with a slash matches.
    fits: usize,
    /// Texts that the command contains, or expressions that it matches.
    pieces: Vec<CoveragePattern<'a>>,
}

enum CoveragePattern<'a> {
    Start(&'a str),
    Text(&'a str),
    Expression(&'a str),
}

impl<'a> RuleCoverage<'a> {
    /// Returns the coverage of a rule for a command that it matches.
    pub(super) fn of(patterns: &RulePatterns, rule: &'a ApprovalRule, text: &str) -> Self {
        let mut cover = Self { start: 0, fits: 0, pieces: Vec::new() };
        let value = Value::from(text);
        let mut open: Vec<&Matcher> = rule.when.get(COMMAND).into_iter().collect();
        while let Some(matcher) = open.pop() {
            match matcher {
                matcher if !holds(patterns, matcher, &value) => {}
                Matcher::StartsWith(start) => {
                    cover.start = cover.start.max(start.len());
                    cover.pieces.push(CoveragePattern::Start(start));
                }
                Matcher::Equals(_) | Matcher::In(_) => cover.start = text.len(),
                Matcher::Matches(pattern) => {
                    if pattern.contains('/') {
                        cover.fits = cover.fits.max(patterns.end(pattern, text).unwrap_or(0));
                    }
                    cover.pieces.push(CoveragePattern::Expression(pattern));
                }
                Matcher::Contains(part) => {
                    cover.pieces.extend(part.as_str().map(CoveragePattern::Text))
                }
                Matcher::ContainsAll(parts) => {
                    cover
                        .pieces
                        .extend(parts.iter().filter_map(Value::as_str).map(CoveragePattern::Text));
                }
                Matcher::AnyOf(nested) | Matcher::AllOf(nested) => open.extend(nested),
            }
        }
        cover
    }

    /// Returns true if a pattern of the rule contains this text.
    pub(super) fn has_text(&self, text: &str) -> bool {
        self.pieces.iter().any(|piece| match piece {
            CoveragePattern::Start(piece)
            | CoveragePattern::Text(piece)
            | CoveragePattern::Expression(piece) => piece.contains(text),
        })
    }

    /// Returns true if the rule names a word: all of it, or an option up to its value.
    pub(super) fn names(&self, text: &str, place: &Range<usize>) -> bool {
        let word = &text[place.clone()];
        let option = word.split_once('=').filter(|_| word.starts_with('-'));
        let name = option.map_or(word, |(name, _)| name);
        let value = place.start + name.len();
        let has_name = option.is_some() && (self.start == value || self.start == value + 1);
        let stands = |piece: &CoveragePattern<'_>| match piece {
            // It names only the beginning of the command; `start` covers that.
            CoveragePattern::Start(_) => false,
            CoveragePattern::Text(piece) => stands_in(piece, name),
            CoveragePattern::Expression(pattern) => stands_in(pattern, &escaped(name)),
        };
        place.end <= self.start || has_name || self.pieces.iter().any(stands)
    }

    /// Returns true if the rest of a partly covered word leads elsewhere: a program path with a
    /// slash that the rule lacks, or a path with `..`.
    pub(super) fn leads_elsewhere(&self, text: &str, place: &Range<usize>) -> bool {
        let &Range { start: from, end: to } = place;
        let covered = if from == 0 { self.start.max(self.fits) } else { self.start };
        if covered >= to || (covered <= from && from > 0) {
            return false;
        }
        let goes_up = text[from..to].split('/').any(|part| part.trim_matches('\'') == "..");
        // A rule that ends with a slash is for a folder, and for all paths below it.
        let is_folder = text.get(..covered).is_some_and(|start| start.ends_with('/'));
        let rest = text.get(covered..to).unwrap_or("/");
        goes_up || (from == 0 && !is_folder && rest.contains('/'))
    }
}

/// Returns true if a piece contains the word by itself, not as a part of another word.
fn stands_in(piece: &str, word: &str) -> bool {
    let is_edge = |c: char| c.is_whitespace() || "|()^$=:".contains(c);
    !word.is_empty()
        && piece.match_indices(word).any(|(at, _)| {
            let before = piece[..at].chars().next_back();
            let after = piece[at + word.len()..].chars().next();
            before.is_none_or(is_edge) && after.is_none_or(is_edge)
        })
}

/// Escapes a word as an expression must to match just that word.
fn escaped(word: &str) -> String {
    let mut text = String::with_capacity(word.len());
    for c in word.chars() {
        if r".*+?()[]{}|^$\".contains(c) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}
