//! The maintenance of each minute: marks expired approval requests, records expired grants, and
//! removes old audit records from the lists.
//!
//! Must never: delete an entry of the ledger; only the lists become shorter.

use std::sync::Arc;

use agentry_protocol::GrantId;
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::intake::{AccessChange, AuditCutoff};
use agentry_store::Ledger;

use crate::channel::{Latch, WaitClock};
use crate::error::Error;
use crate::host::NoticeSink;
use crate::inbound::permission_request;
use crate::limits::{AUDIT_ACCESS_MS, AUDIT_GRANTS_MS, CHORES_MS};
use crate::programs::jobs;
use crate::spawn;

/// The thread that runs the maintenance; dropping it stops it.
pub struct MaintenanceThread {
    stop: Arc<Latch>,
}

impl MaintenanceThread {
    /// Runs the maintenance now, and then once per minute.
    pub fn start(
        ledger: Ledger,
        clock: Arc<dyn WaitClock>,
        say: NoticeSink,
    ) -> Result<Self, Error> {
        let stop: Arc<Latch> = Arc::default();
        let bell = stop.clone();
        let work = move || {
            while !bell.is_set() {
                if let Err(error) = run_once(&ledger, clock.now_ms()) {
                    say(&format!("maintenance failed: {error}"));
                }
                clock.wait(CHORES_MS, &bell);
            }
        };
        spawn::start("chores".to_owned(), work)?;
        Ok(Self { stop })
    }
}

impl Drop for MaintenanceThread {
    fn drop(&mut self) {
        self.stop.set();
    }
}

/// Runs the maintenance once. Repeating it changes nothing.
pub fn run_once(ledger: &Ledger, now: u64) -> Result<(), Error> {
    permission_request::expire_requests(ledger, now)?;
    jobs::reap_expired(ledger)?;
    let over: Vec<GrantId> = ledger
        .grants(true)?
        .into_iter()
        .filter(|grant| grant.expires_at.is_some_and(|at| at <= now))
        .map(|grant| grant.id)
        .collect();
    let mut changes: Vec<AccessChange> =
        over.into_iter().map(|grant| AccessChange::GrantExpired { grant }).collect();
    let trimmed = AuditCutoff {
        access_before: now.saturating_sub(AUDIT_ACCESS_MS),
        grants_before: now.saturating_sub(AUDIT_GRANTS_MS),
    };
    if ledger.has_audit_before(trimmed)? {
        changes.push(AccessChange::AuditTrimmed(trimmed));
    }
    let draft = |change| Draft {
        cause: None,
        about: EntrySubject::default(),
        event: Event::Access(change),
    };
    ledger.append(changes.into_iter().map(draft).collect())?;
    Ok(())
}
