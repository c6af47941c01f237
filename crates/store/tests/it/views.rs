//! What the views say as a story goes on.

use agentry_protocol::approval::ApprovalScope;
use agentry_protocol::envelope::EntrySubject;
use agentry_protocol::event::{Ending, Event, Mode, Permit, StepStatus};
use agentry_protocol::tool_call::{OutcomeStatus, ToolOutcome};
use agentry_protocol::verdict::{Ruling, Verdict};
use agentry_store::limits::VIEW_PROMPT_BYTES_MAX;
use agentry_store::{ApprovalStatus, CallStatus, RunStatus, TurnStatus};
use serde_json::json;

use crate::scene::{
    START, Scene, WORKS, about, answers, apr, asks, begun, call, draft, ends, opened, plan, run,
    ses, starts, tool_call, trn, under,
};

fn status(scene: &Scene) -> RunStatus {
    scene.ledger.run(&run(1)).expect(WORKS).expect(WORKS).status
}

fn run_ends(ending: Ending) -> Event {
    Event::RunEnded { ending, message: None }
}

#[test]
fn a_run_is_planned_then_runs_waits_and_ends() {
    let scene = Scene::new();
    let about = about(1);
    scene.add(&about, plan("hello", 1));
    assert_eq!(status(&scene), RunStatus::Planned);
    scene.add(&about, starts(None));
    assert_eq!(status(&scene), RunStatus::Running);
    scene.add(&about, asks(1, 1));
    scene.add(&about, asks(2, 2));
    assert_eq!(status(&scene), RunStatus::PausedForApproval);
    scene.add(&EntrySubject::default(), answers(1, true));
    assert_eq!(status(&scene), RunStatus::PausedForApproval);
    scene.add(&EntrySubject::default(), answers(2, false));
    assert_eq!(status(&scene), RunStatus::Running);
    scene.add(&about, run_ends(Ending::Done));
    assert_eq!(status(&scene), RunStatus::Completed);
    scene.add(&about, Event::RunResumed {});
    scene.add(&about, run_ends(Ending::Failed));
    let row = scene.ledger.run(&run(1)).unwrap().unwrap();
    assert_eq!((row.status, row.ending), (RunStatus::Completed, Some(Ending::Done)));
    assert!(row.created >= START && row.ended > Some(row.created));
}

#[test]
fn a_run_that_was_let_go_waits_until_it_is_taken_up() {
    let scene = begun();
    scene.add(&about(1), asks(1, 1));
    scene.add(&about(1), Event::RunPaused { approvals: vec![apr(1)] });
    scene.add(&EntrySubject::default(), answers(1, true));
    assert_eq!(status(&scene), RunStatus::PausedForApproval);
    scene.add(&about(1), Event::RunResumed {});
    assert_eq!(status(&scene), RunStatus::Running);
}

#[test]
fn each_ending_of_a_run_has_its_status() {
    for (ending, expected) in [
        (Ending::Done, RunStatus::Completed),
        (Ending::Cancelled, RunStatus::Canceled),
        (Ending::Failed, RunStatus::Failed),
        (Ending::Denied, RunStatus::Failed),
        (Ending::LimitReached, RunStatus::Failed),
        (Ending::ModelFailed, RunStatus::Failed),
    ] {
        let scene = begun();
        scene.add(&about(1), run_ends(ending));
        assert_eq!(status(&scene), expected);
        assert_eq!(scene.ledger.latest_run().unwrap().unwrap().ending, Some(ending));
    }
}

#[test]
fn a_session_moves_to_each_turn_that_ends_unless_it_failed() {
    let scene = begun();
    let session = || scene.ledger.session(&ses(1)).unwrap().unwrap();
    assert_eq!((session().head, session().turns), (None, 0));
    scene.add(&about(1), ends(Ending::Failed));
    assert_eq!((session().head, session().turns), (None, 0));
    scene.add(&about(2), starts(None));
    scene.add(&about(2), ends(Ending::Done));
    // A second end changes nothing.
    scene.add(&about(1), ends(Ending::Done));
    assert_eq!((session().head, session().turns), (Some(trn(2)), 1));
    let turn = scene.ledger.turn(&trn(1)).unwrap().unwrap();
    assert_eq!((turn.status, turn.depth), (TurnStatus::Ended(Ending::Failed), 1));
    assert_eq!((turn.started_seq, turn.ended_seq), (4, Some(5)));
    assert_eq!(scene.ledger.turns_of_run(&run(1)).unwrap().len(), 2);
}

