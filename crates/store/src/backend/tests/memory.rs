//! Shared parts in memory, which fail when a test asks for it.
//!
//! Must never: fail on its own.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use agentry_protocol::SessionId;
use agentry_protocol::envelope::EVENT_VERSION;
use rusqlite::Connection;

use crate::blob_store::{BlobName, BlobStore};
use crate::chain::{self, ChainTip, GENESIS, RowHashInput};
use crate::entry_log::{EntryLog, PutError, PutFate, PutOutcome};
use crate::error::{BackendError, Error};
use crate::last_entry::{self, LastEntry};
use crate::ledger_row::{self, LedgerRow, SealedRow};
use crate::lock_holder::LockHolder;
use crate::lock_store::{HeldLock, LockAttempt, LockGuard, LockStore, LockTarget};
use crate::reservation::{ReleaseTarget, Reservation, SpendingOverrun};
use crate::reservation_store::ReservationStore;
use crate::spending::{self, MoneyInUse};
use crate::storage_failure::StorageFailure;
use crate::transaction::{self, BeginError};
use crate::view;

/// The defect of the next `put`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PutFault {
    LostBeforeWrite,
    LostAfterWrite,
    UnknownBeforeWrite,
    UnknownAfterWrite,
    Full,
}

#[derive(Default)]
struct LogState {
    rows: Vec<LedgerRow>,
    fault: Option<PutFault>,
    /// The number of coming puts that another machine overtakes.
    overtaken: u32,
    is_cut: bool,
}

impl LogState {
    fn tip(&self) -> ChainTip {
        let last = self.rows.last();
        last.map_or(ChainTip { seq: 0, hash: GENESIS }, |row| ChainTip {
            seq: row.seq,
            hash: row.hash.as_slice().try_into().unwrap(),
        })
    }

    fn add(&mut self, row: &SealedRow<'_>) {
        let SealedRow { parts, kind, hash } = row;
        self.rows.push(LedgerRow {
            seq: parts.seq,
            time: parts.time,
            cause: parts.cause,
            version: parts.version,
            stream: parts.stream.to_owned(),
            session: parts.session.map(str::to_owned),
            run: parts.run.map(str::to_owned),
            turn: parts.turn.map(str::to_owned),
            kind: (*kind).to_owned(),
            body: parts.body.to_owned(),
            hash: hash.to_vec(),
        });
    }

    fn add_foreign(&mut self) {
        let tip = self.tip();
        let parts = RowHashInput {
            seq: tip.seq + 1,
            time: 1_700_000_000_000,
            cause: None,
            version: EVENT_VERSION,
            stream: "world",
            session: None,
            run: None,
            turn: None,
            body: r#"{"content":"foreign","type":"prompt_received"}"#,
        };
        let hash = chain::seal(&tip.hash, &parts);
        self.add(&SealedRow { parts, kind: "prompt_received", hash });
    }
}

/// A log that several machines share.
#[derive(Clone, Default)]
pub(super) struct MemoryEntryLog(Arc<Mutex<LogState>>);

impl MemoryEntryLog {
    fn state(&self) -> MutexGuard<'_, LogState> {
        self.0.lock().unwrap()
    }

    pub(super) fn length(&self) -> usize {
        self.state().rows.len()
    }

    pub(super) fn fail_next(&self, fault: PutFault) {
        self.state().fault = Some(fault);
    }

    pub(super) fn overtake(&self, puts: u32) {
        self.state().overtaken = puts;
    }

    pub(super) fn change(&self, with: impl FnOnce(&mut Vec<LedgerRow>)) {
        with(&mut self.state().rows);
    }
}

fn cut() -> PutError {
    PutError::Lost(StorageFailure::of_text("the line was cut"))
}

impl EntryLog for MemoryEntryLog {
    fn begin(&mut self, file: &Connection) -> Result<LastEntry, BeginError> {
        transaction::begin(file)?;
        Ok(last_entry::last(file)?)
    }

