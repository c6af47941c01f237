//! Jobs: taken by one, lost by who is late, and never two in a workspace that one has for itself. What hooks keep,
//! and what the owner lets run.

use agentry_protocol::event::Event;
use agentry_protocol::hook::HookChange;
use agentry_protocol::job::{Job, JobChange, JobPurpose, JobReport, JobState, Lease};
use agentry_protocol::tool::ToolName;
use agentry_protocol::trust::{KnownDefinitions, TrustChange, TrustedAddresses, TrustedPrograms};
use agentry_protocol::{AgentId, ContentHash, JobId, WorkspaceReference};
use agentry_store::{Error, JobFilter, RecordedDefinitions};
use serde_json::json;

use crate::scene::{START, Scene, WORKS, about, draft, run, ses};

pub(crate) fn job(number: u128) -> JobId {
    JobId::from_number(number)
}

/// Even ones lock their workspace, of which there are two.
pub(crate) fn queued(number: u128) -> Event {
    let workspace = format!("/room/{}", number / 4);
    Event::Job(JobChange::Queued {
        job: Box::new(Job {
            id: job(number),
            purpose: JobPurpose::Tool { tool: ToolName::canonical("grade"), call: None },
            agent: AgentId::new("builder"),
            program: "tools/grade".to_owned(),
            hash: ContentHash::of(b"grade"),
            workspace: WorkspaceReference::new(workspace),
            locks: number.is_multiple_of(2),
            timeout_ms: 1_000,
        }),
    })
}

pub(crate) fn leased(number: u128, fence: u32) -> Event {
    let lease = Lease { executor: "here".to_owned(), fence, expires_at: START + 100 };
    Event::Job(JobChange::Leased { job: job(number), lease })
}

pub(crate) fn started(number: u128, fence: u32) -> Event {
    Event::Job(JobChange::Started { job: job(number), fence })
}

pub(crate) fn renewed(number: u128, fence: u32) -> Event {
    Event::Job(JobChange::Renewed { job: job(number), fence, expires_at: START + 500 })
}

pub(crate) fn returned(number: u128) -> Event {
    Event::Job(JobChange::Returned { job: job(number) })
}

pub(crate) fn ended(number: u128, fence: Option<u32>, state: JobState) -> Event {
    let report = JobReport { exit_code: Some(3), ..JobReport::default() };
    Event::Job(JobChange::Ended { job: job(number), fence, state, report })
}

pub(crate) fn kept(value: u64) -> Event {
    let state = json!({"z": value, "a": {"seen": true}});
    Event::Hook(HookChange::StateSet { state: state.as_object().expect(WORKS).clone() })
}

pub(crate) fn trusted(path: &str) -> Event {
    Event::Trust(TrustChange::Trusted(Box::new(TrustedPrograms {
        path: path.to_owned(),
        hash: ContentHash::of(b"all"),
        files: [("tools/grade".to_owned(), ContentHash::of(b"grade"))].into(),
        by: "ann".to_owned(),
    })))
}

pub(crate) fn withdrawn(path: &str) -> Event {
    Event::Trust(TrustChange::Withdrawn { path: path.to_owned(), by: "ann".to_owned() })
}

pub(crate) fn addresses(path: &str, address: &str) -> Event {
    Event::Trust(TrustChange::Addresses(Box::new(TrustedAddresses {
        path: path.to_owned(),
        addresses: [address.to_owned()].into(),
        by: "ann".to_owned(),
    })))
}

pub(crate) fn definitions(path: &str, text: &str, confirmed_by: Option<&str>) -> Event {
    Event::Trust(TrustChange::Definitions(Box::new(KnownDefinitions {
        path: path.to_owned(),
        files: [("AGENT.md".to_owned(), ContentHash::of(text.as_bytes()))].into(),
        confirmed_by: confirmed_by.map(str::to_owned),
    })))
}

fn jobs(numbers: &[u128]) -> Scene {
    let scene = Scene::new();
    numbers.iter().for_each(|number| drop(scene.add(&about(1), queued(*number))));
    scene
}

#[track_caller]
fn refused(scene: &Scene, event: Event) -> Error {
    let before = scene.ledger.dump_views().expect(WORKS);
    let error = scene.ledger.append(vec![draft(&about(1), event)]).expect_err("it is refused");
    assert_eq!(scene.ledger.dump_views().expect(WORKS), before);
    error
}

fn state(scene: &Scene, number: u128) -> JobState {
    scene.ledger.job(&job(number)).expect(WORKS).expect(WORKS).state
}

