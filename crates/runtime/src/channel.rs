//! Channels: they receive messages and send answers.
//!
//! A channel's adapter is a program that reads and writes one JSON object per line, as the guide
//! describes. Timers and webhooks need no program.
//!
//! Must never: acknowledge an event that is not on disk, or let a channel speak for another.

use agentry_agentfile::manifest::channels::MarkdownFlavor;
use agentry_protocol::inbound::{ChannelAddress, Inbound};
use agentry_protocol::intake::DeliveryError;
use serde::{Deserialize, Serialize};

mod adapter;
mod adapter_context;
mod adapter_log;
mod adapter_protocol;
mod clock;
mod config;
mod filter;
mod line_reader;
mod process;
pub mod timer;
pub mod webhook;

pub use adapter::Adapter;
pub use clock::{Latch, SystemClock, WaitClock};
pub use config::{AdapterConfig, AdapterEnvironment, LinkPolicy, StartError};

use crate::limits::TEXT_LIMIT_CHARS;

/// Receives inbound events. Returns once the event is on disk, and may block its caller.
pub trait InboundSink: Send + Sync {
    /// Records an inbound event.
    fn take(&self, inbound: Inbound) -> Result<InboundAcceptance, InboundRejection>;
}

/// The result of offering an inbound event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboundAcceptance {
    /// The event is new and recorded.
    New,
    /// The event was recorded before.
    Repeated,
}

/// The reason why an inbound event is not recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct InboundRejection {
    /// The reason in words, for the channel.
    pub why: String,
}

/// Sends one chunk of an answer.
pub trait ChannelSender: Send + Sync {
    /// Sends a chunk, and blocks until the channel confirms it or the wait times out.
    fn send(&self, outgoing: &OutgoingChunk) -> Result<SentChunk, DeliveryError>;
}

/// One chunk of an answer to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingChunk {
    /// The id of the chunk; it stays equal over all retries.
    pub id: String,
    /// The address to send it to.
    pub to: ChannelAddress,
    /// The text of the chunk.
    pub content: String,
}

/// A chunk that the channel sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentChunk {
    /// The channel's own id of the message; None if it gave none.
    pub message_id: Option<String>,
}

/// The health of a channel's adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AdapterHealth {
    /// True if the adapter runs and has not reported that its connection is lost.
    pub connected: bool,
    /// The time of its last event, in milliseconds since 1970.
    pub last_event_at: Option<u64>,
    /// The last error; None if the connection is fine.
    pub error: Option<String>,
    /// The number of restarts of the adapter.
    pub restarts: u64,
    /// The time of its next restart, in milliseconds since 1970; None while it runs.
    pub next_try_ms: Option<u64>,
    /// The number of its lines that were refused.
    pub refused: u64,
    /// The number of its events that the filters dropped.
    pub filtered: u64,
    /// The last lines of its standard error and its log lines, without secrets.
    pub complaints: Vec<String>,
}

/// The capabilities of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChannelCapabilities {
    /// The longest message, in characters.
    pub text_limit: Option<u64>,
    /// The longest text beside a picture, in characters.
    pub caption_limit: Option<u64>,
    /// True if it displays Markdown of any flavor.
    pub supports_markdown: Option<bool>,
    /// The flavor of Markdown that it displays.
    pub markdown_flavor: Option<MarkdownFlavor>,
    /// Further features.
    #[serde(flatten)]
    pub features: ChannelFeatures,
}

/// The features of a channel beside text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one word of the protocol")]
pub struct ChannelFeatures {
    /// Cards with a picture and fields.
    pub supports_embeds: bool,
    /// Threads.
    pub supports_threads: bool,
    /// Reactions to a message.
    pub supports_reactions: bool,
    /// Polls.
    pub supports_polls: bool,
    /// Buttons.
    pub supports_buttons: bool,
    /// Voice messages.
    pub supports_ptt: bool,
    /// Editing of a message that was sent.
    pub supports_edit: bool,
    /// Deletion of a message that was sent.
    pub supports_delete: bool,
}

impl ChannelCapabilities {
    /// Returns the longest message, in characters; a default if the channel declares none.
    pub fn limit(&self) -> usize {
        self.text_limit
            .map_or(TEXT_LIMIT_CHARS, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }

    /// Returns the flavor of Markdown that the channel displays.
    pub fn markdown(&self) -> MarkdownFlavor {
        match (self.markdown_flavor, self.supports_markdown) {
            (Some(markdown), _) => markdown,
            (None, Some(false)) => MarkdownFlavor::None,
            (None, Some(true) | None) => MarkdownFlavor::Standard,
        }
    }
}
