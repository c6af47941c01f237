//! The sources of every host beside a fifth one: which of them has a name, and what its calls see.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentry_agentfile::file_tree::{FileTree, FileTreeEntry};
use agentry_agentfile::manifest::config::LimitsToml;
use agentry_agentfile::skill::SkillLevel;
use agentry_model::Delta;
use agentry_protocol::AgentId;
use agentry_protocol::CallId;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::{Ending, Event, Mode};
use agentry_protocol::tool::{Risk, ToolCategory, ToolName};
use agentry_protocol::tool_call::{OutcomeStatus, RepeatSafety, ToolCall, ToolOutcome, ToolSpec};
use agentry_sandbox::CancelToken;
use agentry_store::Ledger;
use agentry_tools::{ToolLimits, Workspace};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::definitions::Definitions;
use crate::definitions::project_loader::{LoaderInput, ProjectLoader};
use crate::definitions::run_limits::run_limits;
use crate::environment::Environment;
use crate::error::Error;
use crate::host::enforcer::ResolvedPlacement;
use crate::host::session_message::{Attendance, SessionInbox};
use crate::host::tool_registry::{ToolRegistry, TurnToolset};
use crate::host::tool_source::{CallContext, ToolGrant, ToolScope};
use crate::host::{Host, RunObserver};
use crate::redact::secrets::SecretRegistry;
use crate::run_request::{RunRequest, RunSettings};
use crate::tests::bare_host;
use crate::turn::runner::{RunExit, Runner};

const NOW: u64 = 1_700_000_000_000;
/// A wait that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

const AGENT: &str = "
    --- .agentry/agents/helper/AGENT.md
    ---
    tool_approvals:
      rules:
        - {tool: memory_search, allow: true}
    ---
    Help.
    --- .agentry/agents/helper/agent.yml
    name: helper
    tools:
      allow: [read_file, memory_search]
      custom: [fortune]
    --- .agentry/agents/helper/tools/fortune.yml
    name: fortune
    description: Tells a fortune
    --- .agentry/agents/helper/tools/fortune.sh +x
    #!/bin/sh
    --- .agentry/agents/helper/skills/sums/SKILL.md
    ---
    name: sums
    description: Adds numbers
    ---
    Add them one by one.
    ";

/// A source that stands for those that later parts of the program add.
#[derive(Default)]
struct MemoryTools {
    /// Receives a message when a call waits to be cancelled.
    waiting: Mutex<Option<Sender<()>>>,
}

impl ToolSource for MemoryTools {
    fn names(&self) -> Vec<ToolName> {
        vec![name("memory_search"), name("read_file")]
    }

    fn specs(&self, scope: &ToolScope<'_>) -> Result<Vec<ToolSpec>, Error> {
        let others = ["memory_search", "read_file", "load_skill", "fortune", "memory_search"];
        let of_scope = format!("{}/report", scope.agent.id);
        Ok(others.into_iter().chain([of_scope.as_str()]).map(spec).collect())
    }

    fn call(&self, call: &ToolCall, context: &CallContext<'_>) -> Result<ToolOutcome, Error> {
        match call.input["query"].as_str().unwrap_or_default() {
            "panic" => panic!("a defect of the source"),
            "ledger" => Err(Error::Halted("the ledger is full".to_owned())),
            "wait" => {
                if let Some(waiting) = self.waiting.lock().unwrap().take() {
                    waiting.send(()).unwrap();
                }
                let is_cancelled = context.stop.wait(PATIENCE);
                let status =
                    if is_cancelled { OutcomeStatus::Stopped } else { OutcomeStatus::Failed };
                Ok(ToolOutcome::new(status, "waited"))
            }
            query => {
                (context.progress)("half of it");
                let agent = context.scope.map(|scope| scope.agent.id.to_string());
                Ok(ToolOutcome::done(format!("{query} for {}", agent.unwrap_or_default())))
            }
        }
    }

    fn preview(&self, call: &ToolCall, _context: &CallContext<'_>) -> Option<String> {
        assert_ne!(call.input["query"], "panic", "a defect of the source");
        Some("a preview".to_owned())
    }
}

fn name(name: &str) -> ToolName {
    ToolName::canonical(name)
}

