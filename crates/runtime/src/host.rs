//! The shared services of a process (ledger, models, tools, clock), built once by the binary.
//!
//! Must never: be bypassed; no other path leads to a clock, an id or the ledger.

pub(crate) mod enforcer;
pub mod executor;
pub(crate) mod ledger_follower;
pub(crate) mod session_message;
pub mod spending;
pub(crate) mod tool_execution;
pub mod tool_registry;
pub mod tool_source;

use std::sync::Arc;

use agentry_agentfile::agent::AgentModels;
use agentry_model::{Delta, Model, ModelOpenError, ProviderRegistry};
use agentry_protocol::access::Credentials;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{ToolCall, ToolOutcome};
use agentry_protocol::{AgentId, CallId};
use agentry_sandbox::CancelToken;
use agentry_store::Ledger;
use agentry_tools::{FetchRules, ToolLimits, Workspace, shell_call};
use secrecy::SecretString;

use crate::definitions::plan::CallScope;
use crate::error::Error;
use crate::host::enforcer::{Enforcer, ResolvedPlacement};
use crate::host::executor::{Executors, VariableReference};
use crate::host::ledger_follower::LedgerFollower;
use crate::host::spending::SpendingLimiter;
use crate::host::tool_registry::ToolRegistry;
use crate::host::tool_source::CallContext;
use crate::limits::WINDOW_TOKENS_ASSUMED;
use crate::redact::Redactor;
use crate::redact::redaction;
use crate::redact::secrets::SecretRegistry;

/// Receives notices for the operator, one line each.
pub type NoticeSink = Arc<dyn Fn(&str) + Send + Sync>;

/// The subject of a call outside of every session.
static NO_SUBJECT: EntrySubject = EntrySubject { session: None, run: None, turn: None };

/// The shared services that the binary passes to the runtime at start.
pub struct Host {
    /// The ledger of this home; it also provides the time.
    pub ledger: Ledger,
    /// The models that a run may ask.
    pub models: HostModels,
    /// The limit on the cost of model requests.
    pub spending: SpendingLimiter,
    /// The sources of the tools that a model may call.
    pub tools: ToolRegistry,
    /// The private addresses that `fetch` may reach.
    pub fetch: FetchRules,
    /// The sandbox of the agents' processes, or the reason why there is none.
    pub enforcer: Enforcer,
    /// Variables that commands receive beside the minimal environment.
    pub env: Vec<(String, String)>,
    /// The secrets, each with its receivers.
    pub secrets: SecretRegistry,
    /// Removes all values of secrets from recorded and displayed texts.
    pub redactor: Arc<Redactor>,
    /// Delivers new ledger entries to all their subscribers in this process.
    pub follower: LedgerFollower,
    /// Returns a unique number; later numbers are larger.
    pub new_number: fn() -> u128,
    /// The executors for programs of agents and tool calls.
    pub executors: Executors,
}

/// The models that a run may ask.
pub struct HostModels {
    /// The providers that serve them.
    pub providers: ProviderRegistry,
    /// The context window from the settings, in tokens; None means that of the model.
    pub window: Option<u64>,
    /// Resolves a model name that a hook gives.
    pub named: ModelNameResolver,
}

/// Resolves to the full name of a model that the agent may use, or an error text for the hook.
pub type ModelNameResolver =
    Box<dyn Fn(&ProviderRegistry, &AgentModels, &str) -> Result<String, String> + Send + Sync>;

impl HostModels {
    /// Opens a model with its fallbacks, which are asked in order if it fails.
    ///
    /// # Errors
    /// If no provider serves it.
    pub fn open(
        &self,
        model: &str,
        fallbacks: &[String],
    ) -> Result<Arc<dyn Model>, ModelOpenError> {
        self.providers.open(model, fallbacks)
    }
}

