//! The toolset of an agent: the tools it requests, as far as the host has them.
//!
//! Offered = (requested ∩ host) + the agent's own, less those that tool-access disables. A
//! requested tool that is not offered is kept with the reason.
//!
//! Must never: offer a tool that was not requested, or drop one without a finding.

use std::collections::{BTreeSet, HashMap, HashSet};

use agentry_protocol::tool::{self, KnownTool, Risk, ToolCategory, ToolName, ToolRequirement};

use crate::agent::{ExcludedTool, OfferedTool, ToolKind};
use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::manifest::agent_yml::CapabilitiesYml;
use crate::name_index::NameIndex;
use crate::scope::NameSelection;
use crate::source::{Origin, SourceText, Span};
use crate::tool_access::ToolAccess;

/// A toolset under construction.
pub struct ToolsetBuilder<'a> {
    pub(crate) index: &'a NameIndex,
    capabilities: CapabilitiesYml,
    access: &'a ToolAccess,
    offered: Vec<OfferedTool>,
    left_out: Vec<ExcludedTool>,
    // The names in both lists.
    seen: HashSet<ToolName>,
}

impl<'a> ToolsetBuilder<'a> {
    /// Creates an empty toolset.
    pub fn new(
        index: &'a NameIndex,
        capabilities: CapabilitiesYml,
        access: &'a ToolAccess,
    ) -> Self {
        let (offered, left_out, seen) = (Vec::new(), Vec::new(), HashSet::new());
        Self { index, capabilities, access, offered, left_out, seen }
    }

    /// Adds the tools of a list with `inherit`.
    pub fn choose(&mut self, choice: &NameSelection, inherited_from: &Origin) {
        for name in &choice.names {
            self.add_named(&name.value, &name.origin);
        }
        if choice.inherit {
            let host: BTreeSet<ToolName> = self.index.host.clone();
            for known in
                tool::KNOWN.iter().filter(|known| host.contains(&ToolName::canonical(known.name)))
            {
                if known.needs == ToolRequirement::Nothing {
                    self.host(known, known.name, inherited_from);
                }
            }
        }
    }

    /// Adds one tool of the host or of an MCP server. False if no such tool is known.
    pub fn add_named(&mut self, written: &str, origin: &Origin) -> bool {
        if let Some(prefix) = written.strip_suffix('*') {
            let matching: Vec<&KnownTool> = tool::KNOWN
                .iter()
                .filter(|known| known.name.starts_with(prefix))
                .filter(|known| known.needs != ToolRequirement::Name || !prefix.is_empty())
                .collect();
            for known in &matching {
                self.host(known, known.name, origin);
            }
            return !matching.is_empty();
        }
        if let Some(known) = tool::find_known_tool(written) {
            self.host(known, written, origin);
            return true;
        }
        let name = ToolName::canonical(written);
        let Some((server, plain)) = name.mcp() else { return false };
        if !self.index.mcp.contains(server) {
            return false;
        }
        let (server, description) =
            (server.to_owned(), format!("{plain} of the MCP server {server}."));
        self.push(OfferedTool {
            kind: ToolKind::Mcp { server },
            category: ToolCategory::Custom,
            risk: Risk::Medium,
            description,
            parameters: None,
            origin: origin.clone(),
            name,
        });
        true
    }

    fn host(&mut self, known: &'static KnownTool, written: &str, origin: &Origin) {
        let why = match known.needs {
            ToolRequirement::SelfModify if !self.capabilities.self_modify => {
                Some("it needs `capabilities.self_modify: true`")
            }
            ToolRequirement::SpawnSubagents if !self.capabilities.spawn_subagents => {
                Some("it needs `capabilities.spawn_subagents: true`")
            }
            _ if self.index.host.contains(&ToolName::canonical(known.name)) => None,
            ToolRequirement::MacOs => Some("it needs a macOS machine"),
            ToolRequirement::SearchService => {
                Some("it needs a search service, and none is configured")
            }
            ToolRequirement::Nothing
            | ToolRequirement::Name
            | ToolRequirement::SelfModify
            | ToolRequirement::SpawnSubagents => Some("this host does not have it"),
        };
        if let Some(why) = why {
            self.leave_out(written, why, origin);
            return;
        }
        self.push(OfferedTool {
            name: ToolName::canonical(known.name),
            kind: ToolKind::Host,
            category: known.category,
            risk: known.risk,
            description: known.summary.to_owned(),
            parameters: None,
            origin: origin.clone(),
        });
    }

    /// Adds a tool unless it is present already or disabled.
    pub fn push(&mut self, tool: OfferedTool) {
        if self.seen.contains(&tool.name) {
            return;
        }
        match self.access.why_off(&tool.name) {
            Some(off) => {
                let why = format!("{} ({})", off.why, off.origin);
                if self.leave_out(tool.name.as_str(), &why, &tool.origin)
                    && let Some(one) = self.left_out.last_mut()
                {
                    one.switched_off = true;
                }
            }
            None => {
                self.seen.insert(tool.name.clone());
                self.offered.push(tool);
            }
        }
    }

    /// Records a tool as excluded. Returns false if it was recorded before.
    fn leave_out(&mut self, name: &str, why: &str, origin: &Origin) -> bool {
        let is_new = self.seen.insert(ToolName::canonical(name));
        if is_new {
            let (name, why) = (name.to_owned(), why.to_owned());
            let origin = origin.clone();
            self.left_out.push(ExcludedTool { name, why, origin, switched_off: false });
        }
        is_new
    }

    /// Adds the tools that belong to a capability.
    pub fn add_for_capabilities(&mut self, origin: &Origin) {
        for known in tool::KNOWN {
            let granted = match known.needs {
                ToolRequirement::SelfModify => self.capabilities.self_modify,
                ToolRequirement::SpawnSubagents => self.capabilities.spawn_subagents,
                ToolRequirement::Nothing
                | ToolRequirement::Name
                | ToolRequirement::MacOs
                | ToolRequirement::SearchService => false,
            };
            if granted {
                self.host(known, known.name, origin);
            }
        }
    }

    /// Returns the offered (in the order of the catalog, then as requested) and the excluded tools.
    pub fn finish(self) -> (Vec<OfferedTool>, Vec<ExcludedTool>) {
        let mut offered = self.offered;
        let place = |tool: &OfferedTool| {
            tool::KNOWN
                .iter()
                .position(|known| known.name == tool.name.as_str())
                .unwrap_or(usize::MAX)
        };
        offered.sort_by_key(place);
        (offered, self.left_out)
    }
}

/// Adds a finding for each tool that a file requests by name and that is not offered.
pub fn report_left_out(
    left_out: &[ExcludedTool],
    source: &SourceText,
    spans: &[(String, Span)],
    findings: &mut Findings,
) {
    let places: HashMap<ToolName, Span> =
        spans.iter().rev().map(|(name, span)| (ToolName::canonical(name), *span)).collect();
    for one in left_out {
        if let Some(span) = places.get(&ToolName::canonical(&one.name)) {
            let text = FindingText::new(format!("`{}` is left out: {}", one.name, one.why));
            findings.at(DiagnosticCode::ToolUnavailable, source, *span, text);
        }
    }
}
