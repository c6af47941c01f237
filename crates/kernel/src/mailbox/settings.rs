//! How an item reaches a busy session, and who may say so.
//!
//! The message itself is asked first, then its session, its channel, the installation, and last the
//! kind of sender. Each may say a part and leave the rest to the next.
//!
//! Must never: widen what a sender may do; a delivery is only about when.

use serde::{Deserialize, Serialize};

use crate::limits::{MAILBOX_CAP, MAILBOX_CAP_MAX, MAILBOX_DEBOUNCE_MS, MAILBOX_DEBOUNCE_MS_MAX};

/// How an item reaches a busy session; an idle one takes every item at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// It is told to the turn that runs, or has a turn of its own where that cannot be.
    Steer,
    /// It has a turn of its own after those before it.
    #[serde(rename = "followup", alias = "follow_up")]
    FollowUp,
    /// It shares one turn with others of the same sender when it has been quiet for a while.
    Collect,
    /// The sender's turn is stopped, its waiting items are dropped, and this one is run.
    Interrupt,
}

impl Delivery {
    /// Reads any accepted spelling.
    pub fn parse(text: &str) -> Option<Self> {
        let word = text.trim().to_ascii_lowercase().replace('_', "-");
        match word.as_str() {
            // With a backlog, an item that cannot be told to the turn waits; that is what we always do.
            "steer" | "steering" | "queue" | "queued" | "steer-backlog" | "steer+backlog" => {
                Some(Self::Steer)
            }
            "followup" | "follow-up" | "followups" | "follow-ups" => Some(Self::FollowUp),
            "collect" | "coalesce" => Some(Self::Collect),
            "interrupt" | "interrupts" | "abort" => Some(Self::Interrupt),
            _ => None,
        }
    }

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steer => "steer",
            Self::FollowUp => "followup",
            Self::Collect => "collect",
            Self::Interrupt => "interrupt",
        }
    }
}

/// What is done with an item too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// The oldest of the sender is dropped.
    Old,
    /// The new one is turned away.
    New,
    /// The oldest of the sender is dropped, and the next prompt says so with a line for each.
    Summarize,
}

impl Overflow {
    /// Reads any accepted spelling.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "old" | "oldest" => Some(Self::Old),
            "new" | "newest" => Some(Self::New),
            "summarize" | "summary" => Some(Self::Summarize),
            _ => None,
        }
    }
}

/// What kind of sender an item is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A person.
    Person,
    /// A program that calls in.
    Program,
    /// Another agent.
    Agent,
    /// A clock.
    Timer,
    /// A look whether anything is to be done; a busy session does not need it.
    Heartbeat,
}

impl Source {
    /// The delivery that holds when nobody says anything.
    pub fn delivery(self) -> Delivery {
        match self {
            Self::Person => Delivery::Interrupt,
            Self::Program => Delivery::Collect,
            Self::Agent | Self::Timer | Self::Heartbeat => Delivery::FollowUp,
        }
    }
}

/// What holds for one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// How it reaches a busy session.
    pub mode: Delivery,
    /// How long it must be quiet before items are collected.
    pub debounce_ms: u64,
    /// How many items of one sender may wait.
    pub cap: usize,
    /// What is done with one too many.
    pub drop: Overflow,
}

/// What one level says; it may leave anything open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// How items reach a busy session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Delivery>,
    /// How long it must be quiet before items are collected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debounce_ms: Option<u64>,
    /// How many items of one sender may wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<usize>,
    /// What is done with one too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drop: Option<Overflow>,
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
        mode: first(&order, |wish| wish.mode).unwrap_or_else(|| source.delivery()),
        debounce_ms: debounce.min(MAILBOX_DEBOUNCE_MS_MAX),
        cap: cap.clamp(1, MAILBOX_CAP_MAX),
        drop: first(&order, |wish| wish.drop).unwrap_or(Overflow::Summarize),
    }
}
