//! Styles of the chat in at most sixteen colors, and rows as bytes for the terminal.
//!
//! The terminal's theme defines the colors, so none is given as RGB.
//!
//! Must never: write a color in plain mode, or a control character from a text.

use agentry_frontend::diagnostics::escaped;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// Mode of styling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StyleMode {
    /// Colors and weights.
    Color,
    /// Text only.
    Plain,
}

/// A row that is ready to be drawn.
pub(crate) type StyledRow = Line<'static>;

pub(crate) const DIM: Style = Style::new().fg(Color::DarkGray);
pub(crate) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub(crate) const ITALIC: Style = Style::new().add_modifier(Modifier::ITALIC);
pub(crate) const STRUCK: Style = Style::new().add_modifier(Modifier::CROSSED_OUT);
pub(crate) const CODE: Style = Style::new().fg(Color::Cyan);
pub(crate) const LINK: Style = Style::new().fg(Color::Blue).add_modifier(Modifier::UNDERLINED);
pub(crate) const HEADING: Style = Style::new().fg(Color::Magenta).add_modifier(Modifier::BOLD);
pub(crate) const GOOD: Style = Style::new().fg(Color::Green);
pub(crate) const BAD: Style = Style::new().fg(Color::Red);
pub(crate) const WARN: Style = Style::new().fg(Color::Yellow);
pub(crate) const YOU: Style = Style::new().fg(Color::Blue).add_modifier(Modifier::BOLD);

/// Returns a row of one style; control characters of the text are escaped.
pub(crate) fn row(text: impl AsRef<str>, style: Style) -> StyledRow {
    StyledRow::from(span(text, style))
}

/// Returns a part of a row; line ends and tabs become spaces.
pub(crate) fn span(text: impl AsRef<str>, style: Style) -> Span<'static> {
    Span::styled(clean(text.as_ref()), style)
}

/// Returns text for a row: escaped, without line ends and tabs.
pub(crate) fn clean(text: &str) -> String {
    escaped(text).replace('\n', " ").replace('\t', "    ")
}

/// Returns a row of several parts.
pub(crate) fn joined(spans: impl IntoIterator<Item = Span<'static>>) -> StyledRow {
    StyledRow::from(spans.into_iter().collect::<Vec<_>>())
}

/// Returns the bytes of a row, without a line end.
pub(crate) fn bytes(row: &StyledRow, ink: StyleMode) -> String {
    let mut out = String::new();
    for one in &row.spans {
        let codes = match ink {
            StyleMode::Color => codes(row.style.patch(one.style)),
            StyleMode::Plain => String::new(),
        };
        if codes.is_empty() {
            out.push_str(&one.content);
        } else {
            out.push_str(&format!("\x1b[{codes}m{}\x1b[0m", one.content));
        }
    }
    out
}

fn codes(style: Style) -> String {
    let mut codes = Vec::new();
    let weights = [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ];
    for (weight, code) in weights {
        if style.add_modifier.contains(weight) {
            codes.push(code.to_owned());
        }
    }
    codes.extend(style.fg.and_then(|color| color_code(color, 30)));
    codes.extend(style.bg.and_then(|color| color_code(color, 40)));
    codes.join(";")
}

/// Returns the code of one of the sixteen colors; `base` is 30 for text and 40 for the background.
fn color_code(color: Color, base: u8) -> Option<String> {
    let number = match color {
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 60,
        Color::LightRed => 61,
        Color::LightGreen => 62,
        Color::LightYellow => 63,
        Color::LightBlue => 64,
        Color::LightMagenta => 65,
        Color::LightCyan => 66,
        Color::White => 67,
        Color::Reset | Color::Rgb(..) | Color::Indexed(_) => return None,
    };
    Some((base + number).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_steer_the_terminal() {
        let shown = bytes(&row("a\x1b[31mb\x07\r\u{202e}c", Style::new()), StyleMode::Color);
        assert_eq!(shown, "a\\u{1b}[31mb\\u{7}\\u{d}\\u{202e}c");
    }

    #[test]
    fn sixteen_colors_and_no_others() {
        let one = |style| bytes(&row("x", style), StyleMode::Color);
        assert_eq!(one(HEADING), "\x1b[1;35mx\x1b[0m");
        assert_eq!(one(DIM), "\x1b[90mx\x1b[0m");
        assert_eq!(one(Style::new().fg(Color::Rgb(1, 2, 3))), "x");
    }

    #[test]
    fn without_color_there_is_only_text() {
        assert_eq!(bytes(&row("x", HEADING), StyleMode::Plain), "x");
    }
}
