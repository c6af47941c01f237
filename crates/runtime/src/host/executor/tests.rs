//! Work as values: what is sent, what it resolves to, and who does it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use agentry_agentfile::trust::TrustCoverage;
use agentry_kernel::executor_choice::{ExecutorCapability, ExecutorPolicy};
use agentry_protocol::access::Credentials;
use agentry_protocol::call_facts::ResolvedPath;
use agentry_protocol::confinement::{Confinement, ConfinementProfile, NetworkAccess};
use agentry_protocol::job::{Job, JobPurpose, JobReport, JobState};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::{OutcomeStatus, ToolCall};
use agentry_protocol::{AgentId, CallId, JobId, RunId};
use agentry_store::Ledger;
use agentry_tools::{ToolLimits, Toolset};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::definitions::plan::CallScope;
use crate::host::Host;
use crate::host::enforcer::{Enforcer, ResolvedPlacement};
use crate::limits::JOB_OUTPUT_BYTES_MAX;
use crate::redact::secrets::{Secret, SecretReceiver, SecretReference, SecretRegistry};
use crate::tests::bare_host;

/// Values that no assignment may contain.
const SECRET: &str = "ghp-correct-horse-battery";
const PASSED: &str = "value-of-the-operator";
const SECOND: &str = "build-1";

/// An executor that gets and returns its values as JSON, as a remote one does.
pub(crate) struct JsonExecutor {
    facts: ExecutorFacts,
    local: LocalExecutor,
    sent: Mutex<Vec<String>>,
}

impl JsonExecutor {
    pub(crate) fn new(tools: Arc<Toolset>) -> Self {
        let capabilities = ExecutorCapability::ALL.to_vec();
        let facts = ExecutorFacts { name: SECOND.to_owned(), capabilities };
        Self { facts, local: LocalExecutor::new(tools), sent: Mutex::default() }
    }

    /// Returns the assignments so far, as they were sent.
    pub(crate) fn sent(&self) -> Vec<String> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn receive<T: Serialize, R: DeserializeOwned>(&self, value: &T) -> R {
        let text = serde_json::to_string(value).unwrap();
        let received = serde_json::from_str(&text).unwrap();
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        received
    }
}

impl Executor for JsonExecutor {
    fn facts(&self) -> &ExecutorFacts {
        &self.facts
    }

    fn run_job(&self, assignment: &Assignment, context: &ExecutionContext<'_>) -> JobOutcome {
        sent(&self.local.run_job(&self.receive(assignment), context))
    }

    fn run_tool(
        &self,
        assignment: &ToolAssignment<'_>,
        context: &ExecutionContext<'_>,
    ) -> ToolOutcome {
        sent(&self.local.run_tool(&self.receive(assignment), context))
    }

    fn preview_tool(
        &self,
        assignment: &ToolAssignment<'_>,
        context: &ExecutionContext<'_>,
    ) -> Option<String> {
        sent(&self.local.preview_tool(&self.receive(assignment), context))
    }
}

fn sent<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

