//! Breaks rows to a width: at spaces if possible, else inside of a word.
//!
//! Width is measured in terminal columns, not in characters.
//!
//! Must never: make a row wider than requested, unless a single character is.

use ratatui::style::Style;
use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::style::StyledRow;

/// Returns the width of a text in terminal columns.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Returns the width of a row in terminal columns.
pub(crate) fn row_width(row: &StyledRow) -> usize {
    row.spans.iter().map(|span| width(&span.content)).sum()
}

/// Wraps a row at words; all rows but the first begin with `indent` spaces.
pub(crate) fn wrapped(row: &StyledRow, columns: usize, indent: usize) -> Vec<StyledRow> {
    let indent = indent.min(columns / 2);
    let mut lines = RowBreaker::new(columns, indent);
    // A word may have parts in several styles; it is not broken between them.
    let mut word: Vec<(&str, Style)> = Vec::new();
    for span in &row.spans {
        let style = row.style.patch(span.style);
        let mut rest = &*span.content;
        while let Some(first) = rest.chars().next() {
            let space = first == ' ';
            let end = rest.find(|c| (c == ' ') != space).unwrap_or(rest.len());
            let (piece, after) = rest.split_at(end);
            rest = after;
            if space {
                lines.word(&std::mem::take(&mut word));
                lines.space(piece, style);
            } else {
                word.push((piece, style));
            }
        }
    }
    lines.word(&word);
    lines.end()
}

/// Breaks a row exactly at the width, for code and output.
pub(crate) fn chopped(row: &StyledRow, columns: usize) -> Vec<StyledRow> {
    let mut lines = RowBreaker::new(columns, 0);
    for span in &row.spans {
        lines.pieces(&span.content, row.style.patch(span.style));
    }
    lines.end()
}

/// Cuts a text to a width; a cut text ends with an ellipsis.
pub(crate) fn short(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut cut = String::new();
    for piece in text.graphemes(true) {
        if width(&cut) + width(piece) + 1 > columns {
            break;
        }
        cut.push_str(piece);
    }
    cut.push('…');
    cut
}

/// Cuts a row to a width.
pub(crate) fn cut(row: &StyledRow, columns: usize) -> StyledRow {
    let mut left = columns;
    let mut spans = Vec::new();
    for span in &row.spans {
        let wide = width(&span.content);
        if wide <= left {
            spans.push(span.clone());
            left -= wide;
        } else {
            spans.push(Span::styled(short(&span.content, left), span.style));
            break;
        }
    }
    StyledRow::from(spans).style(row.style)
}

struct RowBreaker {
    columns: usize,
    indent: usize,
    rows: Vec<StyledRow>,
    now: Vec<Span<'static>>,
    used: usize,
}

impl RowBreaker {
    fn new(columns: usize, indent: usize) -> Self {
        Self { columns, indent, rows: Vec::new(), now: Vec::new(), used: 0 }
    }

    fn word(&mut self, parts: &[(&str, Style)]) {
        let wide: usize = parts.iter().map(|(text, _)| width(text)).sum();
        let fits = self.used + wide <= self.columns;
        if !fits && wide + self.indent <= self.columns {
            self.next();
        }
        let whole = fits || wide + self.indent <= self.columns;
        for (text, style) in parts {
            if whole { self.push(text, *style, width(text)) } else { self.pieces(text, *style) }
        }
    }

    /// Adds a space, or starts the next row if it does not fit.
    fn space(&mut self, text: &str, style: Style) {
        if self.used + width(text) <= self.columns {
            self.push(text, style, width(text))
        } else {
            self.next()
        }
    }

    fn pieces(&mut self, text: &str, style: Style) {
        for piece in text.graphemes(true) {
            let wide = width(piece);
            if self.used + wide > self.columns && self.used > self.indent {
                self.next();
            }
            self.push(piece, style, wide);
        }
    }

    fn push(&mut self, text: &str, style: Style, wide: usize) {
        let first = self.rows.is_empty() || self.used > self.indent;
        if !first && text.trim().is_empty() {
            return;
        }
        self.used += wide;
        match self.now.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(text),
            Some(_) | None => self.now.push(Span::styled(text.to_owned(), style)),
        }
    }

    fn next(&mut self) {
        let mut done = std::mem::take(&mut self.now);
        if let Some(last) = done.last_mut() {
            let end = last.content.trim_end_matches(' ').len();
            last.content.to_mut().truncate(end);
        }
        self.rows.push(StyledRow::from(done));
        self.used = self.indent;
        if self.indent > 0 {
            self.now.push(Span::raw(" ".repeat(self.indent)));
        }
    }

    fn end(mut self) -> Vec<StyledRow> {
        if self.used > self.indent || self.rows.is_empty() {
            self.rows.push(StyledRow::from(self.now));
        }
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rows: &[StyledRow]) -> Vec<String> {
        let one = |row: &StyledRow| row.spans.iter().map(|span| &*span.content).collect();
        rows.iter().map(one).collect()
    }

    #[track_caller]
    fn check(line: &str, columns: usize, indent: usize, expected: &[&str]) {
        let rows = wrapped(&StyledRow::from(line.to_owned()), columns, indent);
        assert_eq!(text(&rows), expected);
        assert!(rows.iter().all(|row| row_width(row) <= columns));
    }

    #[test]
    fn words_stay_whole_where_they_can() {
        check("one two three", 8, 0, &["one two", "three"]);
        check("- one two three", 9, 2, &["- one two", "  three"]);
    }

    #[test]
    fn a_word_that_is_too_long_is_broken() {
        check("abcdefghij", 4, 0, &["abcd", "efgh", "ij"]);
    }

    #[test]
    fn a_word_in_several_styles_stays_whole() {
        let bold = Style::new().add_modifier(ratatui::style::Modifier::BOLD);
        let row = StyledRow::from(vec![
            Span::raw("see the "),
            Span::styled("code", bold),
            Span::raw(", please"),
        ]);
        assert_eq!(text(&wrapped(&row, 12, 0)), ["see the", "code, please"]);
    }

    #[test]
    fn wide_characters_count_for_what_they_take() {
        check("日本語日本語", 5, 0, &["日本", "語日", "本語"]);
    }

    #[test]
    fn nothing_is_one_empty_row() {
        check("", 10, 2, &[""]);
    }

    #[test]
    fn a_text_that_is_cut_says_so() {
        assert_eq!(short("abcdef", 4), "abc…");
        assert_eq!(short("abcd", 4), "abcd");
        assert_eq!(short("日本語", 4), "日…");
    }
}
