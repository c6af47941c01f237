//! The cost of a run: each step of many calls, one reply with the process's start, and a replay.
//!
//! Everything is CPU time of the whole process with its children, divided by the number of steps,
//! calls or moves; nothing is subtracted.
//!
//! Must never: count a run in which a call failed.

use std::{path::Path, process::Command};

use serde_json::{Value, json};

use crate::{
    bench::{
        count,
        project::{BenchProject, events},
        usage::{MedianUsage, ProcessUsage},
    },
    failure::CommandFailure,
};

const ROUNDS: usize = 5;
const SINGLE_ROUNDS: usize = 20;

struct BenchScript {
    name: &'static str,
    steps: usize,
    calls: Value,
}

impl BenchScript {
    fn calls(&self) -> usize {
        self.steps * self.calls.as_array().map_or(0, Vec::len)
    }
}

pub(crate) fn run(binary: &Path) -> Result<(), CommandFailure> {
    let project = BenchProject::write(binary)?;
    measure_single(&project)?;
    let runs = measure_calls(&project)?;
    measure_replays(&project, &runs)
}

fn measure_single(project: &BenchProject) -> Result<(), CommandFailure> {
    project.script("single", 0, &json!([]))?;
    let reply = || project.run("single", &[]);
    let version = || project.agentry("single", &["--version"]);
    let nothing = || project.usage(&mut Command::new("true"));
    reply()?;
    let (mut replies, mut versions, mut nothings) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SINGLE_ROUNDS {
        nothings.push(nothing()?);
        versions.push(version()?);
        replies.push(reply()?);
    }
    println!(
        "\nA single reply with the start of the process: the median of {SINGLE_ROUNDS} in turns\n"
    );
    println!("{:<36} {:>10} {:>10} {:>12}", "", "wall ms", "cpu ms", "memory MiB");
    for (name, runs) in [
        ("`true`, for scale", &nothings),
        ("agentry --version", &versions),
        ("agentry run, one reply", &replies),
    ] {
        let MedianUsage { wall_micros, cpu_micros, memory_mib } = MedianUsage::of(runs);
        let (wall, cpu) = (wall_micros / 1_000.0, cpu_micros / 1_000.0);
        println!("{name:<36} {wall:>10.2} {cpu:>10.2} {memory_mib:>12.1}");
    }
    Ok(())
}

fn scripts() -> [BenchScript; 5] {
    let read = json!([{ "name": "Read", "input": { "path": "notes.md" } }]);
    let glob = json!([{ "name": "Glob", "input": { "pattern": "**/*.rs" } }]);
    let bash = json!([{ "name": "Bash", "input": { "command": "true" } }]);
    let four = json!([read[0], glob[0], read[0], glob[0]]);
    [
        BenchScript { name: "read-50", steps: 50, calls: read.clone() },
        BenchScript { name: "read-200", steps: 200, calls: read },
        BenchScript { name: "glob-200", steps: 200, calls: glob },
        BenchScript { name: "bash-200", steps: 200, calls: bash },
        BenchScript { name: "four-240", steps: 240, calls: four },
    ]
}

/// A run in the ledger that is to be replayed.
struct RecordedRun {
    name: &'static str,
    run: String,
}