#[test]
fn a_job_is_taken_runs_and_ends() {
    let scene = jobs(&[1]);
    assert_eq!(state(&scene, 1), JobState::Queued);
    assert_eq!(scene.ledger.jobs_open(9).expect(WORKS).len(), 1);
    for (event, wanted) in [
        (leased(1, 1), JobState::Leased),
        (renewed(1, 1), JobState::Leased),
        (started(1, 1), JobState::Running),
        (renewed(1, 1), JobState::Running),
        (ended(1, Some(1), JobState::Failed), JobState::Failed),
    ] {
        scene.add(&about(1), event);
        assert_eq!(state(&scene, 1), wanted);
    }
    let row = scene.ledger.job(&job(1)).expect(WORKS).expect(WORKS);
    assert_eq!(row.report.expect(WORKS).exit_code, Some(3));
    assert_eq!(row.lease.expect(WORKS).expires_at, START + 500);
    assert_eq!((row.about, row.ended_seq), (about(1), Some(6)));
    assert!(scene.ledger.jobs_open(9).expect(WORKS).is_empty());
    assert_eq!(scene.ledger.jobs_of_run(&run(1)).expect(WORKS).len(), 1);
    let failed = JobFilter { state: Some(JobState::Failed), last: Some(9) };
    assert_eq!(scene.ledger.jobs(failed).expect(WORKS).len(), 1);
    assert_eq!(scene.ledger.find_job(job(1).as_str()).expect(WORKS), job(1));
}

#[test]
fn nothing_changes_a_job_that_is_over_or_unknown() {
    let scene = jobs(&[1]);
    scene.add(&about(1), ended(1, None, JobState::Cancelled));
    for event in [
        queued(1),
        leased(1, 1),
        started(1, 0),
        renewed(1, 0),
        returned(1),
        ended(1, None, JobState::Cancelled),
    ] {
        let error = refused(&scene, event);
        assert!(matches!(error, Error::JobMoved { state: Some(JobState::Cancelled), .. }));
    }
    assert!(matches!(refused(&scene, leased(2, 1)), Error::JobMoved { state: None, .. }));
}

#[test]
fn who_has_lost_a_job_cannot_speak_for_it() {
    let scene = jobs(&[1]);
    assert!(matches!(refused(&scene, leased(1, 2)), Error::Fenced { current: 0, .. }));
    scene.add(&about(1), leased(1, 1));
    assert!(matches!(refused(&scene, leased(1, 2)), Error::JobMoved { .. }));
    scene.add(&about(1), returned(1));
    // It waits again; the taking before is over.
    for event in [started(1, 1), renewed(1, 1), ended(1, Some(1), JobState::Succeeded)] {
        assert!(matches!(refused(&scene, event), Error::Fenced { current: 1, .. }));
    }
    scene.add(&about(1), leased(1, 2));
    assert!(matches!(refused(&scene, started(1, 1)), Error::Fenced { current: 2, .. }));
    scene.add(&about(1), started(1, 2));
    assert!(matches!(refused(&scene, returned(1)), Error::JobMoved { .. }));
    let late = refused(&scene, ended(1, Some(1), JobState::Succeeded));
    assert_eq!(late.to_string(), format!("stale fence for job {}: got 1, current 2", job(1)));
    let nobody = refused(&scene, ended(1, None, JobState::Succeeded));
    assert!(matches!(nobody, Error::Fenced { fence: None, current: 2, .. }));
    // Whoever clears up after an executor that is gone has no taking.
    scene.add(&about(1), ended(1, None, JobState::Uncertain));
    assert_eq!(state(&scene, 1), JobState::Uncertain);
}

#[test]
fn a_workspace_is_for_one_who_locks_it_until_that_one_is_over() {
    let scene = jobs(&[0, 1, 2, 4]);
    scene.add(&about(1), leased(0, 1));
    let holder = |error| match error {
        Error::WorkspaceLocked { workspace, holder } => (workspace, holder),
        other => panic!("{other}"),
    };
    let locked = ("/room/0".to_owned(), job(0));
    assert_eq!(holder(refused(&scene, leased(2, 1))), locked);
    // Who does not lock may, and another workspace is another workspace.
    scene.add(&about(1), leased(1, 1));
    scene.add(&about(1), leased(4, 1));
    scene.add(&about(1), started(0, 1));
    assert_eq!(holder(refused(&scene, leased(2, 1))), locked);
    assert_eq!(scene.ledger.job_holding("/room/0").expect(WORKS).expect(WORKS).job.id, job(0));
    scene.add(&about(1), ended(0, Some(1), JobState::TimedOut));
    assert!(scene.ledger.job_holding("/room/0").expect(WORKS).is_none());
    scene.add(&about(1), leased(2, 1));
}

