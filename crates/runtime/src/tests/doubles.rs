//! The parts of a host that a test controls: a shell with gates, a model with a list of answers,
//! and a log of entries that a test can wait for.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use agentry_model::{Delta, Model, ModelAnswer, ModelQuery};
use agentry_protocol::CallId;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::Event;
use agentry_protocol::message::{FailureKind, ModelFailure, ModelRequest, RawToolCall};
use agentry_protocol::tool::{Risk, ToolCategory, ToolName};
use agentry_protocol::tool_call::{OutcomeStatus, RepeatSafety, ToolOutcome, ToolSpec};
use agentry_tools::{Tool, ToolContext};
use serde_json::{Value, json};

use super::{SECRET, dialogue};
use crate::host::RunObserver;

/// A wait that takes longer has failed; no test waits this long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A shell that runs nothing. It knows these commands, and says `ran` to all others:
/// `t say …`, `t fail`, `t panic`, `t secret`, `t hang` (until it is stopped) and `t gate NAME`
/// (until the test opens the gate).
pub(crate) struct TestShell {
    spec: ToolSpec,
    log: Arc<ShellLog>,
}

/// The commands that a shell received, and its open gates.
#[derive(Default)]
pub(crate) struct ShellLog {
    state: Mutex<ShellState>,
    changed: Condvar,
    /// Called with each command before it runs.
    pub(crate) probe: Mutex<Option<CommandProbe>>,
}

type CommandProbe = Box<dyn Fn(&str) + Send>;

#[derive(Default)]
struct ShellState {
    received: Vec<String>,
    open: BTreeSet<String>,
}

impl ShellLog {
    /// Returns the commands in the order of their start.
    pub(crate) fn received(&self) -> Vec<String> {
        self.state().received.clone()
    }

    /// Blocks until a command was received so often.
    #[track_caller]
    pub(crate) fn until(&self, command: &str, count: usize) {
        let has = |state: &ShellState| {
            state.received.iter().filter(|one| *one == command).count() >= count
        };
        let waited = self.changed.wait_timeout_while(self.state(), PATIENCE, |state| !has(state));
        let (state, _) = waited.expect("no thread panicked");
        assert!(has(&state), "`{command}` did not run: {:?}", state.received);
    }

    pub(crate) fn open_gate(&self, name: &str) {
        self.state().open.insert(name.to_owned());
        self.changed.notify_all();
    }

    fn receive(&self, command: &str) {
        if let Some(probe) = &*self.probe.lock().expect("no thread panicked") {
            probe(command);
        }
        self.state().received.push(command.to_owned());
        self.changed.notify_all();
    }

    fn pass_gate(&self, name: &str) -> ToolOutcome {
        let is_closed = |state: &mut ShellState| !state.open.contains(name);
        let waited = self.changed.wait_timeout_while(self.state(), PATIENCE, is_closed);
        let (state, _) = waited.expect("no thread panicked");
        assert!(state.open.contains(name), "no test opened the gate {name}");
        ToolOutcome::done("open")
    }

    fn state(&self) -> MutexGuard<'_, ShellState> {
        self.state.lock().expect("no thread panicked")
    }
}

impl TestShell {
    pub(crate) fn new(log: Arc<ShellLog>) -> Self {
        let spec = ToolSpec {
            name: ToolName::canonical("bash"),
            description: "Runs nothing.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"command": {"type": "string"}, "cwd": {"type": "string"}},
                "required": ["command"],
            }),
            category: ToolCategory::Bash,
            risk: Risk::High,
            repeat: RepeatSafety::Uncertain,
        };
        Self { spec, log }
    }
}

impl Tool for TestShell {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, input: &Value, context: &ToolContext<'_>) -> ToolOutcome {
        let command = input["command"].as_str().unwrap_or_default();
        self.log.receive(command);
        let words: Vec<&str> = command.split(' ').collect();
        match words.as_slice() {
            ["t", "say", words @ ..] => ToolOutcome::done(words.join(" ")),
            ["t", "fail"] => ToolOutcome::failed("it failed"),
            ["t", "secret"] => ToolOutcome::done(format!("the password is {SECRET}")),
            ["t", "panic"] => panic!("the tool has a defect"),
            ["t", "hang"] if context.stop.wait(PATIENCE) => {
                ToolOutcome::new(OutcomeStatus::Failed, "it was stopped")
            }
            ["t", "gate", name] => self.log.pass_gate(name),
            _ => ToolOutcome::done("ran"),
        }
    }
}

