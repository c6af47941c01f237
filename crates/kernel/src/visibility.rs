//! Visibility: the owner sees everything, others see the sessions in which they alone spoke.
//!
//! A resource that a viewer may not see is reported as not found, exactly like a missing one.
//!
//! Must never: let a viewer see a resource because a fact about it is unknown.

use agentry_protocol::inbound::Inbound;

use crate::identity::{HTTP, key_holder};

/// The person or program that wants to see a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewer<'a> {
    /// The owner.
    Owner,
    /// An entity, by its id.
    Entity(&'a str),
    /// A viewer who is neither.
    Unknown,
}

/// The numbers of messages in a session, as its viewer sees them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionVoices {
    /// The messages of the viewer.
    pub own: u64,
    /// The messages of others.
    pub others: u64,
}

/// Returns true if the viewer sees the session: the owner, or the only one who spoke in it.
pub fn can_see_session(viewer: Viewer<'_>, voices: SessionVoices) -> bool {
    match viewer {
        Viewer::Owner => true,
        Viewer::Entity(_) => voices.own > 0 && voices.others == 0,
        Viewer::Unknown => false,
    }
}

/// Returns true if the viewer sees the message: the owner, or the holder of the key that sent it.
pub fn can_see_message(viewer: Viewer<'_>, message: &Inbound) -> bool {
    match viewer {
        Viewer::Owner => true,
        Viewer::Entity(entity) => {
            message.place.channel == HTTP && message.sender.sender_id == key_holder(Some(entity))
        }
        Viewer::Unknown => false,
    }
}

#[cfg(test)]
mod tests {
    use agentry_protocol::inbound::{ChannelAddress, Sender};

    use super::*;

    #[test]
    fn a_session_is_seen_by_the_owner_and_by_the_only_one_who_spoke() {
        let cases = [(0, 0, false), (1, 0, true), (3, 0, true), (0, 1, false), (2, 1, false)];
        for (own, others, alone) in cases {
            let voices = SessionVoices { own, others };
            assert!(can_see_session(Viewer::Owner, voices), "{voices:?}");
            assert_eq!(can_see_session(Viewer::Entity("ann"), voices), alone, "{voices:?}");
            assert!(!can_see_session(Viewer::Unknown, voices), "{voices:?}");
        }
    }

    #[test]
    fn a_message_is_seen_by_the_owner_and_by_the_key_that_sent_it() {
        let message = |channel: &str, sender: &str| {
            let sender = Sender { sender_id: sender.to_owned(), sender_name: None };
            let place = ChannelAddress::of_peer(channel, "p");
            Inbound::new("e1", 0, place, sender).unwrap().with_text("hi")
        };
        let sees = |viewer, channel, sender| can_see_message(viewer, &message(channel, sender));
        assert!(sees(Viewer::Owner, "telegram", "x"));
        assert!(sees(Viewer::Entity("ann"), "http", "entity:ann"));
        assert!(!sees(Viewer::Entity("ann"), "http", "entity:bob"));
        assert!(!sees(Viewer::Entity("ann"), "http", "owner"));
        assert!(!sees(Viewer::Entity("ann"), "telegram", "entity:ann"));
        assert!(!sees(Viewer::Unknown, "http", "entity:ann"));
    }
}
