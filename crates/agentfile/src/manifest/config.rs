//! `agentry.toml`: what a project or a user sets for all agents.
//!
//! Every field is optional; `config` merges the layers.
//!
//! Must never: hold a secret. A key is given by the name of the variable that holds it.

use std::collections::BTreeMap;

use agentry_protocol::confinement::{GitAccess, ReadAccess};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::channels::{ChannelToml, QueueToml, Webhook};
use super::command::CommandWords;
use crate::limits::SPENDING_DOLLARS_MAX;

/// The file `agentry.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The time zone of the times in access policies, such as `Europe/Berlin`; only in your own
    /// settings.
    pub timezone: Option<String>,
    /// Defaults for agents that do not set these values.
    pub agent: AgentDefaults,
    /// The person at the keyboard.
    pub user: User,
    /// Model providers, by a name of your choice.
    pub providers: BTreeMap<String, ProviderToml>,
    /// MCP servers, which provide external tools.
    pub mcp: Mcp,
    /// Skill folders in addition to the usual places.
    pub skills: Roots,
    /// Rule files and folders.
    pub rules: Roots,
    /// The sandbox of the processes of agents.
    pub sandbox: SandboxToml,
    /// The limits of one turn.
    pub limits: LimitsToml,
    /// Access to agents for other senders.
    pub access: AccessToml,
    /// Further channels to agents, by a name of your choice; only in your own settings.
    pub channels: BTreeMap<String, ChannelToml>,
    /// Queues of messages, and the number of turns at once; only in your own settings.
    pub queue: QueueToml,
    /// Callers over HTTP, by a name of your choice; only in your own settings.
    pub webhooks: BTreeMap<String, Webhook>,
    /// Limits of permission requests by others; only in your own settings.
    pub requests: RequestsToml,
    /// Secrets and the receivers of each; only in your own settings.
    pub secrets: SecretsToml,
}

/// The section `[agent]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentDefaults {
    /// The name of the agent that the project describes, if no file names one.
    pub name: Option<String>,
    /// The agent to use when none is named.
    pub default: Option<String>,
    /// The model to use when the agent's own is not available.
    pub model: Option<String>,
    /// The persona that the agent wears.
    pub persona: Option<String>,
    /// The source of the agent: a profile, an address, or `blank`.
    pub profile_source: Option<String>,
    /// Values for the template: `{{ args.key }}`.
    pub args: BTreeMap<String, serde_json::Value>,
}

/// The section `[user]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct User {
    /// The name for `{{ user.name }}` where USER.md gives none.
    pub name: Option<String>,
}

/// The section `[providers.<id>]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderToml {
    /// The provider's protocol.
    pub kind: Option<ProviderKind>,
    /// The base address of the provider.
    pub base_url: Option<String>,
    /// The name of the environment variable that holds its key; never the key itself.
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub api_key_env: Option<String>,
    /// The models of the provider; without this list it serves none.
    pub model_allowlist: Vec<String>,
    /// The model to use when an agent names none.
    pub default_model: Option<String>,
    /// The rank of the provider: the one with the highest number is tried first.
    pub priority: i64,
}

/// A provider's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProviderKind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Openai,
    /// OpenAI Chat Completions, and compatible servers.
    OpenaiChat,
    /// Gemini.
    Gemini,
    /// Ollama.
    Ollama,
    /// A model that runs in this process.
    Local,
    /// Answers from a script; for tests.
    Scripted,
}

/// The section `[mcp]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mcp {
    /// The list of servers, `[[mcp.servers]]`.
    pub servers: Vec<McpServerToml>,
}

/// One `[[mcp.servers]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServerToml {
    /// The id, which is the first half of its tools' names.
    #[schemars(length(min = 1))]
    pub id: String,
    /// The display name of the server.
    pub name: Option<String>,
    /// The transport to the server.
    pub transport: Option<McpTransport>,
    /// The address, for `http`.
    pub url: Option<String>,
    /// The command, for `stdio`: one word, or the words in a list.
    pub command: Option<CommandWords>,
    /// Further words of the command.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables of the server, for `stdio`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// HTTP headers, for `http`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The working directory, for `stdio`.
    pub cwd: Option<String>,
    /// The tools that may be used; all when absent.
    pub allow_tools: Option<Vec<String>>,
    /// The time limit of a call, in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// The transport to an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpTransport {
    /// Over HTTP.
    Http,
    /// As a child process.
    Stdio,
}

