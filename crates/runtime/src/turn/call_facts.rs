//! Resolves the dependencies of a call: its path, and the content that its approval is bound to.
//!
//! They are resolved when a call is proposed and again right before it is made. If they differ, the
//! call is withheld and judged again.
//!
//! Must never: treat content that it did not read as unchanged.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentry_agentfile::agent::{OfferedTool, ToolKind};
use agentry_kernel::limits::EXECUTED_CANDIDATES_MAX;
use agentry_kernel::shell::{self, FileUse};
use agentry_protocol::call_facts::{
    CallDependency, CallFacts, DependencyChange, DependencyKind, ResolvedPath,
};
use agentry_protocol::event::Permit;
use agentry_protocol::tool::{ToolName, path_argument};
use agentry_protocol::tool_call::ToolCall;
use agentry_protocol::{AgentId, ContentHash, ContentHasher};
use agentry_tools::{ShellCallInput, Workspace, unified_diff};
use serde_json::Value;

use crate::definitions::Definitions;
use crate::definitions::confinement;
use crate::host::SharedHost;
use crate::host::tool_source::ToolGrant;
use crate::limits::{BOUND_BYTES_MAX, BOUND_DIFF_CHARS_MAX, BOUND_FILES_MAX, BOUND_TEXT_BYTES_MAX};

/// The files of an agent that define its permissions.
const DEFINITIONS: [&str; 3] = ["agent.yml", "AGENT.md", "context/system_prompt.md"];

/// Resolves the path among the arguments of a call.
pub fn paths(workspace: &Workspace, call: &ToolCall) -> BTreeMap<String, ResolvedPath> {
    let argument = path_argument(&call.tool).map(|argument| argument.name);
    let given = argument.and_then(|name| Some((name, call.input.get(name)?.as_str()?)));
    given.map(|(name, given)| (name.to_owned(), workspace.resolve(given))).into_iter().collect()
}

/// The permit of a call, and its facts at the time of the permit.
pub(crate) struct CallPermit {
    pub(crate) by: Permit,
    pub(crate) expected: Box<CallFacts>,
    /// True if a person replaced the arguments while approving.
    pub(crate) by_edit: bool,
}

/// Resolves the facts about the calls of one agent.
pub(crate) struct CallFactResolver {
    host: SharedHost,
    workspace: Arc<Workspace>,
    // The agent's directory; None if the agent does not load.
    directory: Option<PathBuf>,
    tools: BTreeMap<ToolName, OfferedTool>,
}

impl CallFactResolver {
    pub(crate) fn new(
        host: SharedHost,
        workspace: Arc<Workspace>,
        definitions: &Definitions,
        agent: &AgentId,
    ) -> Self {
        let agent = definitions.agent(agent).ok();
        let tools = agent.iter().flat_map(|agent| &agent.powers.toolset);
        Self {
            host,
            workspace,
            directory: agent.map(|agent| confinement::directory(definitions, agent)),
            tools: tools.map(|tool| (tool.name.clone(), tool.clone())).collect(),
        }
    }

    /// Resolves the path of a call.
    pub(crate) fn paths(&self, call: &ToolCall) -> BTreeMap<String, ResolvedPath> {
        paths(&self.workspace, call)
    }

    /// Resolves all facts about a call.
    pub(crate) fn facts(&self, call: &ToolCall) -> CallFacts {
        CallFacts { paths: self.paths(call), bound: self.bound(call), changes: Vec::new() }
    }

    /// Checks a call right before it is made; returns its new facts if they changed.
    pub(crate) fn changed_facts(&self, call: &ToolCall, allowed: &CallPermit) -> Option<CallFacts> {
        let CallPermit { by, expected, by_edit } = allowed;
        let mut changes = self.moved(call, &expected.paths);
        let is_bound = match by {
            Permit::Approval { .. } | Permit::Earlier { .. } => true,
            Permit::Rule { .. } | Permit::Mode {} => false,
        };
        if is_bound {
            let bound = self.bound(call);
            changes.extend(if *by_edit {
                added(&expected.bound, &bound)
            } else {
                difference(&expected.bound, &bound)
            });
        }
        (!changes.is_empty()).then(|| CallFacts { changes, ..self.facts(call) })
    }

    /// Returns the paths that resolve differently now.
    fn moved(
        &self,
        call: &ToolCall,
        expected: &BTreeMap<String, ResolvedPath>,
    ) -> Vec<DependencyChange> {
        let found = self.paths(call);
        let is_same = |was: &ResolvedPath, is: &ResolvedPath| match (was, is) {
            (ResolvedPath::Inside { path: was, .. }, ResolvedPath::Inside { path: is, .. }) => {
                was == is
            }
            (ResolvedPath::Unclear { .. }, ResolvedPath::Unclear { .. }) => true,
            (_, _) => false,
        };
        let pairs = expected.iter().filter_map(|(name, was)| Some((name, was, found.get(name)?)));
        let moved = pairs.filter(|(_, was, is)| !is_same(was, is)).map(|(name, was, is)| {
            DependencyChange {
                kind: DependencyKind::Path,
                name: call.input.get(name).and_then(Value::as_str).unwrap_or(name).to_owned(),
                was: Some(was.display_text().to_owned()),
                is: Some(is.display_text().to_owned()),
                diff: None,
            }
        });
        moved.collect()
    }

