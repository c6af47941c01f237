//! The clock of channels, and a bell that ends a wait.
//!
//! Must never: be gone around; whoever waits on a channel waits here, so that tests need no time.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tells the time and waits.
pub trait WaitClock: Send + Sync {
    /// The time, in milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Waits so many milliseconds, or until the bell rings; whether it rang.
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

/// Rings once and stays rung.
#[derive(Debug, Default)]
pub struct Latch {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Latch {
    /// Ends every wait, now and later.
    pub fn set(&self) {
        *self.rung() = true;
        self.heard.notify_all();
    }

    /// Whether it rang.
    pub fn is_set(&self) -> bool {
        *self.rung()
    }

    /// Lets those who wait look again at what they wait for.
    pub fn notify(&self) {
        drop(self.rung());
        self.heard.notify_all();
    }

    /// Waits while something holds, or until it rings; whether it rang. Whoever changes what holds must
    /// nudge.
    pub fn wait_while(&self, mut holds: impl FnMut() -> bool) -> bool {
        let rung = self.rung();
        let waited = self.heard.wait_while(rung, |rung| !*rung && holds());
        *waited.unwrap_or_else(PoisonError::into_inner)
    }

    fn rung(&self) -> MutexGuard<'_, bool> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
