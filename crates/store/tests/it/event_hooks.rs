//! Hooks that look at events: their versions, what sets them off once, and what is counted of them.

use agentry_protocol::access::Effect;
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::Event;
use agentry_protocol::event_hook::{
    Author, Circuit, CircuitState, EventHook, EventHookChange, EventHookMatch, EventHookUsage,
    HookMode, HookProgram, Invocation, Triggers,
};
use agentry_protocol::intake::UnrunReason;
use agentry_protocol::{AccessId, ContentHash, EventHookId, InvocationId};
use agentry_store::{
    Error, EventHookRow, EventHookStatus, InboundStatus, InvocationFilter, InvocationStatus,
};
use serde_json::json;

use crate::inbounds::{self, event};
use crate::scene::{START, Scene, WORKS, draft, opened, ses};

pub(crate) fn hook(number: u128) -> EventHookId {
    EventHookId::from_number(number)
}

pub(crate) fn inv(event: u128, hook: u128) -> InvocationId {
    InvocationId::from_number(event * 10 + hook)
}

pub(crate) fn registered(number: u128, name: &str, version: u32) -> Event {
    let config = json!({"z": 1.5, "a": "x"});
    Event::EventHook(EventHookChange::Registered {
        hook: Box::new(EventHook {
            id: hook(number),
            name: name.to_owned(),
            description: None,
            mode: HookMode::Persistent,
            triggers: Triggers::default(),
            config: config.as_object().expect(WORKS).clone(),
            program: HookProgram {
                path: "hooks/look".to_owned(),
                hash: ContentHash::of(b"look"),
                timeout_ms: 5_000,
                model: false,
            },
            created_by: Author { person: Some("ann".to_owned()), ..Author::default() },
            version,
        }),
    })
}

pub(crate) fn enabled(number: u128) -> Event {
    Event::EventHook(EventHookChange::Enabled { hook: hook(number), by: Author::default() })
}

pub(crate) fn disabled(number: u128) -> Event {
    Event::EventHook(EventHookChange::Disabled {
        hook: hook(number),
        by: Author::default(),
        reason: Some("enough".to_owned()),
    })
}

pub(crate) fn deleted(number: u128) -> Event {
    Event::EventHook(EventHookChange::Deleted { hook: hook(number), by: Author::default() })
}

/// The event sets off these hooks in their first version.
pub(crate) fn matched(number: u128, hooks: &[u128]) -> Event {
    let one = |number_of: &u128| EventHookMatch {
        invocation: inv(number, *number_of),
        hook: hook(*number_of),
        version: 1,
    };
    Event::EventHook(EventHookChange::Matched {
        event: event(number),
        access: AccessId::from_number(number),
        invocations: hooks.iter().map(one).collect(),
    })
}

pub(crate) fn begun(number: u128, of: u128) -> Event {
    Event::EventHook(EventHookChange::Begun { invocation: inv(number, of) })
}

/// How a running came out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Came {
    Quiet,
    Fired,
    Failed,
}

pub(crate) fn invoked(number: u128, of: u128, came: Came, circuit: Circuit) -> Event {
    Event::EventHook(EventHookChange::Invoked(Box::new(Invocation {
        id: inv(number, of),
        hook_id: hook(of),
        version: 1,
        event_id: event(number),
        started_at: START + 1_000,
        finished_at: START + 1_000 + number as u64,
        latency_ms: number as u64,
        fired: came == Came::Fired,
        result: None,
        spent: EventHookUsage {
            llm_calls: 1,
            llm_cost_usd: Some(0.5),
            ..EventHookUsage::default()
        },
        error: (came == Came::Failed).then(|| "it fell over".to_owned()),
        circuit,
    })))
}

pub(crate) fn settled(number: u128) -> Event {
    Event::EventHook(EventHookChange::Settled { event: event(number) })
}

pub(crate) fn open() -> Circuit {
    Circuit { state: CircuitState::Open, consecutive_errors: 5, opened_at: Some(START) }
}

fn closed() -> Circuit {
    Circuit::default()
}

fn add(scene: &Scene, event: Event) {
    scene.add(&EntrySubject::default(), event);
}

fn scene(events: impl IntoIterator<Item = Event>) -> Scene {
    let scene = Scene::new();
    events.into_iter().for_each(|event| add(&scene, event));
    scene
}

#[track_caller]
fn refused(scene: &Scene, event: Event) -> Error {
    let before = scene.ledger.dump_views().expect(WORKS);
    let appended = scene.ledger.append(vec![draft(&EntrySubject::default(), event)]);
    assert_eq!(scene.ledger.dump_views().expect(WORKS), before);
    appended.expect_err("it is refused")
}

fn row(scene: &Scene, number: u128) -> EventHookRow {
    scene.ledger.event_hook(&hook(number)).expect(WORKS).expect(WORKS)
}

