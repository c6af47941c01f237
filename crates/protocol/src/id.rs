//! Names of things: definitions by their directory, records by an id of their own.
//!
//! A definition's id comes from directory names (`agents/foo/bar/AGENT.md` is the agent `foo/bar`). A
//! record's id is a short prefix and 26 letters that sort by the time they were made:
//! `run_01jd3q…`. Each is its own type, so that none can stand in for another.
//!
//! Must never: say where a definition lives on disk, or make a new id. Ids are handed in.

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
            /// Takes the text as the id; nothing is checked here.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The id as text.
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
            /// What every id of this kind begins with.
            pub const PREFIX: &'static str = $prefix;

            /// The id for a number that nobody else has.
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
    /// An agent, by its directory: `builder`, `foo/bar`.
    AgentId
);
text_type!(
    /// A skill, by its directory.
    SkillId
);
text_type!(
    /// A task, by its directory.
    TaskId
);
text_type!(
    /// A persona of one agent.
    PersonaId
);
text_type!(
    /// A session as people name it: `main`, `review`.
    SessionKey
);
record_type!(
    /// A session.
    SessionId,
    "ses"
);
record_type!(
    /// A turn.
    TurnId,
    "trn"
);
record_type!(
    /// A run.
    RunId,
    "run"
);
record_type!(
    /// One call of a tool.
    CallId,
    "call"
);
record_type!(
    /// A question to a person about one call.
    ApprovalId,
    "apr"
);
record_type!(
    /// A key to the server.
    TokenId,
    "key"
);
record_type!(
    /// A decision about who may reach an agent.
    AccessId,
    "acc"
);
record_type!(
    /// A power given for a time.
    GrantId,
    "grt"
);
record_type!(
    /// A program of an agent that is run once.
    JobId,
    "job"
);
record_type!(
    /// A hook that looks at events.
    EventHookId,
    "hook"
);
record_type!(
    /// One running of a hook that looks at events.
    InvocationId,
    "inv"
);

/// A text that is not an id of the wanted kind.
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

/// No `i`, `l`, `o`, `u`: nothing that is misread, nothing that spells.
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
