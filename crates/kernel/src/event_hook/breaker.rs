//! When a hook that keeps failing is left alone, and when it may try again.
//!
//! Must never: let a second try through while one is under way.

use agentry_protocol::event_hook::{Circuit, CircuitState};

use crate::limits::{BREAKER_ERRORS_MAX, BREAKER_REST_MS};

/// Whether a hook may be set off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerDecision {
    /// It is left alone.
    No,
    /// It may.
    Yes,
    /// It may once, to see whether it works again.
    Trial,
}

/// How a hook's program came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerOutcome {
    /// It answered, whether it fired or not.
    Worked,
    /// It did not answer, or nothing that makes sense.
    Failed,
}

/// Whether a breaker lets a hook be set off. `now` is in milliseconds since 1970.
pub fn lets_through(circuit: Circuit, now: u64) -> BreakerDecision {
    match circuit.state {
        CircuitState::Closed => BreakerDecision::Yes,
        CircuitState::HalfOpen => BreakerDecision::No,
        CircuitState::Open if is_rested(circuit, now) => BreakerDecision::Trial,
        CircuitState::Open => BreakerDecision::No,
    }
}

/// How a breaker stands after its hook ran.
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
        // It began before the breaker opened, and says nothing new.
        CircuitState::Open => Circuit { consecutive_errors, ..circuit },
    }
}

fn is_rested(circuit: Circuit, now: u64) -> bool {
    circuit.opened_at.is_none_or(|at| now.saturating_sub(at) >= BREAKER_REST_MS)
}
