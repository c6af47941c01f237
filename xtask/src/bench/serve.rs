//! The HTTP server with thousands of listeners: the delay of an entry, the cost of each listener,
//! and proof that no entry is lost or sent twice; and the time until the server is ready.
//!
//! All entries of a listener are compared with the ledger afterwards. The times of an entry and of
//! its arrival come from the same machine.
//!
//! Must never: count entries after a break as if they had been on their way all that time.

mod check;
mod listeners;
mod ready;

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    bench::{
        project::{AGENT, BenchProject},
        scratch,
        serve::listeners::{Listeners, StreamSubject},
        server::{BenchServer, BenchServerOptions, ProcessFigures},
    },
    failure::CommandFailure,
    server_client::ServerClient,
};

const SESSIONS: usize = 500;
const STREAMS_PER_SESSION: usize = 10;
/// The number of listeners on all sessions.
const STREAMS_ON_ALL: usize = 10;
const TURNS: u32 = 500;
const MINUTE: Duration = Duration::from_secs(60);
/// The time after the last message until the last entry has surely arrived.
const REST: Duration = Duration::from_secs(5);
/// One of so many listeners breaks off in the middle, and reconnects.
const BROKEN_OF: usize = 10;
/// The number of keys: each has a request limit.
const KEYS: usize = 40;
const SETTINGS: &str = "[queue]\nturns = 2000\nmode = \"followup\"\n";

pub(crate) fn run(root: &Path, binary: &Path) -> Result<(), CommandFailure> {
    listeners::allow_many_files()?;
    many_listeners(binary)?;
    ready::run(root, binary)
}

fn many_listeners(binary: &Path) -> Result<(), CommandFailure> {
    let project = BenchProject::write(binary)?;
    let words = "Heard you. Here are a few words more, so that there is something to stream.";
    project.file("say.jsonl", &format!("{}\n", json!({ "text": words, "delay_ms": 100 })))?;
    // The server's own files must not be where its agents work.
    let homes = scratch()?;
    let home = homes.path().join("home");
    let serving = BenchServerOptions {
        project: &project,
        home: &home,
        script: "say.jsonl",
        settings: SETTINGS,
    };
    let mut server = BenchServer::start(&serving)?;
    let keys = (0..KEYS).map(|_| serving.key("read,submit"));
    let keys = keys.collect::<Result<Vec<String>, _>>()?;
    let mut asking = ServerClient::new(&server.address, keys.clone());
    let sessions = asking.begin_sessions(SESSIONS, AGENT)?;
    let empty = server.figures()?;

    let mut listeners = Listeners::new(&server.address, keys)?;
    for session in &sessions {
        for _ in 0..STREAMS_PER_SESSION {
            listeners.open(StreamSubject::Session(session.clone()))?;
        }
    }
    for _ in 0..STREAMS_ON_ALL {
        listeners.open(StreamSubject::Everything)?;
    }
    listeners.wait_for_hellos()?;
    let open = server.figures()?;

    let driven = drive(&server, &mut listeners, asking, sessions)?;
    let busy = server.figures()?;
    let mut asking = driven.asking;
    let sums = check::against_the_ledger(&mut asking, &listeners)?;
    show(&ServeReport {
        listeners: &listeners,
        sums,
        empty,
        open,
        busy,
        most_kib: driven.most_kib,
    });
    listeners.close();
    server.stop()
}

struct LoadResult {
    asking: ServerClient,
    /// The most memory that was seen on the way.
    most_kib: f64,
}

/// Runs a minute of turns, one after the other in even steps, while all listeners are connected.
fn drive(
    server: &BenchServer,
    listeners: &mut Listeners,
    mut asking: ServerClient,
    sessions: Vec<String>,
) -> Result<LoadResult, CommandFailure> {
    let begun = Instant::now();
    let sender = thread::spawn(move || {
        let worked = (0..TURNS).try_for_each(|turn| {
            thread::sleep((MINUTE * turn / TURNS).saturating_sub(begun.elapsed()));
            let at = usize::try_from(turn).unwrap_or_default() % sessions.len();
            asking.send_message(&sessions[at], "How are you?").map(drop)
        });
        worked.map(|()| asking)
    });
    let (mut most_kib, mut looked, mut is_broken) = (0.0_f64, begun, false);
    while begun.elapsed() < MINUTE + REST {
        listeners.listen(Duration::from_millis(200))?;
        if looked.elapsed() > Duration::from_secs(1) {
            looked = Instant::now();
            most_kib = most_kib.max(server.figures()?.memory_kib);
        }
        if !is_broken && begun.elapsed() > MINUTE / 2 {
            is_broken = true;
            listeners.break_off(BROKEN_OF);
        }
        listeners.come_back(20)?;
    }
    let asking = sender
        .join()
        .map_err(|_| CommandFailure::new("The thread that sends the messages panicked."))??;
    Ok(LoadResult { asking, most_kib })
}

struct ServeReport<'a> {
    listeners: &'a Listeners,
    sums: check::DeliveryErrors,
    empty: ProcessFigures,
    open: ProcessFigures,
    busy: ProcessFigures,
    most_kib: f64,
}

fn show(told: &ServeReport<'_>) {
    let ServeReport { listeners, sums, empty, open, busy, most_kib } = told;
    let count = listeners.count();
    let delays = listeners.delays_ms();
    let at = |share: f64| delays.get(((delays.len() as f64 - 1.0) * share) as usize).copied();
    let ms = |share: f64| at(share).map_or_else(|| "none".to_owned(), |delay| delay.to_string());
    let each = (open.memory_kib - empty.memory_kib) / count as f64;
    let cpu = (busy.cpu_s - open.cpu_s) / (MINUTE + REST).as_secs_f64() * 100.0;
    println!(
        "\n{count} streams over {SESSIONS} sessions, {STREAMS_ON_ALL} of them on everything; {TURNS} turns in a minute\n"
    );
    let row = |name: &str, figure: String| println!("{name:<52} {figure:>18}");
    row("entries that arrived", delays.len().to_string());
    row("from the ledger to the listener, half", format!("{} ms", ms(0.5)));
    row("from the ledger to the listener, 99 of 100", format!("{} ms", ms(0.99)));
    row("from the ledger to the listener, the slowest", format!("{} ms", ms(1.0)));
    row("streams that broke off and came back", listeners.came_back().to_string());
    row("streams that the server ended", listeners.dropped().to_string());
    row("entries lost", sums.lost.to_string());
    row("entries sent twice or out of order", sums.repeated.to_string());
    row("entries that were not asked for", sums.foreign.to_string());
    row("memory of the server, no stream", format!("{:.1} MiB", empty.memory_kib / 1024.0));
    row("memory, all streams open", format!("{:.1} MiB", open.memory_kib / 1024.0));
    row("for each stream", format!("{each:.1} KiB"));
    row("memory, the most on the way", format!("{:.1} MiB", most_kib / 1024.0));
    row("processor on the way", format!("{cpu:.1} % of a core"));
}
