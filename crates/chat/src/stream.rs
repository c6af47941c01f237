//! A streaming answer: final rows go to the scrollback, others stay live.
//!
//! Must never: show a row twice, or change a row in the scrollback.

use super::highlight::Highlighter;
use super::markdown;
use super::style::StyledRow;

/// A streaming answer.
#[derive(Default)]
pub(crate) struct AnswerStream {
    /// The text from the first block that is not complete in the scrollback.
    text: String,
    /// The number of its units that are in the scrollback.
    gone: usize,
    /// The length of the text that was searched for final units, in bytes.
    looked: usize,
    /// True if any row is in the scrollback.
    begun: bool,
    code: Highlighter,
}

impl AnswerStream {
    /// Adds a delta; leading line ends of the answer are dropped.
    pub(crate) fn push(&mut self, piece: &str) {
        let first = self.text.is_empty() && !self.begun;
        self.text.push_str(if first { piece.trim_start_matches('\n') } else { piece });
    }

    /// Drops all text that is not in the scrollback, because the model is called again.
    pub(crate) fn restart(&mut self) {
        *self = Self { begun: self.begun, ..Self::default() };
    }

    /// Returns true if there is no text yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && !self.begun
    }

    /// Returns new final rows for the scrollback. An incomplete line is not final: it may become a
    /// row of a table, an item, or the end of a block.
    pub(crate) fn settled(&mut self, columns: usize) -> Vec<StyledRow> {
        let whole = self.text.rfind('\n').map_or(0, |at| at + 1);
        if whole == self.looked {
            return Vec::new();
        }
        self.looked = whole;
        let units = markdown::units(&self.text[..whole], columns, &mut self.code);
        let Some(last) = units.len().checked_sub(1) else { return Vec::new() };
        let mut rows: Vec<StyledRow> = Vec::new();
        for unit in units.iter().take(last).skip(self.gone) {
            rows.extend(unit.rows.clone());
        }
        self.gone = self.gone.max(last);
        self.drop_whole(&units);
        self.begun |= !rows.is_empty();
        rows
    }

    /// Returns the rows that may still change.
    pub(crate) fn live(&mut self, columns: usize) -> Vec<StyledRow> {
        let units = markdown::units(&self.text, columns, &mut self.code);
        units.into_iter().skip(self.gone).flat_map(|unit| unit.rows).collect()
    }

    /// Returns the remaining rows and empties the stream.
    pub(crate) fn end(&mut self, columns: usize) -> Vec<StyledRow> {
        let rows = self.live(columns);
        *self = Self::default();
        rows
    }

    /// Removes blocks that are complete in the scrollback, so that they are not rendered again.
    fn drop_whole(&mut self, units: &[markdown::MarkdownUnit]) {
        let Some(first) = units.get(self.gone).map(|unit| unit.block).filter(|block| *block > 0)
        else {
            return;
        };
        let before = units.iter().filter(|unit| unit.block < first).count();
        // A separating row follows only another block; an empty line stands for that block.
        self.text = format!("{PARTED}{}", &self.text[first..]);
        self.looked = self.looked + PARTED.len() - first;
        self.gone -= before.min(self.gone);
    }
}

/// The text that keeps the separating row when the block before is removed.
const PARTED: &str = "\n";

#[cfg(test)]
mod tests {
    use super::*;

    fn text(rows: &[StyledRow]) -> Vec<String> {
        let one = |row: &StyledRow| row.spans.iter().map(|span| &*span.content).collect();
        rows.iter().map(one).collect()
    }

    const TEXT: &str = "# Hello\n\nSome text here.\n\n- one\n- two\n\n```rust\nlet a = 1;\nlet b = 2;\n\
                        let c = 3;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end.";

    #[test]
    fn piece_by_piece_comes_to_the_same_as_at_once() {
        for size in [1, 2, 3, 7, 50] {
            let mut stream = AnswerStream::default();
            let mut rows = Vec::new();
            for piece in TEXT.as_bytes().chunks(size) {
                stream.push(std::str::from_utf8(piece).unwrap());
                rows.extend(stream.settled(40));
            }
            rows.extend(stream.end(40));
            assert_eq!(text(&rows), text(&markdown::rows(TEXT, 40)), "in pieces of {size}");
        }
    }

    #[test]
    fn another_width_in_the_middle_repeats_and_loses_nothing() {
        let mut stream = AnswerStream::default();
        let mut shown = Vec::new();
        for (at, piece) in TEXT.split_inclusive(' ').enumerate() {
            stream.push(piece);
            shown.extend(stream.settled(if at % 2 == 0 { 40 } else { 24 }));
        }
        shown.extend(stream.end(40));
        let words = |rows: &[StyledRow]| {
            text(rows).join(" ").split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(words(&shown), words(&markdown::rows(TEXT, 40)));
    }

    #[test]
    fn lines_of_code_go_up_before_the_block_is_whole() {
        let mut stream = AnswerStream::default();
        stream.push("```rust\nlet a = 1;\nlet b = 2;\nlet c");
        assert_eq!(text(&stream.settled(40)), ["  let a = 1;"]);
        assert_eq!(text(&stream.live(40)), ["  let b = 2;", "  let c"]);
        assert!(stream.settled(40).is_empty());
    }
}
