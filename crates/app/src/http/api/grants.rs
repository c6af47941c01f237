//! What others ask the owner for, and powers given for a time.
//!
//! Must never: change a grant; one is given or taken back, and both stay in the record.

use agentry_kernel::access::is_active;
use agentry_protocol::GrantId;
use agentry_protocol::access::Grant;
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::intake::AccessChange;
use agentry_protocol::token::TokenScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::approvals::{self, ApprovalDetails, ApprovalStatusFilter, ApprovalsQuery};
use crate::commands::to_whom;
use crate::http::api_error::ApiError;
use crate::http::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, page_size};
use crate::http::state::ServerState;
use crate::limits::{API_ROWS_MAX, API_ROWS_SHOWN};

/// Whoever may use this home.
const OWNER: &str = "owner";

pub(crate) fn routes() -> Vec<ApiRoute> {
    let (read, admin) =
        (RouteAccess::Owner(TokenScope::Read), RouteAccess::Owner(TokenScope::Admin));
    vec![
        ApiRoute::get("/api/requests", read, "What others ask for, or ever asked for", requests),
        ApiRoute::get("/api/grants", read, "Powers given for a time", grants),
        ApiRoute::post("/api/grants/{id}/revoke", admin, "Take a grant back", revoke),
    ]
}

/// Requests for permission.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionRequestsResponse {
    /// The requests; those that wait are answered as approvals.
    pub(crate) requests: Vec<ApprovalDetails>,
}

/// Which grants are wanted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct GrantsQuery {
    /// Also those that are over or were taken back.
    all: Option<bool>,
}

/// Grants.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrantsResponse {
    /// The newest first.
    pub(crate) grants: Vec<GrantSummary>,
}

/// A power given for a time.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrantSummary {
    /// Its id.
    pub(crate) id: String,
    /// To whom, such as person:mom.
    pub(crate) principal: String,
    /// What, such as tool:web_fetch.
    pub(crate) resources: Vec<String>,
    /// Only on this channel.
    pub(crate) channel: Option<String>,
    /// Only in the session with this key.
    pub(crate) session: Option<String>,
    /// When it was given, in milliseconds since 1970.
    pub(crate) created_at: u64,
    /// When it ends.
    pub(crate) expires_at: Option<u64>,
    /// When it was taken back.
    pub(crate) revoked_at: Option<u64>,
    /// Whether it holds now.
    pub(crate) active: bool,
    /// Who gave it.
    pub(crate) granted_by: String,
    /// Why.
    pub(crate) reason: Option<String>,
    /// The request that it was asked for with.
    pub(crate) request: Option<String>,
}

/// Why a grant is taken back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RevokeBody {
    /// Why.
    reason: Option<String>,
}

fn requests(
    site: &ServerState,
    asked: ApiRequest<ApprovalsQuery>,
) -> Result<PermissionRequestsResponse, ApiError> {
    let ledger = &site.parts.ledger;
    let limit = page_size(asked.query.limit, API_ROWS_SHOWN, API_ROWS_MAX)?;
    let rows = match asked.query.status.unwrap_or_default() {
        ApprovalStatusFilter::Waiting => {
            approvals::still_waiting(ledger.requests(true)?, ledger.now())
        }
        ApprovalStatusFilter::All => ledger.approvals_newest(true, limit)?,
    };
    let requests =
        rows.iter().take(limit).map(|row| approvals::approval_details(site, row)).collect();
    Ok(PermissionRequestsResponse { requests })
}

fn grants(site: &ServerState, asked: ApiRequest<GrantsQuery>) -> Result<GrantsResponse, ApiError> {
    let ledger = &site.parts.ledger;
    let (all, now) = (asked.query.all.unwrap_or(false), ledger.now());
    let grants = ledger.grants(!all)?;
    // Nobody has to have noted that the time of one is over.
    let grants = grants.iter().rev().filter(|grant| all || is_active(grant, now));
    Ok(GrantsResponse {
        grants: grants.take(API_ROWS_MAX).map(|grant| given(grant, now)).collect(),
    })
}

fn revoke(
    site: &ServerState,
    asked: ApiRequest<NoParams, RevokeBody>,
) -> Result<GrantSummary, ApiError> {
    let (ledger, text) = (&site.parts.ledger, asked.part(0));
    let unknown = || ApiError::not_found("grant", text).hint("list them with GET /api/grants");
    let id = GrantId::new(text);
    let grant = ledger.grant(&id)?.ok_or_else(unknown)?;
    if grant.revoked_at.is_some() {
        return Err(ApiError::conflict(format!("{id} was taken back already")));
    }
    let reason = asked.body.reason.as_ref().map(|reason| site.parts.redactor.hide(reason));
    let change = AccessChange::GrantRevoked { grant: id.clone(), by: OWNER.to_owned(), reason };
    let event = Event::Access(change);
    ledger.append(vec![Draft { cause: None, about: EntrySubject::default(), event }])?;
    let grant = ledger.grant(&id)?.ok_or_else(unknown)?;
    Ok(given(&grant, ledger.now()))
}

fn given(grant: &Grant, now: u64) -> GrantSummary {
    GrantSummary {
        id: grant.id.to_string(),
        principal: to_whom(grant),
        resources: grant.resources.iter().map(ToString::to_string).collect(),
        channel: grant.conditions.channel.clone(),
        session: grant.conditions.session.clone(),
        created_at: grant.created_at,
        expires_at: grant.expires_at,
        revoked_at: grant.revoked_at,
        active: is_active(grant, now),
        granted_by: grant.granted_by.clone(),
        reason: grant.reason.clone(),
        request: grant.request_context.clone(),
    }
}
