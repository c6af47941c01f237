//! `hooks` of `agent.yml`: the programs to run at each moment, as written.
//!
//! The three moments of agent programs shape a turn; the others are gates, which may deny. Each
//! moment is set by `true` or `false`, or by a map or a list of maps.
//!
//! Must never: check whether a program exists. This is the shape only.

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
    /// Runs before a request to the model.
    pub before_inference: Option<HookYml>,
    /// Runs after a tool call ended.
    pub after_tool_call: Option<HookYml>,
    /// Gate before a session begins.
    #[serde(rename = "SessionStart")]
    pub session_start: Option<HookYml>,
    /// Gate before a prompt is given to the agent.
    #[serde(rename = "UserPromptSubmit")]
    pub user_prompt_submit: Option<HookYml>,
    /// Gate before a tool call is made.
    #[serde(rename = "PreToolUse")]
    pub pre_tool_use: Option<HookYml>,
    /// Runs after a tool call ended, and sees its outcome.
    #[serde(rename = "PostToolUse")]
    pub post_tool_use: Option<HookYml>,
    /// Gate before a turn ends.
    #[serde(rename = "Stop")]
    pub stop: Option<HookYml>,
    /// Gate before older turns are compacted.
    #[serde(rename = "PreCompact")]
    pub pre_compact: Option<HookYml>,
    /// Runs when a session ended.
    #[serde(rename = "SessionEnd")]
    pub session_end: Option<HookYml>,
}

impl HooksYml {
    /// Returns the setting of a moment; `None` if the file does not set it.
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

/// The programs of a moment.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HookYml {
    /// true: the program in `hooks/` that has the moment's name; false: no program.
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
    /// A regular expression for the whole name of the tool. Only for moments of a tool call.
    pub matcher: Option<String>,
    /// The program, relative to the agent's directory; `hooks/<moment>` when absent.
    #[schemars(length(min = 1))]
    pub run: Option<String>,
    /// Another name of `run`.
    #[schemars(length(min = 1))]
    pub command: Option<String>,
    /// The arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// The verdict of a gate that fails to run; deny when absent.
    pub on_error: Option<HookErrorPolicy>,
    /// The time limit, in milliseconds.
    #[schemars(range(min = 1, max = HOOK_TIMEOUT_MS_MAX))]
    pub timeout_ms: Option<u64>,
    /// The time limit, in seconds; instead of `timeout_ms`.
    #[schemars(range(min = 1, max = HOOK_TIMEOUT_MS_MAX / 1000))]
    pub timeout: Option<u64>,
}
