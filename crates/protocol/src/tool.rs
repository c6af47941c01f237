//! The canonical tool names, and the aliases of other formats and runtimes for them.
//!
//! Files and wires may say `Read`, `readFile` or `read_file`; inside there is one name. Tools of an
//! MCP server are written `server/tool` and keep that name.
//!
//! Must never: say whether a tool may be used. This is a dictionary, not a permission.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kind of work that a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolCategory {
    /// Reads files or state.
    Read,
    /// Creates or replaces files or state.
    Write,
    /// Changes a part of a file.
    Edit,
    /// Finds files by name.
    Glob,
    /// Finds text in files.
    Grep,
    /// Runs commands.
    Bash,
    /// Reaches the network.
    Web,
    /// Work of no other kind.
    Custom,
}

/// The harm that a call can do; shown with an approval, decides nothing by itself.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    /// Only reads.
    Low,
    /// Changes state that a person can see and undo.
    Medium,
    /// Can do everything that its sandbox allows.
    High,
}

/// A condition that a host or an agent must meet before a known tool can be offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolRequirement {
    /// Nothing beyond the runtime.
    Nothing,
    /// The name in the agent's list: no agent has the tool by default.
    Name,
    /// A macOS machine.
    MacOs,
    /// A configured search service.
    SearchService,
    /// `capabilities.self_modify: true` of the agent.
    SelfModify,
    /// `capabilities.spawn_subagents: true` of the agent.
    SpawnSubagents,
}

/// A canonical tool name, or `server/tool` for a tool of an MCP server.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct ToolName(String);

impl ToolName {
    /// Returns the canonical name for a name or alias; an unknown name is kept unchanged.
    pub fn canonical(written: &str) -> Self {
        match find_known_tool(written) {
            Some(tool) => Self(tool.name.to_owned()),
            None => Self(written.to_owned()),
        }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns server and tool if this names a tool of an MCP server.
    pub fn mcp(&self) -> Option<(&str, &str)> {
        let (server, tool) = self.0.split_once('/')?;
        (!server.is_empty() && !tool.is_empty() && !tool.contains('/')).then_some((server, tool))
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An entry of the dictionary of tools.
#[derive(Clone, Copy, Debug)]
pub struct KnownTool {
    /// The canonical name.
    pub name: &'static str,
    /// The names of the tool in other formats and runtimes.
    pub aliases: &'static [&'static str],
    /// The kind of work that the tool does.
    pub category: ToolCategory,
    /// The harm that a call can do.
    pub risk: Risk,
    /// The condition that must be met before the tool can be offered.
    pub needs: ToolRequirement,
    /// The description for the prompt, on one line.
    pub summary: &'static str,
}

impl KnownTool {
    const fn needing(self, needs: ToolRequirement) -> Self {
        Self { needs, ..self }
    }
}

/// Returns the entry for a canonical name or an alias.
pub fn find_known_tool(written: &str) -> Option<&'static KnownTool> {
    KNOWN.iter().find(|tool| tool.name == written || tool.aliases.contains(&written))
}

/// An argument that is a path in the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathArgument {
    /// The name of the argument.
    pub name: &'static str,
    /// The kind of path.
    pub kind: PathKind,
}

/// The kind of a path among the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// Everything below a directory; the whole workspace if the argument is missing.
    Tree,
}

/// Returns the argument that is a path in the workspace. Each tool has at most one.
pub fn path_argument(tool: &ToolName) -> Option<PathArgument> {
    match tool.as_str() {
        "read_file" | "write_file" | "edit_file" => {
            Some(PathArgument { name: "path", kind: PathKind::File })
        }
        "glob" | "grep" => Some(PathArgument { name: "path", kind: PathKind::Tree }),
        "bash" => Some(PathArgument { name: "cwd", kind: PathKind::Directory }),
        _ => None,
    }
}

const fn tool(
    name: &'static str,
    aliases: &'static [&'static str],
    category: ToolCategory,
    risk: Risk,
    summary: &'static str,
) -> KnownTool {
    KnownTool { name, aliases, category, risk, needs: ToolRequirement::Nothing, summary }
}

use Risk::{High, Low, Medium};
use ToolCategory::{Bash, Custom, Edit, Glob, Grep, Read, Web, Write};
use ToolRequirement::{MacOs, Name, SearchService, SelfModify, SpawnSubagents};

