//! Facts about a call that the host finds before a ruling or a start: its paths and dependencies.
//!
//! Rules are about the path that will be opened, and an approval is for the content that will be
//! executed. The text of a call shows neither, so the host looks, and its findings are recorded.
//!
//! Must never: be computed again from a record; the facts of that moment are what counts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hash::ContentHash;

/// The facts about a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallFacts {
    /// The resolved paths among the arguments, by the name of the argument.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub paths: BTreeMap<String, ResolvedPath>,
    /// The dependencies of the call beside its arguments. Empty if the host did not look for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound: Vec<CallDependency>,
    /// The differences from the state at the last ruling or approval of the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<DependencyChange>,
}

impl CallFacts {
    /// Returns the changes, one line each with its difference if known. None without changes.
    pub fn change_summary(&self) -> Option<String> {
        let told = self.changes.iter().map(|change| match &change.diff {
            Some(diff) => format!("{}\n{}", change.summary_line(), diff.trim_end()),
            None => change.summary_line(),
        });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| told.join("\n"))
    }

    /// Returns true if there are no facts.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The place that a path leads to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedPath {
    /// The path leads to this place in the workspace.
    Inside {
        /// The path in the workspace, without links, `.` or `..`; `.` for the workspace itself.
        path: String,
        /// True if the file system ignores the case of letters there.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        folds_case: bool,
    },
    /// The path leads out of the workspace, or its target is unknown.
    Unclear {
        /// The reason, as text for a person.
        why: String,
    },
}

impl ResolvedPath {
    /// Returns the path, or the reason why it is unclear, as text for a person.
    pub fn display_text(&self) -> &str {
        match self {
            Self::Inside { path, .. } => path,
            Self::Unclear { why } => why,
        }
    }
}

/// A dependency of a call, in its state at the moment of the look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallDependency {
    /// The kind of dependency.
    pub kind: DependencyKind,
    /// The name: a path below the workspace, a file of the definition, a tool.
    pub name: String,
    /// The hash of the content or identity; none if it does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<ContentHash>,
    /// The content if it is a short text, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The kinds of dependencies of a call.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DependencyKind {
    /// A file that the call executes.
    File,
    /// The directory that the call runs in.
    Directory,
    /// A file that defines the agent.
    Definition,
    /// The tool itself.
    Tool,
    /// The place that a path among the arguments leads to.
    Path,
}

impl DependencyKind {
    /// Returns the kind as text with an article, for a sentence.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "the file",
            Self::Directory => "the working directory",
            Self::Definition => "the agent's definition",
            Self::Tool => "the tool",
            Self::Path => "the path",
        }
    }
}

/// A difference between the approved or judged state and the present one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependencyChange {
    /// The kind of the dependency that changed.
    pub kind: DependencyKind,
    /// The name of the dependency that changed.
    pub name: String,
    /// The earlier hash or path. None if it did not exist or was not part of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// The present hash or path. None if it does not exist any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
    /// The difference in lines, if both are short texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

impl DependencyChange {
    /// Returns the change as one line of text.
    pub fn summary_line(&self) -> String {
        let (kind, name) = (self.kind.as_str(), &self.name);
        match (&self.was, &self.is) {
            (Some(was), Some(is)) => format!("{kind} `{name}` changed: {was} became {is}"),
            (Some(was), None) => format!("{kind} `{name}` ({was}) is gone"),
            (None, Some(is)) => format!("{kind} `{name}` ({is}) was not there or not asked about"),
            (None, None) => format!("{kind} `{name}` cannot be read"),
        }
    }
}
