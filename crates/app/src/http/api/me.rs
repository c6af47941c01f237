//! Who calls: signing in and out, and the keys that there are.
//!
//! Must never: give a key more than the one that makes it has.

use agentry_protocol::principal::PrincipalKind;
use agentry_protocol::token::{TokenKind, TokenScope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::auth::{self, Caller, Wanted};
use crate::http::refusal::{Code, Refusal};
use crate::http::site::Site;
use crate::http::table::{Asked, Headers, Need, Nothing, Route};
use crate::limits::{COOKIE_TIME_MAX, KEY_NAME_CHARS_MAX};

pub(crate) fn routes() -> Vec<Route> {
    let admin = Need::Owner(TokenScope::Admin);
    vec![
        Route::get("/api/me", Need::Key, "Who calls, and what the key opens", me),
        Route::with_headers("/api/login", Need::Nobody, "Turn a code into a cookie", log_in),
        Route::with_headers("/api/logout", Need::Key, "Sign out", log_out),
        Route::get("/api/tokens", admin, "The keys that there are", list),
        Route::post("/api/tokens", admin, "Make a key; it is shown once", create).status(201),
        Route::post("/api/tokens/{id}/revoke", admin, "Take a key back", revoke),
    ]
}

/// Who calls.
#[derive(Debug, Serialize, JsonSchema)]
struct Me {
    /// Who it is.
    principal: Who,
    /// What the key opens.
    scopes: Vec<TokenScope>,
    /// Whether the server asks nobody for a key.
    insecure: bool,
    /// The server.
    server: About,
}

/// Who somebody is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Who {
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
struct About {
    /// Its version.
    version: &'static str,
    /// The directory of the definitions; only for the owner.
    project: Option<String>,
    /// When it began.
    started_at: u64,
    /// What confines the programs of agents.
    sandbox: String,
}

fn me(site: &Site, asked: Asked) -> Result<Me, Refusal> {
    of(site, &asked.caller)
}

fn of(site: &Site, caller: &Caller) -> Result<Me, Refusal> {
    let principal = &caller.principal;
    let level = site.reception.level();
    Ok(Me {
        principal: Who {
            kind: principal.kind,
            name: principal.name.clone(),
            entity_id: principal.entity_id.clone(),
        },
        scopes: caller.scopes.clone(),
        insecure: site.front.is_insecure,
        server: About {
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
struct LogIn {
    /// The code.
    #[schemars(length(min = 1, max = 200))]
    code: String,
}

fn log_in(site: &Site, asked: Asked<Nothing, LogIn>) -> Result<(Me, Headers), Refusal> {
    let made = site.keys.log_in(&asked.body.code).map_err(|refusal| match refusal.code {
        Code::Unauthenticated => {
            Refusal::new(Code::Unauthenticated, "the code is wrong, too old or used already")
                .hint("get another with `agentry console`")
        }
        _ => refusal,
    })?;
    let caller = site.keys.caller(&made.text, TokenKind::Cookie)?;
    let cookie = site.front.set_cookie(&made.text, COOKIE_TIME_MAX.as_secs());
    Ok((of(site, &caller)?, vec![("set-cookie", cookie)]))
}

/// Nothing is left.
#[derive(Debug, Serialize, JsonSchema)]
struct Done {}

fn log_out(site: &Site, asked: Asked<Nothing, Nothing>) -> Result<(Done, Headers), Refusal> {
    if let Some(token) = asked.caller.token.filter(|token| token.kind == TokenKind::Cookie) {
        site.keys.log_out(&token.id)?;
    }
    Ok((Done {}, vec![("set-cookie", site.front.set_cookie("", 0))]))
}

/// A key, without what would open anything.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Key {
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
struct Keys {
    /// They, the oldest first.
    tokens: Vec<Key>,
}

fn list(site: &Site, _: Asked) -> Result<Keys, Refusal> {
    let rows = site.parts.ledger.tokens()?;
    let tokens = rows.into_iter().map(|row| key(row.token, row.revoked)).collect();
    Ok(Keys { tokens })
}

fn key(token: agentry_protocol::token::Token, revoked_at: Option<u64>) -> Key {
    Key {
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
struct WantedKey {
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
struct MadeKey {
    /// The key, as it is sent; it is never shown again.
    key: String,
    /// What is recorded of it.
    token: Key,
}

fn create(site: &Site, asked: Asked<Nothing, WantedKey>) -> Result<MadeKey, Refusal> {
    let WantedKey { name, scopes, entity_id, valid_ms } = asked.body;
    if name.trim().is_empty() || name.chars().count() > KEY_NAME_CHARS_MAX {
        return Err(Refusal::invalid(format!("a name has 1 to {KEY_NAME_CHARS_MAX} letters")));
    }
    if let Some(scope) = scopes.iter().find(|scope| !asked.caller.may(**scope)) {
        return Err(Refusal::new(
            Code::Forbidden,
            format!("a key that does not open `{scope}` cannot make one that does"),
        ));
    }
    let ledger = &site.parts.ledger;
    let expires_at = valid_ms.map(|ms| ledger.now().saturating_add(ms));
    let wanted = Wanted { name, kind: TokenKind::Bearer, scopes, entity: entity_id, expires_at };
    auth::check(ledger, &wanted)?;
    let made = auth::issue(ledger, wanted)?;
    Ok(MadeKey { key: made.text, token: key(made.token, None) })
}

fn revoke(site: &Site, asked: Asked<Nothing, Nothing>) -> Result<Key, Refusal> {
    let id = agentry_protocol::TokenId::new(asked.part(0));
    let ledger = &site.parts.ledger;
    ledger.token(&id)?.ok_or_else(|| Refusal::not_found("key", asked.part(0)))?;
    auth::revoke(ledger, &id, "owner", None)?;
    let row = ledger.token(&id)?.ok_or_else(|| Refusal::not_found("key", asked.part(0)))?;
    Ok(key(row.token, row.revoked))
}
