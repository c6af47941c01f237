//! Activity over time: counts of entries, turns, runs, calls and tokens.
//!
//! Must never: read entries from before the time that was asked for.

use rusqlite::{Connection, OptionalExtension, params};

use crate::column::whole;
use crate::error::Error;
use crate::ledger::Ledger;

/// The activity in a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActivityBucket {
    /// The beginning of the span, in milliseconds since 1970.
    pub begin: u64,
    /// The number of entries written.
    pub entries: u64,
    /// The number of turns that ended.
    pub turns: u64,
    /// The number of runs that failed.
    pub failed: u64,
    /// The number of calls that were made.
    pub calls: u64,
    /// Tokens that models read.
    pub input_tokens: u64,
    /// Tokens that models wrote.
    pub output_tokens: u64,
    /// The known cost, in billionths of a dollar; replies without a known price count as zero.
    pub nano_usd: u64,
}

impl Ledger {
    /// Returns the activity since a time, in spans of `span_ms`, the oldest first. Spans without
    /// entries are left out.
    pub fn buckets(&self, since: u64, span_ms: u64) -> Result<Vec<ActivityBucket>, Error> {
        self.ask(|sql| {
            let first = first_since(sql, since)?;
            buckets(sql, first, whole(span_ms.max(1)))
        })
    }
}

/// Finds the first entry at or after a time by bisection; times never decrease along the ledger.
fn first_since(sql: &Connection, since: u64) -> rusqlite::Result<i64> {
    let last: i64 = sql
        .prepare_cached("SELECT COALESCE(MAX(seq), 0) FROM ledger")?
        .query_row([], |row| row.get(0))?;
    let (mut low, mut high) = (1, last + 1);
    let mut time_of = sql.prepare_cached("SELECT time FROM ledger WHERE seq = ?1")?;
    while low < high {
        let middle = low + (high - low) / 2;
        let time: Option<i64> = time_of.query_row([middle], |row| row.get(0)).optional()?;
        if time.is_some_and(|time| time < whole(since)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

fn buckets(sql: &Connection, first: i64, span: i64) -> rusqlite::Result<Vec<ActivityBucket>> {
    let mut counted = sql.prepare_cached(
        "SELECT ledger.time / ?2 * ?2 AS begin, COUNT(*),
                SUM(kind = 'turn_ended'),
                SUM(kind = 'run_ended' AND runs.status = 'failed'),
                SUM(kind = 'call_started'),
                CAST(TOTAL(spending.input) AS INTEGER), CAST(TOTAL(spending.output) AS INTEGER),
                CAST(TOTAL(spending.nano) AS INTEGER)
         FROM ledger
         LEFT JOIN runs ON kind = 'run_ended' AND runs.id = ledger.run
         LEFT JOIN spending ON kind = 'model_replied' AND spending.seq = ledger.seq
         WHERE ledger.seq >= ?1 GROUP BY begin ORDER BY begin",
    )?;
    let read = |row: &rusqlite::Row<'_>| {
        let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
        Ok(ActivityBucket {
            begin: number(0)?,
            entries: number(1)?,
            turns: number(2)?,
            failed: number(3)?,
            calls: number(4)?,
            input_tokens: number(5)?,
            output_tokens: number(6)?,
            nano_usd: number(7)?,
        })
    };
    counted.query_map(params![first, span], read)?.collect()
}
