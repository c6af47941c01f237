//! What the host found out about a call before it was judged or made: where its path leads, and what it depends on.
//!
//! Rules are about the path that will be opened, and an approval is for the content that will be executed. Neither
//! can be told from the text of a call, so the host looks, and what it saw is recorded.
//!
//! Must never: be worked out again from a record; what was seen then is what counts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hash::ContentHash;

/// What was found out about one call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallFacts {
    /// Where the paths among the arguments lead, by the name of the argument.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub paths: BTreeMap<String, ResolvedPath>,
    /// What the call depends on beside its arguments. Empty where nobody looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound: Vec<CallDependency>,
    /// What is otherwise than when the call was judged or approved before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<DependencyChange>,
}

impl CallFacts {
    /// What changed, a line for each, with the difference of each where it is known. None if nothing did.
    pub fn change_summary(&self) -> Option<String> {
        let told = self.changes.iter().map(|change| match &change.diff {
            Some(diff) => format!("{}\n{}", change.summary_line(), diff.trim_end()),
            None => change.summary_line(),
        });
        let told: Vec<String> = told.collect();
        (!told.is_empty()).then(|| told.join("\n"))
    }

    /// Whether nothing was found out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolvedPath {
    /// To this place in the workspace.
    Inside {
        /// Relative to the workspace, without links, `.` or `..`; `.` for the workspace itself.
        path: String,
        /// Whether the file system takes upper and lower case for the same name there.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        folds_case: bool,
    },
    /// It cannot be told, or it leads out of the workspace.
    Unclear {
        /// Why, in words.
        why: String,
    },
}

impl ResolvedPath {
    /// The place in words for a person.
    pub fn display_text(&self) -> &str {
        match self {
            Self::Inside { path, .. } => path,
            Self::Unclear { why } => why,
        }
    }
}

/// Something that a call depends on, as it was when somebody looked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallDependency {
    /// What it is.
    pub kind: DependencyKind,
    /// Its name: a path below the workspace, a file of the definition, a tool.
    pub name: String,
    /// The hash of its content or identity; none if it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<ContentHash>,
    /// Its content, if that is a short text; secrets are taken out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What a call can depend on.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum DependencyKind {
    /// A file that it executes.
    File,
    /// The directory that it runs in.
    Directory,
    /// A file that defines the agent.
    Definition,
    /// The tool.
    Tool,
    /// Where a path among its arguments leads.
    Path,
}

impl DependencyKind {
    /// What it is, in words.
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

/// A difference between what was judged or approved and what there is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependencyChange {
    /// What changed.
    pub kind: DependencyKind,
    /// Its name.
    pub name: String,
    /// What it was: a hash or a path. None if it was not there or not part of the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<String>,
    /// What it is now. None if it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
    /// The difference in lines, if both are short texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

impl DependencyChange {
    /// The change on one line.
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
