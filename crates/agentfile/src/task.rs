//! `TASK.md` and the steps that follow it through `next`.
//!
//! A task is a chain of Markdown files in one directory. The chain is followed once, when it is
//! read; cycles, paths out of the directory and missing files are found then and not during a run.
//!
//! Must never: run a step.

use std::collections::HashSet;
use std::sync::LazyLock;

use agentry_protocol::{AgentId, ContentHash, TaskId};
use regex::Regex;
use serde::Serialize;

use crate::diagnostic::{DiagnosticCode, FindingText, Findings, suggestion};
use crate::file_tree::FileTree;
use crate::limits::TASK_STEPS_MAX;
use crate::manifest::task_md::{StepMd, TaskInputSpec, TaskMd};
use crate::markdown::{self, FrontMatterStrictness, MarkdownFile};
use crate::name_index::{DefinitionReference, NameIndex, ReferenceKind};
use crate::node::{Kind, Node};
use crate::schema::{self, FileKind, ManifestFile};
use crate::scope::{self, DefinitionScope};
use crate::source::{SourceText, SourcedValue, Span};

const FIRST: &str = "TASK.md";

/// A task.
#[derive(Clone, Debug, Serialize)]
pub struct Task {
    /// The id, from the task's directory.
    pub id: TaskId,
    /// The display name.
    pub name: SourcedValue<String>,
    /// The purpose of the task.
    pub description: Option<SourcedValue<String>>,
    /// In wiggum mode, the command whose success means that the work is done.
    pub check: Option<SourcedValue<String>>,
    /// The inputs of the task.
    pub inputs: Vec<SourcedValue<TaskInputSpec>>,
    /// Its steps in order; the first is `TASK.md`.
    pub steps: Vec<TaskStep>,
    /// The hash of all of its files.
    pub hash: ContentHash,
}

/// One step of a task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskStep {
    /// The file.
    pub file: String,
    /// The display name.
    pub name: String,
    /// The agent that does it; none means that of the previous step, or the default agent.
    pub agent: Option<SourcedValue<AgentId>>,
    /// The instructions of the step.
    pub body: SourcedValue<String>,
    /// Its tools, skills, tasks and approval rules.
    pub scope: DefinitionScope,
}

/// A task whose references are not checked yet.
#[derive(Clone, Debug)]
pub struct TaskDraft {
    id: TaskId,
    /// True if all steps are correct, apart from their references.
    pub whole: bool,
    first: ManifestFile<TaskMd>,
    first_body: SourcedValue<String>,
    later: Vec<LaterStep>,
    hash: ContentHash,
}

#[derive(Clone, Debug)]
struct LaterStep {
    file: String,
    doc: ManifestFile<StepMd>,
    body: SourcedValue<String>,
}

/// Reads the task whose `TASK.md` is `path`. `None` if too defective to check its references.
pub fn read(tree: &FileTree, path: &str, id: &str, findings: &mut Findings) -> Option<TaskDraft> {
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let own = tree.subtree(directory);
    let (source, node, first_body) = head_and_body(&own, FIRST, findings)?;
    let next = NextStep::of(&source, &node);
    let first: Option<ManifestFile<TaskMd>> = schema::read(FileKind::Task, &source, node, findings);
    let mut chain =
        StepChain { own: &own, seen: vec![FIRST.to_owned()], later: Vec::new(), whole: true };
    // The steps are read even if TASK.md is broken: one defect must not hide the next.
    chain.follow(next, findings);
    if let Some(first) = &first {
        check_inputs(first, findings);
        let inputs: HashSet<&str> =
            first.manifest.inputs.iter().map(|input| input.name.as_str()).collect();
        // A removed input would be reported as missing wherever it is used.
        if !first.lost("/inputs") {
            check_uses(&first.source, &inputs, findings);
            for step in &chain.later {
                check_uses(&step.doc.source, &inputs, findings);
            }
        }
    }
    if chain.whole && first.as_ref().is_some_and(|first| !first.lost("/next")) {
        report_unused(&own, &chain.seen, findings);
    }
    let StepChain { later, whole, .. } = chain;
    let whole =
        whole && !own.files_in("").any(|(name, _)| findings.has_errors_in(&own.display_path(name)));
    let (id, hash) = (TaskId::new(id), own.hash());
    Some(TaskDraft { id, whole, first: first?, first_body, later, hash })
}