/// The sections `[skills]` and `[rules]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Roots {
    /// One directory or file.
    pub root: Option<String>,
    /// Several directories or files.
    pub roots: Vec<String>,
}

impl Roots {
    /// Returns all given roots, each with its JSON pointer below a section.
    pub fn named(&self, section: &str) -> Vec<(String, &str)> {
        let one = self.root.iter().map(|root| (format!("{section}/root"), root.as_str()));
        let several = self.roots.iter().enumerate();
        let several = several.map(|(at, root)| (format!("{section}/roots/{at}"), root.as_str()));
        one.chain(several).collect()
    }
}

/// `[sandbox]`. Your own settings are the ceiling; a project's or an agent's can only request less.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxToml {
    /// false runs agents without a sandbox, with a warning; only in your own settings.
    pub enabled: Option<bool>,
    /// The weakest accepted level; `bwrap` when absent. Only your own settings can lower it.
    pub minimum: Option<SandboxLevel>,
    /// A named set of settings; `trusted` when absent. Projects and agents can only be stricter.
    pub profile: Option<SandboxProfile>,
    /// Access to a repository in a writable directory; `read` when absent. Only your own settings
    /// can set `write`.
    pub git: Option<GitAccess>,
    /// Names of further environment variables for commands; only in your own settings.
    pub env: Option<Vec<String>>,
    /// The home directory of commands.
    pub home: SandboxHome,
    /// Files, hosts and addresses that commands may use.
    pub security: Security,
    /// Resource limits of commands.
    pub limits: SandboxLimits,
}

/// `[sandbox.home]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxHome {
    /// The lifetime of commands' home; `none` when absent. `project` only in your own settings.
    pub persist: Option<HomePersistence>,
}

/// The lifetime of the home of commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HomePersistence {
    /// Every run has a new home.
    #[default]
    None,
    /// One home for each project, agent, sender and set of credentials.
    Project,
}

/// A level of confinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxLevel {
    /// Linux namespaces, set up by Agentry.
    Ns,
    /// Bubblewrap.
    Bwrap,
    /// Landlock alone.
    Landlock,
}

/// A named set of sandbox settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxProfile {
    /// For agents from other authors.
    Untrusted,
    /// For your own agents.
    Trusted,
    /// As `trusted`, and every path that is not denied may be read.
    Host,
}

/// `[sandbox.security]`, and `security` in an agent's file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct Security {
    /// The readable part of the machine; `strict` when absent. `broad` only in your own settings.
    pub read: Option<ReadAccess>,
    /// Readable paths in addition to the system, the project and the agent's own.
    #[schemars(inner(length(min = 1)))]
    pub allow_read: Option<Vec<String>>,
    /// Writable directories; the workspace when absent.
    #[schemars(inner(length(min = 1)))]
    pub allow_write: Option<Vec<String>>,
    /// Paths inside writable directories that may not be written.
    #[schemars(inner(length(min = 1)))]
    pub deny_write: Option<Vec<String>>,
    /// Paths that may not be read.
    #[schemars(inner(length(min = 1)))]
    pub deny_read: Option<Vec<String>>,
    /// Reachable hosts; none when absent.
    pub allowed_domains: Option<Vec<String>>,
    /// Private addresses that are treated as public, for mirrors and test servers. Only in your own
    /// settings.
    #[schemars(inner(length(min = 1)))]
    pub allowed_addresses: Option<Vec<String>>,
}

/// `[sandbox.limits]`, and `limits` in an agent's file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxLimits {
    /// Wall time, in milliseconds.
    #[schemars(range(min = 1))]
    pub timeout: Option<u64>,
    /// The largest memory, in bytes.
    #[schemars(range(min = 1))]
    pub memory: Option<u64>,
    /// The largest number of processes.
    #[schemars(range(min = 1))]
    pub pids: Option<u64>,
    /// The largest size of temporary files, in bytes.
    #[schemars(range(min = 1))]
    pub disk: Option<u64>,
    /// The largest number of open files.
    #[schemars(range(min = 1))]
    pub files: Option<u64>,
    /// true: a call is refused if one of these limits is only watched, not enforced by the kernel.
    pub strict: Option<bool>,
}

