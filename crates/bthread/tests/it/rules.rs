//! One rule of the engine a test, on programs small enough to read.
//!
//! Must never: need more than a page to see why the expected order is right.

use agentry_bthread::{
    Halt, Lane, Pattern, Program, StepOutcome,
    limits::{SCAN_THREADS_MAX, SUPER_STEP_EVENTS_MAX},
};

use crate::actors::{Actor, After, Ev, Guard, Line, Pat, ev};

fn line() -> Line {
    Line::new()
}

fn once(label: &str, line: Line) -> Actor {
    Actor::new(label, vec![Line { after: After::End, ..line }])
}

#[track_caller]
fn check_run(program: &mut Program<Actor>, expected: &[Ev]) {
    let events: Vec<Ev> =
        program.run().expect("no halt").into_iter().map(|chosen| chosen.event).collect();
    assert_eq!(events, expected);
}

fn names(program: &Program<Actor>) -> Vec<&str> {
    program.threads().map(|actor| actor.label.as_str()).collect()
}

#[test]
fn the_first_thread_and_its_first_request_go_first() {
    let mut program = Program::new([
        once("a", Line { requests: vec![ev(1, 0), ev(0, 0)], ..line() }),
        once("b", Line { requests: vec![ev(2, 0)], ..line() }),
    ]);
    check_run(&mut program, &[ev(1, 0), ev(2, 0)]);
}

#[test]
fn a_blocked_first_request_gives_way_to_the_second() {
    let mut program = Program::new([
        once("a", Line { requests: vec![ev(1, 0), ev(0, 0)], ..line() }),
        Actor::new("guard", vec![Line { blocks: vec![Pat::kind(1)], ..line() }]),
    ]);
    check_run(&mut program, &[ev(0, 0)]);
}

#[test]
fn a_thread_can_block_its_own_request() {
    let bid = Line { requests: vec![ev(1, 0)], blocks: vec![Pat::kind(1)], ..line() };
    let mut program = Program::new([once("a", bid)]);
    check_run(&mut program, &[]);
    assert!(program.waiting().is_deadlock());
}

#[test]
fn equal_requests_move_together_and_different_contents_do_not() {
    let asking =
        |label, content| once(label, Line { requests: vec![Ev { content, ..ev(1, 0) }], ..line() });
    let mut program = Program::new([asking("a", 1), asking("b", 1), asking("c", 2)]);
    let expected = [Ev { content: 1, ..ev(1, 0) }, Ev { content: 2, ..ev(1, 0) }];
    check_run(&mut program, &expected);
}

#[test]
fn a_guard_of_a_pattern_sees_the_content() {
    let pattern = Pattern::<Ev>::kind(1).keys_not_in([7]).guarded(Guard::Big);
    let event = |key, content| Ev { content, ..ev(1, key) };
    assert!(pattern.matches(&event(1, 100)));
    assert!(!pattern.matches(&event(1, 99)));
    assert!(!pattern.matches(&event(7, 100)));
    assert!(!pattern.clone().guarded(Guard::OddContent).matches(&event(1, 100)));
    assert!(!Pattern::<Ev>::kind(2).matches(&event(1, 100)));
    assert!(Pattern::<Ev>::kind(1).keys_in([7]).matches(&event(7, 0)));
    assert!(!Pattern::<Ev>::kind(1).keys_in([]).matches(&event(7, 0)));
    assert!(Pattern::<Ev>::kind(1).keys_not_in([]).matches(&event(7, 0)));
}

#[test]
fn interrupt_beats_wait_and_ends_the_thread() {
    let torn = Line {
        waits: vec![Pat::kind(1)],
        interrupts: vec![Pat::kind(1)],
        // Were `on` called, it would panic.
        after: After::Panic,
        ..line()
    };
    let asking = once("asks", Line { requests: vec![ev(1, 0)], ..line() });
    let mut program = Program::new([Actor::new("torn", vec![torn]), asking]);
    check_run(&mut program, &[ev(1, 0)]);
    assert_eq!(names(&program), Vec::<&str>::new());
}

#[test]
fn an_event_that_only_interrupts_does_not_stop_the_run() {
    // A known defect of another engine: it slept here until the next event from outside.
    let mut program = Program::new([
        once("victim", Line { interrupts: vec![Pat::kind(1)], ..line() }),
        once("later", Line { requests: vec![ev(2, 0)], ..line() }),
    ]);
    program.offer(Lane::Urgent, ev(1, 0));
    check_run(&mut program, &[ev(1, 0), ev(2, 0)]);
}

#[test]
fn urgent_comes_before_requests_and_normal_after_them() {
    let all = vec![Pat::kind(1), Pat::kind(2), Pat::kind(3)];
    let mut program = Program::new([
        Actor::new("ear", vec![Line { waits: all, ..line() }]),
        once("asks", Line { requests: vec![ev(2, 0)], ..line() }),
    ]);
    program.offer(Lane::Normal, ev(3, 0));
    program.offer(Lane::Urgent, ev(1, 0));
    check_run(&mut program, &[ev(1, 0), ev(2, 0), ev(3, 0)]);
}