/// Checks the references of a task and completes it.
pub fn resolve(draft: TaskDraft, index: &NameIndex, findings: &mut Findings) -> Task {
    let TaskDraft { id, first, first_body, later, hash, .. } = draft;
    let manifest = &first.manifest;
    let inputs = manifest.inputs.iter().enumerate();
    let inputs =
        inputs.map(|(at, input)| first.sourced(&format!("/inputs/{at}"), input.clone())).collect();
    let mut steps = vec![TaskStep {
        file: FIRST.to_owned(),
        name: manifest.name.clone(),
        agent: agent_of(&first, manifest.agent.as_deref(), index, findings),
        body: first_body,
        scope: scope::read(&first, index, findings),
    }];
    for LaterStep { file, doc, body } in later {
        steps.push(TaskStep {
            name: doc
                .manifest
                .name
                .clone()
                .unwrap_or_else(|| file.trim_end_matches(".md").to_owned()),
            agent: agent_of(&doc, doc.manifest.agent.as_deref(), index, findings),
            scope: scope::read(&doc, index, findings),
            file,
            body,
        });
    }
    let description = manifest.description.clone();
    let check = manifest.check.clone();
    Task {
        id,
        name: first.sourced("/name", manifest.name.clone()),
        description: description.map(|text| first.sourced("/description", text)),
        check: check.map(|command| first.sourced("/check", command)),
        inputs,
        steps,
        hash,
    }
}

fn agent_of<T>(
    doc: &ManifestFile<T>,
    agent: Option<&str>,
    index: &NameIndex,
    findings: &mut Findings,
) -> Option<SourcedValue<AgentId>> {
    let agent = agent?;
    let reference = DefinitionReference { kind: ReferenceKind::Agent, id: agent };
    index.report_reference(reference, &doc.source, doc.span("/agent"), findings);
    Some(doc.sourced("/agent", AgentId::new(agent)))
}

fn head_and_body(
    own: &FileTree,
    file: &str,
    findings: &mut Findings,
) -> Option<(SourceText, Node, SourcedValue<String>)> {
    let MarkdownFile { source, head, body } =
        markdown::read(own, file, FrontMatterStrictness::Exact, findings)?;
    match head {
        Some(node) => Some((source, node, body)),
        None => {
            let text = FindingText::new("a step of a task begins with front matter")
                .help("begin the file with `---`, `name: …`, `---`");
            findings.at(DiagnosticCode::NoFrontMatter, &source, Span::default(), text);
            None
        }
    }
}

/// The reference of a step to its next step.
struct NextStep {
    name: String,
    source: SourceText,
    span: Span,
}

impl NextStep {
    fn of(source: &SourceText, head: &Node) -> Option<Self> {
        let node = &head.pair("next")?.value;
        match &node.kind {
            Kind::Text(name) => {
                Some(Self { name: name.clone(), source: source.clone(), span: node.span })
            }
            // No text, or another type, which the schema check reports.
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) | Kind::Map(_) => None,
        }
    }
}

struct StepChain<'a> {
    own: &'a FileTree,
    seen: Vec<String>,
    later: Vec<LaterStep>,
    whole: bool,
}

