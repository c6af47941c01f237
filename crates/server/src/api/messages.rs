//! Messages to agents over HTTP. They take the path of any channel; access decides about them.
//!
//! Must never: let a caller name its sender, or anyone but the owner choose a run's settings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender};
use std::time::{Duration, Instant};

use agentry_frontend::bootstrap::new_uuid_number;
use agentry_kernel::identity::{HTTP, key_holder};
use agentry_protocol::TaskId;
use agentry_protocol::access::UnknownWord;
use agentry_protocol::envelope::Envelope;
use agentry_protocol::inbound::{ChannelAddress, EventId, Inbound, Sender};
use agentry_protocol::inbound_request::{InboundRequest, RouteTarget, RunOverrides};
use agentry_protocol::token::TokenScope;
use agentry_runtime::channel::InboundAcceptance;
use agentry_runtime::inbound::receive::receive;
use agentry_runtime::{EntryListener, Host};
use agentry_store::{EntryFilter, InboundRow, InboundStatus, Ledger};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::visibility;
use crate::api_error::{ApiError, ApiErrorCode};
use crate::auth::Caller;
use crate::limits::REQUEST_WAIT_TIME_MAX;
use crate::route::{ApiRequest, ApiRoute, NoParams, RouteAccess, RouteMethod};
use crate::sse::Kind;
use crate::state::ServerState;
use crate::supervision::{ModeSchema, RequestedMode, Supervision};

pub(crate) fn routes() -> Vec<ApiRoute> {
    let submit = RouteAccess::AnyCaller(TokenScope::Submit);
    let read = RouteAccess::AnyCaller(TokenScope::Read);
    vec![
        ApiRoute::stream::<NoParams, PromptBody>(
            RouteMethod::Post,
            "/run",
            submit,
            "Run a prompt; `Accept: text/event-stream` streams its events",
            Kind::Prompt,
        )
        .supervision(BY_MODE),
        ApiRoute::stream::<NoParams, NoParams>(
            RouteMethod::Get,
            "/run/{message}",
            read,
            "Events of the run that answers a message; `Last-Event-ID` resumes the stream",
            Kind::Message,
        ),
        ApiRoute::post("/api/sessions", submit, "Send a message to a new session", begin)
            .supervision(BY_MODE)
            .status(202),
        ApiRoute::post("/api/sessions/{id}/messages", submit, "Send a message to a session", say)
            .supervision(BY_MODE)
            .status(202),
        ApiRoute::get("/api/messages/{id}", read, "State of a message", one),
    ]
}

/// The autonomous mode reduces approval questions.
pub(super) const BY_MODE: Supervision = Supervision::ReducedBy(&["mode"]);

/// A prompt and optional run settings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct PromptBody {
    /// Text of the prompt.
    prompt: String,
    /// Key of the session. Default: a new session. Owner only.
    session: Option<String>,
    /// Id of the agent that answers. Owner only.
    agent: Option<String>,
    /// Model of the run. Owner only.
    model: Option<String>,
    /// Mode of the run. Owner only; `wiggum` needs a key with the scope `approve`.
    #[schemars(with = "Option<ModeSchema>")]
    mode: Option<RequestedMode>,
}

impl PromptBody {
    /// Converts the prompt to a message.
    pub(crate) fn message(self) -> ApiMessage {
        let Self { prompt, session, agent, model, mode } = self;
        let place = session.map_or(MessageTarget::NewSession, MessageTarget::Session);
        ApiMessage { text: prompt, place, agent, model, mode, ..ApiMessage::default() }
    }
}

/// A message from a caller of the API.
#[derive(Default)]
pub(crate) struct ApiMessage {
    pub(crate) text: String,
    pub(crate) place: MessageTarget,
    pub(crate) agent: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<RequestedMode>,
    pub(crate) delivery: Option<String>,
    /// The task to run, with its inputs.
    pub(crate) task: Option<(TaskId, BTreeMap<String, String>)>,
}

