//! Authentication: from a key to its principal and scopes.
//!
//! A key is `agt_<id>_<secret>`; the ledger holds a hash of the secret. Each request looks the key
//! up, so a revoked key stops working at once. A code is a key that is exchanged for a cookie once.
//!
//! Must never: compare a key in a time that depends on it, or accept a revoked key.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use agentry_frontend::bootstrap::new_uuid_number;
use agentry_frontend::command_faults::command_fault;
use agentry_frontend::fault::{Blame, Fault};
use agentry_kernel::identity::{HTTP, entity_principal};
use agentry_protocol::principal::{Principal, PrincipalKind};
use agentry_protocol::token::{Token, TokenKind, TokenScope};
use agentry_protocol::{ContentHash, TokenId};
use agentry_runtime::commands::CommandError;
use agentry_runtime::commands::keys::{
    self, IssuedKey, KEY_PREFIX, KeyEnd, KeyIssuer, KeyNumbers, KeySpec,
};
use agentry_runtime::limits::KEY_BYTES;
use agentry_store::{Error as StoreError, Ledger};
use subtle::ConstantTimeEq;

use super::api_error::{ApiError, ApiErrorCode};
use crate::limits::{CODE_TIME_MAX, COOKIE_IDLE_TIME_MAX, COOKIE_TIME_MAX};

/// The name of the keys of browsers, and the program that ends them.
const CONSOLE: &str = "console";

/// The authenticated sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The owner, an entity, or an unknown principal.
    pub(crate) principal: Principal,
    /// The scopes of the key.
    pub(crate) scopes: Vec<TokenScope>,
    /// The key; none if the server requires none or the caller sent none.
    pub(crate) token: Option<Token>,
}

impl Caller {
    /// Returns the caller of a server that requires no key: the owner, with all scopes of a person.
    pub(crate) fn without_key() -> Self {
        let principal = Principal::of(PrincipalKind::Owner);
        Self { principal, scopes: TokenScope::OF_A_PERSON.to_vec(), token: None }
    }

    /// Returns a caller without a key: unknown, without scopes.
    pub(crate) fn anonymous() -> Self {
        let principal = Principal::of(PrincipalKind::Unknown);
        Self { principal, scopes: Vec::new(), token: None }
    }

    /// Returns true if the caller is the owner.
    pub(crate) fn is_owner(&self) -> bool {
        self.principal.kind == PrincipalKind::Owner
    }

    /// Returns true if the key has this scope.
    pub(crate) fn has_scope(&self, scope: TokenScope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Returns the id of the caller's entity; none for the owner.
    pub(crate) fn entity(&self) -> Option<&str> {
        self.principal.entity_id.as_deref().filter(|_| !self.is_owner())
    }

    /// Returns the channel and the key's name and id, to record with what the caller does.
    pub(crate) fn attribution(&self) -> String {
        match &self.token {
            Some(token) => format!("{HTTP}: {} ({})", token.name, token.id),
            None => HTTP.to_owned(),
        }
    }

    /// Returns the name under which requests of this caller are counted: the id of the key.
    pub(crate) fn rate_limit_key(&self) -> String {
        self.token.as_ref().map_or_else(|| "unasked".to_owned(), |token| token.id.to_string())
    }
}

/// Returns the random numbers of a new key.
pub fn key_numbers() -> Result<KeyNumbers, Fault> {
    let mut secret = [0; KEY_BYTES];
    getrandom::fill(&mut secret).map_err(|error| {
        Fault::new(Blame::Machine, format!("cannot get random numbers: {error}"))
    })?;
    Ok(KeyNumbers { id: new_uuid_number(), secret })
}

/// Issues a one-time code that signs a browser in.
pub fn issue_code(ledger: &Ledger) -> Result<IssuedKey, Fault> {
    let expires_at = ledger.now().saturating_add(ms(CODE_TIME_MAX));
    let spec = KeySpec {
        name: CONSOLE.to_owned(),
        kind: TokenKind::Code,
        scopes: TokenScope::OF_A_PERSON.to_vec(),
        entity: None,
        expires_at: Some(expires_at),
    };
    keys::issue(ledger, spec, KeyIssuer::Owner, key_numbers()?).map_err(command_fault)
}

/// Looks up keys, and tracks when cookies were last used.
pub struct Authenticator {
    ledger: Ledger,
    /// The last use of each cookie, in milliseconds since 1970.
    used: Mutex<HashMap<TokenId, u64>>,
}

impl Authenticator {
    pub fn new(ledger: Ledger) -> Self {
        Self { ledger, used: Mutex::default() }
    }

    /// Returns the caller that holds this key; a cookie that was idle too long is signed out.
    pub(crate) fn caller(&self, text: &str, kind: TokenKind) -> Result<Caller, ApiError> {
        let token = self.token(text, kind)?;
        if kind == TokenKind::Cookie {
            self.note_use(&token)?;
        }
        self.holder(token)
    }