impl StepChain<'_> {
    /// Follows `next` from one step to the end of the chain.
    fn follow(&mut self, mut next: Option<NextStep>, findings: &mut Findings) {
        while let Some(NextStep { name, source, span }) = next.take() {
            let Some(file) = self.target(&name, &source, span, findings) else {
                self.whole = false;
                return;
            };
            self.seen.push(file.clone());
            let Some(step) = read_step(self.own, &file, findings) else {
                self.whole = false;
                return;
            };
            self.whole &= !step.doc.lost("/next");
            next = NextStep::of(&step.doc.source, &step.doc.node);
            self.later.push(step);
        }
    }

    fn target(
        &self,
        name: &str,
        source: &SourceText,
        span: Span,
        findings: &mut Findings,
    ) -> Option<String> {
        let file = name.strip_prefix("./").unwrap_or(name);
        let mut refuse = |code, text: FindingText| {
            findings.at(code, source, span, text);
            None
        };
        if file.is_empty() || file == ".." || file.contains(['/', '\\']) {
            let text = FindingText::new(format!("`{name}` is not a file of this directory"));
            return refuse(DiagnosticCode::NextLeavesTask, text.help("name a file beside TASK.md"));
        }
        if file == FIRST {
            let text =
                FindingText::new("`next` leads back to TASK.md, which is always the first step");
            return refuse(DiagnosticCode::NextIsTask, text.help("name a later step"));
        }
        if self.seen.iter().any(|seen| seen == file) {
            let way = self.seen.join(" → ");
            let text = FindingText::new(format!("the steps run in a circle: {way} → {file}"));
            return refuse(
                DiagnosticCode::NextCycle,
                text.help("end the chain by leaving `next` out"),
            );
        }
        if self.own.file(file).is_none() {
            let known: Vec<&str> = self.own.files_in("").map(|(name, _)| name).collect();
            let text = FindingText::new(format!("there is no file `{file}` in this directory"));
            return refuse(DiagnosticCode::NextMissing, text.help(suggestion(file, &known)));
        }
        if self.seen.len() >= TASK_STEPS_MAX {
            let text = FindingText::new("the task has too many steps");
            return refuse(
                DiagnosticCode::TooManySteps,
                text.help(format!("at most {TASK_STEPS_MAX}")),
            );
        }
        Some(file.to_owned())
    }
}

fn read_step(own: &FileTree, file: &str, findings: &mut Findings) -> Option<LaterStep> {
    let (source, node, body) = head_and_body(own, file, findings)?;
    let mut node = node.or_empty_map();
    if let Kind::Map(pairs) = &mut node.kind {
        pairs.retain(|pair| {
            let inputs = pair.key == "inputs";
            if inputs {
                let text =
                    FindingText::new("inputs stand in a later step").help("move them to TASK.md");
                findings.at(DiagnosticCode::InputsInStep, &source, pair.key_span, text);
            }
            !inputs
        });
    }
    let doc: ManifestFile<StepMd> = schema::read(FileKind::Step, &source, node, findings)?;
    Some(LaterStep { file: file.to_owned(), doc, body })
}

fn check_inputs(first: &ManifestFile<TaskMd>, findings: &mut Findings) {
    let mut names = HashSet::new();
    for (at, input) in first.manifest.inputs.iter().enumerate() {
        let span = first.span(&format!("/inputs/{at}/name"));
        if !is_identifier(&input.name) {
            let text = FindingText::new(format!(
                "`{}` is not a name that `{{{{input.…}}}}` can use",
                input.name
            ))
            .help("use letters, digits, `_` and `-`, beginning with a letter");
            findings.at(DiagnosticCode::InputName, &first.source, span, text);
        }
        if !names.insert(&input.name) {
            let text = FindingText::new(format!("an input `{}` is there already", input.name));
            findings.at(
                DiagnosticCode::InputTwice,
                &first.source,
                span,
                text.help("rename one of the two"),
            );
        }
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Checks that each `{{input.x}}` in the text of a step names an input of the task.
fn check_uses(source: &SourceText, inputs: &HashSet<&str>, findings: &mut Findings) {
    static USE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"\{\{\s*input\.([A-Za-z0-9_-]+)\s*\}\}").expect("the expression is a constant")
    });
    let known: Vec<&str> = inputs.iter().copied().collect();
    for found in USE.captures_iter(&source.text) {
        let name = &found[1];
        if !inputs.contains(name) {
            let place = found.get(1).map_or(0..0, |name| name.range());
            let span = Span::new(place.start, place.end);
            findings.at_with(DiagnosticCode::UnknownInput, source, span, || {
                FindingText::new(format!("the task has no input `{name}`"))
                    .help(suggestion(name, &known))
            });
        }
    }
}

fn report_unused(own: &FileTree, seen: &[String], findings: &mut Findings) {
    for (name, _) in own.files_in("") {
        let step_like = name.ends_with(".md") && !name.eq_ignore_ascii_case("README.md");
        if step_like && !seen.iter().any(|seen| seen == name) {
            let text = FindingText::new("no step leads to this file")
                .help(format!("set `next: {name}` in the step before it, or remove it"));
            findings.about(DiagnosticCode::StepUnused, own.display_path(name), text);
        }
    }
}
