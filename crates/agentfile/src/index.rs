//! What exists: every name that a definition may refer to, and whether it loads.
//!
//! Built in a first pass over all files, used in the second to check references. A definition that
//! is there but broken is known as broken, so that whoever refers to it is told so.
//!
//! Must never: hold more than names.

use std::collections::{BTreeMap, BTreeSet};

use agentry_protocol::tool::{self, ToolName};

use crate::diagnostic::{Code, Findings, Text, suggestion};
use crate::source::{Source, Span};

/// Whether a definition loads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// It does.
    Good,
    /// It does not; this is its file.
    Broken(String),
}

/// All names.
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// Tools that the host offers.
    pub host: BTreeSet<ToolName>,
    /// Names of MCP servers.
    pub mcp: BTreeSet<String>,
    /// Skills by id.
    pub skills: BTreeMap<String, Health>,
    /// Tasks by id.
    pub tasks: BTreeMap<String, Health>,
    /// Agents by id.
    pub agents: BTreeMap<String, Health>,
}

/// What a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// A skill.
    Skill,
    /// A task.
    Task,
    /// An agent.
    Agent,
}

impl Index {
    /// Whether a tool has this canonical name, here or on an MCP server.
    pub fn tool_exists(&self, name: &str) -> bool {
        let name = ToolName::canonical(name);
        match name.mcp() {
            Some((server, _)) => self.mcp.contains(server),
            None => tool::known(name.as_str()).is_some(),
        }
    }

    /// Notes a finding if no tool has this name.
    pub fn report_tool(&self, name: &str, source: &Source, span: Span, findings: &mut Findings) {
        if self.tool_exists(name) {
            return;
        }
        match ToolName::canonical(name).mcp() {
            Some((server, _)) => {
                let known: Vec<&str> = self.mcp.iter().map(String::as_str).collect();
                let text = Text::new(format!("no MCP server is called `{server}`")).help(format!(
                    "add it to .mcp.json or agentry.toml; {}",
                    suggestion(server, &known)
                ));
                findings.at(Code::UnknownMcpServer, source, span, text);
            }
            None => {
                let known: Vec<&str> = tool::KNOWN
                    .iter()
                    .flat_map(|tool| tool.aliases.iter().copied().chain([tool.name]))
                    .collect();
                let text =
                    Text::new(format!("no tool is called `{name}`")).help(suggestion(name, &known));
                findings.at(Code::UnknownTool, source, span, text);
            }
        }
    }

    /// Notes a finding if nothing, or only something broken, has this id.
    pub fn report_reference(
        &self,
        lookup: Lookup,
        id: &str,
        place: (&Source, Span),
        findings: &mut Findings,
    ) {
        let (known, code, noun) = match lookup {
            Lookup::Skill => (&self.skills, Code::UnknownSkill, "skill"),
            Lookup::Task => (&self.tasks, Code::UnknownTask, "task"),
            Lookup::Agent => (&self.agents, Code::UnknownAgent, "agent"),
        };
        match known.get(id) {
            Some(Health::Good) => {}
            Some(Health::Broken(file)) => {
                let text = Text::new(format!("the {noun} `{id}` does not load"))
                    .help(format!("mend {file} first; its defects are listed there"));
                findings.at(Code::BrokenReference, place.0, place.1, text);
            }
            None => {
                let ids: Vec<&str> = known.keys().map(String::as_str).collect();
                let text =
                    Text::new(format!("no {noun} has the id `{id}`")).help(suggestion(id, &ids));
                findings.at(code, place.0, place.1, text);
            }
        }
    }
}