/// Every tool name that has a meaning of its own, in the order of the prompt.
#[rustfmt::skip]
pub const KNOWN: &[KnownTool] = &[
    tool("read_file", &["Read", "readFile", "read"], Read, Low, "Read a file, or a range of its lines."),
    tool("write_file", &["Write", "writeFile", "write"], Write, Medium, "Create or replace a file."),
    tool("edit_file", &["Edit", "editFile", "edit"], Edit, Medium, "Replace an exact piece of text in a file."),
    tool("glob", &["Glob"], Glob, Low, "Find files by name pattern."),
    tool("grep", &["Grep", "search"], Grep, Low, "Search file contents with a regular expression."),
    tool("bash", &["Bash", "shell", "exec"], Bash, High, "Run a shell command in the sandbox."),
    tool("code_execution", &["CodeExecution", "codeExecution"], Bash, High, "Run a short program in the sandbox."),
    tool("web_fetch", &["WebFetch", "webFetch", "fetch"], Web, Medium, "Fetch a web page as text."),
    tool("web_search", &["WebSearch", "webSearch"], Web, Medium, "Search the web.").needing(SearchService),
    tool("memory_search", &["memorySearch"], Read, Low, "Search what was remembered before."),
    tool("memory_store", &["memoryStore"], Write, Low, "Remember something for later."),
    tool("memory_forget", &["memoryForget"], Write, Medium, "Forget something that was remembered."),
    tool("git_status", &["gitStatus"], Read, Low, "Show the state of the working tree."),
    tool("git_diff", &["gitDiff"], Read, Low, "Show changes as a patch."),
    tool("git_log", &["gitLog"], Read, Low, "Show the history of commits."),
    tool("git_show", &["gitShow"], Read, Low, "Show one commit."),
    tool("git_commit", &["gitCommit"], Write, Medium, "Commit changes with a message."),
    tool("load_skill", &["Skill", "loadSkill"], Read, Low, "Load the full text of a skill by its name."),
    tool("discover_tools", &["discoverTools"], Read, Low, "Find tools that fit an intent."),
    tool("discover_skills", &["discoverSkills"], Read, Low, "Find skills that fit an intent."),
    tool("discover_rules", &["discoverRules"], Read, Low, "Find rules that apply to a path or an intent."),
    tool("delegate", &["Delegate"], Custom, Medium, "Hand a piece of work to another agent.").needing(SpawnSubagents),
    tool("create_hook", &["createHook"], Write, High, "Register a program that looks at events and may start work.").needing(Name),
    tool("list_hooks", &["listHooks"], Read, Low, "List the hooks that look at events.").needing(Name),
    tool("get_hook", &["getHook"], Read, Low, "Show one of these hooks and what it did lately.").needing(Name),
    tool("disable_hook", &["disableHook"], Write, Medium, "Disable a hook that you made.").needing(Name),
    tool("delete_hook", &["deleteHook"], Write, Medium, "Delete a hook that you made.").needing(Name),
    tool("agent_read_self", &[], Read, Low, "Read a file of your own agent directory.").needing(SelfModify),
    tool("agent_write_self", &[], Write, Medium, "Write a file of your own agent directory.").needing(SelfModify),
    tool("agent_edit_self", &[], Edit, Medium, "Edit a file of your own agent directory.").needing(SelfModify),
    tool("agent_commit", &[], Write, Medium, "Commit the changes to your own agent directory.").needing(SelfModify),
    tool("agent_diff", &[], Read, Low, "Show uncommitted changes to your own agent directory.").needing(SelfModify),
    tool("agent_revert", &[], Write, Medium, "Return your own agent directory to an earlier commit.").needing(SelfModify),
    tool("agent_log", &[], Read, Low, "Show the history of your own agent directory.").needing(SelfModify),
    tool("run_applescript", &["runApplescript"], Bash, High, "Run an AppleScript.").needing(MacOs),
    tool("open_url", &["openUrl"], Web, Medium, "Open an address in the browser of the desktop.").needing(MacOs),
    tool("take_screenshot", &["takeScreenshot"], Read, Medium, "Take a picture of the screen.").needing(MacOs),
    tool("run_shortcut", &["runShortcut"], Bash, High, "Run a shortcut by its name.").needing(MacOs),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_name_means_one_tool() {
        for (written, canonical) in [
            ("Read", "read_file"),
            ("readFile", "read_file"),
            ("read_file", "read_file"),
            ("Bash", "bash"),
            ("shell", "bash"),
            ("exec", "bash"),
            ("WebFetch", "web_fetch"),
            ("github/create_issue", "github/create_issue"),
            ("fortune", "fortune"),
        ] {
            assert_eq!(ToolName::canonical(written).as_str(), canonical);
        }
    }

    #[test]
    fn no_name_or_alias_stands_for_two_tools() {
        let mut seen = std::collections::BTreeSet::new();
        for tool in KNOWN {
            for name in tool.aliases.iter().chain([&tool.name]) {
                assert!(seen.insert(*name), "{name} stands twice");
            }
        }
    }

    #[test]
    fn only_a_server_and_a_tool_make_an_mcp_name() {
        assert_eq!(ToolName::canonical("github/issues").mcp(), Some(("github", "issues")));
        for wrong in ["/issues", "github/", "a/b/c", "plain"] {
            assert_eq!(ToolName::canonical(wrong).mcp(), None, "{wrong}");
        }
    }
}
