//! Recognizes sed scripts that only read.
//!
//! Must never: call a script plain if any implementation of sed would write or execute by it.

use super::escape_argument::EscapeArgument;
use super::{ShellCommand, ShellWord};

/// Returns the arguments that may write or execute; only the plainest scripts are accepted.
pub(super) fn sed(simple: &ShellCommand) -> Vec<EscapeArgument> {
    let escape = |at: usize, why| EscapeArgument { at, why };
    let mut found = Vec::new();
    let mut given = Vec::new();
    let mut first = None;
    let mut words = simple.words.iter().enumerate().skip(1);
    while let Some((at, word)) = words.next() {
        match word.text() {
            "--" | "--quiet" | "--silent" | "--regexp-extended" | "--posix" | "--separate"
            | "--unbuffered" | "--null-data" | "--debug" | "--sandbox" | "--help" | "--version" => {
            }
            "--expression" => given.extend(words.next()),
            text if text.starts_with("--in-p") => {
                found.push(escape(at, "it changes files"));
            }
            text if text.starts_with("--") => {
                found.push(escape(at, "an option that is not known"));
            }
            text if text.starts_with('-') && text.len() > 1 => {
                let row = text[1..].strip_suffix('e');
                if row.is_some() {
                    given.extend(words.next());
                }
                let letters = row.unwrap_or(&text[1..]);
                // The letters after `i` are the suffix of a backup copy.
                let (letters, changes) = match letters.split_once('i') {
                    Some((before, _)) => (before, true),
                    None => (letters, false),
                };
                if changes {
                    found.push(escape(at, "it changes files"));
                }
                if !letters.chars().all(|letter| "nErsuz".contains(letter)) {
                    found.push(escape(at, "a script that is not seen"));
                }
            }
            // An empty word after `-i` is a script for one sed and a backup suffix for another.
            _ => {
                first = first
                    .filter(|(_, word): &(usize, &ShellWord)| !word.text().is_empty())
                    .or(Some((at, word)))
            }
        }
    }
    let scripts = if given.is_empty() { first.into_iter().collect() } else { given };
    let scripts: Vec<(usize, &ShellWord)> = scripts;
    let strange = scripts.into_iter().filter(|(_, word)| !word.literal().is_some_and(is_plain_sed));
    found.extend(strange.map(|(at, _)| escape(at, "a script that may write or execute")));
    found
}

fn is_plain_sed(script: &str) -> bool {
    // Implementations differ on whether a delimiter inside brackets ends the pattern.
    let inside = |from: usize| {
        if script.contains("[[:") {
            script[from..].rsplit_once(']').map_or("", |(inside, _)| inside)
        } else {
            script[from..].split(']').next().unwrap_or_default()
        }
    };
    if script.match_indices('[').any(|(at, _)| inside(at).contains(['/', '|', ',', '#', '@'])) {
        return false;
    }
    let mut rest = script.trim();
    while !rest.is_empty() {
        let Some(command) = after_addresses(rest) else { return false };
        let Some(after) = after_command(command) else { return false };
        rest = after.trim_start_matches([';', '\n', ' ', '}']);
    }
    true
}

/// Skips `1,$`, `/pattern/` and `!`.
fn after_addresses(mut text: &str) -> Option<&str> {
    loop {
        text = text.trim_start();
        text = match text.chars().next()? {
            '0'..='9' | '$' | ',' | '!' | '~' | '+' | '{' => &text[1..],
            '/' => after_delimited(&text[1..], '/')?,
            'I' => &text[1..],
            _ => return Some(text),
        };
    }
}

fn after_command(text: &str) -> Option<&str> {
    let command = text.chars().next().filter(char::is_ascii)?;
    let rest = &text[1..];
    match command {
        'p' | 'd' | 'q' | 'D' | 'P' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'l' => {
            Some(rest)
        }
        's' | 'y' => {
            let delimiter = rest.chars().next().filter(|c| "/|,#@".contains(*c))?;
            let after = after_delimited(after_delimited(&rest[1..], delimiter)?, delimiter)?;
            let flags =
                after.find(|c: char| !"gpiIMm0123456789".contains(c)).unwrap_or(after.len());
            Some(&after[flags..])
        }
        _ => None,
    }
    .filter(|after| after.is_empty() || after.starts_with([';', '\n', ' ', '}']))
}

fn after_delimited(text: &str, delimiter: char) -> Option<&str> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            c if c == delimiter => return Some(&text[at + 1..]),
            _ => {}
        }
    }
    None
}