/// A model that answers from a list, and keeps the requests.
#[derive(Default)]
pub(crate) struct TestModel {
    answers: Mutex<VecDeque<Result<ModelAnswer, ModelFailure>>>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl TestModel {
    pub(crate) fn new(
        answers: impl IntoIterator<Item = Result<ModelAnswer, ModelFailure>>,
    ) -> Arc<Self> {
        let answers = Mutex::new(answers.into_iter().collect());
        Arc::new(Self { answers, requests: Mutex::default() })
    }

    /// An answer that only says this.
    pub(crate) fn text(text: &str) -> Result<ModelAnswer, ModelFailure> {
        Ok(ModelAnswer { text: text.to_owned(), ..ModelAnswer::default() })
    }

    /// An answer that calls the shell with these commands.
    pub(crate) fn calls(commands: &[&str]) -> Result<ModelAnswer, ModelFailure> {
        let call = |command: &&str| RawToolCall {
            name: "bash".to_owned(),
            input: json!({ "command": command }),
        };
        Ok(ModelAnswer { calls: commands.iter().map(call).collect(), ..ModelAnswer::default() })
    }

    pub(crate) fn failure(kind: FailureKind) -> Result<ModelAnswer, ModelFailure> {
        Err(ModelFailure::new(kind, "the test wants it so"))
    }

    /// Returns the requests so far, oldest first.
    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().expect("no thread panicked").clone()
    }
}

impl Model for TestModel {
    fn ask(&self, query: &ModelQuery<'_>) -> Result<ModelAnswer, ModelFailure> {
        self.requests.lock().expect("no thread panicked").push(query.request.clone());
        let answer = self.answers.lock().expect("no thread panicked").pop_front();
        let ended = || Err(ModelFailure::new(FailureKind::ScriptEnded, "no answer is left"));
        let answer = answer.unwrap_or_else(ended)?;
        (query.hear)(Delta::Text(answer.text.clone()));
        Ok(answer)
    }
}

/// The entries that an observer received, for tests that wait for one.
#[derive(Default)]
pub(crate) struct EntryLog {
    all: Mutex<Vec<Envelope>>,
    changed: Condvar,
    deltas: Mutex<Vec<Delta>>,
}

impl EntryLog {
    /// Blocks until an entry is among those received.
    #[track_caller]
    pub(crate) fn until(&self, is_wanted: impl Fn(&Event) -> bool) -> Envelope {
        let find = |all: &[Envelope]| all.iter().find(|one| is_wanted(&one.event)).cloned();
        let all = self.all.lock().expect("no thread panicked");
        let waited = self.changed.wait_timeout_while(all, PATIENCE, |all| find(all).is_none());
        let (all, _) = waited.expect("no thread panicked");
        find(&all).unwrap_or_else(|| panic!("the entry did not come:\n{}", dialogue(&all)))
    }

    /// Returns the entries so far.
    pub(crate) fn received(&self) -> Vec<Envelope> {
        self.all.lock().expect("no thread panicked").clone()
    }

    /// Returns the pieces of replies so far.
    pub(crate) fn deltas(&self) -> Vec<Delta> {
        self.deltas.lock().expect("no thread panicked").clone()
    }
}

impl RunObserver for EntryLog {
    fn on_entry(&self, envelope: &Envelope) {
        self.all.lock().expect("no thread panicked").push(envelope.clone());
        self.changed.notify_all();
    }

    fn on_delta(&self, _: &EntrySubject, _: u64, delta: &Delta) {
        self.deltas.lock().expect("no thread panicked").push(delta.clone());
    }

    fn on_progress(&self, _: &EntrySubject, _: &CallId, _: &str) {}
}
