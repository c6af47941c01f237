//! After any history, likely or not, the views are what a rebuild makes of it.

use agentry_protocol::access::Effect;
use agentry_protocol::approval::ApprovalAnswer;
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::{Ending, Event, Mode, Permit, StepStatus};
use agentry_protocol::event_hook::Circuit;
use agentry_protocol::intake::UnrunReason;
use agentry_protocol::job::JobState;
use agentry_protocol::tool_call::{OutcomeStatus, ToolOutcome};
use agentry_protocol::verdict::{Ruling, Verdict};
use agentry_store::{Error, InvocationFilter, JobFilter};
use proptest::prelude::*;
use serde_json::json;

use crate::event_hooks::{self, Came};
use crate::inbounds;
use crate::jobs;
use crate::requests::asks_for;
use crate::scene::{
    Scene, answers, apr, asks, call, draft, ends, opened, plan, prompt, run, ses, starts,
    tool_call, trn, under,
};
use crate::spending::replied;

fn endings() -> impl Strategy<Value = Ending> {
    prop::sample::select(vec![Ending::Done, Ending::Failed, Ending::Denied, Ending::Cancelled])
}

/// A small world, so that things meet.
fn number() -> impl Strategy<Value = u128> {
    0_u128..4
}

fn lives() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(prompt("hello")),
        prop::option::of(0..9_u64).prop_map(|cost| replied(cost, 3)),
        (number(), prop::option::of(number()))
            .prop_map(|(key, head)| opened(&format!("key {key}"), head.map(trn))),
        (0..3_usize).prop_map(|steps| plan("hello", steps)),
        Just(Event::RunResumed {}),
        number().prop_map(|approval| Event::RunPaused { approvals: vec![apr(approval)] }),
        endings().prop_map(|ending| Event::RunEnded { ending, message: None }),
        (0..3_u32).prop_map(|index| Event::StepStarted { index }),
        (0..3_u32).prop_map(|index| Event::StepEnded { index, status: StepStatus::Succeeded }),
        Just(Event::ModeReceived { mode: Mode::Autonomous, max_iterations: Some(3) }),
        prop::option::of(number()).prop_map(|parent| starts(parent.map(trn))),
        endings().prop_map(ends),
    ]
}

fn calls() -> impl Strategy<Value = Event> {
    let ruling = Ruling { verdict: Verdict::Ask, findings: Vec::new() };
    prop_oneof![
        number().prop_map(move |id| Event::CallProposed {
            call: tool_call(id, json!({"b": 1.0, "a": "x"})),
            ruling: ruling.clone(),
        }),
        (number(), number()).prop_map(|(approval, call)| asks(approval, call)),
        (number(), any::<bool>()).prop_map(|(approval, allow)| answers(approval, allow)),
        number().prop_map(|number| asks_for(number, "mom", 1_000)),
        number().prop_map(|number| Event::ApprovalAnswered {
            approval: apr(number),
            answer: ApprovalAnswer::expired(),
        }),
        number().prop_map(|id| Event::CallStarted {
            call: call(id),
            by: Permit::Mode {},
            under: under(),
            edited: None,
        }),
        number().prop_map(|id| Event::CallFinished {
            call: call(id),
            outcome: ToolOutcome::new(OutcomeStatus::Uncertain, "?"),
        }),
        number().prop_map(|id| Event::CallRefused { call: call(id), why: String::new() }),
        number().prop_map(|id| Event::CallStopped { call: call(id) }),
        number().prop_map(|id| Event::CallWithheld { call: call(id), facts: Default::default() }),
    ]
}

/// The way in, likely or not.
fn comes_in() -> impl Strategy<Value = Event> {
    let effects = prop::sample::select(vec![Effect::Allow, Effect::Deny]);
    let whys = prop::sample::select(vec![UnrunReason::Summarized, UnrunReason::Cap]);
    prop_oneof![
        number().prop_map(inbounds::received),
        (number(), effects).prop_map(|(number, effect)| inbounds::decided(number, effect, vec![])),
        number().prop_map(inbounds::routed),
        (number(), whys).prop_map(|(number, why)| inbounds::unrun(number, why)),
        number().prop_map(inbounds::steer),
        (0..40_u64).prop_map(|input| Event::InputTaken { input }),
        prop::collection::vec(number(), 1..3).prop_map(|numbers| inbounds::answering(&numbers)),
        number().prop_map(inbounds::delivered),
    ]
}

