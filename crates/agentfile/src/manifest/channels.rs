//! `[channels.<name>]`, `[queue]` and `[webhooks.<source>]` of `agentry.toml`: how others reach agents.
//!
//! Must never: hold a secret. Secrets are given by their names.

use agentry_protocol::access::Delivery;
use agentry_protocol::inbound::PeerKind;
use agentry_protocol::intake::{OverflowPolicy, QueuePreferences};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::CommandWords;

/// `[channels.<name>]`; only in your own settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ChannelToml {
    /// The program that speaks for the channel: one word, or the program and its arguments. No shell.
    pub command: Option<CommandWords>,
    /// Which account of ours it is.
    #[schemars(length(min = 1, max = 256))]
    pub account_id: Option<String>,
    /// Names of variables of your environment that the program may see.
    #[schemars(inner(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$")))]
    pub env: Vec<String>,
    /// Names of secrets that the program finds in its environment.
    #[schemars(inner(length(min = 1)))]
    pub credentials: Vec<String>,
    /// The agent that answers here.
    #[schemars(length(min = 1))]
    pub agent: Option<String>,
    /// The longest message that the channel takes, in characters.
    #[schemars(range(min = 40, max = 1_000_000))]
    pub text_limit: Option<u64>,
    /// Which Markdown it understands.
    pub markdown: Option<MarkdownFlavor>,
    /// What is let in. An `exclude` that fits keeps it out; if there are `include`s, one must fit.
    pub filters: Vec<ChannelFilter>,
    /// How messages wait.
    pub queue: Option<QueuePreferences>,
    /// What the other side is when the program does not say.
    pub peer_kind: Option<PeerKind>,
    /// What is done with addresses in answers whose host is not listed.
    pub links: Option<LinkTreatment>,
    /// Hosts that answers may link to: names, or `*.x` for everything below `x`.
    #[schemars(inner(regex(pattern = r"^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$")))]
    pub link_hosts: Vec<String>,
}

/// What is done with addresses in answers whose host is not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkTreatment {
    /// They are written so that no client follows them.
    #[default]
    Neutralize,
    /// They are left out.
    Remove,
    /// They stay.
    Allow,
}

/// How a channel shows text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkdownFlavor {
    /// As it is written.
    #[default]
    Standard,
    /// Without tables, which become code.
    Discord,
    /// The HTML of Telegram.
    TelegramHtml,
    /// The mrkdwn of Slack.
    SlackMrkdwn,
    /// Not at all: the signs are taken out.
    None,
}

/// One of `filters`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelFilter {
    /// Whether it lets in or keeps out.
    #[serde(rename = "type")]
    pub kind: FilterKind,
    /// What is looked at.
    pub field: FilterField,
    /// What it must be, with `*` for any text and `?` for any one sign.
    #[schemars(length(min = 1, max = 1_000))]
    pub pattern: String,
}

/// Whether a filter lets in or keeps out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FilterKind {
    /// It lets in.
    Include,
    /// It keeps out.
    Exclude,
}

/// What a filter looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FilterField {
    /// The text.
    Content,
    /// What the content is.
    ContentType,
    /// The sender.
    SenderId,
    /// What the sender is called.
    SenderName,
    /// The other side.
    PeerId,
    /// What the other side is.
    PeerKind,
    /// The account of ours.
    AccountId,
    /// The server or workspace.
    Guild,
    /// The thread.
    ThreadId,
    /// What kind of event it is.
    EventType,
}

/// `[queue]`: how messages wait and how many turns run at once; only in your own settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QueueToml {
    /// How messages reach a busy session.
    pub mode: Option<Delivery>,
    /// How long it must be quiet before messages are collected.
    pub debounce_ms: Option<u64>,
    /// How many messages of one sender may wait.
    #[schemars(range(min = 1))]
    pub cap: Option<u64>,
    /// What is done with one too many.
    pub drop: Option<OverflowPolicy>,
    /// How many turns run at once.
    #[schemars(range(min = 1))]
    pub turns: Option<u64>,
    /// How many of them one principal may have.
    #[schemars(range(min = 1))]
    pub turns_per_principal: Option<u64>,
    /// How many turns wait to start.
    #[schemars(range(min = 1))]
    pub waiting: Option<u64>,
}

impl QueueToml {
    /// What the installation says about how messages wait.
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
    /// The name of the secret that its calls are signed with; without it they need a key of the owner.
    #[schemars(length(min = 1))]
    pub secret: Option<String>,
}