/// A host with a local executor and a second one, which the agent `coder` uses.
pub(crate) struct Scene {
    pub(crate) host: Host,
    pub(crate) second: Arc<JsonExecutor>,
    pub(crate) workspace: Workspace,
    _directory: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with_executor_of_coder(SECOND)
    }

    pub(crate) fn with_executor_of_coder(name: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join("work");
        std::fs::create_dir(&work).unwrap();
        std::fs::write(work.join("a.txt"), "one\ntwo\n").unwrap();
        let tools = Arc::new(Toolset::builtin());
        let second = Arc::new(JsonExecutor::new(tools.clone()));
        let local = Arc::new(LocalExecutor::new(tools.clone()));
        let agents = BTreeMap::from([(AgentId::new("coder"), name.to_owned())]);
        let policy = ExecutorPolicy { agents, ..ExecutorPolicy::default() };
        let secret = Secret {
            name: "github".to_owned(),
            value: SECRET.into(),
            receivers: vec!["tool:bash".parse().unwrap()],
            variable: "GITHUB".to_owned(),
        };
        let secrets = SecretRegistry::new(vec![secret], Vec::new());
        let ledger = Ledger::open(&directory.path().join("home"), Arc::new(|| 1_000)).unwrap();
        let host = Host {
            enforcer: Enforcer::Off,
            env: vec![("V_PASSED".to_owned(), PASSED.to_owned())],
            executors: Executors::new(vec![local, second.clone()], policy),
            ..bare_host(ledger, Toolset::builtin(), secrets)
        };
        let workspace = Workspace::open(&work).unwrap();
        Self { host, second, workspace, _directory: directory }
    }

    /// Returns a job of an agent that runs the text of a script.
    pub(crate) fn job(&self, agent: &str, script: &str) -> Assignment {
        let mut assignment = assignment(script);
        assignment.job.id = JobId::from_number((self.host.new_number)());
        assignment.job.agent = AgentId::new(agent);
        assignment.job.workspace = reference_of(self.workspace.path());
        assignment
    }

    pub(crate) fn placement(&self) -> ResolvedPlacement {
        self.host.enforcer.placement(Confinement::unconfined(), self.workspace.path())
    }

    fn tool(&self, agent: &str, tool: &str, input: Value) -> ToolAssignment<'static> {
        let tool = ToolName::canonical(tool);
        ToolAssignment {
            agent: Cow::Owned(AgentId::new(agent)),
            variables: self.host.variables_for(&tool, None),
            call: Cow::Owned(ToolCall { id: CallId::from_number(1), tool, input }),
            placement: self.placement().value().clone(),
            workspace: reference_of(self.workspace.path()),
            limits: ToolLimits::default(),
            judged_path: None,
            fetch: FetchScope::Confinement,
        }
    }

    fn run_tool(&self, assignment: &ToolAssignment<'_>) -> ToolOutcome {
        let resolver = &HostResolver {
            host: &self.host,
            placement: &self.placement(),
            variables: &self.host.variables_for(&ToolName::canonical("bash"), None),
            workspace: Some(&self.workspace),
            directory: None,
        };
        let stop = &CancelToken::new();
        let context = ExecutionContext { resolver, stop, on_line: &|_| {}, callback: None };
        self.host.executors.for_tool(assignment).unwrap().run_tool(assignment, &context)
    }

    fn scope(&self, agent: &str) -> CallScope {
        CallScope { agent: AgentId::new(agent), confinement: Confinement::unconfined() }
    }
}

fn assignment(script: &str) -> Assignment {
    let tool = ToolName::canonical("try");
    Assignment {
        job: Job {
            id: JobId::from_number(1),
            purpose: JobPurpose::Tool { tool, call: None },
            agent: AgentId::new("a"),
            program: "tools/try".to_owned(),
            hash: ContentHash::of(script.as_bytes()),
            workspace: WorkspaceReference::new("/tmp"),
            locks: true,
            timeout_ms: 10_000,
        },
        fence: 1,
        program: JobProgram::Stored(Base64Bytes(script.as_bytes().to_vec())),
        args: Vec::new(),
        file_variables: FileVariables::Tool,
        input: json!({ "arguments": { "x": 1 } }),
        variables: Arc::from([]),
        placement: Arc::new(Placement { confinement: Confinement::unconfined(), run_home: None }),
        output_bytes_max: JOB_OUTPUT_BYTES_MAX,
        artifacts: None,
        may_call_back: false,
    }
}

/// Runs a job with the means of a scene.
fn run(
    scene: &Scene,
    executor: &dyn Executor,
    assignment: &Assignment,
    on_line: &dyn Fn(&str),
) -> JobOutcome {
    let resolver = &HostResolver {
        host: &scene.host,
        placement: &scene.placement(),
        variables: &scene.host.variables_for(&ToolName::canonical("bash"), None),
        workspace: None,
        directory: None,
    };
    let stop = &CancelToken::new();
    executor.run_job(assignment, &ExecutionContext { resolver, stop, on_line, callback: None })
}

fn local() -> LocalExecutor {
    LocalExecutor::new(Arc::new(Toolset::builtin()))
}

/// Returns an outcome without its duration.
fn untimed(mut outcome: JobOutcome) -> JobOutcome {
    outcome.report.duration_ms = None;
    outcome
}

fn stdout(outcome: &JobOutcome) -> String {
    let Some(Ok(Base64Bytes(bytes))) = &outcome.output.stdout else { panic!("{outcome:?}") };
    String::from_utf8(bytes.clone()).unwrap()
}

