//! Opening of a ledger: with a writer thread, or for reading only.
//!
//! Must never: open a ledger for writing if entries that were written are missing.

use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::Clock;
use crate::anchor;
use crate::artifact::Artifacts;
use crate::backend::LedgerBackend;
use crate::clock::BoundedClock;
use crate::commit_signal::CommitSignal;
use crate::connection::ConnectionMode;
use crate::defect::Loss;
use crate::error::Error;
use crate::home::Home;
use crate::last_entry;
use crate::layout;
use crate::ledger::{Ledger, LedgerInner};
use crate::limits::QUEUE_APPENDS_MAX;
use crate::loss::{self, AcceptedLoss};
use crate::writer::{LedgerWriter, WriterStores};

impl Ledger {
    /// Opens the ledger of a home and creates missing files. `clock` gives the time of entries.
    /// Fails with `Error::Lost` if entries that were written are missing.
    pub fn open(home: &Path, clock: Clock) -> Result<Self, Error> {
        let home = Home::open(home)?;
        let backend = LedgerBackend::of_home(&home);
        Self::open_on(home, backend, clock)
    }

    /// Opens the ledger of a home on the given shared parts.
    pub(crate) fn open_on(home: Home, backend: LedgerBackend, clock: Clock) -> Result<Self, Error> {
        let LedgerBackend { log, reservations, locks, blobs } = backend;
        let artifacts = Artifacts::new(&home, blobs);
        let stores =
            WriterStores { log, reservations: reservations.clone(), artifacts: artifacts.clone() };
        let signal = Arc::new(CommitSignal::default());
        let clock = Arc::new(BoundedClock::new(clock));
        let writer = LedgerWriter::open(&home, stores, clock.clone(), signal.clone())?;
        let (orders, queue) = mpsc::sync_channel(QUEUE_APPENDS_MAX);
        let thread = thread::Builder::new()
            .name("ledger".to_owned())
            .spawn(move || writer.work(&queue))
            .map_err(|source| Error::File {
                path: home.ledger(),
                doing: "start a thread for",
                source,
            })?;
        let shared = LedgerInner {
            path: home.ledger(),
            artifacts,
            locks,
            reservations,
            home,
            signal,
            clock,
            reach: ConnectionMode::Shared,
            readers: Mutex::default(),
            orders: Some(orders),
            writer: Some(thread),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Opens the ledger of a home for reading, even if entries are lost or the home cannot be
    /// written. Every write fails with `Error::ReadOnly`.
    pub fn open_to_read(home: &Path, clock: Clock) -> Result<Self, Error> {
        let home = Home::read_only(home);
        let reach =
            if home.is_writable() { ConnectionMode::Shared } else { ConnectionMode::ReadOnly };
        layout::check_readable(&home, reach)?;
        let LedgerBackend { reservations, locks, blobs, .. } = LedgerBackend::of_home(&home);
        let shared = LedgerInner {
            path: home.ledger(),
            artifacts: Artifacts::new(&home, blobs),
            locks,
            reservations,
            home,
            signal: Arc::new(CommitSignal::default()),
            clock: Arc::new(BoundedClock::new(clock)),
            reach,
            readers: Mutex::default(),
            orders: None,
            writer: None,
        };
        let ledger = Self { shared: Arc::new(shared) };
        ledger.shared.clock.raise(ledger.ask(last_entry::newest_time)?);
        ledger.now();
        Ok(ledger)
    }

    /// Records that entries are lost, so that the ledger can be opened again. The numbers of the
    /// lost entries are never reused.
    pub fn accept_loss(home: &Path, clock: Clock) -> Result<AcceptedLoss, Error> {
        loss::accept(home, clock)
    }

    /// Returns the loss at the end, judged by the anchor files; None if no entry is missing.
    pub fn loss(&self) -> Result<Option<Loss>, Error> {
        let marks = anchor::newest(&self.shared.home)?;
        self.ask(|sql| loss::find(sql, &last_entry::last(sql)?.tip, &marks))
    }
}
