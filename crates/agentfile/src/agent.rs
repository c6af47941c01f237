//! An agent as meant: all references resolved, all limits set, every decision with its origin.
//!
//! Whatever form the files have, this is the one value that the rest of Agentry works with.
//!
//! Must never: hold something that was not checked, or a path to be read later.

use std::collections::BTreeMap;

use agentry_protocol::hook::{HookMoment, HookSpec};
use agentry_protocol::tool::{Risk, ToolCategory, ToolName};
use agentry_protocol::{AgentId, ContentHash, PersonaId, SkillId, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::manifest::agent_yml::PersonaRouter;
use crate::sandbox::SandboxLayer;
use crate::scope::ApprovalRule;
use crate::source::{Origin, SourcedValue};
use crate::tool_access::ToolAccess;

/// One agent.
#[derive(Clone, Debug, Serialize)]
pub struct Agent {
    /// Its id, from its directory.
    pub id: AgentId,
    /// Which form its files have.
    pub form: AgentForm,
    /// Its directory, as people see it.
    pub directory: String,
    /// The hash of all of its files.
    pub hash: ContentHash,
    /// What it is called.
    pub identity: AgentIdentity,
    /// What it is told.
    pub texts: PromptTexts,
    /// Which models it may use.
    pub models: AgentModels,
    /// What it may do.
    pub powers: AgentPermissions,
    /// The voices it may wear.
    pub personas: AgentPersonas,
    /// The skills it has.
    pub skills: Vec<SourcedValue<SkillId>>,
    /// The tasks it may invoke.
    pub tasks: Vec<SourcedValue<TaskId>>,
    /// Values for its template and its memory.
    pub values: AgentValues,
}

/// The form of an agent's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentForm {
    /// `agent.yml` and Markdown files beside it.
    Program,
    /// `AGENT.md` with front matter.
    Pack,
    /// A `context/` folder.
    ContextFolder,
}

/// Names.
#[derive(Clone, Debug, Serialize)]
pub struct AgentIdentity {
    /// What the agent is called.
    pub name: SourcedValue<String>,
    /// What it is for.
    pub description: Option<SourcedValue<String>>,
    /// Whatever else its files say about it.
    pub metadata: Option<SourcedValue<Value>>,
}

/// What goes into the prompt, apart from tools and skills.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PromptTexts {
    /// Operating instructions.
    pub instructions: Option<SourcedValue<String>>,
    /// The root persona.
    pub soul: Option<SourcedValue<String>>,
    /// Who the user is.
    pub user: Option<SourcedValue<String>>,
    /// The user's name.
    pub user_name: Option<SourcedValue<String>>,
    /// The template of the system prompt.
    pub template: Option<SourcedValue<String>>,
    /// Rules of the workspace.
    pub rules: Option<SourcedValue<String>>,
}

/// Which models may be used.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AgentModels {
    /// Models in the order in which they are tried.
    pub candidates: Vec<SourcedValue<String>>,
    /// Further models that a person may choose.
    pub allowed: Vec<SourcedValue<String>>,
    /// Whether no others may be used: the agent's front matter names its model. A list of preferences does not bind.
    pub bound: bool,
    /// How freely the model answers.
    pub temperature: Option<SourcedValue<f64>>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<SourcedValue<u64>>,
}

/// What an agent may do.
#[derive(Clone, Debug, Serialize)]
pub struct AgentPermissions {
    /// The tools it is offered.
    pub toolset: Vec<OfferedTool>,
    /// Tools it asked for and does not get.
    pub left_out: Vec<ExcludedTool>,
    /// Which tool calls go ahead without a question, in order.
    pub tool_rules: Vec<ApprovalRule>,
    /// Which task invocations go ahead without a question, in order.
    pub task_rules: Vec<ApprovalRule>,
    /// Which of its programs run at which moment.
    pub hooks: Vec<Hook>,
    /// What it may do beyond calling tools.
    pub capabilities: CapabilitySwitches,
    /// What its tool-access file and the environment say.
    pub access: ToolAccess,
    /// What its files ask of the sandbox.
    pub confinement: Vec<SandboxLayer>,
}

