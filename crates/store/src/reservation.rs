//! Reservations of money for requests to models, and the limits that they may not exceed.
//!
//! Must never: count a reservation as spending.

use std::fmt;

use agentry_protocol::{RunId, SessionId};

/// Spending limits, in billionths of a dollar; None means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpendingLimits {
    /// The limit of one run.
    pub run: Option<u64>,
    /// The limit of one session.
    pub session: Option<u64>,
    /// The limit of one day in universal time, for all sessions together.
    pub day: Option<u64>,
}

impl SpendingLimits {
    /// Returns true if no limit is set.
    pub fn is_none(&self) -> bool {
        self.run.is_none() && self.session.is_none() && self.day.is_none()
    }
}

/// The money to reserve for one request to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The name of the reservation; a second one with this name replaces the first.
    pub id: String,
    /// The run that sends the request.
    pub run: Option<RunId>,
    /// The session that sends the request.
    pub session: Option<SessionId>,
    /// The day, counted from 1970, in universal time.
    pub day: u64,
    /// The amount, in billionths of a dollar.
    pub nano_usd: u64,
    /// The limits to check.
    pub limits: SpendingLimits,
}

/// The limit that a request would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpendingOverrun {
    /// The period of the limit.
    pub which: SpendingPeriod,
    /// The limit, in billionths of a dollar.
    pub limit: u64,
    /// The recorded costs, in billionths of a dollar.
    pub spent: u64,
    /// The reservations of other requests, in billionths of a dollar.
    pub reserved: u64,
    /// The refused amount, in billionths of a dollar.
    pub wanted: u64,
}

/// The period that a limit covers.
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

/// The reservations to release.
pub(crate) enum ReleaseTarget {
    One(String),
    Session(SessionId),
}
