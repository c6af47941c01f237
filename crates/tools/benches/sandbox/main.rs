//! `cargo bench --package agentry-tools --bench sandbox`: what a sandbox adds to a spawn, and to a file tool.
//!
//! Numbers are printed beside a measure taken in the same run, in turns, never asserted: machines differ.
//!
//! Must never: compare two figures that were not taken in turns.

mod files;
mod spawns;

use std::time::Duration;

use agentry_sandbox::helper;
use agentry_tools::{FILE_TOOLS, serve_files};

fn main() {
    if std::env::args().nth(1).as_deref() == Some(helper::VERB) {
        helper::serve(&[(FILE_TOOLS, serve_files)]).expect("the supervisor can be heard");
        return;
    }
    // How many rounds, and the one way to be measured alone, under a profiler.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let rounds = words.first().and_then(|word| word.parse().ok()).unwrap_or(ROUNDS);
    let only = words.get(1).map(String::as_str);
    spawns::measure(rounds, only);
    if only.is_none() {
        files::measure(rounds * FILE_ROUNDS);
    }
}

const ROUNDS: usize = 200;
/// A call of a file tool is that much shorter than a spawn.
const FILE_ROUNDS: usize = 10;

/// What was measured of one way, in no order.
#[derive(Default)]
struct Times(Vec<Duration>);

impl Times {
    fn middle_ms(&self) -> f64 {
        self.ms_at(50)
    }

    /// So many of a hundred are at most this.
    fn ms_at(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort();
        let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
        sorted.get(place).map_or(0.0, Duration::as_secs_f64) * 1_000.0
    }
}