    fn put(
        &mut self,
        file: &Connection,
        from: &ChainTip,
        rows: &[SealedRow<'_>],
    ) -> Result<PutOutcome, PutError> {
        let mut state = self.state();
        if state.overtaken > 0 {
            state.overtaken -= 1;
            state.add_foreign();
        }
        let fault = state.fault.take();
        state.is_cut =
            matches!(fault, Some(PutFault::UnknownBeforeWrite | PutFault::UnknownAfterWrite));
        match fault {
            Some(PutFault::Full) => {
                let error = BackendError::new("no room");
                return Err(PutError::Refused(StorageFailure { error, is_full: true }));
            }
            Some(PutFault::LostBeforeWrite | PutFault::UnknownBeforeWrite) => return Err(cut()),
            Some(PutFault::LostAfterWrite | PutFault::UnknownAfterWrite) | None => {}
        }
        let tip = state.tip();
        if (tip.seq, tip.hash) != (from.seq, from.hash) {
            return Ok(PutOutcome::Moved);
        }
        rows.iter().for_each(|row| state.add(row));
        if fault.is_some() {
            return Err(cut());
        }
        ledger_row::insert(file, rows).map_err(|error| PutError::Lost(error.into()))?;
        transaction::commit(file).map_err(|error| PutError::Lost(error.into()))?;
        Ok(PutOutcome::Written)
    }

    fn resolve(&mut self, first: &ChainTip) -> PutFate {
        let state = self.state();
        let is_first = |row: &LedgerRow| row.seq == first.seq && row.hash == first.hash;
        if state.is_cut {
            PutFate::Unknown
        } else if state.rows.iter().any(is_first) {
            PutFate::Written
        } else {
            PutFate::NotWritten
        }
    }

    fn after(
        &mut self,
        _file: &Connection,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<LedgerRow>, StorageFailure> {
        Ok(self.state().rows.iter().filter(|row| row.seq > seq).take(limit).cloned().collect())
    }
}

/// Reservations that several machines share.
#[derive(Default)]
pub(super) struct MemoryReservations {
    held: Mutex<HashMap<String, Reservation>>,
    is_failing: Mutex<bool>,
}

impl MemoryReservations {
    pub(super) fn fail_next(&self) {
        *self.is_failing.lock().unwrap() = true;
    }
}

impl ReservationStore for MemoryReservations {
    fn reserve(
        &self,
        file: &Connection,
        wanted: &Reservation,
        _now: u64,
    ) -> Result<Result<(), SpendingOverrun>, StorageFailure> {
        if std::mem::take(&mut *self.is_failing.lock().unwrap()) {
            return Err(StorageFailure::of_text("the line was cut"));
        }
        let mut held = self.held.lock().unwrap();
        let overrun = spending::overrun(wanted, |payer| {
            let others = held.values().filter(|one| one.id != wanted.id);
            let reserved = others.map(|one| one.nano_usd).sum();
            Ok::<_, rusqlite::Error>(MoneyInUse {
                spent: view::bill(file, payer)?.nano_usd,
                reserved,
            })
        })?;
        if let Some(overrun) = overrun {
            return Ok(Err(overrun));
        }
        held.insert(wanted.id.clone(), wanted.clone());
        Ok(Ok(()))
    }

    fn release(&self, _file: &Connection, target: &ReleaseTarget) -> Result<(), StorageFailure> {
        self.held.lock().unwrap().retain(|id, one| match target {
            ReleaseTarget::One(released) => id != released,
            ReleaseTarget::Session(released) => one.session.as_ref() != Some(released),
        });
        Ok(())
    }

    fn has_any(&self, _file: &Connection, session: &SessionId) -> Result<bool, StorageFailure> {
        let held = self.held.lock().unwrap();
        Ok(held.values().any(|one| one.session.as_ref() == Some(session)))
    }
}

/// Locks that several machines share.
#[derive(Clone, Default)]
pub(super) struct MemoryLocks(Arc<Mutex<HashSet<String>>>);

struct MemoryLock {
    name: String,
    locks: MemoryLocks,
}

impl HeldLock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.locks.0.lock().unwrap().remove(&self.name);
    }
}

impl LockStore for MemoryLocks {
    fn lock(&self, target: LockTarget<'_>, holder: &LockHolder) -> Result<LockAttempt, Error> {
        let name = format!("{target:?}");
        if !self.0.lock().unwrap().insert(name.clone()) {
            return Ok(LockAttempt::Busy(LockHolder { pid: None, ..holder.clone() }));
        }
        let lock = MemoryLock { name, locks: self.clone() };
        Ok(LockAttempt::Locked(LockGuard::new(lock)))
    }
}

/// Contents that several machines share.
#[derive(Debug, Default)]
pub(super) struct MemoryBlobs {
    contents: Mutex<HashMap<PathBuf, Vec<u8>>>,
    is_full: Mutex<bool>,
}

impl MemoryBlobs {
    pub(super) fn set_full(&self, is_full: bool) {
        *self.is_full.lock().unwrap() = is_full;
    }

    pub(super) fn forget_all(&self) {
        self.contents.lock().unwrap().clear();
    }
}

fn key(name: BlobName<'_>) -> PathBuf {
    name.path_below("".as_ref())
}

impl BlobStore for MemoryBlobs {
    fn put(&self, name: BlobName<'_>, content: &[u8]) -> Result<(), Error> {
        if *self.is_full.lock().unwrap() {
            let source = io::Error::from(io::ErrorKind::StorageFull);
            return Err(Error::File { path: key(name), doing: "write", source });
        }
        self.contents.lock().unwrap().insert(key(name), content.to_vec());
        Ok(())
    }

    fn get(&self, name: BlobName<'_>) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.contents.lock().unwrap().get(&key(name)).cloned())
    }

    fn holds(&self, name: BlobName<'_>) -> bool {
        self.contents.lock().unwrap().contains_key(&key(name))
    }
}
