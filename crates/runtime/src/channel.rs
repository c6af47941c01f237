//! Channels: where messages come in and answers go out.
//!
//! A channel's program writes one JSON object per line, and reads what it is told the same way; the guide
//! has the lines. Timers and webhooks need no program.
//!
//! Must never: acknowledge what is not on disk, or let a channel speak for another.

use agentry_agentfile::manifest::channels::MarkdownFlavor;
use agentry_protocol::inbound::{ChannelAddress, Inbound};
use agentry_protocol::intake::DeliveryError;
use serde::{Deserialize, Serialize};

mod adapter;
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

/// Where what comes in goes; it returns when that is on disk, and may let its caller wait.
pub trait InboundSink: Send + Sync {
    /// Keeps what came in.
    fn take(&self, inbound: Inbound) -> Result<InboundAcceptance, InboundRejection>;
}

/// What came of handing something in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InboundAcceptance {
    /// It is kept.
    New,
    /// It was there already.
    Repeated,
}

/// Why something is not kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct InboundRejection {
    /// In words.
    pub why: String,
}

/// Sends one piece of an answer.
pub trait ChannelSender: Send + Sync {
    /// Sends it, and waits until it is known whether it went out.
    fn send(&self, outgoing: &OutgoingChunk) -> Result<SentChunk, DeliveryError>;
}

/// One piece of an answer on its way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingChunk {
    /// The same for the same piece, however often it is tried.
    pub id: String,
    /// Where it goes.
    pub to: ChannelAddress,
    /// What is said.
    pub content: String,
}

/// A piece that went out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentChunk {
    /// What the channel calls it.
    pub message_id: Option<String>,
}

/// How a channel is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AdapterHealth {
    /// Whether its program runs and does not say that it is cut off.
    pub connected: bool,
    /// When something came in last, in milliseconds since 1970.
    pub last_event_at: Option<u64>,
    /// What went wrong last.
    pub error: Option<String>,
    /// How often its program was started again.
    pub restarts: u64,
    /// When its program is started again, in milliseconds since 1970.
    pub next_try_ms: Option<u64>,
    /// How many of its lines were refused.
    pub refused: u64,
    /// How many of its events the filters kept out.
    pub filtered: u64,
    /// The last lines that its program complained in.
    pub complaints: Vec<String>,
}

/// What a channel can show.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChannelCapabilities {
    /// The longest message, in characters.
    pub text_limit: Option<u64>,
    /// The longest text beside a picture, in characters.
    pub caption_limit: Option<u64>,
    /// Whether it shows Markdown of any kind.
    pub supports_markdown: Option<bool>,
    /// Which.
    pub markdown_flavor: Option<MarkdownFlavor>,
    /// What else it has.
    #[serde(flatten)]
    pub features: ChannelFeatures,
}

/// What a channel has beside text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one word of the protocol")]
pub struct ChannelFeatures {
    /// Cards with a picture and fields.
    pub supports_embeds: bool,
    /// Threads.
    pub supports_threads: bool,
    /// Signs put to a message.
    pub supports_reactions: bool,
    /// Polls.
    pub supports_polls: bool,
    /// Buttons.
    pub supports_buttons: bool,
    /// Voice messages.
    pub supports_ptt: bool,
    /// Changing a message that was sent.
    pub supports_edit: bool,
    /// Taking a message back.
    pub supports_delete: bool,
}

impl ChannelCapabilities {
    /// The longest message, in characters.
    pub fn limit(&self) -> usize {
        self.text_limit
            .map_or(TEXT_LIMIT_CHARS, |limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }

    /// Which Markdown it reads.
    pub fn markdown(&self) -> MarkdownFlavor {
        match (self.markdown_flavor, self.supports_markdown) {
            (Some(markdown), _) => markdown,
            (None, Some(false)) => MarkdownFlavor::None,
            (None, Some(true) | None) => MarkdownFlavor::Standard,
        }
    }
}
