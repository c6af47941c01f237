//! What the program is made of, handed in at the start.
//!
//! Must never: be reached for from elsewhere; there is no other way to a clock, an id or the ledger.

use std::sync::Arc;

use agentry_agentfile::agent::AgentModels;
use agentry_model::{Delta, Model, ModelOpenError, ProviderRegistry};
use agentry_protocol::CallId;
use agentry_protocol::access::Credentials;
use agentry_protocol::confinement::Confinement;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{ToolCall, ToolOutcome};
use agentry_sandbox::CancelToken;
use agentry_store::Ledger;
use agentry_tools::{FetchRules, ToolContext, ToolLimits, Toolset, Workspace};
use secrecy::SecretString;

use crate::enforcer::Enforcer;
use crate::executor::Executor;
use crate::ledger_follower::LedgerFollower;
use crate::limits::WINDOW_TOKENS_ASSUMED;
use crate::redact::Redactor;
use crate::redact_values;
use crate::secrets::SecretRegistry;
use crate::spending::SpendingLimiter;

/// The parts.
pub struct Host {
    /// Where everything is recorded.
    pub ledger: Ledger,
    /// Who can be asked.
    pub models: HostModels,
    /// What may be spent on them.
    pub purse: SpendingLimiter,
    /// What can be called.
    pub tools: Toolset,
    /// Which private addresses may be fetched.
    pub fetch: FetchRules,
    /// What confines the processes of agents.
    pub enforcer: Enforcer,
    /// What commands get in their environment beside the minimum.
    pub env: Vec<(String, String)>,
    /// Values for those who may have them.
    pub secrets: SecretRegistry,
    /// Takes all those values out of what is recorded or read.
    pub redactor: Arc<Redactor>,
    /// Brings sessions under way what comes in for them.
    pub mail: LedgerFollower,
    /// A number that nobody else has, later ones larger.
    pub new_number: fn() -> u128,
    /// Who runs the programs of agents.
    pub executor: Arc<dyn Executor>,
}

/// Who can be asked.
pub struct HostModels {
    /// Those who serve them.
    pub providers: ProviderRegistry,
    /// How many tokens a model reads and writes together, where the settings say it.
    pub window: Option<u64>,
    /// Finds out who serves a model that a hook names.
    pub named: ModelNameResolver,
}

/// The full name of a model that an agent may use, or why it is not to be had.
pub type ModelNameResolver =
    Box<dyn Fn(&ProviderRegistry, &AgentModels, &str) -> Result<String, String> + Send + Sync>;

impl HostModels {
    /// A model, and those that are asked when it does not answer.
    ///
    /// # Errors
    /// When nobody serves it.
    pub fn open(
        &self,
        model: &str,
        fallbacks: &[String],
    ) -> Result<Arc<dyn Model>, ModelOpenError> {
        self.providers.open(model, fallbacks)
    }
}

impl Host {
    /// How many tokens a model reads and writes together.
    pub fn window(&self, model: &str) -> u64 {
        let known = self.models.window.or_else(|| self.purse.window(model));
        known.unwrap_or(WINDOW_TOKENS_ASSUMED)
    }

    /// The full name of a model that an agent may use.
    ///
    /// # Errors
    /// Why it is not to be had.
    pub fn model_named(&self, agent: &AgentModels, name: &str) -> Result<String, String> {
        (self.models.named)(&self.models.providers, agent, name)
    }

    /// What a program that runs for a tool gets in its environment beside the minimum.
    pub(crate) fn env_for(
        &self,
        tool: &ToolName,
        credentials: Option<&Credentials>,
    ) -> Vec<(String, SecretString)> {
        let plain = self.env.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
        plain.chain(self.secrets.env_for(tool, credentials)).collect()
    }

    /// What a call would change, looked up under the confinement that it would be made under.
    pub fn preview(
        &self,
        call: &ToolCall,
        confinement: &Confinement,
        workspace: &Workspace,
    ) -> Option<String> {
        let confining = self.enforcer.confining(confinement, workspace.path());
        let context = ToolContext {
            workspace,
            stop: &CancelToken::new(),
            bounds: ToolLimits::default(),
            fetch: &self.fetch,
            env: &[],
            confines: confining.confines(),
            judged: None,
        };
        self.tools.preview(call, &context)
    }

    /// A command of the person at the terminal, run the way a command of the agent would be.
    pub fn shell(
        &self,
        command: &str,
        confinement: &Confinement,
        workspace: &Workspace,
        stop: &CancelToken,
    ) -> ToolOutcome {
        let confining = self.enforcer.confining(confinement, workspace.path());
        let tool = ToolName::canonical("bash");
        let env = self.env_for(&tool, None);
        let context = ToolContext {
            workspace,
            stop,
            bounds: ToolLimits::default(),
            fetch: &self.fetch,
            env: &env,
            confines: confining.confines(),
            judged: None,
        };
        let input = serde_json::json!({ "command": command });
        let call = ToolCall { id: CallId::from_number((self.new_number)()), tool, input };
        redact_values::outcome(&self.redactor, self.tools.run(&call, &context))
    }
}

/// Somebody who looks on: told what was recorded, in order, and pieces of replies as they come.
pub trait RunObserver: Send + Sync {
    /// Something was recorded.
    fn on_entry(&self, envelope: &Envelope);

    /// A piece of a reply to the request that was recorded as `asked`. Safe to miss.
    fn on_delta(&self, about: &EntrySubject, asked: u64, delta: &Delta);

    /// A line that a tool says while it works. Safe to miss.
    fn on_progress(&self, about: &EntrySubject, call: &CallId, line: &str);
}

/// Shared by the threads of a run.
pub(crate) type SharedHost = Arc<Host>;
