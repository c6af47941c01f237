//! The part of a branch that a model is shown.
//!
//! The newest compaction of the branch decides: its summary comes first, then the turns that it
//! kept, then those after it. Compactions on other branches do not count.
//!
//! Must never: go by time; the order is that of the branch.

use std::collections::BTreeSet;
use std::fmt;

use agentry_protocol::context::Compaction;
use agentry_protocol::message::Message;
use agentry_protocol::{CallId, TurnId};

use super::branch_pruning::{BranchPruning, shown_content};
use crate::tokens::{self, TokenCounter};

/// A turn of a branch, oldest to newest.
#[derive(Clone, Copy, Debug)]
pub struct BranchTurn<'a> {
    /// The ID of the turn.
    pub id: &'a TurnId,
    /// The kind of the turn.
    pub kind: Kind<'a>,
    /// The tokens that it adds; None if no provider has counted them.
    pub tokens: Option<u64>,
    /// The messages that it adds.
    pub messages: &'a [Message],
}

/// The kind of a turn.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    /// A finished turn.
    Normal,
    /// The running turn, the last of its branch; it is never summarized.
    UnderWay,
    /// A turn whose summary replaces turns before it.
    Compaction(&'a Compaction),
}

/// The treatment of compactions when a branch is rebuilt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebuildMode {
    /// The newest summary replaces the turns that it covers.
    Compacted,
    /// Every turn is shown unchanged.
    Full,
}

/// A compaction that names a turn which does not precede it on its branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenCompaction {
    /// The ID of the compaction.
    pub compaction: TurnId,
    /// The ID of the turn that it names.
    pub turn: TurnId,
}

impl fmt::Display for BrokenCompaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the compaction {} keeps the turn {}, which is not before it; rebuild the session in full",
            self.compaction, self.turn
        )
    }
}

impl std::error::Error for BrokenCompaction {}

/// Returns the messages of a branch as the model is shown them.
pub fn assemble(
    branch: &[BranchTurn<'_>],
    pruned: &BranchPruning,
    rebuild: RebuildMode,
) -> Result<Vec<Message>, BrokenCompaction> {
    let shown = VisibleBranch::of(branch, rebuild)?;
    let summary = shown.summary.map(summary_message);
    let turns = shown.turns.iter().flat_map(|turn| turn.messages);
    Ok(summary.into_iter().chain(turns.map(|message| pruned.applied(message))).collect())
}

/// Returns the turns that this summary and the one before it cover, oldest first.
pub fn covered<'a>(
    branch: &[BranchTurn<'a>],
    compaction: &TurnId,
) -> Result<Vec<&'a TurnId>, BrokenCompaction> {
    let at = branch.iter().position(|turn| turn.id == compaction);
    let Some((at, Kind::Compaction(one))) = at.map(|at| (at, branch[at].kind)) else {
        return Ok(Vec::new());
    };
    let before = &branch[..at];
    let shown = VisibleBranch::of(before, RebuildMode::Compacted)?;
    let through = shown.turns.iter().position(|turn| *turn.id == one.summarized_through);
    let Some(through) = through else {
        let turn = one.summarized_through.clone();
        return Err(BrokenCompaction { compaction: compaction.clone(), turn });
    };
    let previous = before.iter().rev().find(|turn| matches!(turn.kind, Kind::Compaction(_)));
    let turns = shown.turns[..=through].iter().map(|turn| turn.id);
    Ok(previous.map(|turn| turn.id).into_iter().chain(turns).collect())
}

/// Wraps a summary into the message that the model is shown.
pub fn summary_message(summary: &str) -> Message {
    Message::user(format!("[Summary of the earlier turns of this session]\n\n{summary}"))
}

/// The part of a branch that is shown.
#[derive(Debug)]
pub(super) struct VisibleBranch<'a> {
    pub(super) summary: Option<&'a str>,
    // Invariant: no compactions among them, oldest first.
    pub(super) turns: Vec<BranchTurn<'a>>,
}

