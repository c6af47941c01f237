//! An agent program: `agent.yml`, `AGENT.md` and the files beside them.
//!
//! Both files are required. Front matter in `AGENT.md` may add fields that `agent.yml` does not
//! have (approval rules, further models); if both set the same field, they must agree.
//!
//! Must never: treat a broken optional file as absent.

use std::collections::HashSet;

use agentry_protocol::tool::ToolName;
use agentry_protocol::{AgentId, SkillId};
use serde_json::Value;

use crate::agent::{
    Agent, AgentForm, AgentIdentity, AgentModels, AgentPermissions, AgentValues,
    CapabilitySwitches, PromptTexts,
};
use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::file_tree::FileTree;
use crate::manifest::agent_md::AgentMd;
use crate::manifest::agent_yml::AgentYml;
use crate::markdown::{self, FrontMatterStrictness, MarkdownFile};
use crate::node::{Kind, MapEntry, Node};
use crate::resolution::{ResolveContext, each_once, models_of, skills_of, tasks_of};
use crate::sandbox;
use crate::schema::{self, FileKind, ManifestFile};
use crate::scope::{self, DefinitionScope};
use crate::skill::{self, Skill};
use crate::source::{Origin, SourcedValue, Span};
use crate::tool_access::{self, ToolAccess};
use crate::toolset::ToolsetBuilder;
use crate::yaml;

mod custom_tools;
pub mod edit;
mod hooks;
mod personas;
mod templates;
mod values;

pub(crate) use custom_tools::names as tool_names;
pub(crate) use templates::sources as templates;
pub(crate) use values::{diary, yaml_value};

/// The file that makes a directory an agent program.
pub const FILE: &str = "agent.yml";

/// Reads an agent program and its own skills. `None` if too much of it is defective; with an error
/// among the findings it does not load.
pub fn read(
    tree: &FileTree,
    id: &str,
    around: &ResolveContext<'_>,
    findings: &mut Findings,
) -> Option<(Agent, Vec<Skill>)> {
    ProgramReader { tree, around }.read(id, findings)
}

struct ProgramReader<'a> {
    tree: &'a FileTree,
    around: &'a ResolveContext<'a>,
}

/// The parts of an agent that decide on its tools.
struct ToolsetInput<'a> {
    custom: Vec<crate::agent::OfferedTool>,
    scope: &'a DefinitionScope,
    access: ToolAccess,
}

