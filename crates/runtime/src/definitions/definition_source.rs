//! The current definitions, policies and settings, as the stages before a run need them.
//!
//! Must never: cache; the source decides when files are read again.

use std::sync::Arc;

use agentry_agentfile::access::LocalTime;
use agentry_kernel::access::AccessPolicies;
use agentry_protocol::AgentId;
use agentry_protocol::inbound_request::RunOverrides;
use agentry_protocol::intake::QueuePreferences;

use crate::definitions::Definitions;
use crate::error::Error;
use crate::run_request::RunSettings;

/// The current definitions, which the intake needs and the ledger does not hold.
pub trait DefinitionSource: Send + Sync {
    /// Returns the access policies.
    fn access(&self) -> Result<Arc<AccessPolicies>, Error>;

    /// Returns the loaded definitions.
    fn definitions(&self) -> Result<Arc<Definitions>, Error>;

    /// Returns the settings for a run of an agent, with the wishes of its sender.
    fn terms(
        &self,
        definitions: &Definitions,
        agent: &AgentId,
        overrides: &RunOverrides,
    ) -> Result<RunSettings, Error>;

    /// Returns the agent that answers on a channel by default.
    fn default_agent(&self, channel: &str) -> Result<AgentId, Error>;

    /// Returns the local time of the owner.
    fn local_time(&self, now: u64) -> LocalTime;

    /// Returns the queue preferences of a channel, and those of all channels.
    fn wishes(&self, channel: &str) -> Result<(QueuePreferences, QueuePreferences), Error>;

    /// Returns the directory of the definitions.
    fn project(&self) -> String;
}
