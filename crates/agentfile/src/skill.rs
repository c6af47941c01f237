//! `SKILL.md`: reading a skill, by the Agent Skills specification or with our extensions.
//!
//! Skills come from many authors, so they load as the specification's client guide says: only a
//! missing description or broken YAML prevents loading; the rest are warnings. At level `spec`
//! every deviation is an error.
//!
//! Must never: run or read a file that a skill refers to.

use agentry_protocol::{ContentHash, SkillId};
use serde::Serialize;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::diagnostic::{DiagnosticCode, FindingText, Findings, Severity};
use crate::file_tree::FileTree;
use crate::limits::{
    SKILL_BODY_LINES_MAX, SKILL_COMPATIBILITY_CHARS_MAX, SKILL_DESCRIPTION_CHARS_MAX,
    SKILL_NAME_CHARS_MAX,
};
use crate::manifest::skill_md::{SPEC_FIELDS, SkillMd};
use crate::markdown::{self, FrontMatterStrictness, MarkdownFile};
use crate::name_index::NameIndex;
use crate::node::{Kind, MapEntry, Node};
use crate::schema::{self, FileKind, ManifestFile};
use crate::scope::{self, DefinitionScope};
use crate::source::{Origin, SourceText, SourcedValue, Span};

/// The strictness for skills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SkillLevel {
    /// Exactly the Agent Skills specification; every deviation is an error.
    Spec,
    /// With our extensions; deviations are warnings.
    #[default]
    Extended,
}

/// A skill.
#[derive(Clone, Debug, Serialize)]
pub struct Skill {
    /// The id, from the skill's directory.
    pub id: SkillId,
    /// Its name.
    pub name: SourcedValue<String>,
    /// The abilities of the skill, and when to use it.
    pub description: SourcedValue<String>,
    /// The instructions.
    pub body: SourcedValue<String>,
    /// A single file that is always loaded, or a folder that is loaded on request.
    pub form: SkillForm,
    /// Tools that the skill wants approved in advance, as written.
    pub allowed_tools: Vec<String>,
    /// License, compatibility and metadata, as written.
    pub about: serde_json::Map<String, Value>,
    /// Its tools, skills, tasks and approval rules.
    pub scope: DefinitionScope,
    /// Paths of the files beside it.
    pub resources: Vec<String>,
    /// The hash of all of its files.
    pub hash: ContentHash,
}

/// The form of a skill: a file or a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillForm {
    /// `skills/name.md`: part of the prompt.
    File,
    /// `skills/name/SKILL.md`: offered by name and description.
    Folder,
}

/// A skill whose references are not checked yet.
#[derive(Clone, Debug)]
pub struct SkillDraft {
    doc: ManifestFile<SkillMd>,
    body: SourcedValue<String>,
    id: SkillId,
    resources: Vec<String>,
    hash: ContentHash,
}

/// Reads the skill folder of the `SKILL.md` at `path`. `None` if the skill does not load.
pub fn read(
    tree: &FileTree,
    path: &str,
    id: &str,
    level: SkillLevel,
    findings: &mut Findings,
) -> Option<SkillDraft> {
    let mut own = Findings::default();
    let draft = read_draft(tree, path, id, level, &mut own);
    // A skill with unreadable limits of its own must not load without them.
    let broken = own.has_errors();
    findings.append(own);
    draft.filter(|_| !broken)
}

fn read_draft(
    tree: &FileTree,
    path: &str,
    id: &str,
    level: SkillLevel,
    findings: &mut Findings,
) -> Option<SkillDraft> {
    let reading = if level == SkillLevel::Spec {
        FrontMatterStrictness::Exact
    } else {
        FrontMatterStrictness::Forgiving
    };
    let MarkdownFile { source, head, body } = markdown::read(tree, path, reading, findings)?;
    let Some(mut node) = head else {
        let text = FindingText::new("a skill begins with front matter")
            .help("begin the file with `---`, `name: …`, `description: …`, `---`");
        findings.at(DiagnosticCode::NoFrontMatter, &source, Span::default(), text);
        return None;
    };
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let folder = match directory.rsplit('/').next() {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => tree.name(),
    };
    let checks = SkillChecker { source: &source, level };
    checks.prepare(&mut node, &folder, findings);
    let doc: ManifestFile<SkillMd> = schema::read(FileKind::Skill, &source, node, findings)?;
    checks.values(&doc, &folder, findings);
    checks.body(&body, findings);
    let own = tree.subtree(directory);
    let resources = own
        .below("")
        .map(|(path, _)| path.to_owned())
        .filter(|path| !path.eq_ignore_ascii_case("SKILL.md"))
        .collect();
    Some(SkillDraft { doc, body, id: SkillId::new(id), resources, hash: own.hash() })
}

