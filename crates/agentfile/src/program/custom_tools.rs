//! `tools/`: the tools an agent brings itself, and its list of the host's.
//!
//! A tool `fortune` is `tools/fortune.yml` (its schema) and one executable `tools/fortune` or
//! `tools/fortune.*`. It may not take the name of a tool of the host.
//!
//! Must never: run a program to learn about it.

use agentry_protocol::tool::{self, Category, Risk, ToolName};
use serde_json::Value;

use crate::agent::{OfferedTool, ToolKind};
use crate::diagnostic::{Code, Findings, Text, suggestion};
use crate::file_tree::FileTree;
use crate::manifest::agent_yml::AgentYml;
use crate::manifest::tool_yml::ToolYml;
use crate::schema::{self, Doc, FileKind};
use crate::source::{Origin, Span};
use crate::toolset::Gathering;
use crate::yaml;

/// The agent's own tools that load. Findings say what is wrong with the others.
pub(super) fn read(
    tree: &FileTree,
    yml: Option<&Doc<AgentYml>>,
    findings: &mut Findings,
) -> Vec<OfferedTool> {
    let listed = yml.map(listed).unwrap_or_default();
    let mut tools: Vec<OfferedTool> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for (pointer, name) in &listed {
        let Some(yml) = yml else { continue };
        let place = yml.span(pointer);
        // A name of `allow` is a custom tool only if its schema file is there.
        if pointer.starts_with("/tools/allow")
            && (tool::known(name).is_some() || schema_file(tree, name).is_none())
        {
            continue;
        }
        if seen.contains(&name.as_str()) {
            if pointer.starts_with("/tools/custom") {
                let text =
                    Text::new(format!("`{name}` is listed twice")).help("remove one of the two");
                findings.at(Code::ListedTwice, &yml.source, place, text);
            }
            continue;
        }
        seen.push(name);
        if let Some(known) = tool::known(name) {
            let text = Text::new(format!("`{name}` is a name of the host's tool `{}`", known.name))
                .help("give your tool another name, or list the host's under `allow`");
            findings.at(Code::ShadowsHostTool, &yml.source, place, text);
            continue;
        }
        tools.extend(one(tree, yml, (name, place, yml.origin(pointer)), findings));
    }
    if yml.is_some() {
        report_unlisted(tree, &listed, findings);
    }
    tools
}

/// Adds what `tools.allow` asks for. Returns where each name stands.
pub(super) fn allow(
    tree: &FileTree,
    yml: &Doc<AgentYml>,
    gathering: &mut Gathering<'_>,
    findings: &mut Findings,
) -> Vec<(String, Span)> {
    let Some(tools) = &yml.manifest.tools else { return Vec::new() };
    let mut spans: Vec<(String, Span)> = Vec::new();
    for (at, name) in tools.allow.iter().enumerate() {
        let pointer = format!("/tools/allow/{at}");
        let span = yml.span(&pointer);
        let canonical = ToolName::canonical(name);
        if spans.iter().any(|(known, _)| ToolName::canonical(known) == canonical) {
            let text = Text::new(format!("`{name}` is listed twice")).help("remove one of the two");
            findings.at(Code::ListedTwice, &yml.source, span, text);
            continue;
        }
        spans.push((name.clone(), span));
        let custom = tools.custom.contains(name) || schema_file(tree, name).is_some();
        if !gathering.named(name, &yml.origin(&pointer)) && !custom {
            report_unknown(name, yml, span, findings);
        }
    }
    spans
}

fn report_unknown(name: &str, yml: &Doc<AgentYml>, span: Span, findings: &mut Findings) {
    if let Some((server, _)) = ToolName::canonical(name).mcp() {
        let text = Text::new(format!("no MCP server is called `{server}`"))
            .help("add it to .mcp.json or agentry.toml");
        findings.at(Code::UnknownMcpServer, &yml.source, span, text);
        return;
    }
    let known: Vec<&str> = tool::KNOWN.iter().map(|tool| tool.name).collect();
    let text = Text::new(format!("no tool is called `{name}`"))
        .help(format!("{}; a tool of your own needs tools/{name}.yml", suggestion(name, &known)));
    findings.at(Code::UnknownTool, &yml.source, span, text);
}

/// All names that agent.yml gives, with their pointers.
fn listed(yml: &Doc<AgentYml>) -> Vec<(String, String)> {
    let Some(tools) = &yml.manifest.tools else { return Vec::new() };
    let pointers = |field: &str, names: &[String]| -> Vec<(String, String)> {
        let names = names.iter().enumerate();
        names.map(|(at, name)| (format!("/tools/{field}/{at}"), name.clone())).collect()
    };
    [pointers("custom", &tools.custom), pointers("allow", &tools.allow)].concat()
}

