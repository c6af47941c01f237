//! `agent.yml`: an agent program's metadata, model, tools and abilities.
//!
//! Must never: hold text for the prompt; that belongs in the Markdown files beside it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{SandboxLimits, Security};
use super::hooks::HooksYml;

/// The file `agent.yml`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentYml {
    /// The display name of the agent.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The purpose of the agent, in one sentence.
    pub description: Option<String>,
    /// The models the agent prefers.
    pub model: Option<ModelYml>,
    /// The tools the agent requests.
    pub tools: Option<AgentToolsYml>,
    /// The personas the agent may wear.
    pub personas: Option<PersonasYml>,
    /// The hooks that run.
    pub hooks: Option<HooksYml>,
    /// Abilities beyond tool calls.
    pub capabilities: Option<CapabilitiesYml>,
    /// The requested files and hosts; never more than the operator allows.
    pub security: Option<Security>,
    /// The requested resource limits; never more than the operator allows.
    pub limits: Option<SandboxLimits>,
    /// Further values, for people and other programs; Agentry does not interpret them.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
}

/// The section `model`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelYml {
    /// The model to use when none of `prefer` is available.
    pub default: Option<String>,
    /// Models in order of preference, by their full names.
    #[serde(default)]
    pub prefer: Vec<String>,
}

/// The section `tools`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentToolsYml {
    /// Requested tools of the host. The agent gets those of them that the host offers. A trailing
    /// `*` stands for any ending.
    #[serde(default)]
    pub allow: Vec<String>,
    /// The agent's own tools, from its `tools/` directory.
    #[serde(default)]
    pub custom: Vec<String>,
}

/// The section `personas`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonasYml {
    /// The first persona; null means the root SOUL.md.
    pub default: Option<String>,
    /// The personas in `personas/` that the agent may wear.
    #[serde(default)]
    pub available: Vec<String>,
    /// The chooser of the persona: the runtime (auto), a person or program (explicit), or a hook.
    pub router: Option<PersonaRouter>,
}

/// The chooser of the persona.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PersonaRouter {
    /// The runtime, from the request.
    Auto,
    /// Only a person or the API.
    #[default]
    Explicit,
    /// Only the `before_inference` hook.
    Hook,
}

/// The section `capabilities`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CapabilitiesYml {
    /// The agent may edit its own directory.
    #[serde(default)]
    pub self_modify: bool,
    /// The agent may delegate work to other agents.
    #[serde(default)]
    pub spawn_subagents: bool,
}
