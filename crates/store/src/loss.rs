//! Entries that were written and are not there any more: noticed when the ledger is opened, and accepted by an
//! explicit act that is recorded.
//!
//! Must never: let a new entry have the number of one that was lost.

use std::fmt;
use std::path::Path;

use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::Event;
use rusqlite::{Connection, OptionalExtension};

use crate::Clock;
use crate::anchor::{self, Anchor, AnchorLine, ChainTip};
use crate::artifact::Artifacts;
use crate::batch::{self, AppendError, PendingEntry};
use crate::clock::BoundedClock;
use crate::connection;
use crate::error::Error;
use crate::event_codec;
use crate::home::Home;

/// What is missing from a ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The last entry that is there.
    pub last: u64,
    /// The last entry that is known to have been written.
    pub known: u64,
    /// The hash of that entry, in hexadecimal digits.
    pub hash: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { last, known, .. } = self;
        match last < known {
            true => write!(
                f,
                "ends with entry {last}, but {known} entries were written: the end is lost"
            ),
            false => write!(
                f,
                "has another entry {known} than the one that was written: another file is in its place"
            ),
        }
    }
}

/// A loss that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedLoss {
    /// What is missing.
    pub loss: Loss,
    /// The entry that says so.
    pub seq: u64,
}

/// What is missing, to go by the newest marks. They must have been read before the snapshot.
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

/// Whether an entry says that the one with this number is lost.
fn is_accepted(sql: &Connection, seq: u64) -> rusqlite::Result<bool> {
    let text = "SELECT 1 FROM ledger WHERE kind = 'loss_accepted' AND seq > ?1 \
                AND json_extract(body, '$.known') >= ?1 LIMIT 1";
    let seq = i64::try_from(seq).unwrap_or(i64::MAX);
    let found: Option<i64> = sql.query_row(text, [seq], |row| row.get(0)).optional()?;
    Ok(found.is_some())
}

/// Records that entries are lost, so that the ledger can be opened again. The numbers of the lost entries are
/// never used again. The time is handed in.
pub(crate) fn accept(home: &Path, clock: Clock) -> Result<AcceptedLoss, Error> {
    let home = Home::open(home)?;
    let path = home.ledger();
    let unread = |source| Error::Read { path: path.clone(), source };
    let marks = anchor::newest(&home)?;
    let sql = connection::open_writer(&home)?;
    sql.execute_batch("BEGIN IMMEDIATE").map_err(unread)?;
    let last = batch::last(&sql).map_err(unread)?;
    let Some(loss) = find(&sql, &last.tip, &marks).map_err(unread)? else {
        return Err(Error::NothingLost { path: path.clone() });
    };
    let clock = BoundedClock::new(clock);
    let times = marks.iter().map(|mark| mark.time);
    clock.raise(times.fold(batch::newest_time(&sql).map_err(unread)?, u64::max));
    let now = clock.now(|| None).min(i64::MAX.cast_unsigned());
    let Loss { last: last_seq, known, hash } = loss.clone();
    let event = Event::LossAccepted { last: last_seq, known, hash };
    let body = event_codec::encode(&event, &Artifacts::new(&home))?;
    let (about, kind) = (EntrySubject::default(), body.kind);
    let entry = PendingEntry { cause: None, about, event: body.event, kind, body: body.text };
    // It follows the last entry that is there, and stands behind the last one that was lost.
    let mut tip = ChainTip { seq: last.tip.seq.max(known), hash: last.tip.hash };
    batch::append(&sql, &mut tip, now, None, vec![entry]).map_err(|trouble| match trouble {
        AppendError::Refused(error) => error,
        AppendError::Sql(source) => unread(source),
    })?;
    sql.execute_batch("COMMIT").map_err(unread)?;
    Anchor::open(&home, &tip, now)?;
    Ok(AcceptedLoss { loss, seq: tip.seq })
}
