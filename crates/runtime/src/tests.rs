//! A host for unit tests: a real ledger in a temporary directory, a clock that stands still, a
//! scripted model, a shell that runs nothing, and the events of the ledger as one text.

mod dialogue;
mod doubles;

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use agentry_agentfile::access::{LocalTime, Weekday};
use agentry_agentfile::file_tree::{FileTree, FileTreeEntry};
use agentry_agentfile::manifest::config::{LimitsToml, SpendingToml};
use agentry_agentfile::skill::SkillLevel;
use agentry_kernel::access::AccessPolicies;
use agentry_model::{Model, ProviderRegistry};
use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope};
use agentry_protocol::envelope::{Draft, EntrySubject, Envelope};
use agentry_protocol::event::{Event, Mode};
use agentry_protocol::inbound::{ChannelAddress, EventId, Inbound, Sender};
use agentry_protocol::inbound_request::RunOverrides;
use agentry_protocol::intake::QueuePreferences;
use agentry_protocol::{AgentId, RunId, SessionId, SessionKey};
use agentry_store::{EntryFilter, Ledger};
use agentry_tools::{FetchRules, Toolset, Workspace};
use tempfile::TempDir;

use crate::commands::approvals::{self, AnswerRequest};
use crate::commands::{CommandContext, runs};
use crate::definitions::Definitions;
use crate::definitions::definition_source::DefinitionSource;
use crate::definitions::plan;
use crate::definitions::project_loader::{LoaderInput, ProjectLoader};
use crate::definitions::run_limits::run_limits;
use crate::environment::Environment;
use crate::error::Error;
use crate::host::enforcer::Enforcer;
use crate::host::executor::Executors;
use crate::host::ledger_follower::LedgerFollower;
use crate::host::session_message::{Attendance, SessionInbox};
use crate::host::spending::SpendingLimiter;
use crate::host::tool_registry::ToolRegistry;
use crate::host::{Host, HostModels, SharedHost};
use crate::inbound::intake::IntakePipeline;
use crate::inbound::receive;
use crate::redact::secrets::{Secret, SecretRegistry, variable};
use crate::run_request::{RunRequest, RunSettings};
use crate::tool_sources;
use crate::turn::runner::{ActiveRun, RunOutcome, RunResources, Runner};

pub(crate) use dialogue::dialogue;
pub(crate) use doubles::{EntryLog, PATIENCE, ShellLog, TestModel, TestShell};

/// The time of a clock that stands still: a Tuesday.
pub(crate) const NOW: u64 = 1_700_000_000_000;
/// The value of the secret that every host knows.
pub(crate) const SECRET: &str = "correct-horse-battery";

/// An agent whose shell runs `t …` at once and asks about every other command.
pub(crate) const HELPER: &str = "
    --- .agentry/agents/helper/AGENT.md
    ---
    name: Helper
    tools: [Bash]
    tool_approvals:
      rules: [{tool: Bash, allow: true, when: {command: {startsWith: 't '}}}]
    ---
    You help.
    ";

/// A room that strangers of all channels share.
pub(crate) const ROOM: &str = "
    --- .agentry/agents/helper/AGENT.md
    ---
    name: Helper
    tools: [Bash]
    tool_approvals:
      rules: [{tool: Bash, allow: true, when: {command: {startsWith: 't '}}}]
    ---
    You help.
    --- .agentry/access/room.yml
    policies:
      - name: room
        match: {principal: {unknown: true}}
        effect: allow
        permissions: {tools: [bash]}
        session: {key: room}
        priority: 50
    ";

/// A line of a script: the model says this.
pub(crate) fn say(text: &str) -> String {
    serde_json::json!({ "text": text }).to_string()
}

/// A line of a script: the model calls the shell with these commands.
pub(crate) fn call(commands: &[&str]) -> String {
    let calls = commands
        .iter()
        .map(|command| serde_json::json!({ "name": "bash", "input": { "command": command } }));
    serde_json::json!({ "tool_calls": calls.collect::<Vec<_>>() }).to_string()
}

/// A clock that advances only as it is told: a step at each reading, or when a test says so.
#[derive(Clone)]
pub(crate) struct TestClock {
    now: Arc<AtomicU64>,
    step: Arc<AtomicU64>,
}