#[test]
fn a_text_that_is_not_the_one_that_was_looked_at_is_not_run() {
    let scene = Scene::new();
    let marker = tempfile::NamedTempFile::new().unwrap();
    let text = format!("#!/bin/sh\necho ran > {}\n", marker.path().display());
    let mut other = assignment(&text);
    other.job.hash = ContentHash::of(b"another");
    let outcome = run(&scene, &local(), &other, &|_| {});
    assert_eq!(outcome.state, JobState::Failed);
    assert!(outcome.report.why.unwrap().contains("has changed since it was trusted"));
    assert_eq!(std::fs::read_to_string(marker.path()).unwrap(), "");
}

#[test]
fn a_program_gets_its_input_three_ways_and_its_words_are_heard_as_they_come() {
    let text = "#!/bin/sh\ncmp - \"$AGENTRY_TOOL_INPUT\" && cmp \"$CYBROS_TOOL_INPUT\" \"$AGENTRY_TOOL_INPUT\" \
                || exit 9\necho one >&2\necho two >&2\necho '{}' > \"$CYBROS_TOOL_OUTPUT\"\n";
    let scene = Scene::new();
    let heard = RefCell::new(Vec::new());
    let executor = local();
    for _ in 0..2 {
        let on_line = |line: &str| heard.borrow_mut().push(line.to_owned());
        let outcome = run(&scene, &executor, &assignment(text), &on_line);
        assert_eq!(outcome.state, JobState::Succeeded, "{:?}", outcome.report);
        assert_eq!(outcome.output.file.unwrap().unwrap(), Base64Bytes(b"{}\n".to_vec()));
    }
    assert_eq!(*heard.borrow(), ["one", "two", "one", "two"]);
}

#[test]
fn output_beyond_the_limit_of_the_assignment_is_not_used() {
    let scene = Scene::new();
    let mut small = assignment(
        "#!/bin/sh\necho 0123456789\necho '\"0123456789\"' > \"$AGENTRY_TOOL_OUTPUT\"\n",
    );
    small.output_bytes_max = 8;
    let outcome = run(&scene, &local(), &small, &|_| {});
    let why = outcome.output.stdout.unwrap().unwrap_err();
    assert_eq!(why, "its standard output has more than 8 bytes");
    let why = outcome.output.file.unwrap().unwrap_err();
    assert_eq!(why, "its output file has more than 8 bytes");
    small.output_bytes_max = usize::MAX;
    assert!(run(&scene, &local(), &small, &|_| {}).output.file.unwrap().is_ok());
}

#[test]
fn a_program_that_may_ask_is_not_run_where_nobody_answers() {
    let scene = Scene::new();
    let mut asks = assignment("#!/bin/sh\necho ran\n");
    asks.may_call_back = true;
    let outcome = run(&scene, &local(), &asks, &|_| {});
    assert_eq!(outcome.report.why.unwrap(), "its questions cannot be answered here");
    assert_eq!(outcome.output, JobOutput::default());
}

#[test]
fn an_assignment_names_its_secrets_and_the_program_gets_their_values() {
    let scene = Scene::new();
    let bash = ToolName::canonical("bash");
    let mut job = scene.job("coder", "#!/bin/sh\necho \"$GITHUB $V_PASSED\"\n");
    job.variables = scene.host.variables_for(&bash, None);
    let outcome = run(&scene, &*scene.second, &job, &|_| {});
    assert_eq!(stdout(&outcome), format!("{SECRET} {PASSED}\n"));
    let call = scene.tool("coder", "bash", json!({ "command": "echo \"$GITHUB $V_PASSED\"" }));
    let outcome = scene.run_tool(&call);
    assert_eq!(outcome.text.trim(), format!("{SECRET} {PASSED}"));
    let sent = scene.second.sent();
    assert_eq!(sent.len(), 2);
    for text in sent {
        assert!(text.contains("GITHUB") && text.contains("V_PASSED"), "{text}");
        assert!(!text.contains(SECRET) && !text.contains(PASSED), "{text}");
    }
}

