//! Approval answers and permission requests in the ledger: the quota of a sender, the grant that an
//! answer gives, and the expiry of requests.
//!
//! Must never: answer for the owner, or answer twice.

use agentry_agentfile::manifest::config::RequestsToml;
use agentry_kernel::limits::GRANT_DAY_MS;
use agentry_kernel::permission_request;
use agentry_protocol::access::{
    AccessRecord, Bounds, Grant, GrantConditions, PrincipalQuery, RequestLimits, RequestQuota,
};
use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope, PermissionRequest};
use agentry_protocol::envelope::{Draft, EntrySubject, Envelope};
use agentry_protocol::event::Event;
use agentry_protocol::intake::AccessChange;
use agentry_protocol::principal::Principal;
use agentry_protocol::{ApprovalId, GrantId};
use agentry_store::{ApprovalRow, Error as StoreError, Ledger};
use agentry_tools::normalize_arguments;
use serde_json::Value;

use crate::canonical_json::canonical;
use crate::error::Error;
use crate::redact::Redactor;

const HOUR_MS: u64 = 60 * 60 * 1_000;

/// The name under which grants from requests are recorded.
const OWNER: &str = "owner";

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

/// Records an answer, with its grant if it is lasting. Refuses an answer that does not fit its
/// approval, that is too late, or whose arguments hold the value of a secret.
pub fn answer(
    (ledger, redactor): (&Ledger, &Redactor),
    approval: &ApprovalId,
    answer: ApprovalAnswer,
    new_number: fn() -> u128,
) -> Result<AnsweredApproval, Error> {
    expire_requests(ledger, ledger.now())?;
    let row = ledger.approval(approval)?;
    let row =
        row.ok_or_else(|| StoreError::NotWaiting { approval: approval.clone(), status: None })?;
    permission_request::check_answer(&row.approval, &answer)
        .map_err(|wrong| Error::Definition(wrong.to_string()))?;
    let tool = &row.approval.call.tool;
    // Brings the arguments into the canonical form of a model's own.
    let edit = answer.edit.map(|input| canonical(normalize_arguments(tool, input)));
    if let Some(edit) = &edit {
        refuse_secrets(redactor, edit)?;
    }
    let reason = answer.reason.map(|reason| redactor.hide(&reason));
    let answer = ApprovalAnswer { edit, reason, ..answer };
    let grant =
        row.approval.request().filter(|_| answer.allow).and_then(|request| {
            granted(request, answer.reach, (approval, ledger.now()), new_number)
        });
    let mut drafts = vec![answered(&row, answer)];
    drafts.extend(grant.clone().map(|grant| Draft {
        cause: None,
        about: EntrySubject::default(),
        event: Event::Access(AccessChange::GrantGiven { grant: Box::new(grant) }),
    }));
    let recorded = ledger.append(drafts)?;
    Ok(AnsweredApproval { row, grant, recorded })
}

/// Refuses edited arguments that hold secrets: they are recorded and sent to the model.
fn refuse_secrets(redactor: &Redactor, edit: &Value) -> Result<(), Error> {
    let text = edit.to_string();
    if redactor.hide(&text) == text {
        return Ok(());
    }
    let why = "the arguments hold the value of a secret, which would be recorded and sent to the model; \
               write the variable that has it instead (`agentry secret list`)";
    Err(Error::Definition(why.to_owned()))
}

/// The result of answering an approval.
pub struct AnsweredApproval {
    /// The approval, as it was before.
    pub row: ApprovalRow,
    /// The grant that the answer gave; None without a lasting yes.
    pub grant: Option<Grant>,
    /// The entries of the answer and the grant.
    pub recorded: Vec<Envelope>,
}

fn answered(row: &ApprovalRow, answer: ApprovalAnswer) -> Draft {
    let (session, run, turn) = (row.session.clone(), row.run.clone(), row.turn.clone());
    let approval = row.approval.id.clone();
    Draft {
        cause: Some(row.asked_seq),
        about: EntrySubject { session, run, turn },
        event: Event::ApprovalAnswered { approval, answer },
    }
}

/// Returns the grant of an allowed request; None unless it lasts beyond the session.
fn granted(
    request: &PermissionRequest,
    reach: ApprovalScope,
    (approval, now): (&ApprovalId, u64),
    new_number: fn() -> u128,
) -> Option<Grant> {
    let expires_at = match reach {
        ApprovalScope::Once | ApprovalScope::Session => return None,
        ApprovalScope::Day => Some(now.saturating_add(GRANT_DAY_MS)),
        ApprovalScope::Always => None,
    };
    Some(Grant {
        id: GrantId::from_number(new_number()),
        principal_query: PrincipalQuery {
            person_id: Some(permission_request::requester(&request.requester)?.to_owned()),
            ..PrincipalQuery::default()
        },
        resources: request.resources.clone(),
        created_at: now,
        expires_at,
        revoked_at: None,
        granted_by: OWNER.to_owned(),
        reason: Some(request.reason.clone()),
        request_context: Some(approval.to_string()),
        conditions: GrantConditions::default(),
    })
}

/// Marks expired requests and returns their ids. Repeating it changes nothing.
pub fn expire_requests(ledger: &Ledger, now: u64) -> Result<Vec<ApprovalId>, Error> {
    let mut expired = Vec::new();
    for row in ledger.requests_due(now)? {
        match ledger.append(vec![answered(&row, ApprovalAnswer::expired())]) {
            Ok(_) => expired.push(row.approval.id),
            // Another process answered or marked it a moment ago.
            Err(StoreError::NotWaiting { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(expired)
}
