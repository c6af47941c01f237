//! Resolves the delivery settings of an item.
//!
//! The levels in order of precedence: the message itself, its session, its channel, the
//! installation, and the default of the sender's kind. Each may set some values and leave others.
//!
//! Must never: extend the sender's permissions; a delivery only decides about time.

use agentry_protocol::access::Delivery;
use agentry_protocol::intake::{OverflowPolicy, QueuePreferences, QueueSettings, SenderKind};

use crate::limits::{MAILBOX_CAP, MAILBOX_CAP_MAX, MAILBOX_DEBOUNCE_MS, MAILBOX_DEBOUNCE_MS_MAX};

/// Returns the default delivery, which never stops or drops another message.
pub fn usual_delivery(source: SenderKind) -> Delivery {
    match source {
        SenderKind::Person => Delivery::Steer,
        SenderKind::Program | SenderKind::Agent | SenderKind::Timer | SenderKind::Heartbeat => {
            Delivery::Followup
        }
    }
}

/// The preferences of each level, in descending precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryLevels {
    /// The message itself.
    pub inline: QueuePreferences,
    /// Its session.
    pub session: QueuePreferences,
    /// Its channel.
    pub channel: QueuePreferences,
    /// The installation.
    pub global: QueuePreferences,
}

/// Returns the effective settings for an item of this source.
pub fn settings(source: SenderKind, levels: &DeliveryLevels) -> QueueSettings {
    let order = [&levels.inline, &levels.session, &levels.channel, &levels.global];
    fn first<T>(
        order: &[&QueuePreferences],
        part: impl Fn(&QueuePreferences) -> Option<T>,
    ) -> Option<T> {
        order.iter().find_map(|wish| part(wish))
    }
    let debounce = first(&order, |wish| wish.debounce_ms).unwrap_or(MAILBOX_DEBOUNCE_MS);
    let cap = first(&order, |wish| wish.cap).unwrap_or(MAILBOX_CAP);
    QueueSettings {
        mode: first(&order, |wish| wish.mode).unwrap_or_else(|| usual_delivery(source)),
        debounce_ms: debounce.min(MAILBOX_DEBOUNCE_MS_MAX),
        cap: cap.clamp(1, MAILBOX_CAP_MAX),
        drop: first(&order, |wish| wish.drop).unwrap_or(OverflowPolicy::Summarize),
    }
}
