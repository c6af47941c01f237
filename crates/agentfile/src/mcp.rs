//! The MCP servers of `.mcp.json`, as other tools write it, and of `[[mcp.servers]]`.
//!
//! Other tools write fields of their own into `.mcp.json`; unknown fields are ignored.
//!
//! Must never: start a server.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use crate::config::Settings;
use crate::diagnostic::{DiagnosticCode, FindingText, Findings, Severity};
use crate::file_tree::FileTree;
use crate::json;
use crate::manifest::command::CommandWords;
use crate::manifest::config::McpTransport;
use crate::node::{Kind, Node, pointer_part};
use crate::schema::{self, FileKind};
use crate::source::{Origin, SourceText, Span};

/// The name of the file.
pub const FILE: &str = ".mcp.json";

/// One MCP server.
#[derive(Clone, Debug, Serialize)]
pub struct McpServer {
    /// The id, which is the first half of its tools' names.
    pub id: String,
    /// The command or address of the server.
    pub reach: McpEndpoint,
    /// The place of the definition.
    pub origin: Origin,
    /// True if a file of the project defines it, which others may have written.
    #[serde(skip)]
    pub is_of_project: bool,
}

/// The command or address of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum McpEndpoint {
    /// A child process, as its command line.
    Command(Vec<String>),
    /// A server over HTTP, as its address.
    Url(String),
}

/// Returns all servers: those of the file, then those of the settings, which win.
pub fn read(
    tree: &FileTree,
    settings: &Settings,
    findings: &mut Findings,
) -> BTreeMap<String, McpServer> {
    let mut servers = BTreeMap::new();
    if let Some(source) = tree.text(FILE, findings)
        && let Some(mut node) = json::parse(&source, findings)
    {
        let lost = schema::check(FileKind::McpJson, &source, &mut node, findings);
        from_json(&source, &node, &lost, &mut servers, findings);
    }
    let mut seen = HashSet::new();
    for (at, server) in settings.config.mcp.servers.iter().enumerate() {
        if !seen.insert(server.id.as_str()) {
            let text = FindingText::new(format!("the MCP server `{}` is there already", server.id))
                .help("this one is not used; rename or remove it");
            let pointer = format!("/mcp/servers/{at}/id");
            settings.report(DiagnosticCode::DuplicateId, &pointer, text, findings);
            continue;
        }
        let pointer = format!("/mcp/servers/{at}");
        let said = McpServerSource {
            origin: settings.origin(&pointer),
            is_of_project: settings.is_shared(&pointer),
        };
        let command = server.command.as_ref().map(|words| match words {
            CommandWords::One(word) => vec![word.clone()],
            CommandWords::Several(words) => words.clone(),
        });
        let command = command.map(|words| [words, server.args.clone()].concat());
        match (command, server.url.clone(), server.transport) {
            (Some(command), None, None | Some(McpTransport::Stdio)) => {
                add(&mut servers, &server.id, McpEndpoint::Command(command), said)
            }
            (None, Some(url), None | Some(McpTransport::Http)) => {
                add(&mut servers, &server.id, McpEndpoint::Url(url), said)
            }
            (Some(_), None, Some(McpTransport::Http))
            | (None, Some(_), Some(McpTransport::Stdio))
            | (Some(_), Some(_), _)
            | (None, None, _) => {
                let (code, text) = form(&server.id);
                settings.report(code, &format!("/mcp/servers/{at}"), text, findings);
            }
        }
    }
    servers
}

fn from_json(
    source: &SourceText,
    node: &Node,
    lost: &[String],
    servers: &mut BTreeMap<String, McpServer>,
    findings: &mut Findings,
) {
    let Some(Kind::Map(pairs)) = node.pair("mcpServers").map(|pair| &pair.value.kind) else {
        if !lost.iter().any(|lost| lost == "/mcpServers") {
            let text =
                FindingText::new("the file names no servers, because it has no `mcpServers`")
                    .help("write `{\"mcpServers\": {\"name\": {\"command\": \"…\"}}}`")
                    .severity(Severity::Warning);
            findings.at(
                DiagnosticCode::MissingField,
                source,
                Span::new(node.span.start, node.span.start + 1),
                text,
            );
        }
        return;
    };
    let is_lost = |id: &str| {
        let pointer = format!("/mcpServers/{}/", pointer_part(id));
        lost.iter().any(|lost| lost.starts_with(&pointer))
    };
    for pair in pairs.iter().filter(|pair| lost.is_empty() || !is_lost(&pair.key)) {
        let words = |key: &str| -> Vec<String> {
            let node = pair.value.pair(key).map(|pair| &pair.value);
            match node.map(|node| &node.kind) {
                Some(Kind::Text(text)) => vec![text.clone()],
                Some(Kind::List(items)) => items
                    .iter()
                    .filter_map(|item| item.to_value().as_str().map(str::to_owned))
                    .collect(),
                Some(Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Map(_)) | None => {
                    Vec::new()
                }
            }
        };
        let said = McpServerSource { origin: source.origin(pair.key_span), is_of_project: true };
        let (command, url) = (words("command"), words("url"));
        match (command.is_empty(), url.first()) {
            (false, None) => add(
                servers,
                &pair.key,
                McpEndpoint::Command([command, words("args")].concat()),
                said,
            ),
            (true, Some(url)) => add(servers, &pair.key, McpEndpoint::Url(url.clone()), said),
            (false, Some(_)) | (true, None) => {
                let (code, text) = form(&pair.key);
                findings.at(code, source, Span::new(pair.key_span.start, pair.key_span.end), text);
            }
        }
    }
}

fn form(id: &str) -> (DiagnosticCode, FindingText) {
    let text =
        FindingText::new(format!("the MCP server `{id}` needs a command or a url, and not both"));
    (
        DiagnosticCode::McpServerForm,
        text.help("`command` starts a child process, `url` reaches a server over HTTP"),
    )
}

/// The place and owner of a server's definition.
struct McpServerSource {
    origin: Origin,
    is_of_project: bool,
}

fn add(
    servers: &mut BTreeMap<String, McpServer>,
    id: &str,
    reach: McpEndpoint,
    said: McpServerSource,
) {
    let McpServerSource { origin, is_of_project } = said;
    servers.insert(id.to_owned(), McpServer { id: id.to_owned(), reach, origin, is_of_project });
}
