//! The time used for decisions: the machine's clock, but never before the ledger's newest entry.
//!
//! A clock that was set back would revive expired grants and keys. While the machine's clock is
//! behind the newest entry, a monotonic clock carries the time on from that entry.
//!
//! Must never: return a time before the newest known entry, or stand still.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::Clock;
use crate::limits::CLOCK_STEP_MS_MAX;

/// A clock with a lower bound.
pub(crate) struct BoundedClock {
    /// The clock of the machine; a person or a service may set it back.
    wall: Clock,
    /// A monotonic clock, in milliseconds since an arbitrary moment.
    steady: Clock,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    /// The newest known time of the ledger, and the monotonic time at which it was learned.
    newest: u64,
    newest_at: u64,
    /// The readings of both clocks at the last call of `now`.
    wall: u64,
    steady: u64,
    /// The lag of the machine's clock behind the newest entry at that call, in milliseconds.
    behind: u64,
}

impl State {
    /// Returns the newest time of the ledger plus the time that has passed since.
    fn carried(&self, steady: u64) -> u64 {
        self.newest.saturating_add(steady.saturating_sub(self.newest_at))
    }

    fn raise(&mut self, newest: u64, steady: u64) {
        // A newest time that is behind the machine's clock bounds nothing, and is not carried on.
        let bound = if self.behind > 0 { self.carried(steady) } else { self.newest };
        if newest > bound {
            (self.newest, self.newest_at) = (newest, steady);
        }
    }
}

impl BoundedClock {
    /// Creates a clock from the clock of the machine.
    pub(crate) fn new(wall: Clock) -> Self {
        let start = Instant::now();
        let steady = move || u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Self::with(wall, Arc::new(steady))
    }

    fn with(wall: Clock, steady: Clock) -> Self {
        Self { wall, steady, state: Mutex::default() }
    }

    /// Raises the bound to a time that the ledger holds.
    pub(crate) fn raise(&self, newest: u64) {
        let steady = (self.steady)();
        self.state().raise(newest, steady);
    }

    /// Returns the time. If the machine's clock was set back since the last call, `newest` returns
    /// the newest time of the ledger, since another process may have written.
    pub(crate) fn now(&self, newest: impl FnOnce() -> Option<u64>) -> u64 {
        let (wall, steady) = ((self.wall)(), (self.steady)());
        let before = *self.state();
        let expected = before.wall.saturating_add(steady.saturating_sub(before.steady));
        let was_set_back = wall.saturating_add(CLOCK_STEP_MS_MAX) < expected;
        let found = if was_set_back { newest() } else { None };
        let mut state = self.state();
        if let Some(found) = found {
            state.raise(found, steady);
        }
        (state.wall, state.steady) = (wall, steady);
        if wall >= state.newest {
            state.behind = 0;
            return wall;
        }
        let carried = state.carried(steady);
        state.behind = carried - wall;
        carried
    }

    /// Returns the lag of the machine's clock behind the ledger at the last `now`, in milliseconds.
    pub(crate) fn behind_ms(&self) -> u64 {
        self.state().behind
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    struct Scene {
        wall: Arc<AtomicU64>,
        steady: Arc<AtomicU64>,
        clock: BoundedClock,
    }

    fn scene(wall: u64) -> Scene {
        let (wall, steady) = (Arc::new(AtomicU64::new(wall)), Arc::new(AtomicU64::new(0)));
        let read = |from: &Arc<AtomicU64>| -> Clock {
            let from = from.clone();
            Arc::new(move || from.load(Ordering::Relaxed))
        };
        let clock = BoundedClock::with(read(&wall), read(&steady));
        Scene { wall, steady, clock }
    }

    impl Scene {
        /// Advances both clocks.
        fn pass(&self, ms: u64) {
            self.wall.fetch_add(ms, Ordering::Relaxed);
            self.steady.fetch_add(ms, Ordering::Relaxed);
        }

        fn now(&self) -> u64 {
            self.clock.now(|| None)
        }
    }

    #[test]
    fn a_clock_that_is_right_is_believed() {
        let scene = scene(1_000);
        scene.clock.raise(900);
        assert_eq!((scene.now(), scene.clock.behind_ms()), (1_000, 0));
        scene.pass(50);
        assert_eq!((scene.now(), scene.clock.behind_ms()), (1_050, 0));
    }

    #[test]
    fn the_newest_entry_is_a_lower_bound_from_which_time_goes_on() {
        let scene = scene(1_000);
        scene.clock.raise(90_000);
        assert_eq!((scene.now(), scene.clock.behind_ms()), (90_000, 89_000));
        scene.pass(500);
        assert_eq!(scene.now(), 90_500);
        // An entry written now has that time; the bound stays as before.
        scene.clock.raise(90_500);
        scene.pass(500);
        assert_eq!(scene.now(), 91_000);
    }

    #[test]
    fn a_clock_that_is_put_right_counts_again() {
        let scene = scene(1_000);
        scene.clock.raise(90_000);
        assert_eq!(scene.now(), 90_000);
        scene.wall.store(100_000, Ordering::Relaxed);
        assert_eq!((scene.now(), scene.clock.behind_ms()), (100_000, 0));
    }

    #[test]
    fn a_clock_that_is_set_back_under_way_asks_what_others_wrote() {
        let scene = scene(100_000);
        scene.clock.raise(10_000);
        assert_eq!(scene.now(), 100_000);
        // An hour passes; another process writes, and then the clock goes back by half an hour.
        scene.pass(3_600_000);
        scene.wall.fetch_sub(1_800_000, Ordering::Relaxed);
        assert_eq!(scene.clock.now(|| Some(3_700_000)), 3_700_000);
        scene.pass(7);
        assert_eq!(scene.now(), 3_700_007);
    }
}
