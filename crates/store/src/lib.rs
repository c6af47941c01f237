//! Remembers: the ledger, and the views that are folded from it.
//!
//! The ledger is one append-only sequence of envelopes in SQLite. What an append returned is on disk. Each
//! entry is sealed to the one before it; views can be dropped and folded again; two processes may use one
//! home.
//!
//! Must never: decide anything, or know of agent files, tools and models. No other crate has SQL.
#![deny(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod anchor;
mod artifact;
mod batch;
mod body;
mod chain;
mod checkpoint;
mod clock;
mod connection;
mod error;
mod home;
mod hooks;
mod inbox;
mod ledger;
pub mod limits;
mod list;
mod lock;
mod loss;
mod past;
mod query;
mod spending;
mod tail;
mod verify;
mod view;
mod who;
mod writer;

use std::sync::Arc;

pub use error::{Error, Outcome};
pub use home::Home;
pub use hooks::{InvocationFilter, JobFilter};
pub use inbox::{OpenRows, WholeInbound};
pub use ledger::{Filter, Ledger};
pub use list::{Bucket, Voices};
pub use lock::{Ownership, SoleIntake, Taker};
pub use loss::{AcceptedLoss, Loss};
pub use past::{CountBy, DecisionCount, PastDecision, PastPlace};
pub use spending::{Over, Reservation, Span, SpendingLimits, day_of};
pub use tail::Tail;
pub use verify::{Broken, Defect, Verified};
pub use view::{
    ApprovalRow, ApprovalStatus, Bill, CallRow, CallStatus, DeliveryRow, DeliveryStatus,
    EventHookRow, EventHookStatus, EventHookTimes, GrantActivity, GrantActivityRow, HookEventRow,
    HookStats, InboundRow, InboundStatus, InvocationRow, InvocationStatus, JobRow, Known, Payer,
    RequestHistory, RoutedRow, RunRow, RunStatus, SessionRow, StepRow, TokenRow, TurnRow,
    TurnStatus,
};
pub use who::{AuditFilter, AuditRow, PolicyPart};

/// Says the time in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;
