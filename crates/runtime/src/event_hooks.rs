//! Hooks that look at events: which are set off, their programs, and what they want done.
//!
//! The way in records with an event which hooks it sets off. This desk runs their programs side by side, records
//! each answer, and when all are there puts what they want done into the ledger as an event of its own, which goes the
//! same way in. A program that was under way when the process ended is not run again.
//!
//! Must never: run a program whose event was not let in, or have something done twice.

mod hook_callback;
mod run;
mod settle;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentry_kernel::event_hook::{ActiveHook, EventHooks};
use agentry_protocol::event_hook::{
    EventHookChange, EventHookMatch, EventHookOrigin, FIRED, FIRED_BY,
};
use agentry_protocol::inbound::{EventId, Inbound};
use agentry_protocol::principal::Principal;
use agentry_protocol::{AccessId, InvocationId};
use agentry_store::{HookEventRow, Ledger};

use crate::dispatcher::NoticeSink;
use crate::error::Error;
use crate::host::SharedHost;
use crate::intake::DefinitionSource;
use crate::limits::{
    HOOK_EVENTS_MAX, HOOK_EVENTS_RUNNING_MAX, HOOK_LOOK_MS, HOOKS_FINISH_LOOK_MS,
    HOOKS_FINISH_MS_MAX,
};
use crate::spawn;

pub use crate::authorize::decide_locally;
pub use run::{HookTrial, try_hook};

/// What set hooks off, for an event by which they have something done.
pub(crate) fn fired_by(inbound: &Inbound) -> Option<EventHookOrigin> {
    let is_fired = inbound.event_type.as_deref() == Some(FIRED);
    let said = inbound.metadata.get(FIRED_BY).filter(|_| is_fired)?;
    serde_json::from_value(said.clone()).ok()
}

/// The hooks as the way in knows them.
#[derive(Default)]
pub(crate) struct IntakeHooks {
    hooks: Mutex<EventHooks>,
    /// The last change that is known here.
    changed: Option<u64>,
    is_any: AtomicBool,
}

impl IntakeHooks {
    /// Looks whether the hooks have changed.
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

    /// The hooks that an event sets off, each with the number that its running will have.
    pub(crate) fn match_event(
        &self,
        (inbound, principal): (&Inbound, &Principal),
        (access, now): (&AccessId, u64),
        new_number: fn() -> u128,
    ) -> Option<EventHookChange> {
        let mut hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        let invocations: Vec<EventHookMatch> = hooks
            .triggered_by(inbound, principal, now)
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
        let (event, access) = (inbound.event_id.clone(), access.clone());
        Some(EventHookChange::Matched { event, access, invocations })
    }

    /// Whether any was set off since this was last asked.
    pub(crate) fn take(&self) -> bool {
        self.is_any.swap(false, Ordering::SeqCst)
    }

    /// What was decided was not recorded, so that it must be looked at again.
    pub(crate) fn forget(&mut self) {
        self.changed = None;
    }
}

/// What runs the programs of hooks in this process.
#[derive(Clone)]
pub(crate) struct HookRunner {
    pub(crate) host: SharedHost,
    pub(crate) office: Arc<dyn DefinitionSource>,
    pub(crate) say: NoticeSink,
    /// What an answer does to a breaker is looked up and recorded by one at a time.
    recording: Arc<Mutex<()>>,
    running: Arc<Mutex<HashSet<EventId>>>,
    stopping: Arc<AtomicBool>,
}

/// A way to tell the desk of hooks that there is something to do. It ends when all of these are gone.
pub(crate) struct HookRunnerHandle {
    sender: Sender<()>,
    stopping: Arc<AtomicBool>,
    running: Arc<Mutex<HashSet<EventId>>>,
}

impl HookRunnerHandle {
    pub(crate) fn ring(&self) {
        // A desk that is gone has said so.
        self.sender.send(()).unwrap_or_default();
    }

    /// Lets no more begin, and waits a while for those that run.
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
    /// Begins, with what an earlier process left.
    pub(crate) fn start(
        host: SharedHost,
        office: Arc<dyn DefinitionSource>,
        say: NoticeSink,
    ) -> Result<HookRunnerHandle, Error> {
        let desk = Self {
            host,
            office,
            say,
            recording: Arc::default(),
            running: Arc::default(),
            stopping: Arc::default(),
        };
        let (sender, receiver) = mpsc::channel();
        let (stopping, running) = (desk.stopping.clone(), desk.running.clone());
        let bell = HookRunnerHandle { sender, stopping, running };
        bell.ring();
        spawn::start("event hooks".to_owned(), move || desk.work(&receiver))?;
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
                (self.say)(&format!("event hooks cannot be run now: {error}"));
            }
        }
    }

    /// Begins with all events whose hooks are not through, as many at once as may be.
    fn look(&self) -> Result<(), Error> {
        for open in self.host.ledger.hook_events_open(HOOK_EVENTS_MAX)? {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            let is_stopping = self.stopping.load(Ordering::SeqCst);
            if is_stopping || running.len() >= HOOK_EVENTS_RUNNING_MAX {
                return Ok(());
            }
            if running.insert(open.event.clone()) {
                drop(running);
                let desk = self.clone();
                spawn::start("event hooks of one event".to_owned(), move || desk.one(&open))?;
            }
        }
        Ok(())
    }

    fn one(&self, open: &HookEventRow) {
        let done = self.evaluate(open).and_then(|()| self.settle(&open.event));
        if let Err(error) = done {
            (self.say)(&format!("the hooks of {} could not be run: {error}", open.event));
        }
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&open.event);
        // Somebody may have waited for the room.
        if let Err(error) = self.look() {
            (self.say)(&format!("event hooks cannot be run now: {error}"));
        }
    }
}
