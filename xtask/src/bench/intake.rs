//! The server under many sessions: the cost of waiting, and of one event on top of a long past.
//!
//! This program is the channel: it sends one message for each session, spread over a minute, and
//! receives the answers. The model takes a second. All figures come from the kernel's data about
//! the server's process and from the ledger.
//!
//! Must never: count the channel's work as the server's.

use std::{
    io::{BufRead, Write, stdin, stdout},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    bench::{
        bench_target,
        project::BenchProject,
        scratch,
        server::{BenchServer, BenchServerOptions},
    },
    failure::CommandFailure,
};

const SESSIONS: usize = 10_000;
const MINUTE: Duration = Duration::from_secs(60);
/// The time after the last message until the server is surely idle again.
const REST: Duration = Duration::from_secs(10);
const EVENTS_IN_A_PAST: [&str; 2] = ["1000", "1000000"];
const EVENTS_ON_TOP: usize = 2_000;
/// The number of measurements of each past, made in turns.
const ROUNDS: usize = 3;

const OPEN: &str = "policies:
  - name: open
    match: { principal: { unknown: true } }
    effect: allow
    permissions: { tools: [] }
    session: { key: 'room:{peer_id}' }
    priority: 50
";

pub(crate) fn run(root: &Path, binary: &Path) -> Result<(), CommandFailure> {
    many_sessions(binary)?;
    long_past(root, binary)
}

/// Sends one message a minute in each of many sessions, for two minutes.
fn many_sessions(binary: &Path) -> Result<(), CommandFailure> {
    let project = BenchProject::write(binary)?;
    project.file(".agentry/access/open.yml", OPEN)?;
    project.file("wait.jsonl", &format!("{}\n", json!({ "text": "Heard.", "delay_ms": 1_000 })))?;
    // The server's own files must not be where its agents work.
    let homes = scratch()?;
    let home = homes.path().join("home");
    let channel = ChannelLoad { count: SESSIONS, over: MINUTE, rounds: 2 };
    let mut server = server(&project, &home, "wait.jsonl", &channel, 0)?;
    let empty = server.figures()?;
    thread::sleep(MINUTE + REST);
    let opened = server.figures()?;
    thread::sleep(MINUTE);
    let busy = server.figures()?;
    thread::sleep(REST);
    let idle = server.figures()?;
    server.stop()?;
    let stats = project.json_at(&home, &["trace", "--stats", "--last", "10000", "--json"])?;
    let waited = &stats["waited_ms"];
    let per_session = (idle.memory_kib - empty.memory_kib) / SESSIONS as f64;
    let cpu = (busy.cpu_s - opened.cpu_s) / MINUTE.as_secs_f64() * 100.0;
    println!("\n{SESSIONS} sessions, one message each in a minute, a model that takes a second\n");
    println!("{:<44} {:>10.1} MiB", "memory of the server, no session", empty.memory_kib / 1024.0);
    println!("{:<44} {:>10.1} MiB", "memory, all sessions idle", idle.memory_kib / 1024.0);
    println!("{:<44} {per_session:>10.2} KiB", "for each idle session");
    println!("{:<44} {cpu:>10.1} % of a core", "processor in the second minute");
    println!("{:<44} {:>10} ms", "from the ledger to the turn, half", waited["p50"]);
    println!("{:<44} {:>10} ms", "from the ledger to the turn, 99 of 100", waited["p99"]);
    println!("{:<44} {:>10}", "events with a turn among the last 10,000", stats["events"]);
    Ok(())
}

