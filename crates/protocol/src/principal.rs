//! Principals: the owner, entities, unknown senders, timers, programs and agents.
//!
//! Must never: say what a principal may do. That is access.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of principal.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    /// The owner of this installation.
    Owner,
    /// A known entity.
    Known,
    /// An unknown sender.
    Unknown,
    /// A timer or another part of the runtime.
    System,
    /// A program that called from outside.
    Webhook,
    /// Another agent.
    Agent,
}

impl PrincipalKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Owner, Self::Known, Self::Unknown, Self::System, Self::Webhook, Self::Agent];

    /// Returns the word for files and wires.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Known => "known",
            Self::Unknown => "unknown",
            Self::System => "system",
            Self::Webhook => "webhook",
            Self::Agent => "agent",
        }
    }
}

impl fmt::Display for PrincipalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A principal: the sender of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Principal {
    /// The kind of principal.
    pub kind: PrincipalKind,
    /// The id of the entity, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// The name that the owner gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The relationship to the owner: `partner`, `family`, `friend`, `work`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relationship: Option<String>,
    /// The tags that the owner gave it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The name of the program, for a webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The id of the agent, for an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

impl Principal {
    /// Creates a principal of this kind without further knowledge about it.
    pub fn of(kind: PrincipalKind) -> Self {
        Self {
            kind,
            entity_id: None,
            name: None,
            relationship: None,
            tags: Vec::new(),
            source: None,
            agent_id: None,
        }
    }
}
