//! The tools, skills, tasks and approval rules of an agent, a skill, a task or a step.
//!
//! All four kinds of definitions use the same fields, which are read here.
//!
//! Must never: widen anything. A scope is a request; other code decides what is granted.

use std::collections::{HashMap, HashSet};

use agentry_protocol::tool::ToolName;
use serde::Serialize;
use serde_json::Value;

use crate::approval_rule::{
    ApprovalExample, ApprovalRule, COMMAND, ExampleDefect, ExpectedVerdict, RuleKind, SHELL,
};
use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::limits::{MATCHER_DEPTH_MAX, REGEXES_MAX};
use crate::manifest::agent_md::AgentMd;
use crate::manifest::approvals::{ExampleArgs, Examples, Matcher, TaskApprovals, ToolApprovals};
use crate::manifest::names::InheritableNames;
use crate::manifest::skill_md::SkillMd;
use crate::manifest::task_md::{StepMd, TaskMd};
use crate::name_index::{DefinitionReference, NameIndex, ReferenceKind};
use crate::node::Kind;
use crate::pattern;
use crate::schema::ManifestFile;
use crate::source::SourcedValue;

/// A list of names, perhaps added to inherited ones.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NameSelection {
    /// True if the parent's names are included.
    pub inherit: bool,
    /// The names in the list itself.
    pub names: Vec<SourcedValue<String>>,
}

/// All names and rules that a definition sets.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DefinitionScope {
    /// Tools.
    pub tools: NameSelection,
    /// Skills.
    pub skills: NameSelection,
    /// Tasks.
    pub tasks: NameSelection,
    /// Rules for tool calls; none means that the enclosing scope decides.
    pub tool_rules: Option<Vec<ApprovalRule>>,
    /// Rules for task invocations; none means that the enclosing scope decides.
    pub task_rules: Option<Vec<ApprovalRule>>,
}

/// The five fields of a scope.
pub struct ScopeFields<'a> {
    tools: Option<&'a InheritableNames>,
    skills: Option<&'a InheritableNames>,
    tasks: Option<&'a InheritableNames>,
    tool_approvals: Option<&'a ToolApprovals>,
    task_approvals: Option<&'a TaskApprovals>,
}

/// A manifest with a scope.
pub trait ScopedManifest {
    /// True if it is used inside an agent that it does not know, whose own tools it may name.
    const INSIDE_ANY_AGENT: bool;

    /// Returns the fields of the scope.
    fn scope_fields(&self) -> ScopeFields<'_>;
}

macro_rules! scoped {
    ($($manifest:ty: $inside:literal),*) => {$(
        impl ScopedManifest for $manifest {
            const INSIDE_ANY_AGENT: bool = $inside;

            fn scope_fields(&self) -> ScopeFields<'_> {
                ScopeFields {
                    tools: self.tools.as_ref(),
                    skills: self.skills.as_ref(),
                    tasks: self.tasks.as_ref(),
                    tool_approvals: self.tool_approvals.as_ref(),
                    task_approvals: self.task_approvals.as_ref(),
                }
            }
        }
    )*};
}

scoped!(AgentMd: false, SkillMd: true, TaskMd: true, StepMd: true);

/// Reads the scope of a definition and checks that everything it names exists.
pub fn read<T: ScopedManifest>(
    doc: &ManifestFile<T>,
    index: &NameIndex,
    findings: &mut Findings,
) -> DefinitionScope {
    let exists =
        |name: &str| index.tool_exists(name) || T::INSIDE_ANY_AGENT && index.custom.contains(name);
    let scope = read_names(doc, index, &exists, findings);
    let named: HashSet<ToolName> =
        scope.tools.names.iter().map(|tool| ToolName::canonical(&tool.value)).collect();
    let offered = |name: &str| {
        named.contains(&ToolName::canonical(name))
            || (scope.tools.inherit || doc.lost("/tools")) && exists(name)
    };
    check_rules(doc, &scope, index, &offered, findings);
    scope
}

