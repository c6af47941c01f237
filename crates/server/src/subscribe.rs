//! Opens event streams: checks access, subscribes to the hub, and finds the entry to resume from.
//!
//! Must never: open a stream to a caller that may not read its entries.

use std::sync::Arc;

use agentry_protocol::inbound::EventId;
use agentry_protocol::{RunId, SessionId};
use agentry_store::EntryFilter;
use axum::response::{IntoResponse, Response};

use super::api::entries::EntryStreamQuery;
use super::api::messages::{self, PromptBody};
use super::api::visibility;
use super::api_error::{ApiError, ApiErrorCode};
use super::blocking::blocking;
use super::hub::{StreamContent, Topic};
use super::route::{NoParams, RawRequest, read_body, read_query};
use super::sse::{self, Kind, LineId, SseStream};
use super::state::ServerState;

/// The header with which a client resumes a stream after a disconnect.
const LAST_EVENT: &str = "last-event-id";

/// Opens the stream of a route.
pub(super) async fn stream(
    site: Arc<ServerState>,
    kind: Kind,
    raw: RawRequest,
) -> Result<Response, ApiError> {
    let opening = site.clone();
    match kind {
        Kind::Entries => {
            let opened = blocking(move || entries(&opening, &raw)).await?;
            let EntryStream { listening, after, of } = opened;
            Ok(sse::sse_response(sse::entries(site, listening, after, of)))
        }
        Kind::Run => {
            let (listening, run, after) = blocking(move || run(&opening, &raw)).await?;
            Ok(sse::sse_response(sse::run(site, listening, run, after)))
        }
        Kind::Message => {
            let event = blocking(move || message(&opening, &raw)).await?;
            let (listening, event, after) = event;
            Ok(sse::sse_response(sse::message(site, listening, event, after)))
        }
        Kind::Prompt => prompt(site, raw).await,
    }
}

struct EntryStream {
    listening: super::hub::StreamSubscription,
    after: u64,
    of: EntryFilter,
}

fn entries(site: &ServerState, raw: &RawRequest) -> Result<EntryStream, ApiError> {
    let query: EntryStreamQuery = read_query(&raw.query)?;
    let session = query.session.as_deref().map(SessionId::new);
    let run = query.run.as_deref().map(RunId::new);
    let topic = match (&run, &session) {
        (Some(run), _) => {
            visibility::visible_run(site, &raw.caller, run.as_str())?;
            Topic::Run(run.clone())
        }
        (None, Some(session)) => {
            visibility::visible_session(site, &raw.caller, session.as_str())?;
            Topic::Session(session.clone())
        }
        (None, None) if raw.caller.is_owner() => Topic::All,
        (None, None) => {
            return Err(ApiError::new(
                ApiErrorCode::Forbidden,
                "only the owner can stream all entries",
            )
            .hint("name one of your sessions or runs"));
        }
    };
    let content = if query.deltas.unwrap_or(false) {
        StreamContent::EntriesAndDeltas
    } else {
        StreamContent::Entries
    };
    let listening = site.hub.subscribe(topic, content, raw.caller.token.as_ref())?;
    let last = raw.header(LAST_EVENT).map(|text| {
        text.parse::<u64>().map_err(|_| ApiError::invalid("Last-Event-ID is not a sequence number"))
    });
    let after = last.transpose()?.or(query.after).unwrap_or(listening.after_seq);
    let of =
        EntryFilter { session: session.filter(|_| run.is_none()), run, ..EntryFilter::default() };
    Ok(EntryStream { listening, after, of })
}

type RunStream = (super::hub::StreamSubscription, RunId, Option<LineId>);

fn run(site: &ServerState, raw: &RawRequest) -> Result<RunStream, ApiError> {
    let NoParams {} = read_query(&raw.query)?;
    let row = visibility::visible_run(site, &raw.caller, raw.part(0))?;
    let after = line_id(raw)?;
    let (topic, content) = (Topic::Run(row.id.clone()), StreamContent::EntriesAndDeltas);
    let listening = site.hub.subscribe(topic, content, raw.caller.token.as_ref())?;
    Ok((listening, row.id, after))
}

type MessageStream = (super::hub::StreamSubscription, EventId, Option<LineId>);

fn message(site: &ServerState, raw: &RawRequest) -> Result<MessageStream, ApiError> {
    let NoParams {} = read_query(&raw.query)?;
    let id = raw.part(0);
    let row = visibility::visible_message(site, &raw.caller, id)?;
    listen_to(site, raw, row.id)
}

fn listen_to(
    site: &ServerState,
    raw: &RawRequest,
    event: EventId,
) -> Result<MessageStream, ApiError> {
    let after = line_id(raw)?;
    let (topic, content) = (Topic::Inbound(event.clone()), StreamContent::EntriesAndDeltas);
    let listening = site.hub.subscribe(topic, content, raw.caller.token.as_ref())?;
    Ok((listening, event, after))
}

fn line_id(raw: &RawRequest) -> Result<Option<LineId>, ApiError> {
    let id = raw.header(LAST_EVENT).filter(|text| !text.is_empty()).map(|text| {
        LineId::parse(text)
            .ok_or_else(|| ApiError::invalid("Last-Event-ID is not an id of this stream"))
    });
    id.transpose()
}

/// Accepts a prompt, then streams its run, or returns a receipt; `Location` names the stream.
async fn prompt(site: Arc<ServerState>, raw: RawRequest) -> Result<Response, ApiError> {
    let wants_stream =
        raw.header("accept").is_some_and(|types| types.contains("text/event-stream"));
    let taking = site.clone();
    let (sent, opened): (messages::MessageReceipt, Option<MessageStream>) = blocking(move || {
        let NoParams {} = read_query(&raw.query)?;
        let prompt: PromptBody = read_body(&raw.body)?;
        let sent = messages::accept_message(
            &taking,
            &raw.caller,
            prompt.message(),
            raw.idempotency_key(),
        )?;
        let opened = if wants_stream {
            Some(listen_to(&taking, &raw, sent.event_id.clone())?)
        } else {
            None
        };
        Ok((sent, opened))
    })
    .await?;
    let place = format!("/run/{}", messages::escape_path_segment(sent.event_id.as_str()));
    let mut response = match opened {
        Some((listening, event, after)) => {
            let frames: SseStream = sse::message(site, listening, event, after);
            sse::sse_response(frames)
        }
        None => {
            let body = serde_json::to_vec(&sent).unwrap_or_default();
            let mut response = body.into_response();
            *response.status_mut() = axum::http::StatusCode::ACCEPTED;
            let json = axum::http::HeaderValue::from_static("application/json");
            response.headers_mut().insert(axum::http::header::CONTENT_TYPE, json);
            response
        }
    };
    if let Ok(place) = axum::http::HeaderValue::from_str(&place) {
        response.headers_mut().insert(axum::http::header::LOCATION, place);
    }
    Ok(response)
}
