//! Compaction: when older turns are summarized, which ones, and what the model is shown afterwards.
//!
//! A compaction is a turn under the head of its branch. It records the turns that its summary
//! replaces and the first turn that is still shown unchanged. Nothing is deleted: a branch can
//! always be shown in full. Long outputs of old calls are trimmed first, in recorded steps, so that
//! the beginning of a prompt stays the same between two steps.
//!
//! Must never: show a turn twice, separate a call from its outcome, or summarize no turns.

mod branch;
mod branch_pruning;
mod prune;
mod summary_request;

use agentry_protocol::TurnId;
use agentry_protocol::context::{CompactionReason, PruningStep};
use serde::{Deserialize, Serialize};

use crate::limits::{
    COMPACTION_FRUITLESS_MAX, COMPACTION_KEEP_PERCENT, COMPACTION_KEEP_TOKENS,
    COMPACTION_RESERVE_PERCENT, COMPACTION_RESERVE_TOKENS, COMPACTION_SUMMARY_PERCENT,
    COMPACTION_SUMMARY_TOKENS_MAX,
};

use self::branch::VisibleBranch;
pub use self::branch::{
    BranchTurn, BrokenCompaction, Kind, RebuildMode, assemble, covered, summary_message,
};
pub use self::branch_pruning::BranchPruning;
pub use self::summary_request::{SYSTEM, request};

/// The budget of a model's window; all in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionLimits {
    /// The size of the window: input and output together.
    pub window: u64,
    /// The part kept free for the answer.
    pub reserve: u64,
    /// The part of the newest turns kept unchanged.
    pub keep: u64,
}

impl CompactionLimits {
    /// Returns the default budget for a window.
    pub fn of_window(window: u64) -> Self {
        let part = |percent: u64| (u128::from(window) * u128::from(percent) / 100) as u64;
        Self {
            window,
            reserve: COMPACTION_RESERVE_TOKENS.min(part(COMPACTION_RESERVE_PERCENT)),
            keep: COMPACTION_KEEP_TOKENS.min(part(COMPACTION_KEEP_PERCENT)),
        }
    }

    /// Returns the tokens that a request may fill.
    pub fn room(&self) -> u64 {
        self.window.saturating_sub(self.reserve)
    }

    /// Returns the longest summary, in tokens, beside so many other tokens.
    pub fn summary(&self, other_tokens: u64) -> u64 {
        let left = self.room().saturating_sub(other_tokens);
        COMPACTION_SUMMARY_TOKENS_MAX.min(left / 100 * COMPACTION_SUMMARY_PERCENT)
    }

    /// Returns the tokens of the newest turns that can be kept beside so many other tokens.
    fn kept(&self, other_tokens: u64) -> u64 {
        let left = self.room().saturating_sub(other_tokens);
        self.keep.min(left.saturating_sub(self.summary(other_tokens)))
    }
}

/// The input of the decision whether a branch must be shortened.
#[derive(Clone, Copy, Debug)]
pub struct CompactionInput<'a> {
    /// The branch, from its root to its head; the running turn may be its last.
    pub branch: &'a [BranchTurn<'a>],
    /// The pruning steps done before.
    pub pruned: &'a BranchPruning,
    /// The tokens sent beside the branch: the system prompt, the tools, the question.
    pub other_tokens: u64,
    /// The reason for the decision.
    pub trigger: CompactionTrigger,
}

/// The reason for planning a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionTrigger {
    /// A request is about to be sent.
    Request,
    /// The provider rejected a request as too long.
    Overflow {
        /// True if that happened before in the same run.
        again: bool,
    },
    /// A user requested it.
    Asked,
}

impl CompactionTrigger {
    /// Returns the reason as it is recorded.
    pub fn reason(self) -> CompactionReason {
        match self {
            Self::Request => CompactionReason::Window,
            Self::Overflow { .. } => CompactionReason::Overflow,
            Self::Asked => CompactionReason::Asked,
        }
    }
}

/// The result of planning: the change to the branch before it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionAction {
    /// No change: the branch fits, or no turn can be summarized.
    Nothing,
    /// Trim these outputs; that is enough.
    PruneOnly {
        /// The outputs and the kind of cut.
        pruning: PruningStep,
    },
    /// Summarize older turns.
    Compact(SummaryPlan),
    /// The turns that cannot be summarized are too long: trim these outputs of them.
    OneGiantTurn {
        /// The outputs and the kind of cut.
        truncate: PruningStep,
    },
}

/// The turns to summarize and the limits of the summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryPlan {
    /// The turns to summarize, oldest first, beside those that the previous summary covers.
    pub summarize: Vec<TurnId>,
    /// The last of them.
    pub summarized_through: TurnId,
    /// The first turn shown unchanged; None if that is only the running one.
    pub first_kept: Option<TurnId>,
    /// The summary of all turns before them.
    pub previous_summary: Option<String>,
    /// The tokens of the request without this compaction.
    pub tokens_before: u64,
    /// The tokens that stay beside the summary.
    pub tokens_kept: u64,
    /// The longest summary, in tokens.
    pub summary_tokens_max: u64,
}

/// The reason why a branch cannot be shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactionError {
    /// A compaction of the branch names a turn that is not on it.
    Broken(BrokenCompaction),
    /// The last compactions in a row did not shorten the branch.
    NoProgress {
        /// The tokens of the request.
        tokens: u64,
    },
    /// The branch was shortened in this run already, and the provider rejected it again.
    AlreadyRetried,
    /// The unavoidable part of the request exceeds the window.
    TooLarge {
        /// The minimal size of the request, in tokens.
        tokens: u64,
        /// The available size, in tokens.
        room: u64,
    },
}