fn measure_calls(project: &BenchProject) -> Result<Vec<RecordedRun>, CommandFailure> {
    let scripts = scripts();
    for BenchScript { name, steps, calls } in &scripts {
        project.script(name, *steps, calls)?;
    }
    let mut used: Vec<Vec<ProcessUsage>> = scripts.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (script, used) in scripts.iter().zip(&mut used) {
            used.push(project.run(script.name, &[])?);
        }
    }
    println!("\nScripted tool calls, one process for each run: the median of {ROUNDS} in turns\n");
    println!(
        "{:<10} {:>6} {:>6} {:>10} {:>10} {:>13} {:>13} {:>11}",
        "script", "steps", "calls", "wall ms", "cpu ms", "cpu µs/step", "cpu µs/call", "memory MiB"
    );
    let mut recorded = Vec::new();
    for (script, used) in scripts.iter().zip(&used) {
        let MedianUsage { wall_micros, cpu_micros, memory_mib } = MedianUsage::of(used);
        println!(
            "{:<10} {:>6} {:>6} {:>10.0} {:>10.0} {:>13.0} {:>13.0} {:>11.1}",
            script.name,
            script.steps,
            script.calls(),
            wall_micros / 1_000.0,
            cpu_micros / 1_000.0,
            cpu_micros / count(script.steps),
            cpu_micros / count(script.calls()),
            memory_mib
        );
        let last = used.last().map_or("", |used| &used.stdout);
        recorded.push(RecordedRun { name: script.name, run: checked(last, script.calls())? });
    }
    Ok(recorded)
}

/// Returns the id of a run; an error unless it made so many calls and all succeeded.
fn checked(stdout: &str, calls: usize) -> Result<String, CommandFailure> {
    let events = events(stdout)?;
    let done = events
        .iter()
        .filter(|event| event["type"] == "tool_result" && event["outcome"] == "done")
        .count();
    if done != calls {
        let why = format!("{done} of {calls} calls succeeded, so the figures mean nothing.");
        return Err(CommandFailure::new(why));
    }
    let run = events.first().and_then(|event| event["runId"].as_str());
    run.map(str::to_owned).ok_or_else(|| CommandFailure::new("`agentry run` printed no run id."))
}

fn measure_replays(project: &BenchProject, runs: &[RecordedRun]) -> Result<(), CommandFailure> {
    println!("\n`agentry replay` of these: the median of {ROUNDS} in turns, whole process\n");
    println!(
        "{:<10} {:>8} {:>10} {:>10} {:>14} {:>11}",
        "script", "moves", "wall ms", "cpu ms", "moves/s of cpu", "memory MiB"
    );
    let mut used: Vec<Vec<ProcessUsage>> = runs.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (recorded, used) in runs.iter().zip(&mut used) {
            used.push(project.agentry(recorded.name, &["replay", &recorded.run])?);
        }
    }
    for (RecordedRun { name, .. }, used) in runs.iter().zip(&used) {
        let moves = moves(used.last().map_or("", |used| &used.stdout))?;
        let MedianUsage { wall_micros, cpu_micros, memory_mib } = MedianUsage::of(used);
        println!(
            "{name:<10} {moves:>8} {:>10.1} {:>10.1} {:>14.0} {memory_mib:>11.1}",
            wall_micros / 1_000.0,
            cpu_micros / 1_000.0,
            count(moves) * 1e6 / cpu_micros
        );
    }
    Ok(())
}

/// Parses the number in `identical: 801 moves`.
fn moves(stdout: &str) -> Result<usize, CommandFailure> {
    let number = stdout.strip_prefix("identical: ").and_then(|rest| rest.split(' ').next());
    number.and_then(|number| number.parse().ok()).ok_or_else(|| {
        CommandFailure::new(format!(
            "`agentry replay` did not say how many moves it made: {stdout}"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_counts_only_if_every_call_succeeded() {
        let lines = "{\"type\":\"init\",\"runId\":\"run_1\"}\n\
                     {\"type\":\"tool_result\",\"outcome\":\"done\"}\n\
                     {\"type\":\"tool_result\",\"outcome\":\"failed\"}\n";
        assert_eq!(checked(lines, 1).expect("one succeeded"), "run_1");
        let refusal = checked(lines, 2).expect_err("one did not").to_string();
        assert!(refusal.contains("1 of 2"), "{refusal}");
    }

    #[test]
    fn only_an_identical_replay_has_moves() {
        assert_eq!(moves("identical: 801 moves\n").expect("it is identical"), 801);
        assert!(moves("different after 3 moves\n").is_err());
    }
}
