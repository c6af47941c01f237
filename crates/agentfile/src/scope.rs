//! What an agent, a skill, a task or a step says about tools, skills, tasks and approvals.
//!
//! All four say it in the same words; here those words are read once.
//!
//! Must never: widen anything. A scope is a wish; what is granted is decided elsewhere.

use std::collections::BTreeMap;

use agentry_protocol::tool::ToolName;
use regex::RegexBuilder;
use serde::Serialize;

use crate::diagnostic::{Code, Findings, Text};
use crate::index::{Index, Lookup};
use crate::limits::{MATCHER_DEPTH_MAX, REGEX_BYTES_MAX};
use crate::manifest::agent_md::AgentMd;
use crate::manifest::approvals::{Matcher, TaskApprovals, ToolApprovals};
use crate::manifest::names::NameList;
use crate::manifest::skill_md::SkillMd;
use crate::manifest::task_md::{StepMd, TaskMd};
use crate::schema::Doc;
use crate::source::{Origin, Sourced};

/// A list of names, perhaps on top of what is inherited.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Choice {
    /// Whether the surroundings' names are taken over.
    pub inherit: bool,
    /// Names of its own.
    pub names: Vec<Sourced<String>>,
}

/// One approval rule.
#[derive(Clone, Debug, Serialize)]
pub struct Rule {
    /// The tool (by its canonical name) or the task.
    pub subject: String,
    /// true: goes ahead; false: a person is asked.
    pub allow: bool,
    /// Conditions on the arguments, all of which must hold.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub when: BTreeMap<String, Matcher>,
    /// Where it stands.
    pub origin: Origin,
}

/// Everything a definition says about its surroundings.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Scope {
    /// Tools.
    pub tools: Choice,
    /// Skills.
    pub skills: Choice,
    /// Tasks.
    pub tasks: Choice,
    /// Rules for tool calls; none means that the surrounding scope decides.
    pub tool_rules: Option<Vec<Rule>>,
    /// Rules for task invocations; none means that the surrounding scope decides.
    pub task_rules: Option<Vec<Rule>>,
}

/// The five fields that carry a scope.
pub struct ScopeFields<'a> {
    tools: Option<&'a NameList>,
    skills: Option<&'a NameList>,
    tasks: Option<&'a NameList>,
    tool_approvals: Option<&'a ToolApprovals>,
    task_approvals: Option<&'a TaskApprovals>,
}

/// A manifest that has those fields.
pub trait Scoped {
    /// The fields.
    fn scope_fields(&self) -> ScopeFields<'_>;
}

