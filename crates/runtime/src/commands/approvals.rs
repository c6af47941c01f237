//! Answers to approvals and permission requests; a lasting yes gives a grant.
//!
//! Must never: answer for the owner, answer twice, or apply an answer to content that was not shown.

use agentry_kernel::limits::GRANT_DAY_MS;
use agentry_kernel::permission_request::{check_answer, requester};
use agentry_protocol::access::{Grant, GrantConditions, PrincipalQuery};
use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope, PermissionRequest};
use agentry_protocol::envelope::{Draft, Envelope};
use agentry_protocol::event::Event;
use agentry_protocol::intake::AccessChange;
use agentry_protocol::{ApprovalId, GrantId, RunId};
use agentry_store::{ApprovalRow, Error as StoreError};
use agentry_tools::normalize_arguments;
use serde_json::Value;

use super::{CommandContext, CommandError};
use crate::canonical_json::canonical;
use crate::inbound::permission_request::{self, OWNER};
use crate::redact::Redactor;
use crate::run_request::sessionless_draft;

/// An answer to an approval.
pub struct AnswerRequest<'a> {
    /// The approval.
    pub approval: &'a ApprovalId,
    /// The answer.
    pub answer: ApprovalAnswer,
    /// The place where it was given: `terminal`, `stdio`, `http` with the key.
    pub by: &'a str,
    /// The digest of the content that the person read; None if this process showed it.
    pub digest: Option<&'a str>,
    /// The run that the approval must belong to; None for any.
    pub run: Option<&'a RunId>,
}

/// The result of answering an approval.
#[derive(Debug)]
pub struct AnsweredApproval {
    /// The approval, as it was before.
    pub row: ApprovalRow,
    /// The grant that the answer gave; None without a lasting yes.
    pub grant: Option<Grant>,
    /// The entries of the answer and the grant.
    pub recorded: Vec<Envelope>,
}

/// Records an answer, with its grant if it is lasting.
///
/// # Errors
/// If the answer does not fit its approval or what was shown of it, if it is too late, or if its
/// arguments hold the value of a secret.
pub fn answer(
    context: CommandContext<'_>,
    request: AnswerRequest<'_>,
) -> Result<AnsweredApproval, CommandError> {
    let CommandContext { ledger, redactor, new_number } = context;
    let AnswerRequest { approval, answer, by, digest, run } = request;
    let now = ledger.now();
    permission_request::expire_due(ledger, now)?;
    let row = ledger.approval(approval)?;
    if run.is_some() && row.as_ref().is_none_or(|row| row.run.as_ref() != run) {
        return Err(CommandError::UnknownApproval(approval.clone()));
    }
    let row =
        row.ok_or_else(|| StoreError::NotWaiting { approval: approval.clone(), status: None })?;
    if digest.is_some_and(|digest| digest != row.approval.digest.as_str()) {
        return Err(CommandError::OtherContent(approval.clone()));
    }
    if answer.reach != ApprovalScope::Once && !answer.allow {
        return Err(CommandError::ReachWithNo);
    }
    check_answer(&row.approval, &answer).map_err(CommandError::WrongAnswer)?;
    let edit = answer.edit.map(|edit| checked_edit(redactor, &row, edit)).transpose()?;
    let reason = answer.reason.map(|reason| redactor.hide(&reason));
    let answer = ApprovalAnswer { edit, reason, by: Some(by.to_owned()), ..answer };
    let request = row.approval.request().filter(|_| answer.allow);
    let grant = request.and_then(|request| {
        let id = GrantId::from_number(new_number());
        granted(request, &GrantOfAnswer { id, reach: answer.reach, approval, now })
    });
    let mut drafts: Vec<Draft> = vec![permission_request::answered(&row, answer)];
    drafts.extend(grant.clone().map(|grant| {
        sessionless_draft(Event::Access(AccessChange::GrantGiven { grant: Box::new(grant) }))
    }));
    let recorded = ledger.append(drafts)?;
    Ok(AnsweredApproval { row, grant, recorded })
}

/// Returns changed arguments in the canonical form of a model's own. Refuses those that hold a
/// secret: they are recorded and sent to the model.
fn checked_edit(
    redactor: &Redactor,
    row: &ApprovalRow,
    edit: Value,
) -> Result<Value, CommandError> {
    if !edit.is_object() {
        return Err(CommandError::EditNotObject);
    }
    let edit = canonical(normalize_arguments(&row.approval.call.tool, edit));
    let text = edit.to_string();
    if redactor.hide(&text) == text { Ok(edit) } else { Err(CommandError::SecretInArguments) }
}

/// The answer that gives a grant.
struct GrantOfAnswer<'a> {
    id: GrantId,
    reach: ApprovalScope,
    approval: &'a ApprovalId,
    now: u64,
}

/// Returns the grant of an allowed request; None unless it lasts beyond the session.
fn granted(request: &PermissionRequest, answer: &GrantOfAnswer<'_>) -> Option<Grant> {
    let expires_at = match answer.reach {
        ApprovalScope::Once | ApprovalScope::Session => return None,
        ApprovalScope::Day => Some(answer.now.saturating_add(GRANT_DAY_MS)),
        ApprovalScope::Always => None,
    };
    Some(Grant {
        id: answer.id.clone(),
        principal_query: PrincipalQuery {
            person_id: Some(requester(&request.requester)?.to_owned()),
            ..PrincipalQuery::default()
        },
        resources: request.resources.clone(),
        created_at: answer.now,
        expires_at,
        revoked_at: None,
        granted_by: OWNER.to_owned(),
        reason: Some(request.reason.clone()),
        request_context: Some(answer.approval.to_string()),
        conditions: GrantConditions::default(),
    })
}
