//! Compactions: when older turns are put into one text, which ones, and what the model is shown then.
//!
//! A compaction is a turn under the head of its branch. It says which turns its text stands for and from
//! which turn on they are shown as they are. Nothing is deleted: a branch can always be shown in full.
//! Long outputs of old calls are cut first, in recorded steps, so that a prompt's beginning stays the
//! same between two steps.
//!
//! Must never: show a turn twice, part a call from its outcome, or summarise nothing.

mod branch;
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
pub use self::prune::BranchPruning;
pub use self::summary_request::{SYSTEM, request};

/// How much a model reads, and what of it is used for what; all in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionLimits {
    /// What the model can read and write together.
    pub window: u64,
    /// What of it stays free.
    pub reserve: u64,
    /// How much of the newest turns is kept as it is.
    pub keep: u64,
}

impl CompactionLimits {
    /// The usual parts of a window.
    pub fn of_window(window: u64) -> Self {
        let part = |percent: u64| (u128::from(window) * u128::from(percent) / 100) as u64;
        Self {
            window,
            reserve: COMPACTION_RESERVE_TOKENS.min(part(COMPACTION_RESERVE_PERCENT)),
            keep: COMPACTION_KEEP_TOKENS.min(part(COMPACTION_KEEP_PERCENT)),
        }
    }

    /// What may be filled.
    pub fn room(&self) -> u64 {
        self.window.saturating_sub(self.reserve)
    }

    /// How long the text of a compaction may become beside so many other tokens.
    pub fn summary(&self, other_tokens: u64) -> u64 {
        let left = self.room().saturating_sub(other_tokens);
        COMPACTION_SUMMARY_TOKENS_MAX.min(left / 100 * COMPACTION_SUMMARY_PERCENT)
    }

    /// How much of the newest turns can be kept beside so many other tokens.
    fn kept(&self, other_tokens: u64) -> u64 {
        let left = self.room().saturating_sub(other_tokens);
        self.keep.min(left.saturating_sub(self.summary(other_tokens)))
    }
}

/// What is known when somebody asks whether a branch must be made shorter.
#[derive(Clone, Copy, Debug)]
pub struct CompactionInput<'a> {
    /// The branch, from its root to its head; the turn under way may be its last.
    pub branch: &'a [BranchTurn<'a>],
    /// What was cut before.
    pub pruned: &'a BranchPruning,
    /// What else is sent: the system prompt, the tools, the question.
    pub other_tokens: u64,
    /// Why it is asked.
    pub trigger: CompactionTrigger,
}

/// Why it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionTrigger {
    /// A request is about to be made.
    Request,
    /// The provider said that a request was too long.
    Overflow {
        /// Whether that happened before in the same run.
        again: bool,
    },
    /// Somebody asked for it.
    Asked,
}

impl CompactionTrigger {
    /// As it is recorded.
    pub fn reason(self) -> CompactionReason {
        match self {
            Self::Request => CompactionReason::Window,
            Self::Overflow { .. } => CompactionReason::Overflow,
            Self::Asked => CompactionReason::Asked,
        }
    }
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionAction {
    /// All is well, or there is nothing that a summary could stand for.
    Nothing,
    /// Cut these outputs; that is enough.
    PruneOnly {
        /// Which, and how.
        pruning: PruningStep,
    },
    /// Put older turns into one text.
    Compact(SummaryPlan),
    /// What cannot be summarised is too long by itself: cut these outputs of it.
    OneGiantTurn {
        /// Which, and how.
        truncate: PruningStep,
    },
}

/// Which turns become one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryPlan {
    /// The turns that it stands for, oldest first, beside those that the summary before stands for.
    pub summarize: Vec<TurnId>,
    /// The last of them.
    pub summarized_through: TurnId,
    /// The first turn that is shown as it is; none if that is only the one under way.
    pub first_kept: Option<TurnId>,
    /// The text that stands for all before them.
    pub previous_summary: Option<String>,
    /// How many tokens the request would have without it.
    pub tokens_before: u64,
    /// How many of them stay beside the text.
    pub tokens_kept: u64,
    /// How long the text may become.
    pub summary_tokens_max: u64,
}

/// Why a branch cannot be made shorter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactionError {
    /// A compaction of the branch names a turn that is not on it.
    Broken(BrokenCompaction),
    /// Compactions in a row made nothing shorter.
    NoProgress {
        /// What the request would have.
        tokens: u64,
    },
    /// It was made shorter in this run before, and was still too long for the provider.
    AlreadyRetried,
    /// What must be sent is longer than what the model can read.
    TooLarge {
        /// What it has at least.
        tokens: u64,
        /// What there is room for.
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

/// Says what must be done before the branch can be sent.
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
                shorten(question, limits, (&shown, sizes.sum()))
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

/// How much of the newest turns is kept.
fn keep(question: &CompactionInput<'_>, limits: &CompactionLimits, sizes: &[u64]) -> u64 {
    let keep = limits.kept(question.other_tokens);
    let all: u64 = sizes.iter().sum();
    match question.trigger {
        // All would be kept, and yet it was too long: our count is too low.
        CompactionTrigger::Overflow { .. } if all <= keep => all / 2,
        CompactionTrigger::Overflow { .. }
        | CompactionTrigger::Request
        | CompactionTrigger::Asked => keep,
    }
}

/// The first of the newest turns that fit together; the newest is always among them.
fn kept_from(sizes: &[u64], keep: u64) -> usize {
    let mut used: u64 = 0;
    let fitting = sizes.iter().rev().take_while(|size| {
        used = used.saturating_add(**size);
        used <= keep
    });
    sizes.len().saturating_sub(fitting.count().max(1))
}

/// Cuts outputs of what is left when nothing can be summarised.
fn shorten(
    question: &CompactionInput<'_>,
    limits: &CompactionLimits,
    (shown, tokens): (&VisibleBranch<'_>, u64),
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

/// Whether the last turns of the branch are compactions that made nothing shorter.
fn fruitless(branch: &[BranchTurn<'_>]) -> bool {
    let newest = branch.iter().rev().filter(|turn| !matches!(turn.kind, Kind::UnderWay));
    let vain = newest.take_while(|turn| match turn.kind {
        Kind::Compaction(one) => one.tokens_after >= one.tokens_before,
        Kind::Normal | Kind::UnderWay => false,
    });
    vain.count() >= COMPACTION_FRUITLESS_MAX
}
