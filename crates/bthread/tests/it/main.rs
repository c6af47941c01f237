//! The engine against its rules, and the explorer against programs whose faults are known.
//!
//! Must never: depend on a clock, on chance that cannot be repeated, or on the order of other tests.

mod actors;
mod differential;
mod explorer;
mod guarded_calls;
mod invariants;
mod naive;
mod reports;
mod rules;
mod stack;
