//! Evaluates approval rules: which calls are allowed, and which need approval.
//!
//! The first matching rule decides; `allow: false` and no match both need approval. The shell is
//! judged per command, so that a rule for `git` does not cover an `rm` behind a semicolon.
//!
//! Must never: deny, or allow anything that no rule names.

use std::collections::HashMap;
use std::sync::OnceLock;

use agentry_agentfile::approval_rule::{
    ApprovalRule, COMMAND, ExampleDefect, ExpectedVerdict, RuleKind, SHELL,
};
use agentry_agentfile::limits::REGEX_BYTES_MAX;
use agentry_agentfile::manifest::approvals::Matcher;
use agentry_protocol::call_facts::CallFacts;
use agentry_protocol::verdict::Verdict;
use regex::{Regex, RegexBuilder};
use serde_json::{Number, Value};

use crate::limits::WHY_CHARS_MAX;

mod commands;
mod coverage;
mod path;

use commands::JudgedCommand;
use coverage::RuleCoverage;
pub use path::JudgedPath;

/// The verdict of the rules on one call.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleVerdict<'a> {
    /// Allow or ask.
    pub verdict: Verdict,
    /// The rule that decided; None if none matched.
    pub rule: Option<&'a ApprovalRule>,
    /// The reason, in words for a person.
    pub why: String,
}

/// Evaluates the rules for a call of a tool.
pub fn decide<'a>(rules: &'a [ApprovalRule], tool: &str, args: &Value) -> RuleVerdict<'a> {
    decide_with(&RulePatterns::default(), rules, tool, args)
}

/// Evaluates the rules with expressions that are compiled once for many calls.
pub fn decide_with<'a>(
    patterns: &RulePatterns,
    rules: &'a [ApprovalRule],
    tool: &str,
    args: &Value,
) -> RuleVerdict<'a> {
    let path = JudgedPath::of(tool, args, &CallFacts::default(), "");
    decide_at(patterns, rules, tool, args, path.as_ref())
}

/// Evaluates the rules for a call whose path argument is resolved.
pub fn decide_at<'a>(
    patterns: &RulePatterns,
    rules: &'a [ApprovalRule],
    tool: &str,
    args: &Value,
    path: Option<&JudgedPath>,
) -> RuleVerdict<'a> {
    let command = args.get(COMMAND).and_then(Value::as_str).filter(|_| tool == SHELL);
    match command {
        Some(command) => ShellCall { patterns, rules, args, command, path }.decide(),
        None => first(patterns, rules, tool, args, path),
    }
}

/// Evaluates the rules for an invocation of a task.
pub fn decide_task<'a>(rules: &'a [ApprovalRule], task: &str, inputs: &Value) -> RuleVerdict<'a> {
    first(&RulePatterns::default(), rules, task, inputs, None)
}

/// Evaluates all rules, in order, on each of their examples; returns those that fail.
pub fn try_examples(kind: RuleKind, rules: &[ApprovalRule]) -> Vec<ExampleDefect> {
    let patterns = RulePatterns::of(rules);
    let decide = |rule: &ApprovalRule, args: &Value| match kind {
        RuleKind::Tool => decide_with(&patterns, rules, &rule.subject, args),
        RuleKind::Task => first(&patterns, rules, &rule.subject, args, None),
    };
    let mut defects = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        for (example, one) in rule.examples.iter().enumerate() {
            let came = decide(rule, &one.args);
            if let Some(message) = otherwise(rule, one.expected, &came) {
                defects.push(ExampleDefect { rule: at, example, message });
            }
        }
    }
    defects
}

