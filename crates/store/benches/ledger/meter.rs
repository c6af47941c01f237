//! Time of the processor, and the middle of many figures.
//!
//! Must never: count what another process does.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What all threads of this process have used so far.
pub(crate) fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.cast_unsigned(), u32::try_from(spent.tv_nsec).unwrap_or_default())
}

/// The CPU time of some work.
pub(crate) fn cpu_of<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = cpu();
    let done = work();
    (done, cpu().saturating_sub(before))
}

pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
