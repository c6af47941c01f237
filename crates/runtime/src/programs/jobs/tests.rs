//! The executor of a job, and what the ledger keeps of it.

use agentry_sandbox::CancelToken;
use agentry_store::EntryFilter;

use super::*;
use crate::host::executor::tests::Scene;
use crate::host::executor::{Base64Bytes, HostResolver};

const SCRIPT: &str = "#!/bin/sh\npwd\necho here >&2\n";

fn run_script(scene: &Scene, agent: &str) -> (JobId, JobOutcome) {
    let assignment = scene.job(agent, SCRIPT);
    let id = assignment.job.id.clone();
    let placement = &scene.placement();
    let context = ExecutionContext {
        resolver: &HostResolver {
            host: &scene.host,
            placement,
            variables: &[],
            workspace: None,
            directory: None,
        },
        stop: &CancelToken::new(),
        on_line: &|_| {},
        callback: None,
    };
    (id, run(&scene.host, &EntrySubject::default(), assignment, &context).unwrap())
}

/// Returns the changes of a job in the ledger.
fn changes(scene: &Scene, job: &JobId) -> Vec<JobChange> {
    let entries = scene.host.ledger.read_from(0, &EntryFilter::default(), 100).unwrap();
    let change = |event| if let Event::Job(change) = event { Some(change) } else { None };
    let all = entries.into_iter().filter_map(|entry| change(entry.event));
    all.filter(|change| change.job() == job).collect()
}

/// Returns the executor and the fence of a job's lease.
fn lease(scene: &Scene, job: &JobId) -> Lease {
    let lease =
        |change| if let JobChange::Leased { lease, .. } = change { Some(lease) } else { None };
    changes(scene, job).into_iter().find_map(lease).unwrap()
}

#[test]
fn a_job_runs_on_the_executor_of_its_agent_with_the_same_result() {
    let scene = Scene::new();
    let (local, at_local) = run_script(&scene, "writer");
    assert_eq!(scene.second.sent(), [""; 0]);
    let (second, at_second) = run_script(&scene, "coder");
    assert_eq!(scene.second.sent().len(), 1);
    assert_eq!(lease(&scene, &local).executor, "local");
    assert_eq!(lease(&scene, &second).executor, "build-1");
    let directory = format!("{}\n", scene.workspace.path().display());
    assert_eq!(at_local.output.stdout, Some(Ok(Base64Bytes(directory.into_bytes()))));
    assert_eq!((at_second.state, at_second.output), (at_local.state, at_local.output));
    let kinds = |job: &JobId| -> Vec<String> {
        let kind = |change: &JobChange| serde_json::to_value(change).unwrap()["change"].to_string();
        changes(&scene, job).iter().map(kind).collect()
    };
    assert_eq!(kinds(&local), ["\"queued\"", "\"leased\"", "\"started\"", "\"ended\""]);
    assert_eq!(kinds(&second), kinds(&local));
}

#[test]
fn an_executor_gets_the_fence_of_the_lease() {
    let scene = Scene::new();
    let (job, _) = run_script(&scene, "coder");
    let sent: Assignment = serde_json::from_str(&scene.second.sent()[0]).unwrap();
    assert_eq!(sent.job.id, job);
    assert_eq!(sent.fence, lease(&scene, &job).fence);
    assert_eq!(sent.fence, 1);
}

#[test]
fn a_job_for_an_executor_that_is_not_there_is_neither_run_nor_recorded() {
    let scene = Scene::with_executor_of_coder("gone");
    let (job, outcome) = run_script(&scene, "coder");
    assert_eq!(outcome.state, JobState::Failed);
    let why = "the executor `gone` is not registered; registered: local, build-1";
    assert_eq!(outcome.report.why.as_deref(), Some(why));
    assert_eq!(changes(&scene, &job), []);
    assert_eq!(run_script(&scene, "writer").1.state, JobState::Succeeded);
}
