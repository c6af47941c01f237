//! What is said to agents over HTTP. It comes in like from any channel, and access decides about it.
//!
//! Must never: let a caller say who they are, or choose for a run what only the owner may.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use agentry_kernel::identity::{HTTP, key_holder};
use agentry_kernel::route::{DELIVERY, RUN, TARGET};
use agentry_protocol::TaskId;
use agentry_protocol::inbound::{
    ChannelAddress, EventId, Inbound, InboundContent, PeerKind, Sender,
};
use agentry_protocol::token::TokenScope;
use agentry_runtime::channel::InboundAcceptance;
use agentry_runtime::receive::receive;
use agentry_store::{EntryFilter, InboundRow, InboundStatus, Ledger};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::visibility;
use crate::bootstrap::new_uuid_number;
use crate::http::api_error::{ApiError, ApiErrorCode};
use crate::http::auth::Caller;
use crate::http::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, RouteMethod};
use crate::http::sse::Kind;
use crate::http::state::ServerState;
use crate::http::supervision::{ModeSchema, RequestedMode, Supervision};
use crate::limits::{REQUEST_WAIT_TIME_MAX, SERVER_LOOK_TIME};

pub(crate) fn routes() -> Vec<ApiRoute> {
    let submit = RouteAccess::AnyCaller(TokenScope::Submit);
    let read = RouteAccess::AnyCaller(TokenScope::Read);
    vec![
        ApiRoute::stream::<NoParams, PromptBody>(
            RouteMethod::Post,
            "/run",
            submit,
            "Run a prompt; with `Accept: text/event-stream` its events follow",
            Kind::Prompt,
        )
        .supervision(BY_MODE),
        ApiRoute::stream::<NoParams, NoParams>(
            RouteMethod::Get,
            "/run/{message}",
            read,
            "The events of the run that answers a message; `Last-Event-ID` goes on after a break",
            Kind::Message,
        ),
        ApiRoute::post("/api/sessions", submit, "Say something in a session of its own", begin)
            .supervision(BY_MODE)
            .status(202),
        ApiRoute::post("/api/sessions/{id}/messages", submit, "Say something in a session", say)
            .supervision(BY_MODE)
            .status(202),
        ApiRoute::get("/api/messages/{id}", read, "What became of a message", one),
    ]
}

/// A mode that asks nobody leaves fewer questions to a person.
pub(super) const BY_MODE: Supervision = Supervision::ReducedBy(&["mode"]);

/// A prompt, as seed 003 has it, and what else may be said about the run.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct PromptBody {
    /// What is said.
    prompt: String,
    /// The session, by its name; one of its own if none is named. Only for the owner.
    session: Option<String>,
    /// Who is to answer. Only for the owner.
    agent: Option<String>,
    /// The model. Only for the owner.
    model: Option<String>,
    /// The mode. Only for the owner; `wiggum` needs a key that opens `approve`.
    #[schemars(with = "Option<ModeSchema>")]
    mode: Option<RequestedMode>,
}

impl PromptBody {
    /// The same as any message.
    pub(crate) fn message(self) -> ApiMessage {
        let Self { prompt, session, agent, model, mode } = self;
        let place = session.map_or(MessageTarget::NewSession, MessageTarget::Session);
        ApiMessage { text: prompt, place, agent, model, mode, ..ApiMessage::default() }
    }
}

/// Something that is said.
#[derive(Default)]
pub(crate) struct ApiMessage {
    pub(crate) text: String,
    pub(crate) place: MessageTarget,
    pub(crate) agent: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<RequestedMode>,
    pub(crate) delivery: Option<String>,
    /// A task, and what it is given.
    pub(crate) task: Option<(TaskId, BTreeMap<String, String>)>,
}

/// Where it goes.
#[derive(Default)]
pub(crate) enum MessageTarget {
    /// To a session of its own.
    #[default]
    NewSession,
    /// To the session with this name.
    Session(String),
    /// Where the policies say.
    PolicyRoute,
}

/// What begins a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SessionStartBody {
    /// What is said.
    text: String,
    /// Who is to answer.
    agent: Option<String>,
    /// The model.
    model: Option<String>,
    /// The mode; `wiggum` needs a key that opens `approve`.
    #[schemars(with = "Option<ModeSchema>")]
    mode: Option<RequestedMode>,
    /// What the session is to be called.
    key: Option<String>,
}

