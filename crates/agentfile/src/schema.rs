//! The JSON Schemas of the definition files, and the check of a file against them.
//!
//! Schemas are generated from the manifest types. A value that violates its schema is reported at
//! its place and removed, so that the rest of the file can still be read and checked.
//!
//! Must never: fetch a schema from anywhere, or report a defect without a place.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use jsonschema::Validator;
use schemars::schema_for;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::diagnostic::{DiagnosticCode, FindingText, Findings, Severity, suggestion};
use crate::file_tree::lies_in;
use crate::limits::{NODE_DEPTH_MAX, WHOLE_NUMBER_MAX};
use crate::manifest::access::{AccessYml, PoliciesYml};
use crate::manifest::agent_md::AgentMd;
use crate::manifest::agent_yml::AgentYml;
use crate::manifest::approvals::Matcher;
use crate::manifest::config::Config;
use crate::manifest::event_hook_yml::EventHookYml;
use crate::manifest::skill_md::SkillMd;
use crate::manifest::task_md::{StepMd, TaskMd};
use crate::manifest::tool_access::ToolAccessJson;
use crate::manifest::tool_yml::ToolYml;
use crate::node::{Kind, MapEntry, Node, plain_part};
use crate::source::{Origin, SourceText, SourcedValue, Span};

mod problem;

use problem::SchemaProblem;

/// A kind of definition file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// The front matter of `AGENT.md`.
    Agent,
    /// `agent.yml`.
    AgentYml,
    /// The front matter of `SKILL.md`.
    Skill,
    /// The front matter of `TASK.md`.
    Task,
    /// The front matter of a later step.
    Step,
    /// `tools/<name>.yml`.
    Tool,
    /// `tool-access.json`.
    ToolAccess,
    /// `agentry.toml`.
    Config,
    /// `soul.json`.
    Soul,
    /// `user_profile.json`.
    UserProfile,
    /// `.mcp.json`.
    McpJson,
    /// `access/*.yml`, in each of its forms.
    Access,
    /// `access/*.yml`, with its policies under `policies`.
    Policies,
    /// The file beside the script of an event hook.
    EventHook,
}

impl FileKind {
    /// The kinds with a published schema, each with its name on the command line.
    pub const PUBLISHED: [(&'static str, FileKind); 10] = [
        ("agent", Self::Agent),
        ("agent-yml", Self::AgentYml),
        ("skill", Self::Skill),
        ("task", Self::Task),
        ("step", Self::Step),
        ("tool", Self::Tool),
        ("tool-access", Self::ToolAccess),
        ("config", Self::Config),
        ("access", Self::Access),
        ("event-hook", Self::EventHook),
    ];

    /// Returns the JSON Schema of the kind.
    pub fn schema(self) -> Value {
        let embedded =
            |text| serde_json::from_str(text).expect("the schemas in this crate are JSON");
        match self {
            Self::Agent => schema_for!(AgentMd).to_value(),
            Self::AgentYml => schema_for!(AgentYml).to_value(),
            Self::Skill => schema_for!(SkillMd).to_value(),
            Self::Task => schema_for!(TaskMd).to_value(),
            Self::Step => schema_for!(StepMd).to_value(),
            Self::Tool => schema_for!(ToolYml).to_value(),
            Self::ToolAccess => schema_for!(ToolAccessJson).to_value(),
            Self::Config => schema_for!(Config).to_value(),
            Self::Access => schema_for!(AccessYml).to_value(),
            Self::Policies => schema_for!(PoliciesYml).to_value(),
            Self::EventHook => schema_for!(EventHookYml).to_value(),
            Self::Soul => embedded(include_str!("../schemas/soul.json")),
            Self::UserProfile => embedded(include_str!("../schemas/user_profile.json")),
            Self::McpJson => embedded(include_str!("../schemas/mcp.json")),
        }
    }

    /// Front matter is shared with other tools, so an unknown field is only a warning there. Nested
    /// fields are all ours, and a misspelt `when` would widen a rule.
    fn unknown_field_severity(self, pointer: &str) -> Severity {
        match self {
            Self::Soul | Self::UserProfile => Severity::Warning,
            Self::Agent | Self::Skill | Self::Task | Self::Step if pointer.is_empty() => {
                Severity::Warning
            }
            Self::Agent | Self::Skill | Self::Task | Self::Step => Severity::Error,
            Self::AgentYml | Self::Tool | Self::ToolAccess | Self::Config | Self::McpJson => {
                Severity::Error
            }
            Self::Access | Self::Policies | Self::EventHook => Severity::Error,
        }
    }

    fn compiled(self) -> &'static (Value, Validator) {
        static COMPILED: [OnceLock<(Value, Validator)>; 14] = [const { OnceLock::new() }; 14];
        COMPILED[self as usize].get_or_init(|| {
            let mut schema = self.schema();
            bound_whole_numbers(&mut schema);
            let validator = jsonschema::options()
                .build(&schema)
                .expect("the schemas in this crate are valid JSON Schema");
            (schema, validator)
        })
    }
}

