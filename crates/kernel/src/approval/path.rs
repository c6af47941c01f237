//! The path of a call as rules judge it: the file that will be opened, not the text of the model.
//!
//! An allowing rule sees only the true spelling: relative to the workspace, without links, `.` and
//! `..`. An asking rule sees every spelling of the place, and matches if the place is unclear.
//!
//! Must never: let a rule allow a path with an unknown place, or let another spelling evade a rule
//! that asks.

use agentry_agentfile::manifest::approvals::Matcher;
use agentry_protocol::call_facts::{CallFacts, ResolvedPath};
use agentry_protocol::tool::{PathArgument, PathKind, ToolName, path_argument};
use serde_json::Value;

use super::{RulePatterns, holds};

/// The path argument of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedPath {
    argument: PathArgument,
    // The argument as written by the model; None if it was left out.
    given: Option<String>,
    place: ResolvedPath,
    workspace: String,
}

impl JudgedPath {
    /// Returns the path argument of a call, if any: as the host resolved it, or as the text says.
    pub fn of(tool: &str, args: &Value, facts: &CallFacts, workspace: &str) -> Option<Self> {
        let argument = path_argument(&ToolName::canonical(tool))?;
        let given = match args.get(argument.name) {
            Some(Value::String(given)) => Some(given.clone()),
            // A value that is no text never matches; the schema refuses it.
            Some(_) => return None,
            None if argument.kind == PathKind::Tree => None,
            None => return None,
        };
        let text = given.as_deref().unwrap_or(".");
        let place = match facts.paths.get(argument.name) {
            Some(place) => place.clone(),
            None => of_text(text, workspace),
        };
        let workspace = workspace.trim_end_matches('/').to_owned();
        Some(Self { argument, given, place, workspace })
    }

    /// Returns the path in the workspace; None if it is unclear.
    pub fn inside(&self) -> Option<&str> {
        match &self.place {
            ResolvedPath::Inside { path, .. } => Some(path),
            ResolvedPath::Unclear { .. } => None,
        }
    }

    /// Returns a note for the approver if the place differs from the text of the model.
    pub fn note(&self) -> Option<String> {
        match &self.place {
            ResolvedPath::Unclear { why } => Some(format!("the path is not clear: {why}")),
            ResolvedPath::Inside { path, .. } => match &self.given {
                Some(given) if given != path => Some(format!("the path is `{path}`")),
                Some(_) | None => None,
            },
        }
    }

    pub(super) fn is_argument(&self, name: &str) -> bool {
        self.argument.name == name
    }

    /// Returns true if a condition of a rule matches the path.
    pub(super) fn holds(&self, patterns: &RulePatterns, matcher: &Matcher, allows: bool) -> bool {
        match (&self.place, allows) {
            (ResolvedPath::Inside { path, .. }, true) => {
                self.given.is_some() && self.allows(patterns, matcher, path)
            }
            (ResolvedPath::Inside { path, folds_case }, false) => {
                let matcher = if *folds_case { lower(matcher) } else { matcher.clone() };
                let fold = |text: String| if *folds_case { text.to_lowercase() } else { text };
                let spellings = self.spellings(path).into_iter().map(fold);
                let mut spellings = spellings.map(Value::from);
                spellings.any(|spelling| holds(patterns, &matcher, &spelling))
                    || self.argument.kind == PathKind::Tree
                        && self.reaches(&matcher, &fold(path.clone()))
            }
            (ResolvedPath::Unclear { .. }, true) => false,
            (ResolvedPath::Unclear { .. }, false) => true,
        }
    }

    /// Matches the true spelling. The texts of the condition may begin with `./` or be absolute.
    fn allows(&self, patterns: &RulePatterns, matcher: &Matcher, path: &str) -> bool {
        let matcher = self.plain(matcher);
        let directory = format!("{path}/");
        let is = |text: &str| holds(patterns, &matcher, &Value::from(text));
        is(path) || self.argument.kind != PathKind::File && is(&directory)
    }

    /// Returns all spellings of the place, and the text of the model.
    fn spellings(&self, path: &str) -> Vec<String> {
        let mut spellings = match path {
            "." => vec![".".to_owned(), "./".to_owned(), self.workspace.clone()],
            path => {
                vec![path.to_owned(), format!("./{path}"), format!("{}/{path}", self.workspace)]
            }
        };
        spellings.extend(self.given.clone());
        if self.argument.kind != PathKind::File {
            let directories: Vec<String> =
                spellings.iter().map(|one| format!("{}/", one.trim_end_matches('/'))).collect();
            spellings.extend(directories);
        }
        spellings
    }

