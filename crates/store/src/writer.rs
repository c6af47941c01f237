//! The only thread that writes: it collects the waiting appends and commits them together.
//!
//! One wait for the disk serves many callers. After a failed commit the content of the disk is
//! unknown, so the thread ends; opening the ledger again reads the real content.
//!
//! Must never: try again on a connection that failed, or answer before the disk did.

mod batch_commit;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use agentry_protocol::envelope::EVENT_VERSION;
use rusqlite::Connection;

use crate::anchor::{self, Anchor};
use crate::artifact::Artifacts;
use crate::batch::AppendError;
use crate::chain::ChainTip;
use crate::clock::BoundedClock;
use crate::commit_signal::{CommitSignal, Poison};
use crate::connection;
use crate::entry_log::EntryLog;
use crate::error::{AppendOutcome, Error};
use crate::home::Home;
use crate::last_entry::{self, LastEntry};
use crate::layout::{self, LAYOUT_VERSION};
use crate::limits::{BATCH_APPENDS_MAX, GATHER_TIME_MAX};
use crate::loss;
use crate::reservation_store::ReservationStore;
use crate::storage_failure::StorageFailure;
use crate::transaction::{self, BeginError};
use crate::view;
use crate::wal_checkpoint::WalCheckpointer;
use crate::write_request::{AppendRequest, ExclusiveOp, Reply, WriterRequest};

/// The state of the writer thread.
pub(crate) struct LedgerWriter {
    sql: Connection,
    path: PathBuf,
    stores: WriterStores,
    clock: Arc<BoundedClock>,
    anchor: Anchor,
    tip: ChainTip,
    signal: Arc<CommitSignal>,
    checkpoints: WalCheckpointer,
}

/// The parts of the ledger that the writer shares with other processes.
pub(crate) struct WriterStores {
    pub(crate) log: Box<dyn EntryLog>,
    pub(crate) reservations: Arc<dyn ReservationStore>,
    pub(crate) artifacts: Artifacts,
}

/// A mark that the connection failed; it must not be used again.
struct ConnectionFailure;

/// The reason why a transaction was not committed.
enum CommitError {
    /// No transaction began.
    NotBegun(BeginError),
    /// The storage failed.
    Failed { failure: StorageFailure, outcome: AppendOutcome },
}

impl From<BeginError> for CommitError {
    fn from(error: BeginError) -> Self {
        Self::NotBegun(error)
    }
}

impl CommitError {
    /// Returns the error of a step before which nothing can have been written.
    fn before_write(failure: impl Into<StorageFailure>) -> Self {
        Self::Failed { failure: failure.into(), outcome: AppendOutcome::NothingWritten }
    }

    /// Returns the error of a step after which entries may be on disk.
    fn in_write(failure: impl Into<StorageFailure>) -> Self {
        Self::Failed { failure: failure.into(), outcome: AppendOutcome::Unknown }
    }
}

impl LedgerWriter {
    /// Opens the ledger for writing; fails with `Error::Lost` if written entries are missing.
    pub(crate) fn open(
        home: &Home,
        stores: WriterStores,
        clock: Arc<BoundedClock>,
        signal: Arc<CommitSignal>,
    ) -> Result<Self, Error> {
        // Before the ledger: another process may write to it meanwhile.
        let marks = anchor::newest(home)?;
        let (mut sql, path) = (layout::open_writer(home, &stores.artifacts)?, home.ledger());
        let unread = |error| Error::read(&path, error);
        let checkpoints = WalCheckpointer::of(&mut sql, path.clone()).map_err(unread)?;
        let LastEntry { tip, .. } = last_entry::last(&sql).map_err(unread)?;
        if let Some(loss) = loss::find(&sql, &tip, &marks).map_err(unread)? {
            return Err(Error::Lost { path, loss });
        }
        clock.raise(last_entry::newest_time(&sql).map_err(unread)?);
        let anchor = Anchor::open(home, &tip, clock.now(|| None))?;
        signal.start(tip.seq);
        Ok(Self { sql, path, stores, clock, anchor, tip, signal, checkpoints })
    }

    /// Serves requests until the last sender is dropped or a commit fails.
    pub(crate) fn work(mut self, orders: &Receiver<WriterRequest>) {
        let mut expected = 1;
        while let Ok(first) = orders.recv() {
            let (appends, alone) = gather(first, orders, expected);
            expected = appends.len();
            let mut done = self.commit(appends);
            if let (Ok(()), Some(alone)) = (&done, alone) {
                done = self.perform(alone);
            }
            if let Err(ConnectionFailure) = done {
                connection::abandon(&self.sql);
                return;
            }
        }
        self.anchor.close(&self.tip, self.now());
    }

