//! The time that decides: the clock of the machine, but never before the newest entry of the ledger.
//!
//! A clock that was set back would make an expired grant or key good again. While the machine's clock is behind
//! the newest entry, the time goes on from that entry, as a clock that nobody can set counts it.
//!
//! Must never: give a time that is before the newest entry that is known, or stand still.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::Clock;
use crate::limits::CLOCK_STEP_MS_MAX;

/// A clock with a lower bound.
pub(crate) struct BoundedClock {
    /// The clock of the machine; it can be set.
    wall: Clock,
    /// Milliseconds since any moment; nobody can set it.
    steady: Clock,
    state: Mutex<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    /// The newest time of the ledger that is known, and when it was heard of on the steady clock.
    newest: u64,
    newest_at: u64,
    /// What both clocks said when they were last looked at.
    wall: u64,
    steady: u64,
    /// How far the machine's clock was behind the newest entry then.
    behind: u64,
}

impl State {
    /// The newest time of the ledger, carried on to now.
    fn carried(&self, steady: u64) -> u64 {
        self.newest.saturating_add(steady.saturating_sub(self.newest_at))
    }

    fn raise(&mut self, newest: u64, steady: u64) {
        // One that is behind the machine's clock bounds nothing, and is not carried on.
        let bound = if self.behind > 0 { self.carried(steady) } else { self.newest };
        if newest > bound {
            (self.newest, self.newest_at) = (newest, steady);
        }
    }
}

impl BoundedClock {
    /// Bounds the clock of the machine.
    pub(crate) fn new(wall: Clock) -> Self {
        let start = Instant::now();
        let steady = move || u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Self::with(wall, Arc::new(steady))
    }

    fn with(wall: Clock, steady: Clock) -> Self {
        Self { wall, steady, state: Mutex::default() }
    }

    /// Tells of a time that the ledger holds.
    pub(crate) fn raise(&self, newest: u64) {
        let steady = (self.steady)();
        self.state().raise(newest, steady);
    }

    /// The time. Where the machine's clock was set back since the last look, `newest` is asked for the newest time
    /// of the ledger: another process may have written meanwhile.
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

    /// How far the machine's clock was behind the ledger when it was last looked at, in milliseconds.
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
        /// Lets real time pass, for both clocks.
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
        // What is written now has that time; it bounds nothing more than before.
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
        // An hour passes, in which another process writes, and then the clock is set back by half an hour.
        scene.pass(3_600_000);
        scene.wall.fetch_sub(1_800_000, Ordering::Relaxed);
        assert_eq!(scene.clock.now(|| Some(3_700_000)), 3_700_000);
        scene.pass(7);
        assert_eq!(scene.now(), 3_700_007);
    }
}
