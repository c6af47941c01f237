//! `agentry.toml`: what a project or a user sets for all agents.
//!
//! Every field is optional; layers are put on top of each other by `config`.
//!
//! Must never: hold a secret. Keys are named by the variable that holds them.

use std::collections::BTreeMap;

use agentry_protocol::confinement::{GitAccess, ReadAccess};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::channels::{ChannelToml, QueueToml, Webhook};
use crate::limits::SPENDING_DOLLARS_MAX;

/// The file `agentry.toml`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The time zone by which access policies mean their times, such as `Europe/Berlin`; only in your own
    /// settings.
    pub timezone: Option<String>,
    /// What holds for agents that do not say otherwise.
    pub agent: AgentDefaults,
    /// Who is at the keyboard.
    pub user: User,
    /// Who serves models, by a name of your choice.
    pub providers: BTreeMap<String, ProviderToml>,
    /// Servers of outside tools.
    pub mcp: Mcp,
    /// Where skills are found beyond the usual places.
    pub skills: Roots,
    /// Where rules are found.
    pub rules: Roots,
    /// What confines the processes of agents.
    pub sandbox: SandboxToml,
    /// How much one turn may do.
    pub limits: LimitsToml,
    /// Who may talk to which agent.
    pub access: AccessToml,
    /// Where else agents are reached, by a name of your choice; only in your own settings.
    pub channels: BTreeMap<String, ChannelToml>,
    /// How messages wait, and how many turns run at once; only in your own settings.
    pub queue: QueueToml,
    /// Who may call in over HTTP, by a name of your choice; only in your own settings.
    pub webhooks: BTreeMap<String, Webhook>,
    /// How often others may ask you for permission; only in your own settings.
    pub requests: RequestsToml,
    /// Which secrets there are, and who may have each; only in your own settings.
    pub secrets: SecretsToml,
}

/// `[agent]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentDefaults {
    /// The name of the agent that the project describes, where no file names one.
    pub name: Option<String>,
    /// The agent to use when none is named.
    pub default: Option<String>,
    /// The model to use when the agent's own cannot be had.
    pub model: Option<String>,
    /// The persona to wear.
    pub persona: Option<String>,
    /// Where the agent came from: a profile, an address, or `blank`.
    pub profile_source: Option<String>,
    /// Values for the template: `{{ args.key }}`.
    pub args: BTreeMap<String, serde_json::Value>,
}

/// `[user]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct User {
    /// The name for `{{ user.name }}` where USER.md gives none.
    pub name: Option<String>,
}

/// `[providers.<id>]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderToml {
    /// Which protocol it speaks.
    pub kind: Option<ProviderKind>,
    /// Its address.
    pub base_url: Option<String>,
    /// The name of the environment variable that holds its key; never the key itself.
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub api_key_env: Option<String>,
    /// The models it serves; without them it serves none.
    pub model_allowlist: Vec<String>,
    /// The model to use when an agent names none.
    pub default_model: Option<String>,
    /// The provider with the highest number is asked first.
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
    /// OpenAI Chat Completions, and all that speak it.
    OpenaiChat,
    /// Gemini.
    Gemini,
    /// Ollama.
    Ollama,
    /// In this process.
    Local,
    /// From a script; for tests.
    Scripted,
}

/// `[mcp]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mcp {
    /// `[[mcp.servers]]`.
    pub servers: Vec<McpServerToml>,
}

/// One `[[mcp.servers]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpServerToml {
    /// The first half of its tools' names.
    #[schemars(length(min = 1))]
    pub id: String,
    /// What people call it.
    pub name: Option<String>,
    /// How it is reached.
    pub transport: Option<McpTransport>,
    /// Its address, for `http`.
    pub url: Option<String>,
    /// Its command, for `stdio`: one word, or the words in a list.
    pub command: Option<CommandWords>,
    /// Further words of the command.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Headers for `http`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The tools that may be used; all when absent.
    pub allow_tools: Option<Vec<String>>,
    /// How long a call may take, in milliseconds.
    pub timeout_ms: Option<u64>,
}

/// How an MCP server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum McpTransport {
    /// Over HTTP.
    Http,
    /// As a child process.
    Stdio,
}

/// `[skills]` and `[rules]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Roots {
    /// One directory or file.
    pub root: Option<String>,
    /// Several.
    pub roots: Vec<String>,
}

impl Roots {
    /// All that are named, each with its JSON pointer below a section.
    pub fn named(&self, section: &str) -> Vec<(String, &str)> {
        let one = self.root.iter().map(|root| (format!("{section}/root"), root.as_str()));
        let several = self.roots.iter().enumerate();
        let several = several.map(|(at, root)| (format!("{section}/roots/{at}"), root.as_str()));
        one.chain(several).collect()
    }
}

/// `[sandbox]`. In your own settings it is the ceiling; in a project's or an agent's it asks for less.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxToml {
    /// false runs agents without confinement, loudly. Only your own settings can say so.
    pub enabled: Option<bool>,
    /// The weakest level that is accepted; `bwrap` when absent. Only your own settings can lower it.
    pub minimum: Option<SandboxLevel>,
    /// A named set of settings; `trusted` when absent. Others than you can only choose a stricter one.
    pub profile: Option<SandboxProfile>,
    /// What may be done to a repository in a writable directory; `read` when absent. Only your own
    /// settings can say `write`.
    pub git: Option<GitAccess>,
    /// Names of variables that commands may see beside the usual ones. Only in your own settings.
    pub env: Option<Vec<String>>,
    /// The home directory of commands.
    pub home: SandboxHome,
    /// What may be read, written and reached.
    pub security: Security,
    /// What may be spent.
    pub limits: SandboxLimits,
}