impl TestClock {
    fn new() -> Self {
        Self { now: Arc::new(AtomicU64::new(NOW)), step: Arc::default() }
    }

    pub(crate) fn advance(&self, ms: u64) {
        self.now.fetch_add(ms, Ordering::SeqCst);
    }

    /// Lets the entries of two appends have different times.
    pub(crate) fn tick_at_each_reading(&self) {
        self.step.store(1, Ordering::SeqCst);
    }

    fn read(&self) -> u64 {
        self.now.fetch_add(self.step.load(Ordering::SeqCst), Ordering::SeqCst)
    }

    fn open(&self, home: &std::path::Path) -> Ledger {
        let clock = self.clone();
        Ledger::open(home, Arc::new(move || clock.read())).expect("a new ledger")
    }

    /// Opens a ledger of which every write is refused.
    pub(crate) fn open_to_read(&self, home: &std::path::Path) -> Ledger {
        let clock = self.clone();
        Ledger::open_to_read(home, Arc::new(move || clock.read())).expect("a ledger to read")
    }
}

/// A host with a project, and the logs of its parts.
pub(crate) struct TestHost {
    pub(crate) host: SharedHost,
    pub(crate) definitions: Arc<Definitions>,
    pub(crate) access: AccessPolicies,
    pub(crate) clock: TestClock,
    /// The commands that the shell received.
    pub(crate) shell: Arc<ShellLog>,
    /// The entries of runs, as an observer receives them.
    pub(crate) entries: Arc<EntryLog>,
    home: PathBuf,
    directory: Arc<TempDir>,
}

impl TestHost {
    /// Creates a host for a project of these files, with a model that answers with these lines.
    pub(crate) fn new(files: &str, script: &[String]) -> Self {
        Self::with(files, script, |_| {})
    }

    /// Creates a host that differs from the usual one.
    pub(crate) fn with(files: &str, script: &[String], change: impl FnOnce(&mut Host)) -> Self {
        let directory = Arc::new(TempDir::new().expect("a temporary directory"));
        write(&directory.path().join("project"), files);
        fs::create_dir_all(directory.path().join("user")).expect("there is room");
        let script = script.join("\n");
        fs::write(directory.path().join("script.jsonl"), script).expect("there is room");
        let home = directory.path().join("home");
        Self::in_home(directory, home, change)
    }

    fn in_home(directory: Arc<TempDir>, home: PathBuf, change: impl FnOnce(&mut Host)) -> Self {
        let (clock, shell) = (TestClock::new(), Arc::new(ShellLog::default()));
        let mut host = host(clock.open(&home), shell.clone());
        change(&mut host);
        let project = directory.path().join("project");
        let user = directory.path().join("user").display().to_string();
        let variables = [("HOME", user.as_str()), ("SHELL_TOOL_MODE", "full")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let loader = ProjectLoader::new(LoaderInput {
            environment: Arc::new(Environment::from_variables(variables.into())),
            flags: Vec::new(),
            tools: host.tools.names(),
            binary: PathBuf::from("/no/binary"),
        });
        let loaded = loader.load(&project, SkillLevel::Extended).expect("the project is read");
        let access = loaded.policies().expect("the policies of a test are right");
        let level = host.enforcer.level();
        let mut definitions = loader.definitions(&loaded, &project, level).expect("it is there");
        definitions.redactor = host.redactor.clone();
        Self {
            host: Arc::new(host),
            definitions: Arc::new(definitions),
            access,
            clock,
            shell,
            entries: Arc::default(),
            home,
            directory,
        }
    }

    /// Creates a host for the same project, whose ledger has the first entries of this one.
    pub(crate) fn cut_after(&self, seq: u64) -> Self {
        let home = self.directory.path().join(format!("home-{seq}"));
        let cut = Self::in_home(self.directory.clone(), home, |_| {});
        for entry in self.recorded().into_iter().take_while(|entry| entry.seq <= seq) {
            let Envelope { cause, about, event, .. } = entry;
            cut.ledger().append(vec![Draft { cause, about, event }]).expect("it was right before");
        }
        cut
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.host.ledger
    }

    /// Opens the ledger of this host again, so that every write is refused.
    pub(crate) fn ledger_to_read(&self) -> Ledger {
        self.clock.open_to_read(&self.home)
    }

    /// A path in the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join("project").join(path)
    }

