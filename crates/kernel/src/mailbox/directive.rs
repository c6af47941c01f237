//! Parses the delivery directive at the beginning of a message.
//!
//! `/queue <mode> [debounce:<time>] [cap:<number>] [drop:<policy>] <text>` at the very start is for
//! that message; without a text, for the session. `/queue default` resets the session.
//! `/steer <text>` is short for `/queue steer <text>`. `/stop` alone stops. Directives further on
//! are ignored: quoted text must not change the delivery of a message.
//!
//! Must never: guess; an unreadable directive is an error that names the word.

use std::fmt;

use agentry_protocol::access::Delivery;
use agentry_protocol::intake::QueuePreferences;

use crate::limits::DIRECTIVE_WORD_CHARS_MAX;

/// A message without its directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedMessage {
    /// The remaining text; empty if the directive was all.
    pub text: String,
    /// The directive; None if the message has none.
    pub directive: Option<Directive>,
}

/// A directive of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    /// Preferences for this message.
    Message(QueuePreferences),
    /// Preferences for the session from now on.
    Session(QueuePreferences),
    /// Reset of the session's preferences.
    Default,
    /// Stops the sender's waiting items and running turn; the owner's stops those of all senders.
    Stop,
}

/// An unreadable directive, with the word at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectiveError {
    word: String,
}

impl fmt::Display for DirectiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.word.is_empty() {
            f.write_str("/queue stands alone")?;
        } else {
            write!(f, "/queue does not know `{}`", self.word)?;
        }
        f.write_str(
            "; write `/queue steer`, `followup`, `collect`, `interrupt` or `default`, then \
             `debounce:2s`, `cap:20`, `drop:old`, `drop:new` or `drop:summarize` if you like, then the message",
        )
    }
}

impl std::error::Error for DirectiveError {}

/// Separates the directive from a message.
pub fn read(text: &str) -> Result<ParsedMessage, DirectiveError> {
    let begun = text.trim_start();
    if let Some(rest) = after_command(begun, "/steer").filter(|rest| !rest.trim().is_empty()) {
        let wish = QueuePreferences { mode: Some(Delivery::Steer), ..QueuePreferences::default() };
        return Ok(ParsedMessage {
            text: rest.trim().to_owned(),
            directive: Some(Directive::Message(wish)),
        });
    }
    if after_command(begun, "/stop").is_some_and(|rest| rest.trim().is_empty()) {
        return Ok(ParsedMessage { text: String::new(), directive: Some(Directive::Stop) });
    }
    match after_command(begun, "/queue") {
        Some(rest) => read_queue(rest),
        None => Ok(ParsedMessage { text: text.to_owned(), directive: None }),
    }
}

/// Returns the text after the command, if the text begins with it as a word of its own.
fn after_command<'a>(text: &'a str, command: &str) -> Option<&'a str> {
    let (begin, rest) = text.split_at_checked(command.len())?;
    let is_word = rest.is_empty() || rest.starts_with(char::is_whitespace);
    (begin.eq_ignore_ascii_case(command) && is_word).then_some(rest)
}

fn read_queue(text: &str) -> Result<ParsedMessage, DirectiveError> {
    let mut wish = QueuePreferences::default();
    let mut rest = text.trim_start();
    let first = word(rest);
    if matches!(first.to_ascii_lowercase().as_str(), "default" | "reset") {
        let after = rest[first.len()..].trim();
        return if after.is_empty() {
            Ok(ParsedMessage { text: String::new(), directive: Some(Directive::Default) })
        } else {
            Err(unreadable(word(after)))
        };
    }
    if let Ok(mode) = first.parse() {
        wish.mode = Some(mode);
        rest = rest[first.len()..].trim_start();
    } else if option(first, &mut wish)? != OptionMatch::Option {
        return Err(unreadable(first));
    }
    while option(word(rest), &mut wish)? == OptionMatch::Option {
        rest = rest[word(rest).len()..].trim_start();
    }
    let text = rest.trim_end().to_owned();
    let directive =
        if text.is_empty() { Directive::Session(wish) } else { Directive::Message(wish) };
    Ok(ParsedMessage { text, directive: Some(directive) })
}

#[derive(PartialEq, Eq)]
enum OptionMatch {
    Option,
    Nothing,
}

fn option(word: &str, wish: &mut QueuePreferences) -> Result<OptionMatch, DirectiveError> {
    let Some((name, value)) = word.split_once(':') else { return Ok(OptionMatch::Nothing) };
    match name.to_ascii_lowercase().as_str() {
        "debounce" => wish.debounce_ms = Some(milliseconds(value).ok_or_else(|| unreadable(word))?),
        "cap" => {
            let cap = value.parse().ok().filter(|cap| *cap > 0);
            wish.cap = Some(cap.ok_or_else(|| unreadable(word))?);
        }
        "drop" => wish.drop = Some(value.parse().map_err(|_| unreadable(word))?),
        _ => return Ok(OptionMatch::Nothing),
    }
    Ok(OptionMatch::Option)
}

/// Parses `500`, `500ms`, `2s`, `1m`.
fn milliseconds(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

fn word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

fn unreadable(word: &str) -> DirectiveError {
    DirectiveError { word: word.chars().take(DIRECTIVE_WORD_CHARS_MAX).collect() }
}