/// The session that gets a message.
#[derive(Default)]
pub(crate) enum MessageTarget {
    /// A new session.
    #[default]
    NewSession,
    /// The session with this key.
    Session(String),
    /// The session that the policies choose.
    PolicyRoute,
}

/// The first message of a new session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SessionStartBody {
    /// Text of the message.
    text: String,
    /// Id of the agent that answers. Default: the agent that the policies choose.
    agent: Option<String>,
    /// Model of the run.
    model: Option<String>,
    /// Mode of the run; `wiggum` needs a key with the scope `approve`.
    #[schemars(with = "Option<ModeSchema>")]
    mode: Option<RequestedMode>,
    /// Key of the new session. Default: a generated key.
    key: Option<String>,
}

/// A message to a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct MessageBody {
    /// Text of the message.
    text: String,
    /// Delivery to a busy session: steer, followup, collect or interrupt.
    delivery: Option<String>,
    /// Model, if the message starts a run.
    model: Option<String>,
    /// Mode, if the message starts a run; `wiggum` needs a key with the scope `approve`.
    #[schemars(with = "Option<ModeSchema>")]
    mode: Option<RequestedMode>,
}

/// An accepted message.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MessageReceipt {
    /// Id of the message.
    pub(crate) event_id: EventId,
    /// Sequence number of its entry.
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
    // Messages of others go to the session that the policies choose; it is the one they see.
    let place = if asked.caller.is_owner() {
        MessageTarget::Session(session.key.to_string())
    } else {
        MessageTarget::PolicyRoute
    };
    let agent = asked.caller.is_owner().then(|| session.agent.to_string());
    let message = ApiMessage { text, place, agent, model, mode, delivery, task: None };
    accept_message(site, &asked.caller, message, asked.once.as_deref())
}

/// Records a message. It is on disk when this returns; the dispatcher answers it later.
pub(crate) fn accept_message(
    site: &ServerState,
    caller: &Caller,
    message: ApiMessage,
    once: Option<&str>,
) -> Result<MessageReceipt, ApiError> {
    if message.text.trim().is_empty() {
        return Err(ApiError::invalid("the message is empty"));
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
            return Err(ApiError::conflict(
                "this Idempotency-Key was used for a different message",
            ));
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
    let place = ChannelAddress::of_peer(HTTP, &holder);
    let sender = Sender { sender_id: holder, sender_name: caller.principal.name.clone() };
    let (request, text) = request(caller, message, &source)?;
    let inbound = Inbound::new(&source, now, place, sender)
        .map_err(|wrong| ApiError::invalid(wrong.to_string()))?;
    Ok(inbound.with_text(text).with_request(request))
}

/// Returns the request of the caller, as far as the caller may make it, and the text.
fn request(
    caller: &Caller,
    message: ApiMessage,
    source: &str,
) -> Result<(InboundRequest, String), ApiError> {
    let ApiMessage { text, place, agent, model, mode, delivery, task } = message;
    let delivery = delivery.map(|word| {
        word.parse()
            .map_err(|unknown: UnknownWord| ApiError::invalid(format!("delivery: {unknown}")))
    });
    let request = InboundRequest { delivery: delivery.transpose()?, ..InboundRequest::default() };
    let chooses = agent.is_some() || model.is_some() || mode.is_some();
    if !caller.is_owner() {
        return match (place, chooses) {
            (MessageTarget::NewSession | MessageTarget::PolicyRoute, false) => Ok((request, text)),
            _ => Err(ApiError::new(
                ApiErrorCode::Forbidden,
                "only the owner can choose session, agent, model and mode",
            )
            .hint("omit them; the policies choose the agent and the session")),
        };
    }
    let target = match place {
        MessageTarget::NewSession => {
            Some(RouteTarget::Session { session: format!("http-{source}"), persona: agent })
        }
        MessageTarget::Session(session) => Some(RouteTarget::Session { session, persona: agent }),
        MessageTarget::PolicyRoute => agent.map(|persona| RouteTarget::Persona { persona }),
    };
    let mode = mode.map(|mode| mode.authorize(caller)).transpose()?;
    let (task, inputs) = task.unzip();
    let run = RunOverrides { model, mode, task, inputs: inputs.unwrap_or_default() };
    let run = Some(run).filter(|run| !run.is_empty());
    Ok((InboundRequest { target, run, ..request }, text))
}

/// The time to wait for a message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct MessageQuery {
    /// Time to wait until the message has a run or is settled, in milliseconds. Default: 0.
    #[schemars(range(max = 30_000))]
    wait_ms: Option<u64>,
}