#[test]
fn a_hook_has_one_living_name_and_one_version_after_the_other() {
    let scene = scene([registered(1, "look", 1), registered(2, "other", 1)]);
    assert!(matches!(
        refused(&scene, registered(3, "look", 1)),
        Error::HookNameTaken { hook: holder, .. } if holder == hook(1)
    ));
    assert!(matches!(refused(&scene, registered(2, "look", 2)), Error::HookNameTaken { .. }));
    for version in [1, 3] {
        let error = refused(&scene, registered(1, "look", version));
        assert!(matches!(error, Error::HookVersion { expected: 2, .. }), "{error}");
    }
    assert!(matches!(refused(&scene, registered(3, "new", 2)), Error::HookVersion { .. }));
    add(&scene, registered(1, "looks", 2));
    add(&scene, registered(3, "look", 1));
    assert_eq!(scene.ledger.event_hook_versions(&hook(1)).expect(WORKS).len(), 2);
    assert_eq!(row(&scene, 1).hook.name, "looks");
    let names = |all| {
        let rows = scene.ledger.event_hooks(all).expect(WORKS);
        rows.into_iter().map(|row| row.hook.name).collect::<Vec<_>>()
    };
    assert_eq!(names(false), ["look", "looks", "other"]);
    add(&scene, deleted(3));
    assert_eq!((names(false).len(), names(true).len()), (2, 3));
    assert!(scene.ledger.event_hook_named("look").expect(WORKS).is_none());
    assert_eq!(row(&scene, 3).status, EventHookStatus::Disabled);
    // What is gone does not come back, but its name is free.
    assert!(matches!(refused(&scene, registered(3, "look", 2)), Error::HookDeleted { .. }));
    add(&scene, registered(4, "look", 1));
    assert_eq!(scene.ledger.find_event_hook("look").expect(WORKS), hook(4));
}

#[test]
fn an_event_sets_off_its_hooks_once_and_is_settled_when_all_are_through() {
    let scene = scene([registered(1, "a", 1), registered(2, "b", 1), matched(7, &[2, 1])]);
    assert!(matches!(
        refused(&scene, matched(7, &[1])),
        Error::HooksMatched { is_settled: Some(false), .. }
    ));
    let open = scene.ledger.hook_events_open(9).expect(WORKS);
    assert_eq!(open.len(), 1);
    let ids: Vec<_> = open[0].invocations.iter().map(|one| one.hook.clone()).collect();
    assert_eq!(ids, [hook(2), hook(1)]);
    add(&scene, begun(7, 1));
    assert!(matches!(refused(&scene, begun(7, 1)), Error::InvocationMoved { .. }));
    add(&scene, invoked(7, 1, Came::Fired, closed()));
    assert!(matches!(
        refused(&scene, invoked(7, 1, Came::Fired, closed())),
        Error::InvocationMoved { status: Some(InvocationStatus::Done), .. }
    ));
    assert!(matches!(
        refused(&scene, invoked(8, 1, Came::Quiet, closed())),
        Error::InvocationMoved { status: None, .. }
    ));
    assert!(matches!(
        refused(&scene, settled(7)),
        Error::HooksPending { invocation, .. } if invocation == inv(7, 2)
    ));
    let open = scene.ledger.hook_events_open(9).expect(WORKS);
    let far: Vec<_> = open[0].invocations.iter().map(|one| one.status).collect();
    assert_eq!(far, [InvocationStatus::Matched, InvocationStatus::Done]);
    add(&scene, invoked(7, 2, Came::Quiet, closed()));
    add(&scene, settled(7));
    assert!(scene.ledger.hook_events_open(9).expect(WORKS).is_empty());
    assert!(matches!(
        refused(&scene, settled(7)),
        Error::HooksMatched { is_settled: Some(true), .. }
    ));
    assert!(matches!(refused(&scene, settled(9)), Error::HooksMatched { is_settled: None, .. }));
    assert_eq!(scene.ledger.invocations_of_event(&event(7)).expect(WORKS).len(), 2);
}

#[test]
fn last_triggered_is_when_it_last_fired_and_not_when_it_was_last_set_off() {
    let scene = scene([registered(1, "a", 1), matched(3, &[1]), matched(5, &[1])]);
    add(&scene, invoked(3, 1, Came::Fired, closed()));
    let fired = row(&scene, 1);
    assert_eq!((fired.times.last_triggered, fired.trigger_count), (Some(START + 1_003), 1));
    add(&scene, invoked(5, 1, Came::Quiet, closed()));
    assert_eq!(row(&scene, 1), fired);
}

#[test]
fn a_breaker_pauses_a_hook_and_lets_one_try_through() {
    let scene = scene([registered(1, "a", 1), matched(1, &[1]), matched(2, &[1])]);
    let failing = Circuit { consecutive_errors: 1, ..closed() };
    let mut changed = scene.ledger.event_hooks_changed().expect(WORKS);
    let mut moves = || {
        let now = scene.ledger.event_hooks_changed().expect(WORKS);
        std::mem::replace(&mut changed, now) != now
    };
    assert!(!moves());
    add(&scene, invoked(1, 1, Came::Failed, failing));
    assert!(moves());
    assert_eq!(row(&scene, 1).status, EventHookStatus::Errored);
    assert_eq!(row(&scene, 1).last_error.as_deref(), Some("it fell over"));
    add(&scene, invoked(2, 1, Came::Failed, open()));
    assert_eq!(row(&scene, 1).status, EventHookStatus::Paused);
    assert!(moves());
    // What is set off now is the one try.
    add(&scene, matched(3, &[1]));
    assert_eq!(row(&scene, 1).circuit, Circuit { state: CircuitState::HalfOpen, ..open() });
    assert!(moves());
    add(&scene, invoked(3, 1, Came::Quiet, closed()));
    assert_eq!(row(&scene, 1).status, EventHookStatus::Active);
    assert!(moves());
    add(&scene, settled(3));
    assert!(!moves());
}