/// What is said in a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct MessageBody {
    /// What is said.
    text: String,
    /// How it reaches a busy session: steer, followup, collect or interrupt.
    delivery: Option<String>,
    /// The model, if it begins a run.
    model: Option<String>,
    /// The mode, if it begins a run; `wiggum` needs a key that opens `approve`.
    #[schemars(with = "Option<ModeSchema>")]
    mode: Option<RequestedMode>,
}

/// Something that was taken in.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageReceipt {
    /// The message.
    pub(crate) event_id: EventId,
    /// Its entry.
    seq: u64,
}

fn begin(
    site: &ServerState,
    asked: ApiRequest<NoParams, SessionStartBody>,
) -> Result<MessageReceipt, ApiError> {
    let SessionStartBody { text, agent, model, mode, key } = asked.body;
    let place = key.map_or(MessageTarget::NewSession, MessageTarget::Session);
    let message = ApiMessage { text, place, agent, model, mode, ..ApiMessage::default() };
    accept_message(site, &asked.caller, message, asked.once.as_deref())
}

fn say(
    site: &ServerState,
    asked: ApiRequest<NoParams, MessageBody>,
) -> Result<MessageReceipt, ApiError> {
    let session = visibility::visible_session(site, &asked.caller, asked.part(0))?;
    let MessageBody { text, delivery, model, mode } = asked.body;
    // Somebody else talks where the policies say; that is the session they see.
    let place = match asked.caller.is_owner() {
        true => MessageTarget::Session(session.key.to_string()),
        false => MessageTarget::PolicyRoute,
    };
    let agent = asked.caller.is_owner().then(|| session.agent.to_string());
    let message = ApiMessage { text, place, agent, model, mode, delivery, task: None };
    accept_message(site, &asked.caller, message, asked.once.as_deref())
}

/// Takes something in. It is on disk when this returns.
pub(crate) fn accept_message(
    site: &ServerState,
    caller: &Caller,
    message: ApiMessage,
    once: Option<&str>,
) -> Result<MessageReceipt, ApiError> {
    if message.text.trim().is_empty() {
        return Err(ApiError::invalid("there is nothing to say"));
    }
    let (ledger, redactor) = (&site.parts.ledger, &site.parts.redactor);
    let inbound = inbound(caller, message, once, ledger.now())?;
    let event_id = inbound.event_id.clone();
    let same = (inbound.body.content.clone(), inbound.metadata.clone());
    let received = receive(ledger, redactor, inbound)?;
    if received.taken == InboundAcceptance::Repeated {
        let before = ledger.inbound(&event_id)?.map(|row| ledger.inbound_received(&row));
        let before = before.transpose()?.map(|one| (one.body.content.clone(), one.metadata));
        let same = (redactor.hide(&same.0), same.1);
        if before.is_some_and(|before| before != same) {
            return Err(ApiError::conflict("something else was sent with this Idempotency-Key"));
        }
    }
    Ok(MessageReceipt { event_id, seq: received.seq })
}

fn inbound(
    caller: &Caller,
    message: ApiMessage,
    once: Option<&str>,
    now: u64,
) -> Result<Inbound, ApiError> {
    let holder = key_holder(caller.entity());
    let source = match once {
        Some(once) => format!("{holder}:{once}"),
        None => uuid::Uuid::from_u128(new_uuid_number()).to_string(),
    };
    let place = ChannelAddress {
        channel: HTTP.to_owned(),
        account_id: None,
        peer_id: Some(holder.clone()),
        peer_kind: Some(PeerKind::Dm),
        guild: None,
        thread_id: None,
        reply_to_id: None,
    };
    let sender = Sender { sender_id: holder, sender_name: caller.principal.name.clone() };
    let mut inbound = Inbound::new(&source, now, place, sender)
        .map_err(|wrong| ApiError::invalid(wrong.to_string()))?;
    inbound.metadata = metadata(caller, &message, &source)?;
    inbound.body = InboundContent { content: message.text, ..InboundContent::default() };
    Ok(inbound)
}

