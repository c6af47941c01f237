//! `tools/`: the tools that an agent brings, and its list of the host's.
//!
//! A tool `fortune` is `tools/fortune.yml` (its schema) and one executable `tools/fortune` or
//! `tools/fortune.*`. It may not take the name of a tool of the host.
//!
//! Must never: run a program to inspect it.

use std::collections::HashSet;

use agentry_protocol::tool::{self, Risk, ToolCategory, ToolName};
use serde_json::Value;

use crate::agent::{CustomTool, OfferedTool, ToolKind};
use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::file_tree::FileTree;
use crate::limits::{TOOL_NAME_CHARS_MAX, TOOL_TIMEOUT_MS_DEFAULT};
use crate::manifest::agent_yml::AgentYml;
use crate::manifest::tool_yml::ToolYml;
use crate::schema::{self, FileKind, ManifestFile};
use crate::source::{Origin, Span};
use crate::toolset::ToolsetBuilder;
use crate::yaml;

/// Returns the agent's own tools that load. Defects of the others go to the findings.
pub(super) fn read(
    tree: &FileTree,
    yml: Option<&ManifestFile<AgentYml>>,
    findings: &mut Findings,
) -> Vec<OfferedTool> {
    let listed = yml.map(listed).unwrap_or_default();
    let mut tools: Vec<OfferedTool> = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    for (pointer, name) in &listed {
        let Some(yml) = yml else { continue };
        let place = yml.span(pointer);
        // A name of `allow` is a custom tool only if its schema file is there.
        if pointer.starts_with("/tools/allow")
            && (tool::find_known_tool(name).is_some() || schema_file(tree, name).is_none())
        {
            continue;
        }
        if !seen.insert(name) {
            if pointer.starts_with("/tools/custom") {
                let text = FindingText::new(format!("`{name}` is listed twice"))
                    .help("remove one of the two");
                findings.at(DiagnosticCode::ListedTwice, &yml.source, place, text);
            }
            continue;
        }
        if let Some(known) = tool::find_known_tool(name) {
            let text =
                FindingText::new(format!("`{name}` is a name of the host's tool `{}`", known.name))
                    .help("give your tool another name, or list the host's under `allow`");
            findings.at(DiagnosticCode::ShadowsHostTool, &yml.source, place, text);
            continue;
        }
        let listing = ListedTool { name, span: place, origin: yml.origin(pointer) };
        tools.extend(one(tree, yml, listing, findings));
    }
    if yml.is_some_and(|yml| !yml.lost("/tools")) {
        report_unlisted(tree, &listed, findings);
    }
    tools
}

/// Adds the tools of `tools.allow`. Returns the place of each name.
pub(super) fn allow(
    tree: &FileTree,
    yml: &ManifestFile<AgentYml>,
    gathering: &mut ToolsetBuilder<'_>,
    findings: &mut Findings,
) -> Vec<(String, Span)> {
    let Some(tools) = &yml.manifest.tools else { return Vec::new() };
    let custom: HashSet<&str> = tools.custom.iter().map(String::as_str).collect();
    let mut spans: Vec<(String, Span)> = Vec::new();
    let mut seen: HashSet<ToolName> = HashSet::new();
    for (at, name) in tools.allow.iter().enumerate() {
        let pointer = format!("/tools/allow/{at}");
        let span = yml.span(&pointer);
        if !seen.insert(ToolName::canonical(name)) {
            let text =
                FindingText::new(format!("`{name}` is listed twice")).help("remove one of the two");
            findings.at(DiagnosticCode::ListedTwice, &yml.source, span, text);
            continue;
        }
        spans.push((name.clone(), span));
        let own = custom.contains(name.as_str()) || schema_file(tree, name).is_some();
        if !gathering.add_named(name, &yml.origin(&pointer)) && !own {
            gathering.index.report_tool(name, &yml.source, span, findings);
        }
    }
    spans
}

