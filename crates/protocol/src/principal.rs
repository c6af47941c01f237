//! Who speaks: the owner, somebody who is known, a stranger, a clock, a program, an agent.
//!
//! Must never: say what somebody may do. That is access.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of speaker it is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    /// Whose machine it is.
    Owner,
    /// Somebody among the entities.
    Known,
    /// A stranger.
    Unknown,
    /// A timer or something else of the runtime.
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

    /// The kind as it is written.
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

/// Who speaks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Principal {
    /// What kind of speaker it is.
    pub kind: PrincipalKind,
    /// The entity, when it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_id: Option<String>,
    /// What the owner calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is to the owner: `partner`, `family`, `friend`, `work`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relationship: Option<String>,
    /// The owner's words for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The program, for a webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The agent, for an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

impl Principal {
    /// A speaker of whom only the kind is known.
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