    /// Returns the present dependencies of a call, beside its arguments.
    fn bound(&self, call: &ToolCall) -> Vec<CallDependency> {
        let digest = self.tool(&call.tool);
        let name = call.tool.to_string();
        let mut items =
            vec![CallDependency { kind: DependencyKind::Tool, name, digest, text: None }];
        items.extend(self.definition());
        if let Some(ShellCallInput { command, cwd }) = self.host.tools.shell_input(call) {
            let cwd = cwd.unwrap_or(".");
            let identity = self.workspace.identity(cwd);
            items.push(CallDependency {
                kind: DependencyKind::Directory,
                name: cwd.to_owned(),
                digest: identity.map(|identity| ContentHash::of(identity.as_bytes())),
                text: None,
            });
            items.extend(self.executed(command, cwd));
        }
        items
    }

    /// Returns the hash of a tool: of its name, or of an agent tool's program and specification.
    fn tool(&self, name: &ToolName) -> Option<ContentHash> {
        let plain = || ContentHash::of(name.as_str().as_bytes());
        if self.host.tools.grant(name) == Some(ToolGrant::Inherent) {
            return Some(plain());
        }
        let tool = self.tools.get(name)?;
        match &tool.kind {
            ToolKind::Host | ToolKind::Mcp { .. } => Some(plain()),
            ToolKind::Custom(custom) => {
                let program = self.directory.as_ref()?.join(&custom.program);
                let (program, _) = self
                    .content(&mut std::fs::File::open(program).ok()?, &mut BOUND_BYTES_MAX.clone());
                let said = serde_json::to_vec(tool).expect("a tool is plain JSON");
                let mut hasher = ContentHasher::default();
                hasher.part(&said).part(program.as_str().as_bytes());
                Some(hasher.finish())
            }
        }
    }

    /// Returns the agent's definition files as dependencies.
    fn definition(&self) -> Vec<CallDependency> {
        let Some(directory) = &self.directory else { return Vec::new() };
        let item = |name: &str| {
            let mut file = std::fs::File::open(directory.join(name)).ok()?;
            let (digest, text) = self.content(&mut file, &mut BOUND_BYTES_MAX.clone());
            Some(CallDependency {
                kind: DependencyKind::Definition,
                name: name.to_owned(),
                digest: Some(digest),
                text,
            })
        };
        DEFINITIONS.into_iter().filter_map(item).collect()
    }

    /// Returns the workspace files that a command executes.
    fn executed(&self, command: &str, cwd: &str) -> Vec<CallDependency> {
        let mut found: BTreeMap<String, CallDependency> = BTreeMap::new();
        let mut left = BOUND_BYTES_MAX;
        let named = shell::executes(command);
        let mut is_all = named.len() < EXECUTED_CANDIDATES_MAX;
        for (path, uses) in named {
            if found.len() == BOUND_FILES_MAX {
                is_all = false;
                break;
            }
            let given = if Path::new(&path).is_absolute() { path } else { format!("{cwd}/{path}") };
            let Some((name, mut file)) = self.workspace.open_regular(&given) else { continue };
            if found.contains_key(&name) || uses == FileUse::Named && !is_program(&mut file) {
                continue;
            }
            let (digest, text) = self.content(&mut file, &mut left);
            let item = CallDependency {
                kind: DependencyKind::File,
                name: name.clone(),
                digest: Some(digest),
                text,
            };
            found.insert(name, item);
        }
        // Files that were not read never count as unchanged.
        let rest = (!is_all).then(|| CallDependency {
            kind: DependencyKind::File,
            name: "more files than are looked at".to_owned(),
            digest: None,
            text: None,
        });
        found.into_values().chain(rest).collect()
    }

    /// Returns a file's hash, and its text if short. Files over the limit count by size and times.
    fn content(&self, file: &mut std::fs::File, left: &mut u64) -> (ContentHash, Option<String>) {
        let Ok(metadata) = file.metadata() else {
            return (ContentHash::of(b"unreadable"), None);
        };
        let mut content = Vec::new();
        let read = if metadata.len() <= *left {
            file.take(*left).read_to_end(&mut content).is_ok()
        } else {
            false
        };
        if !read {
            let stamp = format!(
                "{}:{}:{}:{}.{}:{}.{}",
                metadata.dev(),
                metadata.ino(),
                metadata.len(),
                metadata.mtime(),
                metadata.mtime_nsec(),
                metadata.ctime(),
                metadata.ctime_nsec()
            );
            return (ContentHash::of(stamp.as_bytes()), None);
        }
        *left -= metadata.len().min(*left);
        let digest = ContentHash::of(&content);
        let is_short = metadata.len() <= BOUND_TEXT_BYTES_MAX && !content.contains(&0);
        let text = String::from_utf8(content).ok().filter(|_| is_short);
        (digest, text.map(|text| self.host.redactor.hide(&text)))
    }
}

