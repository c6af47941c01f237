//! All names that a definition may refer to, and whether each definition loads.
//!
//! Built in a first pass over all files, used in the second to check references. A broken
//! definition is recorded as broken, so that a reference to it gets its own message.
//!
//! Must never: hold more than names and the function that tests a rule.

use std::collections::{BTreeMap, BTreeSet};

use agentry_protocol::tool::{self, ToolName};

use crate::approval_rule::ExampleChecker;
use crate::diagnostic::{DiagnosticCode, FindingText, Findings, suggestion};
use crate::source::{SourceText, Span};

/// The state of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefinitionHealth {
    /// The definition loads.
    Valid,
    /// The definition does not load; this is its file.
    Broken(String),
}

/// All names that a definition may refer to.
#[derive(Clone, Debug, Default)]
pub struct NameIndex {
    /// Tools of the host.
    pub host: BTreeSet<ToolName>,
    /// Names of MCP servers.
    pub mcp: BTreeSet<String>,
    /// The file of MCP servers, if it does not load.
    pub mcp_broken: Option<String>,
    /// Tools that any agent brings itself.
    pub custom: BTreeSet<String>,
    /// Skills by id.
    pub skills: BTreeMap<String, DefinitionHealth>,
    /// Tasks by id.
    pub tasks: BTreeMap<String, DefinitionHealth>,
    /// Agents by id.
    pub agents: BTreeMap<String, DefinitionHealth>,
    /// The function that tests the examples of approval rules.
    pub try_examples: Option<ExampleChecker>,
}

/// The kinds of references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    /// A skill.
    Skill,
    /// A task.
    Task,
    /// An agent.
    Agent,
}

/// A definition as another one names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefinitionReference<'a> {
    /// The kind of the definition.
    pub kind: ReferenceKind,
    /// Its id.
    pub id: &'a str,
}

impl NameIndex {
    /// True if a tool has this canonical name, or if an MCP server is known that may have it.
    pub fn tool_exists(&self, name: &str) -> bool {
        let name = ToolName::canonical(name);
        match name.mcp() {
            Some((server, _)) => self.mcp.contains(server),
            None => tool::find_known_tool(name.as_str()).is_some(),
        }
    }

    /// Adds a finding that no tool has this name.
    pub fn report_tool(
        &self,
        name: &str,
        source: &SourceText,
        span: Span,
        findings: &mut Findings,
    ) {
        match (ToolName::canonical(name).mcp(), &self.mcp_broken) {
            (Some((server, _)), Some(file)) => {
                let text = FindingText::new(format!(
                    "whether there is an MCP server `{server}` is not known, since {file} does not load"
                ))
                .help(format!("mend {file} first"));
                findings.at(DiagnosticCode::BrokenReference, source, span, text);
            }
            (Some((server, _)), None) => {
                findings.at_with(DiagnosticCode::UnknownMcpServer, source, span, || {
                    let known: Vec<&str> = self.mcp.iter().map(String::as_str).collect();
                    FindingText::new(format!("no MCP server is called `{server}`")).help(format!(
                        "add it to .mcp.json or agentry.toml; {}",
                        suggestion(server, &known)
                    ))
                });
            }
            (None, _) => findings.at_with(DiagnosticCode::UnknownTool, source, span, || {
                let known: Vec<&str> = tool::KNOWN
                    .iter()
                    .flat_map(|tool| tool.aliases.iter().copied().chain([tool.name]))
                    .collect();
                let own = if name.contains(['/', '\\']) {
                    String::new()
                } else {
                    format!("; a tool of an agent program needs tools/{name}.yml")
                };
                FindingText::new(format!("no tool is called `{name}`"))
                    .help(format!("{}{own}", suggestion(name, &known)))
            }),
        }
    }

    /// Adds a finding if no definition, or only a broken one, has this id.
    pub fn report_reference(
        &self,
        reference: DefinitionReference<'_>,
        source: &SourceText,
        span: Span,
        findings: &mut Findings,
    ) {
        let DefinitionReference { kind, id } = reference;
        let (known, code, noun) = match kind {
            ReferenceKind::Skill => (&self.skills, DiagnosticCode::UnknownSkill, "skill"),
            ReferenceKind::Task => (&self.tasks, DiagnosticCode::UnknownTask, "task"),
            ReferenceKind::Agent => (&self.agents, DiagnosticCode::UnknownAgent, "agent"),
        };
        match known.get(id) {
            Some(DefinitionHealth::Valid) => {}
            Some(DefinitionHealth::Broken(file)) => {
                let text = FindingText::new(format!("the {noun} `{id}` does not load"))
                    .help(format!("mend {file} first; its defects are listed there"));
                findings.at(DiagnosticCode::BrokenReference, source, span, text);
            }
            None => findings.at_with(code, source, span, || {
                let ids: Vec<&str> = known.keys().map(String::as_str).collect();
                FindingText::new(format!("no {noun} has the id `{id}`")).help(suggestion(id, &ids))
            }),
        }
    }
}
