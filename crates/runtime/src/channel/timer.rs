//! The clock as a channel: one event each minute, for all hooks together.
//!
//! The event's id is the minute, so that two processes, or one that was started again, make one event. While
//! nobody would look at it, no event is made: the record is not for what concerns nobody.
//!
//! Must never: make up for minutes that have passed.

use std::sync::Arc;
use std::{io, thread};

use agentry_protocol::inbound::{ChannelAddress, Inbound, Sender};

use super::clock::{Latch, WaitClock};
use super::{InboundAcceptance, InboundSink};
use crate::limits::TIMER_TICK_MS;

/// The channel's name.
pub const CHANNEL: &str = "timer";
/// The kind of its events.
pub const EVENT_TYPE: &str = "timer_tick";

/// The event of the minute that a time lies in.
pub fn tick(now_ms: u64) -> Inbound {
    let minute = now_ms / TIMER_TICK_MS;
    let place = ChannelAddress {
        channel: CHANNEL.to_owned(),
        account_id: None,
        peer_id: None,
        peer_kind: None,
        guild: None,
        thread_id: None,
        reply_to_id: None,
    };
    let sender = Sender { sender_id: CHANNEL.to_owned(), sender_name: None };
    let mut inbound =
        Inbound::new(&format!("tick:{minute}"), minute * TIMER_TICK_MS, place, sender)
            .expect("a number has a short form without odd signs");
    inbound.event_type = Some(EVENT_TYPE.to_owned());
    inbound
}

/// Whether anybody would look at a tick.
pub type TickPredicate = Arc<dyn Fn() -> bool + Send + Sync>;

/// The thread that hands a tick in each minute.
pub struct Timer {
    stop: Arc<Latch>,
}

impl Timer {
    /// Hands in the tick of this minute, and then one at the beginning of each that is wanted.
    pub fn start(
        sink: Arc<dyn InboundSink>,
        clock: Arc<dyn WaitClock>,
        wanted: TickPredicate,
    ) -> io::Result<Self> {
        let stop: Arc<Latch> = Arc::default();
        let bell = Arc::clone(&stop);
        let thread = thread::Builder::new().name("channel timer".to_owned());
        thread.spawn(move || run(&*sink, &*clock, (&*wanted, &bell)))?;
        Ok(Self { stop })
    }

    /// Lets no further tick come.
    pub fn stop(&self) {
        self.stop.set();
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(
    sink: &dyn InboundSink,
    clock: &dyn WaitClock,
    (wanted, stop): (&dyn Fn() -> bool, &Arc<Latch>),
) {
    while !stop.is_set() {
        let now_ms = clock.now_ms();
        if wanted() {
            match sink.take(tick(now_ms)) {
                // A tick that was not kept is not handed in again: the next minute has one of its own.
                Ok(InboundAcceptance::New | InboundAcceptance::Repeated) | Err(_) => {}
            }
        }
        // The sink may have let us wait into the next minute, which must not go without a tick.
        let next_ms = (now_ms / TIMER_TICK_MS + 1) * TIMER_TICK_MS;
        if clock.wait(next_ms.saturating_sub(clock.now_ms()), stop) {
            return;
        }
    }
}