    /// Returns true if a tool that works on a whole tree reaches a path that the condition names.
    fn reaches(&self, matcher: &Matcher, path: &str) -> bool {
        let below = |text: &str| {
            let text = self.stripped(text);
            path == "." || text.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        };
        match matcher {
            Matcher::StartsWith(text) => below(text),
            Matcher::Equals(value) => value.as_str().is_some_and(below),
            Matcher::In(values) => values.iter().filter_map(Value::as_str).any(below),
            Matcher::AnyOf(nested) => nested.iter().any(|one| self.reaches(one, path)),
            Matcher::AllOf(nested) => nested.iter().all(|one| self.reaches(one, path)),
            // The position of such a text is unknown; a whole workspace certainly contains it.
            Matcher::Contains(_) | Matcher::ContainsAll(_) | Matcher::Matches(_) => path == ".",
        }
    }

    /// Returns the condition with its literal texts in the true spelling.
    fn plain(&self, matcher: &Matcher) -> Matcher {
        let value = |value: &Value| match value.as_str() {
            Some(text) => Value::from(self.stripped(text)),
            None => value.clone(),
        };
        match matcher {
            Matcher::StartsWith(text) => Matcher::StartsWith(self.stripped(text).to_owned()),
            Matcher::Equals(wanted) => Matcher::Equals(value(wanted)),
            Matcher::In(wanted) => Matcher::In(wanted.iter().map(value).collect()),
            Matcher::AnyOf(nested) => {
                Matcher::AnyOf(nested.iter().map(|one| self.plain(one)).collect())
            }
            Matcher::AllOf(nested) => {
                Matcher::AllOf(nested.iter().map(|one| self.plain(one)).collect())
            }
            Matcher::Matches(_) | Matcher::Contains(_) | Matcher::ContainsAll(_) => matcher.clone(),
        }
    }

    /// Strips the workspace and `./` from the beginning of a rule's text.
    fn stripped<'a>(&self, text: &'a str) -> &'a str {
        let inside = match self.workspace.as_str() {
            "" => None,
            workspace => text.strip_prefix(workspace).and_then(|rest| rest.strip_prefix('/')),
        };
        let mut text = inside.unwrap_or(text);
        while let Some(rest) = text.strip_prefix("./") {
            text = rest;
        }
        text
    }
}

/// Resolves a path under the assumption that no part of it is a link.
fn of_text(given: &str, workspace: &str) -> ResolvedPath {
    let unclear = |why: &str| ResolvedPath::Unclear { why: format!("`{given}` {why}") };
    if given.contains('\0') {
        return unclear("is no path");
    }
    let workspace = workspace.trim_end_matches('/');
    let relative = match given.strip_prefix('/') {
        None => given,
        Some(_) if workspace.is_empty() => return unclear("is absolute"),
        Some(_) => match given.strip_prefix(workspace) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            Some(_) | None => return unclear("leads out of the workspace"),
        },
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return unclear("leads out of the workspace");
                }
            }
            part => parts.push(part),
        }
    }
    let path = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
    ResolvedPath::Inside { path, folds_case: false }
}

/// Returns the condition in lower case, for file systems that ignore case.
fn lower(matcher: &Matcher) -> Matcher {
    let value = |value: &Value| match value.as_str() {
        Some(text) => Value::from(text.to_lowercase()),
        None => value.clone(),
    };
    let all = |nested: &[Matcher]| nested.iter().map(lower).collect();
    match matcher {
        Matcher::StartsWith(text) => Matcher::StartsWith(text.to_lowercase()),
        Matcher::Matches(text) => Matcher::Matches(format!("(?i){text}")),
        Matcher::Equals(wanted) => Matcher::Equals(value(wanted)),
        Matcher::Contains(wanted) => Matcher::Contains(value(wanted)),
        Matcher::In(wanted) => Matcher::In(wanted.iter().map(value).collect()),
        Matcher::ContainsAll(wanted) => Matcher::ContainsAll(wanted.iter().map(value).collect()),
        Matcher::AnyOf(nested) => Matcher::AnyOf(all(nested)),
        Matcher::AllOf(nested) => Matcher::AllOf(all(nested)),
    }
}
