//! How an item reaches a busy session, and who may say so.
//!
//! The message itself is asked first, then its session, its channel, the installation, and last the
//! kind of sender. Each may say a part and leave the rest to the next.
//!
//! Must never: widen what a sender may do; a delivery is only about when.

use agentry_protocol::access::Delivery;
use agentry_protocol::intake::{Overflow, Settings, Source, Wish};

use crate::limits::{MAILBOX_CAP, MAILBOX_CAP_MAX, MAILBOX_DEBOUNCE_MS, MAILBOX_DEBOUNCE_MS_MAX};

/// The delivery that holds when nobody says anything: nothing that anybody said is stopped or dropped.
pub fn usual_delivery(source: Source) -> Delivery {
    match source {
        Source::Person => Delivery::Steer,
        Source::Program | Source::Agent | Source::Timer | Source::Heartbeat => Delivery::Followup,
    }
}

/// What each level says, from the one that wins to the one that is asked last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// The message itself.
    pub inline: Wish,
    /// Its session.
    pub session: Wish,
    /// Its channel.
    pub channel: Wish,
    /// The installation.
    pub global: Wish,
}

/// What holds for an item of this source.
pub fn settings(source: Source, levels: &Levels) -> Settings {
    let order = [&levels.inline, &levels.session, &levels.channel, &levels.global];
    fn first<T>(order: &[&Wish], part: impl Fn(&Wish) -> Option<T>) -> Option<T> {
        order.iter().find_map(|wish| part(wish))
    }
    let debounce = first(&order, |wish| wish.debounce_ms).unwrap_or(MAILBOX_DEBOUNCE_MS);
    let cap = first(&order, |wish| wish.cap).unwrap_or(MAILBOX_CAP);
    Settings {
        mode: first(&order, |wish| wish.mode).unwrap_or_else(|| usual_delivery(source)),
        debounce_ms: debounce.min(MAILBOX_DEBOUNCE_MS_MAX),
        cap: cap.clamp(1, MAILBOX_CAP_MAX),
        drop: first(&order, |wish| wish.drop).unwrap_or(Overflow::Summarize),
    }
}
