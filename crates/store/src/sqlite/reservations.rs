//! Reservations in a table of the ledger's file.
//!
//! Must never: keep the reservations of a dead process.

use agentry_protocol::{RunId, SessionId};
use rusqlite::{Connection, OptionalExtension, params};

use crate::column::whole;
use crate::limits::RESERVATION_TIME_MS_MAX;
use crate::reservation::{ReleaseTarget, Reservation, SpendingOverrun};
use crate::reservation_store::ReservationStore;
use crate::spending::{self, MoneyInUse};
use crate::storage_failure::StorageFailure;
use crate::view::{self, SpendingSubject};

/// The table of reservations in the ledger's file.
pub(crate) struct SqliteReservations;

impl ReservationStore for SqliteReservations {
    fn reserve(
        &self,
        file: &Connection,
        wanted: &Reservation,
        now: u64,
    ) -> Result<Result<(), SpendingOverrun>, StorageFailure> {
        let stale = whole(now.saturating_sub(RESERVATION_TIME_MS_MAX));
        file.prepare_cached("DELETE FROM reservations WHERE made < ?1")?.execute([stale])?;
        let overrun = spending::overrun(wanted, |payer| {
            let spent = view::bill(file, payer)?.nano_usd;
            Ok::<_, rusqlite::Error>(MoneyInUse { spent, reserved: others(file, payer, wanted)? })
        })?;
        if let Some(overrun) = overrun {
            return Ok(Err(overrun));
        }
        file.prepare_cached(
            "INSERT OR REPLACE INTO reservations (id, session, run, nano, made)
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            wanted.id,
            wanted.session.as_ref().map(SessionId::as_str),
            wanted.run.as_ref().map(RunId::as_str),
            whole(wanted.nano_usd),
            whole(now),
        ])?;
        Ok(Ok(()))
    }

    fn release(&self, file: &Connection, target: &ReleaseTarget) -> Result<(), StorageFailure> {
        let (text, id) = match target {
            ReleaseTarget::One(id) => ("DELETE FROM reservations WHERE id = ?1", id.as_str()),
            ReleaseTarget::Session(id) => {
                ("DELETE FROM reservations WHERE session = ?1", id.as_str())
            }
        };
        file.prepare_cached(text)?.execute([id])?;
        Ok(())
    }

    fn has_any(&self, file: &Connection, session: &SessionId) -> Result<bool, StorageFailure> {
        let found = file
            .prepare_cached("SELECT 1 FROM reservations WHERE session = ?1 LIMIT 1")?
            .query_row([session.as_str()], |_| Ok(()))
            .optional()?;
        Ok(found.is_some())
    }
}

/// Sums up the other reservations; each counts for today, since it may be spent today.
fn others(
    file: &Connection,
    payer: &SpendingSubject,
    wanted: &Reservation,
) -> rusqlite::Result<u64> {
    let (of, id) = match payer {
        SpendingSubject::Run(id) => ("run = ?2", id.as_str()),
        SpendingSubject::Session(id) => ("session = ?2", id.as_str()),
        SpendingSubject::Turn(_)
        | SpendingSubject::Agent(_)
        | SpendingSubject::Day(_)
        | SpendingSubject::All => ("?2 = ''", ""),
    };
    let text =
        format!("SELECT CAST(TOTAL(nano) AS INTEGER) FROM reservations WHERE id <> ?1 AND {of}");
    file.prepare_cached(&text)?
        .query_row([wanted.id.as_str(), id], |row| row.get(0))
        .map(i64::cast_unsigned)
}