fn spec(tool: &str) -> ToolSpec {
    ToolSpec {
        name: name(tool),
        description: "of memory".to_owned(),
        parameters: json!({"type": "object", "properties": {"query": {"type": "string"}}}),
        category: ToolCategory::Read,
        risk: Risk::Low,
        repeat: RepeatSafety::Harmless,
    }
}

fn call(tool: &str, query: &str) -> ToolCall {
    ToolCall { id: CallId::from_number(1), tool: name(tool), input: json!({"query": query}) }
}

/// A host with the four sources and a fifth, and a project with one agent.
struct Scene {
    host: Arc<Host>,
    definitions: Arc<Definitions>,
    memory: Arc<MemoryTools>,
    directory: TempDir,
}

impl Scene {
    fn new(files: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let project = directory.path().join("project");
        write(&project, files);
        let memory = Arc::new(MemoryTools::default());
        let mut sources = standard(Arc::new(Toolset::builtin()));
        sources.push(memory.clone());
        let ledger = Ledger::open(&directory.path().join("home"), Arc::new(|| NOW)).unwrap();
        let bare = bare_host(ledger, Toolset::builtin(), SecretRegistry::default());
        let host = Host { tools: ToolRegistry::new(sources), ..bare };
        let home = directory.path().display().to_string();
        let loader = ProjectLoader::new(LoaderInput {
            environment: Arc::new(Environment::from_variables([("HOME".to_owned(), home)].into())),
            flags: Vec::new(),
            tools: host.tools.names(),
            binary: PathBuf::from("/no/binary"),
        });
        let loaded = loader.load(&project, SkillLevel::Extended).unwrap();
        let level = host.enforcer.level();
        let definitions = loader.definitions(&loaded, &project, level).unwrap();
        definitions.agent(&AgentId::new("helper")).unwrap();
        Self { host: Arc::new(host), definitions: Arc::new(definitions), memory, directory }
    }

    fn scope(&self) -> ToolScope<'_> {
        let agent = self.definitions.agent(&AgentId::new("helper")).unwrap();
        ToolScope { definitions: &self.definitions, agent, step: None }
    }

    fn toolset(&self) -> TurnToolset {
        self.host.tools.toolset(&self.scope()).unwrap()
    }

    /// Makes a call of the agent.
    fn call(&self, call: &ToolCall) -> Result<ToolOutcome, Error> {
        self.with_context(&CancelToken::new(), |context| self.toolset().call(call, context))
    }

    fn with_context<T>(&self, stop: &CancelToken, work: impl FnOnce(&CallContext<'_>) -> T) -> T {
        let workspace = Workspace::open(self.directory.path().join("project")).unwrap();
        work(&CallContext {
            host: &self.host,
            scope: Some(self.scope()),
            about: &EntrySubject::default(),
            workspace: &workspace,
            agent: &AgentId::new("helper"),
            placement: &ResolvedPlacement::missing("a test has no sandbox"),
            credentials: None,
            limits: ToolLimits::default(),
            any_host: false,
            judged: None,
            stop,
            progress: &|_| {},
        })
    }
}

fn write(directory: &Path, files: &str) {
    for (path, entry) in FileTree::from_fixture(files).below("") {
        let FileTreeEntry::File(file) = entry else { continue };
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, file.bytes.as_deref().unwrap()).unwrap();
        if file.executable {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
}

fn names<'a>(specs: impl Iterator<Item = &'a ToolSpec>) -> Vec<&'a str> {
    specs.map(|spec| spec.name.as_str()).collect()
}

#[track_caller]
fn check_failed(outcome: &ToolOutcome, text: &str) {
    assert_eq!((outcome.status, outcome.text.as_str()), (OutcomeStatus::Failed, text));
}

#[test]
fn tools_are_offered_in_the_order_of_their_sources() {
    let scene = Scene::new(AGENT);
    let expected = [
        ["read_file", "write_file", "edit_file", "glob", "grep", "bash", "web_fetch"].as_slice(),
        &["create_hook", "list_hooks", "get_hook", "disable_hook", "delete_hook"],
        &["fortune"],
        &["memory_search", "helper/report"],
    ];
    assert_eq!(names(scene.toolset().granted(ToolGrant::Listed)), expected.concat());
    assert_eq!(names(scene.toolset().granted(ToolGrant::Inherent)), ["load_skill"]);
    assert_eq!(
        scene.host.tools.builtin_names(),
        expected[0].iter().map(|one| name(one)).collect::<Vec<_>>()
    );
}