impl ProgramReader<'_> {
    fn read(&self, id: &str, findings: &mut Findings) -> Option<(Agent, Vec<Skill>)> {
        let yml = self.agent_yml(findings);
        let instructions = self.instructions(id, yml.as_ref(), findings);
        // Everything is read even if agent.yml is broken: one defect must not hide the next.
        let custom = custom_tools::read(self.tree, yml.as_ref(), findings);
        let hooks = hooks::read(self.tree, yml.as_ref(), findings);
        let personas = personas::read(self.tree, yml.as_ref(), findings);
        let skills = self.skills(findings);
        let values = self.values(findings);
        let texts = self.texts(findings);
        templates::check(self.tree, &values, findings);
        templates::report_misnamed(self.tree, findings);
        let names: Vec<&str> = custom.iter().map(|tool| tool.name.as_str()).collect();
        let access = tool_access::read(self.tree, &names, self.around.environment, findings);
        let scope = match &instructions {
            Some((_, Some(front))) => self.scope(front, &names, findings),
            Some((_, None)) | None => DefinitionScope::default(),
        };
        let yml = yml?;
        let (markdown, front) = instructions?;
        let powers = self.powers(&yml, ToolsetInput { custom, scope: &scope, access }, findings);
        if let Some(front) = &front {
            self.check_rules(front, &scope, &powers, findings);
        }
        let front_file = front.iter().map(|front| (&front.source, &front.node));
        let files: Vec<_> = [(&yml.source, &yml.node)].into_iter().chain(front_file).collect();
        let confinement = sandbox::of_agent(self.around.settings.sandbox(), &files, findings);
        let manifest = &yml.manifest;
        let skill_ids = self.skill_ids(&skills, &scope);
        let agent = Agent {
            id: AgentId::new(id),
            form: AgentForm::Program,
            directory: self.tree.display_path(""),
            hash: self.tree.hash(),
            identity: AgentIdentity {
                name: yml.sourced("/name", manifest.name.clone()),
                description: manifest
                    .description
                    .clone()
                    .map(|text| yml.sourced("/description", text)),
                metadata: manifest
                    .metadata
                    .clone()
                    .map(|map| yml.sourced("/metadata", Value::Object(map))),
            },
            texts: PromptTexts { instructions: Some(markdown.body), ..texts },
            models: self.models(&yml, front.as_ref(), findings),
            powers: AgentPermissions { hooks, confinement, ..powers },
            personas,
            skills: skill_ids,
            tasks: tasks_of(&scope, self.around.index),
            values,
        };
        Some((agent, skills))
    }

    fn agent_yml(&self, findings: &mut Findings) -> Option<ManifestFile<AgentYml>> {
        let source = self.tree.text(FILE, findings)?;
        let node = yaml::parse(&source, Span::new(0, source.text.len()), findings)?;
        schema::read(FileKind::AgentYml, &source, node, findings)
    }

    /// Reads `AGENT.md`, and its front matter if it has some.
    fn instructions(
        &self,
        id: &str,
        yml: Option<&ManifestFile<AgentYml>>,
        findings: &mut Findings,
    ) -> Option<(MarkdownFile, Option<ManifestFile<AgentMd>>)> {
        const FILE: &str = "AGENT.md";
        if self.tree.get(FILE).is_none() {
            let text = FindingText::new("agent.yml is here, but AGENT.md is missing")
                .help("write AGENT.md with the agent's operating instructions");
            findings.about(DiagnosticCode::MissingFile, self.tree.display_path(FILE), text);
            return None;
        }
        let mut markdown = markdown::read(self.tree, FILE, FrontMatterStrictness::Exact, findings)?;
        if markdown.body.value.is_empty() {
            let text = FindingText::new("AGENT.md says nothing")
                .help("write the agent's operating instructions");
            findings.at(DiagnosticCode::EmptyFile, &markdown.source, Span::default(), text);
        }
        let Some(node) = markdown.head.take() else { return Some((markdown, None)) };
        let name = yml.map(|yml| yml.manifest.name.as_str()).filter(|name| !name.is_empty());
        let node = with_name(node.or_empty_map(), name.unwrap_or(id));
        let front: ManifestFile<AgentMd> =
            schema::read(FileKind::Agent, &markdown.source, node, findings)?;
        if let Some(yml) = yml {
            check_agreement(yml, &front, findings);
        }
        Some((markdown, Some(front)))
    }

    /// Reads the scope of the front matter. A field without a value there inherits nothing: a
    /// program has only the names that `agent.yml` gives it.
    fn scope(
        &self,
        front: &ManifestFile<AgentMd>,
        own: &[&str],
        findings: &mut Findings,
    ) -> DefinitionScope {
        let index = self.around.index;
        let exists = |name: &str| index.tool_exists(name) || own.contains(&name);
        let mut scope = scope::read_names(front, index, &exists, findings);
        for (field, choice) in [
            ("/tools", &mut scope.tools),
            ("/skills", &mut scope.skills),
            ("/tasks", &mut scope.tasks),
        ] {
            choice.inherit &= front.said(field).is_some();
        }
        scope
    }

    fn check_rules(
        &self,
        front: &ManifestFile<AgentMd>,
        scope: &DefinitionScope,
        powers: &AgentPermissions,
        findings: &mut Findings,
    ) {
        // A requested tool that is unavailable here still counts as one of the agent's.
        let offered = powers.toolset.iter().map(|tool| tool.name.clone());
        let left_out = powers.left_out.iter().map(|one| ToolName::canonical(&one.name));
        let tools: HashSet<ToolName> = offered.chain(left_out).collect();
        let has_tool = |name: &str| tools.contains(&ToolName::canonical(name));
        scope::check_rules(front, scope, self.around.index, &has_tool, findings);
    }

    fn texts(&self, findings: &mut Findings) -> PromptTexts {
        let plain = |path: &str, findings: &mut Findings| {
            self.tree.get(path)?;
            markdown::plain(self.tree, path, findings)
        };
        let (user, user_name) = self.user(findings);
        PromptTexts {
            instructions: None,
            soul: plain("SOUL.md", findings),
            user,
            user_name: user_name.or_else(|| self.around.settings.user_name()),
            template: plain("prompts/system.md.liquid", findings),
            rules: self.around.rules.cloned(),
        }
    }

    fn user(
        &self,
        findings: &mut Findings,
    ) -> (Option<SourcedValue<String>>, Option<SourcedValue<String>>) {
        if self.tree.get("USER.md").is_none() {
            return (None, None);
        }
        let Some(markdown) =
            markdown::read(self.tree, "USER.md", FrontMatterStrictness::Exact, findings)
        else {
            return (None, None);
        };
        if let Some(head) = markdown.head.as_ref().filter(|head| !head.is_map_or_nothing()) {
            let text = format!("expected a map of fields, found {}", head.noun());
            findings.at(DiagnosticCode::NotAMapping, &markdown.source, head.span, text);
        }
        let pair = markdown.head.as_ref().and_then(|head| head.pair("name"));
        let name = pair.and_then(|pair| match &pair.value.kind {
            Kind::Text(name) if !name.trim().is_empty() => {
                Some(SourcedValue::new(name.clone(), markdown.source.origin(pair.value.span)))
            }
            Kind::Text(_) | Kind::Null => None,
            Kind::Bool(_) | Kind::Number(_) | Kind::List(_) | Kind::Map(_) => {
                let text =
                    FindingText::new(format!("`name` must be text, but is {}", pair.value.noun()));
                findings.at(
                    DiagnosticCode::WrongType,
                    &markdown.source,
                    pair.value.span,
                    text.help("put it in quotes"),
                );
                None
            }
        });
        let body = Some(markdown.body).filter(|body| !body.value.is_empty());
        (body, name)
    }

    fn models(
        &self,
        yml: &ManifestFile<AgentYml>,
        front: Option<&ManifestFile<AgentMd>>,
        findings: &mut Findings,
    ) -> AgentModels {
        let mut candidates: Vec<SourcedValue<String>> = Vec::new();
        let model = yml.manifest.model.as_ref();
        for (at, name) in model.iter().flat_map(|model| model.prefer.iter().enumerate()) {
            let pointer = format!("/model/prefer/{at}");
            check_model_name(yml, &pointer, name, findings);
            candidates.push(yml.sourced(&pointer, name.clone()));
        }
        if let Some(name) = model.and_then(|model| model.default.clone()) {
            check_model_name(yml, "/model/default", &name, findings);
            candidates.push(yml.sourced("/model/default", name));
        }
        let front = front.map(models_of).unwrap_or_default();
        candidates.extend(front.candidates);
        candidates.extend(self.around.settings.default_model());
        AgentModels { candidates: each_once(candidates), allowed: front.allowed, ..front }
    }

    fn powers(
        &self,
        yml: &ManifestFile<AgentYml>,
        input: ToolsetInput<'_>,
        findings: &mut Findings,
    ) -> AgentPermissions {
        let ToolsetInput { custom, scope, access } = input;
        let capabilities = yml.manifest.capabilities.unwrap_or_default();
        let mut gathering = ToolsetBuilder::new(self.around.index, capabilities, &access);
        let spans = custom_tools::allow(self.tree, yml, &mut gathering, findings);
        if yml.manifest.tools.is_none() {
            gathering.choose(&scope.tools, &Origin::named("inherit"));
        }
        gathering.add_for_capabilities(&yml.origin("/capabilities"));
        for tool in custom {
            gathering.push(tool);
        }
        let (toolset, left_out) = gathering.finish();
        let switch = |pointer: &str, on: bool| {
            let origin = yml.said(pointer).unwrap_or_else(|| Origin::named("built-in"));
            SourcedValue::new(on, origin)
        };
        crate::toolset::report_left_out(&left_out, &yml.source, &spans, findings);
        AgentPermissions {
            toolset,
            left_out,
            tool_rules: scope.tool_rules.clone().unwrap_or_default(),
            task_rules: scope.task_rules.clone().unwrap_or_default(),
            hooks: Vec::new(),
            capabilities: CapabilitySwitches {
                self_modify: switch("/capabilities/self_modify", capabilities.self_modify),
                spawn_subagents: switch(
                    "/capabilities/spawn_subagents",
                    capabilities.spawn_subagents,
                ),
            },
            access,
            confinement: Vec::new(),
        }
    }

    fn skills(&self, findings: &mut Findings) -> Vec<Skill> {
        let mut skills: Vec<Skill> = Vec::new();
        for (path, _) in self.tree.below("skills") {
            let below = &path["skills/".len()..];
            let found = match below.rsplit_once('/') {
                None if below.ends_with(".md") => skill::read_file(self.tree, path, findings),
                Some((folder, "SKILL.md" | "skill.md")) => {
                    let draft = skill::read(self.tree, path, folder, self.around.level, findings);
                    draft.map(|draft| skill::resolve(draft, self.around.index, findings))
                }
                _ => None,
            };
            let Some(found) = found else { continue };
            match skills.iter().find(|known| known.id == found.id) {
                Some(known) => {
                    let text = FindingText::new(format!(
                        "the skill `{}` is there already, in {}",
                        found.id, known.body.origin.file
                    ))
                    .help("rename one of the two");
                    findings.about(DiagnosticCode::DuplicateId, found.body.origin.file, text);
                }
                None => skills.push(found),
            }
        }
        skills
    }

    fn skill_ids(&self, own: &[Skill], scope: &DefinitionScope) -> Vec<SourcedValue<SkillId>> {
        let own =
            own.iter().map(|skill| SourcedValue::new(skill.id.clone(), skill.name.origin.clone()));
        let mut ids: Vec<SourcedValue<SkillId>> = own.collect();
        for skill in skills_of(scope, self.around.index) {
            if !ids.iter().any(|known| known.value == skill.value) {
                ids.push(skill);
            }
        }
        ids
    }

    fn values(&self, findings: &mut Findings) -> AgentValues {
        AgentValues {
            facts: yaml_value(self.tree, "data/facts.yml", values::ValueShape::Map, findings),
            lorebook: yaml_value(self.tree, "data/lorebook.yml", values::ValueShape::Any, findings),
            diary: diary(self.tree, findings),
            args: self.around.settings.args(),
        }
    }
}

