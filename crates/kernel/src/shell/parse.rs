//! Parses text to a syntax tree, within limits that the grammar itself does not have.
//!
//! The grammar parses nested words by trial, at a cost that can double with each level. So nested
//! words are replaced before it runs and scanned by `word` afterwards. Bodies of quoted heredocs
//! are replaced even earlier: they are data, often long, and full of brackets.
//!
//! Must never: pass the grammar a text whose nesting has not been counted.

use std::borrow::Cow;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use brush_parser::ast::Program;
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str};

use crate::limits::{
    SHELL_CASES_MAX, SHELL_COMMAND_BYTES_MAX, SHELL_EXPANSIONS_MAX, SHELL_GROUPS_MAX,
    SHELL_PARENTHESES_DEPTH_MAX,
};

/// Marks a replaced word. A private-use character, which is refused in the text itself.
const ASIDE: char = '\u{f8ff}';

/// A syntax tree, and the texts that were replaced in it.
pub(super) struct ParsedScript {
    pub(super) program: Program,
    /// Bodies first, then words.
    aside: Vec<String>,
    bodies: usize,
    /// The number of bodies found where a heredoc belongs.
    restored: Cell<usize>,
}

impl ParsedScript {
    /// Returns the word as written.
    pub(super) fn written(&self, word: &str) -> String {
        let Some((head, number)) = word.split_once(ASIDE) else {
            return word.to_owned();
        };
        let text = number_of(number).and_then(|at| self.aside.get(at)).map_or("", String::as_str);
        if text.contains(ASIDE) {
            format!("{head}{}", self.filled(text))
        } else {
            format!("{head}{text}")
        }
    }

    /// Returns true if every text treated as a heredoc body is one.
    pub(super) fn is_whole(&self) -> bool {
        self.restored.get() == self.bodies
    }

    /// Restores the bodies inside a word.
    fn filled(&self, text: &str) -> String {
        let mut parts = text.split(ASIDE);
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            // A mark is a number, padded with blanks to the length of the replaced text.
            let (mark, after) = part.split_once('\n').unwrap_or(("", part));
            let body = number_of(mark).and_then(|at| self.aside.get(at));
            self.restored.set(self.restored.get() + usize::from(body.is_some()));
            filled.push_str(body.map_or(mark, String::as_str));
            filled.push_str(after);
        }
        filled
    }
}

fn number_of(mark: &str) -> Option<usize> {
    mark.trim_end().parse().ok()
}

/// Parses a text; the error says why it has no tree.
pub(super) fn parse(text: &str) -> Result<ParsedScript, String> {
    check_text(text)?;
    let (text, mut aside) = without_bodies(text);
    check_expansions(&text)?;
    check_delimiters(&text)?;
    let bodies = aside.len();
    // The grammar is third-party code, and there are texts on which it panics.
    let program = catch_unwind(AssertUnwindSafe(|| program(&text, &mut aside)))
        .unwrap_or_else(|_| Err("not a shell command: the grammar gave up".to_owned()))?;
    Ok(ParsedScript { program, aside, bodies, restored: Cell::new(0) })
}

fn program(text: &str, aside: &mut Vec<String>) -> Result<Program, String> {
    let options = ParserOptions::default();
    let mut tokens = uncached_tokenize_str(text, &options.tokenizer_options())
        .map_err(|error| format!("not a shell command: {error}"))?;
    check_tokens(&tokens)?;
    for token in &mut tokens {
        if let Token::Word(value, _) = token {
            put_aside(value, aside);
        }
    }
    parse_tokens(&tokens, &options)
        .map_err(|_| "not a shell command: the grammar does not know it".to_owned())
}

/// Replaces each heredoc with a quoted delimiter by a mark; returns the bodies too. A line may only
/// look like the start of one; `is_whole` verifies this in the end.
fn without_bodies(text: &str) -> (Cow<'_, str>, Vec<String>) {
    if !text.contains("<<") {
        return (Cow::Borrowed(text), Vec::new());
    }
    let (mut kept, mut bodies) = (String::with_capacity(text.len()), Vec::new());
    let mut rest = text;
    while let Some(end) = rest.find('\n') {
        let (line, after) = rest.split_at(end + 1);
        kept.push_str(line);
        rest = after;
        let Some((delimiter, tabs)) = quoted_delimiter(line) else { continue };
        let mut length = 0;
        for line in rest.split_inclusive('\n') {
            let bare = line.trim_end_matches('\n');
            let bare = if tabs { bare.trim_start_matches('\t') } else { bare };
            if bare == delimiter {
                // The mark is as long as the body, so that all positions stay valid.
                let width = rest[..length].chars().count();
                let mark = format!("{ASIDE}{}", bodies.len());
                if mark.chars().count() < width {
                    kept.push_str(&format!("{mark:<0$}\n", width - 1));
                    bodies.push(rest[..length].to_owned());
                    rest = &rest[length..];
                }
                break;
            }
            length += line.len();
        }
    }
    kept.push_str(rest);
    (Cow::Owned(kept), bodies)
}

