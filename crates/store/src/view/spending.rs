//! Costs of models: one row for each reply.
//!
//! Must never: count a reply twice, or count an unknown price as zero.

use agentry_protocol::message::{ModelReply, Usage};
use agentry_protocol::{AgentId, RunId, SessionId, TurnId};
use rusqlite::{Connection, params};

use super::{PlacedEntry, run};
use crate::column::whole;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::limits::DAY_MS;

/// The subject whose costs are summed up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpendingSubject {
    /// One turn.
    Turn(TurnId),
    /// One run.
    Run(RunId),
    /// One session.
    Session(SessionId),
    /// One agent.
    Agent(AgentId),
    /// One day, counted from 1970, in universal time.
    Day(u64),
    /// The whole ledger.
    All,
}

/// Sums over the replies of a subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpendingTotal {
    /// The number of replies.
    pub replies: u64,
    /// The number of replies without a known price.
    pub unknown: u64,
    /// The cost of the other replies, in billionths of a dollar.
    pub nano_usd: u64,
    /// The tokens of all replies.
    pub usage: Usage,
}

/// `TOTAL`, since `SUM` fails where the sum of whole numbers is too large; this cast saturates.
const SUMS: &str = "COUNT(*), COUNT(*) - COUNT(nano), CAST(TOTAL(nano) AS INTEGER),
    CAST(TOTAL(input) AS INTEGER), CAST(TOTAL(output) AS INTEGER),
    CAST(TOTAL(cached) AS INTEGER), CAST(TOTAL(cache_write) AS INTEGER), COALESCE(MAX(estimated), 0)";

impl Ledger {
    /// Returns the recorded costs of a subject.
    pub fn spending_total(&self, payer: &SpendingSubject) -> Result<SpendingTotal, Error> {
        self.ask(|sql| bill(sql, payer))
    }
}

/// Returns the costs of a subject.
pub(crate) fn bill(sql: &Connection, payer: &SpendingSubject) -> rusqlite::Result<SpendingTotal> {
    match payer {
        SpendingSubject::Turn(id) => sums(sql, "turn = ?1", [id.as_str()]),
        SpendingSubject::Run(id) => sums(sql, "run = ?1", [id.as_str()]),
        SpendingSubject::Session(id) => sums(sql, "session = ?1", [id.as_str()]),
        SpendingSubject::Agent(id) => sums(sql, "agent = ?1", [id.as_str()]),
        SpendingSubject::Day(day) => sums(sql, "day = ?1", [whole(*day)]),
        SpendingSubject::All => sums(sql, "1", []),
    }
}

fn sums(
    sql: &Connection,
    of: &str,
    params: impl rusqlite::Params,
) -> rusqlite::Result<SpendingTotal> {
    let text = format!("SELECT {SUMS} FROM spending WHERE {of}");
    sql.prepare_cached(&text)?.query_row(params, |row| {
        let number = |index| row.get::<_, i64>(index).map(i64::cast_unsigned);
        Ok(SpendingTotal {
            replies: number(0)?,
            unknown: number(1)?,
            nano_usd: number(2)?,
            usage: Usage {
                input_tokens: number(3)?,
                output_tokens: number(4)?,
                cached_tokens: number(5)?,
                cache_write_tokens: number(6)?,
                estimated: row.get(7)?,
            },
        })
    })
}

pub(super) fn replied(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    reply: &ModelReply,
) -> rusqlite::Result<()> {
    let usage = reply.usage;
    run(
        sql,
        "INSERT OR IGNORE INTO spending
         (seq, session, run, turn, agent, day, nano, input, output, cached, cache_write, estimated)
         VALUES (?1, ?2, ?3, ?4, COALESCE(
             (SELECT steps.agent FROM turns JOIN steps
              ON steps.run = turns.run AND steps.idx = turns.step WHERE turns.id = ?4),
             (SELECT agent FROM runs WHERE id = ?3),
             (SELECT agent FROM sessions WHERE id = ?2)
         ), ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        params![
            entry.seq,
            entry.session(),
            entry.run(),
            entry.turn(),
            entry.time / DAY_MS.cast_signed(),
            reply.cost_nano_usd.map(whole),
            whole(usage.input_tokens),
            whole(usage.output_tokens),
            whole(usage.cached_tokens),
            whole(usage.cache_write_tokens),
            usage.estimated,
        ],
    )?;
    Ok(())
}
