//! The results of the hooks before a turn, also of those that another process started.
//!
//! Must never: run a hook.

use std::collections::VecDeque;

use agentry_protocol::envelope::Envelope;
use agentry_protocol::event::Event;
use agentry_protocol::hook::{HookChange, HookMoment, HookReport, HookResult, TurnShape};

/// The outcome of the hooks before a turn.
#[derive(Debug, Default)]
pub(crate) struct PreTurnOutcome {
    /// The changes to the turn.
    pub(crate) shaping: TurnShape,
    /// Texts that are added to the prompt.
    pub(crate) context: Vec<String>,
    /// The reason why the turn must not begin; None if it may.
    pub(crate) blocked: Option<String>,
}

/// A hook that another process started for a turn that has not begun.
pub(crate) struct InheritedHook {
    pub(crate) moment: HookMoment,
    pub(crate) program: String,
    pub(crate) report: Option<HookReport>,
}

/// Returns the hooks that were started since the last turn of a run began.
pub(crate) fn left_hooks(entries: &[Envelope]) -> VecDeque<InheritedHook> {
    let mut left = VecDeque::new();
    for entry in entries {
        if let Event::TurnStarted(plan) = &entry.event {
            // A compaction keeps the answers of the turn after it, but not those of its own hooks.
            let makes_room = plan.compaction.is_some();
            left.retain(|one: &InheritedHook| makes_room && one.moment != HookMoment::PreCompact);
        }
        let Event::Hook(change) = &entry.event else { continue };
        match change {
            HookChange::Started { number: 0, moment, program, .. } => {
                let (moment, program) = (*moment, program.clone());
                left.push_back(InheritedHook { moment, program, report: None });
            }
            HookChange::Finished { number: 0, report, .. } => {
                if let Some(last) = left.back_mut() {
                    last.report = Some((**report).clone());
                }
            }
            HookChange::Started { .. }
            | HookChange::Finished { .. }
            | HookChange::StateSet { .. } => {}
        }
    }
    left
}

/// Returns the report for a hook with an unknown ending: it has no effect and is not run again.
pub(crate) fn uncertain_hook() -> HookReport {
    let why = "the process stopped while it was under way, so its result is unknown; it is not run \
               again";
    let result = HookResult::Failed { why: why.to_owned() };
    HookReport { job: None, result, notes: Vec::new(), facts: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentry_protocol::envelope::{EntrySubject, LedgerStream};
    use agentry_protocol::event::TurnPlan;
    use serde_json::{Value, json};

    fn entry(event: Event) -> Envelope {
        let (cause, about) = (None, EntrySubject::default());
        Envelope { seq: 1, time: 1, cause, version: 1, stream: LedgerStream::Turns, about, event }
    }

    fn started(moment: HookMoment) -> Envelope {
        let program = "hooks/x".to_owned();
        entry(Event::Hook(HookChange::Started { number: 0, moment, program, call: None }))
    }

    fn turn(compaction: Value) -> Envelope {
        let plan = json!({ "prompt": "", "charter": {}, "compaction": compaction });
        let plan: TurnPlan = serde_json::from_value(plan).unwrap();
        entry(Event::TurnStarted(Box::new(plan)))
    }

    #[test]
    fn the_hooks_of_a_turn_are_found_again_also_when_room_was_made_for_it_first() {
        let room = json!({ "reason": "window", "summarized_through": "trn_1", "tokens_before": 1,
                           "tokens_kept": 1 });
        let moments = |entries: &[Envelope]| -> Vec<HookMoment> {
            left_hooks(entries).iter().map(|left| left.moment).collect()
        };
        let before = [started(HookMoment::BeforeInference), started(HookMoment::PreCompact)];
        assert_eq!(moments(&before), [HookMoment::BeforeInference, HookMoment::PreCompact]);
        let [one, other] = before;
        assert_eq!(moments(&[one.clone(), other, turn(room)]), [HookMoment::BeforeInference]);
        assert_eq!(moments(&[one, turn(json!(null))]), []);
    }
}