/// A parsed file: its tree without the defective values, and its manifest.
#[derive(Clone, Debug)]
pub struct ManifestFile<T> {
    /// The text of the file.
    pub source: SourceText,
    /// The tree from which the manifest was made.
    pub node: Node,
    /// The manifest.
    pub manifest: T,
    // Pointers to values that were reported and removed, or are required and missing.
    lost: Vec<String>,
}

impl<T> ManifestFile<T> {
    /// True if a value at or below a field was removed or is missing. Conclusions from that field
    /// are then unknown, not wrong.
    pub fn lost(&self, field: &str) -> bool {
        self.lost.iter().any(|pointer| lies_in(pointer, field))
    }

    /// Returns the place of a JSON pointer.
    pub fn span(&self, pointer: &str) -> Span {
        self.node.span_at(pointer)
    }

    /// Returns the origin of a JSON pointer.
    pub fn origin(&self, pointer: &str) -> Origin {
        self.source.origin(self.span(pointer))
    }

    /// Returns a value with the origin of its pointer.
    pub fn sourced<V>(&self, pointer: &str, value: V) -> SourcedValue<V> {
        SourcedValue::new(value, self.origin(pointer))
    }

    /// Returns the origin of a pointer if the file has a value there.
    pub fn said(&self, pointer: &str) -> Option<Origin> {
        self.node.at(pointer).map(|node| self.source.origin(node.span))
    }
}

/// Checks a tree against its schema and makes the manifest. Every defect is reported; `None` means
/// that the rest is too incomplete for a manifest.
pub fn read<T: DeserializeOwned>(
    kind: FileKind,
    source: &SourceText,
    mut node: Node,
    findings: &mut Findings,
) -> Option<ManifestFile<T>> {
    let lost = check(kind, source, &mut node, findings);
    add_missing_texts(kind, &mut node);
    let value = node.to_value();
    let manifest = serde_json::from_value(value.clone())
        .or_else(|_| serde_json::from_value(with_whole_numbers(value)));
    match manifest {
        Ok(manifest) => Some(ManifestFile { source: source.clone(), node, manifest, lost }),
        Err(error) if lost.is_empty() => {
            findings.at(DiagnosticCode::WrongType, source, node.span, error.to_string());
            None
        }
        Err(_) => None,
    }
}

/// Reports every defect of a tree and removes the defective values. Returns the pointers of removed
/// and missing values.
pub fn check(
    kind: FileKind,
    source: &SourceText,
    node: &mut Node,
    findings: &mut Findings,
) -> Vec<String> {
    let value = node.to_value();
    let (schema, validator) = kind.compiled();
    let mut problems: Vec<SchemaProblem> =
        validator.iter_errors(&value).flat_map(|error| problem::problems(&error, schema)).collect();
    problems.retain(|problem| !is_checked_by_hand(kind, problem));
    for problem in &problems {
        report(kind, source, node, problem, findings);
    }
    let mut pointers: Vec<String> = problems.iter().flat_map(SchemaProblem::to_take_out).collect();
    take_out_all(node, &mut pointers);
    if !pointers.is_empty() {
        take_out_the_incomplete(node, schema, validator);
    }
    pointers.extend(problems.iter().filter_map(SchemaProblem::missing));
    pointers
}

