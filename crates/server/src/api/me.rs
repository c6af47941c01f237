//! The caller of a request, sign-in and sign-out, and the keys of this home.
//!
//! Must never: create a key with a scope that the creating key lacks.

use agentry_protocol::principal::PrincipalKind;
use agentry_protocol::token::{TokenKind, TokenScope};
use agentry_runtime::commands::CommandContext;
use agentry_runtime::commands::keys::{self, KeyIssuer, KeyRevocation, KeySpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api_error::{ApiError, ApiErrorCode};
use crate::auth::{self, Caller};
use crate::limits::COOKIE_TIME_MAX;
use crate::route::{ApiRequest, ApiRoute, NoParams, ResponseHeaders, RouteAccess};
use crate::state::ServerState;

pub(crate) fn routes() -> Vec<ApiRoute> {
    let admin = RouteAccess::Owner(TokenScope::Admin);
    vec![
        ApiRoute::get("/api/me", RouteAccess::AnyKey, "The caller, and the scopes of the key", me),
        ApiRoute::with_headers(
            "/api/login",
            RouteAccess::Unauthenticated,
            "Sign in: exchange a code for a cookie",
            log_in,
        ),
        ApiRoute::with_headers("/api/logout", RouteAccess::AnyKey, "Sign out", log_out),
        ApiRoute::get("/api/tokens", admin, "All keys", list),
        ApiRoute::post("/api/tokens", admin, "Create a key; its text is returned once", create)
            .status(201),
        ApiRoute::post("/api/tokens/{id}/revoke", admin, "Revoke a key", revoke),
    ]
}

/// The caller of this request, and the server.
#[derive(Debug, Serialize, JsonSchema)]
struct CurrentCaller {
    /// The caller.
    principal: CallerIdentity,
    /// Scopes of the key.
    scopes: Vec<TokenScope>,
    /// True if the server requires no key.
    insecure: bool,
    /// The server.
    server: ServerDescription,
}

/// The identity of a caller.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CallerIdentity {
    /// Kind of principal.
    kind: PrincipalKind,
    /// Display name; null if unknown.
    name: Option<String>,
    /// Id of the entity; null if the caller is not a registered one.
    entity_id: Option<String>,
}

/// The server that answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ServerDescription {
    /// Version of Agentry.
    version: &'static str,
    /// Directory of the definitions; null unless the caller is the owner.
    project: Option<String>,
    /// Start time of the server, in milliseconds since 1970.
    started_at: u64,
    /// Sandbox level: ns, bwrap, seatbelt, landlock, off or missing.
    sandbox: String,
}

fn me(site: &ServerState, asked: ApiRequest) -> Result<CurrentCaller, ApiError> {
    of(site, &asked.caller)
}

fn of(site: &ServerState, caller: &Caller) -> Result<CurrentCaller, ApiError> {
    let principal = &caller.principal;
    let level = site.definition_cache.level();
    Ok(CurrentCaller {
        principal: CallerIdentity {
            kind: principal.kind,
            name: principal.name.clone(),
            entity_id: principal.entity_id.clone(),
        },
        scopes: caller.scopes.clone(),
        insecure: site.front.is_insecure,
        server: ServerDescription {
            version: env!("CARGO_PKG_VERSION"),
            project: caller.is_owner().then(|| site.project.display().to_string()),
            started_at: site.started,
            sandbox: level.as_str().to_owned(),
        },
    })
}

/// A sign-in with a code from `agentry console`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoginBody {
    /// One-time code.
    #[schemars(length(min = 1, max = 200))]
    code: String,
}

fn log_in(
    site: &ServerState,
    asked: ApiRequest<NoParams, LoginBody>,
) -> Result<(CurrentCaller, ResponseHeaders), ApiError> {
    let made = site.keys.log_in(&asked.body.code).map_err(|refusal| match refusal.code {
        ApiErrorCode::Unauthenticated => ApiError::new(
            ApiErrorCode::Unauthenticated,
            "the code is wrong, expired or already used",
        )
        .hint("get a new code with `agentry console`"),
        _ => refusal,
    })?;
    let caller = site.keys.caller(&made.text, TokenKind::Cookie)?;
    let cookie = site.front.set_cookie(&made.text, COOKIE_TIME_MAX.as_secs());
    Ok((of(site, &caller)?, vec![("set-cookie", cookie)]))
}

