//! A context folder: `system_prompt.md`, `soul.json`, `user_profile.json`, `tool-access.json`.
//!
//! Its files become the sections that every other agent has: the base prompt is the instructions,
//! the soul is the persona, the profile is the user.
//!
//! Must never: change a word of the base prompt.

use agentry_protocol::AgentId;

use crate::agent::{
    Agent, AgentForm, AgentIdentity, AgentModels, AgentPermissions, AgentPersonas, AgentValues,
    CapabilitySwitches, PromptTexts,
};
use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::file_tree::FileTree;
use crate::json;
use crate::manifest::agent_yml::CapabilitiesYml;
use crate::markdown;
use crate::node::{Kind, Node};
use crate::resolution::{ResolveContext, skills_of, tasks_of};
use crate::sandbox;
use crate::schema::{self, FileKind};
use crate::scope::{DefinitionScope, NameSelection};
use crate::source::{Origin, SourceText, SourcedValue};
use crate::tool_access;
use crate::toolset::ToolsetBuilder;

/// The files of a context folder.
pub const FILES: [&str; 4] = [
    "context/system_prompt.md",
    "context/soul.json",
    "context/user_profile.json",
    tool_access::FILES[0],
];

/// True if a directory is an agent in this form.
pub fn is_context_folder(tree: &FileTree) -> bool {
    FILES[..3].iter().any(|file| tree.get(file).is_some())
}

/// Reads a context folder. `None` if too much of it is defective; with an error among the findings
/// it does not load.
pub fn read(
    tree: &FileTree,
    id: &str,
    around: &ResolveContext<'_>,
    findings: &mut Findings,
) -> Option<Agent> {
    let [base, soul, profile, _] = FILES;
    let soul = layer(tree, soul, FileKind::Soul, "# Soul", findings);
    let profile = layer(tree, profile, FileKind::UserProfile, "# User Profile", findings);
    if tree.get(base).is_none() {
        let text = FindingText::new("the context folder has no system_prompt.md")
            .help("write the base prompt: how the agent works and what it may do");
        findings.about(DiagnosticCode::MissingFile, tree.display_path(base), text);
    }
    let instructions = tree.get(base).and_then(|_| markdown::plain(tree, base, findings));
    let access = tool_access::read(tree, &[], around.environment, findings);
    let built_in = Origin::named("built-in");
    let mut gathering = ToolsetBuilder::new(around.index, CapabilitiesYml::default(), &access);
    gathering.choose(&NameSelection { inherit: true, names: Vec::new() }, &built_in);
    let (toolset, left_out) = gathering.finish();
    let everything = NameSelection { inherit: true, names: Vec::new() };
    let scope = DefinitionScope {
        skills: everything.clone(),
        tasks: everything,
        ..DefinitionScope::default()
    };
    let name = soul.as_ref().and_then(|layer| layer.text_at("/soul/name"));
    let user_name = profile.as_ref().and_then(|layer| layer.text_at("/name"));
    Some(Agent {
        id: AgentId::new(id),
        form: AgentForm::ContextFolder,
        directory: tree.display_path(""),
        hash: tree.hash(),
        identity: AgentIdentity {
            name: name
                .or_else(|| around.settings.agent_name())
                .unwrap_or_else(|| SourcedValue::new(id.to_owned(), Origin::named("directory"))),
            description: soul.as_ref().and_then(|layer| layer.text_at("/soul/identity")),
            metadata: None,
        },
        texts: PromptTexts {
            instructions,
            soul: soul.map(|layer| layer.text),
            user: profile.map(|layer| layer.text),
            user_name: user_name.or_else(|| around.settings.user_name()),
            template: None,
            rules: around.rules.cloned(),
        },
        models: AgentModels {
            candidates: around.settings.default_model().into_iter().collect(),
            ..AgentModels::default()
        },
        powers: AgentPermissions {
            toolset,
            left_out,
            tool_rules: Vec::new(),
            task_rules: Vec::new(),
            hooks: Vec::new(),
            capabilities: CapabilitySwitches::default(),
            access,
            confinement: sandbox::of_agent(around.settings.sandbox(), &[], findings),
        },
        personas: AgentPersonas::default(),
        skills: skills_of(&scope, around.index),
        tasks: tasks_of(&scope, around.index),
        values: AgentValues { args: around.settings.args(), ..AgentValues::default() },
    })
}

struct ContextDocument {
    source: SourceText,
    node: Node,
    text: SourcedValue<String>,
}

impl ContextDocument {
    fn text_at(&self, pointer: &str) -> Option<SourcedValue<String>> {
        let node = self.node.at(pointer)?;
        match &node.kind {
            Kind::Text(text) if !text.is_empty() => {
                Some(SourcedValue::new(text.clone(), self.source.origin(node.span)))
            }
            Kind::Text(_)
            | Kind::Null
            | Kind::Bool(_)
            | Kind::Number(_)
            | Kind::List(_)
            | Kind::Map(_) => None,
        }
    }
}

/// Reads a JSON file and renders it as Markdown, field by field in the order of the file.
fn layer(
    tree: &FileTree,
    path: &str,
    kind: FileKind,
    heading: &str,
    findings: &mut Findings,
) -> Option<ContextDocument> {
    let source = tree.text(path, findings)?;
    let mut node = json::parse(&source, findings)?;
    schema::check(kind, &source, &mut node, findings);
    let mut text = heading.to_owned();
    written_out(&node, 0, &mut text);
    let text = SourcedValue::new(text, source.origin(node.span));
    Some(ContextDocument { source, node, text })
}

fn written_out(node: &Node, depth: usize, text: &mut String) {
    let Kind::Map(pairs) = &node.kind else { return };
    let indent = "  ".repeat(depth);
    for pair in pairs.iter().filter(|pair| !is_empty(&pair.value) && pair.key != "version") {
        let label = pair.key.replace('_', " ");
        match &pair.value.kind {
            Kind::Map(_) => {
                text.push_str(&format!("\n{indent}- {label}:"));
                written_out(&pair.value, depth + 1, text);
            }
            Kind::List(items) => {
                let items: Vec<String> = items.iter().map(plain).collect();
                text.push_str(&format!("\n{indent}- {label}: {}", items.join("; ")));
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {
                text.push_str(&format!("\n{indent}- {label}: {}", plain(&pair.value)));
            }
        }
    }
}

fn is_empty(node: &Node) -> bool {
    match &node.kind {
        Kind::Null => true,
        Kind::Text(text) => text.trim().is_empty(),
        Kind::List(items) => items.is_empty(),
        Kind::Map(pairs) => pairs.iter().all(|pair| is_empty(&pair.value)),
        Kind::Bool(_) | Kind::Number(_) => false,
    }
}

fn plain(node: &Node) -> String {
    match &node.kind {
        Kind::Text(text) => text.trim().to_owned(),
        Kind::Map(pairs) => {
            let parts: Vec<String> = pairs
                .iter()
                .filter(|pair| !is_empty(&pair.value))
                .map(|pair| format!("{} {}", pair.key.replace('_', " "), plain(&pair.value)))
                .collect();
            parts.join(", ")
        }
        Kind::List(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => node.to_value().to_string(),
    }
}