/// True if a file can be run by its name: it is executable, or it begins with `#!`.
fn is_program(file: &mut std::fs::File) -> bool {
    use std::io::{Seek, SeekFrom};
    let executable = file.metadata().is_ok_and(|one| one.permissions().mode() & 0o111 != 0);
    let mut beginning = [0; 2];
    let begins = file.read_exact(&mut beginning).is_ok() && beginning == *b"#!";
    let rewound = file.seek(SeekFrom::Start(0)).is_ok();
    executable || begins || !rewound
}

/// Returns the differences between the approved and the present dependencies.
pub(crate) fn difference(was: &[CallDependency], is: &[CallDependency]) -> Vec<DependencyChange> {
    let is_there =
        |one: &&CallDependency| is.iter().any(|is| is.kind == one.kind && is.name == one.name);
    let gone = was.iter().filter(|one| !is_there(one)).map(|was| change(Some(was), None));
    let mut changes = compared(was, is);
    changes.extend(gone);
    changes
}

/// Returns the dependencies of edited arguments that were not part of the approval.
fn added(was: &[CallDependency], is: &[CallDependency]) -> Vec<DependencyChange> {
    // A person who names another directory in an edit means it.
    compared(was, is).into_iter().filter(|one| one.kind != DependencyKind::Directory).collect()
}

fn compared(was: &[CallDependency], is: &[CallDependency]) -> Vec<DependencyChange> {
    let pairs =
        is.iter().map(|is| (was.iter().find(|was| was.kind == is.kind && was.name == is.name), is));
    let is_unknown =
        |item: &CallDependency| item.kind == DependencyKind::File && item.digest.is_none();
    let differ =
        pairs.filter(|(was, is)| is_unknown(is) || was.is_none_or(|was| was.digest != is.digest));
    differ.map(|(was, is)| change(was, Some(is))).collect()
}

fn change(was: Option<&CallDependency>, is: Option<&CallDependency>) -> DependencyChange {
    let item = is.or(was).expect("a change is about something");
    let digest = |item: Option<&CallDependency>| {
        item.and_then(|item| item.digest.as_ref()).map(ContentHash::to_string)
    };
    let text = |item: Option<&CallDependency>| item.and_then(|item| item.text.clone());
    let diff = match (text(was), text(is)) {
        (Some(was), Some(is)) => unified_diff(&item.name, Some(was.as_bytes()), is.as_bytes()),
        (None, Some(is)) if was.is_none() => unified_diff(&item.name, None, is.as_bytes()),
        (_, _) => None,
    };
    let diff = diff.map(|diff| diff.chars().take(BOUND_DIFF_CHARS_MAX).collect());
    DependencyChange {
        kind: item.kind,
        name: item.name.clone(),
        was: digest(was),
        is: digest(is),
        diff,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, content: Option<&str>) -> CallDependency {
        CallDependency {
            kind: DependencyKind::File,
            name: name.to_owned(),
            digest: content.map(|content| ContentHash::of(content.as_bytes())),
            text: content.map(str::to_owned),
        }
    }

    fn names(changes: &[DependencyChange]) -> Vec<&str> {
        changes.iter().map(|change| change.name.as_str()).collect()
    }

    #[test]
    fn what_changed_came_or_went_is_a_difference() {
        let was = [file("a", Some("1")), file("b", Some("1")), file("c", Some("1"))];
        let is = [file("a", Some("1")), file("b", Some("2")), file("d", Some("1"))];
        assert_eq!(names(&difference(&was, &was)), [""; 0]);
        assert_eq!(names(&difference(&was, &is)), ["b", "d", "c"]);
        assert_eq!(names(&difference(&[], &is)), ["a", "b", "d"]);
        let diff = difference(&was, &is)[0].diff.clone();
        assert!(diff.is_some_and(|diff| diff.contains("-1") && diff.contains("+2")));
    }

    #[test]
    fn what_was_not_looked_at_is_never_the_same() {
        let unknown = [file("more files than are looked at", None)];
        assert_eq!(difference(&unknown, &unknown).len(), 1);
    }

    #[test]
    fn other_arguments_may_execute_less_and_nothing_else() {
        let was = [file("a", Some("1")), file("b", Some("1"))];
        assert_eq!(names(&added(&was, &was[..1])), [""; 0]);
        assert_eq!(names(&added(&was, &[file("c", Some("1"))])), ["c"]);
        assert_eq!(names(&added(&was, &[file("b", Some("2"))])), ["b"]);
    }
}
