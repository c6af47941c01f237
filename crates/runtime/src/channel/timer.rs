//! The clock as a channel: one event per minute, for all hooks together.
//!
//! The event's id is the minute, so that two processes, or a restarted one, make one event. As long
//! as no hook needs a tick, no event is made, so that the ledger stays free of ticks.
//!
//! Must never: make up for minutes that have passed.

use std::sync::Arc;
use std::{io, thread};

use agentry_protocol::inbound::{ChannelAddress, Inbound, Sender};

use super::clock::{Latch, WaitClock};
use super::{InboundAcceptance, InboundSink};
use crate::limits::TIMER_TICK_MS;

/// The name of the channel.
pub const CHANNEL: &str = "timer";
/// The type of its events.
pub const EVENT_TYPE: &str = "timer_tick";

/// Returns the tick event of the minute that contains `now_ms`.
pub fn tick(now_ms: u64) -> Inbound {
    let minute = now_ms / TIMER_TICK_MS;
    let place = ChannelAddress::of_channel(CHANNEL);
    let sender = Sender { sender_id: CHANNEL.to_owned(), sender_name: None };
    let mut inbound =
        Inbound::new(&format!("tick:{minute}"), minute * TIMER_TICK_MS, place, sender)
            .expect("a number has a short form without odd signs");
    inbound.event_type = Some(EVENT_TYPE.to_owned());
    inbound
}

/// Returns true if any hook needs a tick.
pub type TickPredicate = Arc<dyn Fn() -> bool + Send + Sync>;

/// The thread that submits one tick per minute.
pub struct Timer {
    stop: Arc<Latch>,
}

impl Timer {
    /// Submits the tick of this minute, and then one at the start of each minute that needs one.
    pub fn start(
        sink: Arc<dyn InboundSink>,
        clock: Arc<dyn WaitClock>,
        wanted: TickPredicate,
    ) -> io::Result<Self> {
        let stop: Arc<Latch> = Arc::default();
        let bell = Arc::clone(&stop);
        let thread = thread::Builder::new().name("channel timer".to_owned());
        thread.spawn(move || run(&*sink, &*clock, &*wanted, &bell))?;
        Ok(Self { stop })
    }

    /// Stops all further ticks.
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
    wanted: &dyn Fn() -> bool,
    stop: &Arc<Latch>,
) {
    while !stop.is_set() {
        let now_ms = clock.now_ms();
        if wanted() {
            match sink.take(tick(now_ms)) {
                // A tick that the sink rejected is not repeated: the next minute has its own.
                Ok(InboundAcceptance::New | InboundAcceptance::Repeated) | Err(_) => {}
            }
        }
        // The sink may have blocked into the next minute, which still needs its tick.
        let next_ms = (now_ms / TIMER_TICK_MS + 1) * TIMER_TICK_MS;
        if clock.wait(next_ms.saturating_sub(clock.now_ms()), stop) {
            return;
        }
    }
}
