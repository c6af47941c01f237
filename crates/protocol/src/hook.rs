//! The hooks of a turn: their moments, their definitions and their answers.
//!
//! The moments of the agent program format shape a turn; those of other runtimes are gates, which
//! may deny. Files and wires keep the names of their formats.
//!
//! Must never: say what follows from an answer. The kernel decides that.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::access::UnknownWord;
use crate::call_facts::CallFacts;
use crate::hash::ContentHash;
use crate::id::{CallId, JobId};
use crate::tool::ToolName;

/// The moment at which a hook runs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum HookMoment {
    /// A session begins. Shapes.
    #[serde(rename = "on_conversation_start")]
    OnConversationStart,
    /// The first request of a turn is about to go to the model. Shapes.
    #[serde(rename = "before_inference")]
    BeforeInference,
    /// A call ended. Shapes.
    #[serde(rename = "after_tool_call")]
    AfterToolCall,
    /// A session begins. Gate.
    SessionStart,
    /// A sender submitted a prompt. Gate.
    UserPromptSubmit,
    /// A call is proposed. Gate.
    PreToolUse,
    /// A call ended. Gate.
    PostToolUse,
    /// The agent wants to finish. Gate.
    Stop,
    /// A compaction of older turns is about to start. Gate.
    PreCompact,
    /// A session ended. Gate, though too late to deny.
    SessionEnd,
}

impl HookMoment {
    /// All moments, in the order in which they may come.
    pub const ALL: [Self; 10] = [
        Self::SessionStart,
        Self::OnConversationStart,
        Self::UserPromptSubmit,
        Self::PreCompact,
        Self::BeforeInference,
        Self::PreToolUse,
        Self::AfterToolCall,
        Self::PostToolUse,
        Self::Stop,
        Self::SessionEnd,
    ];

    /// Returns the name in files and on wires.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OnConversationStart => "on_conversation_start",
            Self::BeforeInference => "before_inference",
            Self::AfterToolCall => "after_tool_call",
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::Stop => "Stop",
            Self::PreCompact => "PreCompact",
            Self::SessionEnd => "SessionEnd",
        }
    }

    /// Returns true if a hook at this moment may deny; at the others it shapes.
    pub fn is_gate(self) -> bool {
        match self {
            Self::OnConversationStart | Self::BeforeInference | Self::AfterToolCall => false,
            Self::SessionStart
            | Self::UserPromptSubmit
            | Self::PreToolUse
            | Self::PostToolUse
            | Self::Stop
            | Self::PreCompact
            | Self::SessionEnd => true,
        }
    }
}

impl fmt::Display for HookMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for HookMoment {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|moment| moment.as_str() == word);
        found.ok_or_else(|| UnknownWord {
            word: word.to_owned(),
            known: "on_conversation_start, before_inference, after_tool_call, SessionStart, \
                    UserPromptSubmit, PreToolUse, PostToolUse, Stop, PreCompact, SessionEnd",
        })
    }
}

/// The verdict of a gate that fails to run or to answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookErrorPolicy {
    /// The gate denies.
    #[default]
    Deny,
    /// The gate asks a person.
    Ask,
    /// The gate allows.
    Allow,
}

/// A hook in the form that a turn records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookSpec {
    /// The moment at which the hook runs.
    pub moment: HookMoment,
    /// The program, as a path in the agent's directory.
    pub program: String,
    /// The arguments of the program, beside its input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The hash of the program's text when the agent was read.
    pub hash: ContentHash,
    /// A regular expression for whole tool names; none means all tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// The verdict if the hook fails, for a gate.
    pub on_error: HookErrorPolicy,
    /// The time limit, in milliseconds.
    pub timeout_ms: u64,
}

/// A change of the state of a turn's hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum HookChange {
    /// The hook starts. Recorded before the program starts; a move where a turn chose it.
    Started {
        /// The number of the hook in the turn, from one; zero before the turn begins.
        number: u32,
        /// The moment at which the hook runs.
        moment: HookMoment,
        /// The program, as a path in the agent's directory.
        program: String,
        /// The call at whose start or end the hook runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },
    /// The hook finished.
    Finished {
        /// The number of the hook in the turn, as in `Started`.
        number: u32,
        /// The moment at which the hook ran.
        moment: HookMoment,
        /// The program, as a path in the agent's directory.
        program: String,
        /// The report of the run.
        report: Box<HookReport>,
    },
    /// The agent's hooks replaced the state that they keep about the session.
    StateSet {
        /// The whole new state.
        state: Map<String, Value>,
    },
}

/// The report of one run of a hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookReport {
    /// The job that ran the program; none if no job was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// The answer, or the reason for its absence.
    pub result: HookResult,
    /// The ignored parts of the answer with the reason, one line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The facts about the call with the changes of the hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Box<CallFacts>>,
}

/// The answer of a hook, or the reason for its absence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HookResult {
    /// A shaping hook answered.
    Shaped {
        /// The changes.
        shape: Box<ShapeAnswer>,
    },
    /// A gate answered.
    Gated {
        /// The answer.
        answer: Box<GateAnswer>,
    },
    /// The hook timed out, failed, or gave an answer that does not parse; its output is ignored.
    Failed {
        /// The reason, as text for a person.
        why: String,
    },
}

/// The changes of a shaping hook. All are optional; absent ones change nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ShapeAnswer {
    /// The text for the end of the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt_append: Option<String>,
    /// The persona that the agent wears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona_override: Option<String>,
    /// The tools beside those of the agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_additions: Vec<String>,
    /// The tools to remove.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_removals: Vec<String>,
    /// The values to keep about the session, by name; null deletes a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_updates: Option<Map<String, Value>>,
    /// The name of the model for the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_override: Option<String>,
}

/// The answer of a gate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GateAnswer {
    /// The verdict; none means no objection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub say: Option<GateVerdict>,
    /// The reason of the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The arguments that replace those of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_input: Option<Value>,
    /// The text for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The text for the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The reason to halt the whole turn; none means that the turn continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halt: Option<String>,
}

/// The verdict of a gate.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// The gate has no objection; other gates and stages may still object.
    Allow,
    /// The gate asks for the approval of a person.
    Ask,
    /// The gate denies.
    Deny,
}

/// The sum of the changes of all hooks before a turn. Recorded with the turn for its replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnShape {
    /// The texts for the end of the system prompt, each with its program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub appended: Vec<PromptAddition>,
    /// The persona that the agent wears.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// The model of the turn: provider and name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tools of the host beside those of the agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additions: Vec<ToolName>,
    /// The tools to remove.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removals: Vec<ToolName>,
}

/// A text that a hook adds to the system prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptAddition {
    /// The program that wrote the text.
    pub program: String,
    /// The added text.
    pub text: String,
}

impl TurnShape {
    /// Returns true if the hooks changed nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