fn with_name(mut node: Node, name: &str) -> Node {
    let span = node.span;
    if let Kind::Map(pairs) = &mut node.kind
        && !pairs.iter().any(|pair| pair.key == "name")
    {
        let value = Node { span, kind: Kind::Text(name.to_owned()) };
        pairs.push(MapEntry { key: "name".to_owned(), key_span: span, value });
    }
    node
}

/// Reports fields that both files set to different values.
fn check_agreement(
    yml: &ManifestFile<AgentYml>,
    front: &ManifestFile<AgentMd>,
    findings: &mut Findings,
) {
    let both = |field: &str| yml.said(field).zip(front.said(field));
    for field in ["/name", "/description"] {
        if both(field).is_some()
            && yml.node.at(field).map(Node::to_value) != front.node.at(field).map(Node::to_value)
        {
            report_disagreement(yml, front, field, findings);
        }
    }
    for field in ["/model", "/tools"] {
        if both(field).is_some() {
            report_disagreement(yml, front, field, findings);
        }
    }
}

fn report_disagreement(
    yml: &ManifestFile<AgentYml>,
    front: &ManifestFile<AgentMd>,
    field: &str,
    findings: &mut Findings,
) {
    let name = field.trim_start_matches('/');
    let text = FindingText::new(format!(
        "agent.yml speaks of `{name}` too, on line {}",
        yml.origin(field).line
    ))
    .help("say it in one of the two files");
    findings.at(DiagnosticCode::SaidTwice, &front.source, front.span(field), text);
}

fn check_model_name(
    yml: &ManifestFile<AgentYml>,
    pointer: &str,
    name: &str,
    findings: &mut Findings,
) {
    if !name.contains(|c: char| c.is_ascii_digit()) {
        let text =
            FindingText::new(format!("`{name}` looks like the name of a family, not of a model"))
                .help("write the full name, such as claude-sonnet-4-20250514");
        findings.at(DiagnosticCode::ShortModelName, &yml.source, yml.span(pointer), text);
    }
}