/// `[sandbox.home]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxHome {
    /// Whether the home of commands outlives a run; `none` when absent. Only your own settings can say `project`.
    pub persist: Option<HomePersistence>,
}

/// How long the home of commands lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HomePersistence {
    /// Every run has a new one.
    #[default]
    None,
    /// One for each project, agent, sender and set of credentials.
    Project,
}

/// A level of confinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxLevel {
    /// Own namespaces.
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
    /// For agents from elsewhere.
    Untrusted,
    /// For your own.
    Trusted,
    /// The machine itself.
    Host,
}

/// `[sandbox.security]`, and `security` in an agent's file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct Security {
    /// How much of the machine may be read; `strict` when absent. Only your own settings can say `broad`.
    pub read: Option<ReadAccess>,
    /// Paths that may be read beside the system, the project and the agent's own.
    #[schemars(inner(length(min = 1)))]
    pub allow_read: Option<Vec<String>>,
    /// Directories that may be written; the workspace when absent.
    #[schemars(inner(length(min = 1)))]
    pub allow_write: Option<Vec<String>>,
    /// Paths that may not be written although they lie in one of those.
    #[schemars(inner(length(min = 1)))]
    pub deny_write: Option<Vec<String>>,
    /// Paths that may not be read.
    #[schemars(inner(length(min = 1)))]
    pub deny_read: Option<Vec<String>>,
    /// Hosts that may be reached; none when absent.
    pub allowed_domains: Option<Vec<String>>,
    /// Addresses that count as public although they are private, for mirrors and test servers. Only in
    /// your own settings.
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
    /// Memory, in bytes.
    #[schemars(range(min = 1))]
    pub memory: Option<u64>,
    /// Processes.
    #[schemars(range(min = 1))]
    pub pids: Option<u64>,
    /// Temporary files, in bytes.
    #[schemars(range(min = 1))]
    pub disk: Option<u64>,
    /// Open files.
    #[schemars(range(min = 1))]
    pub files: Option<u64>,
    /// true refuses a call when one of these is only watched, not held by the kernel.
    pub strict: Option<bool>,
}

/// `[limits]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsToml {
    /// Model replies in one turn.
    pub steps: Option<u64>,
    /// Tool calls in one turn.
    pub calls: Option<u64>,
    /// Rounds in wiggum mode.
    pub iterations: Option<u64>,
    /// Tokens in one turn, read and written together.
    pub tokens: Option<u64>,
    /// Tokens that a model reads and writes together; older turns are summed up before it is full.
    #[schemars(range(min = 1))]
    pub window: Option<u64>,
    /// Money.
    pub spending: SpendingToml,
}

/// `[limits.spending]`. In your own settings it says how much; in a project's or an agent's it can only
/// say less.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SpendingToml {
    /// In one run, in dollars.
    pub run: Option<Dollars>,
    /// In one session, in dollars.
    pub session: Option<Dollars>,
    /// On one day, in universal time, by everybody who uses this home, in dollars.
    pub day: Option<Dollars>,
    /// Whether a model whose price nobody knows may be asked; `allow` when absent.
    pub unknown: Option<UnknownPrice>,
}

/// Whether a model whose price nobody knows may be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownPrice {
    /// It may; its cost is not counted.
    #[default]
    Allow,
    /// It may not.
    Refuse,
}

const NANO_PER_DOLLAR: f64 = 1_000_000_000.0;

/// An amount of money, written in dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Dollars(u64);

impl Dollars {
    /// The amount in billionths of a dollar.
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

/// `[access]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AccessToml {
    /// The folder of access policies.
    pub policies: Option<String>,
}

/// `[requests]`; only your own settings say it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RequestsToml {
    /// How many requests of one principal may wait; 5 when absent.
    #[schemars(range(max = 1000))]
    pub pending_max: Option<u32>,
    /// How long one principal waits before asking again, in seconds; 60 when absent.
    #[schemars(range(max = 31536000))]
    pub cooldown_s: Option<u64>,
    /// So many denials within a day block a principal; 5 when absent, and 0 blocks nobody.
    #[schemars(range(max = 1000))]
    pub denials_max: Option<u32>,
    /// How long such a block lasts, in hours; 24 when absent.
    #[schemars(range(max = 8760))]
    pub block_h: Option<u64>,
    /// How long a request waits for your answer, in hours; 24 when absent.
    #[schemars(range(min = 1, max = 8760))]
    pub expires_h: Option<u64>,
}

/// `[secrets]`; never in a project's file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SecretsToml {
    /// Where `agentry secret set` keeps values.
    pub store: Option<SecretStore>,
    /// `[secrets.<name>]`.
    #[serde(flatten)]
    pub named: BTreeMap<String, SecretUse>,
}

/// Where values of secrets are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecretStore {
    /// A file that only you may read.
    File,
    /// The keyring of the system.
    Keyring,
}

/// `[secrets.<name>]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SecretUse {
    /// The environment variable of agentry that holds the value, instead of the store.
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub env: Option<String>,
    /// Who may have it: `tool:<name>`, `mcp:<id>`, `provider:<id>`.
    #[serde(rename = "for")]
    #[schemars(inner(regex(pattern = r"^(tool|mcp|provider):.+$")))]
    pub receivers: Vec<String>,
    /// The variable in which they find it.
    #[serde(rename = "as")]
    #[schemars(regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub variable: Option<String>,
}

/// One word or several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CommandWords {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl JsonSchema for CommandWords {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Words".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "One word, or a list of words.",
            "type": ["string", "array"],
            "items": { "type": "string" }
        })
    }
}
