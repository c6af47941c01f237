//! The check of spending limits: money is reserved for each request that is under way.
//!
//! A limit covers recorded costs and reservations together. One transaction reads both and adds the
//! new reservation, so two processes cannot both reserve the last cent.
//!
//! Must never: count reservations as spending (only ledger entries are), or keep the reservations
//! of a dead process.

use std::sync::mpsc;

use agentry_protocol::{RunId, SessionId};
use rusqlite::{Connection, OptionalExtension, params};

use crate::column::whole;
use crate::error::Error;
use crate::ledger::Ledger;
use crate::limits::{DAY_MS, RESERVATION_TIME_MS_MAX};
use crate::reservation::{ReleaseTarget, Reservation, SpendingOverrun, SpendingPeriod};
use crate::view::{self, SpendingSubject};
use crate::write_request::{ExclusiveOp, WriterRequest};

impl Ledger {
    /// Reserves money for a request, or returns the limit that it would exceed. Record the real
    /// cost before the reservation is released.
    pub fn reserve(&self, wanted: &Reservation) -> Result<Result<(), SpendingOverrun>, Error> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.shared
            .order(WriterRequest::Alone(ExclusiveOp::Reserve(Box::new(wanted.clone()), reply)))?;
        answer.recv().map_err(|_| self.shared.stopped())?
    }

    /// Releases the reservation with a name, if there is one.
    pub fn release(&self, id: &str) -> Result<(), Error> {
        self.give_back(ReleaseTarget::One(id.to_owned()))
    }

    /// Releases all reservations of a session. Only the owner of its lock may call this.
    pub fn release_session(&self, session: &SessionId) -> Result<(), Error> {
        let found = self.ask(|sql| {
            sql.prepare_cached("SELECT 1 FROM reservations WHERE session = ?1 LIMIT 1")?
                .query_row([session.as_str()], |_| Ok(()))
                .optional()
        })?;
        match found {
            None => Ok(()),
            Some(()) => self.give_back(ReleaseTarget::Session(session.clone())),
        }
    }

    fn give_back(&self, released: ReleaseTarget) -> Result<(), Error> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.shared.order(WriterRequest::Alone(ExclusiveOp::Release(released, reply)))?;
        answer.recv().map_err(|_| self.shared.stopped())?
    }
}

/// Returns the day of a time in milliseconds, counted from 1970, in universal time.
pub fn day_of(time: u64) -> u64 {
    time / DAY_MS
}

/// Reserves money, or returns the exceeded limit. The caller holds the transaction.
pub(crate) fn reserve(
    sql: &Connection,
    wanted: &Reservation,
    now: u64,
) -> rusqlite::Result<Result<(), SpendingOverrun>> {
    let stale = whole(now.saturating_sub(RESERVATION_TIME_MS_MAX));
    sql.prepare_cached("DELETE FROM reservations WHERE made < ?1")?.execute([stale])?;
    let limits = &wanted.limits;
    let run = wanted.run.clone().zip(limits.run);
    let session = wanted.session.clone().zip(limits.session);
    let checks = [
        run.map(|(id, limit)| (SpendingPeriod::Run, limit, SpendingSubject::Run(id))),
        session.map(|(id, limit)| (SpendingPeriod::Session, limit, SpendingSubject::Session(id))),
        limits.day.map(|limit| (SpendingPeriod::Day, limit, SpendingSubject::Day(wanted.day))),
    ];
    for (which, limit, payer) in checks.into_iter().flatten() {
        let spent = view::bill(sql, &payer)?.nano_usd;
        let reserved = set_aside(sql, &payer, &wanted.id)?;
        if spent.saturating_add(reserved).saturating_add(wanted.nano_usd) > limit {
            return Ok(Err(SpendingOverrun {
                which,
                limit,
                spent,
                reserved,
                wanted: wanted.nano_usd,
            }));
        }
    }
    sql.prepare_cached(
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

/// Sums up the other reservations; each counts for today, since it may be spent today.
fn set_aside(sql: &Connection, payer: &SpendingSubject, but: &str) -> rusqlite::Result<u64> {
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
    sql.prepare_cached(&text)?.query_row([but, id], |row| row.get(0)).map(i64::cast_unsigned)
}

/// Deletes reservations. The caller holds the transaction.
pub(crate) fn release(sql: &Connection, released: &ReleaseTarget) -> rusqlite::Result<()> {
    let (text, id) = match released {
        ReleaseTarget::One(id) => ("DELETE FROM reservations WHERE id = ?1", id.as_str()),
        ReleaseTarget::Session(id) => ("DELETE FROM reservations WHERE session = ?1", id.as_str()),
    };
    sql.prepare_cached(text)?.execute([id]).map(|_| ())
}
