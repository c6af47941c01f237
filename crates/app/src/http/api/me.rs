//! Who calls: signing in and out, and the keys that there are.
//!
//! Must never: give a key more than the one that makes it has.

use agentry_protocol::principal::PrincipalKind;
use agentry_protocol::token::{TokenKind, TokenScope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::api_error::{ApiError, ApiErrorCode};
use crate::http::auth::{self, Caller, KeySpec};
use crate::http::route::{ApiRequest, ApiRoute, NoParams, ResponseHeaders, RouteAccess};
use crate::http::state::ServerState;
use crate::limits::{COOKIE_TIME_MAX, KEY_NAME_CHARS_MAX};

pub(crate) fn routes() -> Vec<ApiRoute> {
    let admin = RouteAccess::Owner(TokenScope::Admin);
    vec![
        ApiRoute::get("/api/me", RouteAccess::AnyKey, "Who calls, and what the key opens", me),
        ApiRoute::with_headers(
            "/api/login",
            RouteAccess::Unauthenticated,
            "Turn a code into a cookie",
            log_in,
        ),
        ApiRoute::with_headers("/api/logout", RouteAccess::AnyKey, "Sign out", log_out),
        ApiRoute::get("/api/tokens", admin, "The keys that there are", list),
        ApiRoute::post("/api/tokens", admin, "Make a key; it is shown once", create).status(201),
        ApiRoute::post("/api/tokens/{id}/revoke", admin, "Take a key back", revoke),
    ]
}

/// Who calls.
#[derive(Debug, Serialize, JsonSchema)]
struct CurrentCaller {
    /// Who it is.
    principal: CallerIdentity,
    /// What the key opens.
    scopes: Vec<TokenScope>,
    /// Whether the server asks nobody for a key.
    insecure: bool,
    /// The server.
    server: ServerDescription,
}

/// Who somebody is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CallerIdentity {
    /// What kind of speaker it is.
    kind: PrincipalKind,
    /// What people call it.
    name: Option<String>,
    /// The entity.
    entity_id: Option<String>,
}

/// The server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ServerDescription {
    /// Its version.
    version: &'static str,
    /// The directory of the definitions; only for the owner.
    project: Option<String>,
    /// When it began.
    started_at: u64,
    /// What confines the programs of agents.
    sandbox: String,
}

fn me(site: &ServerState, asked: ApiRequest) -> Result<CurrentCaller, ApiError> {
    of(site, &asked.caller)
}

fn of(site: &ServerState, caller: &Caller) -> Result<CurrentCaller, ApiError> {
    let principal = &caller.principal;
    let level = site.reception.level();
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

/// A code that `agentry console` made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LoginBody {
    /// The code.
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
            "the code is wrong, too old or used already",
        )
        .hint("get another with `agentry console`"),
        _ => refusal,
    })?;
    let caller = site.keys.caller(&made.text, TokenKind::Cookie)?;
    let cookie = site.front.set_cookie(&made.text, COOKIE_TIME_MAX.as_secs());
    Ok((of(site, &caller)?, vec![("set-cookie", cookie)]))
}

/// Nothing is left.
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

/// A key, without what would open anything.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct KeySummary {
    /// Which one.
    id: String,
    /// What people call it.
    name: String,
    /// bearer, cookie or code.
    kind: &'static str,
    /// What it opens.
    scopes: Vec<TokenScope>,
    /// The entity that speaks with it; null is the owner.
    entity_id: Option<String>,
    /// When it was made.
    created_at: u64,
    /// Until when it holds.
    expires_at: Option<u64>,
    /// When it was taken back.
    revoked_at: Option<u64>,
}

/// Keys.
#[derive(Debug, Serialize, JsonSchema)]
struct KeysResponse {
    /// They, the oldest first.
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

/// What a key is to be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct KeyBody {
    /// What people call it.
    #[schemars(length(min = 1, max = 100))]
    name: String,
    /// What it opens; not more than the key that makes it.
    scopes: Vec<TokenScope>,
    /// The entity that speaks with it; the owner if none is named.
    entity_id: Option<String>,
    /// How long it holds, in milliseconds; until it is taken back if nothing is said.
    valid_ms: Option<u64>,
}

/// A key that was just made.
#[derive(Debug, Serialize, JsonSchema)]
struct KeyResponse {
    /// The key, as it is sent; it is never shown again.
    key: String,
    /// What is recorded of it.
    token: KeySummary,
}

fn create(
    site: &ServerState,
    asked: ApiRequest<NoParams, KeyBody>,
) -> Result<KeyResponse, ApiError> {
    let KeyBody { name, scopes, entity_id, valid_ms } = asked.body;
    if name.trim().is_empty() || name.chars().count() > KEY_NAME_CHARS_MAX {
        return Err(ApiError::invalid(format!("a name has 1 to {KEY_NAME_CHARS_MAX} letters")));
    }
    if let Some(scope) = scopes.iter().find(|scope| !asked.caller.has_scope(**scope)) {
        return Err(ApiError::new(
            ApiErrorCode::Forbidden,
            format!("a key that does not open `{scope}` cannot make one that does"),
        ));
    }
    let ledger = &site.parts.ledger;
    let expires_at = valid_ms.map(|ms| ledger.now().saturating_add(ms));
    let wanted = KeySpec { name, kind: TokenKind::Bearer, scopes, entity: entity_id, expires_at };
    auth::check(ledger, &wanted)?;
    let made = auth::issue(ledger, wanted)?;
    Ok(KeyResponse { key: made.text, token: key(made.token, None) })
}

fn revoke(
    site: &ServerState,
    asked: ApiRequest<NoParams, NoParams>,
) -> Result<KeySummary, ApiError> {
    let id = agentry_protocol::TokenId::new(asked.part(0));
    let ledger = &site.parts.ledger;
    ledger.token(&id)?.ok_or_else(|| ApiError::not_found("key", asked.part(0)))?;
    auth::revoke(ledger, &id, "owner", None)?;
    let row = ledger.token(&id)?.ok_or_else(|| ApiError::not_found("key", asked.part(0)))?;
    Ok(key(row.token, row.revoked))
}
