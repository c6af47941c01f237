//! The terms of access: effects, data levels and deliveries.
//!
//! Must never: accept an unknown word as a known one.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The effect of access on an event.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// The event may reach the agent.
    Allow,
    /// The event may not reach the agent.
    Deny,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        })
    }
}

/// The levels of the owner's data that may be disclosed to a sender, the least first.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DisclosureLevel {
    /// No data of the owner.
    #[default]
    None,
    /// The data that an answer needs.
    Minimal,
    /// The data about the subject of the conversation.
    #[serde(alias = "restricted")]
    Contextual,
    /// All data.
    Full,
}

impl DisclosureLevel {
    /// All levels, the least first.
    pub const ALL: [Self; 4] = [Self::None, Self::Minimal, Self::Contextual, Self::Full];

    /// Returns the word for files and wires.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Contextual => "contextual",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for DisclosureLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for DisclosureLevel {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "none" => Ok(Self::None),
            "minimal" => Ok(Self::Minimal),
            "contextual" | "restricted" => Ok(Self::Contextual),
            "full" => Ok(Self::Full),
            _ => {
                Err(UnknownWord { word: word.to_owned(), known: "none, minimal, contextual, full" })
            }
        }
    }
}

/// The way in which a message reaches a busy session.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Into the running turn at the next tool boundary, or else a turn of its own.
    Steer,
    /// After the running turn, one turn for each message.
    Followup,
    /// After the running turn, one turn for all messages.
    Collect,
    /// The running turn is cancelled, and the newest message starts a turn.
    Interrupt,
}

impl Delivery {
    /// All deliveries.
    pub const ALL: [Self; 4] = [Self::Steer, Self::Followup, Self::Collect, Self::Interrupt];

    /// Every accepted spelling, with its delivery.
    pub const SPELLINGS: [(&'static str, Self); 18] = [
        ("steer", Self::Steer),
        ("steering", Self::Steer),
        ("queue", Self::Steer),
        ("queued", Self::Steer),
        ("steer-backlog", Self::Steer),
        ("steer+backlog", Self::Steer),
        ("steer_backlog", Self::Steer),
        ("followup", Self::Followup),
        ("followups", Self::Followup),
        ("follow-up", Self::Followup),
        ("follow-ups", Self::Followup),
        ("follow_up", Self::Followup),
        ("follow_ups", Self::Followup),
        ("collect", Self::Collect),
        ("coalesce", Self::Collect),
        ("interrupt", Self::Interrupt),
        ("interrupts", Self::Interrupt),
        ("abort", Self::Interrupt),
    ];

    /// Returns the word for files and wires.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steer => "steer",
            Self::Followup => "followup",
            Self::Collect => "collect",
            Self::Interrupt => "interrupt",
        }
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Delivery {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let plain = word.trim().to_ascii_lowercase();
        let found = Self::SPELLINGS.iter().find(|(spelling, _)| *spelling == plain);
        found.map(|(_, delivery)| *delivery).ok_or_else(|| UnknownWord {
            word: word.to_owned(),
            known: "steer, followup, collect, interrupt",
        })
    }
}

/// The error for a word outside of a fixed list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    /// The word.
    pub word: String,
    /// The accepted words, separated by commas.
    pub known: &'static str,
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not one of {}", self.word, self.known)
    }
}

impl std::error::Error for UnknownWord {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_and_restricted_is_contextual() {
        assert!(DisclosureLevel::ALL.is_sorted());
        assert_eq!("restricted".parse(), Ok(DisclosureLevel::Contextual));
        assert_eq!(
            serde_json::from_str::<DisclosureLevel>("\"restricted\"").unwrap(),
            DisclosureLevel::Contextual
        );
        assert_eq!(serde_json::to_string(&DisclosureLevel::Contextual).unwrap(), "\"contextual\"");
        assert!("work".parse::<DisclosureLevel>().is_err());
        for level in DisclosureLevel::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
        }
    }

    #[test]
    fn every_spelling_of_a_delivery_is_read() {
        for (spelling, delivery) in Delivery::SPELLINGS {
            assert_eq!(spelling.parse(), Ok(delivery));
        }
        for delivery in Delivery::ALL {
            assert_eq!(delivery.as_str().parse(), Ok(delivery));
            let json = serde_json::to_string(&delivery).unwrap();
            assert_eq!(serde_json::from_str::<Delivery>(&json).unwrap(), delivery);
        }
        assert!("later".parse::<Delivery>().is_err());
    }
}