/// Returns the delimiter if a line starts exactly one, quoted heredoc; true if tabs are stripped.
fn quoted_delimiter(line: &str) -> Option<(&str, bool)> {
    let (_, after) = line.split_once("<<")?;
    if after.contains("<<") {
        return None;
    }
    let tabs = after.starts_with('-');
    let after = after.trim_start_matches('-').trim_start_matches([' ', '\t']);
    let quote = after.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (delimiter, _) = after[1..].split_once(quote)?;
    Some((delimiter, tabs))
}

fn check_text(text: &str) -> Result<(), String> {
    if text.len() > SHELL_COMMAND_BYTES_MAX {
        return Err(format!("longer than {SHELL_COMMAND_BYTES_MAX} bytes"));
    }
    if let Some(strange) = text.chars().find(|c| is_strange(*c)) {
        return Err(format!("a character that does not show: U+{:04X}", u32::from(strange)));
    }
    Ok(())
}

fn check_expansions(text: &str) -> Result<(), String> {
    let opened = ["$(", "${", "$[", "`", "<(", ">("].iter().map(|open| text.matches(open).count());
    if opened.sum::<usize>() > SHELL_EXPANSIONS_MAX {
        return Err(format!("more than {SHELL_EXPANSIONS_MAX} substitutions"));
    }
    Ok(())
}

/// Returns true for characters that are invisible, or that shells treat differently.
fn is_strange(c: char) -> bool {
    let seen = matches!(c, '\n' | '\t' | ' ');
    let hidden = matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | ASIDE);
    !seen && (c.is_control() || c.is_whitespace() || hidden)
}

/// Rejects unusual delimiters: the tokenizer never ends on a heredoc with an empty one.
fn check_delimiters(text: &str) -> Result<(), String> {
    if !text.contains("<<") && !text.contains("<\\\n") {
        return Ok(());
    }
    let text = text.replace("\\\n", "");
    let mut rest = text.as_str();
    while let Some(at) = rest.find("<<") {
        let run = rest[at..].find(|c| c != '<').unwrap_or(rest.len() - at);
        rest = &rest[at + run..];
        // Three are a here-string, which has no delimiter.
        if run != 3
            && !is_plain_delimiter(rest.trim_start_matches('-').trim_start_matches([' ', '\t']))
        {
            return Err("a heredoc with a strange delimiter".to_owned());
        }
    }
    Ok(())
}

/// Returns true if a text begins with a word, bare or quoted, and no text is joined to it.
fn is_plain_delimiter(text: &str) -> bool {
    let is_strange = |c: char| "'\"\\$`()<>\n".contains(c);
    let (word, after) = match text.chars().next() {
        Some(quote @ ('\'' | '"')) => match text[1..].split_once(quote) {
            Some(parts) => parts,
            None => return false,
        },
        Some('\\') => text[1..].split_at(text[1..].find(ends_word).unwrap_or(text.len() - 1)),
        _ => text.split_at(text.find(ends_word).unwrap_or(text.len())),
    };
    !word.trim().is_empty()
        && !word.contains(is_strange)
        && after.chars().next().is_none_or(ends_word)
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || ";|&<>)".contains(c)
}

fn check_tokens(tokens: &[Token]) -> Result<(), String> {
    let (mut groups, mut cases, mut depth) = (0, 0, 0_usize);
    for token in tokens {
        match token.to_str() {
            "case" => cases += 1,
            "if" | "while" | "until" | "for" | "select" | "coproc" | "function" | "{" => {
                groups += 1
            }
            "(" => {
                groups += 1;
                depth += 1;
            }
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > SHELL_PARENTHESES_DEPTH_MAX {
            return Err(format!("more than {SHELL_PARENTHESES_DEPTH_MAX} parentheses deep"));
        }
    }
    if groups > SHELL_GROUPS_MAX || cases > SHELL_CASES_MAX {
        return Err(format!("more than {SHELL_GROUPS_MAX} groups or {SHELL_CASES_MAX} cases"));
    }
    Ok(())
}

/// Replaces a value. An assignment keeps its name, so that the grammar still sees it as one.
fn put_aside(value: &mut String, words: &mut Vec<String>) {
    let is_plain = !value.contains(['$', '`', '[', '(', '{', ASIDE]);
    if is_plain || matches!(value.as_str(), "[" | "[[" | "{") {
        return;
    }
    let name = value.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(0);
    let rest = &value[name..];
    let equals = if rest.starts_with('=') { 1 } else { 2 * usize::from(rest.starts_with("+=")) };
    let kept = name + equals;
    words.push(value[kept..].to_owned());
    value.truncate(kept);
    value.push(ASIDE);
    value.push_str(&(words.len() - 1).to_string());
}
