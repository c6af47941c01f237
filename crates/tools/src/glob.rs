//! Finds files by a pattern for their path.
//!
//! Must never: open a file, or list a path outside the workspace.

use std::ops::ControlFlow;
use std::path::{Component, Path};

use agentry_protocol::tool_call::{
    CallMeasurements, OutcomeStatus, RepeatSafety, ToolOutcome, ToolSpec,
};
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::run_parsed;
use crate::tool::{Tool, ToolContext, spec};
use crate::walk::{WalkEnd, WalkOptions, files};
use crate::workspace::shown;

pub(crate) struct Glob {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GlobArgs {
    pattern: String,
    path: Option<String>,
}

impl Glob {
    pub(crate) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "minLength": 1},
                "path": {"type": "string", "description": "directory"}
            },
            "required": ["pattern"],
            "additionalProperties": false
        });
        let description = "Find files by a pattern such as src/**/*.rs. Skips ignored files, and \
                           hidden ones unless the pattern names them.";
        Self { spec: spec("glob", description, parameters, RepeatSafety::Harmless) }
    }
}

impl Tool for Glob {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_file_tool(&self) -> bool {
        true
    }

    fn run(&self, input: &Value, context: &ToolContext<'_>) -> ToolOutcome {
        run_parsed(input, |arguments: GlobArgs| find(&arguments, context))
    }
}

fn find(arguments: &GlobArgs, context: &ToolContext<'_>) -> Result<ToolOutcome, ToolOutcome> {
    let pattern = &arguments.pattern;
    let parts = || Path::new(pattern).components();
    if parts().any(|part| matches!(part, Component::ParentDir | Component::RootDir)) {
        return Err(ToolOutcome::failed(format!(
            "The pattern `{pattern}` may not be absolute or hold `..`; give the directory as path."
        )));
    }
    let matcher = matcher(pattern.strip_prefix("./").unwrap_or(pattern))?;
    let given = arguments.path.as_deref().unwrap_or(".");
    let root = context.workspace.locate(given, context.judged)?.path;
    let below = root.components().filter(|part| *part != Component::CurDir).count();
    let results_max = context.bounds.search_results;
    let mut found = Vec::new();
    let walk = WalkOptions { root: &root, hidden: names_hidden(pattern) };
    let end = files(&walk, context, &mut |path| {
        let inside: std::path::PathBuf = path.components().skip(below).collect();
        if !matcher.is_match(&inside) {
            return ControlFlow::Continue(());
        }
        if found.len() == results_max {
            return ControlFlow::Break(());
        }
        found.push(shown(path));
        ControlFlow::Continue(())
    })?;
    Ok(answer(found, end, &format!("No file matches `{pattern}`.")))
}

/// Formats the results, one per line, with notes on the end of the walk.
pub(crate) fn answer(mut lines: Vec<String>, end: WalkEnd, nothing: &str) -> ToolOutcome {
    if lines.is_empty() {
        lines.push(nothing.to_owned());
    }
    if let Some(note) = end.note() {
        lines.push(format!("[cut: {note}]"));
    }
    let status = match end {
        WalkEnd::Stopped => OutcomeStatus::Stopped,
        WalkEnd::Complete | WalkEnd::Enough | WalkEnd::Entries | WalkEnd::Time => {
            OutcomeStatus::Done
        }
    };
    let measured =
        CallMeasurements { truncated: end != WalkEnd::Complete, ..CallMeasurements::default() };
    ToolOutcome { status, text: lines.join("\n"), measured }
}

/// Returns true if a pattern names files that begin with a dot.
pub(crate) fn names_hidden(pattern: &str) -> bool {
    pattern.split('/').any(|part| part.len() > 1 && part.starts_with('.') && part != "..")
}

/// Compiles a pattern. `*` matches within one directory, `**` across directories.
pub(crate) fn matcher(pattern: &str) -> Result<GlobMatcher, ToolOutcome> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| {
            ToolOutcome::failed(format!("The pattern `{pattern}` is wrong: {}.", error.kind()))
        })
}