#[test]
fn a_variable_without_a_value_keeps_its_program_from_running() {
    let scene = Scene::new();
    let none = Credentials::Named(Vec::new());
    let bash = ToolName::canonical("bash");
    assert_eq!(scene.host.variables_for(&bash, Some(&none)).len(), 1, "only the passed one");
    let mut job = scene.job("a", "#!/bin/sh\necho ran\n");
    job.variables = Arc::from([VariableReference::Secret(SecretReference {
        name: "github".to_owned(),
        receiver: SecretReceiver::Tool(ToolName::canonical("fetch")),
        variable: "GITHUB".to_owned(),
    })]);
    let outcome = run(&scene, &local(), &job, &|_| {});
    assert_eq!(outcome.report.why.unwrap(), "its variable GITHUB has no value");
    let mut call = scene.tool("a", "bash", json!({ "command": "echo ran" }));
    call.variables = job.variables;
    let outcome = scene.run_tool(&call);
    assert_eq!(outcome.status, OutcomeStatus::Refused);
    assert_eq!(outcome.text, "Nothing was done: its variable GITHUB has no value.");
}

#[test]
fn a_changed_assignment_reaches_nothing_that_was_not_prepared() {
    let scene = Scene::new();
    let mut job = scene.job("a", "#!/bin/sh\necho ran\n");
    Arc::make_mut(&mut job.placement).confinement.allow_write.push("/".to_owned());
    let why = |job: &Assignment| run(&scene, &local(), job, &|_| {}).report.why.unwrap();
    assert_eq!(why(&job), "the placement is not the one that was prepared for it");
    let mut job = scene.job("a", "#!/bin/sh\necho ran\n");
    let tree = AgentTree { hash: ContentHash::of(b"tree"), parts: TrustCoverage::default() };
    job.program = JobProgram::File { path: "tools/try".to_owned(), tree };
    assert_eq!(why(&job), "the files of its agent are not on this machine");
    let read = || scene.tool("a", "read_file", json!({ "path": "a.txt" }));
    assert_eq!(scene.run_tool(&read()).status, OutcomeStatus::Done);
    let mut call = read();
    Arc::make_mut(&mut call.placement).run_home = Some(RunId::from_number(1));
    assert_eq!(scene.run_tool(&call).status, OutcomeStatus::Refused);
    let mut call = read();
    call.variables = Arc::from([VariableReference::Passed("OTHER".to_owned())]);
    assert_eq!(scene.run_tool(&call).text, "Nothing was done: its variable OTHER has no value.");
    let mut call = read();
    call.workspace = WorkspaceReference::new("/");
    let outcome = scene.run_tool(&call);
    assert_eq!(outcome.status, OutcomeStatus::Refused);
    assert_eq!(outcome.text, "Nothing was done: the workspace / is not open for it.");
}

#[test]
fn tool_calls_previews_and_commands_of_a_person_go_to_the_executor_of_the_agent() {
    let scene = Scene::new();
    let calls = [
        ("read_file", json!({ "path": "a.txt" })),
        ("glob", json!({ "pattern": "*.txt" })),
        ("bash", json!({ "command": "cat a.txt; pwd" })),
        ("edit_file", json!({ "path": "a.txt", "old_string": "four", "new_string": "4" })),
        ("nothing", json!({})),
    ];
    for (at, (tool, input)) in calls.into_iter().enumerate() {
        let mut outcomes = ["writer", "coder"].map(|agent| {
            let outcome = scene.run_tool(&scene.tool(agent, tool, input.clone()));
            ToolOutcome { measured: Default::default(), ..outcome }
        });
        let [local, second] = &mut outcomes;
        assert_eq!(local, second);
        assert_eq!(scene.second.sent().len(), at + 1, "{tool}");
    }
    let input = json!({ "path": "a.txt", "old_string": "two", "new_string": "2" });
    let edit =
        ToolCall { id: CallId::from_number(1), tool: ToolName::canonical("edit_file"), input };
    let preview = |agent: &str| scene.host.preview(&edit, &scene.scope(agent), &scene.workspace);
    assert!(preview("writer").unwrap().contains("+2"));
    assert_eq!(preview("coder"), preview("writer"));
    assert_eq!(scene.second.sent().len(), 6);
    let stop = CancelToken::new();
    let shell = |agent: &str| {
        let command = "echo $V_PASSED; echo $GITHUB";
        scene.host.shell(command, &scene.scope(agent), &scene.workspace, &stop).unwrap().text
    };
    assert_eq!(shell("writer"), format!("{PASSED}\n[secret github]\n"));
    assert_eq!(shell("coder"), shell("writer"));
    assert_eq!(scene.second.sent().len(), 7);
}

