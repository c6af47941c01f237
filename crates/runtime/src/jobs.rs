//! The record of a job, from the queue to its end, and the lease under which an executor speaks for it.
//!
//! Recorded, then run: a job whose process is gone is found in the record and is called uncertain. It is never run
//! again by itself. Who lost a job cannot speak for it any more: the ledger refuses the words of an old taking.
//!
//! Must never: run a program that the owner has not looked at, or one before its job is on disk.

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
use crate::executor::{Assignment, JobOutcome};
use crate::host::Host;
use crate::limits::{JOB_LEASE_MS, JOB_LOCK_POLL_MS, JOB_LOCK_WAIT_MS_MAX, JOB_RENEW_MS};

/// Runs a job to its end.
///
/// # Errors
/// When the ledger does not take what happens to it.
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
        // Somebody took it for lost; what it did is not for us to say any more.
        Err(Error::Ledger(StoreError::Fenced { .. } | StoreError::JobMoved { .. })) => {
            let mut lost = JobOutcome::refused("its lease was lost while it ran");
            lost.state = JobState::Uncertain;
            Ok(lost)
        }
        Err(error) => Err(error),
    }
}

/// Whether the owner has looked at a program of an agent, as it is.
fn looked_at(ledger: &Ledger, assignment: &Assignment) -> Result<Result<(), String>, Error> {
    // A text that was kept was handed in by somebody who may.
    let Some(looked) = &assignment.looked else { return Ok(Ok(())) };
    let trusted = ledger.trusted(&looked.directory)?;
    Ok(match trusted {
        Some((trusted, _)) if trusted.hash == looked.hash => Ok(()),
        Some(_) | None => Err(format!(
            "{} is not trusted as it is now; look at it with `agentry trust {}`",
            assignment.job.program, looked.directory
        )),
    })
}

/// One job in the ledger.
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

    /// Puts the job into the ledger and takes it, once its workspace is free.
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
            let why = match stop.wait(Duration::from_millis(JOB_LOCK_POLL_MS)) {
                true => "it was stopped while it waited for the workspace".to_owned(),
                false if Instant::now() > until => {
                    format!("the workspace was not free in time; {holder} has it")
                }
                false => continue,
            };
            let mut performed = JobOutcome::refused(why);
            performed.state = JobState::Cancelled;
            let (state, report) = (performed.state, performed.report.clone());
            let (job, fence) = (self.job.clone(), None);
            self.append(vec![JobChange::Ended { job, fence, state, report }])?;
            return Ok(Err(performed));
        }
    }

    /// Says that the job still runs, until it does not. Who lost it ends it.
    fn renew(&self, lease: &Lease, renewing: &LeaseRenewal, stop: &CancelToken) {
        while renewing.wait(Duration::from_millis(JOB_RENEW_MS)) {
            let expires_at = self.ledger.now().saturating_add(JOB_LEASE_MS);
            let (job, fence) = (self.job.clone(), lease.fence);
            let renewed = self.append(vec![JobChange::Renewed { job, fence, expires_at }]);
            // A ledger that is busy now is told the next time; the lease lasts longer than that.
            if let Err(Error::Ledger(StoreError::Fenced { .. } | StoreError::JobMoved { .. })) =
                renewed
            {
                return stop.stop();
            }
        }
    }
}

/// Tells the thread that renews a lease when the job is over.
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

    /// Waits; no if the job is over.
    fn wait(&self, time: Duration) -> bool {
        let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is_over, time, |is_over| !*is_over);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

fn reap_if_expired(ledger: &Ledger, holder: &JobId) -> Result<(), Error> {
    let expired = ledger.jobs_expired(ledger.now())?;
    match expired.iter().any(|row| row.job.id == *holder) {
        true => lost(ledger, holder, "who had it did not say for too long that it runs"),
        false => Ok(()),
    }
}

/// Calls the jobs of a run uncertain that another process left; who calls this owns the run's session.
pub(crate) fn reap_of_run(ledger: &Ledger, run: &RunId) -> Result<(), Error> {
    for row in ledger.jobs_of_run(run)?.into_iter().filter(|row| !row.state.is_over()) {
        lost(ledger, &row.job.id, "the process stopped while it was under way")?;
    }
    Ok(())
}

/// Calls all jobs uncertain whose lease is over.
///
/// # Errors
/// When the ledger does not take it.
pub fn reap_expired(ledger: &Ledger) -> Result<(), Error> {
    for row in ledger.jobs_expired(ledger.now())? {
        lost(ledger, &row.job.id, "who had it did not say for too long that it runs")?;
    }
    Ok(())
}

fn lost(ledger: &Ledger, job: &JobId, why: &str) -> Result<(), Error> {
    let Some(row) = ledger.job(job)? else { return Ok(()) };
    let report = JobReport { why: Some(why.to_owned()), ..JobReport::default() };
    // What nobody had begun did certainly not happen.
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
        // Somebody else has said so, or it came to its end after all.
        Ok(_) | Err(StoreError::Fenced { .. } | StoreError::JobMoved { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