fn works() -> impl Strategy<Value = Event> {
    let fence = || 1..3_u32;
    let states = prop::sample::select(JobState::ALL.to_vec());
    prop_oneof![
        number().prop_map(jobs::queued),
        (number(), fence()).prop_map(|(number, fence)| jobs::leased(number, fence)),
        (number(), fence()).prop_map(|(number, fence)| jobs::started(number, fence)),
        (number(), fence()).prop_map(|(number, fence)| jobs::renewed(number, fence)),
        number().prop_map(jobs::returned),
        (number(), prop::option::of(fence()), states)
            .prop_map(|(number, fence, state)| jobs::ended(number, fence, state)),
        (0..9_u64).prop_map(jobs::kept),
        Just(jobs::trusted("/a")),
        Just(jobs::withdrawn("/a")),
        number().prop_map(crate::tokens::issued),
        number().prop_map(crate::tokens::revoked),
    ]
}

fn looks() -> impl Strategy<Value = Event> {
    let cames = prop::sample::select(vec![Came::Quiet, Came::Fired, Came::Failed]);
    let circuits = prop::sample::select(vec![Circuit::default(), event_hooks::open()]);
    prop_oneof![
        (number(), number(), 1..3_u32).prop_map(|(number, name, version)| {
            event_hooks::registered(number, &format!("hook {name}"), version)
        }),
        number().prop_map(event_hooks::enabled),
        number().prop_map(event_hooks::disabled),
        number().prop_map(event_hooks::deleted),
        (number(), prop::collection::vec(number(), 0..3))
            .prop_map(|(number, hooks)| event_hooks::matched(number, &hooks)),
        (number(), number()).prop_map(|(number, of)| event_hooks::begun(number, of)),
        (number(), number(), cames, circuits).prop_map(|(number, of, came, circuit)| {
            event_hooks::invoked(number, of, came, circuit)
        }),
        number().prop_map(event_hooks::settled),
    ]
}

fn abouts() -> impl Strategy<Value = EntrySubject> {
    // Mostly about everything; sometimes something is not said.
    let maybe = || prop::option::weighted(0.9, number());
    (maybe(), maybe(), maybe()).prop_map(|(session, run_of, turn)| EntrySubject {
        session: session.map(ses),
        run: run_of.map(run),
        turn: turn.map(trn),
    })
}

fn histories() -> impl Strategy<Value = Vec<Vec<Draft>>> {
    let event =
        prop_oneof![3 => lives(), 2 => calls(), 3 => comes_in(), 3 => works(), 3 => looks()];
    let one = (abouts(), event).prop_map(|(about, event)| draft(&about, event));
    prop::collection::vec(prop::collection::vec(one, 1..4), 1..90)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn views_equal_their_rebuild_after_any_history(history in histories()) {
        let scene = Scene::new();
        let mut written = 0;
        for drafts in history {
            let count = drafts.len() as u64;
            match scene.ledger.append(drafts) {
                Ok(_) => written += count,
                Err(
                    Error::HeadMoved { .. }
                    | Error::NotWaiting { .. }
                    | Error::SessionExists { .. }
                    | Error::Repeated { .. }
                    | Error::Handled { .. }
                    | Error::JobMoved { .. }
                    | Error::Fenced { .. }
                    | Error::WorkspaceLocked { .. }
                    | Error::HookNameTaken { .. }
                    | Error::HookVersion { .. }
                    | Error::HookDeleted { .. }
                    | Error::HooksMatched { .. }
                    | Error::HooksPending { .. }
                    | Error::InvocationMoved { .. }
                    | Error::TokenGone { .. },
                ) => {}
                Err(other) => panic!("{other}"),
            }
        }
        prop_assert_eq!(scene.ledger.last_seq().unwrap(), written);
        let views = scene.ledger.dump_views().unwrap();
        prop_assert_eq!(scene.defects(), []);
        scene.ledger.rebuild_views().unwrap();
        prop_assert_eq!(scene.ledger.dump_views().unwrap(), views);
        // Every row can be read back.
        scene.ledger.sessions().unwrap();
        scene.ledger.approvals().unwrap();
        scene.ledger.inbounds(usize::MAX).unwrap();
        scene.ledger.jobs(JobFilter::default()).unwrap();
        scene.ledger.event_hooks(true).unwrap();
        scene.ledger.hook_events_open(usize::MAX).unwrap();
        scene.ledger.invocations(&InvocationFilter::default()).unwrap();
        scene.ledger.all_trusted().unwrap();
        scene.ledger.tokens().unwrap();
        for row in scene.ledger.runs(usize::MAX).unwrap() {
            scene.ledger.steps(&row.id).unwrap();
            scene.ledger.calls_of_run(&row.id).unwrap();
            for turn in scene.ledger.turns_of_run(&row.id).unwrap() {
                scene.ledger.branch(&turn.id, usize::MAX).unwrap();
            }
        }
    }
}
