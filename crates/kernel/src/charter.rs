//! The input of a turn, fixed before it begins: the agent, its authority, its prompt and limits.
//!
//! Recorded with the turn. A turn that resumes after days keeps the charter it began with, even if
//! the files have changed; `replay` compares it with today's.
//!
//! Must never: change while a turn is running, except for the tool-access settings.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentry_protocol::confinement::Confinement;
use agentry_protocol::event::{Mode, RunLimits};
use agentry_protocol::hook::HookSpec;
use agentry_protocol::tool_call::ToolSpec;
use agentry_protocol::{AgentId, ContentHash};
use serde::{Deserialize, Serialize};

use crate::authority::{Authority, AuthorityCache};
use crate::compaction;

/// The fixed input of a turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Charter {
    /// The agent that acts.
    pub agent: AgentId,
    /// The hash of the agent's files.
    pub agent_hash: ContentHash,
    /// The name of the model.
    pub model: Arc<str>,
    /// The sampling temperature; None leaves it to the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The longest answer, in tokens; None leaves it to the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The system prompt, as sent.
    pub system: Arc<str>,
    /// The tools offered to the model.
    pub tools: Arc<[ToolSpec]>,
    /// The authority that judges the calls.
    pub authority: Authority,
    /// The mode in which the turn begins, unless the sender's bounds forbid it.
    pub mode: Mode,
    /// The limits on the work of the turn.
    pub limits: RunLimits,
    /// The command that checks whether the work is done; None means that the model is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The hooks that run within the turn: before and after a call, and before the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookSpec>,
}

impl Charter {
    /// Returns the charter of a turn that summarizes others: one request, and no tools.
    #[must_use]
    pub fn for_compaction(self) -> Self {
        // A summarized text may talk the model into a call that the agent itself could make.
        let authority = Authority {
            tools: Vec::new(),
            off: Vec::new(),
            agent_rules: Vec::new(),
            skills: BTreeMap::new(),
            prepared: AuthorityCache::default(),
            ..self.authority
        };
        Self {
            authority,
            system: compaction::SYSTEM.into(),
            tools: Arc::from([]),
            mode: Mode::Supervised,
            limits: RunLimits { steps_max: 1, calls_max: 1, iterations_max: 1, tokens_max: None },
            check: None,
            hooks: Vec::new(),
            ..self
        }
    }

    /// Returns the initial mode: supervised unless the sender may use all tools and data.
    pub fn first_mode(&self) -> Mode {
        if self.authority.may_be_autonomous() { self.mode } else { Mode::Supervised }
    }

    /// Returns the confinement of the processes that its calls start.
    pub fn confinement(&self) -> &Confinement {
        &self.authority.confinement
    }
}
