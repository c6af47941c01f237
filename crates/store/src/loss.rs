//! Entries that were written and are missing: detected when the ledger is opened, and accepted by
//! an explicit command that is recorded.
//!
//! Must never: give a new entry the number of a lost one.

use std::path::Path;
use std::sync::Arc;

use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::Event;
use rusqlite::{Connection, OptionalExtension};

use crate::Clock;
use crate::anchor::{self, Anchor, AnchorLine};
use crate::artifact::Artifacts;
use crate::batch::{self, AppendError, RowBatch};
use crate::chain::ChainTip;
use crate::clock::BoundedClock;
use crate::defect::Loss;
use crate::entry_log::{EntryLog, PutError};
use crate::error::Error;
use crate::event_codec;
use crate::files::FileBlobs;
use crate::home::Home;
use crate::last_entry;
use crate::layout;
use crate::sqlite::SqliteEntryLog;
use crate::transaction::BeginError;
use crate::write_request::PendingEntry;

/// A loss that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedLoss {
    /// The loss.
    pub loss: Loss,
    /// The entry that records it.
    pub seq: u64,
}

/// Finds a loss by the newest anchor lines, which must have been read before the snapshot.
pub(crate) fn find(
    sql: &Connection,
    tip: &ChainTip,
    marks: &[AnchorLine],
) -> rusqlite::Result<Option<Loss>> {
    let mut found: Option<Loss> = None;
    for mark in marks {
        if is_there(sql, mark)? || found.as_ref().is_some_and(|loss| loss.known >= mark.seq) {
            continue;
        }
        found = Some(Loss { last: tip.seq, known: mark.seq, hash: mark.hash.clone() });
    }
    Ok(found)
}

fn is_there(sql: &Connection, mark: &AnchorLine) -> rusqlite::Result<bool> {
    let Ok(seq) = i64::try_from(mark.seq) else { return Ok(false) };
    let hash: Option<Vec<u8>> = sql
        .query_row("SELECT CAST(hash AS BLOB) FROM ledger WHERE seq = ?1", [seq], |row| row.get(0))
        .optional()?;
    let digits =
        |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    if hash.map(digits).is_some_and(|hash| hash == mark.hash) {
        return Ok(true);
    }
    is_accepted(sql, mark.seq)
}

/// Returns true if an entry records that the one with this number is lost.
fn is_accepted(sql: &Connection, seq: u64) -> rusqlite::Result<bool> {
    let text = "SELECT 1 FROM ledger WHERE kind = 'loss_accepted' AND seq > ?1 \
                AND json_extract(body, '$.known') >= ?1 LIMIT 1";
    let seq = i64::try_from(seq).unwrap_or(i64::MAX);
    let found: Option<i64> = sql.query_row(text, [seq], |row| row.get(0)).optional()?;
    Ok(found.is_some())
}

/// Records that entries are lost, so that the ledger can be opened again. The numbers of the lost
/// entries are never reused. `clock` gives the time of the record.
pub(crate) fn accept(home: &Path, clock: Clock) -> Result<AcceptedLoss, Error> {
    let home = Home::open(home)?;
    let path = home.ledger();
    let unread = |error| Error::read(&path, error);
    let marks = anchor::newest(&home)?;
    let artifacts = Artifacts::new(&home, Arc::new(FileBlobs::new(&home)));
    let sql = layout::open_writer(&home, &artifacts)?;
    let mut log = SqliteEntryLog;
    let last = log.begin(&sql).map_err(|error| not_begun(error, &path))?;
    let Some(loss) = find(&sql, &last.tip, &marks).map_err(unread)? else {
        return Err(Error::NothingLost { path: path.clone() });
    };
    let clock = BoundedClock::new(clock);
    let times = marks.iter().map(|mark| mark.time);
    clock.raise(times.fold(last_entry::newest_time(&sql).map_err(unread)?, u64::max));
    let now = clock.now(|| None).min(i64::MAX.cast_unsigned());
    let Loss { last: last_seq, known, hash } = loss.clone();
    let event = Event::LossAccepted { last: last_seq, known, hash };
    let body = event_codec::encode(&event, &artifacts)?;
    let (about, kind) = (EntrySubject::default(), body.kind);
    let entries = [PendingEntry { cause: None, about, event: body.event, kind, body: body.text }];
    // The record is chained to the last entry in the file; its number is behind the last lost one.
    let from = ChainTip { seq: last.tip.seq.max(known), hash: last.tip.hash };
    let mut batch = RowBatch { tip: from, rows: Vec::with_capacity(entries.len()) };
    batch::append(&sql, &mut batch, now, None, &entries).map_err(|trouble| match trouble {
        AppendError::Refused(error) => error,
        AppendError::Failed(failure) => failure.of_read(&path),
    })?;
    log.put(&sql, &from, &batch.rows).map_err(|error| match error {
        PutError::Refused(failure) | PutError::Lost(failure) => failure.of_read(&path),
    })?;
    Anchor::open(&home, &batch.tip, now)?;
    Ok(AcceptedLoss { loss, seq: batch.tip.seq })
}

fn not_begun(error: BeginError, path: &Path) -> Error {
    match error {
        BeginError::Locked => Error::Locked { path: path.to_owned() },
        BeginError::Newer { what, found, known } => {
            Error::FromTheFuture { path: path.to_owned(), what, found, known }
        }
        BeginError::Failed(failure) => failure.of_read(path),
    }
}
