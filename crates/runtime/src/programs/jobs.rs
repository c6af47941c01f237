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
use agentry_protocol::job::{JobChange, JobReport, JobState, Lease};
use agentry_protocol::{JobId, RunId};
use agentry_sandbox::CancelToken;
use agentry_store::{Error as StoreError, Ledger};

use crate::error::Error;
use crate::host::Host;
use crate::host::executor::{Assignment, JobOutcome};
use crate::limits::{JOB_LEASE_MS, JOB_LOCK_POLL_MS, JOB_LOCK_WAIT_MS_MAX, JOB_RENEW_MS};

/// Runs a job to its end and records its changes.
///
/// # Errors
/// If the ledger fails to append a change.
pub fn run(
    host: &Host,
    about: &EntrySubject,
    assignment: &Assignment,
    hear: &dyn Fn(&str),
    stop: &CancelToken,
) -> Result<JobOutcome, Error> {
    if let Err(why) = looked_at(&host.ledger, assignment)? {
        return Ok(JobOutcome::refused(why));
    }
    let under = LeasedJob { ledger: &host.ledger, about, job: &assignment.job.id };
    let lease = match under.take(host, assignment, stop)? {
        Ok(lease) => lease,
        Err(performed) => return Ok(performed),
    };
    let renewing = LeaseRenewal::default();
    let mut performed = thread::scope(|scope| {
        let (under, renewing, lease) = (&under, &renewing, &lease);
        scope.spawn(move || under.renew(lease, renewing, stop));
        let performed = host.executor.perform(assignment, hear, stop);
        renewing.end();
        performed
    });
    let hide = |text: &mut String| *text = host.redactor.hide(text);
    performed.report.why.iter_mut().for_each(hide);
    performed.report.said.iter_mut().for_each(hide);
    performed.report.denied.iter_mut().for_each(hide);
    let ended = JobChange::Ended {
        job: assignment.job.id.clone(),
        fence: Some(lease.fence),
        state: performed.state,
        report: performed.report.clone(),
    };
    match under.append(vec![ended]) {
        Ok(()) => Ok(performed),
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
fn looked_at(ledger: &Ledger, assignment: &Assignment) -> Result<Result<(), String>, Error> {
    // A stored text comes from a sender that was authorized to submit it.
    let Some(looked) = &assignment.looked else { return Ok(Ok(())) };
    let trusted = ledger.trusted(&looked.directory)?;
    Ok(match trusted {
        Some((trusted, _)) if trusted.hash == looked.hash => Ok(()),
        Some(_) | None => Err(format!(
            "{} is not trusted as it is now; review it with `agentry trust {}`",
            assignment.job.program, looked.directory
        )),
    })
}

/// A job in the ledger with its lease.
struct LeasedJob<'a> {
    ledger: &'a Ledger,
    about: &'a EntrySubject,
    job: &'a JobId,
}

impl LeasedJob<'_> {
    fn append(&self, changes: Vec<JobChange>) -> Result<(), Error> {
        let draft =
            |change| Draft { cause: None, about: self.about.clone(), event: Event::Job(change) };
        self.ledger.append(changes.into_iter().map(draft).collect())?;
        Ok(())
    }

    /// Queues the job and takes its lease, once its workspace is free.
    fn take(
        &self,
        host: &Host,
        assignment: &Assignment,
        stop: &CancelToken,
    ) -> Result<Result<Lease, JobOutcome>, Error> {
        let until = Instant::now() + Duration::from_millis(JOB_LOCK_WAIT_MS_MAX);
        let mut queued = Some(JobChange::Queued { job: Box::new(assignment.job.clone()) });
        loop {
            let expires_at = self.ledger.now().saturating_add(JOB_LEASE_MS);
            let executor = host.executor.name().to_owned();
            let lease = Lease { executor, fence: 1, expires_at };
            let changes = queued.iter().cloned().chain([
                JobChange::Leased { job: self.job.clone(), lease: lease.clone() },
                JobChange::Started { job: self.job.clone(), fence: lease.fence },
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
            let mut performed = JobOutcome::refused(why);
            performed.state = JobState::Cancelled;
            let (state, report) = (performed.state, performed.report.clone());
            let (job, fence) = (self.job.clone(), None);
            self.append(vec![JobChange::Ended { job, fence, state, report }])?;
            return Ok(Err(performed));
        }
    }

    /// Renews the lease until the job ends. If the lease is lost, the job is stopped.
    fn renew(&self, lease: &Lease, renewing: &LeaseRenewal, stop: &CancelToken) {
        while renewing.wait(Duration::from_millis(JOB_RENEW_MS)) {
            let expires_at = self.ledger.now().saturating_add(JOB_LEASE_MS);
            let (job, fence) = (self.job.clone(), lease.fence);
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
