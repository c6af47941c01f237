//! Formats a table as lines of text.
//!
//! Must never: contain markup; a cell is plain text.

/// The rows of a table, collected while parsing.
#[derive(Clone, Debug, Default)]
pub(super) struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(row) = self.rows.last_mut() {
            row.push(text);
        }
    }

    /// Returns aligned columns, with a line under the head.
    pub(super) fn aligned(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let wide = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(wide).collect();
        let mut lines: Vec<String> = self.rows.iter().map(|row| line(row, &widths)).collect();
        if lines.len() > 1 {
            let rule: Vec<String> = widths.iter().map(|wide| "-".repeat(*wide)).collect();
            lines.insert(1, rule.join("-+-"));
        }
        lines.join("\n")
    }

    /// Returns the cells of each row in one line.
    pub(super) fn plain(&self) -> String {
        let lines: Vec<String> = self.rows.iter().map(|row| row.join(" | ")).collect();
        lines.join("\n")
    }
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cells = row.iter().zip(widths).map(|(cell, wide)| {
        let blank = wide.saturating_sub(cell.chars().count());
        format!("{cell}{}", " ".repeat(blank))
    });
    cells.collect::<Vec<_>>().join(" | ").trim_end().to_owned()
}