/// The section `[limits]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsToml {
    /// The largest number of model replies in one turn.
    pub steps: Option<u64>,
    /// The largest number of tool calls in one turn.
    pub calls: Option<u64>,
    /// The largest number of iterations in wiggum mode.
    pub iterations: Option<u64>,
    /// The largest number of input and output tokens in one turn.
    pub tokens: Option<u64>,
    /// The context window, in input and output tokens; older turns are compacted before it is full.
    #[schemars(range(min = 1))]
    pub window: Option<u64>,
    /// Limits of money.
    pub spending: SpendingToml,
}

/// `[limits.spending]`. Your own settings set the limits; a project's or an agent's can only lower
/// them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SpendingToml {
    /// The limit of one run, in dollars.
    pub run: Option<Dollars>,
    /// The limit of one session, in dollars.
    pub session: Option<Dollars>,
    /// The limit of one UTC day for everyone who uses this home, in dollars.
    pub day: Option<Dollars>,
    /// The treatment of models without a known price; `allow` when absent.
    pub unknown: Option<UnknownPrice>,
}

/// The treatment of models without a known price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownPrice {
    /// Such a model may be used; its cost is not counted.
    #[default]
    Allow,
    /// Such a model may not be used.
    Refuse,
}

const NANO_PER_DOLLAR: f64 = 1_000_000_000.0;

/// An amount of money, written in dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Dollars(u64);

impl Dollars {
    /// Returns the amount in billionths of a dollar.
    pub fn nano(self) -> u64 {
        self.0
    }
}

impl TryFrom<f64> for Dollars {
    type Error = &'static str;

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked first"
    )]
    fn try_from(dollars: f64) -> Result<Self, Self::Error> {
        if (0.0..=SPENDING_DOLLARS_MAX).contains(&dollars) {
            Ok(Self((dollars * NANO_PER_DOLLAR).round() as u64))
        } else {
            Err("an amount is a number of dollars between 0 and 1000000000")
        }
    }
}

impl From<Dollars> for f64 {
    #[expect(clippy::cast_precision_loss, reason = "amounts are small enough to be exact")]
    fn from(amount: Dollars) -> Self {
        amount.0 as Self / NANO_PER_DOLLAR
    }
}

impl JsonSchema for Dollars {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Dollars".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "An amount in dollars.",
            "type": "number",
            "minimum": 0.0,
            "maximum": SPENDING_DOLLARS_MAX
        })
    }
}

/// The section `[access]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AccessToml {
    /// The folder of access policies.
    pub policies: Option<String>,
}

/// `[requests]`; only in your own settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RequestsToml {
    /// The largest number of waiting requests of one principal; 5 when absent.
    #[schemars(range(max = 1000))]
    pub pending_max: Option<u32>,
    /// The time between two requests of one principal, in seconds; 60 when absent.
    #[schemars(range(max = 31536000))]
    pub cooldown_s: Option<u64>,
    /// The denials within a day that block a principal; 5 when absent, and 0 never blocks.
    #[schemars(range(max = 1000))]
    pub denials_max: Option<u32>,
    /// The length of such a block, in hours; 24 when absent.
    #[schemars(range(max = 8760))]
    pub block_h: Option<u64>,
    /// The time that a request waits for your answer, in hours; 24 when absent.
    #[schemars(range(min = 1, max = 8760))]
    pub expires_h: Option<u64>,
}

/// `[secrets]`; never in a project's file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SecretsToml {
    /// The store that `agentry secret set` writes to.
    pub store: Option<SecretStore>,
    /// The sections `[secrets.<name>]`.
    #[serde(flatten)]
    pub named: BTreeMap<String, SecretUse>,
}

/// The store of secret values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecretStore {
    /// A file that only you may read.
    File,
    /// The keyring of the system.
    Keyring,
}

/// The section `[secrets.<name>]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SecretUse {
    /// The environment variable of agentry that holds the value, instead of the store.
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub env: Option<String>,
    /// The receivers of the value: `tool:<name>`, `mcp:<id>`, `provider:<id>`.
    #[serde(rename = "for")]
    #[schemars(inner(regex(pattern = r"^(tool|mcp|provider):.+$")))]
    pub receivers: Vec<String>,
    /// The environment variable in which the receivers find it.
    #[serde(rename = "as")]
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub variable: Option<String>,
}
