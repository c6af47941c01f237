//! An agent of a pack: one `AGENT.md` whose front matter defines it.
//!
//! Lists default to `inherit`: all that the host, the project and the user offer.
//!
//! Must never: take an id from the file; it comes from the directory.

use agentry_protocol::AgentId;
use serde_json::Value;

use crate::agent::{
    Agent, AgentForm, AgentIdentity, AgentPermissions, AgentPersonas, AgentValues,
    CapabilitySwitches, PromptTexts,
};
use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::file_tree::FileTree;
use crate::manifest::agent_md::AgentMd;
use crate::manifest::agent_yml::CapabilitiesYml;
use crate::manifest::names::InheritableNames;
use crate::markdown::{self, FrontMatterStrictness};
use crate::resolution::{ResolveContext, each_once, models_of, skills_of, tasks_of};
use crate::sandbox;
use crate::schema::{self, FileKind, ManifestFile};
use crate::scope::{self, DefinitionScope};
use crate::source::{Origin, Span};
use crate::tool_access;
use crate::toolset::{ToolsetBuilder, report_left_out};

/// The file that defines an agent of a pack.
pub const FILE: &str = "AGENT.md";

/// Reads an agent of a pack from its directory. `None` if too much of it is defective; with an
/// error among the findings it does not load.
pub fn read(
    tree: &FileTree,
    id: &str,
    around: &ResolveContext<'_>,
    findings: &mut Findings,
) -> Option<Agent> {
    let markdown = markdown::read(tree, FILE, FrontMatterStrictness::Exact, findings)?;
    let Some(node) = markdown.head else {
        let text =
            FindingText::new("AGENT.md has no front matter, and there is no agent.yml beside it")
                .help("begin the file with `---`, `name: …`, `---`, or write an agent.yml");
        findings.at(DiagnosticCode::NoFrontMatter, &markdown.source, Span::default(), text);
        return None;
    };
    let doc: ManifestFile<AgentMd> =
        schema::read(FileKind::Agent, &markdown.source, node, findings)?;
    let scope = scope::read(&doc, around.index, findings);
    let mut models = models_of(&doc);
    models.candidates.extend(around.settings.default_model());
    models.candidates = each_once(models.candidates);
    let manifest = &doc.manifest;
    Some(Agent {
        id: AgentId::new(id),
        form: AgentForm::Pack,
        directory: tree.display_path(""),
        hash: tree.hash(),
        identity: AgentIdentity {
            name: doc.sourced("/name", manifest.name.clone()),
            description: manifest.description.clone().map(|text| doc.sourced("/description", text)),
            metadata: manifest
                .metadata
                .clone()
                .map(|map| doc.sourced("/metadata", Value::Object(map))),
        },
        texts: PromptTexts {
            instructions: Some(markdown.body).filter(|body| !body.value.is_empty()),
            user_name: around.settings.user_name(),
            rules: around.rules.cloned(),
            ..PromptTexts::default()
        },
        models,
        powers: powers(tree, &doc, &scope, around, findings),
        personas: AgentPersonas::default(),
        skills: skills_of(&scope, around.index),
        tasks: tasks_of(&scope, around.index),
        values: AgentValues { args: around.settings.args(), ..AgentValues::default() },
    })
}

fn powers(
    tree: &FileTree,
    doc: &ManifestFile<AgentMd>,
    scope: &DefinitionScope,
    around: &ResolveContext<'_>,
    findings: &mut Findings,
) -> AgentPermissions {
    let access = tool_access::read(tree, &[], around.environment, findings);
    let mut gathering = ToolsetBuilder::new(around.index, CapabilitiesYml::default(), &access);
    let inherited = doc.said("/tools").unwrap_or_else(|| Origin::named("built-in"));
    gathering.choose(&scope.tools, &inherited);
    let (toolset, left_out) = gathering.finish();
    let spans: Vec<(String, Span)> = InheritableNames::named(doc.manifest.tools.as_ref())
        .map(|(below, name)| (name.to_owned(), doc.span(&format!("/tools{below}"))))
        .collect();
    report_left_out(&left_out, &doc.source, &spans, findings);
    AgentPermissions {
        toolset,
        left_out,
        tool_rules: scope.tool_rules.clone().unwrap_or_default(),
        task_rules: scope.task_rules.clone().unwrap_or_default(),
        hooks: Vec::new(),
        capabilities: CapabilitySwitches::default(),
        access,
        confinement: sandbox::of_agent(
            around.settings.sandbox(),
            &[(&doc.source, &doc.node)],
            findings,
        ),
    }
}