/// Reads the scope without a check of the tools that its rules are for.
pub(crate) fn read_names<T: ScopedManifest>(
    doc: &ManifestFile<T>,
    index: &NameIndex,
    exists: &dyn Fn(&str) -> bool,
    findings: &mut Findings,
) -> DefinitionScope {
    let fields = doc.manifest.scope_fields();
    let scope = DefinitionScope {
        tools: choice(doc, "/tools", fields.tools, findings),
        skills: choice(doc, "/skills", fields.skills, findings),
        tasks: choice(doc, "/tasks", fields.tasks, findings),
        tool_rules: fields.tool_approvals.map(|approvals| tool_rules(doc, approvals)),
        task_rules: fields.task_approvals.map(|approvals| task_rules(doc, approvals)),
    };
    for (below, name) in InheritableNames::named(fields.tools).filter(|(_, name)| !exists(name)) {
        index.report_tool(name, &doc.source, doc.span(&format!("/tools{below}")), findings);
    }
    check_references(doc, "/skills", fields.skills, index, findings);
    check_references(doc, "/tasks", fields.tasks, index, findings);
    scope
}

/// Checks that every rule can be evaluated and has an existing subject.
pub(crate) fn check_rules<T: ScopedManifest>(
    doc: &ManifestFile<T>,
    scope: &DefinitionScope,
    index: &NameIndex,
    has_tool: &dyn Fn(&str) -> bool,
    findings: &mut Findings,
) {
    if let Some(rules) = &scope.tool_rules {
        check_list(doc, RuleList { kind: RuleKind::Tool, rules }, index, has_tool, findings);
    }
    if let Some(rules) = &scope.task_rules {
        let named: HashSet<&str> =
            scope.tasks.names.iter().map(|task| task.value.as_str()).collect();
        let has_task = |name: &str| {
            let inherits = scope.tasks.inherit || doc.lost("/tasks");
            named.contains(name) || inherits && index.tasks.contains_key(name)
        };
        check_list(doc, RuleList { kind: RuleKind::Task, rules }, index, &has_task, findings);
    }
}

fn choice<T>(
    doc: &ManifestFile<T>,
    field: &str,
    list: Option<&InheritableNames>,
    findings: &mut Findings,
) -> NameSelection {
    let mut names: Vec<SourcedValue<String>> = Vec::new();
    let mut seen = HashSet::new();
    for (below, name) in InheritableNames::named(list) {
        let pointer = format!("{field}{below}");
        // `Read` and `read_file` are one tool.
        let one = match field {
            "/tools" => ToolName::canonical(name).as_str().to_owned(),
            _ => name.to_owned(),
        };
        if !seen.insert(one) {
            let text =
                FindingText::new(format!("`{name}` is listed twice")).help("remove one of the two");
            findings.at(DiagnosticCode::ListedTwice, &doc.source, doc.span(&pointer), text);
            continue;
        }
        names.push(doc.sourced(&pointer, name.to_owned()));
    }
    NameSelection { inherit: InheritableNames::inherits(list), names }
}

fn tool_rules<T>(doc: &ManifestFile<T>, approvals: &ToolApprovals) -> Vec<ApprovalRule> {
    let rules = approvals.rules.iter().enumerate();
    rules
        .map(|(at, rule)| {
            let pointer = format!("/tool_approvals/rules/{at}");
            ApprovalRule {
                subject: ToolName::canonical(&rule.tool).as_str().to_owned(),
                allow: rule.allow,
                when: rule.when.clone().unwrap_or_default(),
                examples: examples(doc, &pointer, rule.examples.as_ref()),
                origin: doc.origin(&pointer),
            }
        })
        .collect()
}

fn task_rules<T>(doc: &ManifestFile<T>, approvals: &TaskApprovals) -> Vec<ApprovalRule> {
    let rules = approvals.rules.iter().enumerate();
    rules
        .map(|(at, rule)| {
            let pointer = format!("/task_approvals/rules/{at}");
            ApprovalRule {
                subject: rule.task.clone(),
                allow: rule.allow,
                when: rule.when.clone().unwrap_or_default(),
                examples: examples(doc, &pointer, rule.examples.as_ref()),
                origin: doc.origin(&pointer),
            }
        })
        .collect()
}

