//! The check of spending limits: money is reserved for each request that is under way.
//!
//! A limit covers recorded costs and reservations together. One transaction reads both and adds the
//! new reservation, so two processes cannot both reserve the last cent.
//!
//! Must never: count reservations as spending; only ledger entries are.

use agentry_protocol::SessionId;

use crate::error::Error;
use crate::ledger::Ledger;
use crate::limits::DAY_MS;
use crate::reservation::{ReleaseTarget, Reservation, SpendingOverrun, SpendingPeriod};
use crate::view::SpendingSubject;
use crate::write_request::{ExclusiveOp, WriterRequest};

impl Ledger {
    /// Reserves money for a request, or returns the limit that it would exceed. Record the real
    /// cost before the reservation is released.
    pub fn reserve(&self, wanted: &Reservation) -> Result<Result<(), SpendingOverrun>, Error> {
        let wanted = Box::new(wanted.clone());
        self.shared.request(|reply| WriterRequest::Alone(ExclusiveOp::Reserve(wanted, reply)))
    }

    /// Releases the reservation with a name, if there is one.
    pub fn release(&self, id: &str) -> Result<(), Error> {
        self.give_back(ReleaseTarget::One(id.to_owned()))
    }

    /// Releases all reservations of a session. Only the owner of its lock may call this.
    pub fn release_session(&self, session: &SessionId) -> Result<(), Error> {
        let shared = &self.shared;
        let has_any = self.read(|sql| {
            let found = shared.reservations.has_any(sql, session);
            found.map_err(|failure| failure.of_read(&shared.path))
        })?;
        if !has_any {
            return Ok(());
        }
        self.give_back(ReleaseTarget::Session(session.clone()))
    }

    fn give_back(&self, released: ReleaseTarget) -> Result<(), Error> {
        self.shared.request(|reply| WriterRequest::Alone(ExclusiveOp::Release(released, reply)))
    }
}

/// Returns the day of a time in milliseconds, counted from 1970, in universal time.
pub fn day_of(time: u64) -> u64 {
    time / DAY_MS
}

/// The money of a period that cannot be reserved again, in billionths of a dollar.
pub(crate) struct MoneyInUse {
    /// The recorded costs.
    pub(crate) spent: u64,
    /// The reservations of other requests.
    pub(crate) reserved: u64,
}

/// Returns the first limit that a reservation would exceed, or None.
pub(crate) fn overrun<E>(
    wanted: &Reservation,
    in_use: impl Fn(&SpendingSubject) -> Result<MoneyInUse, E>,
) -> Result<Option<SpendingOverrun>, E> {
    let limits = &wanted.limits;
    let run = wanted.run.clone().zip(limits.run);
    let session = wanted.session.clone().zip(limits.session);
    let checks = [
        run.map(|(id, limit)| (SpendingPeriod::Run, limit, SpendingSubject::Run(id))),
        session.map(|(id, limit)| (SpendingPeriod::Session, limit, SpendingSubject::Session(id))),
        limits.day.map(|limit| (SpendingPeriod::Day, limit, SpendingSubject::Day(wanted.day))),
    ];
    for (which, limit, payer) in checks.into_iter().flatten() {
        let MoneyInUse { spent, reserved } = in_use(&payer)?;
        if spent.saturating_add(reserved).saturating_add(wanted.nano_usd) > limit {
            let wanted = wanted.nano_usd;
            return Ok(Some(SpendingOverrun { which, limit, spent, reserved, wanted }));
        }
    }
    Ok(None)
}
