//! Ids: of definitions by their directory, of records by a prefix and a number.
//!
//! The id of a definition comes from directory names (`agents/foo/bar/AGENT.md` is the agent
//! `foo/bar`). The id of a record is a prefix and 26 letters that sort by the time of creation:
//! `run_01jd3q…`. Each kind has its own type, so that none can replace another.
//!
//! Must never: say where a definition is on disk, or make up an id. Callers pass numbers in.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! text_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Creates the id from a text without validation.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

macro_rules! record_type {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        text_type!($(#[$doc])* $name);

        impl $name {
            /// The prefix of every id of this kind, without the `_`.
            pub const PREFIX: &'static str = $prefix;

            /// Creates the id for a number; the caller must never use the number twice.
            pub fn from_number(number: u128) -> Self {
                Self(format!("{}_{}", $prefix, letters(number)))
            }
        }

        impl FromStr for $name {
            type Err = WrongId;

            fn from_str(text: &str) -> Result<Self, WrongId> {
                match text.strip_prefix($prefix).and_then(|rest| rest.strip_prefix('_')) {
                    Some(rest) if is_letters(rest) => Ok(Self(text.to_owned())),
                    _ => Err(WrongId { prefix: $prefix }),
                }
            }
        }
    };
}

text_type!(
    /// The id of an agent, by its directory: `builder`, `foo/bar`.
    AgentId
);
text_type!(
    /// The id of a skill, by its directory.
    SkillId
);
text_type!(
    /// The id of a task, by its directory.
    TaskId
);
text_type!(
    /// The id of a persona of one agent.
    PersonaId
);
text_type!(
    /// The key of a session, as people name it: `main`, `review`.
    SessionKey
);
text_type!(
    /// The reference to a workspace. The local executor uses the path of its directory; the executor
    /// protocol calls it a facility.
    WorkspaceReference
);
record_type!(
    /// The id of a session.
    SessionId,
    "ses"
);
record_type!(
    /// The id of a turn.
    TurnId,
    "trn"
);
record_type!(
    /// The id of a run.
    RunId,
    "run"
);
record_type!(
    /// The id of one call of a tool.
    CallId,
    "call"
);
record_type!(
    /// The id of an approval.
    ApprovalId,
    "apr"
);
record_type!(
    /// The id of a key to the server.
    TokenId,
    "key"
);
record_type!(
    /// The id of an access decision.
    AccessId,
    "acc"
);
record_type!(
    /// The id of a grant.
    GrantId,
    "grt"
);
record_type!(
    /// The id of a job.
    JobId,
    "job"
);
record_type!(
    /// The id of an event hook.
    EventHookId,
    "hook"
);
record_type!(
    /// The id of one invocation of an event hook.
    InvocationId,
    "inv"
);

/// The error for a text that is not an id of the wanted kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongId {
    prefix: &'static str,
}

impl fmt::Display for WrongId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not an id of the form {}_… with 26 letters and digits", self.prefix)
    }
}

impl std::error::Error for WrongId {}

/// Without `i`, `l`, `o` and `u`, so that ids are not misread and contain no words.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LETTERS: usize = 26;

fn letters(number: u128) -> String {
    let digit = |place: usize| (number >> (5 * (LETTERS - 1 - place))) as usize & 31;
    (0..LETTERS).map(|place| ALPHABET[digit(place)] as char).collect()
}

fn is_letters(text: &str) -> bool {
    text.len() == LETTERS && text.bytes().all(|byte| ALPHABET.contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_like_the_numbers_they_are_made_from() {
        let numbers = [0, 1, 31, 32, u128::from(u64::MAX), u128::MAX - 1, u128::MAX];
        let ids: Vec<RunId> = numbers.into_iter().map(RunId::from_number).collect();
        assert!(ids.is_sorted());
        for id in ids {
            assert_eq!(id.as_str().parse(), Ok(id));
        }
    }

    #[test]
    fn an_id_of_another_kind_is_refused() {
        let run = RunId::from_number(7);
        assert!(run.as_str().parse::<TurnId>().is_err());
        for wrong in ["run_", "run_0", "", "run-00000000000000000000000007"] {
            assert!(wrong.parse::<RunId>().is_err(), "{wrong}");
        }
    }
}