/// Describes the difference between a verdict and the expectation of an example.
fn otherwise(
    rule: &ApprovalRule,
    expected: ExpectedVerdict,
    came: &RuleVerdict<'_>,
) -> Option<String> {
    match (expected, came.verdict) {
        (ExpectedVerdict::Ask, Verdict::Ask) => None,
        (ExpectedVerdict::Ask, Verdict::Allow | Verdict::Deny) => {
            Some(format!("it must need approval, but is allowed: {}", came.why))
        }
        (ExpectedVerdict::Allow, Verdict::Allow) => match came.rule {
            Some(other) if !std::ptr::eq(rule, other) => {
                Some(format!("the rule at {} allows it, not this one", other.origin))
            }
            Some(_) | None => None,
        },
        (ExpectedVerdict::Allow, Verdict::Ask | Verdict::Deny) => {
            Some(format!("it must be allowed, but needs approval: {}", came.why))
        }
    }
}

/// Returns the verdict of the first rule that matches.
fn first<'a>(
    patterns: &RulePatterns,
    rules: &'a [ApprovalRule],
    subject: &str,
    args: &Value,
    path: Option<&JudgedPath>,
) -> RuleVerdict<'a> {
    let mut own = rules.iter().filter(|rule| rule.subject == subject);
    match own.find(|rule| matches(patterns, rule, args, path)) {
        Some(rule) => by(rule),
        None => nobody(),
    }
}

fn by(rule: &ApprovalRule) -> RuleVerdict<'_> {
    let verdict = if rule.allow { Verdict::Allow } else { Verdict::Ask };
    RuleVerdict { verdict, rule: Some(rule), why: words(rule) }
}

fn nobody<'a>() -> RuleVerdict<'a> {
    let why = "no approval rule matches, so it needs approval".to_owned();
    RuleVerdict { verdict: Verdict::Ask, rule: None, why }
}

/// Describes a rule on one line.
fn words(rule: &ApprovalRule) -> String {
    let verb = if rule.allow { "a rule allows" } else { "a rule asks about" };
    if rule.when.is_empty() {
        return format!("{verb} every `{}`", rule.subject);
    }
    let conditions: Vec<String> = rule
        .when
        .iter()
        .map(|(argument, matcher)| format!("`{argument}` {}", condition(matcher)))
        .collect();
    shortened(&format!("{verb} `{}` when {}", rule.subject, conditions.join(" and ")))
}

