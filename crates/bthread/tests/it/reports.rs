//! What a person reads when a program waits.
//!
//! Must never: check a part of the text; who reads it reads all of it.

use agentry_bthread::{Lane, Program};

use crate::{
    actors::{Actor, After, Line, Pat, ev},
    guarded_calls::{self, Happening, without},
};

#[test]
fn a_deadlock_is_reported_with_who_blocks_what() {
    // Without the thread that rejects refused calls, the first call can neither run nor end.
    let mut program = without("refuser");
    program.offer(Lane::Normal, Happening::Prompt);
    program.run().unwrap();
    program.offer(Lane::Normal, Happening::Answer(1, false));
    program.offer(Lane::Normal, Happening::Answer(2, true));
    program.offer(Lane::Normal, Happening::Done(2));
    program.offer(Lane::Normal, Happening::Prompt);
    program.run().unwrap();
    let report = program.waiting();
    assert!(report.is_deadlock());
    let expected = "\
Deadlock: every request is blocked and nothing offered can be delivered.
Execute(1), requested by call 1, is blocked by gate.
Prompt, offered from outside, concerns nobody.
loop waits for Settle.
gate waits for Propose, or Answer with a key in {}.
cancel waits for Cancel, or Propose, or Execute, or Settle.
call 1 waits for Reject with key 1.
";
    assert_eq!(report.to_string(), expected);
}

#[test]
fn a_program_that_waits_for_a_person_is_no_deadlock_if_it_requests_nothing() {
    let mut program = Program::new(guarded_calls::program());
    let report = program.waiting();
    assert!(!report.is_deadlock());
    assert!(report.blocked.is_empty());
    program.offer(Lane::Normal, Happening::Prompt);
    // Offered and deliverable: not waiting at all.
    assert!(!program.waiting().is_deadlock());
}

#[test]
fn a_deferred_offer_names_its_lane_and_its_blockers() {
    let guard = |label| Actor::new(label, vec![Line { blocks: vec![Pat::kind(1)], ..Line::new() }]);
    let mut program = Program::new([guard("busy"), guard("closed")]);
    program.offer(Lane::Normal, ev(1, 0));
    program.offer(Lane::Urgent, ev(1, 7));
    program.step();
    let expected = "\
Ev { kind: 1, key: 7, content: 0 }, urgently offered from outside, is blocked by busy, closed.
Ev { kind: 1, key: 0, content: 0 }, offered from outside, is blocked by busy, closed.
";
    assert_eq!(program.waiting().to_string(), expected);
}

#[test]
fn a_halted_program_says_why_first() {
    let fails = Line { waits: vec![Pat::kind(1)], after: After::Panic, ..Line::new() };
    let mut program = Program::new([Actor::new("clerk", vec![fails])]);
    program.offer(Lane::Normal, ev(1, 0));
    program.step();
    let report = program.waiting();
    assert!(!report.is_deadlock());
    let expected = "\
Halted: clerk panicked on Ev { kind: 1, key: 0, content: 0 }: clerk was written to fail.
clerk waits for 1.
";
    assert_eq!(report.to_string(), expected);
}
