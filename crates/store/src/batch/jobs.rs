//! Checks changes of jobs against their state.
//!
//! Must never: lease a job to two executors, or accept a report with a stale fence.

use agentry_protocol::JobId;
use agentry_protocol::job::{JobChange, JobState, Lease};
use rusqlite::Connection;

use super::AppendError;
use crate::error::Error;
use crate::view::{self, FoundJob};

pub(super) fn check(sql: &Connection, change: &JobChange) -> Result<(), AppendError> {
    let id = change.job();
    let found = FoundJob::by_id(sql, id)?;
    let found = match (change, found) {
        (JobChange::Queued { .. }, None) => return Ok(()),
        (JobChange::Queued { .. }, Some(found)) => return Err(moved(id, Some(found.state))),
        (_, None) => return Err(moved(id, None)),
        (_, Some(found)) if found.state.is_over() => return Err(moved(id, Some(found.state))),
        (_, Some(found)) => found,
    };
    match change {
        JobChange::Queued { .. } => Ok(()),
        JobChange::Leased { lease, .. } => may_be_taken(sql, id, &found, lease),
        JobChange::Started { fence, .. } => {
            must_hold(id, &found, *fence)?;
            must_be(id, &found, JobState::Leased)
        }
        JobChange::Renewed { fence, .. } => must_hold(id, &found, *fence),
        JobChange::Returned { .. } => must_be(id, &found, JobState::Leased),
        JobChange::Ended { state, .. } if !state.is_over() => Err(moved(id, Some(*state))),
        JobChange::Ended { fence: Some(fence), .. } => must_hold(id, &found, *fence),
        JobChange::Ended { fence: None, state, .. } => {
            // Without a fence: the job has no executor, or is taken away from its executor.
            let may = found.state == JobState::Queued
                || matches!(state, JobState::Uncertain | JobState::Cancelled);
            if may { Ok(()) } else { Err(fenced(id, None, &found)) }
        }
    }
}

fn may_be_taken(
    sql: &Connection,
    id: &JobId,
    found: &FoundJob,
    lease: &Lease,
) -> Result<(), AppendError> {
    must_be(id, found, JobState::Queued)?;
    if found.fence.checked_add(1) != Some(lease.fence) {
        return Err(fenced(id, Some(lease.fence), found));
    }
    let Some(workspace) = &found.locks else { return Ok(()) };
    match view::workspace_holder(sql, workspace)? {
        None => Ok(()),
        Some(holder) => {
            let workspace = workspace.clone();
            Err(AppendError::Refused(Error::WorkspaceLocked { workspace, holder }))
        }
    }
}

fn must_be(id: &JobId, found: &FoundJob, wanted: JobState) -> Result<(), AppendError> {
    if found.state == wanted { Ok(()) } else { Err(moved(id, Some(found.state))) }
}

fn must_hold(id: &JobId, found: &FoundJob, fence: u32) -> Result<(), AppendError> {
    let is_held = matches!(found.state, JobState::Leased | JobState::Running);
    if is_held && found.fence == fence { Ok(()) } else { Err(fenced(id, Some(fence), found)) }
}

fn moved(job: &JobId, state: Option<JobState>) -> AppendError {
    AppendError::Refused(Error::JobMoved { job: job.clone(), state })
}

fn fenced(job: &JobId, fence: Option<u32>, found: &FoundJob) -> AppendError {
    AppendError::Refused(Error::Fenced { job: job.clone(), fence, current: found.fence })
}
