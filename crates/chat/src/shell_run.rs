//! A finished shell command of the user.
//!
//! Must never: end the quotation of its output early.

use agentry_protocol::tool_call::ToolOutcome;

/// A shell command as the user typed it.
pub(crate) struct ShellRequest {
    pub(crate) command: String,
    /// True if the output goes to the agent with the next prompt.
    pub(crate) told: bool,
}

/// A finished shell command.
pub(crate) struct ShellRun {
    pub(crate) request: ShellRequest,
    pub(crate) outcome: ToolOutcome,
}

impl ShellRun {
    /// Returns the text for the agent: the command and its output.
    pub(crate) fn context(&self) -> String {
        let fence = "`".repeat(longest_fence(&self.outcome.text).max(2) + 1);
        format!(
            "I ran this command:\n{fence}\n$ {}\n{}\n{fence}",
            self.request.command,
            self.outcome.text.trim_end()
        )
    }
}

/// Returns the length of the longest run of backticks.
fn longest_fence(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
