//! The hooks of a turn: when they run, what they are, and what they may answer.
//!
//! The moments of seed 000 shape a turn; those that other runtimes have are gates, which may say no. The names
//! on files and wires are theirs.
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

/// When a hook runs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum HookMoment {
    /// A session begins. Shapes.
    #[serde(rename = "on_conversation_start")]
    OnConversationStart,
    /// The model is about to be asked for the first time in a turn. Shapes.
    #[serde(rename = "before_inference")]
    BeforeInference,
    /// A call came back. Shapes.
    #[serde(rename = "after_tool_call")]
    AfterToolCall,
    /// A session begins. Gate.
    SessionStart,
    /// Somebody said something. Gate.
    UserPromptSubmit,
    /// A call is on the table. Gate.
    PreToolUse,
    /// A call came back. Gate.
    PostToolUse,
    /// The agent wants to finish. Gate.
    Stop,
    /// Older turns are about to be summed up. Gate.
    PreCompact,
    /// A session is over. Gate, though it comes too late to say no.
    SessionEnd,
}

impl HookMoment {
    /// All of them, in the order in which they may come.
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

    /// The name in files and on wires.
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

    /// Whether it may say no; the others shape.
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

/// What it means that a gate cannot say anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookErrorPolicy {
    /// No.
    #[default]
    Deny,
    /// A person is asked.
    Ask,
    /// It goes ahead.
    Allow,
}

/// A hook as a turn has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookSpec {
    /// When it runs.
    pub moment: HookMoment,
    /// Its program, a path in the agent's directory.
    pub program: String,
    /// What the program is given beside its input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The hash of the program's text when the agent was read.
    pub hash: ContentHash,
    /// Which tools it is for: an expression for the whole name. None means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// What it means that it cannot say anything.
    pub on_error: HookErrorPolicy,
    /// How long it may take, in milliseconds.
    pub timeout_ms: u64,
}

/// What became of a hook of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum HookChange {
    /// It is run. Recorded before the program starts; a move where a turn chose it.
    Started {
        /// Which hook of the turn it is, from one; zero before the turn has begun.
        number: u32,
        /// When it runs.
        moment: HookMoment,
        /// Its program.
        program: String,
        /// The call that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },
    /// What came of it.
    Finished {
        /// Which hook of the turn, as it was started.
        number: u32,
        /// When it ran.
        moment: HookMoment,
        /// Its program.
        program: String,
        /// What came of it.
        report: Box<HookReport>,
    },
    /// What the agent's hooks keep about the session, from now on.
    StateSet {
        /// All of it.
        state: Map<String, Value>,
    },
}

/// What came of a hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookReport {
    /// The job that ran it; none if it did not come to that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// Its answer, or why there is none.
    pub result: HookResult,
    /// What of its answer was left out, and why: a line each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What was found out about the call as the hook changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<Box<CallFacts>>,
}

/// A hook's answer, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HookResult {
    /// What a shaping hook answered.
    Shaped {
        /// The changes.
        shape: Box<ShapeAnswer>,
    },
    /// What a gate answered.
    Gated {
        /// The answer.
        answer: Box<GateAnswer>,
    },
    /// It took too long, ended badly, or answered nothing that makes sense; what it wrote is left out.
    Failed {
        /// Why, in words.
        why: String,
    },
}

/// What a shaping hook changes. All is optional; what is not said stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ShapeAnswer {
    /// Text for the end of the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt_append: Option<String>,
    /// The persona to wear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona_override: Option<String>,
    /// Tools beside those of the agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_additions: Vec<String>,
    /// Tools to go without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_removals: Vec<String>,
    /// What to keep about the session; null takes a value away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_updates: Option<Map<String, Value>>,
    /// The model to ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_override: Option<String>,
}

/// What a gate answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GateAnswer {
    /// Whether it may go ahead; nothing said means that the gate does not mind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub say: Option<GateVerdict>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Other arguments for the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_input: Option<Value>,
    /// Text that the model is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Text that the person is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether nothing at all is to go on, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halt: Option<String>,
}

/// What a gate says.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GateVerdict {
    /// It does not mind; others still may.
    Allow,
    /// A person is to be asked.
    Ask,
    /// No.
    Deny,
}

/// What the hooks before a turn made of it. Part of what the turn is given, so that it can be played again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnShape {
    /// Text for the end of the system prompt, with the program that wrote it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub appended: Vec<PromptAddition>,
    /// The persona to wear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// The model to ask: provider and name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tools of the host beside those of the agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additions: Vec<ToolName>,
    /// Tools to go without.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removals: Vec<ToolName>,
}

/// Text that a hook adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptAddition {
    /// Whose text it is.
    pub program: String,
    /// The text.
    pub text: String,
}

impl TurnShape {
    /// Whether they made nothing of it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