#[test]
fn a_call_for_an_executor_that_is_not_there_is_made_by_none() {
    let scene = Scene::with_executor_of_coder("gone");
    let why = "the executor `gone` is not registered; registered: local, build-1";
    let call = scene.tool("coder", "bash", json!({ "command": "touch b" }));
    assert_eq!(scene.host.executors.for_tool(&call).err().unwrap().to_string(), why);
    let scope = scene.scope("coder");
    let stop = CancelToken::new();
    let outcome = scene.host.shell("touch b", &scope, &scene.workspace, &stop).unwrap();
    let refused = (OutcomeStatus::Refused, format!("Nothing was done: {why}."));
    assert_eq!((outcome.status, outcome.text), refused);
    let input = json!({ "path": "b", "content": "x" });
    let write =
        ToolCall { id: CallId::from_number(1), tool: ToolName::canonical("write_file"), input };
    assert_eq!(scene.host.preview(&write, &scope, &scene.workspace), None);
    assert!(!scene.workspace.path().join("b").exists());
    assert_eq!(scene.second.sent(), [""; 0]);
}

#[test]
fn a_value_that_was_not_prepared_for_the_work_is_not_given() {
    let scene = Scene::new();
    let all = scene.host.variables_for(&ToolName::canonical("bash"), None);
    let placement = &scene.placement();
    let value = |variables| {
        let host = &scene.host;
        let resolver =
            HostResolver { host, placement, variables, workspace: None, directory: None };
        resolver.variable(&all[1])
    };
    assert!(value(&all[..]).is_ok());
    assert!(value(&all[..1]).is_err());
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[^\0]{0,12}", 0..4)
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn placements() -> impl Strategy<Value = Arc<Placement>> {
    let profile = prop_oneof![
        Just(ConfinementProfile::Untrusted),
        Just(ConfinementProfile::Trusted),
        Just(ConfinementProfile::Host),
    ];
    let network = prop_oneof![
        Just(NetworkAccess::None),
        texts().prop_map(|allow| NetworkAccess::Domains { allow, addresses: Vec::new() }),
    ];
    let homes = (prop::option::of(any::<String>()), prop::option::of(any::<u64>()));
    (profile, network, texts(), texts(), homes).prop_map(
        |(profile, network, allow_read, allow_write, (home, run))| {
            let authority = home.as_ref().map(|home| ContentHash::of(home.as_bytes()));
            let confinement = Confinement {
                profile,
                network,
                allow_read,
                allow_write,
                home,
                authority,
                ..Confinement::most_restricted()
            };
            let run_home = run.map(|run| RunId::from_number(run.into()));
            Arc::new(Placement { confinement, run_home })
        },
    )
}

fn variables() -> impl Strategy<Value = Arc<[VariableReference]>> {
    let secret = |(name, mcp): (String, bool)| {
        let tool = ToolName::canonical(&name);
        let receiver =
            if mcp { SecretReceiver::Mcp(name.clone()) } else { SecretReceiver::Tool(tool) };
        VariableReference::Secret(SecretReference { variable: name.clone(), name, receiver })
    };
    let one = prop_oneof![
        any::<String>().prop_map(VariableReference::Passed),
        (any::<String>(), any::<bool>()).prop_map(secret),
    ];
    prop::collection::vec(one, 0..4).prop_map(Arc::from)
}

fn programs() -> impl Strategy<Value = JobProgram> {
    let set = |texts: Vec<String>| texts.into_iter().collect::<BTreeSet<String>>();
    let tree = (texts(), texts(), any::<String>()).prop_map(move |(files, folders, path)| {
        let parts = TrustCoverage { files: set(files), folders: set(folders) };
        let hash = ContentHash::of(path.as_bytes());
        JobProgram::File { path, tree: AgentTree { hash, parts } }
    });
    let bytes = prop::collection::vec(any::<u8>(), 0..64);
    prop_oneof![tree, bytes.prop_map(|bytes| JobProgram::Stored(Base64Bytes(bytes)))]
}

prop_compose! {
    fn assignments()(
        (program, args, input) in (programs(), texts(), json_value()),
        (variables, placement) in (variables(), placements()),
        (fence, timeout_ms, bytes_max) in any::<(u32, u64, usize)>(),
        artifacts in prop::option::of(any::<String>()),
        (may_call_back, is_hook) in any::<(bool, bool)>(),
    ) -> Assignment {
        let mut assignment = assignment("");
        assignment.job.timeout_ms = timeout_ms;
        let file_variables = if is_hook { FileVariables::Hook } else { FileVariables::Tool };
        Assignment {
            fence, program, args, file_variables, input, variables, placement,
            output_bytes_max: bytes_max, artifacts, may_call_back, ..assignment
        }
    }
}

prop_compose! {
    fn tool_assignments()(
        (agent, tool, input) in (any::<String>(), "[a-z_]{1,8}", json_value()),
        (variables, placement) in (variables(), placements()),
        judged in prop::option::of((any::<String>(), any::<bool>())),
        (shell_timeout_ms, any_host) in any::<(u64, bool)>(),
    ) -> ToolAssignment<'static> {
        let id = CallId::from_number(shell_timeout_ms.into());
        ToolAssignment {
            agent: Cow::Owned(AgentId::new(agent)),
            call: Cow::Owned(ToolCall { id, tool: ToolName::canonical(&tool), input }),
            placement,
            workspace: WorkspaceReference::new("/work"),
            limits: ToolLimits { shell_timeout_ms, ..ToolLimits::default() },
            judged_path: judged.map(|(path, folds_case)| {
                Cow::Owned(ResolvedPath::Inside { path, folds_case })
            }),
            fetch: if any_host { FetchScope::AnyHost } else { FetchScope::Confinement },
            variables,
        }
    }
}

