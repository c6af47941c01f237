//! What a model is shown of a branch with compactions and forks.

use agentry_kernel::compaction::{BranchPruning, RebuildMode, assemble, covered};

use super::session::{Turn, compaction, id, turn, view, words};

#[track_caller]
fn check(turns: &[Turn], expected: &str) {
    let shown = assemble(&view(turns), &BranchPruning::default(), RebuildMode::Compacted)
        .expect("a whole branch");
    assert_eq!(words(&shown), expected);
}

/// 1 2 3 C4(keeps 3) 5 6 C7(keeps 6) 8
fn session() -> Vec<Turn> {
    vec![
        turn(1, 1),
        turn(2, 1),
        turn(3, 1),
        compaction(4, 2, 3, "first"),
        turn(5, 1),
        turn(6, 1),
        compaction(7, 5, 6, "second"),
        turn(8, 1),
    ]
}

#[test]
fn kept_turns_are_shown_once_between_the_summary_and_what_came_after() {
    let all = session();
    check(&all[..3], "q1 | a1 | q2 | a2 | q3 | a3");
    check(&all[..4], "summary first | q3 | a3");
    check(&all[..5], "summary first | q3 | a3 | q5 | a5");
    check(&all, "summary second | q6 | a6 | q8 | a8");
}

#[test]
fn a_kept_range_that_holds_an_earlier_compaction_skips_it() {
    let mut all = session();
    all[6] = compaction(7, 2, 3, "second");
    check(&all, "summary second | q3 | a3 | q5 | a5 | q6 | a6 | q8 | a8");
}

#[test]
fn a_compaction_may_keep_nothing_before_it() {
    let mut all = session();
    all[6].compaction.as_mut().unwrap().first_kept = None;
    check(&all, "summary second | q8 | a8");
}

#[test]
fn a_fork_is_shown_by_what_leads_to_it() {
    let all = session();
    let fork = |until: usize, number: u32| {
        let mut branch = all[..until].to_vec();
        branch.push(turn(number, 1));
        branch
    };
    check(&fork(1, 20), "q1 | a1 | q20 | a20");
    // The compaction that kept turn 3 is not on this branch.
    check(&fork(3, 21), "q1 | a1 | q2 | a2 | q3 | a3 | q21 | a21");
    check(&fork(4, 22), "summary first | q3 | a3 | q22 | a22");
    // Turn 5 was summarised later; its own time's summary holds.
    check(&fork(5, 23), "summary first | q3 | a3 | q5 | a5 | q23 | a23");
    check(&fork(8, 24), "summary second | q6 | a6 | q8 | a8 | q24 | a24");
    check(&all, "summary second | q6 | a6 | q8 | a8");
}

#[test]
fn a_full_rebuild_shows_every_turn_as_it_is() {
    let all = session();
    let shown = assemble(&view(&all[..5]), &BranchPruning::default(), RebuildMode::Full).unwrap();
    assert_eq!(words(&shown), "q1 | a1 | q2 | a2 | q3 | a3 | q5 | a5");
}

#[test]
fn what_a_compaction_stands_for_can_be_listed() {
    let all = session();
    let branch = view(&all);
    assert_eq!(covered(&branch, &id(4)).unwrap(), [&id(1), &id(2)]);
    assert_eq!(covered(&branch, &id(7)).unwrap(), [&id(4), &id(3), &id(5)]);
    assert!(covered(&branch, &id(5)).unwrap().is_empty(), "it is no compaction");
    let wrong = [turn(1, 1), compaction(2, 9, 1, "s")];
    assert!(covered(&view(&wrong), &id(2)).is_err());
}

#[test]
fn a_compaction_is_the_same_after_it_was_written_down() {
    let one = session()[3].compaction.clone().unwrap();
    let written = serde_json::to_string(&one).unwrap();
    assert_eq!(
        serde_json::from_str::<agentry_protocol::context::Compaction>(&written).unwrap(),
        one
    );
}