/// Removes values that lack a required part after a removal; their neighbors stay.
fn take_out_the_incomplete(node: &mut Node, schema: &Value, validator: &Validator) {
    for _ in 0..NODE_DEPTH_MAX {
        let value = node.to_value();
        let errors = validator.iter_errors(&value);
        let problems = errors.flat_map(|error| problem::problems(&error, schema));
        let mut pointers: Vec<String> = problems
            .filter(|problem| {
                matches!(
                    problem.what,
                    problem::SchemaProblemKind::Missing(_) | problem::SchemaProblemKind::Matchers
                )
            })
            .map(|problem| problem.pointer)
            .filter(|pointer| !pointer.is_empty())
            .collect();
        if pointers.is_empty() {
            return;
        }
        take_out_all(node, &mut pointers);
    }
}

/// Adds an empty text for each missing required text, which is reported already, so that the rest
/// of the file can still be checked.
fn add_missing_texts(kind: FileKind, node: &mut Node) {
    let required = kind.compiled().0.get("required").and_then(Value::as_array);
    let at = Span::new(node.span.start, node.span.start);
    let Kind::Map(pairs) = &mut node.kind else { return };
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !pairs.iter().any(|pair| pair.key == name) {
            let value = Node { span: at, kind: Kind::Text(String::new()) };
            pairs.push(MapEntry { key: name.to_owned(), key_span: at, value });
        }
    }
}

