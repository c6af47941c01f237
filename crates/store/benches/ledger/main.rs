//! `cargo bench --package agentry-store --bench ledger -- append | session [home] | decisions [home [events]]`: what the ledger costs.
//!
//! Numbers are printed beside a measure taken in the same run, never asserted: machines differ.
//!
//! Must never: compare two figures that were not taken in turns.

mod append;
mod decisions;
mod meter;
mod session;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agentry_store::{Clock, Error, Ledger};

fn main() {
    // Cargo adds an option of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {
            append::measure().expect("the ledger takes entries");
            session::measure(None).expect("the ledger keeps sessions");
            decisions::measure(None, None).expect("the ledger keeps decisions");
        }
        ["append"] => append::measure().expect("the ledger takes entries"),
        ["session"] => session::measure(None).expect("the ledger keeps sessions"),
        ["session", home] => {
            session::measure(Some(PathBuf::from(home))).expect("the ledger keeps sessions");
        }
        ["decisions"] => decisions::measure(None, None).expect("the ledger keeps decisions"),
        ["decisions", home] => {
            let home = Some(PathBuf::from(home));
            decisions::measure(home, None).expect("the ledger keeps decisions");
        }
        ["decisions", home, events] => {
            let (home, events) = (Some(PathBuf::from(home)), events.parse().ok());
            decisions::measure(home, events).expect("the ledger keeps decisions");
        }
        [..] => println!("There is `append`, `session [home]` and `decisions [home [events]]`."),
    }
}

fn open(home: &Path) -> Result<Ledger, Error> {
    let millis = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |past| past.as_millis());
    let clock: Clock = Arc::new(move || u64::try_from(millis()).unwrap_or(u64::MAX));
    Ledger::open(home, clock)
}
