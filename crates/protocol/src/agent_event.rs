//! What a program that talks to an agent reads: one JSON object on each line.
//!
//! The nine kinds and their fields are those of seed 003; `seq`, `runId`, `sessionId` and `turnId` are
//! added to each, and usage to the last.
//!
//! Must never: lose a field that is documented, or rename one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::envelope::EntrySubject;
use crate::message::Usage;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentEventLine {
    /// What happened.
    #[serde(flatten)]
    pub event: AgentEvent,
    /// The entry of the ledger; for a piece of a reply, the entry of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What it is about.
    #[serde(flatten)]
    pub about: EntrySubject,
}

/// What happened, as seed 003 writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AgentEvent {
    /// A run began.
    Init {
        /// The model.
        model: String,
        /// Who works.
        agent: String,
        /// The mode.
        mode: String,
        /// What confines the processes of the run.
        confinement: String,
    },
    /// The model thinks.
    Thinking {
        /// What.
        content: String,
    },
    /// The model says something.
    Text {
        /// What.
        content: String,
        /// Whether more follows.
        is_partial: bool,
    },
    /// The model wants to call a tool.
    ToolUse {
        /// Which call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// Its arguments.
        input: Value,
    },
    /// What came of a call.
    ToolResult {
        /// Which call.
        tool_call_id: String,
        /// How it went.
        status: ResultStatus,
        /// What the model was told.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// How it went, in more words: done, failed, refused, stopped, uncertain.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
        /// The exit code, if a process ran.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
    },
    /// A person is asked.
    ApprovalGate {
        /// The question; answers name it.
        gate_id: String,
        /// The tool.
        tool_name: String,
        /// Its arguments.
        input: Value,
        /// The call.
        tool_call_id: String,
        /// Why it is asked.
        reason: String,
    },
    /// An iteration of autonomous work.
    Iteration {
        /// Which one.
        count: u32,
    },
    /// Older turns of the session were put into one text.
    Compaction {
        /// How many tokens a request had before.
        tokens_before: u64,
        /// How many it has now.
        tokens_after: u64,
        /// The last turn that the text stands for.
        summarized_through_turn_id: String,
        /// The first turn that is still shown as it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_kept_turn_id: Option<String>,
    },
    /// Something is wrong.
    Error {
        /// What kind.
        code: String,
        /// In words.
        message: String,
        /// Whether it can go on.
        recoverable: bool,
    },
    /// The run is over.
    Done {
        /// Why it stopped.
        stop_reason: StopReason,
        /// The last thing the model said.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        /// How many iterations there were.
        #[serde(skip_serializing_if = "Option::is_none")]
        iterations: Option<u32>,
        /// What was spent.
        usage: AgentEventUsage,
    },
}

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// It did what it was asked.
    Completed,
    /// It did not.
    Failed,
}

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The work is done.
    EndTurn,
    /// Somebody asked for it.
    Cancelled,
    /// Anything else.
    Error,
}

/// What was spent, as it is written on a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentEventUsage {
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read that the provider still had.
    pub cached_tokens: u64,
    /// Tokens read that the provider keeps for the next request, at a price.
    pub cache_write_tokens: u64,
    /// Whether the runtime counted by itself because the provider did not say.
    pub estimated: bool,
}

impl From<Usage> for AgentEventUsage {
    fn from(usage: Usage) -> Self {
        let Usage { input_tokens, output_tokens, cached_tokens, cache_write_tokens, estimated } =
            usage;
        Self { input_tokens, output_tokens, cached_tokens, cache_write_tokens, estimated }
    }
}