/// Converts `1000.0` and `1e3`, whole numbers to a schema, to whole numbers for the manifests.
pub(crate) fn with_whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && is_whole(float) => Value::from(float as i64),
            Some(_) | None => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(with_whole_numbers).collect(),
        Value::Object(map) => {
            map.into_iter().map(|(key, value)| (key, with_whole_numbers(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::String(_) => value,
    }
}

fn is_whole(float: f64) -> bool {
    float.fract() == 0.0 && float.abs() <= WHOLE_NUMBER_MAX as f64
}

/// Adds the limits of the manifests to whole numbers, which schemas leave without an upper limit.
fn bound_whole_numbers(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let format = map.get("format").and_then(Value::as_str);
            let signed = format == Some("int64");
            if signed || matches!(format, Some("uint64" | "uint")) {
                map.entry("maximum").or_insert(WHOLE_NUMBER_MAX.into());
                if signed {
                    map.entry("minimum").or_insert((-(WHOLE_NUMBER_MAX as i64)).into());
                }
            }
            map.values_mut().for_each(bound_whole_numbers);
        }
        Value::Array(items) => items.iter_mut().for_each(bound_whole_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// True for the lengths of a skill's fields, which have codes of their own; see `skill`.
fn is_checked_by_hand(kind: FileKind, problem: &SchemaProblem) -> bool {
    kind == FileKind::Skill
        && matches!(problem.what, problem::SchemaProblemKind::Range(_))
        && problem.pointer.matches('/').count() == 1
}

fn report(
    kind: FileKind,
    source: &SourceText,
    node: &Node,
    problem: &SchemaProblem,
    findings: &mut Findings,
) {
    use problem::SchemaProblemKind;
    let span = node.span_at(&problem.pointer);
    let field = problem.field();
    match &problem.what {
        SchemaProblemKind::UnknownFields { unknown, known } => {
            let places = node.at(&problem.pointer).map(key_spans).unwrap_or_default();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            for name in unknown {
                let place = places.get(name.as_str()).copied().unwrap_or(span);
                let text = if problem.is_matcher() {
                    FindingText::new(format!("`{name}` is not a matcher"))
                        .help(suggestion(name, &Matcher::KEYS))
                } else {
                    FindingText::new(format!("the field `{name}` is not known here"))
                        .help(suggestion(name, &known))
                        .severity(kind.unknown_field_severity(&problem.pointer))
                };
                let code = if problem.is_matcher() {
                    DiagnosticCode::NotAMatcher
                } else {
                    DiagnosticCode::UnknownField
                };
                findings.at(code, source, place, text);
            }
        }
        SchemaProblemKind::Missing(name) => {
            let text = FindingText::new(format!("the field `{name}` is missing"))
                .help(format!("add a line `{name}: …`"));
            findings.at(
                DiagnosticCode::MissingField,
                source,
                Span::new(span.start, span.start + 1),
                text,
            );
        }
        SchemaProblemKind::Type(expected) if problem.pointer.is_empty() => {
            let found = node.at("").map_or("nothing", Node::noun);
            let text = format!("expected {expected} of fields, found {found}");
            findings.at(DiagnosticCode::NotAMapping, source, span, text);
        }
        SchemaProblemKind::Type(expected) => {
            let found = node.at(&problem.pointer).map_or("nothing", Node::noun);
            let text = FindingText::new(format!("{field} must be {expected}, but is {found}"));
            let text = match node.at(&problem.pointer).map(|node| &node.kind) {
                Some(Kind::Number(_) | Kind::Bool(_)) if expected == "text" => {
                    text.help("put it in quotes")
                }
                _ => text,
            };
            findings.at(DiagnosticCode::WrongType, source, span, text);
        }
        SchemaProblemKind::OneOf(words) => {
            let text = FindingText::new(format!("{field} has a value that is not allowed"));
            findings.at(DiagnosticCode::NotOneOf, source, span, text.help(words.clone()));
        }
        SchemaProblemKind::Matchers => {
            let text = FindingText::new("a matcher has exactly one key")
                .help(format!("one of {}", Matcher::KEYS.join(", ")));
            findings.at(DiagnosticCode::NotAMatcher, source, span, text);
        }
        SchemaProblemKind::Range(words) => {
            findings.at(DiagnosticCode::OutOfRange, source, span, format!("{field} {words}"));
        }
        SchemaProblemKind::Other(words) => {
            findings.at(DiagnosticCode::WrongType, source, span, words.clone())
        }
    }
}

fn key_spans(node: &Node) -> HashMap<&str, Span> {
    match &node.kind {
        Kind::Map(pairs) => pairs.iter().map(|pair| (pair.key.as_str(), pair.key_span)).collect(),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => {
            HashMap::new()
        }
    }
}

/// Splits a pointer so that it sorts in the order of the file: numbers by value.
fn parts(pointer: &str) -> Vec<(usize, String)> {
    pointer.split('/').map(|part| (part.parse().unwrap_or(0), part.to_owned())).collect()
}

fn above(pointer: &str) -> Option<&str> {
    pointer.rsplit_once('/').map(|(above, _)| above)
}

/// Removes values, the last first, so that the removal of a list item does not move those still to
/// be removed.
fn take_out_all(node: &mut Node, pointers: &mut Vec<String>) {
    pointers.sort_by_cached_key(|pointer| std::cmp::Reverse(parts(pointer)));
    pointers.dedup();
    for siblings in pointers.chunk_by(|a, b| above(a) == above(b)) {
        take_out(node, siblings);
    }
}

/// Removes values of one map or list.
fn take_out(node: &mut Node, pointers: &[String]) {
    let Some(above) = pointers.first().and_then(|pointer| above(pointer)) else { return };
    let last = |pointer: &String| plain_part(pointer.rsplit('/').next().unwrap_or_default());
    let taken: HashSet<String> = pointers.iter().map(last).collect();
    let mut current = node;
    for part in above.split('/').skip(1) {
        let part = plain_part(part);
        let next = match &mut current.kind {
            Kind::Map(pairs) => {
                pairs.iter_mut().find(|pair| pair.key == part).map(|pair| &mut pair.value)
            }
            Kind::List(items) => part.parse::<usize>().ok().and_then(|at| items.get_mut(at)),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => None,
        };
        match next {
            Some(next) => current = next,
            None => return,
        }
    }
    match &mut current.kind {
        Kind::Map(pairs) => pairs.retain(|pair| !taken.contains(&pair.key)),
        Kind::List(items) => {
            let mut at = 0..;
            items.retain(|_| at.next().is_none_or(|at: usize| !taken.contains(&at.to_string())));
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {}
    }
}
