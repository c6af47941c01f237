//! Names of definitions: which agent, skill, task or persona is meant.
//!
//! They come from directory names (`agents/foo/bar/AGENT.md` is the agent `foo/bar`), so they are
//! text; each is its own type, so that none can stand in for another.
//!
//! Must never: say where a definition lives on disk.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! id_type {
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

id_type!(
    /// An agent, by its directory: `builder`, `foo/bar`.
    AgentId
);
id_type!(
    /// A skill, by its directory.
    SkillId
);
id_type!(
    /// A task, by its directory.
    TaskId
);
id_type!(
    /// A persona of one agent.
    PersonaId
);
