//! What is refused in every mode, whoever asks: commands and writes that cannot be taken back or that
//! take the agent out of its bounds.
//!
//! Narrow on purpose: what is merely risky is for a person to decide. Partial knowledge is enough to refuse,
//! so a command that is not fully understood is looked at all the same.
//!
//! Must never: allow anything. Nothing found here is not a permission.

mod file;
mod rules;
mod target;

use agentry_protocol::tool::ToolName;
use serde_json::Value;

use crate::shell;
use target::VariableScope;

/// What is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Danger {
    /// The rule, by a name that stays.
    pub rule: &'static str,
    /// Why, for a person and for the model.
    pub why: String,
}

/// Where the agent works.
#[derive(Clone, Copy, Debug)]
pub struct GuardDirectories<'a> {
    /// The workspace, as an absolute path.
    pub workspace: &'a str,
    /// The home directory, if there is one.
    pub home: Option<&'a str>,
}

/// Whether a shell command is refused.
pub fn of_command(command: &str, place: &GuardDirectories<'_>) -> Option<Danger> {
    let facts = shell::read(command);
    of_facts(command, &facts, place)
}

/// Whether a command that was read already is refused.
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

/// Whether a call of a tool is refused. The path that it opens, if that is known, counts as well as the one that
/// it names.
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