#[test]
fn a_blocked_offer_is_overtaken_and_comes_when_the_block_goes() {
    // A known defect of another engine: the blocked one was lost.
    let mut program = Program::new([
        once("guard", Line { blocks: vec![Pat::kind(1)], waits: vec![Pat::kind(2)], ..line() }),
        Actor::new("ear", vec![Line { waits: vec![Pat::kind(1)], ..line() }]),
    ]);
    program.offer(Lane::Normal, ev(1, 0));
    check_run(&mut program, &[]);
    program.offer(Lane::Normal, ev(2, 0));
    check_run(&mut program, &[ev(2, 0), ev(1, 0)]);
}

#[test]
fn equal_offers_are_delivered_as_often_as_they_were_made() {
    let ear = Actor::new("ear", vec![Line { waits: vec![Pat::kind(1)], ..line() }]);
    let mut program = Program::new([ear]);
    program.offer(Lane::Normal, ev(1, 5));
    program.offer(Lane::Normal, ev(1, 5));
    check_run(&mut program, &[ev(1, 5), ev(1, 5)]);
}

#[test]
fn an_offer_nobody_waits_for_is_kept_as_unheard() {
    let mut program = Program::new([once("ear", Line { waits: vec![Pat::kind(1)], ..line() })]);
    program.offer(Lane::Normal, ev(2, 0));
    program.offer(Lane::Normal, ev(1, 0));
    program.offer(Lane::Urgent, ev(3, 0));
    check_run(&mut program, &[ev(1, 0)]);
    assert_eq!(program.unheard(), [ev(3, 0), ev(2, 0)]);
    assert_eq!(program.take_unheard(), [ev(3, 0), ev(2, 0)]);
    assert!(program.unheard().is_empty());
}

#[test]
fn an_offer_waits_until_all_is_quiet_before_it_counts_as_unheard() {
    let opens = Actor::new(
        "opens",
        vec![
            Line { requests: vec![ev(1, 0)], ..line() },
            Line { waits: vec![Pat::kind(2)], after: After::End, ..line() },
        ],
    );
    let mut program = Program::new([opens]);
    program.offer(Lane::Urgent, ev(2, 0));
    check_run(&mut program, &[ev(1, 0), ev(2, 0)]);
}

#[test]
fn a_spawned_thread_joins_last_and_an_ended_one_leaves() {
    let parent = Actor::new(
        "parent",
        vec![
            Line { requests: vec![ev(1, 0)], after: After::Spawn(2), ..line() },
            Line { requests: vec![ev(2, 0)], after: After::End, ..line() },
            Line { requests: vec![ev(3, 0)], after: After::End, ..line() },
        ],
    );
    let mut program =
        Program::new([parent, once("other", Line { waits: vec![Pat::kind(5)], ..line() })]);
    program.step();
    assert_eq!(names(&program), ["parent", "other", "parent+"]);
    check_run(&mut program, &[ev(2, 0), ev(3, 0)]);
    assert_eq!(names(&program), ["other"]);
}

#[test]
fn a_choice_that_cannot_be_had_changes_nothing() {
    let bid = Line { requests: vec![ev(1, 0)], ..line() };
    let free = Program::new([once("a", bid.clone())]);
    let choice = free.choices().remove(0);
    let guard = Actor::new("guard", vec![Line { blocks: vec![Pat::kind(1)], ..line() }]);
    let mut guarded = Program::new([once("a", bid), guard]);
    let before = guarded.clone();
    assert_eq!(guarded.choose(&choice), StepOutcome::Quiet);
    assert_eq!(guarded, before);
}

#[test]
fn a_run_that_does_not_end_halts_and_names_its_last_events() {
    let ping = Line { requests: vec![ev(1, 0)], ..line() };
    let pong = Line { requests: vec![ev(2, 0)], ..line() };
    let mut program = Program::new([Actor::new("endless", vec![ping, pong])]);
    let Err(Halt::Livelock { events, last }) = program.run() else { panic!("no livelock") };
    assert_eq!(events, SUPER_STEP_EVENTS_MAX);
    let (one, two) = (format!("{:?}", ev(1, 0)), format!("{:?}", ev(2, 0)));
    assert_eq!(last, [&one, &two, &one, &two, &one, &two, &one, &two].map(String::as_str));
    assert!(program.is_halted());
    assert!(program.choices().is_empty());
    // Stored and loaded, it must not get a second chance.
    let stored = serde_json::to_string(&program).expect("plain values");
    let mut loaded: Program<Actor> = serde_json::from_str(&stored).expect("what was just stored");
    assert_eq!(loaded.step(), StepOutcome::Halted(Halt::Livelock { events, last }));
}

#[test]
fn an_event_from_outside_starts_the_count_of_a_run_anew() {
    // Twice more than half of the limit in one run, with a delivery between.
    let half = (0..=SUPER_STEP_EVENTS_MAX / 2).map(|_| Line { requests: vec![ev(1, 0)], ..line() });
    let wait = Line { waits: vec![Pat::kind(2)], ..line() };
    let mut program = Program::new([Actor::new("long", half.chain([wait]).collect())]);
    program.offer(Lane::Normal, ev(2, 0));
    assert_eq!(program.run().expect("no halt").len(), 2 * (SUPER_STEP_EVENTS_MAX / 2 + 1) + 1);
}