/// The state of a message.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MessageStatus {
    /// Id of the message.
    event_id: EventId,
    /// State: received, denied, waiting, running, answered and others.
    status: String,
    /// Id of its session; null before it is routed.
    session_id: Option<String>,
    /// Id of the run that answers it; null if there is none yet.
    run_id: Option<String>,
    /// Reason why the message gets no run; null if it has one or waits for one.
    why: Option<String>,
    /// Text of the answer; null if there is none yet.
    answer: Option<String>,
}

fn one(site: &ServerState, asked: ApiRequest<MessageQuery>) -> Result<MessageStatus, ApiError> {
    let row = visibility::visible_message(site, &asked.caller, asked.part(0))?;
    let ledger = &site.parts.ledger;
    let wait = Duration::from_millis(asked.query.wait_ms.unwrap_or(0)).min(REQUEST_WAIT_TIME_MAX);
    let row = waited(&site.parts, row, wait)?;
    Ok(MessageStatus {
        status: row.status.as_str().to_owned(),
        session_id: row.routed.as_ref().map(|routed| routed.session.to_string()),
        run_id: row.run.as_ref().map(ToString::to_string),
        why: why(ledger, &row)?,
        answer: agentry_runtime::inbound::trace::answer(ledger, &row)?,
        event_id: row.id,
    })
}

/// Waits until a message has a run or is settled, but not longer than `wait`.
fn waited(parts: &Host, row: InboundRow, wait: Duration) -> Result<InboundRow, ApiError> {
    let is_placed = |row: &InboundRow| row.run.is_some() || row.status.is_settled();
    if wait.is_zero() || is_placed(&row) {
        return Ok(row);
    }
    let until = Instant::now() + wait;
    let (sender, changes) = mpsc::sync_channel(1);
    let (after_seq, listener) = (parts.ledger.last_seq()?, Box::new(ChangeListener(sender)));
    let _following = parts.follower.subscribe(EntryFilter::default(), after_seq, listener)?;
    let mut row = row;
    loop {
        // The first look finds what came before the subscription.
        row = parts.ledger.inbound(&row.id)?.unwrap_or(row);
        let left = until.saturating_duration_since(Instant::now());
        // Without a sender the ledger cannot be followed; the last look is the answer.
        if is_placed(&row) || changes.recv_timeout(left).is_err() {
            return Ok(row);
        }
    }
}

/// Wakes a request that waits for the ledger; wakes that it has not noticed yet count once.
struct ChangeListener(SyncSender<()>);

impl EntryListener for ChangeListener {
    fn deliver(&self, _: &[Arc<Envelope>]) {
        match self.0.try_send(()) {
            // The request looks at the ledger after this, or has ended.
            Ok(()) | Err(_) => {}
        }
    }

    // The end of the subscription drops the sender, which wakes the request.
    fn fail(&self, _: &str) {}
}

fn why(ledger: &Ledger, row: &InboundRow) -> Result<Option<String>, ApiError> {
    if row.status != InboundStatus::Denied {
        return Ok(row.why.clone());
    }
    let record = ledger.inbound_decided(row)?;
    Ok(record.map(|record| agentry_runtime::inbound::trace::decided(&record)))
}

/// An id as a part of a path.
pub(crate) fn escape_path_segment(id: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    id.bytes().fold(String::new(), |mut text, byte| {
        if is_plain(&byte) {
            text.push(char::from(byte))
        } else {
            text.push_str(&format!("%{byte:02X}"))
        }
        text
    })
}
