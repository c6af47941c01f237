//! The words of access: how much may be told, how a message reaches a busy session, allow or deny.
//!
//! Must never: take a word that it does not know for another.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether an event may reach an agent.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It may.
    Allow,
    /// It may not.
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

/// How much may be told to somebody, the least first.
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
    /// Nothing of the owner's.
    #[default]
    None,
    /// What is needed to answer.
    Minimal,
    /// What the talk is about.
    #[serde(alias = "restricted")]
    Contextual,
    /// Everything.
    Full,
}

impl DisclosureLevel {
    /// All levels, the least first.
    pub const ALL: [Self; 4] = [Self::None, Self::Minimal, Self::Contextual, Self::Full];

    /// The level as it is written.
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

/// How a message reaches a session that is busy.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Into the running turn, at the next tool boundary; or a turn of its own where that cannot be.
    Steer,
    /// After the running turn, one turn for each message.
    Followup,
    /// After the running turn, one turn for all messages.
    Collect,
    /// The running turn ends and the newest message begins.
    Interrupt,
}

impl Delivery {
    /// All ways.
    pub const ALL: [Self; 4] = [Self::Steer, Self::Followup, Self::Collect, Self::Interrupt];

    /// Every spelling that is accepted, with what it means.
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

    /// The way as it is written.
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

/// A word that means nothing here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    /// The word.
    pub word: String,
    /// What could stand there.
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
