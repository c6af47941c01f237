//! The AgentEvent protocol: events for programs that drive an agent, one JSON object per line.
//!
//! The AgentEvent protocol defines the nine kinds and their fields. Agentry adds `seq`, `runId`,
//! `sessionId` and `turnId` to each, and usage to the last.
//!
//! Must never: lose a documented field, or rename one.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::envelope::EntrySubject;
use crate::message::Usage;

/// A line of the AgentEvent protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentEventLine {
    /// The event.
    #[serde(flatten)]
    pub event: AgentEvent,
    /// The sequence number of the ledger entry; for a delta of a reply, that of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The session, run and turn of the event.
    #[serde(flatten)]
    pub about: EntrySubject,
}

/// An event of the AgentEvent protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AgentEvent {
    /// A run started.
    Init {
        /// The model of the run.
        model: String,
        /// The id of the agent.
        agent: String,
        /// The mode: `structured` or `wiggum`.
        mode: String,
        /// A description of the confinement of the run's processes.
        confinement: String,
    },
    /// The model produced thinking text.
    Thinking {
        /// The text.
        content: String,
    },
    /// The model produced text.
    Text {
        /// The text.
        content: String,
        /// True if this is a delta and more text follows.
        is_partial: bool,
    },
    /// The model asked for a tool call.
    ToolUse {
        /// The id of the call.
        tool_call_id: String,
        /// The canonical name of the tool.
        tool_name: String,
        /// The arguments of the call.
        input: Value,
    },
    /// A call ended.
    ToolResult {
        /// The id of the call.
        tool_call_id: String,
        /// The status in the two words of the protocol.
        status: ResultStatus,
        /// The text that the model got.
        #[serde(skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// The status in more detail: done, failed, refused, stopped or uncertain.
        #[serde(skip_serializing_if = "Option::is_none")]
        outcome: Option<String>,
        /// The exit code, if a process ran.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
    },
    /// A call needs the approval of a person.
    ApprovalGate {
        /// The id of the approval; answers name it.
        gate_id: String,
        /// The canonical name of the tool.
        tool_name: String,
        /// The arguments of the call.
        input: Value,
        /// The id of the call.
        tool_call_id: String,
        /// The reason why the call needs approval.
        reason: String,
    },
    /// An iteration of autonomous work was counted.
    Iteration {
        /// The number of the iteration, from one.
        count: u32,
    },
    /// A compaction replaced older turns of the session by one text.
    Compaction {
        /// The tokens of a request before the compaction.
        tokens_before: u64,
        /// The tokens of a request after the compaction.
        tokens_after: u64,
        /// The last turn that the text replaces.
        summarized_through_turn_id: String,
        /// The first turn that requests still contain in full.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_kept_turn_id: Option<String>,
    },
    /// An error occurred.
    Error {
        /// The error code.
        code: String,
        /// The description for a person.
        message: String,
        /// True if the run can continue.
        recoverable: bool,
    },
    /// The run ended.
    Done {
        /// The reason why the run stopped.
        stop_reason: StopReason,
        /// The last text of the model.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        /// The number of iterations of autonomous work.
        #[serde(skip_serializing_if = "Option::is_none")]
        iterations: Option<u32>,
        /// The tokens that the run used.
        usage: AgentEventUsage,
    },
}

/// The status of a call in the two words of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultStatus {
    /// The call worked.
    Completed,
    /// The call failed, was refused or stopped, or its outcome is uncertain.
    Failed,
}

/// The reason why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The work is done.
    EndTurn,
    /// A person or program asked the run to stop.
    Cancelled,
    /// The run ended in any other way.
    Error,
}

/// The tokens that a run used, in the field names of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentEventUsage {
    /// Tokens of the input.
    pub input_tokens: u64,
    /// Tokens of the output.
    pub output_tokens: u64,
    /// Input tokens that the provider read from its cache.
    pub cached_tokens: u64,
    /// Input tokens that the provider wrote to its cache for the next request, at a price.
    pub cache_write_tokens: u64,
    /// True if the runtime estimated the numbers because the provider reported none.
    pub estimated: bool,
}

impl From<Usage> for AgentEventUsage {
    fn from(usage: Usage) -> Self {
        let Usage { input_tokens, output_tokens, cached_tokens, cache_write_tokens, estimated } =
            usage;
        Self { input_tokens, output_tokens, cached_tokens, cache_write_tokens, estimated }
    }
}
