//! Keys to the server: who holds one, what it opens, and until when.
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

/// A key, as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Token {
    /// Which one.
    pub id: TokenId,
    /// What people call it.
    pub name: String,
    /// The hash of the key.
    pub hash: ContentHash,
    /// What kind of key it is.
    pub kind: TokenKind,
    /// What it opens.
    pub scopes: Vec<TokenScope>,
    /// The entity that speaks with it; none means the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created_at: u64,
    /// Until when it holds; none means until it is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

/// What kind of key it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenKind {
    /// A program sends it with each request.
    Bearer,
    /// A browser sends it with each request.
    Cookie,
    /// It can be turned into a cookie, once.
    Code,
}

impl TokenKind {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::Cookie => "cookie",
            Self::Code => "code",
        }
    }
}

/// What a key opens. None of them holds another.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TokenScope {
    /// To look at sessions, runs and agents.
    Read,
    /// To say something to an agent, and to steer and stop what it does.
    Submit,
    /// To answer for a person who is asked.
    Approve,
    /// To change who may do what.
    Admin,
    /// To read decisions about others.
    Audit,
    /// To run the programs of agents.
    Executor,
}

impl TokenScope {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Submit, Self::Approve, Self::Admin, Self::Audit, Self::Executor];

    /// What a person at the console may.
    pub const OF_A_PERSON: [Self; 5] =
        [Self::Read, Self::Submit, Self::Approve, Self::Admin, Self::Audit];

    /// The word.
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

    /// Whether only the owner can hold it.
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
