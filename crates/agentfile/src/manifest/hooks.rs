//! `hooks` of `agent.yml`: which programs run at which moment, as written.
//!
//! The three moments of agent programs shape a turn; the others are gates, which may say no. Each is switched by
//! `true` or `false`, or says more in a map or a list of maps.
//!
//! Must never: say whether a program is there. This is the shape only.

use agentry_protocol::hook::{HookErrorPolicy, HookMoment};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::limits::HOOK_TIMEOUT_MS_MAX;

/// `hooks`: a hook runs only if it is named here and its program is there and executable.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HooksYml {
    /// Runs when a session begins.
    pub on_conversation_start: Option<HookYml>,
    /// Runs before the model is asked.
    pub before_inference: Option<HookYml>,
    /// Runs after a tool call came back.
    pub after_tool_call: Option<HookYml>,
    /// Guards the beginning of a session.
    #[serde(rename = "SessionStart")]
    pub session_start: Option<HookYml>,
    /// Guards what is said to the agent.
    #[serde(rename = "UserPromptSubmit")]
    pub user_prompt_submit: Option<HookYml>,
    /// Guards a tool call before it is made.
    #[serde(rename = "PreToolUse")]
    pub pre_tool_use: Option<HookYml>,
    /// Looks at a tool call that came back.
    #[serde(rename = "PostToolUse")]
    pub post_tool_use: Option<HookYml>,
    /// Guards the end of a turn.
    #[serde(rename = "Stop")]
    pub stop: Option<HookYml>,
    /// Guards the summing up of older turns.
    #[serde(rename = "PreCompact")]
    pub pre_compact: Option<HookYml>,
    /// Runs when a session is over.
    #[serde(rename = "SessionEnd")]
    pub session_end: Option<HookYml>,
}

impl HooksYml {
    /// What is said of a moment.
    pub fn at(&self, moment: HookMoment) -> Option<&HookYml> {
        match moment {
            HookMoment::OnConversationStart => self.on_conversation_start.as_ref(),
            HookMoment::BeforeInference => self.before_inference.as_ref(),
            HookMoment::AfterToolCall => self.after_tool_call.as_ref(),
            HookMoment::SessionStart => self.session_start.as_ref(),
            HookMoment::UserPromptSubmit => self.user_prompt_submit.as_ref(),
            HookMoment::PreToolUse => self.pre_tool_use.as_ref(),
            HookMoment::PostToolUse => self.post_tool_use.as_ref(),
            HookMoment::Stop => self.stop.as_ref(),
            HookMoment::PreCompact => self.pre_compact.as_ref(),
            HookMoment::SessionEnd => self.session_end.as_ref(),
        }
    }
}

/// What runs at a moment.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HookYml {
    /// The program of the moment's own name in `hooks/`, or nothing.
    Switch(bool),
    /// One program.
    One(HookEntry),
    /// Several programs, in order.
    Several(Vec<HookEntry>),
}

/// One program of a moment.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookEntry {
    /// Which tools it is for: a regular expression for the whole name. Only where there is a tool.
    pub matcher: Option<String>,
    /// The program, below the agent's directory; `hooks/<moment>` if nothing is said.
    #[schemars(length(min = 1))]
    pub run: Option<String>,
    /// The same as `run`.
    #[schemars(length(min = 1))]
    pub command: Option<String>,
    /// What the program is given.
    #[serde(default)]
    pub args: Vec<String>,
    /// What it means that a gate cannot say anything; deny if nothing is said.
    pub on_error: Option<HookErrorPolicy>,
    /// How long it may take, in milliseconds.
    #[schemars(range(min = 1, max = HOOK_TIMEOUT_MS_MAX))]
    pub timeout_ms: Option<u64>,
    /// How long it may take, in seconds; instead of `timeout_ms`.
    #[schemars(range(min = 1, max = HOOK_TIMEOUT_MS_MAX / 1000))]
    pub timeout: Option<u64>,
}
