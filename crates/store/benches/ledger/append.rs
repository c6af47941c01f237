//! Durable appends: 32 writers of the ledger against bare SQLite, pair by pair.
//!
//! The bare side writes the same rows into the same table of a file that the ledger made, with the same
//! settings, 32 in one transaction, on one thread: what is left when sealing, folding and threads are free.
//!
//! Must never: give one side a setting that the other does not have.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::tool_call::ToolOutcome;
use agentry_protocol::{CallId, RunId, SessionId, TurnId};
use agentry_store::Ledger;
use rusqlite::{Connection, OptionalExtension, ToSql};

use crate::meter::{cpu_of, median};

type Trouble = Box<dyn std::error::Error>;

const WRITERS: u32 = 32;
const PAIRS: usize = 12;
const MEASURED_FOR: Duration = Duration::from_millis(1_000);
const RATIO_TARGET: f64 = 0.8;

struct Pace {
    per_second: f64,
    cpu_micros: f64,
    rows_per_commit: f64,
}

pub(crate) fn measure() -> Result<(), Trouble> {
    println!(
        "\nDurable appends of one row, {WRITERS} writers, beside bare SQLite: {PAIRS} pairs in \
         turns, the median\n"
    );
    let (mut ledger, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        ledger.push(pace_of(ledger_rows)?);
        bare.push(pace_of(bare_rows)?);
    }
    println!("{:<44} {:>10} {:>12} {:>12}", "", "rows/s", "CPU µs/row", "rows/commit");
    for (name, paces) in [("the ledger", &ledger), ("bare SQLite, 32 rows a transaction", &bare)] {
        let middle = |figure: fn(&Pace) -> f64| median(paces.iter().map(figure).collect());
        println!(
            "{name:<44} {:>10.0} {:>12.1} {:>12.1}",
            middle(|pace| pace.per_second),
            middle(|pace| pace.cpu_micros),
            middle(|pace| pace.rows_per_commit),
        );
    }
    let ratios = ledger.iter().zip(&bare).map(|(ours, limit)| ours.per_second / limit.per_second);
    let ratio = median(ratios.collect());
    let word = if ratio >= RATIO_TARGET { "meets" } else { "misses" };
    println!(
        "\nThe ledger takes {ratio:.2} of the bare limit, which {word} the target of {RATIO_TARGET}."
    );
    Ok(())
}

struct Written {
    rows: u64,
    commits: u64,
    wall: Duration,
}

fn pace_of(write: fn(&Path) -> Result<Written, Trouble>) -> Result<Pace, Trouble> {
    let home = tempfile::tempdir()?;
    let (written, cpu) = cpu_of(|| write(home.path()));
    let Written { rows, commits, wall } = written?;
    Ok(Pace {
        per_second: rows as f64 / wall.as_secs_f64(),
        cpu_micros: cpu.as_secs_f64() * 1e6 / rows as f64,
        rows_per_commit: rows as f64 / commits as f64,
    })
}

fn ledger_rows(home: &Path) -> Result<Written, Trouble> {
    let ledger = crate::open(home)?;
    let started = Instant::now();
    let rows = thread::scope(|scope| {
        let write = |writer| {
            let ledger = &ledger;
            scope.spawn(move || append_for_a_while(ledger, writer, started))
        };
        let writers: Vec<_> = (0..WRITERS).map(write).collect();
        let rows = writers.into_iter().map(|writer| writer.join().expect("a writer ends"));
        rows.sum::<Result<u64, agentry_store::Error>>()
    })?;
    Ok(Written { rows, commits: ledger.commits(), wall: started.elapsed() })
}

fn append_for_a_while(
    ledger: &Ledger,
    writer: u32,
    started: Instant,
) -> Result<u64, agentry_store::Error> {
    let mut rows = 0;
    while started.elapsed() < MEASURED_FOR {
        ledger.append(vec![draft(writer, rows)])?;
        rows += 1;
    }
    Ok(rows)
}

fn bare_rows(home: &Path) -> Result<Written, Trouble> {
    let ledger = crate::open(home)?;
    ledger.append(vec![draft(1, 1)])?;
    drop(ledger);
    let sql = Connection::open(home.join("ledger.sqlite3"))?;
    sql.pragma_update(None, "synchronous", "FULL")?;
    sql.pragma_update(None, "fullfsync", true)?;
    sql.pragma_update(None, "checkpoint_fullfsync", true)?;
    sql.pragma_update_and_check(None, "mmap_size", 0, |_| Ok(())).optional()?;
    let row = Row::first(&sql)?;
    let writers: Vec<EntrySubject> = (0..WRITERS).map(about).collect();
    let (mut rows, mut commits) = (0, 0);
    let started = Instant::now();
    while started.elapsed() < MEASURED_FOR {
        sql.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for about in &writers {
            rows += 1;
            row.write(&sql, rows + 1, about)?;
        }
        sql.prepare_cached("COMMIT")?.execute([])?;
        commits += 1;
    }
    Ok(Written { rows: rows.cast_unsigned(), commits, wall: started.elapsed() })
}

/// A row that the ledger wrote, to be written again under other numbers.
struct Row {
    time: i64,
    cause: i64,
    version: i64,
    stream: String,
    kind: String,
    body: String,
    hash: Vec<u8>,
}

impl Row {
    fn first(sql: &Connection) -> rusqlite::Result<Self> {
        let text = "SELECT time, cause, version, stream, kind, body, hash FROM ledger";
        sql.query_row(text, [], |row| {
            Ok(Self {
                time: row.get(0)?,
                cause: row.get(1)?,
                version: row.get(2)?,
                stream: row.get(3)?,
                kind: row.get(4)?,
                body: row.get(5)?,
                hash: row.get(6)?,
            })
        })
    }

    fn write(&self, sql: &Connection, seq: i64, about: &EntrySubject) -> rusqlite::Result<()> {
        let session = about.session.as_ref().map(SessionId::as_str);
        let run = about.run.as_ref().map(RunId::as_str);
        let turn = about.turn.as_ref().map(TurnId::as_str);
        let Self { time, cause, version, stream, kind, body, hash } = self;
        let values: [&dyn ToSql; 11] =
            [&seq, time, cause, version, stream, &session, &run, &turn, kind, body, hash];
        sql.prepare_cached(
            "INSERT INTO ledger VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(values.as_slice())?;
        Ok(())
    }
}

/// What came of a call: what a run writes most often.
fn draft(writer: u32, number: u64) -> Draft {
    let listing =
        "total 12\ndrwxr-xr-x 2 user user 4096 src\n-rw-r--r-- 1 user user 220 Cargo.toml\n";
    let call = CallId::from_number(number.into());
    let event = Event::CallFinished { call, outcome: ToolOutcome::done(listing.repeat(3)) };
    Draft { cause: Some(1), about: about(writer), event }
}

fn about(writer: u32) -> EntrySubject {
    let number = writer.into();
    EntrySubject {
        session: Some(SessionId::from_number(number)),
        run: Some(RunId::from_number(number)),
        turn: Some(TurnId::from_number(number)),
    }
}
