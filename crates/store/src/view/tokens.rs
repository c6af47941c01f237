//! Keys to the server, and their revocations.
//!
//! Must never: forget that a key was revoked.

use agentry_protocol::TokenId;
use agentry_protocol::token::Token;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{PlacedEntry, run};
use crate::column::{json, of_json};
use crate::error::Error;
use crate::ledger::Ledger;

/// A key with its revocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    /// The key as issued, with its scopes and expiry.
    pub token: Token,
    /// The time when it was revoked or used up, in milliseconds since 1970.
    pub revoked: Option<u64>,
}

impl TokenRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text: String = row.get(0)?;
        let revoked = row.get::<_, Option<i64>>(1)?.map(i64::cast_unsigned);
        Ok(Self { token: of_json(0, &text)?, revoked })
    }

    pub(crate) fn by_id(sql: &Connection, id: &TokenId) -> rusqlite::Result<Option<Self>> {
        sql.prepare_cached("SELECT token, revoked FROM tokens WHERE id = ?1")?
            .query_row([id.as_str()], Self::read)
            .optional()
    }

    /// Returns all keys ever issued, the oldest first.
    fn all(sql: &Connection) -> rusqlite::Result<Vec<Self>> {
        sql.prepare_cached("SELECT token, revoked FROM tokens ORDER BY id")?
            .query_map([], Self::read)?
            .collect()
    }
}

impl Ledger {
    /// Returns a key; None if there is none with this id.
    pub fn token(&self, id: &TokenId) -> Result<Option<TokenRow>, Error> {
        self.ask(|sql| TokenRow::by_id(sql, id))
    }

    /// Returns all keys ever issued, the oldest first.
    pub fn tokens(&self) -> Result<Vec<TokenRow>, Error> {
        self.ask(TokenRow::all)
    }

    /// Resolves an id or a part of an id to one key.
    pub fn find_token(&self, text: &str) -> Result<TokenId, Error> {
        self.find("key", "tokens", TokenId::PREFIX, text).map(TokenId::new)
    }
}

pub(super) fn issued(sql: &Connection, token: &Token) -> rusqlite::Result<()> {
    run(
        sql,
        "INSERT OR IGNORE INTO tokens (id, token) VALUES (?1, ?2)",
        params![token.id.as_str(), json(token)],
    )?;
    Ok(())
}

pub(super) fn revoked(
    sql: &Connection,
    entry: &PlacedEntry<'_>,
    token: &TokenId,
) -> rusqlite::Result<()> {
    run(
        sql,
        "UPDATE tokens SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL",
        params![token.as_str(), entry.time],
    )?;
    Ok(())
}
