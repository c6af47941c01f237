//! `cargo xtask bench --beside DIR`: measures this and an earlier checkout in turns, prints ratios.
//!
//! Each round runs one part of this program twice, once for each checkout, and reads the printed
//! tables. Every row of figures is compared, so a new part needs no code here.
//!
//! Must never: compare figures of different rows, or measure a round that failed.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::bench::usage::median;
use crate::child;
use crate::failure::CommandFailure;

/// Units that may follow a figure.
const UNITS: [&str; 8] = ["ms", "s", "µs", "ns", "KiB", "MiB", "%", "x"];

/// A part to measure, and the number of rounds.
pub(crate) struct Comparison<'a> {
    pub(crate) part: &'a str,
    /// The checkout of the earlier version.
    pub(crate) earlier: &'a Path,
    pub(crate) rounds: usize,
}

impl Comparison<'_> {
    pub(crate) fn run(&self) -> Result<(), CommandFailure> {
        let mut now = FigureTable::default();
        let mut before = FigureTable::default();
        for round in 1..=self.rounds {
            println!("\nRound {round} of {}: {}", self.rounds, self.part);
            before.add(&self.printed(&["--from", &self.earlier.to_string_lossy()])?);
            now.add(&self.printed(&[])?);
        }
        println!(
            "\n{} beside {}, median of {} rounds in turns",
            self.part,
            self.earlier.display(),
            self.rounds
        );
        print!("{}", now.beside(&before));
        Ok(())
    }

    /// Runs the part in a process of its own, and returns its output.
    fn printed(&self, options: &[&str]) -> Result<String, CommandFailure> {
        let program = std::env::current_exe().map_err(|error| {
            CommandFailure::new(format!("Could not find this program: {error}."))
        })?;
        let mut command = Command::new(program);
        command.args(["bench", self.part]).args(options).stderr(Stdio::inherit());
        let output = child::stdout_of(&mut command)?;
        Ok(String::from_utf8_lossy(&output).into_owned())
    }
}

/// Rows of figures by heading and label, in the order in which they were printed first.
#[derive(Default)]
struct FigureTable {
    order: Vec<String>,
    rows: BTreeMap<String, FigureRow>,
}

#[derive(Default)]
struct FigureRow {
    columns: String,
    /// The figures of each round.
    rounds: Vec<Vec<f64>>,
}

impl FigureTable {
    fn add(&mut self, printed: &str) {
        let mut columns = String::new();
        for line in printed.lines() {
            let Some((label, figures)) = row(line) else {
                if line.contains("  ") {
                    columns = line.trim().to_owned();
                }
                continue;
            };
            if !self.rows.contains_key(&label) {
                self.order.push(label.clone());
            }
            let row = self.rows.entry(label).or_default();
            row.columns.clone_from(&columns);
            row.rounds.push(figures);
        }
    }

    /// Renders each row as earlier median, present median and ratio, a triple for each column.
    fn beside(&self, earlier: &Self) -> String {
        let mut text = String::new();
        let mut columns = "";
        for label in &self.order {
            let now = &self.rows[label];
            if now.columns != columns {
                columns = &now.columns;
                text.push_str(&format!("\n{columns}\n"));
            }
            let before = earlier.rows.get(label).map(FigureRow::medians).unwrap_or_default();
            text.push_str(&format!("{label:<46}"));
            for (column, now) in now.medians().into_iter().enumerate() {
                match before.get(column) {
                    Some(&before) if before != 0.0 => {
                        text.push_str(&format!(
                            " {before:>10.2} {now:>10.2} {:>6.2}x",
                            now / before
                        ));
                    }
                    Some(&before) => text.push_str(&format!(" {before:>10.2} {now:>10.2}       -")),
                    None => text.push_str(&format!("          - {now:>10.2}       -")),
                }
            }
            text.push('\n');
        }
        text
    }
}

impl FigureRow {
    fn medians(&self) -> Vec<f64> {
        let width = self.rounds.iter().map(Vec::len).min().unwrap_or_default();
        (0..width)
            .map(|column| median(self.rounds.iter().map(|figures| figures[column]).collect()))
            .collect()
    }
}

/// Splits a printed row into its label and its figures; None if the line is not a row.
fn row(line: &str) -> Option<(String, Vec<f64>)> {
    let mut words: Vec<&str> = line.split_whitespace().collect();
    let mut figures = Vec::new();
    loop {
        if words.last().is_some_and(|word| UNITS.contains(word)) {
            words.pop();
        }
        let Some(figure) = words.last().and_then(|word| figure(word)) else { break };
        figures.push(figure);
        words.pop();
    }
    figures.reverse();
    let is_set_apart = line.contains("  ");
    (is_set_apart && !words.is_empty() && !figures.is_empty()).then(|| (words.join(" "), figures))
}

fn figure(word: &str) -> Option<f64> {
    let digits = word.replace(',', "");
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '-').then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_label_and_figures_with_or_without_units() {
        let of = |line: &str| row(line).map(|(label, figures)| (label, figures.len()));
        assert_eq!(
            of("20     agentry, no sandbox        190.0     2.11"),
            Some(("20 agentry, no sandbox".into(), 2))
        );
        assert_eq!(
            of("from the ledger, half                   12 ms"),
            Some(("from the ledger, half".into(), 1))
        );
        assert_eq!(of("calls                     cpu ms  of null"), None);
        assert_eq!(of("2 cores; load 0.7."), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn medians_of_the_same_row_are_compared() {
        let (mut now, mut before) = (FigureTable::default(), FigureTable::default());
        for figure in ["1.0", "3.0", "2.0"] {
            now.add(&format!("          ms\na      {figure}\n"));
            before.add("          ms\na        4.0\n");
        }
        let text = now.beside(&before);
        assert!(text.contains("4.00") && text.contains("2.00") && text.contains("0.50x"), "{text}");
    }

    #[test]
    fn a_row_that_the_earlier_version_lacks_has_no_ratio() {
        let mut now = FigureTable::default();
        now.add("new row     7\n");
        let text = now.beside(&FigureTable::default());
        assert!(text.contains("7.00") && !text.contains('x'), "{text}");
    }
}