prop_compose! {
    fn outcomes()(
        stdout in prop::option::of(prop::collection::vec(any::<u8>(), 0..64)),
        (failure, stderr, name) in any::<(Option<String>, String, String)>(),
        bytes in prop::collection::vec(any::<u8>(), 0..64),
        exit_code in any::<Option<i32>>(),
        state in prop::sample::select(&JobState::ALL),
    ) -> JobOutcome {
        let report = JobReport { exit_code, why: failure.clone(), ..JobReport::default() };
        let output = JobOutput {
            file: failure.map(Err),
            stdout: stdout.map(|bytes| Ok(Base64Bytes(bytes))),
            stderr,
            artifacts: vec![Artifact { name, bytes: Base64Bytes(bytes) }],
        };
        JobOutcome { state, report, output }
    }
}

proptest! {
    #[test]
    fn work_and_results_are_the_same_after_they_were_sent(
        assignment in assignments(), call in tool_assignments(), outcome in outcomes(),
    ) {
        prop_assert_eq!(sent(&assignment).requirements(), assignment.requirements());
        prop_assert_eq!(sent(&assignment), assignment);
        prop_assert_eq!(sent(&call), call);
        prop_assert_eq!(sent(&outcome), outcome);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_job_that_was_sent_behaves_as_one_that_was_not(
        args in texts(), input in json_value(), exit_code in 0..3,
    ) {
        let script = format!(
            "#!/bin/sh\nfor arg in \"$@\"; do printf '%s\\0' \"$arg\"; done\n\
             cat \"$AGENTRY_TOOL_INPUT\" > \"$AGENTRY_TOOL_OUTPUT\"\n\
             echo \"$V_PASSED\" > \"$AGENTRY_ARTIFACTS/left\"\necho end >&2\nexit {exit_code}\n"
        );
        let scene = Scene::new();
        let mut job = scene.job("a", &script);
        job.variables = Arc::from([VariableReference::Passed("V_PASSED".to_owned())]);
        job.artifacts = Some("out".to_owned());
        (job.args, job.input) = (args.clone(), input.clone());
        let outcome = untimed(run(&scene, &local(), &job, &|_| {}));
        prop_assert_eq!(outcome.report.exit_code, Some(exit_code));
        let bytes = serde_json::to_vec(&input).unwrap();
        prop_assert_eq!(outcome.output.file.clone(), Some(Ok(Base64Bytes(bytes))));
        prop_assert_eq!(outcome.output.artifacts.len(), usize::from(exit_code == 0));
        prop_assert_eq!(untimed(run(&scene, &*scene.second, &job, &|_| {})), outcome);
    }
}
