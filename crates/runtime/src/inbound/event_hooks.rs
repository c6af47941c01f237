//! Event hooks: their triggers, their programs, and the work that they start.
//!
//! Intake records the hooks that an event triggers. The hook runner runs their programs in parallel
//! and records each answer. Once all are recorded, their work becomes a new event, which passes
//! intake itself. A program that was interrupted by the end of the process is not run again.
//!
//! Must never: run a program whose event access denied, or start the same work twice.

mod hook_callback;
mod run;
mod settle;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentry_kernel::event_hook::{ActiveHook, EventHooks};
use agentry_protocol::InvocationId;
use agentry_protocol::access::AccessRecord;
use agentry_protocol::event_hook::{
    EventHookChange, EventHookMatch, EventHookOrigin, FIRED, FIRED_BY,
};
use agentry_protocol::inbound::{EventId, Inbound};
use agentry_store::{HookEventRow, Ledger};

use crate::definitions::definition_source::DefinitionSource;
use crate::error::Error;
use crate::host::NoticeSink;
use crate::host::SharedHost;
use crate::limits::{
    HOOK_EVENTS_MAX, HOOK_EVENTS_RUNNING_MAX, HOOK_LOOK_MS, HOOKS_FINISH_LOOK_MS,
    HOOKS_FINISH_MS_MAX,
};
use crate::spawn;

pub use crate::inbound::authorize::decide_locally;
pub use run::{HookTrial, HookTrigger, try_hook};

/// Returns the origin of an event that hooks created; None for any other event.
pub(crate) fn fired_by(inbound: &Inbound) -> Option<EventHookOrigin> {
    let is_fired = inbound.event_type.as_deref() == Some(FIRED);
    let said = inbound.metadata.get(FIRED_BY).filter(|_| is_fired)?;
    serde_json::from_value(said.clone()).ok()
}

/// The active hooks, as intake knows them.
#[derive(Default)]
pub(crate) struct IntakeHooks {
    hooks: Mutex<EventHooks>,
    /// The sequence number of the last change that is loaded.
    changed: Option<u64>,
    is_any: AtomicBool,
}

impl IntakeHooks {
    /// Reloads the hooks if they have changed.
    pub(crate) fn refresh(&mut self, ledger: &Ledger) -> Result<(), Error> {
        let changed = ledger.event_hooks_changed()?;
        if self.changed != Some(changed) {
            let rows = ledger.event_hooks_enabled()?.into_iter();
            let active = rows.map(|row| ActiveHook { hook: row.hook, circuit: row.circuit });
            self.hooks = Mutex::new(EventHooks::of(active.collect()));
            self.changed = Some(changed);
        }
        Ok(())
    }

    /// Returns the hooks that an event triggers, each with the id of its new invocation.
    pub(crate) fn match_event(
        &self,
        inbound: &Inbound,
        record: &AccessRecord,
        now: u64,
        new_number: fn() -> u128,
    ) -> Option<EventHookChange> {
        let mut hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        let invocations: Vec<EventHookMatch> = hooks
            .triggered_by(inbound, &record.principal, now)
            .into_iter()
            .map(|one| EventHookMatch {
                invocation: InvocationId::from_number(new_number()),
                hook: one.hook.id.clone(),
                version: one.hook.version,
            })
            .collect();
        if invocations.is_empty() {
            return None;
        }
        invocations.iter().for_each(|one| hooks.begin_trial(&one.hook));
        self.is_any.store(true, Ordering::SeqCst);
        let (event, access) = (inbound.event_id.clone(), record.id.clone());
        Some(EventHookChange::Matched { event, access, invocations })
    }

    /// Returns true if a hook was triggered since the last call.
    pub(crate) fn take(&self) -> bool {
        self.is_any.swap(false, Ordering::SeqCst)
    }

    /// Forces a reload, because the last decision was not recorded.
    pub(crate) fn forget(&mut self) {
        self.changed = None;
    }
}

/// Runs the programs of hooks in this process.
#[derive(Clone)]
pub(crate) struct HookRunner {
    pub(crate) host: SharedHost,
    pub(crate) definition_source: Arc<dyn DefinitionSource>,
    pub(crate) say: NoticeSink,
    /// Serializes breaker updates: each is read and recorded under this lock.
    recording: Arc<Mutex<()>>,
    running: Arc<Mutex<HashSet<EventId>>>,
    stopping: Arc<AtomicBool>,
}

/// A handle that wakes the hook runner, which ends when all handles are dropped.
pub(crate) struct HookRunnerHandle {
    sender: Sender<()>,
    stopping: Arc<AtomicBool>,
    running: Arc<Mutex<HashSet<EventId>>>,
}

impl HookRunnerHandle {
    pub(crate) fn ring(&self) {
        // A runner that ended has reported why.
        spawn::send_if_running(&self.sender, ());
    }

    /// Stops new programs, and waits a limited time for the running ones.
    pub(crate) fn finish(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        let until = Instant::now() + Duration::from_millis(HOOKS_FINISH_MS_MAX);
        let is_idle = || self.running.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        while !is_idle() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(HOOKS_FINISH_LOOK_MS));
        }
    }
}

impl HookRunner {
    /// Starts the runner, with the work that an earlier process left.
    pub(crate) fn start(
        host: SharedHost,
        definition_source: Arc<dyn DefinitionSource>,
        say: NoticeSink,
    ) -> Result<HookRunnerHandle, Error> {
        let runner = Self {
            host,
            definition_source,
            say,
            recording: Arc::default(),
            running: Arc::default(),
            stopping: Arc::default(),
        };
        let (sender, receiver) = mpsc::channel();
        let (stopping, running) = (runner.stopping.clone(), runner.running.clone());
        let bell = HookRunnerHandle { sender, stopping, running };
        bell.ring();
        spawn::start("event hooks".to_owned(), move || runner.work(&receiver))?;
        Ok(bell)
    }

    fn work(&self, rung: &Receiver<()>) {
        loop {
            match rung.recv_timeout(Duration::from_millis(HOOK_LOOK_MS)) {
                Ok(()) | Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return,
            }
            while rung.try_recv().is_ok() {}
            if let Err(error) = self.look() {
                (self.say)(&format!("event hooks failed: {error}; retrying later"));
            }
        }
    }

    /// Starts the pending events, up to the limit of parallel events.
    fn look(&self) -> Result<(), Error> {
        for open in self.host.ledger.hook_events_open(HOOK_EVENTS_MAX)? {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let is_stopping = self.stopping.load(Ordering::SeqCst);
            if is_stopping || running.len() >= HOOK_EVENTS_RUNNING_MAX {
                return Ok(());
            }
            if running.insert(open.event.clone()) {
                drop(running);
                let runner = self.clone();
                spawn::start("event hooks of one event".to_owned(), move || runner.one(&open))?;
            }
        }
        Ok(())
    }

    fn one(&self, open: &HookEventRow) {
        let done = self.evaluate(open).and_then(|()| self.settle(&open.event));
        if let Err(error) = done {
            (self.say)(&format!("event hooks of {} failed: {error}", open.event));
        }
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&open.event);
        // Another event may have waited for a free place.
        if let Err(error) = self.look() {
            (self.say)(&format!("event hooks failed: {error}; retrying later"));
        }
    }
}
