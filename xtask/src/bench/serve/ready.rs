//! The start time of the server on an empty and on a long ledger, beside an idle process.
//!
//! Must never: measure the first start on a ledger, which may have to be upgraded.

use std::{
    ffi::OsStr,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    bench::{
        bench_target,
        project::BenchProject,
        scratch,
        server::{BenchServer, BenchServerOptions},
        usage::median,
    },
    child,
    failure::CommandFailure,
};

const ROUNDS: usize = 10;
/// The number of events; each leaves two entries.
const EVENTS: &str = "50000";
/// The time that a server is idle before its memory is read.
const IDLE: Duration = Duration::from_secs(5);

pub(crate) fn run(root: &Path, binary: &Path) -> Result<(), CommandFailure> {
    let homes = scratch()?;
    let long = homes.path().join("long");
    bench_target(
        root,
        "agentry-store",
        &["ledger", "--", "decisions", &long.to_string_lossy(), EVENTS],
    )?;
    let project = BenchProject::write(binary)?;
    project.file("say.jsonl", &format!("{}\n", json!({ "text": "Heard." })))?;

    let nothing = (0..ROUNDS).map(|_| {
        let begun = Instant::now();
        child::stdout_of(std::process::Command::new(binary).arg(OsStr::new("--version")))?;
        Ok(millis(begun.elapsed()))
    });
    let nothing = median(nothing.collect::<Result<Vec<f64>, CommandFailure>>()?);
    println!("\nuntil the server is ready, the median of {ROUNDS}\n");
    println!("{:<44} {:>10} {:>16}", "", "ms", "idle memory MiB");
    println!("{:<44} {nothing:>10.1} {:>16}", "agentry --version", "");
    for (name, home) in [("an empty ledger", homes.path().join("empty")), ("100,000 entries", long)]
    {
        let serving = BenchServerOptions {
            project: &project,
            home: &home,
            script: "say.jsonl",
            settings: "",
        };
        // The first start makes or upgrades missing files.
        BenchServer::start(&serving)?.stop()?;
        let mut ready = Vec::new();
        for _ in 0..ROUNDS {
            let mut server = BenchServer::start(&serving)?;
            ready.push(millis(server.ready_after));
            server.stop()?;
        }
        let mut server = BenchServer::start(&serving)?;
        thread::sleep(IDLE);
        let memory_mib = server.figures()?.memory_kib / 1024.0;
        server.stop()?;
        println!("{name:<44} {:>10.1} {memory_mib:>16.1}", median(ready));
    }
    Ok(())
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
