//! The record of a job, from the queue to its end, and the lease that its executor holds.
//!
//! Recorded, then run: a job whose process died is found in the ledger and marked as uncertain. It
//! is never rerun automatically. The ledger rejects reports with a stale fence.
//!
//! Must never: run a program that the owner has not trusted, or one before its job is on disk.

use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::job::{Job, JobChange, JobReport, JobState, Lease};
use agentry_protocol::{JobId, RunId};
use agentry_sandbox::CancelToken;
use agentry_store::{Error as StoreError, Ledger};

use crate::error::Error;
use crate::host::Host;
use crate::host::executor::{Assignment, ExecutionContext, JobOutcome, JobProgram};
use crate::limits::{JOB_LEASE_MS, JOB_LOCK_POLL_MS, JOB_LOCK_WAIT_MS_MAX, JOB_RENEW_MS};

/// Runs a job to its end and records its changes.
///
/// # Errors
/// If the ledger fails to append a change.
pub(crate) fn run(
    host: &Host,
    about: &EntrySubject,
    mut assignment: Assignment,
    context: &ExecutionContext<'_>,
) -> Result<JobOutcome, Error> {
    if let Err(why) = check_trust(&host.ledger, &assignment, context)? {
        return Ok(JobOutcome::refused(why));
    }
    let executor = match host.executors.for_job(&assignment) {
        Ok(executor) => executor,
        Err(error) => return Ok(JobOutcome::refused(error.to_string())),
    };
    let leased = LeasedJob { ledger: &host.ledger, about, job: &assignment.job };
    let lease = match leased.take(&executor.facts().name, context.stop)? {
        Ok(lease) => lease,
        Err(outcome) => return Ok(outcome),
    };
    assignment.fence = lease.fence;
    let leased = LeasedJob { ledger: &host.ledger, about, job: &assignment.job };
    let renewal = LeaseRenewal::default();
    let mut outcome = thread::scope(|scope| {
        let (leased, renewal, lease, stop) = (&leased, &renewal, &lease, context.stop);
        scope.spawn(move || leased.renew(lease, renewal, stop));
        let outcome = executor.run_job(&assignment, context);
        renewal.end();
        outcome
    });
    let hide = |text: &mut String| *text = host.redactor.hide(text);
    outcome.report.why.iter_mut().for_each(hide);
    outcome.report.stderr.iter_mut().for_each(hide);
    outcome.report.denied.iter_mut().for_each(hide);
    let ended = JobChange::Ended {
        job: assignment.job.id.clone(),
        fence: Some(lease.fence),
        state: outcome.state,
        report: outcome.report.clone(),
    };
    match leased.append(vec![ended]) {
        Ok(()) => Ok(outcome),
        // Another process marked the job as lost; its result no longer counts.
        Err(Error::Ledger(StoreError::Fenced { .. } | StoreError::JobMoved { .. })) => {
            let mut lost = JobOutcome::refused("its lease was lost while it ran");
            lost.state = JobState::Uncertain;
            Ok(lost)
        }
        Err(error) => Err(error),
    }
}

/// Checks that the owner has trusted the agent's program in its present state.
fn check_trust(
    ledger: &Ledger,
    assignment: &Assignment,
    context: &ExecutionContext<'_>,
) -> Result<Result<(), String>, Error> {
    let tree = match &assignment.program {
        JobProgram::File { tree, .. } => tree,
        // A stored text comes from a sender that was authorized to submit it.
        JobProgram::Stored(_) => return Ok(Ok(())),
    };
    let directory = match context.resolver.agent_directory(&tree.hash) {
        Ok(directory) => directory.display().to_string(),
        Err(why) => return Ok(Err(why)),
    };
    let trusted = ledger.trusted(&directory)?;
    Ok(match trusted {
        Some((trusted, _)) if trusted.hash == tree.hash => Ok(()),
        Some(_) | None => Err(format!(
            "{} is not trusted as it is now; review it with `agentry trust {directory}`",
            assignment.job.program
        )),
    })
}

/// A job in the ledger with its lease.
struct LeasedJob<'a> {
    ledger: &'a Ledger,
    about: &'a EntrySubject,
    job: &'a Job,
}

