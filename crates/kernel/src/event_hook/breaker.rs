//! The breaker of an event hook: it pauses a failing hook, and permits one trial later.
//!
//! Must never: permit a second trial while one is running.

use agentry_protocol::event_hook::{Circuit, CircuitState};

use crate::limits::{BREAKER_ERRORS_MAX, BREAKER_REST_MS};

/// The decision whether a hook may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerDecision {
    /// The hook is paused.
    No,
    /// The hook may run.
    Yes,
    /// The hook may run once, as a trial.
    Trial,
}

/// The outcome of a hook's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerOutcome {
    /// It answered, whether it fired or not.
    Worked,
    /// It gave no answer, or an invalid one.
    Failed,
}

/// Decides if a hook may run. `now` is in milliseconds since 1970.
pub fn lets_through(circuit: Circuit, now: u64) -> BreakerDecision {
    match circuit.state {
        CircuitState::Closed => BreakerDecision::Yes,
        CircuitState::HalfOpen => BreakerDecision::No,
        CircuitState::Open if is_rested(circuit, now) => BreakerDecision::Trial,
        CircuitState::Open => BreakerDecision::No,
    }
}

/// Returns the state of a breaker after its hook ran.
pub fn circuit_after(circuit: Circuit, outcome: BreakerOutcome, now: u64) -> Circuit {
    match outcome {
        BreakerOutcome::Worked => Circuit::default(),
        BreakerOutcome::Failed => failed(circuit, now),
    }
}

fn failed(circuit: Circuit, now: u64) -> Circuit {
    let consecutive_errors = circuit.consecutive_errors.saturating_add(1);
    let opened =
        |at| Circuit { state: CircuitState::Open, consecutive_errors, opened_at: Some(at) };
    match circuit.state {
        CircuitState::Closed if consecutive_errors < BREAKER_ERRORS_MAX => {
            Circuit { consecutive_errors, ..circuit }
        }
        CircuitState::Closed | CircuitState::HalfOpen => opened(now),
        CircuitState::Open if is_rested(circuit, now) => opened(now),
        // The run began before the breaker opened, so its failure adds no information.
        CircuitState::Open => Circuit { consecutive_errors, ..circuit },
    }
}

fn is_rested(circuit: Circuit, now: u64) -> bool {
    circuit.opened_at.is_none_or(|at| now.saturating_sub(at) >= BREAKER_REST_MS)
}