    fn perform(&mut self, alone: ExclusiveOp) -> Result<(), ConnectionFailure> {
        match alone {
            ExclusiveOp::Rebuild(reply) => self.change(reply, |writer| {
                let WriterStores { log, artifacts, .. } = &mut writer.stores;
                let rebuilt = view::rebuild(&writer.sql, &mut **log, &writer.path, artifacts);
                rebuilt.map_err(AppendError::Refused)
            }),
            ExclusiveOp::Reserve(wanted, reply) => self.change(reply, |writer| {
                let now = writer.now();
                let reserved = writer.stores.reservations.reserve(&writer.sql, &wanted, now);
                reserved.map_err(AppendError::Failed)
            }),
            ExclusiveOp::Release(target, reply) => self.change(reply, |writer| {
                let released = writer.stores.reservations.release(&writer.sql, &target);
                released.map_err(AppendError::Failed)
            }),
        }
    }

    /// Returns the time, never before the last entry.
    fn now(&self) -> u64 {
        self.clock.now(|| None)
    }

    /// Begins a transaction and reads the tip, since another process may have written.
    fn begin(&mut self) -> Result<ChainTip, BeginError> {
        let LastEntry { tip, version, time } = self.stores.log.begin(&self.sql)?;
        self.clock.raise(time);
        let found = layout::version(&self.sql)?;
        if found != LAYOUT_VERSION {
            return Err(BeginError::Newer { what: "layout", found, known: LAYOUT_VERSION });
        }
        if version > EVENT_VERSION {
            let (found, known) = (u64::from(version), u64::from(EVENT_VERSION));
            return Err(BeginError::Newer { what: "event", found, known });
        }
        Ok(tip)
    }

    /// Changes tables that are not part of the ledger, in a transaction of their own.
    fn change<T>(
        &mut self,
        reply: Reply<T>,
        with: impl FnOnce(&mut Self) -> Result<T, AppendError>,
    ) -> Result<(), ConnectionFailure> {
        let changed = self.begin().map_err(CommitError::from).and_then(|_| {
            let answer = match with(self) {
                Ok(answer) => answer,
                Err(AppendError::Refused(error)) => {
                    transaction::roll_back(&self.sql).map_err(CommitError::before_write)?;
                    return Ok(Err(error));
                }
                Err(AppendError::Failed(failure)) => {
                    return Err(CommitError::before_write(failure));
                }
            };
            transaction::commit(&self.sql).map_err(CommitError::in_write)?;
            Ok(Ok(answer))
        });
        match changed {
            Ok(answer) => {
                reply.send(answer);
                Ok(())
            }
            Err(error) => self.refuse(error, vec![reply]),
        }
    }

    /// Sends the reason to all callers, after a failure of the storage as the last answer.
    fn refuse<T>(&self, why: CommitError, replies: Vec<Reply<T>>) -> Result<(), ConnectionFailure> {
        let newer = match why {
            CommitError::NotBegun(BeginError::Locked) => None,
            CommitError::NotBegun(BeginError::Newer { what, found, known }) => {
                if let Err(error) = transaction::roll_back(&self.sql) {
                    let outcome = AppendOutcome::NothingWritten;
                    return Err(self.failed(&error.into(), outcome, replies));
                }
                Some((what, found, known))
            }
            CommitError::NotBegun(BeginError::Failed(failure)) => {
                return Err(self.failed(&failure, AppendOutcome::NothingWritten, replies));
            }
            CommitError::Failed { failure, outcome } => {
                return Err(self.failed(&failure, outcome, replies));
            }
        };
        for reply in replies {
            let path = self.path.clone();
            reply.send(Err(match newer {
                Some((what, found, known)) => Error::FromTheFuture { path, what, found, known },
                None => Error::Locked { path },
            }));
        }
        Ok(())
    }

    /// Poisons the ledger first and replies then: the next requests of the callers must see it.
    fn failed<T>(
        &self,
        failure: &StorageFailure,
        outcome: AppendOutcome,
        replies: Vec<Reply<T>>,
    ) -> ConnectionFailure {
        let StorageFailure { error, is_full } = failure;
        let cause = error.to_string();
        self.signal.poison(match (is_full, outcome) {
            (true, AppendOutcome::NothingWritten) => Poison::DiskFull,
            (true, AppendOutcome::Unknown) | (false, _) => Poison::Unknown(cause.clone()),
        });
        for reply in replies {
            let path = self.path.clone();
            reply.send(Err(if *is_full {
                Error::DiskFull { path, outcome }
            } else {
                Error::OutcomeUnknown { path, cause: cause.clone() }
            }));
        }
        ConnectionFailure
    }
}

/// Collects the waiting appends. Callers that got their answers together tend to return together: a
/// short wait for them pays, since each commit costs much more.
fn gather(
    first: WriterRequest,
    orders: &Receiver<WriterRequest>,
    expected: usize,
) -> (Vec<AppendRequest>, Option<ExclusiveOp>) {
    let mut appends = Vec::with_capacity(expected);
    let mut next = Some(first);
    while let Some(order) = next {
        match order {
            WriterRequest::Append(append) => appends.push(append),
            WriterRequest::Alone(alone) => return (appends, Some(alone)),
        }
        next = if appends.len() < expected {
            orders.recv_timeout(GATHER_TIME_MAX).ok()
        } else if appends.len() < BATCH_APPENDS_MAX {
            orders.try_recv().ok()
        } else {
            None
        };
    }
    (appends, None)
}
