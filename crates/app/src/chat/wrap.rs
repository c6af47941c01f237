//! Breaks rows to a width: at spaces where it can, inside of a word where it must.
//!
//! Width is what a terminal shows, not how many characters there are.
//!
//! Must never: make a row wider than asked for, unless one character alone is.

use ratatui::style::Style;
use ratatui::text::Span;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::ink::Row;

/// How wide a text is shown.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// How wide a row is shown.
pub(crate) fn row_width(row: &Row) -> usize {
    row.spans.iter().map(|span| width(&span.content)).sum()
}

/// Breaks a row; all but the first begin with `indent` spaces.
pub(crate) fn wrapped(row: &Row, columns: usize, indent: usize) -> Vec<Row> {
    let indent = indent.min(columns / 2);
    let mut lines = Breaker { columns, indent, rows: Vec::new(), now: Vec::new(), used: 0 };
    for span in &row.spans {
        for word in span.content.split_word_bounds() {
            lines.word(word, row.style.patch(span.style));
        }
    }
    lines.end()
}

/// Breaks a row wherever the width ends, as code and output want it.
pub(crate) fn chopped(row: &Row, columns: usize) -> Vec<Row> {
    let mut lines = Breaker { columns, indent: 0, rows: Vec::new(), now: Vec::new(), used: 0 };
    for span in &row.spans {
        lines.pieces(&span.content, row.style.patch(span.style));
    }
    lines.end()
}

/// The beginning of a text, so wide at most; one that is cut ends with an ellipsis.
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

/// A row that is cut at a width.
pub(crate) fn cut(row: &Row, columns: usize) -> Row {
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
    Row::from(spans).style(row.style)
}

struct Breaker {
    columns: usize,
    indent: usize,
    rows: Vec<Row>,
    now: Vec<Span<'static>>,
    used: usize,
}

impl Breaker {
    fn word(&mut self, word: &str, style: Style) {
        let wide = width(word);
        if self.used + wide <= self.columns {
            self.push(word, style, wide);
        } else if word.trim().is_empty() {
            // A space at the end of a row is not needed on the next one.
            self.next();
        } else if wide + self.indent <= self.columns {
            self.next();
            self.push(word, style, wide);
        } else {
            self.pieces(word, style);
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
        self.rows.push(Row::from(done));
        self.used = self.indent;
        if self.indent > 0 {
            self.now.push(Span::raw(" ".repeat(self.indent)));
        }
    }

    fn end(mut self) -> Vec<Row> {
        if self.used > self.indent || self.rows.is_empty() {
            self.rows.push(Row::from(self.now));
        }
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rows: &[Row]) -> Vec<String> {
        let one = |row: &Row| row.spans.iter().map(|span| &*span.content).collect();
        rows.iter().map(one).collect()
    }

    #[track_caller]
    fn check(line: &str, columns: usize, indent: usize, expected: &[&str]) {
        let rows = wrapped(&Row::from(line.to_owned()), columns, indent);
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
