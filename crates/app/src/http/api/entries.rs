//! The ledger itself, a page at a time and as it grows.
//!
//! Must never: leave an entry out of a page without saying that there is more.

use agentry_protocol::token::TokenScope;
use agentry_protocol::{RunId, SessionId, TurnId};
use agentry_store::EntryFilter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::visibility;
use crate::http::api_error::{ApiError, ApiErrorCode};
use crate::http::auth::Caller;
use crate::http::entry_json;
use crate::http::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, RouteMethod, page_size};
use crate::http::sse::Kind;
use crate::http::state::ServerState;
use crate::http::subscribe::EntryStreamQuery;
use crate::limits::PAGE_ENTRIES_MAX;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let read = RouteAccess::AnyCaller(TokenScope::Read);
    vec![
        ApiRoute::stream::<EntryStreamQuery, NoParams>(
            RouteMethod::Get,
            "/api/stream",
            read,
            "Entries as they are recorded; `Last-Event-ID` goes on after a break",
            Kind::Entries,
        ),
        ApiRoute::get("/api/entries", read, "Entries of the ledger, in order", list),
        ApiRoute::get(
            "/api/entries/{seq}",
            RouteAccess::Owner(TokenScope::Read),
            "One entry, whole",
            one,
        ),
    ]
}

/// Which entries are wanted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EntryQuery {
    /// Of this session.
    session: Option<String>,
    /// Of this run.
    run: Option<String>,
    /// Of this turn.
    turn: Option<String>,
    /// Those after this one.
    after: Option<u64>,
    /// Those before this one; the last of them.
    before: Option<u64>,
    /// At most so many.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    /// With all that they have.
    full: Option<bool>,
}

/// A page of entries.
#[derive(Debug, Serialize, JsonSchema)]
struct EntryPage {
    /// They, in order.
    entries: Vec<Value>,
    /// The first of them.
    first: Option<u64>,
    /// The last of them.
    last: Option<u64>,
    /// Whether there is more in the direction that was asked for.
    more: bool,
}

fn list(site: &ServerState, asked: ApiRequest<EntryQuery>) -> Result<EntryPage, ApiError> {
    let EntryQuery { session, run, turn, after, before, limit, full } = asked.query;
    let of = EntryFilter {
        session: session.map(SessionId::new),
        run: run.map(RunId::new),
        turn: turn.map(TurnId::new),
        ..EntryFilter::default()
    };
    may_see(site, &asked.caller, &of)?;
    let limit = page_size(limit, 500, PAGE_ENTRIES_MAX)?;
    let ledger = &site.parts.ledger;
    let (mut entries, backwards) = match (after, before) {
        (Some(_), Some(_)) => return Err(ApiError::invalid("say `after` or `before`, not both")),
        (after, None) => (ledger.read_from(after.unwrap_or(0), &of, limit + 1)?, false),
        (None, Some(before)) => (ledger.read_before(before, &of, limit + 1)?, true),
    };
    let more = entries.len() > limit;
    if more && backwards {
        entries.remove(0);
    }
    entries.truncate(limit);
    let show = if full == Some(true) { entry_json::full_json } else { entry_json::brief_json };
    Ok(EntryPage {
        first: entries.first().map(|entry| entry.seq),
        last: entries.last().map(|entry| entry.seq),
        more,
        entries: entries.iter().map(show).collect(),
    })
}

fn may_see(site: &ServerState, caller: &Caller, of: &EntryFilter) -> Result<(), ApiError> {
    if caller.is_owner() {
        return Ok(());
    }
    match (&of.session, &of.run) {
        (Some(session), _) => visibility::visible_session(site, caller, session.as_str()).map(drop),
        (None, Some(run)) => visibility::visible_run(site, caller, run.as_str()).map(drop),
        (None, None) => {
            Err(ApiError::new(ApiErrorCode::Forbidden, "name a session or a run of yours"))
        }
    }
}

fn one(site: &ServerState, asked: ApiRequest) -> Result<Value, ApiError> {
    let none = || ApiError::not_found("entry", asked.part(0));
    let seq: u64 = asked.part(0).parse().map_err(|_| none())?;
    let entry = site.parts.ledger.entry(seq)?;
    entry.map(|entry| entry_json::full_json(&entry)).ok_or_else(none)
}