impl Host {
    /// Returns the context window of a model, in tokens; an assumed one if it is unknown.
    pub fn window(&self, model: &str) -> u64 {
        let known = self.models.window.or_else(|| self.spending.window(model));
        known.unwrap_or(WINDOW_TOKENS_ASSUMED)
    }

    /// Returns the full name of a model that an agent may use.
    ///
    /// # Errors
    /// The reason why the agent cannot use it.
    pub fn model_named(&self, agent: &AgentModels, name: &str) -> Result<String, String> {
        (self.models.named)(&self.models.providers, agent, name)
    }

    /// Returns the variables that a tool's program receives beside the minimal environment.
    pub(crate) fn variables_for(
        &self,
        tool: &ToolName,
        credentials: Option<&Credentials>,
    ) -> Arc<[VariableReference]> {
        let passed = self.env.iter().map(|(name, _)| VariableReference::Passed(name.clone()));
        let secrets = self.secrets.references_for(tool, credentials).into_iter();
        passed.chain(secrets.map(VariableReference::Secret)).collect()
    }

    /// Returns the value of a variable; None if it has none.
    pub(crate) fn variable(&self, variable: &VariableReference) -> Option<SecretString> {
        match variable {
            VariableReference::Passed(name) => {
                let passed = self.env.iter().rfind(|(passed, _)| passed == name);
                passed.map(|(_, value)| value.as_str().into())
            }
            VariableReference::Secret(secret) => self.secrets.value(secret).cloned(),
        }
    }

    /// Describes the change that a call would make, under the confinement of the call itself.
    pub fn preview(
        &self,
        call: &ToolCall,
        scope: &CallScope,
        workspace: &Workspace,
    ) -> Option<String> {
        let person = self.person_call(scope, workspace);
        let stop = CancelToken::new();
        self.tools.fixed_toolset().preview(call, &person.context(&stop))
    }

    /// Runs a command of the person at the terminal, confined like a command of the agent.
    ///
    /// # Errors
    /// If the ledger fails.
    pub fn shell(
        &self,
        command: &str,
        scope: &CallScope,
        workspace: &Workspace,
        stop: &CancelToken,
    ) -> Result<ToolOutcome, Error> {
        let call = shell_call(CallId::from_number((self.new_number)()), command);
        let person = self.person_call(scope, workspace);
        let outcome = self.tools.fixed_toolset().call(&call, &person.context(stop))?;
        Ok(redaction::outcome(&self.redactor, outcome))
    }

    fn person_call<'a>(&'a self, scope: &'a CallScope, workspace: &'a Workspace) -> PersonCall<'a> {
        let placement = self.enforcer.placement(scope.confinement.clone(), workspace.path());
        PersonCall { host: self, agent: &scope.agent, workspace, placement }
    }
}

/// A call that a person makes under the confinement of an agent.
struct PersonCall<'a> {
    host: &'a Host,
    agent: &'a AgentId,
    workspace: &'a Workspace,
    placement: ResolvedPlacement,
}

impl PersonCall<'_> {
    fn context<'a>(&'a self, stop: &'a CancelToken) -> CallContext<'a> {
        CallContext {
            host: self.host,
            scope: None,
            agent: self.agent,
            about: &NO_SUBJECT,
            workspace: self.workspace,
            placement: &self.placement,
            credentials: None,
            limits: ToolLimits::default(),
            any_host: false,
            judged: None,
            stop,
            progress: &|_| {},
        }
    }
}

/// Receives recorded entries in order, and pieces of replies while they stream.
pub trait RunObserver: Send + Sync {
    /// Receives an entry that was recorded.
    fn on_entry(&self, envelope: &Envelope);

    /// Receives a piece of the reply to the request recorded as `asked`. Safe to miss.
    fn on_delta(&self, about: &EntrySubject, asked: u64, delta: &Delta);

    /// Receives a progress line of a running tool. Safe to miss.
    fn on_progress(&self, about: &EntrySubject, call: &CallId, line: &str);
}

/// The host, shared by the threads of a run.
pub(crate) type SharedHost = Arc<Host>;
