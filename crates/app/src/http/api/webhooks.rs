//! Calls of other programs: each is an event of its source, and access decides about it.
//!
//! A source is one that the operator's settings name. Its calls are signed with its secret; a source that has
//! none takes them with a key of the owner.
//!
//! Must never: take a call of which nobody knows who made it.

use agentry_agentfile::manifest::channels::Webhook;
use agentry_protocol::inbound::EventId;
use agentry_protocol::token::TokenScope;
use agentry_runtime::channel::InboundAcceptance;
use agentry_runtime::channel::webhook::{self, WebhookError, WebhookSource};
use agentry_runtime::receive::receive;
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::log_line;
use crate::http::api_error::{ApiError, ApiErrorCode};
use crate::http::route::{ApiRoute, RawRequest, RouteAccess};
use crate::http::state::ServerState;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let words = "Take a call of a program that the settings name under `webhooks`";
    vec![ApiRoute::text("/webhooks/{source}", RouteAccess::Signed, words, take).status(202)]
}

/// A call that was taken.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WebhookReceipt {
    /// The event that it is.
    event_id: EventId,
    /// Its entry.
    seq: u64,
    /// Whether it was taken before; then nothing new happens.
    repeated: bool,
}

fn take(site: &ServerState, raw: &RawRequest) -> Result<WebhookReceipt, ApiError> {
    let name = raw.part(0);
    let definite = site.reception.read()?;
    let sources = &definite.loaded.library.settings.config.webhooks;
    let is_owners = raw.caller.is_owner() && raw.caller.has_scope(TokenScope::Submit);
    let secret = match sources.get(name) {
        Some(Webhook { secret: Some(secret) }) => {
            let known = site.parts.secrets.named(secret).ok_or_else(|| unset(name, secret))?;
            Some(&known.value)
        }
        Some(Webhook { secret: None }) if is_owners => None,
        None if is_owners => return Err(ApiError::not_found("webhook", name)),
        Some(Webhook { secret: None }) | None => return Err(unknown()),
    };
    let ledger = &site.parts.ledger;
    let source = WebhookSource { name, secret };
    let inbound = webhook::inbound(&source, &headers(raw), &raw.body, ledger.now())?;
    // Counted once it is known who calls, so that nobody else can use it up.
    site.front.rates.count_request(&format!("webhook {name} {}", raw.from))?;
    let event_id = inbound.event_id.clone();
    let received = receive(ledger, &site.parts.redactor, inbound)?;
    Ok(WebhookReceipt {
        event_id,
        seq: received.seq,
        repeated: received.taken == InboundAcceptance::Repeated,
    })
}

/// Headers that are there once; of one that is there twice nobody can say which counts.
fn headers(raw: &RawRequest) -> Vec<(String, String)> {
    let names = raw.headers.keys();
    names
        .filter_map(|name| Some((name.to_string(), raw.header(name.as_str())?.to_owned())))
        .collect()
}

/// Who calls cannot help it, and who serves must know.
fn unset(name: &str, secret: &str) -> ApiError {
    log_line(&format!(
        "a call of the webhook `{name}` is refused: its secret `{secret}` has no value; set it with \
         `agentry secret set {secret}` and start the server again"
    ));
    ApiError::new(ApiErrorCode::Unavailable, format!("calls of `{name}` cannot be checked now"))
}

/// The same for every name, so that nobody learns which webhooks there are.
fn unknown() -> ApiError {
    let text = "the call is not signed with the secret of a webhook that is known here";
    ApiError::new(ApiErrorCode::Unauthenticated, text).hint(
        "sign the body with HMAC-SHA256 in X-Hub-Signature-256 or X-Agentry-Signature, or the id, the time \
         and the body in Webhook-Signature; a webhook without a secret takes calls with a key of the owner that opens `submit`",
    )
}

impl From<WebhookError> for ApiError {
    fn from(error: WebhookError) -> Self {
        let code = match error {
            WebhookError::Unsigned | WebhookError::WrongSignature { .. } => return unknown(),
            WebhookError::TooLarge { .. } => ApiErrorCode::TooLarge,
            WebhookError::Source { .. }
            | WebhookError::NotText
            | WebhookError::Stale { .. }
            | WebhookError::Delivery { .. } => ApiErrorCode::Invalid,
        };
        Self::new(code, error.to_string())
    }
}