fn schema_file(tree: &FileTree, name: &str) -> Option<String> {
    ["yml", "yaml"]
        .into_iter()
        .map(|ending| format!("tools/{name}.{ending}"))
        .find(|path| tree.get(path).is_some())
}

fn one(
    tree: &FileTree,
    yml: &Doc<AgentYml>,
    (name, place, origin): (&str, Span, Origin),
    findings: &mut Findings,
) -> Option<OfferedTool> {
    let program = program(tree, yml, (name, place), findings);
    let Some(path) = schema_file(tree, name) else {
        let text = Text::new(format!("tools/{name}.yml is not there"))
            .help("write the tool's name, description and parameters into it");
        findings.at(Code::ToolSchemaMissing, &yml.source, place, text);
        return None;
    };
    let source = tree.text(&path, findings)?;
    let node = yaml::parse(&source, Span::new(0, source.text.len()), findings)?;
    let doc: Doc<ToolYml> = schema::read(FileKind::Tool, &source, node, findings)?;
    if doc.manifest.name != name {
        let text = Text::new(format!(
            "the file is {path}, but the tool is called `{}`",
            doc.manifest.name
        ))
        .help(format!("write `name: {name}`, or rename the file"));
        findings.at(Code::ToolNameMismatch, &doc.source, doc.span("/name"), text);
    }
    let parameters = parameters(&doc, findings)?;
    Some(OfferedTool {
        name: ToolName::canonical(name),
        kind: ToolKind::Custom { program: program? },
        category: Category::Custom,
        risk: Risk::High,
        description: doc.manifest.description.clone(),
        parameters: Some(parameters),
        origin,
    })
}

/// The parameters must be a JSON Schema of an object.
fn parameters(doc: &Doc<ToolYml>, findings: &mut Findings) -> Option<Value> {
    let mut schema = doc.manifest.parameters.clone();
    if !schema.contains_key("type") {
        schema.insert("type".to_owned(), Value::String("object".to_owned()));
    }
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    let schema = Value::Object(schema);
    if !is_object {
        let text = Text::new("the parameters of a tool are an object").help("write `type: object`");
        findings.at(Code::BadToolSchema, &doc.source, doc.span("/parameters/type"), text);
        return None;
    }
    if let Err(error) = jsonschema::options().build(&schema) {
        let pointer = format!("/parameters{}", error.instance_path().as_str());
        let text = Text::new(format!("this is not a JSON Schema: {error}"))
            .help("see json-schema.org for what may stand here");
        findings.at(Code::BadToolSchema, &doc.source, doc.span(&pointer), text);
        return None;
    }
    Some(schema)
}

/// The one program of a tool.
fn program(
    tree: &FileTree,
    yml: &Doc<AgentYml>,
    (name, place): (&str, Span),
    findings: &mut Findings,
) -> Option<String> {
    let beginning = format!("{name}.");
    let candidates: Vec<(&str, bool)> = tree
        .files_in("tools")
        .filter(|(file, _)| *file == name || file.starts_with(&beginning))
        .filter(|(file, _)| !file.ends_with(".yml") && !file.ends_with(".yaml"))
        .map(|(file, entry)| (file, entry.executable))
        .collect();
    let programs: Vec<&str> =
        candidates.iter().filter(|(_, x)| *x).map(|(file, _)| *file).collect();
    let (code, text) = match (programs.as_slice(), candidates.as_slice()) {
        ([program], _) => return Some(format!("tools/{program}")),
        ([], []) => (
            Code::ToolProgramMissing,
            Text::new(format!("the tool `{name}` has no program"))
                .help(format!("write an executable tools/{name} or tools/{name}.<ending>")),
        ),
        ([], [(file, _), ..]) => (
            Code::ToolNotExecutable,
            Text::new(format!("tools/{file} is not executable"))
                .help(format!("run `chmod +x {}`", tree.shown(&format!("tools/{file}")))),
        ),
        (several, _) => (
            Code::ToolProgramTwice,
            Text::new(format!("the tool `{name}` has several programs: {}", several.join(", ")))
                .help("keep one of them executable"),
        ),
    };
    findings.at(code, &yml.source, place, text);
    None
}

fn report_unlisted(tree: &FileTree, listed: &[(String, String)], findings: &mut Findings) {
    for (file, _) in tree.files_in("tools") {
        let Some(name) = file.strip_suffix(".yml").or_else(|| file.strip_suffix(".yaml")) else {
            continue;
        };
        if !listed.iter().any(|(_, known)| known == name) {
            let text =
                Text::new(format!("the tool `{name}` is here but the agent does not have it"))
                    .help(format!("add `{name}` to `tools.custom` in agent.yml"));
            findings.about(Code::ToolNotListed, tree.shown(&format!("tools/{file}")), text);
        }
    }
}
