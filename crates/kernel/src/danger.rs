//! The danger guard refuses irreversible commands and writes, and those that lead out of the
//! agent's bounds, in every mode and for every sender.
//!
//! Narrow on purpose: merely risky calls need a person's decision. Partial knowledge is enough to
//! refuse, so a command that cannot be parsed completely is examined all the same.
//!
//! Must never: allow a call. The absence of a finding is no permission.

mod file;
mod rules;
mod target;

use agentry_protocol::tool::ToolName;
use serde_json::Value;

use crate::shell;
use target::VariableScope;

/// A finding of the danger guard: the call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Danger {
    /// The stable name of the rule.
    pub rule: &'static str,
    /// The reason, for a person and for the model.
    pub why: String,
}

/// The directories that the guard's rules refer to.
#[derive(Clone, Copy, Debug)]
pub struct GuardDirectories<'a> {
    /// The workspace, as an absolute path.
    pub workspace: &'a str,
    /// The home directory; None if unknown.
    pub home: Option<&'a str>,
}

/// Returns the danger of a shell command; None if it is not refused.
pub fn of_command(command: &str, place: &GuardDirectories<'_>) -> Option<Danger> {
    let facts = shell::read(command);
    of_facts(command, &facts, place)
}

/// Returns the danger of a shell command that is parsed already.
pub fn of_facts(
    command: &str,
    facts: &shell::ShellFacts,
    place: &GuardDirectories<'_>,
) -> Option<Danger> {
    let mut scope = VariableScope::new(place);
    rules::fork_bomb(command, facts).or_else(|| {
        facts.commands.iter().enumerate().find_map(|(at, simple)| {
            scope.learn(simple);
            rules::of_simple(at, facts, &scope)
        })
    })
}

/// Returns the danger of a tool call. Checks both the path that it names and the path that it
/// opens, if that is known.
pub fn of_call(
    tool: &ToolName,
    input: &Value,
    opens: Option<&str>,
    place: &GuardDirectories<'_>,
) -> Option<Danger> {
    let text = |names: &[&str]| names.iter().find_map(|name| input.get(name)?.as_str());
    match tool.as_str() {
        "bash" => of_command(text(&["command", "cmd"])?, place),
        "write_file" | "edit_file" => {
            let path = text(&["path", "file_path", "filePath"])?;
            let opened = || {
                let opened = target::from_workspace(opens?, place);
                file::of_write(&opened, place)
            };
            file::of_write(&target::from_workspace(path, place), place).or_else(opened)
        }
        _ => None,
    }
}

fn refused(rule: &'static str, why: impl Into<String>) -> Option<Danger> {
    Some(Danger { rule, why: why.into() })
}
