//! Which long outputs are cut, when, and to what.

use agentry_kernel::compaction::{
    BranchPruning, CompactionAction, CompactionInput, CompactionLimits, CompactionTrigger,
    RebuildMode, assemble, plan,
};
use agentry_protocol::context::{OutputCut, PruningStep};
use agentry_protocol::message::Message;

use super::session::{Turn, call_id, turn, turn_with_calls, view};

const TRIM: OutputCut = OutputCut::Trimmed { head_chars: 1_500, tail_chars: 1_500 };

/// The step that is due for these turns in a window of so many tokens.
fn due(turns: &[Turn], pruned: &BranchPruning, window: u64) -> Option<PruningStep> {
    let question = CompactionInput {
        branch: &view(turns),
        pruned,
        other_tokens: 0,
        trigger: CompactionTrigger::Request,
    };
    match plan(&question, &CompactionLimits { window, reserve: 0, keep: 1 }) {
        Ok(CompactionAction::PruneOnly { pruning }) => Some(pruning),
        Ok(CompactionAction::Nothing) => None,
        other => panic!("{other:?}"),
    }
}

fn cuts(calls: &[u32], cut: OutputCut) -> Option<PruningStep> {
    Some(PruningStep { cuts: calls.iter().map(|call| (call_id(*call), cut)).collect() })
}

/// A turn with outputs, and three answers after it that protect what is theirs.
fn old(outputs: &[(u32, usize)]) -> Vec<Turn> {
    vec![turn_with_calls(1, outputs), turn(2, 10), turn(3, 10), turn(4, 10)]
}

#[test]
fn long_outputs_are_trimmed_over_thirty_percent() {
    // 60,000 characters are 15,000 tokens and a little.
    let all = old(&[(1, 4_000), (2, 4_001), (3, 51_999)]);
    assert_eq!(due(&all, &BranchPruning::default(), 50_100), cuts(&[2, 3], TRIM));
    assert_eq!(due(&all, &BranchPruning::default(), 51_000), None, "it is not full enough");
}

#[test]
fn nothing_is_cut_before_it_is_worth_it() {
    assert_eq!(due(&old(&[(1, 49_999)]), &BranchPruning::default(), 30_000), None);
    assert_eq!(due(&old(&[(1, 50_000)]), &BranchPruning::default(), 30_000), cuts(&[1], TRIM));
}

#[test]
fn outputs_after_the_third_newest_answer_are_left_alone() {
    let mut all = old(&[(1, 60_000)]);
    assert_eq!(due(&all, &BranchPruning::default(), 30_000), cuts(&[1], TRIM));
    all.pop();
    // The answer of the turn itself is now the third from the end.
    assert_eq!(due(&all, &BranchPruning::default(), 30_000), cuts(&[1], TRIM));
    all.pop();
    assert_eq!(due(&all, &BranchPruning::default(), 30_000), None);
}

#[test]
fn outputs_are_cleared_over_fifty_percent_if_trimming_does_not_do() {
    // Twenty outputs that are too short to trim: 60,000 characters.
    let short: Vec<(u32, usize)> = (1..=20).map(|call| (call, 3_000)).collect();
    let all = old(&short);
    let every: Vec<u32> = (1..=20).collect();
    assert_eq!(due(&all, &BranchPruning::default(), 50_000), None, "they are not trimmed");
    assert_eq!(due(&all, &BranchPruning::default(), 28_000), cuts(&every, OutputCut::Cleared));
    // Trimming does here.
    assert_eq!(due(&old(&[(1, 60_000)]), &BranchPruning::default(), 28_000), cuts(&[1], TRIM));
}

#[test]
fn a_later_step_only_adds() {
    let mut pruned = BranchPruning::default();
    let mut all = old(&[(1, 60_000), (2, 100)]);
    let first = due(&all, &pruned, 30_000).unwrap();
    pruned.add(&first);
    assert_eq!(due(&all, &pruned, 30_000), None, "it is done");
    all.splice(1..1, old(&[(3, 20_000), (4, 40_000)]));
    let second = due(&all, &pruned, 30_000).unwrap();
    assert_eq!(Some(second.clone()), cuts(&[3, 4], TRIM));
    pruned.add(&second);
    assert_eq!(pruned, BranchPruning::by([&first, &second]));
    let clear = PruningStep { cuts: vec![(call_id(1), OutputCut::Cleared)] };
    pruned.add(&clear);
    pruned.add(&first);
    assert_eq!(
        pruned,
        BranchPruning::by([&first, &second, &clear]),
        "what is cleared is not brought back"
    );
}

#[test]
fn what_is_cut_says_so_and_the_same_record_gives_the_same_text() {
    let shown = |chars: usize, cut: OutputCut| {
        let record = serde_json::to_string(&PruningStep { cuts: vec![(call_id(7), cut)] }).unwrap();
        let read: PruningStep = serde_json::from_str(&record).unwrap();
        let content: String = "7:".chars().chain(std::iter::repeat('x')).take(chars).collect();
        let whole = Message::Tool { call: call_id(7), content, ok: true };
        match BranchPruning::by([&read]).applied(&whole) {
            Message::Tool { content, ok: true, .. } => content,
            other => panic!("{other:?}"),
        }
    };
    let trimmed = shown(10_000, TRIM);
    assert!(trimmed.starts_with("7:xxx"));
    assert!(trimmed.ends_with(
        "xxx\n\n[Tool output trimmed: the first 1500 and the last 1500 of 10000 characters are shown.]"
    ));
    assert_eq!(trimmed.matches('x').count(), 3_000 - "7:".len() + "the first".matches('x').count());
    assert_eq!(
        shown(10_000, OutputCut::Cleared),
        "[Old tool output cleared: it had 10000 characters.]"
    );
    assert_eq!(shown(5, OutputCut::Cleared), "7:xxx", "a cut never makes longer");
}

#[test]
fn a_cut_never_parts_a_character() {
    let content = "é".repeat(10_000);
    let one = Message::Tool { call: call_id(1), content, ok: false };
    let pruned = BranchPruning::by([&PruningStep { cuts: vec![(call_id(1), TRIM)] }]);
    let Message::Tool { content, ok: false, .. } = pruned.applied(&one) else { panic!() };
    assert_eq!(content.matches('é').count(), 3_000);
}

#[test]
fn only_outputs_are_cut() {
    let all = old(&[(1, 60_000)]);
    let pruned = BranchPruning::by(&due(&all, &BranchPruning::default(), 30_000));
    let full = assemble(&view(&all), &BranchPruning::default(), RebuildMode::Compacted).unwrap();
    let shown = assemble(&view(&all), &pruned, RebuildMode::Compacted).unwrap();
    let changed = full.iter().zip(&shown).filter(|(before, after)| before != after);
    assert_eq!((full.len(), changed.count()), (shown.len(), 1));
}
