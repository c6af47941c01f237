//! `agent.yml`: an agent program's metadata, model, tools and abilities.
//!
//! Must never: hold text for the prompt; that stands in the Markdown files beside it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{SandboxLimits, Security};
use super::hooks::HooksYml;

/// The file `agent.yml`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentYml {
    /// What the agent is called.
    #[schemars(length(min = 1))]
    pub name: String,
    /// What it is for, in one sentence.
    pub description: Option<String>,
    /// Which models it wants.
    pub model: Option<ModelYml>,
    /// Which tools it wants.
    pub tools: Option<AgentToolsYml>,
    /// The voices it may wear.
    pub personas: Option<PersonasYml>,
    /// Which of its hooks run.
    pub hooks: Option<HooksYml>,
    /// What it may do beyond calling tools.
    pub capabilities: Option<CapabilitiesYml>,
    /// What it asks to read, write and reach; never more than the operator allows.
    pub security: Option<Security>,
    /// What it asks to spend; never more than the operator allows.
    pub limits: Option<SandboxLimits>,
    /// Anything else, for people and other programs.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

/// `model`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelYml {
    /// The model to use when none of `prefer` can be had.
    pub default: Option<String>,
    /// Models in order of preference, by their full names.
    #[serde(default)]
    pub prefer: Vec<String>,
}

/// `tools`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentToolsYml {
    /// Tools of the host that the agent wants. What it gets is the intersection with what the host
    /// offers. A trailing `*` stands for any ending.
    #[serde(default)]
    pub allow: Vec<String>,
    /// The agent's own tools, from its `tools/` directory.
    #[serde(default)]
    pub custom: Vec<String>,
}

/// `personas`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonasYml {
    /// The persona to begin with; null means the root SOUL.md.
    pub default: Option<String>,
    /// The personas in `personas/` that may be worn.
    #[serde(default)]
    pub available: Vec<String>,
    /// Who chooses: the model (auto), a person or program (explicit), or a hook.
    pub router: Option<PersonaRouter>,
}

/// Who chooses the persona.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PersonaRouter {
    /// The runtime, from what is asked.
    Auto,
    /// Only a person or the API.
    #[default]
    Explicit,
    /// Only the `before_inference` hook.
    Hook,
}

/// `capabilities`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapabilitiesYml {
    /// The agent may edit its own directory.
    #[serde(default)]
    pub self_modify: bool,
    /// The agent may hand work to other agents.
    #[serde(default)]
    pub spawn_subagents: bool,
}