    pub(crate) fn write(&self, files: &str) {
        write(&self.path(""), files);
    }

    /// The name of the scripted model.
    pub(crate) fn model(&self) -> String {
        format!("scripted:{}", self.directory.path().join("script.jsonl").display())
    }

    /// All entries of the ledger.
    pub(crate) fn recorded(&self) -> Vec<Envelope> {
        let all = self.ledger().read_from(0, &EntryFilter::default(), usize::MAX);
        all.expect("the ledger is read")
    }

    /// The events of the ledger as one text.
    pub(crate) fn dialogue(&self) -> String {
        dialogue(&self.recorded())
    }

    /// The events of the ledger from the first of a kind on.
    pub(crate) fn dialogue_from(&self, kind: &str) -> String {
        let text = self.dialogue();
        let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with(kind)).collect();
        lines.join("\n")
    }

    pub(crate) fn settings(&self) -> RunSettings {
        RunSettings {
            model: self.model(),
            fallbacks: Vec::new(),
            mode: Mode::Supervised,
            limits: run_limits(&LimitsToml::default(), None),
            check: None,
            persona: None,
            bounds: None,
            shaping: Default::default(),
        }
    }

    /// The request for a run of the helper.
    pub(crate) fn order(&self, prompt: &str) -> RunRequest {
        RunRequest {
            agent: AgentId::new("helper"),
            task: None,
            prompt: prompt.to_owned(),
            images: Vec::new(),
            inputs: Default::default(),
            terms: self.settings(),
            session: None,
            project: self.path("").display().to_string(),
            inbounds: Vec::new(),
            said: None,
        }
    }

    /// A runner whose runs nobody attends.
    pub(crate) fn runner(&self) -> Runner<'_> {
        Runner {
            host: self.host.clone(),
            definitions: &self.definitions,
            observer: self.entries.clone(),
            attendance: Attendance::Absent,
            post: SessionInbox::default(),
        }
    }

    /// Runs a prompt to its end or pause.
    pub(crate) fn run(&self, prompt: &str) -> RunOutcome {
        self.start(self.order(prompt)).expect("the run begins")
    }

    pub(crate) fn start(&self, order: RunRequest) -> Result<RunOutcome, Error> {
        self.runner().start(order, &mut |_| {})
    }

    pub(crate) fn resume(&self, run: &RunId) -> Result<RunOutcome, Error> {
        self.runner().resume(run)
    }

    /// Records a run with its first step, so that a test can drive it.
    pub(crate) fn active_run(
        &self,
        runner: &Runner<'_>,
        order: RunRequest,
        model: Arc<dyn Model>,
    ) -> ActiveRun {
        let ledger = self.ledger();
        let plan = plan::of_order(&self.definitions, &order).expect("the order is right");
        let id = RunId::from_number(new_number());
        let key = order.session.unwrap_or_else(|| SessionKey::new(id.as_str()));
        let found = ledger.session_named(&key, &order.agent).expect("the ledger is read");
        let mut events = Vec::new();
        if found.is_none() {
            events.push(Event::SessionOpened { key, agent: order.agent, head: None });
        }
        let session =
            found.map_or_else(|| SessionId::from_number(new_number()), |session| session.id);
        events.push(Event::RunCreated(Box::new(plan.clone())));
        events.push(Event::StepStarted { index: 0 });
        let ownership = ledger.lock_session(&session).expect("the session is free");
        let about =
            EntrySubject { session: Some(session.clone()), run: Some(id.clone()), turn: None };
        let last = self.record(&about, events).last().expect("they are recorded").seq;
        let following = runner.post.follow(&self.host.follower, &session, last);
        let following = following.expect("the ledger is followed");
        let workspace = Workspace::open(self.path("")).expect("the project is there");
        let held = RunResources::new(id.clone(), ownership, following);
        ActiveRun {
            id,
            session,
            plan,
            model,
            workspace: Arc::new(workspace),
            asked: 0,
            retried: false,
            shaped: None,
            left_hooks: VecDeque::new(),
            alone: false,
            held,
        }
    }

    pub(crate) fn record(&self, about: &EntrySubject, events: Vec<Event>) -> Vec<Envelope> {
        let draft = |event| Draft { cause: None, about: about.clone(), event };
        self.ledger().append(events.into_iter().map(draft).collect()).expect("it is recorded")
    }

    /// The session and run of the newest run.
    pub(crate) fn about_run(&self) -> EntrySubject {
        let entries = self.recorded().into_iter();
        let run = entries.rev().find(|entry| matches!(entry.event, Event::RunCreated(_)));
        run.expect("there is a run").about
    }

    pub(crate) fn commands(&self) -> CommandContext<'_> {
        (&*self.host).into()
    }

    pub(crate) fn cancel(&self) {
        runs::cancel(self.ledger(), &self.about_run()).expect("the run goes on");
    }

    pub(crate) fn steer(&self, text: &str) {
        runs::steer(self.commands(), &self.about_run(), text).expect("the run goes on");
    }

    /// Answers the approval that waits.
    pub(crate) fn answer(&self, answer: ApprovalAnswer) {
        let waiting = self.ledger().approvals_waiting().expect("the ledger is read");
        let approval = &waiting.first().expect("an approval waits").approval.id;
        let request = AnswerRequest { approval, answer, by: "test", digest: None, run: None };
        approvals::answer(self.commands(), request).expect("it waits");
    }

    /// Says yes, for once, to the approval that waits.
    pub(crate) fn allow(&self) {
        self.answer(ApprovalAnswer::approved(ApprovalScope::Once));
    }

    /// Receives a message of a sender on a channel.
    pub(crate) fn receive(&self, event: &str, sender: &str, text: &str) -> EventId {
        let inbound = inbound(event, sender, text);
        let id = inbound.event_id.clone();
        receive::receive(self.ledger(), &self.host.redactor, inbound).expect("it is recorded");
        id
    }

    /// Lets a received message in and runs it to its end; its answer is not sent.
    pub(crate) fn run_of(&self, event: &EventId) -> RunOutcome {
        let ledger = self.ledger();
        let intake = IntakePipeline::new(ledger.clone(), self.source(), Vec::new(), new_number);
        let taken = intake.and_then(|mut intake| intake.take(Some(event)));
        let (arrivals, _) = taken.expect("the intake works");
        let session = &arrivals.first().expect("its sender is let in").session;
        let row = ledger.session(session).expect("the ledger is read").expect("it is open");
        let inbounds = vec![event.clone()];
        let order = RunRequest { session: Some(row.key), inbounds, ..self.order("Go.") };
        self.start(order).expect("the run begins")
    }

    /// Blocks until an entry is in the ledger, and returns it.
    #[track_caller]
    pub(crate) fn until_recorded(&self, is_wanted: impl Fn(&Event) -> bool) -> Envelope {
        let mut tail = self.ledger().tail(0, EntryFilter::default()).expect("it is followed");
        loop {
            let entries = tail.next(PATIENCE).expect("the ledger is read");
            assert!(!entries.is_empty(), "the entry did not come:\n{}", self.dialogue());
            if let Some(found) = entries.into_iter().find(|one| is_wanted(&one.event)) {
                return found;
            }
        }
    }

    /// A source of the definitions of this host.
    pub(crate) fn source(&self) -> Arc<TestDefinitions> {
        Arc::new(TestDefinitions {
            definitions: self.definitions.clone(),
            access: Mutex::new(Ok(Arc::new(self.access.clone()))),
            settings: Mutex::new(Ok(self.settings())),
            at_access: Mutex::default(),
            project: self.path("").display().to_string(),
        })
    }
}

