//! Stores the ledger, and the views that are folded from it.
//!
//! The ledger is one append-only sequence of envelopes in SQLite. When an append returns, its
//! entries are on disk. The hash of each entry covers the entry before it. Views can be dropped and
//! folded again. Two processes may use one home.
//!
//! Must never: make decisions, or know of agent files, tools and models. No other crate has SQL.
#![deny(missing_docs, clippy::print_stdout, clippy::print_stderr)]

mod activity;
mod anchor;
mod artifact;
mod backend;
mod batch;
mod blob_store;
mod chain;
mod clock;
mod column;
mod commit_signal;
mod connection;
mod decision_history;
mod defect;
mod entry_log;
mod error;
mod event_codec;
mod files;
mod home;
mod last_entry;
mod layout;
mod ledger;
mod ledger_row;
pub mod limits;
mod lock;
mod lock_holder;
mod lock_store;
mod loss;
mod opening;
mod reservation;
mod reservation_store;
mod short_id;
mod spending;
mod sqlite;
mod status;
mod storage_failure;
mod tail;
mod transaction;
mod verify;
mod view;
mod wal_checkpoint;
mod write_request;
mod writer;

use std::sync::Arc;

pub use activity::ActivityBucket;
pub use decision_history::{DecisionOrigin, PastDecision};
pub use defect::{Defect, EntryDefect, Loss};
pub use error::{AppendOutcome, BackendError, Error, ErrorClass};
pub use home::Home;
pub use ledger::{EntryFilter, Ledger};
pub use lock::{IntakeLock, SessionLock};
pub use lock_holder::IntakeHolder;
pub use loss::AcceptedLoss;
pub use reservation::{Reservation, SpendingLimits, SpendingOverrun, SpendingPeriod};
pub use spending::day_of;
pub use status::{ApprovalStatus, InboundStatus, InvocationStatus};
pub use tail::{Tail, TailWaker};
pub use verify::VerificationReport;
pub use view::{
    ApprovalRow, AuditFilter, AuditRow, CallRow, CallStatus, DecisionCount, DecisionGrouping,
    DeliveryRow, DeliveryStatus, EventHookRow, EventHookStatus, EventHookTimes, GrantActivity,
    GrantActivityRow, HookEventRow, HookStats, InboundRow, InvocationFilter, InvocationRow,
    JobFilter, JobRow, OpenInbounds, PolicyMatchFilter, RecordedDefinitions, RequestHistory,
    RoutedRow, RunRow, RunStatus, SessionRow, SpeakerCounts, SpendingSubject, SpendingTotal,
    StepRow, TokenRow, TurnRow, TurnStatus, WholeInbound,
};

/// A clock that returns the time in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;
