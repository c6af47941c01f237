//! Reads the screen that `tmux capture-pane -e` prints: text with its colors.
//!
//! Every character counts as one column wide; the recorded session has no wide ones.
//!
//! Must never: guess at a sequence that it does not know; that is a failure with its name.

use crate::failure::CommandFailure;

/// The colors and weights of a piece of text.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct TextStyle {
    /// One of the sixteen colors of a terminal; none is the default color.
    pub(super) color: Option<u8>,
    pub(super) bold: bool,
    pub(super) underline: bool,
}

/// A piece of a row in one style.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StyledText {
    /// The first column, from zero.
    pub(super) column: usize,
    pub(super) text: String,
    pub(super) style: TextStyle,
}

/// Returns the rows of a screen. A style holds until it is changed, also over the end of a row.
pub(super) fn rows(screen: &str) -> Result<Vec<Vec<StyledText>>, CommandFailure> {
    let mut style = TextStyle::default();
    screen.lines().map(|line| row(line, &mut style)).collect()
}

fn row(line: &str, style: &mut TextStyle) -> Result<Vec<StyledText>, CommandFailure> {
    let mut texts: Vec<StyledText> = Vec::new();
    let mut column = 0;
    let mut rest = line;
    while let Some(char) = rest.chars().next() {
        if char == '\u{1b}' {
            let (codes, after) = sequence(rest).ok_or_else(|| unknown(rest))?;
            apply(codes, style).ok_or_else(|| unknown(codes))?;
            rest = after;
            continue;
        }
        match texts.last_mut().filter(|last| last.style == *style) {
            Some(last) => last.text.push(char),
            None => texts.push(StyledText { column, text: char.into(), style: *style }),
        }
        column += 1;
        rest = &rest[char.len_utf8()..];
    }
    Ok(texts)
}

/// Splits `ESC [ codes m rest` into the codes and the rest.
fn sequence(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix("\u{1b}[")?.split_once('m')
}

fn apply(codes: &str, style: &mut TextStyle) -> Option<()> {
    for code in codes.split(';') {
        match code.parse().or(if code.is_empty() { Ok(0_u8) } else { Err(()) }).ok()? {
            0 => *style = TextStyle::default(),
            1 => style.bold = true,
            4 => style.underline = true,
            22 => style.bold = false,
            24 => style.underline = false,
            color @ 30..=37 => style.color = Some(color - 30),
            39 => style.color = None,
            // The default background; no other is used.
            49 => {}
            color @ 90..=97 => style.color = Some(color - 90 + 8),
            _ => return None,
        }
    }
    Some(())
}

fn unknown(sequence: &str) -> CommandFailure {
    let start: String = sequence.chars().take(12).collect();
    CommandFailure::new(format!(
        "The screen holds the unknown sequence {start:?}. Add it to xtask/src/pictures/ansi.rs."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each piece as `column:style:text`, with `b`, `u` and the color as the style.
    #[track_caller]
    fn check(screen: &str, expected: &[&[&str]]) {
        let rows = rows(screen).unwrap_or_else(|failure| panic!("{failure}"));
        let spelled = |piece: &StyledText| {
            let TextStyle { color, bold, underline } = piece.style;
            let bold = if bold { "b" } else { "" };
            let underline = if underline { "u" } else { "" };
            let color = color.map(|color| color.to_string()).unwrap_or_default();
            format!("{}:{bold}{underline}{color}:{}", piece.column, piece.text)
        };
        let found: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(spelled).collect()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn plain_text_is_one_piece_per_row() {
        check("one\n\n two", &[&["0::one"], &[], &["0:: two"]]);
    }

    #[test]
    fn a_color_starts_a_piece_at_its_column() {
        check(
            "a \u{1b}[1m\u{1b}[32m+b\u{1b}[39m c\u{1b}[0m\u{1b}[90m\u{1b}[49m d",
            &[&["0::a ", "2:b2:+b", "4:b: c", "6:8: d"]],
        );
    }

    #[test]
    fn a_style_holds_over_the_end_of_a_row() {
        check("\u{1b}[1;4;31ma\nb\u{1b}[m c", &[&["0:bu1:a"], &["0:bu1:b", "1:: c"]]);
    }

    #[test]
    fn a_character_of_several_bytes_is_one_column() {
        check("›…\u{1b}[33m●", &[&["0::›…", "2:3:●"]]);
    }

    #[test]
    fn an_unknown_sequence_is_named() {
        for screen in ["\u{1b}[38;5;200mx", "\u{1b}]0;title", "\u{1b}[41mred"] {
            let failure = rows(screen).expect_err("it is unknown").to_string();
            assert!(failure.starts_with("The screen holds the unknown sequence"), "{failure}");
        }
    }
}
