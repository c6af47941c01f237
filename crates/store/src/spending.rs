//! What was spent, and what is set aside for questions that are under way.
//!
//! A limit holds for what was spent and what is set aside together, and both are looked at in the one
//! transaction that sets more aside; so two processes cannot both take the last cent.
//!
//! Must never: be read to tell what was spent (that is the ledger's word), or keep what a dead process set
//! aside.

use std::fmt;
use std::sync::mpsc;

use agentry_protocol::{RunId, SessionId};
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::Error;
use crate::ledger::Ledger;
use crate::limits::{DAY_MS, RESERVATION_TIME_MS_MAX};
use crate::view::{self, SpendingSubject, SpendingTotal, whole};
use crate::writer::{ExclusiveOp, WriterRequest};

/// How much may be spent, in billionths of a dollar; none means as much as it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpendingLimits {
    /// In one run.
    pub run: Option<u64>,
    /// In one session.
    pub session: Option<u64>,
    /// On one day, by everybody, in universal time.
    pub day: Option<u64>,
}

impl SpendingLimits {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.run.is_none() && self.session.is_none() && self.day.is_none()
    }
}

/// What is to be set aside for one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// A name of its own; the same again replaces the one before.
    pub id: String,
    /// The run that asks.
    pub run: Option<RunId>,
    /// The session that asks.
    pub session: Option<SessionId>,
    /// The day, counted from 1970.
    pub day: u64,
    /// How much, in billionths of a dollar.
    pub nano_usd: u64,
    /// What holds.
    pub limits: SpendingLimits,
}

/// A limit that a question would go over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpendingOverrun {
    /// Which one.
    pub which: SpendingPeriod,
    /// How much may be spent, in billionths of a dollar.
    pub limit: u64,
    /// How much was.
    pub spent: u64,
    /// How much is set aside for others.
    pub reserved: u64,
    /// How much was wanted.
    pub wanted: u64,
}

/// What a limit is counted over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpendingPeriod {
    /// One run.
    Run,
    /// One session.
    Session,
    /// One day.
    Day,
}

impl fmt::Display for SpendingPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run => "run",
            Self::Session => "session",
            Self::Day => "day",
        })
    }
}

/// What is given back.
pub(crate) enum ReleaseTarget {
    One(String),
    Session(SessionId),
}

impl Ledger {
    /// What somebody spent.
    pub fn spending_total(&self, payer: &SpendingSubject) -> Result<SpendingTotal, Error> {
        self.ask(|sql| view::bill(sql, payer))
    }

    /// Sets money aside for a question, or says which limit it would go over. What it cost is recorded
    /// before it is given back.
    pub fn reserve(&self, wanted: &Reservation) -> Result<Result<(), SpendingOverrun>, Error> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.shared
            .order(WriterRequest::Alone(ExclusiveOp::Reserve(Box::new(wanted.clone()), reply)))?;
        answer.recv().map_err(|_| self.shared.stopped())?
    }

    /// Gives back what was set aside under a name; nothing happens if there is nothing.
    pub fn release(&self, id: &str) -> Result<(), Error> {
        self.give_back(ReleaseTarget::One(id.to_owned()))
    }

    /// Gives back all that a session set aside. Only its owner may say so.
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

/// The day of a time, counted from 1970, in universal time.
pub fn day_of(time: u64) -> u64 {
    time / DAY_MS
}

/// The caller holds the transaction.
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

/// What others set aside. Whatever is open may be spent today, on whichever day it was set aside.
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

/// The caller holds the transaction.
pub(crate) fn release(sql: &Connection, released: &ReleaseTarget) -> rusqlite::Result<()> {
    let (text, id) = match released {
        ReleaseTarget::One(id) => ("DELETE FROM reservations WHERE id = ?1", id.as_str()),
        ReleaseTarget::Session(id) => ("DELETE FROM reservations WHERE session = ?1", id.as_str()),
    };
    sql.prepare_cached(text)?.execute([id]).map(|_| ())
}
