//! Splits a text that the grammar rejects into words, without parsing.
//!
//! Good enough to refuse by, never to allow by: the text stays opaque.
//!
//! Must never: be used for a text that parses.

use super::ShellWord;
use crate::limits::{SHELL_COMMAND_BYTES_MAX, SHELL_COMMANDS_MAX};

/// Returns word lists that look like simple commands.
pub(super) fn commands(text: &str) -> Vec<Vec<ShellWord>> {
    let text = &text[..text.floor_char_boundary(SHELL_COMMAND_BYTES_MAX)];
    text.split(['\n', ';', '&', '|', '(', ')', '`', '{', '}'])
        .map(|piece| piece.split_whitespace().filter_map(word).collect::<Vec<_>>())
        .filter(|words| !words.is_empty())
        .take(SHELL_COMMANDS_MAX)
        .collect()
}

fn word(piece: &str) -> Option<ShellWord> {
    let text: String =
        piece.chars().filter(|c| !matches!(c, '\'' | '"' | '\\') && !c.is_control()).collect();
    let is_keyword =
        matches!(text.as_str(), "" | "if" | "then" | "else" | "do" | "while" | "until");
    if is_keyword {
        None
    } else if text.contains(['$', '*', '?', '~', '[']) {
        Some(ShellWord::Dynamic(text))
    } else {
        Some(ShellWord::Literal(text))
    }
}