/// Returns the examples to allow, then those that need approval.
fn examples<T>(
    doc: &ManifestFile<T>,
    pointer: &str,
    examples: Option<&Examples>,
) -> Vec<ApprovalExample> {
    let Some(examples) = examples else { return Vec::new() };
    let lists = [(ExpectedVerdict::Allow, &examples.allow), (ExpectedVerdict::Ask, &examples.ask)];
    let each = lists.into_iter().flat_map(|(expected, list)| {
        list.iter().enumerate().map(move |(at, args)| (expected, at, args))
    });
    each.map(|(expected, at, args)| ApprovalExample {
        expected,
        args: match args {
            ExampleArgs::Map(args) => Value::Object(args.clone()),
            ExampleArgs::Command(command) => serde_json::json!({ COMMAND: command }),
        },
        origin: doc.origin(&example_pointer(pointer, expected, at)),
    })
    .collect()
}

fn example_pointer(rule: &str, expected: ExpectedVerdict, at: usize) -> String {
    match expected {
        ExpectedVerdict::Allow => format!("{rule}/examples/allow/{at}"),
        ExpectedVerdict::Ask => format!("{rule}/examples/ask/{at}"),
    }
}

fn check_references<T>(
    doc: &ManifestFile<T>,
    field: &str,
    list: Option<&InheritableNames>,
    index: &NameIndex,
    findings: &mut Findings,
) {
    let kind = if field == "/skills" { ReferenceKind::Skill } else { ReferenceKind::Task };
    for (below, name) in InheritableNames::named(list) {
        let span = doc.span(&format!("{field}{below}"));
        let reference = DefinitionReference { kind, id: name };
        index.report_reference(reference, &doc.source, span, findings);
    }
}

/// The approval rules of one kind.
struct RuleList<'a> {
    kind: RuleKind,
    rules: &'a [ApprovalRule],
}

/// Checks the rules of one list, then tests their examples if the rules can be evaluated.
fn check_list<T>(
    doc: &ManifestFile<T>,
    list: RuleList<'_>,
    index: &NameIndex,
    offered: &dyn Fn(&str) -> bool,
    findings: &mut Findings,
) {
    let RuleList { kind, rules } = list;
    let mut own = Findings::default();
    check_each(doc, kind.noun(), rules, offered, &mut own);
    check_commands(doc, kind, rules, &mut own);
    let whole = !own.has_errors() && !doc.lost(&format!("/{}_approvals", kind.noun()));
    if let Some(try_examples) = index.try_examples.filter(|_| whole) {
        for defect in try_examples(kind, rules) {
            let pointer = pointer_of(kind, rules, &defect);
            let text = FindingText::new(defect.message)
                .help("mend the rule or the example; the rules are tried in order, all of them");
            own.at(DiagnosticCode::ExampleFails, &doc.source, doc.span(&pointer), text);
        }
    }
    findings.append(own);
}

fn pointer_of(kind: RuleKind, rules: &[ApprovalRule], defect: &ExampleDefect) -> String {
    let rule = format!("/{}_approvals/rules/{}", kind.noun(), defect.rule);
    let Some(examples) = rules.get(defect.rule).map(|rule| &rule.examples) else { return rule };
    let Some(example) = examples.get(defect.example) else { return rule };
    let before = examples[..defect.example].iter();
    let at = before.filter(|one| one.expected == example.expected).count();
    example_pointer(&rule, example.expected, at)
}

