//! The speed of `agentry access replay`: 200,000 past decisions, with 200 policies.
//!
//! The bench target of the ledger writes the past. The policies must give the same decisions.
//!
//! Must never: measure a replay that left out a decision.

use std::fmt::Write;
use std::path::Path;

use crate::{
    bench::{bench_target, project::BenchProject, scratch, usage::MedianUsage},
    failure::CommandFailure,
};

/// The number of events that the bench target of the ledger writes.
const EVENTS: f64 = 200_000.0;
const PEOPLE: usize = 50;
const POLICIES: usize = 200;
const ROUNDS: usize = 5;

pub(crate) fn run(root: &Path, binary: &Path) -> Result<(), CommandFailure> {
    let homes = scratch()?;
    let home = homes.path().join("home");
    let place = home.to_string_lossy();
    bench_target(root, "agentry-store", &["ledger", "--", "decisions", &place])?;

    let project = BenchProject::write(binary)?;
    project.file(".agentry/access/people.yml", &policies())?;
    let arguments = ["access", "replay", "--since", "30d", "--changed-only"];
    let mut used = Vec::new();
    for _ in 0..ROUNDS {
        used.push(project.agentry_at(&home, &arguments)?);
    }
    let MedianUsage { wall_micros, cpu_micros, memory_mib } = MedianUsage::of(&used);
    println!(
        "\n`agentry access replay`, {EVENTS} decisions, {POLICIES} policies, whole process: the median \
         of {ROUNDS}\n"
    );
    println!("{:>10} {:>10} {:>12} {:>12}", "wall ms", "cpu ms", "memory MiB", "events/s");
    let (wall, cpu) = (wall_micros / 1_000.0, cpu_micros / 1_000.0);
    let a_second = EVENTS / (wall_micros / 1e6);
    println!("{wall:>10.0} {cpu:>10.0} {memory_mib:>12.1} {a_second:>12.0}");
    Ok(())
}

/// Returns one policy for each of the people, and more that match none of them.
fn policies() -> String {
    let mut text = String::new();
    for number in 0..POLICIES {
        let who = if number < PEOPLE {
            format!("person_id: p{number}")
        } else {
            format!("relationship: friend, tags: [tag-{number}]")
        };
        let written = write!(
            text,
            "- name: person-{number}\n  match: {{ principal: {{ {who} }} }}\n  effect: allow\n  \
             permissions: {{ tools: [read_file, web_fetch], credentials: [], data: minimal }}\n  \
             session: {{ key: \"people:{{principal.id}}\" }}\n"
        );
        written.expect("a text takes more text");
    }
    text
}