/// A message of a sender; `event` is `channel:id`.
pub(crate) fn inbound(event: &str, sender: &str, text: &str) -> Inbound {
    let (channel, id) = event.split_once(':').expect("an event has a channel and an id");
    let sender_id = sender.to_owned();
    let place = ChannelAddress::of_peer(channel, sender);
    let inbound = Inbound::new(id, NOW, place, Sender { sender_id, sender_name: None });
    inbound.expect("the ids of a test are right").with_text(text)
}

/// The host of a `TestHost`: it knows a secret and has a shell that runs nothing.
fn host(ledger: Ledger, shell: Arc<ShellLog>) -> Host {
    let secret = Secret {
        name: "pass".to_owned(),
        value: SECRET.into(),
        receivers: Vec::new(),
        variable: variable("pass"),
    };
    let tools = Toolset::of(vec![Box::new(TestShell::new(shell))]);
    bare_host(ledger, tools, SecretRegistry::new(vec![secret], Vec::new()))
}

/// The host of every unit test; the one place that builds it. It has no model and no sandbox.
pub(crate) fn bare_host(ledger: Ledger, tools: Toolset, secrets: SecretRegistry) -> Host {
    let tools = Arc::new(tools);
    Host {
        follower: LedgerFollower::new(ledger.clone()),
        ledger,
        models: HostModels {
            providers: ProviderRegistry::default(),
            window: None,
            named: Box::new(|_, _, name| Ok(name.to_owned())),
        },
        spending: SpendingLimiter::new(&SpendingToml::default(), Default::default()),
        tools: ToolRegistry::new(tool_sources::standard(tools.clone())),
        fetch: FetchRules::default(),
        // The level is that of a sandbox, so that rules may allow calls; the shell runs nothing.
        enforcer: Enforcer::Missing("a test has no sandbox".to_owned()),
        env: Vec::new(),
        redactor: Arc::new(secrets.redactor()),
        secrets,
        new_number,
        executors: Executors::local(tools),
    }
}