#[test]
fn a_long_run_that_rests_just_below_the_limit_is_fine() {
    let lines = (1..SUPER_STEP_EVENTS_MAX)
        .map(|_| Line { requests: vec![ev(1, 0)], ..line() })
        .chain([Line { waits: vec![Pat::kind(2)], ..line() }]);
    let mut program = Program::new([Actor::new("long", lines.collect())]);
    assert_eq!(program.run().unwrap().len(), SUPER_STEP_EVENTS_MAX - 1);
    assert!(!program.is_halted());
}

#[test]
fn a_panicking_thread_halts_the_program_in_the_state_before_its_step() {
    let guard = Line {
        waits: vec![Pat::kind(1)],
        blocks: vec![Pat::kind(2)],
        after: After::Panic,
        ..line()
    };
    let mut program = Program::new([
        once("early", Line { waits: vec![Pat::kind(1)], ..line() }),
        Actor::new("guard", vec![guard]),
        once("thief", Line { requests: vec![ev(2, 0)], ..line() }),
    ]);
    program.offer(Lane::Normal, ev(1, 0));
    let before = program.clone();
    let step = program.step();
    let halt = Halt::ThreadPanicked {
        thread: "guard".to_owned(),
        event: Some(format!("{:?}", ev(1, 0))),
        message: "guard was written to fail".to_owned(),
    };
    assert_eq!(step, StepOutcome::Halted(halt.clone()));
    assert!(program.threads().eq(before.threads()));
    assert!(program.queued(Lane::Normal).eq(&[ev(1, 0)]));

    // Nothing is chosen any more, not by step, run or choice, and not after it was stored.
    let mut program: Program<Actor> =
        serde_json::from_str(&serde_json::to_string(&program).unwrap()).unwrap();
    let choice = before.choices().remove(0);
    assert_eq!(program.step(), StepOutcome::Halted(halt.clone()));
    assert_eq!(program.choose(&choice), StepOutcome::Halted(halt.clone()));
    assert_eq!(program.run(), Err(halt));
    assert!(program.is_halted() && program.choices().is_empty());
    assert_eq!(program.waiting().blocked[0].blocked_by, ["guard"]);
    assert!(!program.waiting().is_deadlock());
}

#[test]
fn a_thread_that_cannot_bid_halts_the_program_from_the_start() {
    let broken = Actor { at: 9, ..once("broken", line()) };
    let asks = once("asks", Line { requests: vec![ev(1, 0)], ..line() });
    let mut program = Program::new([asks, broken]);
    let StepOutcome::Halted(Halt::ThreadPanicked { thread, event, .. }) = program.step() else {
        panic!("not halted");
    };
    assert_eq!((thread.as_str(), event), ("broken", None));
}

#[test]
fn a_guard_that_panics_halts_the_program_and_nothing_passes_it() {
    let blocks = vec![Pat::kind(1).guarded(Guard::Fails)];
    let mut program = Program::new([
        Actor::new("guard", vec![Line { blocks, ..line() }]),
        once("thief", Line { requests: vec![ev(1, 0)], ..line() }),
    ]);
    let halt = Halt::ThreadPanicked {
        thread: "a guard".to_owned(),
        event: None,
        message: "this guard was written to fail".to_owned(),
    };
    assert_eq!(program.step(), StepOutcome::Halted(halt.clone()));
    assert_eq!(program.step(), StepOutcome::Halted(halt));
    assert_eq!(names(&program), ["guard", "thief"]);
    let report = "Halted: a guard panicked: this guard was written to fail.\n";
    assert_eq!(program.waiting().to_string(), report);
}

#[test]
fn threads_that_end_in_the_middle_leave_the_others_in_their_places() {
    // More than are searched one by one, so the index has to follow.
    let asks = |number: u64| {
        let bid = Line { requests: vec![ev(1, number)], ..line() };
        once(&format!("asks {number}"), bid)
    };
    let threads = 2 * SCAN_THREADS_MAX as u64;
    let mut program = Program::new((0..threads).map(asks));
    let all: Vec<Ev> = (0..threads).map(|number| ev(1, number)).collect();
    check_run(&mut program, &all);
    assert_eq!(names(&program), Vec::<&str>::new());
}

#[test]
fn a_request_that_becomes_a_wait_for_the_same_event_is_found_by_the_index() {
    // The index once compared kinds only, and went on asking whom it had asked before.
    let turns = Actor::new(
        "turns",
        vec![
            Line { waits: vec![Pat::kind(1)], ..line() },
            Line { requests: vec![ev(1, 0)], after: After::End, ..line() },
        ],
    );
    let idle = || Actor::new("idle", vec![Line { waits: vec![Pat::kind(5)], ..line() }]);
    let idlers = (0..SCAN_THREADS_MAX).map(|_| idle());
    let mut program = Program::new(idlers.chain([turns]));
    program.offer(Lane::Normal, ev(1, 0));
    check_run(&mut program, &[ev(1, 0), ev(1, 0)]);
}
