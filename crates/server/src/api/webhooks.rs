//! Webhooks: calls of other programs become events; access decides about each of them.
//!
//! The operator's settings name each source. Its calls are signed with its secret; a source without
//! a secret accepts calls with a key of the owner.
//!
//! Must never: accept a call whose sender is not verified.

use agentry_agentfile::manifest::channels::Webhook;
use agentry_frontend::output::log_line;
use agentry_protocol::inbound::EventId;
use agentry_protocol::token::TokenScope;
use agentry_runtime::channel::InboundAcceptance;
use agentry_runtime::channel::webhook::{self, WebhookError, WebhookSource};
use agentry_runtime::inbound::receive::receive;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api_error::{ApiError, ApiErrorCode};
use crate::route::{ApiRoute, RawRequest, RouteAccess};
use crate::state::ServerState;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let words = "Accept a call of a source that the settings name under `webhooks`";
    vec![ApiRoute::text("/webhooks/{source}", RouteAccess::Signed, words, take).status(202)]
}

/// An accepted call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WebhookReceipt {
    /// Id of the event that the call became.
    event_id: EventId,
    /// Sequence number of its entry.
    seq: u64,
    /// True if the call was accepted before; it then has no effect.
    repeated: bool,
}

fn take(site: &ServerState, raw: &RawRequest) -> Result<WebhookReceipt, ApiError> {
    let name = raw.part(0);
    let definite = site.definition_cache.read()?;
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
    // Counted after the signature check, so that others cannot use up the rate.
    site.front.rates.count_request(&format!("webhook {name} {}", raw.from))?;
    let event_id = inbound.event_id.clone();
    let received = receive(ledger, &site.parts.redactor, inbound)?;
    Ok(WebhookReceipt {
        event_id,
        seq: received.seq,
        repeated: received.taken == InboundAcceptance::Repeated,
    })
}

/// Returns the headers that occur once; a repeated header is ambiguous.
fn headers(raw: &RawRequest) -> Vec<(String, String)> {
    let names = raw.headers.keys();
    names
        .filter_map(|name| Some((name.to_string(), raw.header(name.as_str())?.to_owned())))
        .collect()
}

/// Returns an error without details for the sender, and tells the operator the reason.
fn unset(name: &str, secret: &str) -> ApiError {
    log_line(&format!(
        "webhook call rejected: the secret `{secret}` of `{name}` has no value; set it with \
         `agentry secret set {secret}` and restart the server"
    ));
    ApiError::new(ApiErrorCode::Unavailable, format!("cannot verify calls of `{name}` now"))
}

/// Returns one error for all names, so that it does not reveal which webhooks exist.
fn unknown() -> ApiError {
    let text = "the call is not signed with the secret of a known webhook";
    ApiError::new(ApiErrorCode::Unauthenticated, text).hint(
        "sign the body with HMAC-SHA256 in X-Hub-Signature-256 or X-Agentry-Signature, or the id, the time \
         and the body in Webhook-Signature; a webhook without a secret needs a key of the owner with the scope `submit`",
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
