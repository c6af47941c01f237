//! What the tools promise, checked on real files, processes and sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene shall fail there")]

mod bash;
mod edit;
mod escape;
mod fetch;
mod files;
mod search;
mod toolset;

use std::fs;
use std::path::{Path, PathBuf};

use agentry_protocol::CallId;
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{OutcomeStatus, ToolCall, ToolOutcome};
use agentry_sandbox::CancelToken;
use agentry_tools::{FetchRules, ToolContext, ToolLimits, ToolSandbox, Toolset, Workspace};
use serde_json::Value;

/// A workspace with files, and everything a tool may use.
struct Bench {
    _dir: tempfile::TempDir,
    outside: PathBuf,
    root: PathBuf,
    workspace: Workspace,
    stop: CancelToken,
    bounds: ToolLimits,
    fetch: FetchRules,
    env: Vec<(String, secrecy::SecretString)>,
}

impl Bench {
    /// Each file is its path and its content. Beside the workspace lies `outside/secret.txt`.
    fn with(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let [root, outside] = ["work", "outside"].map(|name| dir.path().join(name));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret.txt"), "secret").unwrap();
        for (path, content) in files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), content).unwrap();
        }
        Self {
            workspace: Workspace::open(&root).unwrap(),
            _dir: dir,
            outside,
            root,
            stop: CancelToken::new(),
            bounds: ToolLimits::default(),
            fetch: FetchRules::default(),
            env: Vec::new(),
        }
    }

    fn context(&self) -> ToolContext<'_> {
        ToolContext {
            workspace: &self.workspace,
            stop: &self.stop,
            bounds: self.bounds,
            fetch: &self.fetch,
            env: &self.env,
            confines: ToolSandbox::Off,
            judged: None,
        }
    }

    fn run(&self, tool: &str, input: Value) -> ToolOutcome {
        Toolset::builtin().run(&call(tool, input), &self.context())
    }

    fn preview(&self, tool: &str, input: Value) -> Option<String> {
        Toolset::builtin().preview(&call(tool, input), &self.context())
    }

    fn done(&self, tool: &str, input: Value) -> String {
        self.expect(OutcomeStatus::Done, tool, input)
    }

    fn failed(&self, tool: &str, input: Value) -> String {
        self.expect(OutcomeStatus::Failed, tool, input)
    }

    fn refused(&self, tool: &str, input: Value) -> String {
        self.expect(OutcomeStatus::Refused, tool, input)
    }

    fn expect(&self, status: OutcomeStatus, tool: &str, input: Value) -> String {
        let outcome = self.run(tool, input.clone());
        assert_eq!(outcome.status, status, "{tool} {input}: {}", outcome.text);
        outcome.text
    }

    fn content(&self, path: &str) -> Vec<u8> {
        fs::read(self.root.join(path)).unwrap()
    }

    fn text(&self, path: &str) -> String {
        String::from_utf8(self.content(path)).unwrap()
    }

    fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.root.join(name)).unwrap();
    }

    /// All names in a directory of the workspace.
    fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.root.join(path)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn call(tool: &str, input: Value) -> ToolCall {
    ToolCall { id: CallId::from_number(1), tool: ToolName::canonical(tool), input }
}