#[test]
fn a_refused_job_takes_the_rest_of_its_append_along() {
    let scene = jobs(&[0, 2]);
    let drafts = [leased(0, 1), leased(2, 1)].map(|event| draft(&about(1), event));
    assert!(matches!(scene.ledger.append(drafts.into()), Err(Error::WorkspaceLocked { .. })));
    assert_eq!((state(&scene, 0), state(&scene, 2)), (JobState::Queued, JobState::Queued));
}

#[test]
fn those_whose_time_is_over_are_found_whether_they_run_or_not() {
    let scene = jobs(&[1, 3, 5]);
    [leased(1, 1), leased(3, 1), started(3, 1), leased(5, 1), renewed(5, 1)]
        .into_iter()
        .for_each(|event| drop(scene.add(&about(1), event)));
    let expired = |now| {
        let rows = scene.ledger.jobs_expired(now).expect(WORKS);
        rows.into_iter().map(|row| row.job.id).collect::<Vec<_>>()
    };
    assert!(expired(START + 99).is_empty());
    assert_eq!(expired(START + 100), [job(1), job(3)]);
    scene.add(&about(1), returned(1));
    assert_eq!(expired(START + 500), [job(3), job(5)]);
}

#[test]
fn what_hooks_keep_is_the_last_that_was_kept() {
    let scene = Scene::new();
    assert!(scene.ledger.agent_state(&ses(1)).expect(WORKS).is_empty());
    scene.add(&about(1), kept(1));
    scene.add(&about(1), kept(2));
    assert_eq!(scene.ledger.agent_state(&ses(1)).expect(WORKS)["z"], json!(2));
    assert!(scene.ledger.agent_state(&ses(2)).expect(WORKS).is_empty());
}

#[test]
fn trust_is_for_one_directory_until_it_is_withdrawn() {
    let scene = Scene::new();
    scene.add(&about(1), trusted("/a"));
    scene.add(&about(1), trusted("/b"));
    let (found, seq) = scene.ledger.trusted("/a").expect(WORKS).expect(WORKS);
    assert_eq!((found.by.as_str(), seq), ("ann", 1));
    scene.add(&about(1), withdrawn("/a"));
    assert!(scene.ledger.trusted("/a").expect(WORKS).is_none());
    assert_eq!(scene.ledger.all_trusted().expect(WORKS).len(), 1);
}

#[test]
fn addresses_are_trusted_for_one_project_until_that_is_withdrawn() {
    let scene = Scene::new();
    scene.add(&about(1), addresses("/a", "https://one.example"));
    scene.add(&about(1), addresses("/b", "https://one.example"));
    scene.add(&about(1), addresses("/a", "https://two.example"));
    let found = scene.ledger.trusted_addresses("/a").expect(WORKS).expect(WORKS);
    assert_eq!(found.addresses, ["https://two.example".to_owned()].into());
    assert!(scene.ledger.trusted("/a").expect(WORKS).is_none(), "programs are another matter");
    scene.add(&about(1), withdrawn("/a"));
    assert!(scene.ledger.trusted_addresses("/a").expect(WORKS).is_none());
    assert_eq!(scene.ledger.all_trusted_addresses().expect(WORKS).len(), 1);
}

#[test]
fn definitions_that_were_only_met_do_not_pass_for_confirmed() {
    let scene = Scene::new();
    let known = |which| scene.ledger.known_definitions("/a", which).expect(WORKS);
    scene.add(&about(1), definitions("/a", "one", None));
    assert!(
        known(RecordedDefinitions::Met).is_some()
            && known(RecordedDefinitions::Confirmed).is_none()
    );
    scene.add(&about(1), definitions("/a", "two", Some("ann")));
    assert_eq!(known(RecordedDefinitions::Met), known(RecordedDefinitions::Confirmed));
    scene.add(&about(1), definitions("/a", "three", None));
    assert_ne!(known(RecordedDefinitions::Met), known(RecordedDefinitions::Confirmed));
    let confirmed = known(RecordedDefinitions::Confirmed).expect(WORKS);
    assert_eq!(confirmed.files["AGENT.md"], ContentHash::of(b"two"));
    scene.ledger.rebuild_views().expect(WORKS);
    assert_eq!(known(RecordedDefinitions::Confirmed), Some(confirmed));
}
