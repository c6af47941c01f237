//! The cost of a long past: opening its session, and a whole run in it.
//!
//! The bench target of the ledger writes the histories and measures the opening by itself; here the
//! product continues each of them with one more turn.
//!
//! Must never: compare runs that were not made in turns.

use std::path::Path;

use serde_json::json;

use crate::{
    bench::{
        bench_target,
        project::{AGENT, BenchProject},
        scratch,
        usage::{MedianUsage, ProcessUsage},
    },
    failure::CommandFailure,
};

/// The numbers of turns by which the bench target of the ledger names its homes.
const TURNS: [&str; 2] = ["100", "10000"];
const ROUNDS: usize = 10;

pub(crate) fn run(root: &Path, binary: &Path) -> Result<(), CommandFailure> {
    let homes = scratch()?;
    let place = homes.path().to_string_lossy();
    bench_target(root, "agentry-store", &["ledger", "--", "session", &place])?;

    let project = BenchProject::write(binary)?;
    project.script("session", 0, &json!([]))?;
    let arguments = ["run", "--json", "--agent", AGENT, "--session", AGENT];
    let arguments = [&arguments[..], &["--model", "scripted:session.jsonl", "And now?"]].concat();
    let mut used: [Vec<ProcessUsage>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (turns, used) in TURNS.iter().zip(&mut used) {
            used.push(project.agentry_at(&homes.path().join(turns), &arguments)?);
        }
    }
    println!(
        "\n`agentry run --session`, one reply, whole process: the median of {ROUNDS} in turns\n"
    );
    println!("{:<8} {:>10} {:>10} {:>12}", "turns", "wall ms", "cpu ms", "memory MiB");
    for (turns, used) in TURNS.iter().zip(&used) {
        let MedianUsage { wall_micros, cpu_micros, memory_mib } = MedianUsage::of(used);
        let (wall, cpu) = (wall_micros / 1_000.0, cpu_micros / 1_000.0);
        println!("{turns:<8} {wall:>10.2} {cpu:>10.2} {memory_mib:>12.1}");
    }
    Ok(())
}
