//! What lies in a mailbox, and what a mailbox wants done with it.
//!
//! Must never: say what an authority holds; here it is only the same or another one.

use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::{QueueSettings, SenderKind, UnrunReason};
use agentry_protocol::{ContentHash, TurnId};
use serde::{Deserialize, Serialize};

/// Where an item came from, and where its answer goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ReplyAddress {
    /// The channel.
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

/// Who speaks as far as a mailbox cares: with which authority, and where.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MailboxSender {
    /// The hash of the authority.
    pub authority: ContentHash,
    /// Where.
    pub place: ReplyAddress,
}

/// One thing that somebody said to a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailboxItem {
    /// The event it came with.
    pub id: EventId,
    /// Who says it.
    pub sender: MailboxSender,
    /// What kind of sender.
    pub source: SenderKind,
    /// What is said, without a directive.
    pub text: String,
    /// How it wants to be delivered.
    pub settings: QueueSettings,
    /// When its channel took it.
    pub received_ms: u64,
}

/// What a mailbox is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailboxInput {
    /// Somebody said something.
    Arrived(MailboxItem),
    /// A turn of the session began, whoever asked for it.
    TurnStarted {
        /// The turn.
        turn: TurnId,
        /// For whom.
        sender: MailboxSender,
    },
    /// The turn that was to start could not begin.
    StartFailed,
    /// The turn was told the item.
    SteerTaken(EventId),
    /// The turn could not be told the item.
    SteerFailed(EventId),
    /// The turn is over, however it ended.
    TurnEnded(TurnId),
    /// The session is being compacted, inside of a turn or by itself.
    CompactionStarted,
    /// The compaction is over.
    CompactionEnded,
    /// Somebody who may do so stops what is under way and what waits.
    Aborted(AuthorityFilter),
    /// It is later now.
    Ticked,
}

/// Whose items and turns are meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthorityFilter {
    /// All of the session.
    Everyone,
    /// Those of one authority.
    Of(ContentHash),
}

impl AuthorityFilter {
    /// Whether this authority is meant.
    pub fn means(&self, authority: &ContentHash) -> bool {
        match self {
            Self::Everyone => true,
            Self::Of(one) => one == authority,
        }
    }
}

/// What a mailbox wants done, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailboxAction {
    /// Start a turn for these items, all of one sender; the last one's settings hold for it.
    Start {
        /// The items.
        items: Vec<MailboxItem>,
        /// What the turn is asked.
        prompt: String,
        /// Why now.
        why: MailboxStartReason,
    },
    /// Tell the running turn, and say whether it was taken.
    Steer {
        /// The item.
        item: MailboxItem,
    },
    /// Stop what is under way.
    Cancel {
        /// Why.
        why: MailboxStopReason,
    },
    /// The item was not taken; its channel may bring it again later.
    Rejected {
        /// The item.
        item: MailboxItem,
        /// Why.
        why: UnrunReason,
    },
    /// The item was taken and will not be run.
    Dropped {
        /// The item.
        item: MailboxItem,
        /// Why.
        why: UnrunReason,
    },
    /// An item with this id came before; nothing is done.
    Repeated {
        /// The id.
        id: EventId,
    },
    /// Tick at this time, in milliseconds; a later one takes the place of an earlier one.
    WakeAt(u64),
}

/// Why a turn starts now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailboxStartReason {
    /// The session was idle.
    Idle,
    /// It was the item's turn.
    FollowUp,
    /// It was the group's turn.
    Collected,
    /// The turn before was stopped for it.
    Interrupt,
}

/// Why what is under way is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MailboxStopReason {
    /// A newer item takes its place.
    Interrupt,
    /// Somebody asked.
    Abort,
}
