//! The helper inside the sandbox: it runs the calls of the file tools until its input ends.
//!
//! Must never: work outside the confinement of its start, or exit without a code for the reason.

use std::io::{BufRead, Write};

use agentry_sandbox::CancelToken;
use serde_json::Value;

use crate::fetch_rules::FetchRules;
use crate::file_tools::FileToolsRequest;
use crate::sandbox_session::{FileToolsStart, ToolSandbox};
use crate::tool::{ToolContext, ToolLimits};
use crate::toolset::Toolset;
use crate::workspace::Workspace;

/// Serves the file tools from inside a sandbox until stdin ends; returns the exit code.
pub fn serve_files(arguments: &Value) -> i32 {
    let Ok(start) = serde_json::from_value::<FileToolsStart>(arguments.clone()) else { return 2 };
    let Ok(workspace) = Workspace::open(&start.workspace) else { return 3 };
    let workspace = workspace.confined_by(start.confinement);
    let tools = Toolset::builtin();
    let (fetch, stop) = (FetchRules::default(), CancelToken::new());
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return 4 };
        let Ok(question) = serde_json::from_str(&line) else { return 5 };
        let context = ToolContext {
            workspace: &workspace,
            stop: &stop,
            bounds: ToolLimits::default(),
            fetch: &fetch,
            env: &[],
            confines: ToolSandbox::Off,
            judged: None,
        };
        let answer = match question {
            FileToolsRequest::Run(call, bounds, judged) => {
                let context = ToolContext { bounds, judged: judged.as_ref(), ..context };
                serde_json::to_string(&tools.run(&call, &context))
            }
            FileToolsRequest::Preview(call, bounds) => {
                serde_json::to_string(&tools.preview(&call, &ToolContext { bounds, ..context }))
            }
        };
        let Ok(mut answer) = answer else { return 6 };
        answer.push('\n');
        if output.write_all(answer.as_bytes()).and_then(|()| output.flush()).is_err() {
            return 7;
        }
    }
    0
}