    /// Exchanges a code for a cookie; the code works only once.
    pub(crate) fn log_in(&self, text: &str) -> Result<IssuedKey, ApiError> {
        let code = self.token(text.trim(), TokenKind::Code)?;
        let used = keys::end(&self.ledger, &code.id, CONSOLE, KeyEnd::Used);
        used.map_err(|error| match error {
            CommandError::Ledger(StoreError::TokenGone { .. }) => unknown(),
            other => other.into(),
        })?;
        let expires_at = self.ledger.now().saturating_add(ms(COOKIE_TIME_MAX));
        let wanted = KeySpec {
            name: code.name,
            kind: TokenKind::Cookie,
            scopes: code.scopes,
            entity: code.entity,
            expires_at: Some(expires_at),
        };
        Ok(keys::issue(&self.ledger, wanted, KeyIssuer::Owner, key_numbers()?)?)
    }

    /// Signs a browser out by revoking its cookie.
    pub(crate) fn log_out(&self, id: &TokenId) -> Result<(), ApiError> {
        match keys::end(&self.ledger, id, CONSOLE, KeyEnd::SignedOut) {
            Ok(()) | Err(CommandError::Ledger(StoreError::TokenGone { .. })) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn token(&self, text: &str, kind: TokenKind) -> Result<Token, ApiError> {
        let (id, secret) = parts(text).ok_or_else(unknown)?;
        let row = self.ledger.token(&id)?;
        // An unknown key is compared too, so that the time reveals nothing about its existence.
        let nothing = ContentHash::of(b"");
        let kept = row.as_ref().map_or(&nothing, |row| &row.token.hash);
        let given = ContentHash::of(secret.as_bytes());
        let is_same = bool::from(kept.as_str().as_bytes().ct_eq(given.as_str().as_bytes()));
        let row = row.filter(|_| is_same).ok_or_else(unknown)?;
        let holds = row.revoked.is_none() && is_in_time(&row.token, self.ledger.now());
        Some(row.token).filter(|token| holds && token.kind == kind).ok_or_else(unknown)
    }

    fn note_use(&self, token: &Token) -> Result<(), ApiError> {
        let now = self.ledger.now();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let before = used.insert(token.id.clone(), now);
        if before.is_some_and(|before| now.saturating_sub(before) > ms(COOKIE_IDLE_TIME_MAX)) {
            used.remove(&token.id);
            drop(used);
            self.log_out(&token.id)?;
            return Err(unknown());
        }
        used.retain(|_, at| now.saturating_sub(*at) <= ms(COOKIE_TIME_MAX));
        Ok(())
    }

    fn holder(&self, token: Token) -> Result<Caller, ApiError> {
        let principal = match &token.entity {
            None => Principal::of(PrincipalKind::Owner),
            Some(id) => {
                let entities = self.ledger.entities()?;
                let entity = entities.iter().find(|entity| entity.id == *id);
                entity.map(entity_principal).ok_or_else(unknown)?
            }
        };
        let is_owner = principal.kind == PrincipalKind::Owner;
        let opens = |scope: &TokenScope| is_owner || !scope.is_of_owner();
        let scopes = token.scopes.iter().copied().filter(opens).collect();
        Ok(Caller { principal, scopes, token: Some(token) })
    }
}

/// Splits a key into its id and its secret.
fn parts(text: &str) -> Option<(TokenId, &str)> {
    let rest = text.strip_prefix(KEY_PREFIX)?.strip_prefix('_')?;
    let (letters, secret) = rest.split_once('_')?;
    let id = format!("{}_{letters}", TokenId::PREFIX).parse().ok()?;
    Some((id, secret))
}

/// Returns the id that a key claims to have; the key may be wrong.
pub(crate) fn claimed_id(text: &str) -> Option<String> {
    parts(text).map(|(id, _)| id.to_string())
}

fn is_in_time(token: &Token, now: u64) -> bool {
    token.expires_at.is_none_or(|at| now < at)
}

fn ms(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn unknown() -> ApiError {
    ApiError::new(ApiErrorCode::Unauthenticated, "unknown, expired or revoked key")
        .hint("create a key with `agentry token create`, or sign in with `agentry console`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_an_id_and_a_secret() {
        let id = TokenId::from_number(7);
        let letters = id.as_str().trim_start_matches("key_");
        let text = format!("agt_{letters}_s-e_c");
        assert_eq!(parts(&text), Some((id.clone(), "s-e_c")));
        for text in ["", "agt_", "agt_x_y", "Bearer", &format!("agt_{letters}")] {
            assert_eq!(parts(text), None, "{text}");
        }
    }
}
