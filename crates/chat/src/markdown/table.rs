//! Renders a table as rows: columns as wide as they need, within the width.
//!
//! Must never: make a row wider than requested.

use pulldown_cmark::Alignment;
use ratatui::text::Span;

use crate::style::{BOLD, DIM, StyledRow};
use crate::wrap::{row_width, wrapped};

/// The separator of two columns.
const GAP: &str = " │ ";
/// The minimum width of a column.
const COLUMN_MIN: usize = 3;

/// A table that is being parsed.
pub(super) struct MarkdownTable {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<StyledRow>>,
    now: Vec<StyledRow>,
}

impl MarkdownTable {
    pub(super) fn new(alignments: &[Alignment]) -> Self {
        Self { alignments: alignments.to_vec(), rows: Vec::new(), now: Vec::new() }
    }

    pub(super) fn cell(&mut self, spans: Vec<Span<'static>>) {
        self.now.push(StyledRow::from(spans));
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.now));
    }

    pub(super) fn rows(self, columns: usize) -> Vec<StyledRow> {
        let widths = self.widths(columns);
        let mut all = Vec::new();
        for (at, cells) in self.rows.iter().enumerate() {
            let head = at == 0;
            let cells: Vec<Vec<StyledRow>> = widths
                .iter()
                .enumerate()
                .map(|(at, wide)| {
                    cells.get(at).map_or_else(Vec::new, |cell| wrapped(cell, *wide, 0))
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(1);
            for line in 0..height {
                all.push(self.line(&cells, &widths, line, head));
            }
            if head {
                let lines: Vec<String> = widths.iter().map(|wide| "─".repeat(*wide)).collect();
                all.push(StyledRow::from(Span::styled(lines.join("─┼─"), DIM)));
            }
        }
        all
    }

    fn line(
        &self,
        cells: &[Vec<StyledRow>],
        widths: &[usize],
        line: usize,
        head: bool,
    ) -> StyledRow {
        let mut spans = Vec::new();
        for (at, wide) in widths.iter().enumerate() {
            if at > 0 {
                spans.push(Span::styled(GAP, DIM));
            }
            let row = cells[at].get(line).cloned().unwrap_or_default();
            let free = wide.saturating_sub(row_width(&row));
            let before = match self.alignments.get(at) {
                Some(Alignment::Right) => free,
                Some(Alignment::Center) => free / 2,
                Some(Alignment::Left | Alignment::None) | None => 0,
            };
            spans.push(Span::raw(" ".repeat(before)));
            let styled = row.spans.into_iter().map(|span| {
                if head { Span::styled(span.content, BOLD.patch(span.style)) } else { span }
            });
            spans.extend(styled);
            if at + 1 < widths.len() {
                spans.push(Span::raw(" ".repeat(free - before)));
            }
        }
        StyledRow::from(spans)
    }

    /// Returns the widths of the columns; shrinks the widest first.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let gaps = (count - 1) * 3;
        let room = columns.saturating_sub(gaps).max(count);
        let wide = |at: usize| self.rows.iter().filter_map(|row| row.get(at)).map(row_width).max();
        let mut widths: Vec<usize> = (0..count).map(|at| wide(at).unwrap_or(0).max(1)).collect();
        while widths.iter().sum::<usize>() > room {
            let widest = widths.iter_mut().max();
            match widest {
                Some(widest) if *widest > COLUMN_MIN.min(room / count).max(1) => *widest -= 1,
                Some(_) | None => break,
            }
        }
        widths
    }
}