impl std::fmt::Display for CompactionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Broken(broken) => broken.fmt(f),
            Self::NoProgress { tokens } => write!(
                f,
                "the session was compacted {COMPACTION_FRUITLESS_MAX} times and still has {tokens} tokens; \
                 begin a new session, or choose a model with a larger window"
            ),
            Self::AlreadyRetried => f.write_str(
                "the model still says that the request is too long after the session was compacted; \
                 begin a new session, or set the model's window in the settings",
            ),
            Self::TooLarge { tokens, room } => write!(
                f,
                "the newest turn with the system prompt and the tools has {tokens} tokens and there is room \
                 for {room}; begin a new session, say less at once, or choose a model with a larger window"
            ),
        }
    }
}

impl std::error::Error for CompactionError {}

impl From<BrokenCompaction> for CompactionError {
    fn from(broken: BrokenCompaction) -> Self {
        Self::Broken(broken)
    }
}

/// Decides what must be done before the branch can be sent.
pub fn plan(
    question: &CompactionInput<'_>,
    limits: &CompactionLimits,
) -> Result<CompactionAction, CompactionError> {
    let shown = VisibleBranch::of(question.branch, RebuildMode::Compacted)?;
    let sizes = shown.sizes(question.pruned, limits.window);
    let total = question.other_tokens.saturating_add(sizes.sum());
    match question.trigger {
        CompactionTrigger::Request => {
            let pruning = prune::step(&shown, question.pruned, total, limits.window);
            if let Some((pruning, saved)) = pruning
                && total.saturating_sub(saved) <= limits.room()
            {
                return Ok(CompactionAction::PruneOnly { pruning });
            }
            if total <= limits.room() {
                return Ok(CompactionAction::Nothing);
            }
        }
        CompactionTrigger::Overflow { again: true } => return Err(CompactionError::AlreadyRetried),
        CompactionTrigger::Overflow { again: false } | CompactionTrigger::Asked => {}
    }
    if question.trigger != CompactionTrigger::Asked && fruitless(question.branch) {
        return Err(CompactionError::NoProgress { tokens: total });
    }
    let keep = keep(question, limits, &sizes.turns);
    let kept_from = shown.pair_boundary(kept_from(&sizes.turns, keep));
    let (older, kept) = shown.turns.split_at(kept_from);
    let (Some(last), Some(first)) = (older.last(), kept.first()) else {
        return match question.trigger {
            CompactionTrigger::Asked => Ok(CompactionAction::Nothing),
            CompactionTrigger::Request | CompactionTrigger::Overflow { .. } => {
                shorten(question, limits, &shown, sizes.sum())
            }
        };
    };
    Ok(CompactionAction::Compact(SummaryPlan {
        summarize: older.iter().map(|turn| turn.id.clone()).collect(),
        summarized_through: last.id.clone(),
        first_kept: match first.kind {
            Kind::Normal => Some(first.id.clone()),
            Kind::UnderWay | Kind::Compaction(_) => None,
        },
        previous_summary: shown.summary.map(str::to_owned),
        tokens_before: total,
        tokens_kept: sizes.turns[kept_from..]
            .iter()
            .fold(question.other_tokens, |sum, size| sum.saturating_add(*size)),
        summary_tokens_max: limits.summary(question.other_tokens),
    }))
}

/// Returns how many tokens of the newest turns are kept.
fn keep(question: &CompactionInput<'_>, limits: &CompactionLimits, sizes: &[u64]) -> u64 {
    let keep = limits.kept(question.other_tokens);
    let all: u64 = sizes.iter().sum();
    match question.trigger {
        // All turns would be kept, yet the request was too long: our count is too low.
        CompactionTrigger::Overflow { .. } if all <= keep => all / 2,
        CompactionTrigger::Overflow { .. }
        | CompactionTrigger::Request
        | CompactionTrigger::Asked => keep,
    }
}

/// Returns the first of the newest turns that fit together; the newest one is always included.
fn kept_from(sizes: &[u64], keep: u64) -> usize {
    let mut used: u64 = 0;
    let fitting = sizes.iter().rev().take_while(|size| {
        used = used.saturating_add(**size);
        used <= keep
    });
    sizes.len().saturating_sub(fitting.count().max(1))
}

/// Trims outputs of the remaining turns when no turn can be summarized.
fn shorten(
    question: &CompactionInput<'_>,
    limits: &CompactionLimits,
    shown: &VisibleBranch<'_>,
    tokens: u64,
) -> Result<CompactionAction, CompactionError> {
    let room = limits.room().saturating_sub(question.other_tokens);
    let room = match question.trigger {
        CompactionTrigger::Overflow { .. } => room.min(tokens / 2),
        CompactionTrigger::Request | CompactionTrigger::Asked => room,
    };
    match prune::shorten(shown, question.pruned, tokens.saturating_sub(room)) {
        Ok(truncate) => Ok(CompactionAction::OneGiantTurn { truncate }),
        Err(saved) => Err(CompactionError::TooLarge {
            tokens: question.other_tokens.saturating_add(tokens).saturating_sub(saved),
            room: room.saturating_add(question.other_tokens),
        }),
    }
}

/// Returns true if the last turns of the branch are compactions that shortened nothing.
fn fruitless(branch: &[BranchTurn<'_>]) -> bool {
    let newest = branch.iter().rev().filter(|turn| !matches!(turn.kind, Kind::UnderWay));
    let vain = newest.take_while(|turn| match turn.kind {
        Kind::Compaction(one) => one.tokens_after >= one.tokens_before,
        Kind::Normal | Kind::UnderWay => false,
    });
    vain.count() >= COMPACTION_FRUITLESS_MAX
}
