//! What runs and turns start from: the immutable part of their records.
//!
//! Must never: be changed once it was written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::access::Bounds;
use crate::context::{CompactionPlan, PruningStep};
use crate::event::Mode;
use crate::hash::ContentHash;
use crate::hook::TurnShape;
use crate::id::{AgentId, ApprovalId, TaskId, TurnId};
use crate::inbound::EventId;
use crate::message::Image;

/// What a run is going to do; the immutable part of its record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// Who does it.
    pub agent: AgentId,
    /// The task, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// What was asked for, as typed.
    pub prompt: String,
    /// What goes with it.
    #[serde(flatten)]
    pub given: RunInputs,
    /// Who is asked.
    #[serde(flatten)]
    pub asked: RunModels,
    /// The mode.
    pub mode: Mode,
    /// How much it may do.
    pub limits: RunLimits,
    /// The command that checks whether the work is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Where it works.
    pub workspace: String,
    /// The directory that was read for the definitions.
    pub project: String,
    /// The steps, by file; one for a free-form run.
    pub steps: Vec<StepPlan>,
    /// The hashes of all definition files, by their path.
    pub files: BTreeMap<String, ContentHash>,
}

/// What goes with the prompt of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInputs {
    /// Pictures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// The task's inputs, with defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
    /// What came in and is answered by it, all of one sender.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inbounds: Vec<EventId>,
    /// What access decided about that sender; none for the one at the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Box<Bounds>>,
}

/// The models of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunModels {
    /// The model: provider and name.
    pub model: String,
    /// Those that are asked when it does not answer, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
}

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepPlan {
    /// Its name.
    pub id: String,
    /// What it uses: `prompt`, or `step:<file>`.
    pub uses: String,
    /// Who does it.
    pub agent: AgentId,
    /// The persona it wears; none means its own choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
}

/// How much a turn may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLimits {
    /// The most requests to the model in one turn.
    pub steps_max: u32,
    /// The most calls of tools in one turn.
    pub calls_max: u32,
    /// The most iterations of autonomous work.
    pub iterations_max: u32,
    /// The most tokens, read and written together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_max: Option<u64>,
}

/// What a turn starts from. Together with the events told to it, this is all that decides its moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnPlan {
    /// The turn before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<TurnId>,
    /// The hash of that turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_hash: Option<ContentHash>,
    /// The first turn of the branch that the model is shown; only records from before there were
    /// compactions say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history_from: Option<TurnId>,
    /// What is cut of the outputs on its branch from now on, beside what was cut before.
    #[serde(default, skip_serializing_if = "PruningStep::is_empty")]
    pub pruned: PruningStep,
    /// Which turns its answer stands for, if it is a compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Box<CompactionPlan>>,
    /// The step of the run, from zero.
    #[serde(default)]
    pub step: u32,
    /// What is asked.
    pub prompt: String,
    /// Pictures that go with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Who the agent is, what it may do, and what the model is told: the kernel's own value.
    pub charter: Value,
    /// Answers of this session that hold for the same call again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub standing: BTreeMap<String, ApprovalId>,
    /// What the hooks before the turn made of it; the charter has it already.
    #[serde(default, skip_serializing_if = "TurnShape::is_empty")]
    pub shaping: TurnShape,
}
