//! A resolved agent: all references checked, all limits set, every decision with its origin.
//!
//! All forms of agent files become this one value, which the rest of Agentry works with.
//!
//! Must never: hold an unchecked value, or a path to be read later.

use std::collections::BTreeMap;

use agentry_protocol::hook::{HookMoment, HookSpec};
use agentry_protocol::tool::{Risk, ToolCategory, ToolName};
use agentry_protocol::{AgentId, ContentHash, PersonaId, SkillId, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval_rule::ApprovalRule;
use crate::manifest::agent_yml::PersonaRouter;
use crate::sandbox::SandboxLayer;
use crate::source::{Origin, SourcedValue};
use crate::tool_access::ToolAccess;

/// One agent.
#[derive(Clone, Debug, Serialize)]
pub struct Agent {
    /// The id, from the agent's directory.
    pub id: AgentId,
    /// The form of its files.
    pub form: AgentForm,
    /// Its directory, as people see it.
    pub directory: String,
    /// The hash of all of its files.
    pub hash: ContentHash,
    /// Its name and description.
    pub identity: AgentIdentity,
    /// The texts for its prompt.
    pub texts: PromptTexts,
    /// The models it may use.
    pub models: AgentModels,
    /// Its tools, rules and other powers.
    pub powers: AgentPermissions,
    /// The personas it may wear.
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

/// The agent's name, and descriptive values.
#[derive(Clone, Debug, Serialize)]
pub struct AgentIdentity {
    /// The display name.
    pub name: SourcedValue<String>,
    /// The purpose of the agent.
    pub description: Option<SourcedValue<String>>,
    /// Further values of its files; shown, never interpreted.
    pub metadata: Option<SourcedValue<Value>>,
}

/// The texts of the prompt, apart from tools and skills.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PromptTexts {
    /// Operating instructions.
    pub instructions: Option<SourcedValue<String>>,
    /// The root persona.
    pub soul: Option<SourcedValue<String>>,
    /// The description of the user.
    pub user: Option<SourcedValue<String>>,
    /// The user's name.
    pub user_name: Option<SourcedValue<String>>,
    /// The template of the system prompt.
    pub template: Option<SourcedValue<String>>,
    /// Rules of the workspace.
    pub rules: Option<SourcedValue<String>>,
}

/// The models of an agent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AgentModels {
    /// Models in the order in which they are tried.
    pub candidates: Vec<SourcedValue<String>>,
    /// Further models that a person may choose.
    pub allowed: Vec<SourcedValue<String>>,
    /// True if its front matter names its model: no other may be used. Preferences do not bind.
    pub bound: bool,
    /// The sampling temperature; higher values vary answers more.
    pub temperature: Option<SourcedValue<f64>>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<SourcedValue<u64>>,
}

/// The powers of an agent.
#[derive(Clone, Debug, Serialize)]
pub struct AgentPermissions {
    /// The tools it is offered.
    pub toolset: Vec<OfferedTool>,
    /// Tools that it requested and does not get.
    pub left_out: Vec<ExcludedTool>,
    /// Approval rules for tool calls, in order.
    pub tool_rules: Vec<ApprovalRule>,
    /// Approval rules for task invocations, in order.
    pub task_rules: Vec<ApprovalRule>,
    /// Its programs that run at a moment.
    pub hooks: Vec<Hook>,
    /// Abilities beyond tool calls.
    pub capabilities: CapabilitySwitches,
    /// The settings of its tool-access file and of the environment.
    pub access: ToolAccess,
    /// The sandbox settings that its files request.
    pub confinement: Vec<SandboxLayer>,
}

/// Abilities beyond tool calls, each with the origin of its setting.
#[derive(Clone, Debug, Serialize)]
pub struct CapabilitySwitches {
    /// The agent may edit its own directory.
    pub self_modify: SourcedValue<bool>,
    /// The agent may delegate work to other agents.
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
    /// The source of the tool, with details of a custom one.
    pub kind: ToolKind,
    /// The category of the tool.
    pub category: ToolCategory,
    /// The harm that a call can do.
    pub risk: Risk,
    /// The description of the tool, for the model.
    pub description: String,
    /// The JSON Schema of its arguments; none for the host's own tools, which have theirs.
    pub parameters: Option<Value>,
    /// The place that put it into the toolset.
    pub origin: Origin,
}

/// The source of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// A tool of the host.
    Host,
    /// A tool that the agent brings.
    Custom(Box<CustomTool>),
    /// A tool of an MCP server.
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
    /// The JSON Schema of its result, if the file gives one.
    pub output: Option<Value>,
    /// The folder for files that are kept, relative to the working directory of a call.
    pub artifacts: Option<String>,
    /// The time limit of a call, in milliseconds.
    pub timeout_ms: u64,
    /// True if the file declares that calls have no side effects and may be repeated.
    pub read_only: bool,
}

/// A tool that was requested and is not offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExcludedTool {
    /// The name, as written.
    pub name: String,
    /// The reason for a person.
    pub why: String,
    /// The place of the request.
    pub origin: Origin,
    /// True if only tool-access disables it; it would be offered otherwise.
    #[serde(skip)]
    pub switched_off: bool,
}

/// The setting of one program of the agent at a moment.
#[derive(Clone, Debug, Serialize)]
pub struct Hook {
    /// The moment.
    pub moment: HookMoment,
    /// The program, or off.
    pub switch: HookSwitch,
    /// The place of the setting.
    pub origin: Origin,
}

/// The program of a hook, or off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookSwitch {
    /// The hook runs as specified.
    On(HookSpec),
    /// The hook is disabled.
    Off,
}

/// The personas of an agent.
#[derive(Clone, Debug, Serialize)]
pub struct AgentPersonas {
    /// The first persona; none means the root SOUL.md.
    pub default: Option<SourcedValue<PersonaId>>,
    /// The chooser of the persona.
    pub router: SourcedValue<PersonaRouter>,
    /// All personas that the agent may wear.
    pub available: Vec<Persona>,
}

impl Default for AgentPersonas {
    fn default() -> Self {
        let router = SourcedValue::new(PersonaRouter::default(), Origin::named("built-in"));
        Self { default: None, router, available: Vec::new() }
    }
}

/// One persona.
#[derive(Clone, Debug, Serialize)]
pub struct Persona {
    /// Its name.
    pub id: PersonaId,
    /// Its SOUL.md, which replaces the root one.
    pub soul: Option<SourcedValue<String>>,
    /// Its template, which replaces the root one.
    pub template: Option<SourcedValue<String>>,
    /// The place that makes it available.
    pub origin: Origin,
}

/// Values for the template, and the agent's memory files.
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