/// Returns all names that agent.yml lists, with their pointers.
fn listed(yml: &ManifestFile<AgentYml>) -> Vec<(String, String)> {
    let Some(tools) = &yml.manifest.tools else { return Vec::new() };
    let pointers = |field: &str, names: &[String]| -> Vec<(String, String)> {
        let names = names.iter().enumerate();
        names.map(|(at, name)| (format!("/tools/{field}/{at}"), name.clone())).collect()
    };
    [pointers("custom", &tools.custom), pointers("allow", &tools.allow)].concat()
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\'])
}

fn schema_file(tree: &FileTree, name: &str) -> Option<String> {
    if !is_plain(name) {
        return None;
    }
    ["yml", "yaml"]
        .into_iter()
        .map(|ending| format!("tools/{name}.{ending}"))
        .find(|path| tree.get(path).is_some())
}

/// An entry of agent.yml that lists a tool.
struct ListedTool<'a> {
    name: &'a str,
    span: Span,
    origin: Origin,
}

fn one(
    tree: &FileTree,
    yml: &ManifestFile<AgentYml>,
    listing: ListedTool<'_>,
    findings: &mut Findings,
) -> Option<OfferedTool> {
    let ListedTool { name, span, .. } = listing;
    let Some(path) = schema_file(tree, name) else {
        let text = FindingText::new(format!("tools/{name}.yml is not there"));
        let help = if is_plain(name) {
            "write the tool's name, description and parameters into it"
        } else {
            "a tool's name is that of a file in tools/, without its ending"
        };
        findings.at(DiagnosticCode::ToolSchemaMissing, &yml.source, span, text.help(help));
        return None;
    };
    if !is_taken_by_models(name) {
        let text = FindingText::new(format!("models do not take `{name}` as the name of a tool"))
            .help(format!("use up to {TOOL_NAME_CHARS_MAX} letters, digits, `_` and `-`"));
        findings.at(DiagnosticCode::ToolNameForm, &yml.source, span, text);
    }
    let program = program(tree, yml, &listing, findings);
    let source = tree.text(&path, findings)?;
    let node = yaml::parse(&source, Span::new(0, source.text.len()), findings)?;
    let doc: ManifestFile<ToolYml> = schema::read(FileKind::Tool, &source, node, findings)?;
    if doc.manifest.name != name && !doc.lost("/name") {
        let text = FindingText::new(format!(
            "the file is {path}, but the tool is called `{}`",
            doc.manifest.name
        ))
        .help(format!("write `name: {name}`, or rename the file"));
        findings.at(DiagnosticCode::ToolNameMismatch, &doc.source, doc.span("/name"), text);
    }
    let parameters = parameters(&doc, findings).filter(|_| !doc.lost(""));
    let custom = custom(tree, &doc, program, findings);
    let parameters = parameters?;
    Some(OfferedTool {
        name: ToolName::canonical(name),
        kind: ToolKind::Custom(Box::new(custom?)),
        category: ToolCategory::Custom,
        risk: Risk::High,
        description: doc.manifest.description.clone(),
        parameters: Some(parameters),
        origin: listing.origin,
    })
}

/// True if the APIs of all models accept this name.
fn is_taken_by_models(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (1..=TOOL_NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_plain)
}

/// Returns the details of a tool that the agent brings.
fn custom(
    tree: &FileTree,
    doc: &ManifestFile<ToolYml>,
    program: Option<String>,
    findings: &mut Findings,
) -> Option<CustomTool> {
    let written = &doc.manifest;
    let output = written.output.clone().map(Value::Object);
    if let Some(output) = &output {
        check_schema(doc, "/output", DiagnosticCode::BadToolOutput, output, findings);
    }
    if let Some(folder) = written.artifacts.as_deref().filter(|folder| !is_plain_folder(folder)) {
        let text = FindingText::new(format!("`{folder}` is not a plain folder")).help(
            "write a relative path such as `out`, without `..` and names that begin with `.`",
        );
        findings.at(DiagnosticCode::ToolArtifacts, &doc.source, doc.span("/artifacts"), text);
    }
    let program = program?;
    Some(CustomTool {
        hash: tree.file(&program)?.hash.clone(),
        program,
        output,
        artifacts: written.artifacts.as_deref().map(|one| one.trim_end_matches('/').to_owned()),
        timeout_ms: written.timeout_ms.unwrap_or(TOOL_TIMEOUT_MS_DEFAULT),
        read_only: written.read_only,
    })
}