/// Measures equal events on top of a short and a long past.
fn long_past(root: &Path, binary: &Path) -> Result<(), CommandFailure> {
    let homes = scratch()?;
    let mut cpu: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for events in EVENTS_IN_A_PAST {
        let home = homes.path().join(events);
        let place = home.to_string_lossy();
        bench_target(root, "agentry-store", &["ledger", "--", "decisions", &place, events])?;
    }
    for round in 0..ROUNDS {
        for (events, cpu) in EVENTS_IN_A_PAST.iter().zip(&mut cpu) {
            let project = BenchProject::write(binary)?;
            project.file(".agentry/access/open.yml", OPEN)?;
            project.file("say.jsonl", &format!("{}\n", json!({ "text": "Heard." })))?;
            let over = Duration::from_secs(20);
            let channel = ChannelLoad { count: EVENTS_ON_TOP, over, rounds: 1 };
            let home = homes.path().join(events);
            let mut server = server(&project, &home, "say.jsonl", &channel, round)?;
            let before = server.figures()?;
            thread::sleep(over + Duration::from_secs(5));
            let after = server.figures()?;
            server.stop()?;
            cpu.push((after.cpu_s - before.cpu_s) / EVENTS_ON_TOP as f64 * 1_000.0);
        }
    }
    println!(
        "\none event from the channel to its answer, {EVENTS_ON_TOP} of them, the median of {ROUNDS}\n"
    );
    println!("{:<24} {:>14}", "events in the ledger", "cpu ms");
    for (events, cpu) in EVENTS_IN_A_PAST.iter().zip(cpu) {
        println!("{events:<24} {:>14.2}", super::usage::median(cpu));
    }
    Ok(())
}

/// The load that the channel produces.
struct ChannelLoad {
    count: usize,
    over: Duration,
    rounds: usize,
}

/// Starts a server with this program as its channel. The number makes the message ids new.
fn server(
    project: &BenchProject,
    home: &Path,
    script: &str,
    channel: &ChannelLoad,
    number: usize,
) -> Result<BenchServer, CommandFailure> {
    let own = std::env::current_exe().map_err(|error| {
        CommandFailure::new(format!("This program does not find itself: {error}."))
    })?;
    let words = json!([
        own.to_string_lossy(),
        "bench-channel",
        number.to_string(),
        channel.count.to_string(),
        channel.over.as_millis().to_string(),
        channel.rounds.to_string(),
    ]);
    let settings = format!(
        "[channels.load]\ncommand = {words}\n\n[queue]\nturns = 2000\nmode = \"followup\"\n"
    );
    BenchServer::start(&BenchServerOptions { project, home, script, settings: &settings })
}

/// Runs the channel's program: sends messages at an even pace, and confirms each answer as sent.
pub(crate) fn channel(arguments: &[&str]) -> Result<(), CommandFailure> {
    let numbers: Vec<u64> = arguments.iter().filter_map(|word| word.parse().ok()).collect();
    let [name, count, over_ms, rounds] = numbers[..] else {
        return Err(CommandFailure::new("The channel of the benchmark is not for people."));
    };
    thread::spawn(move || {
        for round in 0..rounds {
            let begun = Instant::now();
            for number in 0..count {
                let due = Duration::from_millis(over_ms)
                    * u32::try_from(number).unwrap_or(u32::MAX)
                    / u32::try_from(count).unwrap_or(1);
                thread::sleep(due.saturating_sub(begun.elapsed()));
                let event = json!({
                    "type": "event",
                    "source_id": format!("{name}-{round}-{number}"),
                    "sender_id": format!("p{number}"),
                    "peer_id": format!("r{number}"),
                    "peer_kind": "dm",
                    "content": "How are you?",
                });
                // A server that is gone needs no more messages.
                if writeln!(stdout().lock(), "{event}").is_err() {
                    return;
                }
            }
            thread::sleep((Duration::from_millis(over_ms) + REST).saturating_sub(begun.elapsed()));
        }
    });
    for line in stdin().lock().lines().map_while(Result::ok) {
        let told: Value = serde_json::from_str(&line).unwrap_or_default();
        if told["type"] == "send" {
            let sent = json!({ "type": "sent", "id": told["id"], "message_id": told["id"] });
            writeln!(stdout().lock(), "{sent}").map_err(|error| {
                CommandFailure::new(format!("The server does not listen: {error}."))
            })?;
        }
    }
    Ok(())
}
