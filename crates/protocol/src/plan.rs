//! The inputs of runs and turns: the immutable part of their records.
//!
//! Must never: be changed after it was written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Bounds;
use crate::context::{CompactionPlan, PruningStep};
use crate::hash::ContentHash;
use crate::hook::TurnShape;
use crate::id::{AgentId, ApprovalId, TaskId, TurnId};
use crate::inbound::EventId;
use crate::message::Image;
pub use crate::mode::Mode;

/// The plan of a run; the immutable part of its record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The agent of the run.
    pub agent: AgentId,
    /// The task, if the run executes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// The prompt, as typed.
    pub prompt: String,
    /// The further inputs.
    #[serde(flatten)]
    pub given: RunInputs,
    /// The model and its fallbacks.
    #[serde(flatten)]
    pub asked: RunModels,
    /// The mode at the start of the run.
    pub mode: Mode,
    /// The limits of each turn.
    pub limits: RunLimits,
    /// The command that checks in the autonomous mode whether the work is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The directory that the tools work in.
    pub workspace: String,
    /// The project directory that the definitions were read from.
    pub project: String,
    /// The steps, one per file of the task; one for a run without a task.
    pub steps: Vec<StepPlan>,
    /// The hashes of all definition files, by path.
    pub files: BTreeMap<String, ContentHash>,
}

/// The inputs of a run beside its prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInputs {
    /// The pictures of the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The inputs of the task, with defaults filled in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
    /// The inbound events that the run answers, all of one sender.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inbounds: Vec<EventId>,
    /// The access decision about that sender; none for the owner at this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Box<Bounds>>,
}

/// The models of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunModels {
    /// The first model: provider and name.
    pub model: String,
    /// The fallbacks, in the order in which they are tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
}

/// A step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepPlan {
    /// The name of the step.
    pub id: String,
    /// The source of the prompt: `prompt`, `compact`, or `step:<file>`.
    pub uses: String,
    /// The agent of the step.
    pub agent: AgentId,
    /// The persona that the agent wears; none means its own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
}

/// The limits of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// The limit of requests to the model in one turn.
    pub steps_max: u32,
    /// The limit of tool calls in one turn.
    pub calls_max: u32,
    /// The limit of iterations in the autonomous mode.
    pub iterations_max: u32,
    /// The limit of tokens, input and output together; none means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
}

/// The inputs of a turn. With the events that the turn gets, they alone decide its moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnPlan {
    /// The turn before on the branch; none for the first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TurnId>,
    /// The hash of the turn before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_hash: Option<ContentHash>,
    /// The first turn of the branch that the model gets; set only in records from before there were
    /// compactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history_from: Option<TurnId>,
    /// The cuts of outputs on the branch from this turn on, beside the earlier cuts.
    #[serde(default, skip_serializing_if = "PruningStep::is_empty")]
    pub pruned: PruningStep,
    /// The turns that the reply will replace, if the turn is a compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Box<CompactionPlan>>,
    /// The index of the run's step, from zero.
    #[serde(default)]
    pub step: u32,
    /// The prompt.
    pub prompt: String,
    /// The pictures of the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The charter, a value of the kernel: the agent, its authority, the model's prompt.
    pub charter: Value,
    /// The approvals of this session that hold for the same call again, by standing key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub standing: BTreeMap<String, ApprovalId>,
    /// The changes of the hooks before the turn; the charter includes them already.
    #[serde(default, skip_serializing_if = "TurnShape::is_empty")]
    pub shaping: TurnShape,
}
