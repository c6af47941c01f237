//! The invocation of a shell: its known options, and the start of its script or code.
//!
//! Must never: call an option known that makes a shell run another file or other code.

use super::ShellWord;

/// Returns true for options that change neither the code that a shell runs nor its position.
pub(super) fn is_shell_option(text: &str) -> bool {
    let is_setting = text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    match text.strip_prefix(['-', '+']) {
        Some("-login" | "-norc" | "-noprofile" | "-posix" | "-version" | "-help" | "-") => true,
        Some(row) => {
            let letters = row.strip_suffix(['o', 'O']).unwrap_or(row);
            letters.chars().all(|letter| "abcefhilmnpsuvxBCEH".contains(letter))
        }
        // The value of `-o`.
        None => is_setting,
    }
}

/// Returns the position after the options; a group ending in `o` takes a word: `-euo pipefail`.
pub(super) fn after_shell_options(words: &[ShellWord]) -> usize {
    let mut at = 1;
    while let Some(text) = words
        .get(at)
        .and_then(ShellWord::literal)
        .filter(|text| text.starts_with(['-', '+']) && text.len() > 1)
    {
        if text == "--" {
            return at + 1;
        }
        let is_row = !text.starts_with("--");
        let takes_next =
            (is_row && text.ends_with(['o', 'O'])) || matches!(text, "--rcfile" | "--init-file");
        at += 1 + usize::from(takes_next);
    }
    at.min(words.len())
}
