//! Rows of the ledger table, and their decoding into envelopes.
//!
//! Must never: read a row of an unknown version as if it had a known one.

use std::path::Path;

use agentry_protocol::envelope::{EVENT_VERSION, EntrySubject, Envelope, LedgerStream};
use agentry_protocol::{RunId, SessionId, TurnId};
use rusqlite::{Connection, params};

use crate::artifact::Artifacts;
use crate::chain::{HASH_BYTES, RowHashInput};
use crate::error::Error;
use crate::event_codec::{self, EventDecodeError};

/// The columns of the ledger in the order in which `LedgerRow::read` reads them.
pub(crate) const COLUMNS: &str =
    "seq, time, cause, version, stream, session, run, turn, kind, body, hash";

/// A row of the ledger table, as stored.
#[derive(Clone)]
pub(crate) struct LedgerRow {
    pub(crate) seq: u64,
    pub(crate) time: u64,
    pub(crate) cause: Option<u64>,
    pub(crate) version: u32,
    pub(crate) stream: String,
    pub(crate) session: Option<String>,
    pub(crate) run: Option<String>,
    pub(crate) turn: Option<String>,
    pub(crate) kind: String,
    pub(crate) body: String,
    pub(crate) hash: Vec<u8>,
}

/// A row to write, with the hash that seals it.
pub(crate) struct SealedRow<'a> {
    pub(crate) parts: RowHashInput<'a>,
    pub(crate) kind: &'a str,
    pub(crate) hash: [u8; HASH_BYTES],
}

/// Writes rows into the ledger table. The caller holds the transaction.
pub(crate) fn insert(sql: &Connection, rows: &[SealedRow<'_>]) -> rusqlite::Result<()> {
    let text = "INSERT INTO ledger VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let mut statement = sql.prepare_cached(text)?;
    for SealedRow { parts, kind, hash } in rows {
        statement.execute(params![
            parts.seq.cast_signed(),
            parts.time.cast_signed(),
            parts.cause.map(u64::cast_signed),
            parts.version,
            parts.stream,
            parts.session,
            parts.run,
            parts.turn,
            kind,
            parts.body,
            hash,
        ])?;
    }
    Ok(())
}

impl LedgerRow {
    /// Reads a row with the columns of `COLUMNS`.
    pub(crate) fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        let count = |index| row.get::<_, i64>(index).map(i64::cast_unsigned);
        Ok(Self {
            seq: count(0)?,
            time: count(1)?,
            cause: row.get::<_, Option<i64>>(2)?.map(i64::cast_unsigned),
            version: row.get(3)?,
            stream: row.get(4)?,
            session: row.get(5)?,
            run: row.get(6)?,
            turn: row.get(7)?,
            kind: row.get(8)?,
            body: row.get(9)?,
            hash: row.get(10)?,
        })
    }

    /// Returns the parts that the hash of this row covers.
    pub(crate) fn sealed(&self) -> RowHashInput<'_> {
        RowHashInput {
            seq: self.seq,
            time: self.time,
            cause: self.cause,
            version: self.version,
            stream: &self.stream,
            session: self.session.as_deref(),
            run: self.run.as_deref(),
            turn: self.turn.as_deref(),
            body: &self.body,
        }
    }

    /// Decodes the envelope; entries of older versions are upgraded to the current form.
    pub(crate) fn open(self, ledger: &Path, artifacts: &Artifacts) -> Result<Envelope, Error> {
        let path = || ledger.to_owned();
        let seq = self.seq;
        let unreadable = |why: String| Error::Unreadable { path: path(), seq, why };
        let event = match self.version {
            EVENT_VERSION => {
                event_codec::decode(&self.body, artifacts).map_err(|failure| match failure {
                    EventDecodeError::Text(why) => unreadable(why),
                    EventDecodeError::Artifact(error) => error,
                })?
            }
            0 => return Err(unreadable("its version is zero".to_owned())),
            version => {
                let (found, known) = (u64::from(version), u64::from(EVENT_VERSION));
                return Err(Error::FromTheFuture { path: path(), what: "event", found, known });
            }
        };
        let stream = event.stream();
        if word(stream) != self.stream {
            return Err(unreadable(format!("its stream is `{}`", self.stream)));
        }
        Ok(Envelope {
            seq,
            time: self.time,
            cause: self.cause,
            version: EVENT_VERSION,
            stream,
            about: EntrySubject {
                session: self.session.map(SessionId::new),
                run: self.run.map(RunId::new),
                turn: self.turn.map(TurnId::new),
            },
            event,
        })
    }
}

/// Returns the column value for a stream.
pub(crate) fn word(stream: LedgerStream) -> &'static str {
    match stream {
        LedgerStream::World => "world",
        LedgerStream::Turns => "turns",
    }
}
