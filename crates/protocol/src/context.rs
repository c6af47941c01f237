//! The effects of turns on the context of later turns of their branch: compactions and prunings.
//!
//! Must never: build the context. The builder of a request applies these values.

use serde::{Deserialize, Serialize};

use crate::id::{CallId, TurnId};

/// The effect of a finished turn on the turns after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUpdate {
    /// The tokens that the turn adds to its branch; none if no provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The outputs that are cut from this turn on.
    #[serde(default, skip_serializing_if = "PruningStep::is_empty")]
    pub pruned: PruningStep,
    /// The text that replaces earlier turns, if the turn is a compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Compaction>,
}

impl ContextUpdate {
    /// Returns true if the turn has no effect; so do turns in old records without the field.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A text that replaces earlier turns of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// The text that requests contain instead of the turns.
    pub summary: String,
    /// The last turn that the text replaces.
    pub summarized_through: TurnId,
    /// The first earlier turn that requests still contain in full; none if no turn remains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<TurnId>,
    /// The tokens of a request without the compaction.
    pub tokens_before: u64,
    /// The tokens of a request with the compaction.
    pub tokens_after: u64,
}

/// The inputs of a compaction turn, beside its prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionPlan {
    /// The reason of the compaction.
    pub reason: CompactionReason,
    /// The subject that the text should cover most, if a person named one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// The last turn that the text will replace.
    pub summarized_through: TurnId,
    /// The first turn that requests will still contain in full; none if no turn remains.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<TurnId>,
    /// The tokens of a request without the compaction.
    pub tokens_before: u64,
    /// The tokens of a request that remain beside the text.
    pub tokens_kept: u64,
}

/// The reason why a session is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionReason {
    /// The next request would leave too little of the model's window free.
    Window,
    /// The provider rejected a request as too long.
    Overflow,
    /// A person or program requested it.
    Asked,
}

impl CompactionReason {
    /// Returns the reason as text for a person.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Window => "the model's window is almost full",
            Self::Overflow => "the model said that the request was too long",
            Self::Asked => "somebody asked for it",
        }
    }
}

/// The cut of a tool output in later requests; ordered by the amount that it removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputCut {
    /// Requests contain the beginning and the end of the output.
    Trimmed {
        /// The length of the beginning, in characters.
        head_chars: usize,
        /// The length of the end, in characters.
        tail_chars: usize,
    },
    /// Requests contain only a note that there was an output.
    Cleared,
}

/// A pruning: the outputs to cut from one turn on, with their cuts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PruningStep {
    /// The cuts, by call, in the order of the branch.
    pub cuts: Vec<(CallId, OutputCut)>,
}

impl PruningStep {
    /// Returns true if the step cuts nothing.
    pub fn is_empty(&self) -> bool {
        self.cuts.is_empty()
    }
}