fn is_plain_folder(path: &str) -> bool {
    let is_odd = |c: char| c == '\\' || c == ':' || c.is_control();
    let path = path.strip_suffix('/').unwrap_or(path);
    !path.contains(is_odd)
        && path.split('/').all(|part| !part.is_empty() && !part.starts_with(['.', '~']))
}

/// Checks that a value is a JSON Schema.
fn check_schema(
    doc: &ManifestFile<ToolYml>,
    field: &str,
    code: DiagnosticCode,
    schema: &Value,
    findings: &mut Findings,
) -> bool {
    let Err(error) = jsonschema::options().build(schema) else { return true };
    let pointer = format!("{field}{}", error.instance_path().as_str());
    let text = FindingText::new(format!("this is not a JSON Schema: {error}"))
        .help("see json-schema.org for what may stand here");
    findings.at(code, &doc.source, doc.span(&pointer), text);
    false
}

/// Returns the parameters, which must be a JSON Schema of an object.
fn parameters(doc: &ManifestFile<ToolYml>, findings: &mut Findings) -> Option<Value> {
    let mut schema = doc.manifest.parameters.clone();
    if !schema.contains_key("type") {
        schema.insert("type".to_owned(), Value::String("object".to_owned()));
    }
    let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
    let schema = Value::Object(schema);
    if !is_object {
        let text =
            FindingText::new("the parameters of a tool are an object").help("write `type: object`");
        findings.at(DiagnosticCode::BadToolSchema, &doc.source, doc.span("/parameters/type"), text);
        return None;
    }
    check_schema(doc, "/parameters", DiagnosticCode::BadToolSchema, &schema, findings)
        .then_some(schema)
}

/// Returns the one program of a tool.
fn program(
    tree: &FileTree,
    yml: &ManifestFile<AgentYml>,
    listing: &ListedTool<'_>,
    findings: &mut Findings,
) -> Option<String> {
    let name = listing.name;
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
            DiagnosticCode::ToolProgramMissing,
            FindingText::new(format!("the tool `{name}` has no program"))
                .help(format!("write an executable tools/{name} or tools/{name}.<ending>")),
        ),
        ([], [(file, _), ..]) => (
            DiagnosticCode::ToolNotExecutable,
            FindingText::new(format!("tools/{file} is not executable"))
                .help(format!("run `chmod +x {}`", tree.display_path(&format!("tools/{file}")))),
        ),
        (several, _) => (
            DiagnosticCode::ToolProgramTwice,
            FindingText::new(format!(
                "the tool `{name}` has several programs: {}",
                several.join(", ")
            ))
            .help("keep one of them executable"),
        ),
    };
    findings.at(code, &yml.source, listing.span, text);
    None
}

/// Returns the names of the schema files in `tools/`, to which other definitions may refer.
pub(crate) fn names(tree: &FileTree, directory: &str) -> Vec<String> {
    let tools =
        if directory.is_empty() { "tools".to_owned() } else { format!("{directory}/tools") };
    let files = tree.files_in(&tools).map(|(file, _)| file);
    files.filter_map(schema_name).map(str::to_owned).collect()
}

fn schema_name(file: &str) -> Option<&str> {
    file.strip_suffix(".yml").or_else(|| file.strip_suffix(".yaml"))
}

fn report_unlisted(tree: &FileTree, listed: &[(String, String)], findings: &mut Findings) {
    let listed: HashSet<&str> = listed.iter().map(|(_, name)| name.as_str()).collect();
    for (file, _) in tree.files_in("tools") {
        let Some(name) = schema_name(file) else { continue };
        if !listed.contains(name) {
            let text = FindingText::new(format!(
                "the tool `{name}` is here but the agent does not have it"
            ))
            .help(format!("add `{name}` to `tools.custom` in agent.yml"));
            findings.about(
                DiagnosticCode::ToolNotListed,
                tree.display_path(&format!("tools/{file}")),
                text,
            );
        }
    }
}