/// Checks examples that are a text: a command, which only the shell accepts.
fn check_commands<T>(
    doc: &ManifestFile<T>,
    kind: RuleKind,
    rules: &[ApprovalRule],
    findings: &mut Findings,
) {
    for (at, rule) in rules.iter().enumerate() {
        if kind == RuleKind::Tool && rule.subject == SHELL {
            continue;
        }
        for example in 0..rule.examples.len() {
            let defect = ExampleDefect { rule: at, example, message: String::new() };
            let pointer = pointer_of(kind, rules, &defect);
            if matches!(doc.node.at(&pointer).map(|node| &node.kind), Some(Kind::Text(_))) {
                let text = FindingText::new("an example of this rule must be a map, but is text")
                    .help("write the arguments as `{name: value}`; text alone is for the shell");
                findings.at(DiagnosticCode::WrongType, &doc.source, doc.span(&pointer), text);
            }
        }
    }
}

fn check_each<T>(
    doc: &ManifestFile<T>,
    what: &str,
    rules: &[ApprovalRule],
    offered: &dyn Fn(&str) -> bool,
    findings: &mut Findings,
) {
    // The first rule without conditions for each subject.
    let mut always: HashMap<&str, usize> = HashMap::new();
    let mut matchers = MatcherChecker { doc, compiled: 0 };
    for (at, rule) in rules.iter().enumerate() {
        let pointer = format!("/{what}_approvals/rules/{at}");
        if !offered(&rule.subject) {
            let text = FindingText::new(format!(
                "the rule is for `{}`, which is not among the {what}s here",
                rule.subject
            ))
            .help(format!("add it to `{what}s`, or remove the rule"));
            findings.at(
                DiagnosticCode::RuleForAbsentTool,
                &doc.source,
                doc.span(&format!("{pointer}/{what}")),
                text,
            );
        }
        if let Some(line) = always.get(rule.subject.as_str()) {
            let text = FindingText::new(format!("the rule on line {line} always matches first"))
                .help("put the narrower rule first");
            findings.at(DiagnosticCode::RuleUnreachable, &doc.source, doc.span(&pointer), text);
        } else if rule.when.is_empty() {
            always.insert(&rule.subject, rule.origin.line);
        }
        for (argument, matcher) in &rule.when {
            let argument = crate::node::pointer_part(argument);
            let pointer = format!("{pointer}/when/{argument}");
            matchers.check(&pointer, matcher, 0, findings);
        }
    }
}

/// Checks the matchers of a file, and counts its regular expressions.
struct MatcherChecker<'a, T> {
    doc: &'a ManifestFile<T>,
    compiled: usize,
}

impl<T> MatcherChecker<'_, T> {
    fn check(&mut self, pointer: &str, matcher: &Matcher, depth: usize, findings: &mut Findings) {
        let doc = self.doc;
        match matcher {
            Matcher::Matches(_) if self.compiled >= REGEXES_MAX => {
                self.compiled += 1;
                // Reported once; compiling thousands takes longer than reading all else.
                if self.compiled == REGEXES_MAX + 1 {
                    let text = FindingText::new("the file holds too many regular expressions")
                        .help(format!("at most {REGEXES_MAX} are compiled; join some with `|`"));
                    findings.at(DiagnosticCode::TooManyNodes, &doc.source, doc.span(pointer), text);
                }
            }
            Matcher::Matches(pattern) => {
                self.compiled += 1;
                if let Some(text) = pattern::defect(pattern) {
                    let span = doc.span(&format!("{pointer}/matches"));
                    findings.at(DiagnosticCode::BadRegex, &doc.source, span, text);
                }
            }
            Matcher::AnyOf(nested) | Matcher::AllOf(nested) => {
                let key = if matches!(matcher, Matcher::AnyOf(_)) { "anyOf" } else { "allOf" };
                if depth >= MATCHER_DEPTH_MAX {
                    let text = format!("matchers may nest at most {MATCHER_DEPTH_MAX} deep");
                    findings.at(DiagnosticCode::TooDeep, &doc.source, doc.span(pointer), text);
                    return;
                }
                for (at, one) in nested.iter().enumerate() {
                    let pointer = format!("{pointer}/{key}/{at}");
                    self.check(&pointer, one, depth + 1, findings);
                }
            }
            Matcher::Equals(_)
            | Matcher::In(_)
            | Matcher::StartsWith(_)
            | Matcher::Contains(_)
            | Matcher::ContainsAll(_) => {}
        }
    }
}