/// Returns the next number; each is unique in this process.
pub(crate) fn new_number() -> u128 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    u128::from(NEXT.fetch_add(1, Ordering::SeqCst))
}

fn write(directory: &std::path::Path, files: &str) {
    for (path, entry) in FileTree::from_fixture(files).below("") {
        let FileTreeEntry::File(file) = entry else { continue };
        let path = directory.join(path);
        fs::create_dir_all(path.parent().expect("it lies below")).expect("there is room");
        let bytes = file.bytes.as_deref().expect("fixtures are small");
        fs::write(&path, bytes).expect("there is room");
        if file.executable {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&path, mode).expect("the mode can be set");
        }
    }
}

type AccessHook = Box<dyn FnOnce() + Send>;

/// A source of definitions that a test can break and repair.
pub(crate) struct TestDefinitions {
    definitions: Arc<Definitions>,
    /// The policies, or the reason why they do not load.
    pub(crate) access: Mutex<Result<Arc<AccessPolicies>, String>>,
    /// The settings of runs, or the reason why no run can begin.
    pub(crate) settings: Mutex<Result<RunSettings, String>>,
    /// Called once, when the policies are asked for.
    pub(crate) at_access: Mutex<Option<AccessHook>>,
    project: String,
}

impl TestDefinitions {
    /// Lets the policies not load, for this reason.
    pub(crate) fn break_access(&self, why: &str) {
        *self.access.lock().expect("no thread panicked") = Err(why.to_owned());
    }

    pub(crate) fn repair_access(&self, access: &AccessPolicies) {
        *self.access.lock().expect("no thread panicked") = Ok(Arc::new(access.clone()));
    }

    /// Lets no run begin, for this reason.
    pub(crate) fn break_settings(&self, why: &str) {
        *self.settings.lock().expect("no thread panicked") = Err(why.to_owned());
    }
}

impl DefinitionSource for TestDefinitions {
    fn access(&self) -> Result<Arc<AccessPolicies>, Error> {
        let hook = self.at_access.lock().expect("no thread panicked").take();
        hook.into_iter().for_each(|hook| hook());
        self.access.lock().expect("no thread panicked").clone().map_err(Error::Unready)
    }

    fn definitions(&self) -> Result<Arc<Definitions>, Error> {
        Ok(self.definitions.clone())
    }

    fn terms(&self, _: &Definitions, _: &AgentId, _: &RunOverrides) -> Result<RunSettings, Error> {
        self.settings.lock().expect("no thread panicked").clone().map_err(Error::Definition)
    }

    fn default_agent(&self, _: &str) -> Result<AgentId, Error> {
        Ok(AgentId::new("helper"))
    }

    fn local_time(&self, _: u64) -> LocalTime {
        LocalTime { weekday: Weekday::Tuesday, minute: 12 * 60 }
    }

    fn wishes(&self, _: &str) -> Result<(QueuePreferences, QueuePreferences), Error> {
        Ok(Default::default())
    }

    fn project(&self) -> String {
        self.project.clone()
    }
}
