//! Ledger entries: a page at a time, one entry, and the live stream.
//!
//! Must never: leave an entry out of a page without setting `more`.

use agentry_protocol::token::TokenScope;
use agentry_protocol::{RunId, SessionId, TurnId};
use agentry_store::EntryFilter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::visibility;
use crate::api_error::{ApiError, ApiErrorCode};
use crate::auth::Caller;
use crate::entry_json;
use crate::limits::PAGE_ENTRIES_MAX;
use crate::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, RouteMethod, page_size};
use crate::sse::Kind;
use crate::state::ServerState;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let read = RouteAccess::AnyCaller(TokenScope::Read);
    vec![
        ApiRoute::stream::<EntryStreamQuery, NoParams>(
            RouteMethod::Get,
            "/api/stream",
            read,
            "Entries as they are recorded; `Last-Event-ID` resumes the stream",
            Kind::Entries,
        ),
        ApiRoute::get("/api/entries", read, "Ledger entries, in order", list),
        ApiRoute::get(
            "/api/entries/{seq}",
            RouteAccess::Owner(TokenScope::Read),
            "A ledger entry, with all its fields",
            one,
        ),
    ]
}

/// The entries to stream, and the entry to begin after.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct EntryStreamQuery {
    /// Sequence number to start after; `Last-Event-ID` has priority. Default: new entries only.
    pub(crate) after: Option<u64>,
    /// Only entries of this session.
    pub(crate) session: Option<String>,
    /// Only entries of this run; has priority over `session`.
    pub(crate) run: Option<String>,
    /// Also pieces of answers in progress, as `delta` events. Default: false.
    pub(crate) deltas: Option<bool>,
}

/// Filter and page of a list of entries.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EntryQuery {
    /// Only entries of this session.
    session: Option<String>,
    /// Only entries of this run.
    run: Option<String>,
    /// Only entries of this turn.
    turn: Option<String>,
    /// Entries after this sequence number, the first of them. Not together with `before`.
    after: Option<u64>,
    /// Entries before this sequence number, the last of them. Not together with `after`.
    before: Option<u64>,
    /// Most entries in the page. Default: 500.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
    /// True to include large fields and uncut texts. Default: false.
    full: Option<bool>,
}

/// A page of entries.
#[derive(Debug, Serialize, JsonSchema)]
struct EntryPage {
    /// Entries, in order.
    entries: Vec<Value>,
    /// Sequence number of the first entry; null if the page is empty.
    first: Option<u64>,
    /// Sequence number of the last entry; null if the page is empty.
    last: Option<u64>,
    /// True if there are more entries in the requested direction.
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
        (Some(_), Some(_)) => return Err(ApiError::invalid("use `after` or `before`, not both")),
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
            Err(ApiError::new(ApiErrorCode::Forbidden, "name one of your sessions or runs"))
        }
    }
}

fn one(site: &ServerState, asked: ApiRequest) -> Result<Value, ApiError> {
    let none = || ApiError::not_found("entry", asked.part(0));
    let seq: u64 = asked.part(0).parse().map_err(|_| none())?;
    let entry = site.parts.ledger.entry(seq)?;
    entry.map(|entry| entry_json::full_json(&entry)).ok_or_else(none)
}
