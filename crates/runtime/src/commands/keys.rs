//! Keys of the server: issued with a secret that is shown once, and revoked.
//!
//! A key is `agt_<id>_<secret>`; the ledger holds a hash of the secret.
//!
//! Must never: record a secret, or issue a key that opens more than its issuer's.

use agentry_protocol::event::Event;
use agentry_protocol::intake::AccessChange;
use agentry_protocol::token::{Token, TokenKind, TokenScope};
use agentry_protocol::{ContentHash, TokenId};
use agentry_store::Ledger;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::{CommandContext, CommandError, record_alone};
use crate::limits::{KEY_BYTES, KEY_NAME_CHARS_MAX};

/// The prefix of every key, so that scanners for leaked secrets recognize it.
pub const KEY_PREFIX: &str = "agt";

/// The properties of a key to issue.
pub struct KeySpec {
    /// The name, for lists.
    pub name: String,
    /// The kind of client.
    pub kind: TokenKind,
    /// The scopes that it opens.
    pub scopes: Vec<TokenScope>,
    /// The entity that uses it; None for the owner.
    pub entity: Option<String>,
    /// The end, in milliseconds since 1970; None means until it is revoked.
    pub expires_at: Option<u64>,
}

/// The issuer of a key.
#[derive(Clone, Copy, Debug)]
pub enum KeyIssuer<'a> {
    /// The owner at this machine.
    Owner,
    /// The holder of a key with these scopes.
    Key(&'a [TokenScope]),
}

/// The numbers of a key, which must be unique and random.
pub struct KeyNumbers {
    /// The number of its id.
    pub id: u128,
    /// The random bytes of its secret.
    pub secret: [u8; KEY_BYTES],
}

/// A new key. Its text is shown once and never stored.
pub struct IssuedKey {
    /// The key as clients send it.
    pub text: String,
    /// The recorded part of the key: its hash, not its secret.
    pub token: Token,
}

/// A key to revoke.
pub struct KeyRevocation {
    /// The key.
    pub token: TokenId,
    /// The reason, for the record.
    pub reason: Option<String>,
    /// The person or program that revokes it, for the record.
    pub by: String,
}

/// The end of a key that no person revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEnd {
    /// A code was exchanged for a cookie.
    Used,
    /// A browser signed out, or was idle too long.
    SignedOut,
}

impl KeyEnd {
    fn reason(self) -> &'static str {
        match self {
            Self::Used => "used",
            Self::SignedOut => "signed out",
        }
    }
}

/// Issues a key and records its hash.
///
/// # Errors
/// If it has no proper name, no scope or a scope that its issuer or its entity may not have.
pub fn issue(
    ledger: &Ledger,
    spec: KeySpec,
    issuer: KeyIssuer<'_>,
    numbers: KeyNumbers,
) -> Result<IssuedKey, CommandError> {
    check(ledger, &spec, issuer)?;
    let secret = BASE64_URL_SAFE_NO_PAD.encode(numbers.secret);
    let id = TokenId::from_number(numbers.id);
    let letters = id.as_str().trim_start_matches(TokenId::PREFIX).trim_start_matches('_');
    let text = format!("{KEY_PREFIX}_{letters}_{secret}");
    let KeySpec { name, kind, scopes, entity, expires_at } = spec;
    let hash = ContentHash::of(secret.as_bytes());
    let created_at = ledger.now();
    let token = Token { id, name, hash, kind, scopes, entity, created_at, expires_at };
    let change = AccessChange::TokenIssued { token: Box::new(token.clone()) };
    record_alone(ledger, Event::Access(change))?;
    Ok(IssuedKey { text, token })
}

fn check(ledger: &Ledger, spec: &KeySpec, issuer: KeyIssuer<'_>) -> Result<(), CommandError> {
    if spec.name.trim().is_empty() || spec.name.chars().count() > KEY_NAME_CHARS_MAX {
        return Err(CommandError::KeyName);
    }
    if spec.scopes.is_empty() {
        return Err(CommandError::KeyWithoutScope);
    }
    if let KeyIssuer::Key(own) = issuer
        && let Some(scope) = spec.scopes.iter().find(|scope| !own.contains(scope))
    {
        return Err(CommandError::ScopeBeyondIssuer(*scope));
    }
    let Some(id) = &spec.entity else { return Ok(()) };
    let entities = ledger.entities()?;
    let entity = entities.iter().find(|entity| entity.id == *id);
    let entity = entity.ok_or_else(|| CommandError::UnknownEntity(id.clone()))?;
    match spec.scopes.iter().find(|scope| scope.is_of_owner() && !entity.is_user) {
        Some(scope) => Err(CommandError::ScopeOfOwner(*scope)),
        None => Ok(()),
    }
}

/// Revokes a key for a person.
///
/// # Errors
/// If there is no such key, or if it was revoked before.
pub fn revoke(context: CommandContext<'_>, request: KeyRevocation) -> Result<(), CommandError> {
    let KeyRevocation { token, reason, by } = request;
    if context.ledger.token(&token)?.is_none() {
        return Err(CommandError::UnknownKey(token));
    }
    let reason = context.hide(reason);
    let change = AccessChange::TokenRevoked { token, by, reason };
    record_alone(context.ledger, Event::Access(change)).map(drop)
}

/// Ends the key of a browser by its own doing; `by` names the program.
///
/// # Errors
/// If it was revoked before; then nothing was recorded.
pub fn end(ledger: &Ledger, token: &TokenId, by: &str, end: KeyEnd) -> Result<(), CommandError> {
    let (token, by) = (token.clone(), by.to_owned());
    let change = AccessChange::TokenRevoked { token, by, reason: Some(end.reason().to_owned()) };
    record_alone(ledger, Event::Access(change)).map(drop)
}
