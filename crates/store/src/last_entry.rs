//! The end of the ledger: its last entry, and its newest time.
//!
//! Must never: read more than the last entries.

use rusqlite::{Connection, OptionalExtension};

use crate::chain::{ChainTip, GENESIS};
use crate::limits::NEWEST_TIME_ENTRIES;

/// The last entry of the ledger.
pub(crate) struct LastEntry {
    pub(crate) tip: ChainTip,
    pub(crate) version: u32,
    /// The time of writing, in milliseconds since 1970.
    pub(crate) time: u64,
}

/// Returns the last entry; all fields are zero if there is none.
pub(crate) fn last(sql: &Connection) -> rusqlite::Result<LastEntry> {
    let text = "SELECT seq, hash, version, CAST(time AS INTEGER) FROM ledger \
                ORDER BY seq DESC LIMIT 1";
    let last = sql
        .prepare_cached(text)?
        .query_row([], |row| {
            let seq = row.get::<_, i64>(0)?.cast_unsigned();
            let tip = ChainTip { seq, hash: row.get(1)? };
            Ok(LastEntry {
                tip,
                version: row.get(2)?,
                time: row.get::<_, i64>(3)?.max(0).cast_unsigned(),
            })
        })
        .optional()?;
    Ok(last.unwrap_or(LastEntry { tip: ChainTip { seq: 0, hash: GENESIS }, version: 0, time: 0 }))
}

/// Returns the newest time among the last entries, in milliseconds since 1970, or zero.
pub(crate) fn newest_time(sql: &Connection) -> rusqlite::Result<u64> {
    let text = "SELECT COALESCE(MAX(time), 0) FROM \
                (SELECT time FROM ledger ORDER BY seq DESC LIMIT ?1) WHERE typeof(time) = 'integer'";
    let newest =
        sql.prepare_cached(text)?.query_row([NEWEST_TIME_ENTRIES], |row| row.get::<_, i64>(0))?;
    Ok(newest.max(0).cast_unsigned())
}
