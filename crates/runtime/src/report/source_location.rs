//! Places in definition files: the file, the line, and its current text.
//!
//! Must never: read a file that is no definition of the project, the user's packs or the operator.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use agentry_agentfile::layout::HOME_ENTRIES;
use agentry_agentfile::source::Origin;
use agentry_protocol::verdict::Finding;
use schemars::JsonSchema;
use serde::Serialize;

use crate::definitions::definition_cache::DefinitionSnapshot;
use crate::definitions::project_loader::HOME;
use crate::limits::{SOURCE_FILE_BYTES_MAX, SOURCE_LINE_CHARS_MAX};
use crate::redact::Redactor;

/// The file name extensions of definitions; no other file is read.
const ENDINGS: [&str; 5] = [".yml", ".yaml", ".json", ".toml", ".md"];

/// A place in a definition file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionLocation {
    /// Path of the file, relative to the project.
    pub file: String,
    /// Line, from one.
    pub line: usize,
}

/// A place in a definition file, with its current text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceQuote {
    /// Path of the file.
    pub file: String,
    /// Line, from one.
    pub line: usize,
    /// Current text of the line; null if the file no longer has it.
    pub text: Option<String>,
}

/// The finding of one stage about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageFinding {
    /// Stage: registered, input, access, scope, sandbox, tool access, rules, danger or hook.
    pub source: String,
    /// allow, ask or deny.
    pub verdict: String,
    /// Reason, in words.
    pub why: String,
    /// Rule behind the finding, as `file:line`, or `built-in` and its name.
    pub rule: Option<String>,
}

impl From<&Finding> for StageFinding {
    fn from(finding: &Finding) -> Self {
        Self {
            source: finding.stage.to_string(),
            verdict: finding.verdict.to_string(),
            why: finding.why.clone(),
            rule: finding.rule.clone(),
        }
    }
}

impl DefinitionLocation {
    /// Returns the place of an origin; none for a value that no file defines.
    pub fn from_origin(origin: &Origin) -> Option<Self> {
        (origin.line > 0).then(|| Self { file: origin.file.to_string(), line: origin.line })
    }

    /// Returns the place that a rule of a finding names; none for a built-in rule.
    pub fn from_rule(rule: &str) -> Option<Self> {
        let (file, line) = rule.rsplit_once(':')?;
        let line = line.parse().ok().filter(|line| *line > 0)?;
        Some(Self { file: file.to_owned(), line })
    }
}

/// Reads lines of definition files.
pub struct SourceReader<'a> {
    /// The current definitions.
    pub definite: &'a DefinitionSnapshot,
    /// The directory of the project.
    pub project: &'a Path,
    /// Removes the values of secrets from the text.
    pub redactor: &'a Redactor,
}

impl SourceReader<'_> {
    /// Returns a place with its current text.
    pub fn quote(&self, place: DefinitionLocation) -> SourceQuote {
        let text = self.line(&place);
        SourceQuote { file: place.file, line: place.line, text }
    }

    /// Returns the current line at a place, cut and without secrets; none if there is no such line.
    pub fn line(&self, place: &DefinitionLocation) -> Option<String> {
        let rules = &self.definite.loaded.library.access;
        let text = match rules.source(&place.file) {
            Some(source) => source.text.to_string(),
            None => read(&self.path(&place.file)?)?,
        };
        let line = text.lines().nth(place.line.checked_sub(1)?)?.trim();
        let line: String = line.chars().take(SOURCE_LINE_CHARS_MAX).collect();
        Some(self.redactor.hide(&line))
    }

    /// Returns the path of a file; none if it is not a definition.
    fn path(&self, file: &str) -> Option<PathBuf> {
        if !ENDINGS.iter().any(|ending| file.ends_with(ending)) {
            return None;
        }
        let definitions = &self.definite.definitions;
        if !definitions.settings_file.is_empty() && file == definitions.settings_file {
            return Some(PathBuf::from(file));
        }
        let below_home = file.strip_prefix(HOME).and_then(|rest| rest.strip_prefix('/'));
        let (root, below) = match (below_home, &definitions.home) {
            (Some(below), Some(home)) => {
                let entry = below.split('/').next()?;
                (Path::new(home), HOME_ENTRIES.contains(&entry).then_some(below)?)
            }
            (Some(_), None) => return None,
            (None, _) => (self.project, file),
        };
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if !Path::new(below).components().all(is_plain) {
            return None;
        }
        // A symbolic link must not lead out of the root.
        let (root, path) = (root.canonicalize().ok()?, root.join(below).canonicalize().ok()?);
        path.starts_with(root).then_some(path)
    }
}

fn read(path: &Path) -> Option<String> {
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(SOURCE_FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_names_a_line_of_a_file_or_nothing() {
        let place = DefinitionLocation { file: "agents/a:b/agent.yml".to_owned(), line: 12 };
        assert_eq!(DefinitionLocation::from_rule("agents/a:b/agent.yml:12"), Some(place));
        for rule in ["built-in", "built-in rm:root", "agent.yml:0", "agent.yml:x", ""] {
            assert_eq!(DefinitionLocation::from_rule(rule), None, "{rule}");
        }
    }
}