/// Checks the references of a skill and completes it.
pub fn resolve(draft: SkillDraft, index: &NameIndex, findings: &mut Findings) -> Skill {
    let SkillDraft { doc, body, id, resources, hash } = draft;
    let scope = scope::read(&doc, index, findings);
    let manifest = &doc.manifest;
    let mut about = serde_json::Map::new();
    for (key, value) in [("license", &manifest.license), ("compatibility", &manifest.compatibility)]
    {
        if let Some(value) = value {
            about.insert(key.to_owned(), Value::String(value.clone()));
        }
    }
    if let Some(metadata) = &manifest.metadata {
        about.insert("metadata".to_owned(), Value::Object(metadata.clone()));
    }
    let allowed = manifest.allowed_tools.as_deref().unwrap_or_default();
    Skill {
        id,
        name: doc.sourced("/name", manifest.name.trim().to_owned()),
        description: doc.sourced("/description", manifest.description.trim().to_owned()),
        body,
        form: SkillForm::Folder,
        allowed_tools: words_outside_of_parentheses(allowed),
        about,
        scope,
        resources,
        hash,
    }
}

/// Splits a list of tools; `Bash(git add:*) Read` are two words.
fn words_outside_of_parentheses(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let words = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && c.is_whitespace()
    });
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Reads a skill that is a single Markdown file of an agent.
pub fn read_file(tree: &FileTree, path: &str, findings: &mut Findings) -> Option<Skill> {
    let MarkdownFile { source, head, body } =
        markdown::read(tree, path, FrontMatterStrictness::Forgiving, findings)?;
    SkillChecker { source: &source, level: SkillLevel::Extended }.body(&body, findings);
    let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".md");
    let text_of = |key: &str| {
        let pair = head.as_ref()?.pair(key)?;
        let text = plain_text(&source, &pair.value)?;
        Some(SourcedValue::new(text.trim().to_owned(), source.origin(pair.value.span)))
    };
    let first_line = || {
        let line =
            body.value.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
        SourcedValue::new(line.unwrap_or_default().trim().to_owned(), body.origin.clone())
    };
    let whole_file = Origin { line: 1, column: 1, ..body.origin.clone() };
    Some(Skill {
        id: SkillId::new(stem),
        name: text_of("name").unwrap_or_else(|| SourcedValue::new(stem.to_owned(), whole_file)),
        description: text_of("description").unwrap_or_else(first_line),
        form: SkillForm::File,
        allowed_tools: Vec::new(),
        about: serde_json::Map::new(),
        scope: DefinitionScope::default(),
        resources: Vec::new(),
        hash: ContentHash::of(source.text.as_bytes()),
        body,
    })
}

struct SkillChecker<'a> {
    source: &'a SourceText,
    level: SkillLevel,
}

