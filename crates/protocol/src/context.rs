//! What turns mean for what later turns of their branch are shown: compactions and prunings.
//!
//! Must never: say what is shown; that is for whoever puts a request together.

use serde::{Deserialize, Serialize};

use crate::id::{CallId, TurnId};

/// What a turn that ended means for the turns after it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUpdate {
    /// How many tokens it adds to its branch, where a provider counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// What was cut from it on.
    #[serde(default, skip_serializing_if = "PruningStep::is_empty")]
    pub pruned: PruningStep,
    /// The text that stands for turns before it, if it is a compaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Compaction>,
}

impl ContextUpdate {
    /// Whether it says nothing; records from before there was one do not.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A text that stands for turns before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compaction {
    /// The text.
    pub summary: String,
    /// The last turn that it stands for.
    pub summarized_through: TurnId,
    /// The first turn before the compaction that is shown as it is; none if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<TurnId>,
    /// How many tokens a request had without it.
    pub tokens_before: u64,
    /// How many it has with it.
    pub tokens_after: u64,
}

/// What a turn that is to become a compaction starts from, beside its prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionPlan {
    /// Why it is made.
    pub reason: CompactionReason,
    /// What somebody wants most room to be given to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// The last turn that its text will stand for.
    pub summarized_through: TurnId,
    /// The first turn that is shown as it is; none if that is only the one that comes next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_kept: Option<TurnId>,
    /// How many tokens a request has without it.
    pub tokens_before: u64,
    /// How many of them stay beside its text.
    pub tokens_kept: u64,
}

/// Why a session is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionReason {
    /// The next request would leave too little of the model's window free.
    Window,
    /// The provider said that a request was too long.
    Overflow,
    /// Somebody asked for it.
    Asked,
}

impl CompactionReason {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Window => "the model's window is almost full",
            Self::Overflow => "the model said that the request was too long",
            Self::Asked => "somebody asked for it",
        }
    }
}

/// How an output is cut; the order is how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputCut {
    /// Its beginning and its end are shown.
    Trimmed {
        /// How much of the beginning.
        head_chars: usize,
        /// How much of the end.
        tail_chars: usize,
    },
    /// Only that it was there is shown.
    Cleared,
}

/// One step: which outputs are cut from now on, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PruningStep {
    /// The cuts, by call, in the order of the branch.
    pub cuts: Vec<(CallId, OutputCut)>,
}

impl PruningStep {
    /// Whether it cuts nothing.
    pub fn is_empty(&self) -> bool {
        self.cuts.is_empty()
    }
}
