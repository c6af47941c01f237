//! Who may start next: fair to principals, then to sessions, and never more than a limit says.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use agentry_kernel::scheduler::{
    SchedulerDecision, SchedulerLimits, TurnRequest, TurnScheduler, WaitCondition,
};
use agentry_protocol::SessionId;
use proptest::prelude::*;

fn limits(running: usize, per_principal: usize) -> SchedulerLimits {
    SchedulerLimits {
        running,
        running_per_principal: per_principal,
        waiting: 1_000_000,
        waiting_per_principal: 1_000_000,
    }
}

fn session(number: u64) -> SessionId {
    SessionId::from_number(u128::from(number))
}

fn wanted(principal: &str, at: u64, ticket: u64) -> TurnRequest {
    TurnRequest { principal: principal.to_owned(), session: session(at), ticket }
}

/// Starts and ends turns one at a time until nothing waits; the tickets in the order they started.
fn drained(schedule: &mut TurnScheduler) -> Vec<u64> {
    let mut order = Vec::new();
    while let SchedulerDecision::Start(started) = schedule.take_next() {
        order.push(started.ticket);
        schedule.ended(&started.session);
    }
    assert_eq!(schedule.take_next(), SchedulerDecision::Nothing);
    order
}

#[test]
fn principals_come_one_after_the_other_then_their_sessions() {
    let mut schedule = TurnScheduler::new(limits(1, 1));
    let asked = [
        ("ann", 1, 10),
        ("ann", 1, 11),
        ("ann", 2, 12),
        ("ann", 3, 13),
        ("bob", 4, 20),
        ("cy", 5, 30),
    ];
    for (principal, at, ticket) in asked {
        assert_eq!(schedule.want(wanted(principal, at, ticket)), Ok(()));
    }
    assert_eq!(drained(&mut schedule), [10, 20, 30, 12, 13, 11]);
}

#[test]
fn within_a_session_the_first_is_first_whoever_asks() {
    let mut schedule = TurnScheduler::new(limits(4, 4));
    for (principal, ticket) in [("bob", 1), ("ann", 2), ("bob", 3)] {
        assert_eq!(schedule.want(wanted(principal, 7, ticket)), Ok(()));
    }
    assert_eq!(schedule.take_next(), SchedulerDecision::Start(wanted("bob", 7, 1)));
    assert_eq!(
        schedule.take_next(),
        SchedulerDecision::Full(WaitCondition::TurnOfWaiting),
        "one turn at a time"
    );
    schedule.ended(&session(7));
    assert_eq!(drained(&mut schedule), [2, 3]);
}

#[test]
fn a_full_house_says_what_to_wait_for() {
    let mut schedule = TurnScheduler::new(limits(2, 1));
    for (principal, at, ticket) in [("ann", 1, 1), ("ann", 2, 2), ("bob", 3, 3), ("cy", 4, 4)] {
        assert_eq!(schedule.want(wanted(principal, at, ticket)), Ok(()));
    }
    assert_eq!(schedule.take_next(), SchedulerDecision::Start(wanted("ann", 1, 1)));
    assert_eq!(schedule.take_next(), SchedulerDecision::Start(wanted("bob", 3, 3)));
    assert_eq!(schedule.take_next(), SchedulerDecision::Full(WaitCondition::AnyTurn));
    schedule.ended(&session(3));
    assert_eq!(schedule.take_next(), SchedulerDecision::Start(wanted("cy", 4, 4)));
    schedule.ended(&session(4));
    assert_eq!(
        schedule.take_next(),
        SchedulerDecision::Full(WaitCondition::TurnOf("ann".to_owned()))
    );
    schedule.ended(&session(1));
    assert_eq!(schedule.take_next(), SchedulerDecision::Start(wanted("ann", 2, 2)));
    assert_eq!(schedule.take_next(), SchedulerDecision::Nothing);
}

#[test]
fn what_there_is_no_room_for_is_handed_back() {
    let small = SchedulerLimits {
        running: 1,
        running_per_principal: 1,
        waiting: 3,
        waiting_per_principal: 2,
    };
    let mut schedule = TurnScheduler::new(small);
    assert_eq!(schedule.want(wanted("ann", 1, 1)), Ok(()));
    assert_eq!(schedule.want(wanted("ann", 2, 2)), Ok(()));
    let third = wanted("ann", 3, 3);
    assert_eq!(
        schedule.want(third.clone()),
        Err((third, WaitCondition::StartOf("ann".to_owned())))
    );
    assert_eq!(schedule.want(wanted("bob", 4, 4)), Ok(()));
    let fifth = wanted("cy", 5, 5);
    assert_eq!(schedule.want(fifth.clone()), Err((fifth.clone(), WaitCondition::AnyStart)));
    assert_eq!(schedule.take_next(), SchedulerDecision::Start(wanted("ann", 1, 1)));
    assert_eq!(schedule.want(fifth), Ok(()), "a start made room");
}

#[test]
fn one_who_withdraws_leaves_no_gap() {
    let mut schedule = TurnScheduler::new(limits(1, 1));
    for (principal, at, ticket) in [("ann", 1, 1), ("bob", 1, 2), ("cy", 2, 3)] {
        assert_eq!(schedule.want(wanted(principal, at, ticket)), Ok(()));
    }
    assert!(schedule.withdraw(&session(1), 1));
    assert!(!schedule.withdraw(&session(1), 1), "it is gone");
    assert_eq!(schedule.waiting(), 2);
    assert_eq!(drained(&mut schedule), [3, 2], "bob joined the ring when ann had left");
}

