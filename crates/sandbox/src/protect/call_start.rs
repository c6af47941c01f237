//! The time at which a call begins.
//!
//! Must never: be later than the stamp of a file that the call makes, even after a clock change.

use rustix::time::{ClockId, clock_gettime};

use super::dir::FileTime;

/// The start of a call, by the clock that stamps files and by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallStart {
    pub(crate) stamped: FileTime,
    running: FileTime,
}

impl CallStart {
    pub(crate) fn now() -> Self {
        Self { stamped: time(STAMPS), running: time(ClockId::Monotonic) }
    }

    /// Returns the start by the clock that stamps files, even if that was set back since.
    pub(crate) fn stamp(self) -> FileTime {
        let now = Self::now();
        let nanos = |(seconds, nanos): FileTime| seconds * NANOS_PER_SECOND + nanos;
        let begun = nanos(now.stamped) - (nanos(now.running) - nanos(self.running));
        let begun = begun.min(nanos(self.stamped));
        (begun.div_euclid(NANOS_PER_SECOND), begun.rem_euclid(NANOS_PER_SECOND))
    }
}

const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// The clock that stamps files; never ahead of a stamp that is made later.
#[cfg(target_os = "linux")]
const STAMPS: ClockId = ClockId::RealtimeCoarse;
#[cfg(not(target_os = "linux"))]
const STAMPS: ClockId = ClockId::Realtime;

fn time(clock: ClockId) -> FileTime {
    let time = clock_gettime(clock);
    (time.tv_sec.into(), time.tv_nsec.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_began_no_later_than_either_clock_says() {
        let now = CallStart::now();
        let hour = 3_600;
        // The clock was set forward since: it shows less time passed than really did.
        let early = CallStart { stamped: (now.stamped.0 - hour, 123_456_789), ..now };
        assert_eq!(early.stamp(), early.stamped);
        // It was set back since: a file that the call made has an earlier stamp than the call.
        let late = CallStart { stamped: (now.stamped.0 + hour, 0), ..now };
        assert!(late.stamp() < (now.stamped.0 + 60, 0));
        assert!(late.stamp() > (now.stamped.0 - 60, 0));
        assert!(now.stamp() <= now.stamped);
    }
}