impl LeasedJob<'_> {
    fn append(&self, changes: Vec<JobChange>) -> Result<(), Error> {
        let draft =
            |change| Draft { cause: None, about: self.about.clone(), event: Event::Job(change) };
        self.ledger.append(changes.into_iter().map(draft).collect())?;
        Ok(())
    }

    /// Queues the job and takes its lease, once its workspace is free.
    fn take(&self, executor: &str, stop: &CancelToken) -> Result<Result<Lease, JobOutcome>, Error> {
        let id = &self.job.id;
        let until = Instant::now() + Duration::from_millis(JOB_LOCK_WAIT_MS_MAX);
        let mut queued = Some(JobChange::Queued { job: Box::new(self.job.clone()) });
        loop {
            let expires_at = self.ledger.now().saturating_add(JOB_LEASE_MS);
            let lease = Lease { executor: executor.to_owned(), fence: 1, expires_at };
            let changes = queued.iter().cloned().chain([
                JobChange::Leased { job: id.clone(), lease: lease.clone() },
                JobChange::Started { job: id.clone(), fence: lease.fence },
            ]);
            let holder = match self.append(changes.collect()) {
                Ok(()) => return Ok(Ok(lease)),
                Err(Error::Ledger(StoreError::WorkspaceLocked { holder, .. })) => holder,
                Err(error) => return Err(error),
            };
            self.append(queued.take().into_iter().collect())?;
            reap_if_expired(self.ledger, &holder)?;
            let why = if stop.wait(Duration::from_millis(JOB_LOCK_POLL_MS)) {
                "it was stopped while it waited for the workspace".to_owned()
            } else if Instant::now() > until {
                format!("the workspace was not free in time; {holder} has it")
            } else {
                continue;
            };
            let mut outcome = JobOutcome::refused(why);
            outcome.state = JobState::Cancelled;
            let (state, report) = (outcome.state, outcome.report.clone());
            let (job, fence) = (id.clone(), None);
            self.append(vec![JobChange::Ended { job, fence, state, report }])?;
            return Ok(Err(outcome));
        }
    }

    /// Renews the lease until the job ends. If the lease is lost, the job is stopped.
    fn renew(&self, lease: &Lease, renewal: &LeaseRenewal, stop: &CancelToken) {
        while renewal.wait(Duration::from_millis(JOB_RENEW_MS)) {
            let expires_at = self.ledger.now().saturating_add(JOB_LEASE_MS);
            let (job, fence) = (self.job.id.clone(), lease.fence);
            let renewed = self.append(vec![JobChange::Renewed { job, fence, expires_at }]);
            // A busy ledger gets the renewal next time; the lease lasts longer than that.
            if let Err(Error::Ledger(StoreError::Fenced { .. } | StoreError::JobMoved { .. })) =
                renewed
            {
                return stop.stop();
            }
        }
    }
}

/// Tells the renewing thread that the job has ended.
#[derive(Default)]
struct LeaseRenewal {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl LeaseRenewal {
    fn end(&self) {
        *self.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits for `time`; returns false if the job has ended.
    fn wait(&self, time: Duration) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_over, time, |is_over| !*is_over);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

fn reap_if_expired(ledger: &Ledger, holder: &JobId) -> Result<(), Error> {
    let expired = ledger.jobs_expired(ledger.now())?;
    if expired.iter().any(|row| row.job.id == *holder) {
        lost(ledger, holder, "its executor did not renew the lease in time")
    } else {
        Ok(())
    }
}

/// Marks jobs that another process left in a run as uncertain. The caller owns its session.
pub(crate) fn reap_of_run(ledger: &Ledger, run: &RunId) -> Result<(), Error> {
    for row in ledger.jobs_of_run(run)?.into_iter().filter(|row| !row.state.is_over()) {
        lost(ledger, &row.job.id, "the process stopped while it was under way")?;
    }
    Ok(())
}

/// Marks all jobs with an expired lease as uncertain.
///
/// # Errors
/// If the ledger fails to append a change.
pub fn reap_expired(ledger: &Ledger) -> Result<(), Error> {
    for row in ledger.jobs_expired(ledger.now())? {
        lost(ledger, &row.job.id, "its executor did not renew the lease in time")?;
    }
    Ok(())
}

fn lost(ledger: &Ledger, job: &JobId, why: &str) -> Result<(), Error> {
    let Some(row) = ledger.job(job)? else { return Ok(()) };
    let report = JobReport { why: Some(why.to_owned()), ..JobReport::default() };
    // A job that no executor had begun certainly had no effect.
    let state = match row.state {
        JobState::Queued | JobState::Leased => JobState::Cancelled,
        JobState::Running
        | JobState::Succeeded
        | JobState::Failed
        | JobState::Cancelled
        | JobState::TimedOut
        | JobState::Uncertain => JobState::Uncertain,
    };
    let ended = JobChange::Ended { job: job.clone(), fence: None, state, report };
    let draft = Draft { cause: None, about: row.about.clone(), event: Event::Job(ended) };
    match ledger.append(vec![draft]) {
        // Another process has marked it, or it ended after all.
        Ok(_) | Err(StoreError::Fenced { .. } | StoreError::JobMoved { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