/// Confirmation of the sign-out: an empty object.
#[derive(Debug, Serialize, JsonSchema)]
struct LogoutResponse {}

fn log_out(
    site: &ServerState,
    asked: ApiRequest<NoParams, NoParams>,
) -> Result<(LogoutResponse, ResponseHeaders), ApiError> {
    if let Some(token) = asked.caller.token.filter(|token| token.kind == TokenKind::Cookie) {
        site.keys.log_out(&token.id)?;
    }
    Ok((LogoutResponse {}, vec![("set-cookie", site.front.set_cookie("", 0))]))
}

/// A key, without its secret.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct KeySummary {
    /// Id of the key.
    id: String,
    /// Name of the key.
    name: String,
    /// bearer, cookie or code.
    kind: &'static str,
    /// Scopes of the key.
    scopes: Vec<TokenScope>,
    /// Id of the entity that uses the key; null for the owner.
    entity_id: Option<String>,
    /// Time of creation, in milliseconds since 1970.
    created_at: u64,
    /// Expiry time, in milliseconds since 1970; null if the key does not expire.
    expires_at: Option<u64>,
    /// Time of revocation, in milliseconds since 1970; null if the key is valid.
    revoked_at: Option<u64>,
}

/// All keys.
#[derive(Debug, Serialize, JsonSchema)]
struct KeysResponse {
    /// Keys, oldest first.
    tokens: Vec<KeySummary>,
}

fn list(site: &ServerState, _: ApiRequest) -> Result<KeysResponse, ApiError> {
    let rows = site.parts.ledger.tokens()?;
    let tokens = rows.into_iter().map(|row| key(row.token, row.revoked)).collect();
    Ok(KeysResponse { tokens })
}

fn key(token: agentry_protocol::token::Token, revoked_at: Option<u64>) -> KeySummary {
    KeySummary {
        id: token.id.to_string(),
        name: token.name,
        kind: token.kind.as_str(),
        scopes: token.scopes,
        entity_id: token.entity,
        created_at: token.created_at,
        expires_at: token.expires_at,
        revoked_at,
    }
}

/// The key to create.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct KeyBody {
    /// Name of the key.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// Scopes of the key; at most those of the key that creates it.
    scopes: Vec<TokenScope>,
    /// Id of the entity that uses the key. Default: the owner.
    entity_id: Option<String>,
    /// Lifetime in milliseconds. Default: until the key is revoked.
    valid_ms: Option<u64>,
}

/// A new key.
#[derive(Debug, Serialize, JsonSchema)]
struct KeyResponse {
    /// The key as clients send it; returned only once.
    key: String,
    /// The key's properties.
    token: KeySummary,
}

fn create(
    site: &ServerState,
    asked: ApiRequest<NoParams, KeyBody>,
) -> Result<KeyResponse, ApiError> {
    let KeyBody { name, scopes, entity_id, valid_ms } = asked.body;
    let ledger = &site.parts.ledger;
    let expires_at = valid_ms.map(|ms| ledger.now().saturating_add(ms));
    let wanted = KeySpec { name, kind: TokenKind::Bearer, scopes, entity: entity_id, expires_at };
    let issuer = KeyIssuer::Key(&asked.caller.scopes);
    let made = keys::issue(ledger, wanted, issuer, auth::key_numbers()?)?;
    Ok(KeyResponse { key: made.text, token: key(made.token, None) })
}

fn revoke(
    site: &ServerState,
    asked: ApiRequest<NoParams, NoParams>,
) -> Result<KeySummary, ApiError> {
    let id = agentry_protocol::TokenId::new(asked.part(0));
    let ledger = &site.parts.ledger;
    let (token, by) = (id.clone(), "owner".to_owned());
    let request = KeyRevocation { token, reason: None, by };
    keys::revoke(CommandContext::from(&*site.parts), request)?;
    let row = ledger.token(&id)?.ok_or_else(|| ApiError::not_found("key", asked.part(0)))?;
    Ok(key(row.token, row.revoked))
}
