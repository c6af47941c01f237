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

use super::approvals::{self, Approval, ApprovalsQuery, Wanted};
use crate::http::refusal::Refusal;
use crate::http::site::Site;
use crate::http::table::{Asked, Need, Nothing, Route, page_size};
use crate::limits::{API_ROWS_MAX, API_ROWS_SHOWN};
use crate::verb::to_whom;

/// Whoever may use this home.
const OWNER: &str = "owner";

pub(crate) fn routes() -> Vec<Route> {
    let (read, admin) = (Need::Owner(TokenScope::Read), Need::Owner(TokenScope::Admin));
    vec![
        Route::get("/api/requests", read, "What others ask for, or ever asked for", requests),
        Route::get("/api/grants", read, "Powers given for a time", grants),
        Route::post("/api/grants/{id}/revoke", admin, "Take a grant back", revoke),
    ]
}

/// Requests for permission.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Requests {
    /// The requests; those that wait are answered as approvals.
    pub(crate) requests: Vec<Approval>,
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
pub(crate) struct Grants {
    /// The newest first.
    pub(crate) grants: Vec<Given>,
}

/// A power given for a time.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Given {
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

fn requests(site: &Site, asked: Asked<ApprovalsQuery>) -> Result<Requests, Refusal> {
    let ledger = &site.parts.ledger;
    let limit = page_size(asked.query.limit, API_ROWS_SHOWN, API_ROWS_MAX)?;
    let rows = match asked.query.status.unwrap_or_default() {
        Wanted::Waiting => approvals::still_waiting(ledger.requests(true)?, ledger.now()),
        Wanted::All => ledger.approvals_newest(true, limit)?,
    };
    let requests = rows.iter().take(limit).map(|row| approvals::shown(site, row)).collect();
    Ok(Requests { requests })
}

fn grants(site: &Site, asked: Asked<GrantsQuery>) -> Result<Grants, Refusal> {
    let ledger = &site.parts.ledger;
    let (all, now) = (asked.query.all.unwrap_or(false), ledger.now());
    let grants = ledger.grants(!all)?;
    // Nobody has to have noted that the time of one is over.
    let grants = grants.iter().rev().filter(|grant| all || is_active(grant, now));
    Ok(Grants { grants: grants.take(API_ROWS_MAX).map(|grant| given(grant, now)).collect() })
}

fn revoke(site: &Site, asked: Asked<Nothing, RevokeBody>) -> Result<Given, Refusal> {
    let (ledger, text) = (&site.parts.ledger, asked.part(0));
    let unknown = || Refusal::not_found("grant", text).hint("list them with GET /api/grants");
    let id = GrantId::new(text);
    let grant = ledger.grant(&id)?.ok_or_else(unknown)?;
    if grant.revoked_at.is_some() {
        return Err(Refusal::conflict(format!("{id} was taken back already")));
    }
    let reason = asked.body.reason.as_ref().map(|reason| site.parts.redactor.hide(reason));
    let change = AccessChange::GrantRevoked { grant: id.clone(), by: OWNER.to_owned(), reason };
    let event = Event::Access(change);
    ledger.append(vec![Draft { cause: None, about: EntrySubject::default(), event }])?;
    let grant = ledger.grant(&id)?.ok_or_else(unknown)?;
    Ok(given(&grant, ledger.now()))
}

fn given(grant: &Grant, now: u64) -> Given {
    Given {
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