#[test]
fn a_failed_turn_or_one_that_adds_nothing_leaves_the_head_where_it_was() {
    use Ending::{Cancelled, Denied, Done, Failed, LimitReached, ModelFailed};
    for (ending, moves) in [
        (Done, true),
        (Denied, true),
        (LimitReached, true),
        (Cancelled, true),
        (Failed, false),
        (ModelFailed, false),
    ] {
        let scene = begun();
        scene.add(&about(1), ends(Done));
        scene.add(&about(2), starts(Some(trn(1))));
        scene.add(&about(2), ends(ending));
        let session = || scene.ledger.session(&ses(1)).unwrap().unwrap();
        let expected = if moves { (Some(trn(2)), 2) } else { (Some(trn(1)), 1) };
        assert_eq!((session().head, session().turns), expected, "{ending:?}");
        // Whatever happened, the next turn can begin there.
        let parent = session().head;
        scene.add(&about(3), starts(parent.clone()));
        let mut empty = ends(Done);
        if let Event::TurnEnded { messages, .. } = &mut empty {
            messages.clear();
        }
        scene.add(&about(3), empty);
        assert_eq!(session().head, parent, "{ending:?}");
    }
}

#[test]
fn a_fork_goes_on_from_any_turn_and_leaves_the_other_alone() {
    let scene = begun();
    scene.add(&about(1), ends(Ending::Done));
    scene.add(&about(2), starts(Some(trn(1))));
    scene.add(&about(2), ends(Ending::Done));
    let fork = EntrySubject { session: Some(ses(2)), ..about(3) };
    scene.add(&fork, opened("fork", Some(trn(1))));
    assert_eq!(scene.ledger.session(&ses(2)).unwrap().unwrap().turns, 1);
    scene.add(&fork, starts(Some(trn(1))));
    scene.add(&fork, ends(Ending::Done));
    let heads: Vec<_> =
        scene.ledger.sessions().unwrap().into_iter().map(|row| (row.id, row.head)).collect();
    assert_eq!(heads, [(ses(2), Some(trn(3))), (ses(1), Some(trn(2)))]);
    assert_eq!(scene.ledger.branch(&trn(3), 9).unwrap().len(), 2);
}

#[test]
fn a_question_is_answered_or_withdrawn() {
    let scene = begun();
    scene.add(&about(1), asks(1, 1));
    scene.add(&about(1), asks(2, 2));
    let waiting = scene.ledger.approvals_waiting().unwrap();
    assert_eq!(waiting.len(), 2);
    assert_eq!((&waiting[0].approval.id, &waiting[0].run), (&apr(1), &Some(run(1))));
    assert_eq!(waiting[0].approval.call, tool_call(1, json!({"command": "ls"})));
    scene.add(&EntrySubject::default(), answers(1, true));
    scene.add(&about(1), ends(Ending::Cancelled));
    assert_eq!(scene.ledger.approvals_waiting().unwrap(), []);
    let all = scene.ledger.approvals().unwrap();
    let stand: Vec<_> = all.iter().map(|row| row.status).collect();
    assert_eq!(stand, [ApprovalStatus::Yes, ApprovalStatus::Withdrawn]);
    let answer = all[0].answer.as_ref().unwrap();
    assert_eq!((answer.allow, answer.reach), (true, ApprovalScope::Once));
    assert_eq!(scene.ledger.approval(&apr(2)).unwrap().unwrap().answer, None);
    assert_eq!(scene.ledger.approval(&apr(9)).unwrap(), None);
    assert_eq!(scene.ledger.find_approval("2").unwrap(), apr(2));
}