#[test]
fn a_source_cannot_take_the_name_of_an_earlier_one() {
    let scene = Scene::new(AGENT);
    let toolset = scene.toolset();
    let read = toolset.granted(ToolGrant::Listed).find(|spec| spec.name == name("read_file"));
    assert_ne!(read.unwrap().description, "of memory");
    // The arguments do not fit the built-in tool, and the fifth source would have answered.
    let outcome = scene.call(&call("read_file", "anything")).unwrap();
    assert_ne!(outcome.status, OutcomeStatus::Done);
    let outcome = scene.call(&call("load_skill", "anything")).unwrap();
    check_failed(&outcome, "There is no skill ``. There are: sums.");
}

#[test]
fn a_fixed_name_belongs_to_its_source_also_where_it_is_not_offered() {
    let without_skills = AGENT.split("--- .agentry/agents/helper/skills").next().unwrap();
    let scene = Scene::new(without_skills);
    let toolset = scene.toolset();
    let all = toolset.granted(ToolGrant::Listed).chain(toolset.granted(ToolGrant::Inherent));
    assert!(!names(all).contains(&"load_skill"));
}

#[test]
fn the_names_of_all_sources_are_closed_to_definitions() {
    let all = Scene::new(AGENT).host.tools.names();
    for tool in ["bash", "create_hook", "load_skill", "memory_search"] {
        assert!(all.contains(&name(tool)), "{tool}");
    }
    assert!(!all.contains(&name("fortune")));
}

#[test]
fn an_unknown_name_is_answered_with_the_like_names_of_the_turn() {
    let scene = Scene::new(AGENT);
    let mut toolset = scene.toolset();
    let unknown = |toolset: &TurnToolset, tool: &str| {
        let call = call(tool, "");
        scene.with_context(&CancelToken::new(), |context| toolset.call(&call, context)).unwrap()
    };
    let outcome = unknown(&toolset, "memory_serch");
    check_failed(&outcome, "There is no tool `memory_serch`. Did you mean `memory_search`?");
    toolset.set_offered(vec![name("read_file"), name("fortune")]);
    let outcome = unknown(&toolset, "memory_serch");
    check_failed(&outcome, "There is no tool `memory_serch`. There are: read_file, fortune.");
}

#[test]
fn a_panic_of_a_source_is_an_outcome() {
    let scene = Scene::new(AGENT);
    let broken = call("memory_search", "panic");
    let text =
        "The tool `memory_search` broke down. This is a defect of the tool, not of the call.";
    check_failed(&scene.call(&broken).unwrap(), text);
    let preview = |call: &ToolCall| {
        scene.with_context(&CancelToken::new(), |context| scene.toolset().preview(call, context))
    };
    assert_eq!(preview(&broken), None);
    assert_eq!(preview(&call("memory_search", "x")).as_deref(), Some("a preview"));
    assert_eq!(preview(&call("nothing", "x")), None);
}

#[test]
fn an_error_of_a_source_is_not_an_outcome() {
    let error = Scene::new(AGENT).call(&call("memory_search", "ledger")).unwrap_err();
    assert!(error.to_string().contains("the ledger is full"), "{error}");
}

#[test]
fn a_cancelled_call_ends_with_the_answer_of_its_source() {
    let scene = Scene::new(AGENT);
    let (waiting, begun) = channel();
    *scene.memory.waiting.lock().unwrap() = Some(waiting);
    let stop = CancelToken::new();
    let outcome = std::thread::scope(|threads| {
        let stop_begun = || stop.stop();
        threads.spawn(move || begun.recv().map(|()| stop_begun()));
        scene.with_context(&stop, |context| {
            scene.toolset().call(&call("memory_search", "wait"), context)
        })
    });
    assert_eq!(outcome.unwrap().status, OutcomeStatus::Stopped);
}

#[test]
fn a_skill_is_loaded_by_its_name() {
    let scene = Scene::new(AGENT);
    let load = ToolCall { input: json!({"name": "sums"}), ..call("load_skill", "") };
    let outcome = scene.call(&load).unwrap();
    assert_eq!(outcome.text, "<skill name=\"sums\">\nAdd them one by one.\n</skill>");
}

