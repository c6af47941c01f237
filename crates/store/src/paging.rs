//! Lists by page, for readers of a long past.
//!
//! Must never: read all of the past to show a part of it.

use agentry_protocol::envelope::Envelope;
use agentry_protocol::{RunId, SessionId, TokenId};
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use crate::column::whole;
use crate::error::Error;
use crate::ledger::{EntryFilter, Ledger, select_before};
use crate::ledger_row::LedgerRow;
use crate::view::{RunRow, SessionRow, TokenRow};

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

/// Counts of messages in a session, used to decide if an entity may read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpeakerCounts {
    /// The number of messages from the entity.
    pub own: u64,
    /// The number of messages from others.
    pub others: u64,
}

impl Ledger {
    /// Returns the last `limit` entries before a sequence number, in order.
    pub fn read_before(
        &self,
        before_seq: u64,
        filter: &EntryFilter,
        limit: usize,
    ) -> Result<Vec<Envelope>, Error> {
        let (text, ids) = select_before(filter);
        let (before, limit) = (whole(before_seq), whole(limit as u64));
        let mut params: Vec<&dyn ToSql> = vec![&before, &limit];
        params.extend(ids.iter().map(|id| id as &dyn ToSql));
        self.read(|sql| {
            let shared = &self.shared;
            let read = |source| shared.unread(source);
            let mut statement = sql.prepare_cached(&text).map_err(read)?;
            let rows = statement.query_map(params.as_slice(), LedgerRow::read).map_err(read)?;
            let opened = rows.map(|row| row.map_err(read)?.open(&shared.path, &shared.artifacts));
            let mut entries: Vec<Envelope> = opened.collect::<Result<_, Error>>()?;
            entries.reverse();
            Ok(entries)
        })
    }

    /// Returns sessions, the last used first, from behind the last one of the page before.
    pub fn sessions_page(
        &self,
        after: Option<&SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionRow>, Error> {
        self.ask(|sql| SessionRow::page(sql, after, limit))
    }

    /// Returns runs, the newest first, from behind the last one of the page before.
    pub fn runs_page(&self, after: Option<&RunId>, limit: usize) -> Result<Vec<RunRow>, Error> {
        self.ask(|sql| RunRow::page(sql, after, limit))
    }

    /// Returns the number of runs for each status.
    pub fn run_counts(&self) -> Result<Vec<(String, u64)>, Error> {
        self.ask(|sql| {
            sql.prepare_cached("SELECT status, COUNT(*) FROM runs GROUP BY status ORDER BY status")?
                .query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))?
                .collect()
        })
    }

    /// Returns the last run of a session; None if it had no run.
    pub fn last_run_of(&self, session: &SessionId) -> Result<Option<RunRow>, Error> {
        self.ask(|sql| RunRow::last_of(sql, session))
    }

    /// Returns the number of the last entry about a session; zero if there is none.
    pub fn last_seq_of(&self, session: &SessionId) -> Result<u64, Error> {
        self.ask(|sql| {
            sql.prepare_cached("SELECT COALESCE(MAX(seq), 0) FROM ledger WHERE session = ?1")?
                .query_row([session.as_str()], |row| row.get::<_, i64>(0))
                .map(i64::cast_unsigned)
        })
    }

    /// Returns the number of messages of an entity and of others in a session, over all channels.
    pub fn speaker_counts(
        &self,
        session: &SessionId,
        entity: &str,
    ) -> Result<SpeakerCounts, Error> {
        self.ask(|sql| {
            sql.prepare_cached(
                "SELECT COALESCE(SUM(audit.principal IS ?2), 0),
                        COALESCE(SUM(audit.principal IS NOT ?2), 0)
                 FROM inbounds LEFT JOIN audit ON audit.event = inbounds.id
                 WHERE inbounds.session = ?1",
            )?
            .query_row([session.as_str(), entity], |row| {
                let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
                Ok(SpeakerCounts { own: number(0)?, others: number(1)? })
            })
        })
    }

    /// Returns the sessions with messages of an entity, the newest first.
    pub fn sessions_with(&self, entity: &str) -> Result<Vec<SessionId>, Error> {
        self.ask(|sql| {
            sql.prepare_cached(
                "SELECT DISTINCT inbounds.session
                 FROM audit JOIN inbounds ON inbounds.id = audit.event
                 WHERE audit.principal = ?1 AND inbounds.session IS NOT NULL
                 ORDER BY inbounds.session DESC",
            )?
            .query_map([entity], |row| row.get::<_, String>(0).map(SessionId::new))?
            .collect()
        })
    }

    /// Returns the activity since a time, in spans of `span_ms`, the oldest first. Spans without
    /// entries are left out.
    pub fn buckets(&self, since: u64, span_ms: u64) -> Result<Vec<ActivityBucket>, Error> {
        self.ask(|sql| {
            let first = first_since(sql, since)?;
            buckets(sql, first, whole(span_ms.max(1)))
        })
    }

    /// Returns a key; None if there is none with this id.
    pub fn token(&self, id: &TokenId) -> Result<Option<TokenRow>, Error> {
        self.ask(|sql| TokenRow::by_id(sql, id))
    }

    /// Returns all keys ever issued, the oldest first.
    pub fn tokens(&self) -> Result<Vec<TokenRow>, Error> {
        self.ask(TokenRow::all)
    }

    /// Resolves an id or a part of an id to one key.
    pub fn find_token(&self, text: &str) -> Result<TokenId, Error> {
        self.find("key", "tokens", TokenId::PREFIX, text).map(TokenId::new)
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
