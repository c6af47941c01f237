//! Places in definitions: the file, the line, and what stands there now.
//!
//! Must never: read a file that is no definition of this project, of the user's packs or of the operator's.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use agentry_agentfile::layout::HOME_ENTRIES;
use agentry_agentfile::source::Origin;
use agentry_protocol::verdict::Finding;
use agentry_runtime::redact::Redactor;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli_context::HOME;
use crate::definition_cache::DefinitionSnapshot;
use crate::limits::{API_SOURCE_BYTES_MAX, SHOWN_LINE_CHARS_MAX};

/// How the names of definitions end; no other file is looked into.
const ENDINGS: [&str; 5] = [".yml", ".yaml", ".json", ".toml", ".md"];

/// A place in a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DefinitionLocation {
    /// The file, as people see it from the project's directory.
    pub(crate) file: String,
    /// The line, from one.
    pub(crate) line: usize,
}

/// A place in a definition, with what stands there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SourceQuote {
    /// The file.
    pub(crate) file: String,
    /// The line, from one.
    pub(crate) line: usize,
    /// What the line says now; null if the file has no such line any more.
    pub(crate) text: Option<String>,
}

/// What one stage said about a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StageFinding {
    /// The stage: registered, input, access, scope, sandbox, tool access, rules, danger or hook.
    pub(crate) source: String,
    /// allow, ask or deny.
    pub(crate) verdict: String,
    /// Why, in words.
    pub(crate) why: String,
    /// The rule that said so, as `file:line`, or `built-in` and its name.
    pub(crate) rule: Option<String>,
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
    /// The place of an origin; none for what is said by no file.
    pub(crate) fn from_origin(origin: &Origin) -> Option<Self> {
        (origin.line > 0).then(|| Self { file: origin.file.to_string(), line: origin.line })
    }

    /// The place that a rule of a ruling names; none for what is built in.
    pub(crate) fn from_rule(rule: &str) -> Option<Self> {
        let (file, line) = rule.rsplit_once(':')?;
        let line = line.parse().ok().filter(|line| *line > 0)?;
        Some(Self { file: file.to_owned(), line })
    }
}

/// Where the texts of definitions are.
pub(crate) struct SourceReader<'a> {
    /// What was read.
    pub(crate) definite: &'a DefinitionSnapshot,
    /// The directory that was read.
    pub(crate) project: &'a Path,
    /// Takes out the values of secrets.
    pub(crate) redactor: &'a Redactor,
}

impl SourceReader<'_> {
    /// What stands at a place now.
    pub(crate) fn quote(&self, place: DefinitionLocation) -> SourceQuote {
        let text = self.line(&place);
        SourceQuote { file: place.file, line: place.line, text }
    }

    /// The line at a place, as it is now.
    pub(crate) fn line(&self, place: &DefinitionLocation) -> Option<String> {
        let rules = &self.definite.loaded.library.access;
        let text = match rules.source(&place.file) {
            Some(source) => source.text.to_string(),
            None => read(&self.path(&place.file)?)?,
        };
        let line = text.lines().nth(place.line.checked_sub(1)?)?.trim();
        let line: String = line.chars().take(SHOWN_LINE_CHARS_MAX).collect();
        Some(self.redactor.hide(&line))
    }

    /// Where a file lies, if it is one of the definitions.
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
        // A link must not lead elsewhere.
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
    file.take(API_SOURCE_BYTES_MAX).read_to_string(&mut text).ok()?;
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
