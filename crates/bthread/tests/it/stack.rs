//! Long runs need no more stack than short ones.
//!
//! Must never: rely on the default stack, which is large enough to hide a recursion.

use std::thread;

use agentry_bthread::{Program, StepOutcome};

use crate::actors::{Actor, Line, ev};

const EVENTS: usize = 1_000_000;
const STACK_BYTES: usize = 128 * 1024;

#[test]
fn a_million_internal_events_fit_in_a_small_stack() {
    let run = || {
        let line = Line { requests: vec![ev(1, 0)], ..Line::new() };
        let mut program = Program::new([Actor::new("loop", vec![line])]);
        (0..EVENTS).filter(|_| matches!(program.step(), StepOutcome::Chosen(_))).count()
    };
    let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap();
    assert_eq!(thread.join().unwrap(), EVENTS);
}