#[test]
fn a_question_of_a_run_that_ended_is_withdrawn() {
    let scene = begun();
    scene.add(&about(1), asks(1, 1));
    scene.add(&about(1), run_ends(Ending::Failed));
    let row = scene.ledger.approval(&apr(1)).unwrap().unwrap();
    assert_eq!(row.status, ApprovalStatus::Withdrawn);
}

#[test]
fn a_call_is_proposed_started_and_settled_once() {
    let scene = begun();
    let ruling = Ruling { verdict: Verdict::Allow, findings: Vec::new() };
    let propose =
        |number| Event::CallProposed { call: tool_call(number, json!({})), ruling: ruling.clone() };
    let by = Permit::Rule { rule: "built-in".to_owned() };
    let row = |number| scene.ledger.call(&call(number)).unwrap().unwrap();
    scene.add(&about(1), propose(1));
    scene.add(&about(1), propose(2));
    assert_eq!(row(1).status, CallStatus::Proposed);
    // Nothing stops that has not started.
    scene.add(&about(1), Event::CallStopped { call: call(1) });
    assert_eq!(row(1).status, CallStatus::Proposed);
    scene.add(
        &about(1),
        Event::CallStarted { call: call(1), by: by.clone(), under: under(), edited: None },
    );
    assert_eq!(row(1).under, Some(under()));
    assert_eq!((row(1).status, row(1).permit), (CallStatus::Started, Some(by)));
    scene.add(&about(1), Event::CallStopped { call: call(1) });
    assert_eq!(row(1).status, CallStatus::Stopping);
    let outcome = ToolOutcome::new(OutcomeStatus::Uncertain, "?");
    scene.add(&about(1), Event::CallFinished { call: call(1), outcome });
    scene.add(&about(1), Event::CallFinished { call: call(1), outcome: ToolOutcome::done("") });
    assert_eq!(row(1).status, CallStatus::Finished(OutcomeStatus::Uncertain));
    scene.add(&about(1), Event::CallRefused { call: call(2), why: "no".to_owned() });
    let calls = scene.ledger.calls_of_turn(&trn(1)).unwrap();
    assert_eq!(calls, scene.ledger.calls_of_run(&run(1)).unwrap());
    assert_eq!(calls[1].status, CallStatus::Finished(OutcomeStatus::Refused));
    assert_eq!(calls[1].started_seq, None);
}

#[test]
fn steps_follow_their_run() {
    let scene = begun();
    scene.add(&about(1), Event::StepStarted { index: 0 });
    scene.add(&about(1), Event::StepEnded { index: 0, status: StepStatus::Failed });
    scene.add(&about(1), Event::StepEnded { index: 1, status: StepStatus::Skipped });
    let steps = scene.ledger.steps(&run(1)).unwrap();
    let stand: Vec<_> = steps.iter().map(|step| (step.index, step.status)).collect();
    assert_eq!(stand, [(0, StepStatus::Failed), (1, StepStatus::Skipped)]);
    assert_eq!((steps[0].turn.clone(), steps[1].turn.clone()), (Some(trn(1)), None));
}

#[test]
fn a_mode_that_was_asked_for_is_the_mode_of_the_run() {
    let scene = begun();
    let mode = Event::ModeReceived { mode: Mode::Autonomous, max_iterations: None };
    scene.add(&about(1), mode);
    assert_eq!(scene.ledger.run(&run(1)).unwrap().unwrap().mode, Mode::Autonomous);
}

#[test]
fn the_view_of_a_run_shows_the_beginning_of_a_long_prompt() {
    let scene = Scene::new();
    let long = format!("x{}", "ü".repeat(VIEW_PROMPT_BYTES_MAX));
    scene.ledger.append(vec![draft(&about(1), plan(&long, 1))]).unwrap();
    let shown = scene.ledger.latest_run().unwrap().unwrap().prompt;
    assert_eq!(shown.len(), VIEW_PROMPT_BYTES_MAX - 1);
    assert!(long.starts_with(&shown));
}
