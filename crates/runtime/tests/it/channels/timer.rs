//! One tick each minute, whoever makes it.

use std::sync::Arc;

use agentry_protocol::inbound::{Direction, Inbound};
use agentry_runtime::channel::timer::{TickPredicate, Timer, tick};
use agentry_runtime::channel::{InboundAcceptance, InboundRejection, InboundSink, WaitClock};

use super::scene::{Kept, Still};

#[test]
fn a_minute_has_one_tick() {
    let one = tick(120_000);
    assert_eq!(one.event_id.as_str(), "timer:tick:2");
    assert_eq!(tick(179_999), one);
    assert_eq!(tick(180_000).event_id.as_str(), "timer:tick:3");
    assert_eq!(one.sender.sender_id, "timer");
    assert_eq!(one.event_type.as_deref(), Some("timer_tick"));
    assert_eq!((one.body.content.as_str(), one.direction), ("", Direction::Received));
    assert_eq!(one.check(), Ok(()));
}

fn always() -> TickPredicate {
    Arc::new(|| true)
}

#[test]
fn a_minute_in_which_nobody_would_look_has_no_tick() {
    let (sink, clock) = (Arc::new(Kept::default()), Arc::new(Still::default()));
    let asking = clock.clone();
    let wanted: TickPredicate = Arc::new(move || asking.now_ms() >= 120_000);
    let timer = Timer::start(sink.clone(), clock.clone(), wanted).unwrap();
    clock.await_wait(60_000);
    clock.pass(60_000);
    clock.await_wait(60_000);
    clock.pass(60_000);
    let ids: Vec<String> = sink.await_count(1).iter().map(|one| one.event_id.to_string()).collect();
    timer.stop();
    assert_eq!(ids, ["timer:tick:2"]);
}

#[test]
fn each_minute_begins_with_a_tick_and_two_timers_make_one() {
    let (sink, clock) = (Arc::new(Kept::default()), Arc::new(Still::default()));
    clock.advance(90_000);
    let first = Timer::start(sink.clone(), clock.clone(), always()).unwrap();
    let second = Timer::start(sink.clone(), clock.clone(), always()).unwrap();
    clock.await_wait(30_000);
    clock.pass(30_000);
    clock.pass(60_000);
    clock.await_wait(60_000);
    sink.await_count(3);
    first.stop();
    second.stop();
    let ids: Vec<String> = sink.await_count(3).iter().map(|one| one.event_id.to_string()).collect();
    assert_eq!(ids, ["timer:tick:1", "timer:tick:2", "timer:tick:3"]);
}

/// Lets a minute pass while it takes something.
struct Slow(Arc<Kept>, Arc<Still>);

impl InboundSink for Slow {
    fn take(&self, inbound: Inbound) -> Result<InboundAcceptance, InboundRejection> {
        self.1.advance(if inbound.event_id.as_str() == "timer:tick:0" { 60_000 } else { 0 });
        self.0.take(inbound)
    }
}

#[test]
fn a_sink_that_is_slow_over_the_end_of_a_minute_costs_no_tick() {
    let (sink, clock) = (Arc::new(Kept::default()), Arc::new(Still::default()));
    let slow = Arc::new(Slow(sink.clone(), clock.clone()));
    let timer = Timer::start(slow, clock.clone(), always()).unwrap();
    clock.await_wait(60_000);
    timer.stop();
    let ids: Vec<String> = sink.await_count(2).iter().map(|one| one.event_id.to_string()).collect();
    assert_eq!(ids, ["timer:tick:0", "timer:tick:1"]);
}