#[test]
fn a_disabled_hook_keeps_its_breaker_and_an_enabled_or_new_one_begins_anew() {
    let scene = scene([registered(1, "a", 1), matched(1, &[1]), matched(2, &[1])]);
    add(&scene, invoked(1, 1, Came::Failed, open()));
    add(&scene, disabled(1));
    let off = row(&scene, 1);
    assert_eq!((off.status, off.circuit), (EventHookStatus::Disabled, open()));
    assert_eq!(off.disabled_reason.as_deref(), Some("enough"));
    assert!(off.times.disabled.is_some());
    assert!(scene.ledger.event_hooks_enabled().expect(WORKS).is_empty());
    add(&scene, enabled(1));
    let on = row(&scene, 1);
    assert_eq!((on.status, on.circuit), (EventHookStatus::Active, closed()));
    assert_eq!((on.disabled_reason, on.times.disabled), (None, None));
    add(&scene, disabled(1));
    add(&scene, registered(1, "a", 2));
    assert_eq!(row(&scene, 1).status, EventHookStatus::Active);
    // What an older version still runs says nothing about the newer one.
    add(&scene, invoked(2, 1, Came::Failed, open()));
    assert_eq!((row(&scene, 1).circuit, row(&scene, 1).last_error), (closed(), None));
}

#[test]
fn the_last_hundred_runnings_tell_how_a_hook_does() {
    let scene = scene([registered(1, "a", 1), registered(2, "b", 1)]);
    for number in 1..=120 {
        let came = if number % 10 == 0 { Came::Failed } else { Came::Quiet };
        add(&scene, matched(number, &[1]));
        add(&scene, invoked(number, 1, came, closed()));
    }
    add(&scene, matched(200, &[1, 2]));
    let stats = scene.ledger.hook_stats(&hook(1)).expect(WORKS);
    assert_eq!((stats.invocations, stats.errors, stats.fired), (100, 10, 0));
    assert_eq!((stats.latency_p95_ms, stats.latency_p99_ms), (115, 119));
    assert!((stats.latency_avg_ms - 70.5).abs() < 1e-9);
    assert_eq!((stats.spent.llm_calls, stats.spent.llm_cost_usd), (100, Some(50.0)));
    assert_eq!(scene.ledger.hook_stats(&hook(2)).expect(WORKS).invocations, 0);
    let list = |filter| scene.ledger.invocations(&filter).expect(WORKS);
    let of = InvocationFilter { hook: Some(hook(1)), ..InvocationFilter::default() };
    assert_eq!(list(InvocationFilter { last: Some(3), ..of.clone() })[1].event, event(120));
    let failed = list(InvocationFilter { errors_only: true, ..of.clone() });
    assert_eq!(failed.len(), 12);
    let since = failed[0].time;
    assert_eq!(list(InvocationFilter { errors_only: true, since: Some(since), ..of }).len(), 1);
    assert_eq!(list(InvocationFilter::default()).len(), 122);
}

#[test]
fn what_hooks_look_at_is_neither_settled_nor_looked_at_again() {
    let scene = Scene::new();
    let session = EntrySubject { session: Some(ses(1)), ..EntrySubject::default() };
    scene.add(&session, opened("main", None));
    let status = |number| scene.ledger.inbound(&event(number)).expect(WORKS).expect(WORKS).status;
    for number in [1, 2, 3] {
        add(&scene, inbounds::received(number));
    }
    // Nobody decided about it yet.
    add(&scene, matched(3, &[]));
    assert_eq!(status(3), InboundStatus::Received);
    for number in [1, 2] {
        add(&scene, inbounds::decided(number, Effect::Allow, Vec::new()));
        add(&scene, matched(number, &[]));
        assert_eq!(status(number), InboundStatus::Hooked);
        assert!(!status(number).is_settled());
    }
    let received = scene.ledger.inbounds_received(9).expect(WORKS);
    assert_eq!(received.len(), 1);
    let counts = scene.ledger.inbound_counts().expect(WORKS);
    assert!(counts.contains(&("hooked".to_owned(), 2)));
    add(&scene, inbounds::unrun(1, UnrunReason::NoHook));
    assert_eq!(status(1), InboundStatus::Unrun);
    // A message reaches its session, whatever hooks want.
    scene.add(&session, inbounds::routed(2));
    assert_eq!(status(2), InboundStatus::Waiting);
}
