//! Permission requests in the ledger: the quota of a sender, and the expiry of requests.
//!
//! Must never: answer for the owner.

use agentry_agentfile::manifest::config::RequestsToml;
use agentry_kernel::permission_request;
use agentry_protocol::ApprovalId;
use agentry_protocol::access::{AccessRecord, Bounds, RequestLimits, RequestQuota};
use agentry_protocol::approval::ApprovalAnswer;
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::principal::Principal;
use agentry_store::{ApprovalRow, Error as StoreError, Ledger};

use crate::error::Error;

const HOUR_MS: u64 = 60 * 60 * 1_000;

/// The name under which grants from requests are recorded.
pub(crate) const OWNER: &str = "owner";

/// Returns the quota of a principal for requests; None if it may not request anything.
pub fn room(
    ledger: &Ledger,
    principal: &Principal,
    limits: RequestLimits,
) -> Result<Option<RequestQuota>, Error> {
    let Some(requester) = permission_request::requester(principal) else { return Ok(None) };
    let history = ledger.request_history(requester, limits.denials_max)?;
    Ok(Some(RequestQuota {
        limits,
        now_ms: ledger.now(),
        pending: history.pending,
        last_asked_ms: history.last_asked,
        denials_ms: history.denied,
    }))
}

/// Returns the limits on requests from the operator's settings.
pub fn limits(said: &RequestsToml) -> RequestLimits {
    let usual = permission_request::LIMITS;
    let ms = |hours: u64| hours.saturating_mul(HOUR_MS);
    RequestLimits {
        pending_max: said.pending_max.unwrap_or(usual.pending_max),
        cooldown_ms: said.cooldown_s.map_or(usual.cooldown_ms, |one| one.saturating_mul(1_000)),
        denials_max: said.denials_max.unwrap_or(usual.denials_max),
        block_ms: said.block_h.map_or(usual.block_ms, ms),
        expires_ms: said.expires_h.map_or(usual.expires_ms, ms),
    }
}

/// Returns the bounds of a turn: the access decision and the sender's quota for requests.
pub fn bounds(
    ledger: &Ledger,
    record: &AccessRecord,
    limits: RequestLimits,
) -> Result<Bounds, Error> {
    Ok(Bounds::from_record(record, room(ledger, &record.principal, limits)?))
}

/// Returns the bounds of a turn that begins now, with requests made meanwhile counted.
pub(crate) fn renewed(ledger: &Ledger, bounds: Bounds) -> Result<Bounds, Error> {
    let limits = bounds.requests.as_ref().map(|requests| requests.limits);
    let requests = match limits {
        Some(limits) => room(ledger, &bounds.principal, limits)?,
        None => None,
    };
    Ok(Bounds { requests, ..bounds })
}

/// Returns the entry of an answer to an approval.
pub(crate) fn answered(row: &ApprovalRow, answer: ApprovalAnswer) -> Draft {
    let (session, run, turn) = (row.session.clone(), row.run.clone(), row.turn.clone());
    let approval = row.approval.id.clone();
    Draft {
        cause: Some(row.asked_seq),
        about: EntrySubject { session, run, turn },
        event: Event::ApprovalAnswered { approval, answer },
    }
}

/// Marks expired requests and returns their ids. Repeating it changes nothing.
pub fn expire_requests(ledger: &Ledger, now: u64) -> Result<Vec<ApprovalId>, Error> {
    Ok(expire_due(ledger, now)?)
}

/// Marks expired requests as `expire_requests` does, with the error of the ledger.
pub(crate) fn expire_due(ledger: &Ledger, now: u64) -> Result<Vec<ApprovalId>, StoreError> {
    let mut expired = Vec::new();
    for row in ledger.requests_due(now)? {
        match ledger.append(vec![answered(&row, ApprovalAnswer::expired())]) {
            Ok(_) => expired.push(row.approval.id),
            // Another process answered or marked it a moment ago.
            Err(StoreError::NotWaiting { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(expired)
}
