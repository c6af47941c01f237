//! The clock of channels, and a latch that ends a wait.
//!
//! Must never: be bypassed; every wait on a channel uses this clock, so that tests need no time.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the time and waits.
pub trait WaitClock: Send + Sync {
    /// Returns the time, in milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Waits `ms` milliseconds or until the latch is set; returns true if it is set.
    fn wait(&self, ms: u64, bell: &Arc<Latch>) -> bool;
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl WaitClock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }

    fn wait(&self, ms: u64, bell: &Arc<Latch>) -> bool {
        let rung = bell.rung();
        let waited = bell.heard.wait_timeout_while(rung, Duration::from_millis(ms), |rung| !*rung);
        let (rung, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *rung
    }
}

/// A flag that is set once, stays set, and wakes all waiting threads.
#[derive(Debug, Default)]
pub struct Latch {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Latch {
    /// Sets the latch and ends every wait, present and future.
    pub fn set(&self) {
        *self.rung() = true;
        self.heard.notify_all();
    }

    /// True if the latch is set.
    pub fn is_set(&self) -> bool {
        *self.rung()
    }

    /// Wakes the waiting threads to check their condition again.
    pub fn notify(&self) {
        drop(self.rung());
        self.heard.notify_all();
    }

    /// Waits while a condition holds and the latch is not set; returns true if it is set. A change
    /// of the condition needs a call of `notify`.
    pub fn wait_while(&self, mut holds: impl FnMut() -> bool) -> bool {
        let rung = self.rung();
        let waited = self.heard.wait_while(rung, |rung| !*rung && holds());
        *waited.unwrap_or_else(PoisonError::into_inner)
    }

    fn rung(&self) -> MutexGuard<'_, bool> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
