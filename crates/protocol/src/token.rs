//! Keys to the server: their holders, scopes and ends.
//!
//! Only the hash of a key is ever stored; the key itself is shown once.
//!
//! Must never: hold a key that could be used.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::UnknownWord;
use crate::hash::ContentHash;
use crate::id::TokenId;

/// A key to the server in its recorded form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// The id of the key; it is no secret.
    pub id: TokenId,
    /// The name that the owner gave it.
    pub name: String,
    /// The hash of the key.
    pub hash: ContentHash,
    /// The kind of key.
    pub kind: TokenKind,
    /// The scopes that the key opens.
    pub scopes: Vec<TokenScope>,
    /// The entity that uses the key; none means the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// The time of creation, in milliseconds since 1970.
    pub created_at: u64,
    /// The end, in milliseconds since 1970; none means until revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

/// The kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// A program sends the key with each request.
    Bearer,
    /// A browser sends the key with each request.
    Cookie,
    /// A browser exchanges the key for a cookie, once.
    Code,
}

impl TokenKind {
    /// Returns the word for files and wires.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::Cookie => "cookie",
            Self::Code => "code",
        }
    }
}

/// A scope that a key opens. No scope includes another.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TokenScope {
    /// Read sessions, runs and agents.
    Read,
    /// Send prompts to an agent, and steer and stop its runs.
    Submit,
    /// Answer approvals for a person.
    Approve,
    /// Change permissions, keys and definitions.
    Admin,
    /// Read the access decisions about others.
    Audit,
    /// Run the programs of agents.
    Executor,
}

impl TokenScope {
    /// All scopes.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Submit, Self::Approve, Self::Admin, Self::Audit, Self::Executor];

    /// The scopes of a person at the console.
    pub const OF_A_PERSON: [Self; 5] =
        [Self::Read, Self::Submit, Self::Approve, Self::Admin, Self::Audit];

    /// Returns the word for files and wires.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Submit => "submit",
            Self::Approve => "approve",
            Self::Admin => "admin",
            Self::Audit => "audit",
            Self::Executor => "executor",
        }
    }

    /// Returns true if only the owner can hold a key with this scope.
    pub fn is_of_owner(self) -> bool {
        match self {
            Self::Read | Self::Submit => false,
            Self::Approve | Self::Admin | Self::Audit | Self::Executor => true,
        }
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TokenScope {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == word);
        found.ok_or_else(|| UnknownWord {
            word: word.to_owned(),
            known: "read, submit, approve, admin, audit, executor",
        })
    }
}
