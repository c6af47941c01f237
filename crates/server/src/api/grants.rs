//! Permission requests of others, and grants.
//!
//! Must never: change a grant; it is given or revoked, and both stay in the ledger.

use agentry_kernel::access::is_active;
use agentry_kernel::permission_request::grantees;
use agentry_protocol::GrantId;
use agentry_protocol::access::Grant;
use agentry_protocol::token::TokenScope;
use agentry_runtime::commands::grants::{self, GrantRevocation};
use agentry_runtime::commands::{CommandContext, CommandError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::approvals::{self, ApprovalDetails, ApprovalStatusFilter, ApprovalsQuery};
use crate::api_error::ApiError;
use crate::limits::{API_ROWS_MAX, API_ROWS_SHOWN};
use crate::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, page_size};
use crate::state::ServerState;

/// The giver and revoker of grants in the record: the owner of this home.
const OWNER: &str = "owner";

pub(crate) fn routes() -> Vec<ApiRoute> {
    let (read, admin) =
        (RouteAccess::Owner(TokenScope::Read), RouteAccess::Owner(TokenScope::Admin));
    vec![
        ApiRoute::get("/api/requests", read, "Permission requests that wait, or all", requests),
        ApiRoute::get("/api/grants", read, "Grants: extra permissions for a limited time", list),
        ApiRoute::post("/api/grants/{id}/revoke", admin, "Revoke a grant", revoke),
    ]
}

/// Permission requests.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PermissionRequestsResponse {
    /// Permission requests; waiting ones are answered as approvals.
    pub(crate) requests: Vec<ApprovalDetails>,
}

/// Filter of a list of grants.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct GrantsQuery {
    /// True to include expired and revoked grants. Default: false.
    all: Option<bool>,
}

/// Grants.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrantsResponse {
    /// Grants, newest first.
    pub(crate) grants: Vec<GrantSummary>,
}

/// A grant: extra permissions, usually for a limited time.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrantSummary {
    /// Id of the grant.
    pub(crate) id: String,
    /// Principal that has the grant, such as person:mom.
    pub(crate) principal: String,
    /// Granted resources, such as tool:web_fetch.
    pub(crate) resources: Vec<String>,
    /// Channel to which the grant is limited; null for any.
    pub(crate) channel: Option<String>,
    /// Key of the session to which the grant is limited; null for any.
    pub(crate) session: Option<String>,
    /// Time of the grant, in milliseconds since 1970.
    pub(crate) created_at: u64,
    /// Expiry time, in milliseconds since 1970; null if it does not expire.
    pub(crate) expires_at: Option<u64>,
    /// Time of revocation, in milliseconds since 1970; null if it is not revoked.
    pub(crate) revoked_at: Option<u64>,
    /// True if the grant is active now.
    pub(crate) active: bool,
    /// Giver of the grant.
    pub(crate) granted_by: String,
    /// Reason for the grant.
    pub(crate) reason: Option<String>,
    /// Id of the permission request behind the grant.
    pub(crate) request: Option<String>,
}

/// The reason for a revocation.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RevokeBody {
    /// Reason, in words.
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

fn list(site: &ServerState, asked: ApiRequest<GrantsQuery>) -> Result<GrantsResponse, ApiError> {
    let ledger = &site.parts.ledger;
    let (all, now) = (asked.query.all.unwrap_or(false), ledger.now());
    let grants = ledger.grants(!all)?;
    // A grant can be expired although its expiry is not recorded yet.
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
    let (grant, by) = (GrantId::new(text), OWNER.to_owned());
    let request = GrantRevocation { grant, reason: asked.body.reason, by };
    let revoked = grants::revoke(CommandContext::from(&*site.parts), request);
    let grant = revoked.map_err(|error| match error {
        CommandError::UnknownGrant(_) => {
            ApiError::from(error).hint("list them with GET /api/grants")
        }
        error => error.into(),
    })?;
    Ok(given(&grant, ledger.now()))
}

fn given(grant: &Grant, now: u64) -> GrantSummary {
    GrantSummary {
        id: grant.id.to_string(),
        principal: grantees(grant),
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