fn condition(matcher: &Matcher) -> String {
    let list = |matchers: &[Matcher], between: &str| {
        let each: Vec<String> = matchers.iter().map(condition).collect();
        format!("({})", each.join(between))
    };
    match matcher {
        Matcher::Equals(value) => format!("equals {value}"),
        Matcher::In(values) => format!("is in {}", Value::from(values.clone())),
        Matcher::StartsWith(text) => format!("starts with {}", Value::from(text.as_str())),
        Matcher::Matches(text) => format!("matches {}", Value::from(text.as_str())),
        Matcher::Contains(value) => format!("contains {value}"),
        Matcher::ContainsAll(values) => format!("contains all of {}", Value::from(values.clone())),
        Matcher::AnyOf(nested) => list(nested, " or "),
        Matcher::AllOf(nested) => list(nested, " and "),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(WHY_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn matches(
    patterns: &RulePatterns,
    rule: &ApprovalRule,
    args: &Value,
    path: Option<&JudgedPath>,
) -> bool {
    rule.when.iter().all(|(argument, matcher)| match path {
        Some(path) if path.is_argument(argument) => path.holds(patterns, matcher, rule.allow),
        Some(_) | None => args.get(argument).is_some_and(|value| holds(patterns, matcher, value)),
    })
}

/// Returns true if the value meets the condition. A value of another type does not.
fn holds(patterns: &RulePatterns, matcher: &Matcher, value: &Value) -> bool {
    match matcher {
        Matcher::Equals(wanted) => same(wanted, value),
        Matcher::In(wanted) => wanted.iter().any(|one| same(one, value)),
        Matcher::StartsWith(start) => value.as_str().is_some_and(|text| text.starts_with(start)),
        Matcher::Matches(pattern) => {
            value.as_str().is_some_and(|text| patterns.is_match(pattern, text))
        }
        Matcher::Contains(part) => has(value, part),
        Matcher::ContainsAll(parts) => {
            (value.is_string() || value.is_array()) && parts.iter().all(|part| has(value, part))
        }
        Matcher::AnyOf(nested) => nested.iter().any(|one| holds(patterns, one, value)),
        Matcher::AllOf(nested) => nested.iter().all(|one| holds(patterns, one, value)),
    }
}

/// Returns true if a text contains the part, or a list has it as a member.
fn has(value: &Value, part: &Value) -> bool {
    match value {
        Value::String(text) => part.as_str().is_some_and(|part| text.contains(part)),
        Value::Array(items) => items.iter().any(|item| same(item, part)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Compares as JSON: `1` and `1.0` are one number, the order of keys does not count.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => same_number(a, b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

fn same_number(a: &Number, b: &Number) -> bool {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a == b,
        // Beyond 2^53 a float equals several integers; the cast picks the exact one.
        (Some(whole), None) => b.as_f64().is_some_and(|float| is_whole(float, whole)),
        (None, Some(whole)) => a.as_f64().is_some_and(|float| is_whole(float, whole)),
        (None, None) => a.as_f64() == b.as_f64(),
    }
}

fn is_whole(float: f64, whole: i128) -> bool {
    float.fract() == 0.0 && float as i128 == whole
}

/// The regular expressions of rules, each compiled on first use.
#[derive(Debug, Default)]
pub struct RulePatterns {
    // An expression that does not compile never matches; `check` reports it.
    compiled: HashMap<String, OnceLock<Option<Regex>>>,
}

impl RulePatterns {
    /// Collects the expressions of these rules, uncompiled.
    pub fn of<'a>(rules: impl IntoIterator<Item = &'a ApprovalRule>) -> Self {
        let mut patterns = Self::default();
        for rule in rules {
            rule.when.values().for_each(|matcher| patterns.gather(matcher));
        }
        patterns
    }

    fn gather(&mut self, matcher: &Matcher) {
        match matcher {
            Matcher::Matches(pattern) => {
                self.compiled.entry(pattern.clone()).or_default();
            }
            Matcher::AnyOf(nested) | Matcher::AllOf(nested) => {
                nested.iter().for_each(|one| self.gather(one));
            }
            Matcher::Equals(_)
            | Matcher::In(_)
            | Matcher::StartsWith(_)
            | Matcher::Contains(_)
            | Matcher::ContainsAll(_) => {}
        }
    }

    fn is_match(&self, pattern: &str, text: &str) -> bool {
        let matches = |regex: &Option<Regex>| regex.as_ref().is_some_and(|one| one.is_match(text));
        match self.compiled.get(pattern) {
            Some(once) => matches(once.get_or_init(|| compile(pattern))),
            None => matches(&compile(pattern)),
        }
    }

    /// Returns the end of the first match; None if that match does not start at the first byte.
    fn end(&self, pattern: &str, text: &str) -> Option<usize> {
        let end = |regex: &Option<Regex>| {
            let found = regex.as_ref().and_then(|one| one.find(text));
            found.filter(|found| found.start() == 0).map(|found| found.end())
        };
        match self.compiled.get(pattern) {
            Some(once) => end(once.get_or_init(|| compile(pattern))),
            None => end(&compile(pattern)),
        }
    }
}

fn compile(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).size_limit(REGEX_BYTES_MAX).build().ok()
}

/// A call of the shell: each of its commands must be allowed by a rule.
struct ShellCall<'a, 'c> {
    patterns: &'c RulePatterns,
    rules: &'a [ApprovalRule],
    args: &'c Value,
    command: &'c str,
    path: Option<&'c JudgedPath>,
}

impl<'a> ShellCall<'a, '_> {
    fn decide(&self) -> RuleVerdict<'a> {
        let parts = commands::of(self.command);
        let mut open: Vec<(&JudgedCommand, Value)> = match &parts {
            Ok(parts) => parts.iter().map(|part| (part, self.with(&part.text))).collect(),
            Err(_) => Vec::new(),
        };
        // The first rule that would allow the text as a whole.
        let mut nearly: Option<&ApprovalRule> = None;
        for rule in self.rules.iter().filter(|rule| rule.subject == SHELL) {
            let fits = |args: &Value| matches(self.patterns, rule, args, self.path);
            let whole = fits(self.args);
            if !rule.allow {
                if whole || open.iter().any(|(_, args)| fits(args)) {
                    return by(rule);
                }
                let unknown = match &parts {
                    Err(why) => Some(why.as_str()),
                    Ok(_) => open.iter().find_map(|(part, _)| part.hidden),
                };
                match unknown.filter(|_| self.may_fit(rule)) {
                    Some(why) => return cannot_tell(rule, why),
                    None => continue,
                }
            }
            if whole && !looks_into(rule) {
                return by(rule);
            }
            open.retain(|(part, args)| !fits(args) || self.bar(rule, part).is_some());
            if parts.as_ref().is_ok_and(|parts| !parts.is_empty()) && open.is_empty() {
                return by(rule);
            }
            nearly = nearly.or(Some(rule).filter(|_| whole));
        }
        match nearly {
            Some(rule) => {
                RuleVerdict { why: self.but(rule, &parts, &open), rule: Some(rule), ..nobody() }
            }
            None => nobody(),
        }
    }

    /// Returns true if the rule would match, assuming that a hidden command matches its condition.
    fn may_fit(&self, rule: &ApprovalRule) -> bool {
        let mut others = rule.when.iter().filter(|(argument, _)| *argument != COMMAND);
        others.all(|(argument, matcher)| match self.path {
            Some(path) if path.is_argument(argument) => {
                path.holds(self.patterns, matcher, rule.allow)
            }
            Some(_) | None => {
                let value = self.args.get(argument);
                value.is_some_and(|value| holds(self.patterns, matcher, value))
            }
        })
    }

    /// Returns the arguments with one command in place of the whole text.
    fn with(&self, command: &str) -> Value {
        let mut args = self.args.clone();
        args[COMMAND] = Value::from(command);
        args
    }

    /// Returns the reason why a matching rule does not cover a command; None if it does.
    fn bar(&self, rule: &ApprovalRule, part: &JudgedCommand) -> Option<String> {
        part.exclusion_reason(&RuleCoverage::of(self.patterns, rule, &part.text))
    }

    /// Explains why a rule that matches the text does not allow it.
    fn but(
        &self,
        rule: &ApprovalRule,
        parts: &Result<Vec<JudgedCommand>, String>,
        open: &[(&JudgedCommand, Value)],
    ) -> String {
        let why = match (parts, open.first()) {
            (Err(why), _) => format!("the command is not fully understood ({why})"),
            (Ok(_), Some((part, _))) => self
                .bar(rule, part)
                .unwrap_or_else(|| format!("no rule allows its part `{}`", part.text)),
            (Ok(_), None) => "it runs no command".to_owned(),
        };
        shortened(&format!("a rule matches the text, but {why}, so it needs approval"))
    }
}

fn cannot_tell<'a>(rule: &'a ApprovalRule, why: &str) -> RuleVerdict<'a> {
    let why = format!("the command is not fully understood ({why}), and {}", words(rule));
    RuleVerdict { why: shortened(&why), ..by(rule) }
}

/// Returns true if the rule matches commands by a part of their text. A rule that names the whole
/// text, or ignores it, is taken literally.
fn looks_into(rule: &ApprovalRule) -> bool {
    rule.when.get(COMMAND).is_some_and(|matcher| !is_exact(matcher))
}

fn is_exact(matcher: &Matcher) -> bool {
    match matcher {
        Matcher::Equals(_) | Matcher::In(_) => true,
        Matcher::AnyOf(nested) => nested.iter().all(is_exact),
        Matcher::AllOf(nested) => nested.iter().any(is_exact),
        Matcher::StartsWith(_)
        | Matcher::Matches(_)
        | Matcher::Contains(_)
        | Matcher::ContainsAll(_) => false,
    }
}
