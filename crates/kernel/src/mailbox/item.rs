//! The items, inputs and actions of a mailbox.
//!
//! Must never: interpret an authority; here it is only equal or not.

use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::{QueueSettings, SenderKind, UnrunReason};
use agentry_protocol::{ContentHash, TurnId};
use serde::{Deserialize, Serialize};

/// The origin of an item, which is also the address for its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReplyAddress {
    /// The name of the channel.
    pub channel: String,
    /// The account of ours on that channel.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub account: String,
    /// The person or group at the other end.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub peer: String,
    /// The channel's own thread or topic.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread: String,
}

/// The sender as the mailbox distinguishes it: by authority and place.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MailboxSender {
    /// The hash of the authority.
    pub authority: ContentHash,
    /// The place, for the answer.
    pub place: ReplyAddress,
}

/// One message to a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailboxItem {
    /// The ID of its event.
    pub id: EventId,
    /// The sender of the message.
    pub sender: MailboxSender,
    /// The kind of the sender.
    pub source: SenderKind,
    /// The text, without a directive.
    pub text: String,
    /// The delivery settings.
    pub settings: QueueSettings,
    /// The time when its channel received it, in milliseconds.
    pub received_ms: u64,
}

/// An input to a mailbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailboxInput {
    /// A message arrived.
    Arrived(MailboxItem),
    /// A turn of the session began, even one not ordered by the mailbox.
    TurnStarted {
        /// The ID of the turn.
        turn: TurnId,
        /// The sender of the turn.
        sender: MailboxSender,
    },
    /// The ordered turn could not begin.
    StartFailed,
    /// The turn accepted the item.
    SteerTaken(EventId),
    /// The turn could not accept the item.
    SteerFailed(EventId),
    /// The turn ended, in any way.
    TurnEnded(TurnId),
    /// A compaction began, inside a turn or by itself.
    CompactionStarted,
    /// The compaction ended.
    CompactionEnded,
    /// An authorized stop of running turns and waiting items.
    Aborted(AuthorityFilter),
    /// Time has passed.
    Ticked,
}

/// The authorities whose items and turns are concerned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorityFilter {
    /// All authorities of the session.
    Everyone,
    /// One authority.
    Of(ContentHash),
}

impl AuthorityFilter {
    /// Returns true if the filter includes this authority.
    pub fn means(&self, authority: &ContentHash) -> bool {
        match self {
            Self::Everyone => true,
            Self::Of(one) => one == authority,
        }
    }
}

/// An action for the owner of a mailbox to perform, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailboxAction {
    /// Start a turn for these items, all of one sender; the last one's settings apply.
    Start {
        /// The items, oldest first.
        items: Vec<MailboxItem>,
        /// The prompt of the turn.
        prompt: String,
        /// The reason for starting now.
        why: MailboxStartReason,
    },
    /// Send the item to the running turn, and report whether it was accepted.
    Steer {
        /// The item to send.
        item: MailboxItem,
    },
    /// Stop the running turn or compaction.
    Cancel {
        /// The reason for stopping.
        why: MailboxStopReason,
    },
    /// The item was rejected; its channel may send it again later.
    Rejected {
        /// The rejected item.
        item: MailboxItem,
        /// The reason for the rejection.
        why: UnrunReason,
    },
    /// The item was accepted, but will not run.
    Dropped {
        /// The dropped item.
        item: MailboxItem,
        /// The reason for dropping it.
        why: UnrunReason,
    },
    /// An item with this id arrived before; it is ignored.
    Repeated {
        /// The repeated id.
        id: EventId,
    },
    /// Tick at this time, in milliseconds; a later action replaces an earlier one.
    WakeAt(u64),
}

/// The reason why a turn starts now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailboxStartReason {
    /// The session was idle.
    Idle,
    /// The item was the next in the queue.
    FollowUp,
    /// The group was the next in the queue.
    Collected,
    /// The previous turn was stopped for it.
    Interrupt,
}

/// The reason for stopping a turn or compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailboxStopReason {
    /// A newer item replaces it.
    Interrupt,
    /// A user requested it.
    Abort,
}