#[test]
fn a_flood_of_one_principal_does_not_delay_another() {
    let mut schedule = TurnScheduler::new(limits(4, 4));
    for number in 0..10_000 {
        assert_eq!(schedule.want(wanted("flood", number, number)), Ok(()));
    }
    let mut under_way = VecDeque::new();
    for _ in 0..4 {
        if let SchedulerDecision::Start(started) = schedule.take_next() {
            under_way.push_back(started.session);
        }
    }
    assert_eq!(schedule.want(wanted("ann", 20_000, 20_000)), Ok(()));
    schedule.ended(&under_way.pop_front().unwrap());
    // At most the one that was in the ring before it.
    let two: Vec<SchedulerDecision> = (0..2)
        .map(|_| {
            let next = schedule.take_next();
            schedule.ended(&under_way.pop_front().unwrap());
            next
        })
        .collect();
    assert!(two.contains(&SchedulerDecision::Start(wanted("ann", 20_000, 20_000))), "{two:?}");
}

#[test]
fn ten_thousand_sessions_of_fifty_principals_all_start_in_fair_rounds() {
    let mut schedule = TurnScheduler::new(limits(64, 8));
    for number in 0..10_000_u64 {
        let principal = format!("p{}", number % 50);
        assert_eq!(schedule.want(wanted(&principal, number, number)), Ok(()));
    }
    let mut started: BTreeMap<String, usize> = BTreeMap::new();
    let mut under_way = VecDeque::new();
    loop {
        match schedule.take_next() {
            SchedulerDecision::Start(one) => {
                *started.entry(one.principal).or_default() += 1;
                under_way.push_back(one.session);
                let (least, most) = (started.values().min(), started.values().max());
                if started.len() == 50 {
                    assert!(most.unwrap() - least.unwrap() <= 1, "{started:?}");
                }
            }
            SchedulerDecision::Full(_) => schedule.ended(&under_way.pop_front().unwrap()),
            SchedulerDecision::Nothing => break,
        }
        assert!(schedule.running() <= 64);
    }
    assert_eq!(started.values().sum::<usize>(), 10_000);
}

#[derive(Clone, Debug)]
enum Step {
    Want(u8, u64),
    Next,
    End(usize),
    Withdraw(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4_u8, 0..6_u64).prop_map(|(who, at)| Step::Want(who, at)),
        3 => Just(Step::Next),
        2 => any::<prop::sample::Index>().prop_map(|at| Step::End(at.index(64))),
        1 => any::<prop::sample::Index>().prop_map(|at| Step::Withdraw(at.index(64))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn limits_hold_nothing_is_lost_and_a_session_keeps_its_order(
        steps in prop::collection::vec(step(), 0..120),
        running in 1..4_usize,
        per_principal in 1..3_usize,
    ) {
        let mut schedule = TurnScheduler::new(limits(running, per_principal));
        let mut waiting: Vec<TurnRequest> = Vec::new();
        let mut under_way: Vec<TurnRequest> = Vec::new();
        for (step, ticket) in steps.into_iter().zip(0..) {
            match step {
                Step::Want(who, at) => {
                    let one = wanted(&format!("p{who}"), at, ticket);
                    prop_assert_eq!(schedule.want(one.clone()), Ok(()));
                    waiting.push(one);
                }
                Step::Next => {
                    let busy: BTreeSet<&SessionId> = under_way.iter().map(|one| &one.session).collect();
                    let of = |name: &str| under_way.iter().filter(|one| one.principal == name).count();
                    // The slow way: all that may start, by the rules.
                    let mut seen = BTreeSet::new();
                    let may: Vec<TurnRequest> = waiting.iter()
                        .filter(|one| seen.insert(&one.session) && !busy.contains(&one.session))
                        .filter(|one| under_way.len() < running && of(&one.principal) < per_principal)
                        .cloned().collect();
                    match schedule.take_next() {
                        SchedulerDecision::Start(one) => {
                            prop_assert!(may.contains(&one), "{:?} of {:?}", one, may);
                            waiting.retain(|other| *other != one);
                            under_way.push(one);
                        }
                        SchedulerDecision::Nothing => prop_assert!(waiting.is_empty()),
                        SchedulerDecision::Full(_) => prop_assert!(may.is_empty() && !waiting.is_empty()),
                    }
                }
                Step::End(at) => if !under_way.is_empty() {
                    let one = under_way.remove(at % under_way.len());
                    schedule.ended(&one.session);
                },
                Step::Withdraw(at) => if !waiting.is_empty() {
                    let one = waiting.remove(at % waiting.len());
                    prop_assert!(schedule.withdraw(&one.session, one.ticket));
                },
            }
            prop_assert_eq!(schedule.running(), under_way.len());
            prop_assert_eq!(schedule.waiting(), waiting.len());
        }
        // All that wait start in the end.
        loop {
            for one in under_way.drain(..) {
                schedule.ended(&one.session);
            }
            match schedule.take_next() {
                SchedulerDecision::Start(one) => {
                    waiting.retain(|other| *other != one);
                    under_way.push(one);
                }
                SchedulerDecision::Nothing => break,
                SchedulerDecision::Full(why) => prop_assert!(false, "{:?} although nothing runs", why),
            }
        }
        prop_assert!(waiting.is_empty());
    }
}
