//! `[channels.<name>]`, `[queue]` and `[webhooks.<source>]` in `agentry.toml`: routes to agents.
//!
//! Must never: hold a secret. Secrets are referred to by name.

use agentry_protocol::access::Delivery;
use agentry_protocol::inbound::PeerKind;
use agentry_protocol::intake::{OverflowPolicy, QueuePreferences};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::CommandWords;

/// `[channels.<name>]`; only in your own settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelToml {
    /// The program that serves the channel: one word, or the program and its arguments. No shell.
    pub command: Option<CommandWords>,
    /// Your account on the channel.
    #[schemars(length(min = 1, max = 256))]
    pub account_id: Option<String>,
    /// Names of your environment variables that are passed to the program.
    #[schemars(inner(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$")))]
    pub env: Vec<String>,
    /// Names of secrets that are passed to the program as environment variables.
    #[schemars(inner(length(min = 1)))]
    pub credentials: Vec<String>,
    /// The agent that answers on this channel.
    #[schemars(length(min = 1))]
    pub agent: Option<String>,
    /// The longest message that the channel accepts, in characters.
    #[schemars(range(min = 40, max = 1_000_000))]
    pub text_limit: Option<u64>,
    /// The Markdown dialect that the channel understands.
    pub markdown: Option<MarkdownFlavor>,
    /// Filters for events: a matching `exclude` rejects; if there are `include`s, one must match.
    pub filters: Vec<ChannelFilter>,
    /// The queue settings of this channel.
    pub queue: Option<QueuePreferences>,
    /// The kind of peer, if the program does not report it.
    pub peer_kind: Option<PeerKind>,
    /// The treatment of links in answers whose host is not listed.
    pub links: Option<LinkTreatment>,
    /// Hosts that answers may link to: names, or `*.x` for everything below `x`.
    #[schemars(inner(regex(pattern = r"^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$")))]
    pub link_hosts: Vec<String>,
}

/// The treatment of links in answers whose host is not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkTreatment {
    /// Links are rewritten so that no client follows them.
    #[default]
    Neutralize,
    /// Links are removed.
    Remove,
    /// Links stay.
    Allow,
}

/// The format in which a channel shows text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkdownFlavor {
    /// Markdown as written.
    #[default]
    Standard,
    /// Markdown without tables; a table becomes a code block.
    Discord,
    /// The HTML of Telegram.
    TelegramHtml,
    /// The mrkdwn of Slack.
    SlackMrkdwn,
    /// No Markdown: the markup is removed.
    None,
}

/// One of `filters`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelFilter {
    /// The effect of a match: accept or reject.
    #[serde(rename = "type")]
    pub kind: FilterKind,
    /// The field of the event that is compared.
    pub field: FilterField,
    /// The required value, with `*` for any text and `?` for any one character.
    #[schemars(length(min = 1, max = 1_000))]
    pub pattern: String,
}

/// The effect of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FilterKind {
    /// Accept the event.
    Include,
    /// Reject the event.
    Exclude,
}

/// The field of an event that a filter compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FilterField {
    /// The text of the message.
    Content,
    /// The type of the content.
    ContentType,
    /// The sender's id.
    SenderId,
    /// The sender's name.
    SenderName,
    /// The peer's id.
    PeerId,
    /// The kind of the peer.
    PeerKind,
    /// Your account.
    AccountId,
    /// The server or workspace.
    Guild,
    /// The thread.
    ThreadId,
    /// The type of the event.
    EventType,
}

/// `[queue]`: how messages wait and how many turns run at once; only in your own settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueueToml {
    /// The delivery of messages to a busy session.
    pub mode: Option<Delivery>,
    /// The quiet time before messages are collected, in milliseconds.
    pub debounce_ms: Option<u64>,
    /// The largest number of waiting messages of one sender.
    #[schemars(range(min = 1))]
    pub cap: Option<u64>,
    /// The treatment of a message beyond `cap`.
    pub drop: Option<OverflowPolicy>,
    /// The largest number of turns that run at once.
    #[schemars(range(min = 1))]
    pub turns: Option<u64>,
    /// The largest number of turns that run at once for one principal.
    #[schemars(range(min = 1))]
    pub turns_per_principal: Option<u64>,
    /// The largest number of turns that wait to start.
    #[schemars(range(min = 1))]
    pub waiting: Option<u64>,
}

impl QueueToml {
    /// Returns the queue settings of the installation.
    pub fn preferences(&self) -> QueuePreferences {
        QueuePreferences {
            mode: self.mode,
            debounce_ms: self.debounce_ms,
            cap: self.cap.map(|cap| usize::try_from(cap).unwrap_or(usize::MAX)),
            drop: self.drop,
        }
    }
}

/// `[webhooks.<source>]`; only in your own settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Webhook {
    /// The name of the secret that signs its calls; without it, calls need one of your keys.
    #[schemars(length(min = 1))]
    pub secret: Option<String>,
}
