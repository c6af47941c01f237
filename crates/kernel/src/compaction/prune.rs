//! Prunes long outputs of old calls, in steps.
//!
//! A step lists the outputs and their cuts. It is recorded, and equal records always give an equal
//! prompt. A step is made only when it saves enough, and then prunes all it may, so that the
//! beginning of a prompt changes seldom. A later step only adds cuts.
//!
//! Must never: prune the outputs after the newest answers, or restore a pruned output.

use agentry_protocol::CallId;
use agentry_protocol::context::{OutputCut, PruningStep};
use agentry_protocol::message::Message;

use super::branch::{VisibleBranch, saving};
use super::branch_pruning::{BranchPruning, shown_content};
use crate::limits::{
    PRUNE_CHARS_MIN, PRUNE_CLEAR_PERCENT, PRUNE_HEAD_CHARS, PRUNE_PROTECTED_ANSWERS,
    PRUNE_TAIL_CHARS, PRUNE_TRIM_CHARS_MAX, PRUNE_TRIM_PERCENT,
};

/// The default cut for long outputs.
const TRIM: OutputCut =
    OutputCut::Trimmed { head_chars: PRUNE_HEAD_CHARS, tail_chars: PRUNE_TAIL_CHARS };

/// An output in the shown part of a branch.
struct PrunableOutput<'a> {
    call: &'a CallId,
    content: &'a str,
    cut: Option<OutputCut>,
}

impl PrunableOutput<'_> {
    fn chars(&self) -> usize {
        shown_content(self.content, self.cut).chars().count()
    }

    /// Returns the tokens that this cut saves compared with the output as shown now.
    fn saves(&self, cut: OutputCut) -> u64 {
        saving(&shown_content(self.content, self.cut), &shown_content(self.content, Some(cut)))
    }
}

/// Returns the next step and the tokens that it saves; None if no step is due.
pub(super) fn step(
    shown: &VisibleBranch<'_>,
    pruned: &BranchPruning,
    total: u64,
    window: u64,
) -> Option<(PruningStep, u64)> {
    let over = |tokens: u64, percent: u64| {
        u128::from(tokens) * 100 > u128::from(window) * u128::from(percent)
    };
    if !over(total, PRUNE_TRIM_PERCENT) {
        return None;
    }
    let old = old_outputs(shown, pruned);
    let long = |output: &&PrunableOutput<'_>| {
        output.cut.is_none() && output.chars() > PRUNE_TRIM_CHARS_MAX
    };
    let trim = cut_all(old.iter().filter(long), TRIM);
    let left = total.saturating_sub(trim.as_ref().map_or(0, |(_, saved)| *saved));
    if over(left, PRUNE_CLEAR_PERCENT) {
        let open = |output: &&PrunableOutput<'_>| output.cut != Some(OutputCut::Cleared);
        let clear = cut_all(old.iter().filter(open), OutputCut::Cleared);
        return clear.or(trim);
    }
    trim
}

/// Cuts all of these outputs; None if their total length is below the minimum.
fn cut_all<'a, 'b: 'a>(
    outputs: impl Iterator<Item = &'a PrunableOutput<'b>>,
    cut: OutputCut,
) -> Option<(PruningStep, u64)> {
    let worth: Vec<(&PrunableOutput<'_>, u64)> =
        outputs.map(|output| (output, output.saves(cut))).filter(|(_, saved)| *saved > 0).collect();
    let chars: usize = worth.iter().map(|(output, _)| output.chars()).sum();
    let cuts = worth.iter().map(|(output, _)| (output.call.clone(), cut)).collect();
    let saved = worth.iter().map(|(_, saved)| saved).sum();
    (chars >= PRUNE_CHARS_MIN).then_some((PruningStep { cuts }, saved))
}

/// Cuts the longest outputs until so many tokens are saved; else Err with the tokens saved.
pub(super) fn shorten(
    shown: &VisibleBranch<'_>,
    pruned: &BranchPruning,
    save: u64,
) -> Result<PruningStep, u64> {
    let mut outputs = outputs(shown, pruned, usize::MAX);
    // The sort is stable, so equal lengths stay in the order of the branch.
    outputs.sort_by_key(|output| std::cmp::Reverse(output.chars()));
    let mut saved = 0;
    let mut cuts: Vec<(CallId, OutputCut)> = Vec::new();
    for cut in [TRIM, OutputCut::Cleared] {
        for output in &mut outputs {
            let gain = output.saves(cut);
            if saved >= save || gain == 0 || output.cut.is_some_and(|before| before >= cut) {
                continue;
            }
            saved += gain;
            output.cut = Some(cut);
            cuts.retain(|(call, _)| call != output.call);
            cuts.push((output.call.clone(), cut));
        }
    }
    let enough = saved >= save && !cuts.is_empty();
    if enough { Ok(PruningStep { cuts }) } else { Err(saved) }
}

/// Returns the outputs before the newest answers.
fn old_outputs<'a>(shown: &VisibleBranch<'a>, pruned: &BranchPruning) -> Vec<PrunableOutput<'a>> {
    let messages: Vec<&Message> = shown.turns.iter().flat_map(|turn| turn.messages).collect();
    let answers = messages.iter().enumerate().rev();
    let mut answers = answers.filter(|(_, message)| matches!(message, Message::Assistant { .. }));
    let until = answers.nth(PRUNE_PROTECTED_ANSWERS - 1).map_or(0, |(at, _)| at);
    outputs(shown, pruned, until)
}

/// Returns the outputs among the first so many messages.
fn outputs<'a>(
    shown: &VisibleBranch<'a>,
    pruned: &BranchPruning,
    until: usize,
) -> Vec<PrunableOutput<'a>> {
    let messages = shown.turns.iter().flat_map(|turn| turn.messages).take(until);
    let outputs = messages.filter_map(|message| match message {
        Message::Tool { call, content, .. } => {
            Some(PrunableOutput { call, content, cut: pruned.cut(call) })
        }
        Message::User { .. } | Message::Assistant { .. } => None,
    });
    outputs.collect()
}