macro_rules! scoped {
    ($($manifest:ty),*) => {$(
        impl Scoped for $manifest {
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

scoped!(AgentMd, SkillMd, TaskMd, StepMd);

/// Reads the scope of a definition and checks that everything it names exists.
pub fn read<T: Scoped>(doc: &Doc<T>, index: &Index, findings: &mut Findings) -> Scope {
    let fields = doc.manifest.scope_fields();
    let scope = Scope {
        tools: choice(doc, "/tools", fields.tools, findings),
        skills: choice(doc, "/skills", fields.skills, findings),
        tasks: choice(doc, "/tasks", fields.tasks, findings),
        tool_rules: fields.tool_approvals.map(|approvals| tool_rules(doc, approvals)),
        task_rules: fields.task_approvals.map(|approvals| task_rules(doc, approvals)),
    };
    check_names(doc, fields.tools, index, findings);
    check_references(doc, "/skills", fields.skills, index, findings);
    check_references(doc, "/tasks", fields.tasks, index, findings);
    if let Some(rules) = &scope.tool_rules {
        let offered = |name: &str| is_offered(&scope.tools, name, index);
        check_rules(doc, "tool", rules, &offered, findings);
    }
    if let Some(rules) = &scope.task_rules {
        let offered = |name: &str| {
            scope.tasks.names.iter().any(|task| task.value == name)
                || scope.tasks.inherit && index.tasks.contains_key(name)
        };
        check_rules(doc, "task", rules, &offered, findings);
    }
    scope
}

fn choice<T>(
    doc: &Doc<T>,
    field: &str,
    list: Option<&NameList>,
    findings: &mut Findings,
) -> Choice {
    let mut names: Vec<Sourced<String>> = Vec::new();
    for (below, name) in NameList::named(list) {
        let pointer = format!("{field}{below}");
        if names.iter().any(|known| known.value == name) {
            let text = Text::new(format!("`{name}` is listed twice")).help("remove one of the two");
            findings.at(Code::ListedTwice, &doc.source, doc.span(&pointer), text);
            continue;
        }
        names.push(doc.sourced(&pointer, name.to_owned()));
    }
    Choice { inherit: NameList::inherits(list), names }
}

fn tool_rules<T>(doc: &Doc<T>, approvals: &ToolApprovals) -> Vec<Rule> {
    let rules = approvals.rules.iter().enumerate();
    rules
        .map(|(at, rule)| Rule {
            subject: ToolName::canonical(&rule.tool).as_str().to_owned(),
            allow: rule.allow,
            when: rule.when.clone().unwrap_or_default(),
            origin: doc.origin(&format!("/tool_approvals/rules/{at}")),
        })
        .collect()
}

fn task_rules<T>(doc: &Doc<T>, approvals: &TaskApprovals) -> Vec<Rule> {
    let rules = approvals.rules.iter().enumerate();
    rules
        .map(|(at, rule)| Rule {
            subject: rule.task.clone(),
            allow: rule.allow,
            when: rule.when.clone().unwrap_or_default(),
            origin: doc.origin(&format!("/task_approvals/rules/{at}")),
        })
        .collect()
}

fn check_names<T>(doc: &Doc<T>, list: Option<&NameList>, index: &Index, findings: &mut Findings) {
    for (below, name) in NameList::named(list) {
        let span = doc.span(&format!("/tools{below}"));
        index.report_tool(name, &doc.source, span, findings);
    }
}

fn check_references<T>(
    doc: &Doc<T>,
    field: &str,
    list: Option<&NameList>,
    index: &Index,
    findings: &mut Findings,
) {
    let lookup = if field == "/skills" { Lookup::Skill } else { Lookup::Task };
    for (below, name) in NameList::named(list) {
        let span = doc.span(&format!("{field}{below}"));
        index.report_reference(lookup, name, (&doc.source, span), findings);
    }
}

fn is_offered(tools: &Choice, name: &str, index: &Index) -> bool {
    let named = tools.names.iter().any(|tool| ToolName::canonical(&tool.value).as_str() == name);
    named || tools.inherit && index.tool_exists(name)
}

fn check_rules<T>(
    doc: &Doc<T>,
    what: &str,
    rules: &[Rule],
    offered: &dyn Fn(&str) -> bool,
    findings: &mut Findings,
) {
    for (at, rule) in rules.iter().enumerate() {
        let pointer = format!("/{what}_approvals/rules/{at}");
        if !offered(&rule.subject) {
            let text = Text::new(format!(
                "the rule is for `{}`, which is not among the {what}s here",
                rule.subject
            ))
            .help(format!("add it to `{what}s`, or remove the rule"));
            findings.at(
                Code::RuleForAbsentTool,
                &doc.source,
                doc.span(&format!("{pointer}/{what}")),
                text,
            );
        }
        let earlier =
            rules[..at].iter().find(|one| one.subject == rule.subject && one.when.is_empty());
        if let Some(earlier) = earlier {
            let text =
                Text::new(format!("the rule on line {} always matches first", earlier.origin.line))
                    .help("put the narrower rule first");
            findings.at(Code::RuleUnreachable, &doc.source, doc.span(&pointer), text);
        }
        for (argument, matcher) in &rule.when {
            let argument = crate::node::pointer_part(argument);
            check_matcher(doc, &format!("{pointer}/when/{argument}"), matcher, 0, findings);
        }
    }
}

fn check_matcher<T>(
    doc: &Doc<T>,
    pointer: &str,
    matcher: &Matcher,
    depth: usize,
    findings: &mut Findings,
) {
    match matcher {
        Matcher::Matches(pattern) => {
            if let Err(error) = RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).build() {
                let words = error.to_string();
                let words = words
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .trim_start_matches("error: ")
                    .to_owned();
                let text = Text::new(format!("the regular expression does not compile: {words}"))
                    .help("look-around and back-references are not supported; they cannot be run in linear time");
                findings.at(
                    Code::BadRegex,
                    &doc.source,
                    doc.span(&format!("{pointer}/matches")),
                    text,
                );
            }
        }
        Matcher::AnyOf(nested) | Matcher::AllOf(nested) => {
            let key = if matches!(matcher, Matcher::AnyOf(_)) { "anyOf" } else { "allOf" };
            if depth >= MATCHER_DEPTH_MAX {
                let text = format!("matchers may nest at most {MATCHER_DEPTH_MAX} deep");
                findings.at(Code::TooDeep, &doc.source, doc.span(pointer), text);
                return;
            }
            for (at, one) in nested.iter().enumerate() {
                check_matcher(doc, &format!("{pointer}/{key}/{at}"), one, depth + 1, findings);
            }
        }
        Matcher::Equals(_)
        | Matcher::In(_)
        | Matcher::StartsWith(_)
        | Matcher::Contains(_)
        | Matcher::ContainsAll(_) => {}
    }
}