/// Collects what a run shows.
#[derive(Default)]
struct ProgressObserver {
    events: Mutex<Vec<Event>>,
    progress: Mutex<Vec<String>>,
}

impl RunObserver for ProgressObserver {
    fn on_entry(&self, envelope: &Envelope) {
        self.events.lock().unwrap().push(envelope.event.clone());
    }

    fn on_delta(&self, _about: &EntrySubject, _asked: u64, _delta: &Delta) {}

    fn on_progress(&self, _about: &EntrySubject, _call: &CallId, line: &str) {
        self.progress.lock().unwrap().push(line.to_owned());
    }
}

/// Runs the agent with a model that makes one call of `memory_search` and then ends.
fn run(scene: &Scene, query: &str) -> (Result<RunExit, Error>, Arc<ProgressObserver>) {
    let script = scene.directory.path().join("script.jsonl");
    let lines = [
        json!({"tool_calls": [{"name": "memory_search", "input": {"query": query}}]}),
        json!({"text": "I see."}),
    ];
    fs::write(&script, lines.map(|line| line.to_string()).join("\n")).unwrap();
    let observer = Arc::new(ProgressObserver::default());
    let runner = Runner {
        host: scene.host.clone(),
        definitions: &scene.definitions,
        observer: observer.clone(),
        attendance: Attendance::Absent,
        post: SessionInbox::default(),
    };
    let order = RunRequest {
        agent: AgentId::new("helper"),
        task: None,
        prompt: "Search.".to_owned(),
        images: Vec::new(),
        inputs: Default::default(),
        terms: RunSettings {
            model: format!("scripted:{}", script.display()),
            fallbacks: Vec::new(),
            mode: Mode::Supervised,
            limits: run_limits(&LimitsToml::default(), None),
            check: None,
            persona: None,
            bounds: None,
            shaping: Default::default(),
        },
        session: None,
        project: scene.definitions.project.display().to_string(),
        inbounds: Vec::new(),
        said: None,
    };
    let ended = runner.start(order, &mut |_| {}).map(|outcome| outcome.end);
    (ended, observer)
}

fn outcomes(observer: &ProgressObserver) -> Vec<String> {
    let events = observer.events.lock().unwrap();
    let texts = events.iter().filter_map(|event| {
        if let Event::CallFinished { outcome, .. } = event {
            return Some(outcome.text.clone());
        }
        None
    });
    texts.collect()
}

/// The agent without a program, which the owner would have to trust.
fn without_programs() -> String {
    AGENT.replace("\n      custom: [fortune]", "")
}

#[test]
fn a_turn_offers_and_calls_the_tools_of_a_fifth_source() {
    let scene = Scene::new(&without_programs());
    let (ended, observer) = run(&scene, "rain");
    assert_eq!(ended.unwrap(), RunExit::Ended { ending: Ending::Done, message: None });
    assert_eq!(outcomes(&observer), ["rain for helper"]);
    assert_eq!(*observer.progress.lock().unwrap(), ["half of it"]);
    let events = observer.events.lock().unwrap();
    let charter = events.iter().find_map(|event| {
        if let Event::TurnStarted(plan) = event {
            return Some(plan.charter.clone());
        }
        None
    });
    let offered: Vec<_> = charter.unwrap()["tools"].as_array().unwrap().clone();
    let offered: Vec<&str> = offered.iter().filter_map(|spec| spec["name"].as_str()).collect();
    assert_eq!(offered, ["read_file", "memory_search", "load_skill"]);
}

#[test]
fn an_error_of_a_source_ends_the_run() {
    let scene = Scene::new(&without_programs());
    let (ended, observer) = run(&scene, "ledger");
    assert!(ended.unwrap_err().to_string().contains("the ledger is full"));
    assert_eq!(outcomes(&observer), [""; 0]);
}

#[test]
fn a_panic_of_a_source_does_not_end_the_turn() {
    let scene = Scene::new(&without_programs());
    let (ended, observer) = run(&scene, "panic");
    assert_eq!(ended.unwrap(), RunExit::Ended { ending: Ending::Done, message: None });
    assert_eq!(outcomes(&observer).len(), 1);
}
