//! The limits of a run, from the settings and defaults.
//!
//! Must never: let an option of a request lift a limit that the settings do not leave to it.

use agentry_agentfile::manifest::config::LimitsToml;
use agentry_protocol::event::RunLimits;

use crate::limits::{CALLS_MAX, ITERATIONS_MAX, STEPS_MAX};

/// Returns the limits of a run, from the settings and defaults.
pub fn run_limits(said: &LimitsToml, iterations: Option<u32>) -> RunLimits {
    let or = |said: Option<u64>, default: u32| {
        said.map_or(default, |said| u32::try_from(said).unwrap_or(u32::MAX))
    };
    RunLimits {
        steps_max: or(said.steps, STEPS_MAX),
        calls_max: or(said.calls, CALLS_MAX),
        iterations_max: iterations.unwrap_or_else(|| or(said.iterations, ITERATIONS_MAX)),
        tokens_max: said.tokens,
    }
}