/// What an agent may do beyond calling tools, each with what said so.
#[derive(Clone, Debug, Serialize)]
pub struct CapabilitySwitches {
    /// The agent may edit its own directory.
    pub self_modify: SourcedValue<bool>,
    /// The agent may hand work to other agents.
    pub spawn_subagents: SourcedValue<bool>,
}

impl Default for CapabilitySwitches {
    fn default() -> Self {
        let off = || SourcedValue::new(false, Origin::named("built-in"));
        Self { self_modify: off(), spawn_subagents: off() }
    }
}

/// A tool that an agent is offered.
#[derive(Clone, Debug, Serialize)]
pub struct OfferedTool {
    /// The canonical name.
    pub name: ToolName,
    /// Where it comes from.
    pub kind: ToolKind,
    /// What kind of thing it does.
    pub category: ToolCategory,
    /// How much harm a call can do.
    pub risk: Risk,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments; the host's own tools bring theirs.
    pub parameters: Option<Value>,
    /// What put it into the toolset.
    pub origin: Origin,
}

/// Where a tool comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// The host has it.
    Host,
    /// The agent brings it.
    Custom(Box<CustomTool>),
    /// An MCP server has it.
    Mcp {
        /// The server.
        server: String,
    },
}

/// A tool that the agent brings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CustomTool {
    /// The program, as a path below the agent's directory.
    pub program: String,
    /// The hash of the program's text when the agent was read.
    pub hash: ContentHash,
    /// The JSON Schema of what it answers, if it says.
    pub output: Option<Value>,
    /// The folder where it leaves files that are to be kept, below the one it runs in.
    pub artifacts: Option<String>,
    /// How long a call may take, in milliseconds.
    pub timeout_ms: u64,
    /// Whether it says that it only looks, so that a call may be repeated.
    pub read_only: bool,
}

/// A tool that was asked for and is not offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExcludedTool {
    /// The name, as written.
    pub name: String,
    /// Why it is not offered.
    pub why: String,
    /// Who asked for it.
    pub origin: Origin,
    /// Whether it is only switched off by tool-access; it would be offered otherwise.
    #[serde(skip)]
    pub switched_off: bool,
}

/// What the agent does with a program of its own at a named moment.
#[derive(Clone, Debug, Serialize)]
pub struct Hook {
    /// The moment.
    pub moment: HookMoment,
    /// Whether it runs.
    pub switch: HookSwitch,
    /// What switched it on or off.
    pub origin: Origin,
}

/// Whether a hook runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookSwitch {
    /// It runs, and so.
    On(HookSpec),
    /// It was switched off.
    Off,
}

/// The voices an agent may wear.
#[derive(Clone, Debug, Serialize)]
pub struct AgentPersonas {
    /// The one to begin with; none means the root SOUL.md.
    pub default: Option<SourcedValue<PersonaId>>,
    /// Who chooses.
    pub router: SourcedValue<PersonaRouter>,
    /// All that may be worn.
    pub available: Vec<Persona>,
}

impl Default for AgentPersonas {
    fn default() -> Self {
        let router = SourcedValue::new(PersonaRouter::default(), Origin::named("built-in"));
        Self { default: None, router, available: Vec::new() }
    }
}

/// One voice.
#[derive(Clone, Debug, Serialize)]
pub struct Persona {
    /// Its name.
    pub id: PersonaId,
    /// Its SOUL.md, which replaces the root one.
    pub soul: Option<SourcedValue<String>>,
    /// Its template, which replaces the root one.
    pub template: Option<SourcedValue<String>>,
    /// What made it available.
    pub origin: Origin,
}

/// Values for the template, and what the agent keeps.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AgentValues {
    /// `data/facts.yml`.
    pub facts: Option<SourcedValue<Value>>,
    /// `data/lorebook.yml`.
    pub lorebook: Option<SourcedValue<Value>>,
    /// `memory/YYYY-MM-DD.md`, oldest first.
    pub diary: Vec<DiaryPage>,
    /// Values given when the agent was made.
    pub args: BTreeMap<String, SourcedValue<Value>>,
}

/// One page of the diary.
#[derive(Clone, Debug, Serialize)]
pub struct DiaryPage {
    /// The day, as `YYYY-MM-DD`.
    pub day: String,
    /// The file.
    pub file: String,
    /// Its length in bytes.
    pub bytes: usize,
}
