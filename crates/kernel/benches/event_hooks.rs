//! `cargo bench --package agentry-kernel --bench event_hooks`: what hooks cost that an event does not set off.
//!
//! Hooks of four sorts: some for one person, some for a kind of event, some for a channel, and some that every event
//! must be held against. No event sets off any.
//!
//! Must never: assert a time; machines differ.

use std::hint::black_box;

use agentry_kernel::event_hook::{ActiveHook, EventHooks};
use agentry_protocol::event_hook::{
    Author, Circuit, EventHook, EventTrigger, HookMode, HookProgram, PrincipalTrigger, Triggers,
};
use agentry_protocol::inbound::{ChannelAddress, Inbound, Sender};
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_protocol::{ContentHash, EventHookId};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

const HOOKS: usize = 500;
const EVENTS: usize = 20_000;
const ROUNDS: usize = 7;
const MICROSECONDS_TARGET: f64 = 5.0;

fn main() {
    let (inbound, principal) = (inbound(), principal());
    println!("hooks that an event does not set off (the target is {MICROSECONDS_TARGET} µs each):");
    for (sort, spread) in [("of four sorts", true), ("all held against each event", false)] {
        let hooks = EventHooks::of((0..HOOKS).map(|number| hook(number, spread)).collect());
        assert!(hooks.triggered_by(&inbound, &principal, 0).is_empty());
        let nanos = measure(|| {
            black_box(hooks.triggered_by(black_box(&inbound), black_box(&principal), 0));
        });
        println!(
            "  {HOOKS} hooks, {sort:<28} {:>8.2} ns each  {:>8.2} µs for the event",
            nanos / HOOKS as f64,
            nanos / 1e3
        );
    }
}

/// The median of several rounds, in nanoseconds for each event.
fn measure(mut once: impl FnMut()) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let before = seconds();
            (0..EVENTS).for_each(|_| once());
            (seconds() - before) * 1e9 / EVENTS as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

/// The processor time of this thread, which others on the machine do not move.
fn seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

fn hook(number: usize, spread: bool) -> ActiveHook {
    let event = |event: EventTrigger| Triggers { principal: None, event: Some(event) };
    let triggers = match if spread { number % 4 } else { 3 } {
        0 => Triggers {
            principal: Some(PrincipalTrigger {
                entity_id: Some(format!("p{number}")),
                ..PrincipalTrigger::default()
            }),
            event: None,
        },
        1 => {
            event(EventTrigger { types: vec![format!("type{number}")], ..EventTrigger::default() })
        }
        2 => event(EventTrigger {
            channels: vec![format!("channel{number}")],
            ..EventTrigger::default()
        }),
        _ => event(EventTrigger {
            metadata: [("amount".to_owned(), json!(number))].into(),
            ..EventTrigger::default()
        }),
    };
    let hook = EventHook {
        id: EventHookId::from_number(number as u128),
        name: format!("hook-{number}"),
        description: None,
        mode: HookMode::Persistent,
        triggers,
        config: Default::default(),
        program: HookProgram {
            path: "hooks/look".to_owned(),
            hash: ContentHash::of(b"look"),
            timeout_ms: 5_000,
            model: false,
        },
        created_by: Author::default(),
        version: 1,
    };
    ActiveHook { hook, circuit: Circuit::default() }
}

fn inbound() -> Inbound {
    let place = ChannelAddress {
        channel: "slack".to_owned(),
        account_id: None,
        peer_id: Some("peer".to_owned()),
        peer_kind: None,
        guild: None,
        thread_id: None,
        reply_to_id: None,
    };
    let sender = Sender { sender_id: "sender".to_owned(), sender_name: None };
    let mut inbound = Inbound::new("m1", 0, place, sender).expect("these are ids");
    inbound.metadata.insert("amount".to_owned(), json!("many"));
    inbound
}

fn principal() -> Principal {
    Principal { entity_id: Some("nobody".to_owned()), ..Principal::of(PrincipalKind::Known) }
}
