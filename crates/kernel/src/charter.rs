//! All that a turn is given before it begins: who the agent is, what it may do, what the model is told.
//!
//! Recorded with the turn. A turn that is taken up again after days has the charter it began with, however
//! the files look by then; `replay` compares it with today's.
//!
//! Must never: change while a turn is under way, but for what tool-access.json says.

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

/// What a turn is given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Charter {
    /// Who acts.
    pub agent: AgentId,
    /// The hash of the agent's files.
    pub agent_hash: ContentHash,
    /// The model.
    pub model: Arc<str>,
    /// How freely it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The longest answer, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The system prompt.
    pub system: Arc<str>,
    /// The tools that the model is offered.
    pub tools: Arc<[ToolSpec]>,
    /// What decides about a call.
    pub authority: Authority,
    /// The mode to begin with.
    pub mode: Mode,
    /// How much the turn may do.
    pub limits: RunLimits,
    /// The command that checks whether the work is done; none means that the model is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The hooks of the inside of a turn: before and after a call, and before the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookSpec>,
}

impl Charter {
    /// The same for a turn that sums up others: one question, and nothing to call.
    #[must_use]
    pub fn for_compaction(self) -> Self {
        // A text that is summed up may talk the model into a call that the agent itself could make.
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

    /// The mode that a turn begins with: with questions unless its sender may have everything done.
    pub fn first_mode(&self) -> Mode {
        match self.authority.may_be_autonomous() {
            true => self.mode,
            false => Mode::Supervised,
        }
    }

    /// What the processes of its calls may do.
    pub fn confinement(&self) -> &Confinement {
        &self.authority.confinement
    }
}