impl SkillChecker<'_> {
    fn report(&self, code: DiagnosticCode, span: Span, text: FindingText, findings: &mut Findings) {
        let text = match self.level {
            SkillLevel::Spec => text.severity(Severity::Error),
            SkillLevel::Extended => text,
        };
        findings.at(code, self.source, span, text);
    }

    /// Applies the rules that the specification leaves to clients: plain values are text, a missing
    /// name is the folder's, a list of tools is a text with spaces.
    fn prepare(&self, node: &mut Node, folder: &str, findings: &mut Findings) {
        let span = node.span;
        let Kind::Map(pairs) = &mut node.kind else { return };
        for pair in pairs.iter_mut() {
            match pair.key.as_str() {
                "metadata" => self.metadata(pair, findings),
                "allowed-tools" => self.allowed_tools(pair, findings),
                "name" | "description" | "license" | "compatibility" => {
                    as_text(self.source, &mut pair.value)
                }
                _ => {}
            }
        }
        if self.level == SkillLevel::Spec {
            pairs.retain(|pair| {
                let known = SPEC_FIELDS.contains(&pair.key.as_str());
                if !known {
                    let text = FindingText::new(format!(
                        "`{}` is not a field of the specification",
                        pair.key
                    ))
                    .help(
                        "put your own values below `metadata`, or check with `--skills extended`",
                    );
                    findings.at(DiagnosticCode::SkillNotInSpec, self.source, pair.key_span, text);
                }
                known
            });
        } else if !pairs.iter().any(|pair| pair.key == "name") {
            let text = FindingText::new(format!(
                "the field `name` is missing; the folder's, `{folder}`, is used"
            ))
            .help(format!("add a line `name: {folder}`"))
            .severity(Severity::Warning);
            findings.at(
                DiagnosticCode::MissingField,
                self.source,
                Span::new(span.start, span.start + 1),
                text,
            );
            let value = Node { span, kind: Kind::Text(folder.to_owned()) };
            pairs.push(MapEntry { key: "name".to_owned(), key_span: span, value });
        }
    }

    fn metadata(&self, pair: &mut MapEntry, findings: &mut Findings) {
        let Kind::Map(values) = &mut pair.value.kind else {
            if pair.value.kind != Kind::Null {
                let text =
                    FindingText::new(format!("`metadata` is {}, not a map", pair.value.noun()))
                        .help("write `name: value` lines below it");
                self.report(DiagnosticCode::SkillMetadata, pair.value.span, text, findings);
                pair.value.kind = Kind::Null;
            }
            return;
        };
        for value in values {
            if matches!(value.value.kind, Kind::List(_) | Kind::Map(_)) {
                let text = FindingText::new(format!(
                    "`{}` is {}, but metadata maps names to text",
                    value.key,
                    value.value.noun()
                ))
                .help("write it as one text");
                self.report(DiagnosticCode::SkillMetadata, value.value.span, text, findings);
            } else {
                as_text(self.source, &mut value.value);
            }
        }
    }

    fn allowed_tools(&self, pair: &mut MapEntry, findings: &mut Findings) {
        if let Kind::List(items) = &pair.value.kind {
            let words: Vec<String> =
                items.iter().filter_map(|item| plain_text(self.source, item)).collect();
            let text = FindingText::new("allowed-tools is a list here")
                .help(format!("write `allowed-tools: {}`", words.join(" ")));
            self.report(DiagnosticCode::SkillAllowedTools, pair.value.span, text, findings);
            pair.value.kind = Kind::Text(words.join(" "));
        }
    }

    fn values(&self, doc: &ManifestFile<SkillMd>, folder: &str, findings: &mut Findings) {
        if !doc.lost("/name") {
            self.name(doc, folder, findings);
        }
        let description = &doc.manifest.description;
        let length = description.chars().count();
        if doc.lost("/description") {
            // Missing or not a text, which is reported elsewhere.
        } else if description.trim().is_empty() {
            let text = FindingText::new("the description is empty")
                .help("say in a sentence or two what the skill does and when to use it");
            findings.at(
                DiagnosticCode::SkillDescriptionEmpty,
                self.source,
                doc.span("/description"),
                text,
            );
        } else if length > SKILL_DESCRIPTION_CHARS_MAX {
            let text = FindingText::new(format!("the description has {length} characters")).help(format!(
                "at most {SKILL_DESCRIPTION_CHARS_MAX} are allowed; the rest belongs into the body"
            ));
            self.report(
                DiagnosticCode::SkillDescriptionLong,
                doc.span("/description"),
                text,
                findings,
            );
        }
        if let Some(note) = &doc.manifest.compatibility {
            let length = note.chars().count();
            if length == 0 || length > SKILL_COMPATIBILITY_CHARS_MAX {
                let text =
                    FindingText::new(format!("the compatibility note has {length} characters"))
                        .help(format!(
                            "write 1 to {SKILL_COMPATIBILITY_CHARS_MAX}, or leave the field out"
                        ));
                self.report(
                    DiagnosticCode::SkillCompatibility,
                    doc.span("/compatibility"),
                    text,
                    findings,
                );
            }
        }
    }

    fn name(&self, doc: &ManifestFile<SkillMd>, folder: &str, findings: &mut Findings) {
        let span = doc.span("/name");
        let name: String = doc.manifest.name.trim().nfkc().collect();
        let length = name.chars().count();
        if length > SKILL_NAME_CHARS_MAX {
            let text = FindingText::new(format!("the name has {length} characters"))
                .help(format!("at most {SKILL_NAME_CHARS_MAX} are allowed"));
            self.report(DiagnosticCode::SkillNameLong, span, text, findings);
        }
        if let Some(what) = misformed(&name) {
            let text = FindingText::new(format!("the name `{name}` {what}"))
                .help("use lower-case letters, digits and single hyphens between them");
            self.report(DiagnosticCode::SkillNameForm, span, text, findings);
        }
        let folder: String = folder.nfkc().collect();
        if name != folder {
            let text = FindingText::new(format!(
                "the skill is called `{name}` but its directory `{folder}`"
            ))
            .help("make them equal");
            self.report(DiagnosticCode::SkillNameMismatch, span, text, findings);
        }
    }

    fn body(&self, body: &SourcedValue<String>, findings: &mut Findings) {
        let lines = body.value.lines().count();
        if lines > SKILL_BODY_LINES_MAX {
            let text = FindingText::new(format!("the body has {lines} lines"))
                .help(format!("keep it under {SKILL_BODY_LINES_MAX}; move detail to files beside it, read when needed"));
            let start = self.source.text.find(body.value.as_str()).unwrap_or_default();
            findings.at(
                DiagnosticCode::SkillBodyLong,
                self.source,
                Span::new(start, start + 1),
                text,
            );
        }
    }
}

fn misformed(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("is empty")
    } else if name != name.to_lowercase() {
        Some("has upper-case letters")
    } else if name.starts_with('-') || name.ends_with('-') {
        Some("begins or ends with a hyphen")
    } else if name.contains("--") {
        Some("has two hyphens in a row")
    } else if !name.chars().all(|c| c.is_alphanumeric() || c == '-') {
        Some("has characters other than letters, digits and hyphens")
    } else {
        None
    }
}

/// Turns every plain value of a skill's head into text, as the reference implementation does.
fn as_text(source: &SourceText, node: &mut Node) {
    if let Some(text) = plain_text(source, node) {
        node.kind = Kind::Text(text);
    }
}

/// Returns a plain value as text; numbers and the like as written.
fn plain_text(source: &SourceText, node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Text(text) => Some(text.clone()),
        Kind::Number(_) | Kind::Bool(_) => Some(source.slice(node.span).to_owned()),
        Kind::Null => Some(String::new()),
        Kind::List(_) | Kind::Map(_) => None,
    }
}
