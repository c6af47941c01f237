//! Creates or replaces a file.
//!
//! Must never: append, or touch anything but the one file and its missing directories.

use agentry_protocol::tool_call::{RepeatSafety, ToolOutcome, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::parse;
use crate::atomic_write::{content, diff, replace, target};
use crate::tool::{Tool, ToolContext, spec};
use crate::workspace::{Error, parent};

pub(crate) struct WriteFile {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteFileArgs {
    path: String,
    content: String,
    create_dirs: Option<bool>,
}

impl WriteFile {
    pub(crate) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "content": {"type": "string"},
                "create_dirs": {"type": "boolean", "default": true}
            },
            "required": ["path", "content"],
            "additionalProperties": false
        });
        let description = "Create a file or replace it whole. To change a part, use edit_file.";
        Self { spec: spec("write_file", description, parameters, RepeatSafety::Uncertain) }
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_file_tool(&self) -> bool {
        true
    }

    fn run(&self, input: &Value, context: &ToolContext<'_>) -> ToolOutcome {
        match parse(input) {
            Ok(arguments) => write(&arguments, context).unwrap_or_else(ToolOutcome::from),
            Err(outcome) => outcome,
        }
    }

    fn preview(&self, input: &Value, context: &ToolContext<'_>) -> Option<String> {
        let arguments: WriteFileArgs = parse(input).ok()?;
        let target = target(context, &arguments.path).ok()?;
        let old = if target.is_new() { None } else { content(context, &target.relative).ok() };
        diff(&arguments.path, old.as_deref(), arguments.content.as_bytes())
    }
}

fn write(arguments: &WriteFileArgs, context: &ToolContext<'_>) -> Result<ToolOutcome, Error> {
    let path = &arguments.path;
    let bytes = u64::try_from(arguments.content.len()).unwrap_or(u64::MAX);
    if bytes > context.bounds.write_bytes {
        let bytes_max = context.bounds.write_bytes;
        return Err(Error::TooLarge { path: path.clone(), bytes, bytes_max });
    }
    let target = target(context, path)?;
    if target.is_new() && arguments.create_dirs.unwrap_or(true) {
        let parent = parent(&target.relative);
        let made = context.workspace.dir().create_dir_all(parent);
        made.map_err(|reason| context.workspace.error(parent, reason))?;
    }
    replace(context.workspace, &target, arguments.content.as_bytes())?;
    let what = if target.is_new() { "Created" } else { "Replaced" };
    Ok(ToolOutcome::done(format!("{what} `{path}` with {bytes} bytes.")))
}
