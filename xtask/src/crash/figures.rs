//! The counts of cases and results.
//!
//! Must never: forget a violation; each is printed when it is found.

use std::fmt;

#[derive(Default)]
pub(crate) struct CrashFigures {
    pub(crate) runs: u32,
    /// Processes that were started to run or resume.
    pub(crate) lives: u32,
    pub(crate) kills: u32,
    /// Runs whose beginning was printed: from there on the prompt must never be lost.
    pub(crate) inputs_acknowledged: u32,
    pub(crate) inputs_lost: u32,
    pub(crate) lines_twice: u32,
    pub(crate) uncertain: u32,
    /// Of the uncertain calls, those that had written their line.
    pub(crate) uncertain_happened: u32,
    pub(crate) verify_failures: u32,
    pub(crate) replay_differences: u32,
    /// Lines of text with counts that only one part has.
    pub(crate) notes: Vec<String>,
    pub(crate) violations: Vec<String>,
}

impl CrashFigures {
    pub(crate) fn violated(&mut self, what: impl Into<String>) {
        let what = what.into();
        println!("VIOLATION: {what}");
        self.violations.push(what);
    }
}

impl fmt::Display for CrashFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            ("runs", self.runs),
            ("process lives", self.lives),
            ("kills", self.kills),
            ("inputs acknowledged", self.inputs_acknowledged),
            ("  of these lost", self.inputs_lost),
            ("lines written twice", self.lines_twice),
            ("calls recorded as uncertain", self.uncertain),
            ("  of these had happened", self.uncertain_happened),
            ("failures of `ledger verify`", self.verify_failures),
            ("differences in `replay`", self.replay_differences),
        ];
        for (name, count) in rows {
            writeln!(f, "  {name:<28} {count:>6}")?;
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        writeln!(f, "  {:<28} {:>6}", "violations", self.violations.len())
    }
}
