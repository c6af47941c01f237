//! Replaces an exact piece of text in a file.
//!
//! Must never: change a byte outside the match, or guess between several matches.

use agentry_protocol::tool_call::{RepeatSafety, ToolOutcome, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::{parse, run_parsed};
use crate::atomic_write::{content, diff, replace, target};
use crate::limits::MATCH_LINES_MAX;
use crate::tool::{Tool, ToolContext, spec};
use crate::workspace::{Error, shown};

pub(crate) struct EditFile {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditFileArgs {
    path: String,
    old_string: String,
    new_string: String,
    replace_all: Option<bool>,
}

impl EditFile {
    pub(crate) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "old_string": {"type": "string", "minLength": 1},
                "new_string": {"type": "string"},
                "replace_all": {"type": "boolean"}
            },
            "required": ["path", "old_string", "new_string"],
            "additionalProperties": false
        });
        let description =
            "Replace an exact piece of text that stands once in a file, or all of them.";
        Self { spec: spec("edit_file", description, parameters, RepeatSafety::Uncertain) }
    }
}

impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_file_tool(&self) -> bool {
        true
    }

    fn run(&self, input: &Value, context: &ToolContext<'_>) -> ToolOutcome {
        run_parsed(input, |arguments: EditFileArgs| edit(&arguments, context))
    }

    fn preview(&self, input: &Value, context: &ToolContext<'_>) -> Option<String> {
        let arguments: EditFileArgs = parse(input).ok()?;
        let relative = target(context, &arguments.path).ok()?.relative;
        let old = String::from_utf8(content(context, &relative).ok()?).ok()?;
        let edited = edited(&old, &arguments).ok()?;
        diff(&arguments.path, Some(old.as_bytes()), edited.text.as_bytes())
    }
}

fn edit(arguments: &EditFileArgs, context: &ToolContext<'_>) -> Result<ToolOutcome, ToolOutcome> {
    let path = &arguments.path;
    let target = target(context, path)?;
    let old = content(context, &target.relative)?;
    let old = String::from_utf8(old).map_err(|_| {
        ToolOutcome::failed(format!("`{path}` is a binary file; only text is edited."))
    })?;
    let edited = edited(&old, arguments).map_err(ToolOutcome::failed)?;
    let bytes = u64::try_from(edited.text.len()).unwrap_or(u64::MAX);
    let bytes_max = context.bounds.write_bytes;
    if bytes > bytes_max {
        return Err(Error::TooLarge { path: shown(&target.relative), bytes, bytes_max }.into());
    }
    replace(context.workspace, &target, edited.text.as_bytes())?;
    let count = edited.lines.len();
    let occurrences = if count == 1 { "occurrence" } else { "occurrences" };
    let lines = listed(&edited.lines);
    Ok(ToolOutcome::done(format!("Replaced {count} {occurrences} in `{path}` ({lines}).")))
}

struct EditOutcome {
    text: String,
    lines: Vec<usize>,
}

/// Returns the text after the edit, or the reason why there is none.
fn edited(text: &str, arguments: &EditFileArgs) -> Result<EditOutcome, String> {
    let path = &arguments.path;
    if arguments.old_string.is_empty() {
        return Err("old_string is empty. To write a whole file, use write_file.".to_owned());
    }
    if arguments.old_string == arguments.new_string {
        return Err(
            "old_string and new_string are the same; there is nothing to change.".to_owned()
        );
    }
    let replace_all = arguments.replace_all.unwrap_or_default();
    let (old, new) = with_line_ends_of(text, &arguments.old_string, &arguments.new_string);
    let found = occurrences(text, &old, replace_all);
    match (found.as_slice(), replace_all) {
        ([], _) => Err(not_there(text, &old, path)),
        ([_], _) | (_, true) => Ok(EditOutcome {
            text: if replace_all { text.replace(&old, &new) } else { text.replacen(&old, &new, 1) },
            lines: lines_of(text, &found),
        }),
        (several, false) => Err(format!(
            "old_string stands {} times in `{path}` ({}). Give more of the text around the one \
             you mean, or set replace_all.",
            several.len(),
            listed(&lines_of(text, several))
        )),
    }
}

/// Returns the positions of a text. A unique text may not even overlap with a second match.
fn occurrences(text: &str, old: &str, replace_all: bool) -> Vec<usize> {
    if replace_all {
        return text.match_indices(old).map(|(at, _)| at).collect();
    }
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(old)) {
        found.push(from + at);
        from += at + step;
    }
    found
}

/// Adapts line ends: models write plain ones, and in a file with CRLF they mean CRLF.
fn with_line_ends_of(text: &str, old: &str, new: &str) -> (String, String) {
    let plain = || (old.to_owned(), new.to_owned());
    let with_returns = |part: &str| part.replace("\r\n", "\n").replace('\n', "\r\n");
    let line_ends = text.matches('\n').count();
    let returns = text.matches("\r\n").count();
    let is_mixed = returns < line_ends;
    if returns == 0 || (is_mixed && text.contains(old)) {
        return plain();
    }
    (with_returns(old), with_returns(new))
}

fn not_there(text: &str, old: &str, path: &str) -> String {
    let first = old.lines().map(str::trim).find(|line| !line.is_empty());
    let alike = first.and_then(|first| text.lines().position(|line| line.trim() == first));
    let hint = match alike {
        Some(index) => format!(
            " Line {} begins like it but differs in white space or in what follows.",
            index + 1
        ),
        None => String::new(),
    };
    format!("`old_string` was not found in {path}.{hint} Read the file again and copy it exactly.")
}

fn lines_of(text: &str, found: &[usize]) -> Vec<usize> {
    let mut line = 1;
    let mut from = 0;
    let mut lines = Vec::with_capacity(found.len());
    for &at in found {
        line += text.as_bytes()[from..at].iter().filter(|byte| **byte == b'\n').count();
        from = at;
        lines.push(line);
    }
    lines
}

fn listed(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(MATCH_LINES_MAX).map(usize::to_string).collect();
    let word = if lines.len() == 1 { "line" } else { "lines" };
    let more = if lines.len() > MATCH_LINES_MAX { ", …" } else { "" };
    format!("{word} {}{more}", shown.join(", "))
}