fn metadata(
    caller: &Caller,
    message: &ApiMessage,
    source: &str,
) -> Result<Map<String, Value>, ApiError> {
    let ApiMessage { place, agent, model, mode, delivery, task, .. } = message;
    let mut metadata = Map::new();
    if let Some(word) = delivery {
        let known: Result<agentry_protocol::access::Delivery, _> = word.parse();
        known.map_err(|unknown| ApiError::invalid(format!("delivery: {unknown}")))?;
        metadata.insert(DELIVERY.to_owned(), json!(word));
    }
    let chooses = agent.is_some() || model.is_some() || mode.is_some();
    if !caller.is_owner() {
        return match (place, chooses) {
            (MessageTarget::NewSession | MessageTarget::PolicyRoute, false) => Ok(metadata),
            _ => Err(ApiError::new(
                ApiErrorCode::Forbidden,
                "only the owner chooses session, agent, model and mode",
            )
            .hint("leave them out; the policies say who answers where")),
        };
    }
    let mut target = Map::new();
    match place {
        MessageTarget::NewSession => {
            target.insert("session".to_owned(), json!(format!("http-{source}")))
        }
        MessageTarget::Session(key) => target.insert("session".to_owned(), json!(key)),
        MessageTarget::PolicyRoute => None,
    };
    target.extend(agent.iter().map(|agent| ("persona".to_owned(), json!(agent))));
    metadata.insert(TARGET.to_owned(), Value::Object(target));
    let mut run = Map::new();
    run.extend(model.iter().map(|model| ("model".to_owned(), json!(model))));
    if let Some(mode) = mode {
        run.insert("mode".to_owned(), json!(mode.authorize(caller)?));
    }
    if let Some((task, inputs)) = task {
        run.insert("task".to_owned(), json!(task));
        run.insert("inputs".to_owned(), json!(inputs));
    }
    if !run.is_empty() {
        metadata.insert(RUN.to_owned(), Value::Object(run));
    }
    Ok(metadata)
}

/// How long somebody waits for a message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct MessageQuery {
    /// How long to wait until it has a session or is settled, in milliseconds.
    #[schemars(range(max = 30_000))]
    wait_ms: Option<u64>,
}

/// What became of a message.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MessageStatus {
    /// The message.
    event_id: EventId,
    /// How far it is.
    status: String,
    /// Its session.
    session_id: Option<String>,
    /// The run that answers it.
    run_id: Option<String>,
    /// Why it has no turn.
    why: Option<String>,
    /// What was answered.
    answer: Option<String>,
}

fn one(site: &ServerState, asked: ApiRequest<MessageQuery>) -> Result<MessageStatus, ApiError> {
    let row = visibility::visible_message(site, &asked.caller, asked.part(0))?;
    let ledger = &site.parts.ledger;
    let wait = Duration::from_millis(asked.query.wait_ms.unwrap_or(0)).min(REQUEST_WAIT_TIME_MAX);
    let row = waited(ledger, row, wait)?;
    Ok(MessageStatus {
        status: row.status.as_str().to_owned(),
        session_id: row.routed.as_ref().map(|routed| routed.session.to_string()),
        run_id: row.run.as_ref().map(ToString::to_string),
        why: why(ledger, &row)?,
        answer: agentry_runtime::trace::answer(ledger, &row)?,
        event_id: row.id,
    })
}

fn waited(ledger: &Ledger, row: InboundRow, wait: Duration) -> Result<InboundRow, ApiError> {
    let until = Instant::now() + wait;
    let is_placed = |row: &InboundRow| row.run.is_some() || row.status.is_settled();
    let mut row = row;
    let mut tail = ledger.tail(row.seq, EntryFilter::default())?;
    while !is_placed(&row) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        tail.next(left.min(SERVER_LOOK_TIME))?;
        row = ledger.inbound(&row.id)?.unwrap_or(row);
    }
    Ok(row)
}

fn why(ledger: &Ledger, row: &InboundRow) -> Result<Option<String>, ApiError> {
    if row.status != InboundStatus::Denied {
        return Ok(row.why.clone());
    }
    let record = ledger.inbound_decided(row)?;
    Ok(record.map(|record| agentry_runtime::trace::decided(&record)))
}

/// An id as a part of a path.
pub(crate) fn escape_path_segment(id: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    id.bytes().fold(String::new(), |mut text, byte| {
        match is_plain(&byte) {
            true => text.push(char::from(byte)),
            false => text.push_str(&format!("%{byte:02X}")),
        }
        text
    })
}