impl<'a> VisibleBranch<'a> {
    pub(super) fn of(
        branch: &[BranchTurn<'a>],
        rebuild: RebuildMode,
    ) -> Result<Self, BrokenCompaction> {
        let newest = branch.iter().enumerate().rev().find_map(|(at, turn)| match turn.kind {
            Kind::Compaction(one) => Some((at, turn.id, one)),
            Kind::Normal | Kind::UnderWay => None,
        });
        let (from, summary) = match (rebuild, newest) {
            (RebuildMode::Full, _) | (RebuildMode::Compacted, None) => (0, None),
            (RebuildMode::Compacted, Some((at, id, one))) => {
                (first_shown(&branch[..at], id, one)?, Some(one.summary.as_str()))
            }
        };
        let turns = branch[from..].iter().filter(|turn| !matches!(turn.kind, Kind::Compaction(_)));
        Ok(Self { summary, turns: turns.copied().collect() })
    }

    /// Counts the tokens of the summary and of each turn, after pruning.
    pub(super) fn sizes(&self, pruned: &BranchPruning, window: u64) -> BranchSizes {
        let summary = self.summary.map(summary_message);
        let is_untold = |turn: &&BranchTurn<'_>| turn.tokens.is_none();
        let untold = self.turns.iter().filter(is_untold).flat_map(|turn| turn.messages);
        let about = tokens::of_messages(untold.chain(&summary));
        let scale = TokenCounter::fitting(about, window);
        BranchSizes {
            summary: scale.of_messages(&summary),
            turns: self.turns.iter().map(|turn| turn.tokens(pruned, scale)).collect(),
        }
    }

    /// Moves a boundary to an earlier turn until no call before it has its outcome after it.
    pub(super) fn pair_boundary(&self, at: usize) -> usize {
        let mut from = at;
        loop {
            let (mut calls, mut outcomes) = (BTreeSet::new(), BTreeSet::new());
            for turn in &self.turns[from..] {
                pairs(turn.messages, &mut calls, &mut outcomes);
            }
            outcomes.retain(|call| !calls.contains(call));
            if outcomes.is_empty() {
                return from;
            }
            let earlier = &self.turns[..from];
            match earlier.iter().position(|turn| asks_one_of(turn.messages, &outcomes)) {
                Some(earlier) => from = earlier,
                None => return from,
            }
        }
    }
}

fn asks_one_of(messages: &[Message], wanted: &BTreeSet<&CallId>) -> bool {
    let (mut calls, mut outcomes) = (BTreeSet::new(), BTreeSet::new());
    pairs(messages, &mut calls, &mut outcomes);
    !calls.is_disjoint(wanted)
}

fn pairs<'a>(
    messages: &'a [Message],
    calls: &mut BTreeSet<&'a CallId>,
    outcomes: &mut BTreeSet<&'a CallId>,
) {
    for message in messages {
        match message {
            Message::Assistant { calls: asked, .. } => {
                calls.extend(asked.iter().map(|call| &call.id))
            }
            Message::Tool { call, .. } => {
                outcomes.insert(call);
            }
            Message::User { .. } => {}
        }
    }
}

/// The tokens of the shown part of a branch.
pub(super) struct BranchSizes {
    pub(super) summary: u64,
    /// Of each turn, in their order.
    pub(super) turns: Vec<u64>,
}

impl BranchSizes {
    pub(super) fn sum(&self) -> u64 {
        self.turns.iter().copied().fold(self.summary, u64::saturating_add)
    }
}

impl BranchTurn<'_> {
    /// Counts the tokens that the turn adds, after pruning.
    fn tokens(&self, pruned: &BranchPruning, scale: TokenCounter) -> u64 {
        let Some(all) = self.tokens else {
            let shown = self.messages.iter().map(|message| {
                if pruned.cuts(message) {
                    scale.of_messages([&pruned.applied(message)])
                } else {
                    scale.of_messages([message])
                }
            });
            return shown.sum();
        };
        let saved = self.messages.iter().map(|message| match message {
            Message::Tool { call, content, .. } => {
                saving(content, &shown_content(content, pruned.cut(call)))
            }
            Message::User { .. } | Message::Assistant { .. } => 0,
        });
        all.saturating_sub(saved.sum())
    }
}

/// Estimates the tokens saved by showing the second text instead of the first.
pub(super) fn saving(before: &str, after: &str) -> u64 {
    (tokens::estimate(before) as u64).saturating_sub(tokens::estimate(after) as u64)
}

/// Returns the position of the first turn that is shown beside a compaction.
fn first_shown(
    before: &[BranchTurn<'_>],
    compaction: &TurnId,
    one: &Compaction,
) -> Result<usize, BrokenCompaction> {
    let Some(first) = &one.first_kept else { return Ok(before.len()) };
    let at = before.iter().position(|turn| turn.id == first);
    at.ok_or_else(|| BrokenCompaction { compaction: compaction.clone(), turn: first.clone() })
}
