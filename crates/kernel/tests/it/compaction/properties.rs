//! A session that grows, is pruned and compacted as planned, and what always holds of it.

use std::collections::BTreeSet;

use agentry_kernel::compaction::{
    BranchPruning, CompactionAction, CompactionError, CompactionInput, CompactionLimits,
    CompactionTrigger, RebuildMode, assemble, plan,
};
use agentry_kernel::tokens;
use agentry_protocol::CallId;
use agentry_protocol::message::Message;
use proptest::prelude::*;

use super::session::{Turn, compacted, id, turn, turn_with_calls, view};

const OTHER: u64 = 1_000;

struct Session {
    branch: Vec<Turn>,
    pruned: BranchPruning,
    limits: CompactionLimits,
    calls: u32,
    shown: Vec<Message>,
}

impl Session {
    fn ask(&self, trigger: CompactionTrigger) -> Result<CompactionAction, CompactionError> {
        let branch = view(&self.branch);
        plan(
            &CompactionInput {
                branch: &branch,
                pruned: &self.pruned,
                other_tokens: OTHER,
                trigger,
            },
            &self.limits,
        )
    }

    fn assembled(&self) -> Vec<Message> {
        assemble(&view(&self.branch), &self.pruned, RebuildMode::Compacted)
            .expect("no plan breaks a branch")
    }

    /// Does what is planned until nothing is, and says whether anything was done.
    fn settle(&mut self, first: CompactionTrigger) -> Result<bool, CompactionError> {
        let mut trigger = first;
        let mut changed = false;
        for tries in 0.. {
            assert!(tries < 10, "plans come to an end");
            match self.ask(trigger)? {
                CompactionAction::Nothing if trigger == CompactionTrigger::Request => {
                    return Ok(changed);
                }
                CompactionAction::Nothing => {}
                CompactionAction::PruneOnly { pruning }
                | CompactionAction::OneGiantTurn { truncate: pruning } => {
                    assert!(!pruning.cuts.is_empty());
                    self.pruned.add(&pruning);
                    changed = true;
                }
                CompactionAction::Compact(compact) => {
                    assert!(!compact.summarize.is_empty(), "never summarises nothing");
                    let words = usize::try_from(compact.summary_tokens_max)
                        .expect("a small number")
                        .saturating_sub(20);
                    let number = u32::try_from(self.branch.len()).expect("a short branch");
                    self.branch.push(compacted(number, &compact, &" the".repeat(words)));
                    changed = true;
                }
            }
            trigger = CompactionTrigger::Request;
        }
        unreachable!("the loop ends by itself")
    }

    fn say(&mut self, outputs: &[usize]) {
        let number = u32::try_from(self.branch.len()).expect("a short branch");
        let from = self.calls;
        self.calls += u32::try_from(outputs.len()).expect("a few outputs");
        let outputs: Vec<(u32, usize)> = (from..).zip(outputs.iter().copied()).collect();
        self.branch.push(turn_with_calls(number, &outputs));
    }

    /// What holds of every prompt.
    fn holds(&mut self, changed: bool) {
        let shown = self.assembled();
        let room = self.limits.room() - OTHER;
        assert!(tokens::of_messages(&shown) <= room, "it fits");
        let mut calls: BTreeSet<&CallId> = BTreeSet::new();
        let mut outcomes: BTreeSet<&CallId> = BTreeSet::new();
        let mut asked = BTreeSet::new();
        for message in &shown {
            match message {
                Message::User { content, .. } => assert!(asked.insert(content), "{content} twice"),
                Message::Assistant { calls: made, .. } => {
                    assert!(made.iter().all(|call| calls.insert(&call.id)), "a call twice");
                }
                Message::Tool { call, .. } => {
                    assert!(calls.contains(call), "no outcome before its call");
                    assert!(outcomes.insert(call), "an outcome twice");
                }
            }
        }
        assert_eq!(calls, outcomes, "pairs stay whole");
        if !changed {
            assert!(shown.starts_with(&self.shown), "a prompt begins with the one before");
        }
        let newest = self.branch.iter().rev().find(|turn| turn.compaction.is_none());
        if let Some(newest) = newest {
            let tail = &shown[shown.len() - newest.messages.len()..];
            assert_eq!(tail[0], newest.messages[0], "the newest turn is shown");
        }
        let full = assemble(&view(&self.branch), &BranchPruning::default(), RebuildMode::Full)
            .expect("no compaction is read");
        let every = self.branch.iter().flat_map(|turn| turn.messages.clone());
        assert_eq!(full, every.collect::<Vec<_>>(), "nothing is deleted");
        self.shown = shown;
    }
}

fn outputs() -> impl Strategy<Value = Vec<usize>> {
    let chars = prop_oneof![5 => 10..6_000_usize, 3 => 4_000..40_000_usize, 1 => 0..300_000_usize];
    prop::collection::vec(chars, 0..5)
}

fn trigger() -> impl Strategy<Value = CompactionTrigger> {
    prop_oneof![
        8 => Just(CompactionTrigger::Request),
        1 => Just(CompactionTrigger::Overflow { again: false }),
        1 => Just(CompactionTrigger::Asked),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn a_session_that_grows_always_fits_and_keeps_its_beginning_between_steps(
        window in 8_000..200_000_u64,
        turns in prop::collection::vec((outputs(), trigger()), 1..16),
    ) {
        let limits = CompactionLimits::of_window(window);
        let (branch, shown) = (Vec::new(), Vec::new());
        let mut session = Session { branch, pruned: BranchPruning::default(), limits, calls: 1, shown };
        for (outputs, trigger) in turns {
            session.say(&outputs);
            match session.settle(trigger) {
                Ok(changed) => session.holds(changed),
                // An overflow that nobody counted may ask for more than there is to cut.
                Err(stuck) => prop_assert!(
                    trigger != CompactionTrigger::Request && matches!(stuck, CompactionError::TooLarge { .. }), "{}", stuck
                ),
            }
        }
    }

    #[test]
    fn steps_are_seldom(turns in prop::collection::vec(1_000..9_000_usize, 40)) {
        let limits = CompactionLimits { window: 1_000_000, reserve: 20_000, keep: 30_000 };
        let (branch, shown) = (vec![turn(0, 400_000)], Vec::new());
        let mut session = Session { branch, pruned: BranchPruning::default(), limits, calls: 1, shown };
        let mut steps = 0;
        let mut chars = 0;
        for one in turns {
            chars += one;
            session.say(&[one]);
            steps += usize::from(session.settle(CompactionTrigger::Request).is_ok_and(|changed| changed));
        }
        prop_assert!(steps <= chars / 50_000, "{} steps for {} characters", steps, chars);
    }
}

#[test]
fn the_same_facts_give_the_same_plan() {
    let turns: Vec<Turn> = (1..40).map(|number| turn(number, 7_000)).collect();
    let session = Session {
        branch: turns,
        pruned: BranchPruning::default(),
        limits: CompactionLimits::of_window(128_000),
        calls: 1,
        shown: Vec::new(),
    };
    let one = session.ask(CompactionTrigger::Request);
    assert_eq!(one, session.ask(CompactionTrigger::Request));
    let Ok(CompactionAction::Compact(compact)) = one else { panic!("{one:?}") };
    assert_eq!(compact.first_kept, Some(id(36)), "four turns of 7,000 fit in 30,000");
}
