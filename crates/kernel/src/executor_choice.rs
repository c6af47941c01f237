//! Chooses the executor of a job or a tool call.
//!
//! The settings name one executor for an agent, or else the default. That executor is chosen if it
//! is registered and has every capability that the work requires; otherwise the work is refused.
//!
//! Must never: choose another executor than the named one, not even the local one.

use std::collections::BTreeMap;
use std::fmt;

use agentry_protocol::AgentId;
use agentry_protocol::confinement::ConfinementProfile;

/// The name of the executor in this process.
pub const LOCAL_EXECUTOR: &str = "local";

/// The settings that name executors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorPolicy {
    /// The executor of every agent that has none of its own.
    pub default: String,
    /// The executors of single agents.
    pub agents: BTreeMap<AgentId, String>,
}

impl Default for ExecutorPolicy {
    fn default() -> Self {
        Self { default: LOCAL_EXECUTOR.to_owned(), agents: BTreeMap::new() }
    }
}

/// The facts about a registered executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecutorFacts {
    /// The name, as each lease records it.
    pub name: String,
    /// The work that it can do.
    pub capabilities: Vec<ExecutorCapability>,
}

/// A kind of work, or a service that work needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutorCapability {
    /// Programs below the directory of an agent.
    AgentPrograms,
    /// Programs that the ledger stores.
    StoredPrograms,
    /// Answers to the questions of a running program.
    Callbacks,
    /// Calls of the built-in tools.
    ToolCalls,
    /// Confinement by this profile.
    Profile(ConfinementProfile),
}

impl ExecutorCapability {
    /// All capabilities.
    pub const ALL: [Self; 7] = [
        Self::AgentPrograms,
        Self::StoredPrograms,
        Self::Callbacks,
        Self::ToolCalls,
        Self::Profile(ConfinementProfile::Untrusted),
        Self::Profile(ConfinementProfile::Trusted),
        Self::Profile(ConfinementProfile::Host),
    ];
}

impl fmt::Display for ExecutorCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AgentPrograms => "programs of agents",
            Self::StoredPrograms => "stored programs",
            Self::Callbacks => "questions of programs",
            Self::ToolCalls => "tool calls",
            Self::Profile(ConfinementProfile::Untrusted) => "the profile untrusted",
            Self::Profile(ConfinementProfile::Trusted) => "the profile trusted",
            Self::Profile(ConfinementProfile::Host) => "the profile host",
        })
    }
}

/// The requirements of a job or a tool call.
#[derive(Clone, Copy, Debug)]
pub struct WorkRequirements<'a> {
    /// The agent that the work belongs to.
    pub agent: &'a AgentId,
    /// The capabilities that the executor must have.
    pub capabilities: &'a [ExecutorCapability],
}

/// The reason why no executor can do some work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecutorChoiceError {
    /// The named executor is not registered.
    Unregistered {
        /// The name in the settings.
        name: String,
        /// The names of all registered executors.
        registered: Vec<String>,
    },
    /// The named executor lacks a capability.
    Unsupported {
        /// The name in the settings.
        name: String,
        /// The first missing capability.
        missing: ExecutorCapability,
    },
}

impl fmt::Display for ExecutorChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unregistered { name, registered } => {
                let registered = registered.join(", ");
                write!(f, "the executor `{name}` is not registered; registered: {registered}")
            }
            Self::Unsupported { name, missing } => {
                write!(f, "the executor `{name}` does not support {missing}")
            }
        }
    }
}

/// Chooses the executor of some work.
///
/// # Errors
/// If the executor that the settings name is not registered, or cannot do the work.
pub fn choose<'a>(
    policy: &ExecutorPolicy,
    registered: impl IntoIterator<Item = &'a ExecutorFacts> + Clone,
    work: &WorkRequirements<'_>,
) -> Result<&'a ExecutorFacts, ExecutorChoiceError> {
    let name = policy.agents.get(work.agent).unwrap_or(&policy.default);
    let Some(executor) = registered.clone().into_iter().find(|one| one.name == *name) else {
        let registered = registered.into_iter().map(|one| one.name.clone()).collect();
        return Err(ExecutorChoiceError::Unregistered { name: name.clone(), registered });
    };
    let is_missing = |one: &&ExecutorCapability| !executor.capabilities.contains(one);
    match work.capabilities.iter().find(is_missing) {
        Some(missing) => {
            Err(ExecutorChoiceError::Unsupported { name: name.clone(), missing: *missing })
        }
        None => Ok(executor),
    }
}
