//! A ledger in a directory of its own, a clock that counts, and short names for events.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentry_protocol::approval::{Approval, ApprovalAnswer, ApprovalKind, ApprovalScope};
use agentry_protocol::confinement::Confinement;
use agentry_protocol::envelope::{Draft, EntrySubject, Envelope};
use agentry_protocol::event::{
    CallConfinement, Ending, Event, Mode, RunLimits, RunModels, RunPlan, StepPlan, TurnPlan,
};
use agentry_protocol::message::{Message, Usage};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::ToolCall;
use agentry_protocol::verdict::{Ruling, Verdict};
use agentry_protocol::{
    AgentId, ApprovalId, CallId, ContentHash, RunId, SessionId, SessionKey, TurnId,
};
use agentry_store::{Clock, Defect, EntryFilter, Error, Ledger};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

/// What a step of a test that is not under test does.
pub(crate) const WORKS: &str = "the scene of the test is set";
pub(crate) const START: u64 = 1_700_000_000_000;

pub(crate) struct Scene {
    pub(crate) directory: TempDir,
    pub(crate) ledger: Ledger,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let directory = TempDir::new().expect(WORKS);
        let ledger = open(&directory.path().join("home")).expect(WORKS);
        Self { directory, ledger }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    pub(crate) fn add(&self, about: &EntrySubject, event: Event) -> Envelope {
        self.ledger.append(vec![draft(about, event)]).expect(WORKS).remove(0)
    }

    pub(crate) fn all(&self) -> Vec<Envelope> {
        self.ledger.read_from(0, &EntryFilter::default(), usize::MAX).expect(WORKS)
    }

    /// Closes the ledger, lets somebody at the file, and opens it again.
    pub(crate) fn tampered(self, with: impl FnOnce(&Connection)) -> Self {
        let (home, Self { directory, ledger }) = (self.home(), self);
        drop(ledger);
        let sql = raw(&home);
        sql.execute_batch(
            "DROP TRIGGER ledger_is_never_changed; DROP TRIGGER ledger_is_never_cut;",
        )
        .expect(WORKS);
        with(&sql);
        sql.close().expect(WORKS);
        Self { ledger: open_anyhow(&home), directory }
    }

    pub(crate) fn defects(&self) -> Vec<(u64, Defect)> {
        match self.ledger.verify() {
            Ok(_) => Vec::new(),
            Err(Error::Broken { broken, .. }) => {
                broken.into_iter().map(|broken| (broken.seq, broken.defect)).collect()
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// A ledger that lost entries is opened to be read.
pub(crate) fn open_anyhow(home: &Path) -> Ledger {
    match open(home) {
        Err(Error::Lost { .. }) => Ledger::open_to_read(home, clock()).expect(WORKS),
        opened => opened.expect(WORKS),
    }
}

pub(crate) fn open(home: &Path) -> Result<Ledger, Error> {
    Ledger::open(home, clock())
}

/// Each look at it is a millisecond later.
pub(crate) fn clock() -> Clock {
    let now = AtomicU64::new(START);
    Arc::new(move || now.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn raw(home: &Path) -> Connection {
    Connection::open(home.join("ledger.sqlite3")).expect(WORKS)
}

pub(crate) fn ses(number: u128) -> SessionId {
    SessionId::from_number(number)
}

pub(crate) fn trn(number: u128) -> TurnId {
    TurnId::from_number(number)
}

pub(crate) fn run(number: u128) -> RunId {
    RunId::from_number(number)
}

pub(crate) fn apr(number: u128) -> ApprovalId {
    ApprovalId::from_number(number)
}

pub(crate) fn call(number: u128) -> CallId {
    CallId::from_number(number)
}

/// What a call runs under.
pub(crate) fn under() -> CallConfinement {
    CallConfinement::from(&Confinement::most_restricted())
}

/// About session 1, run 1, and the turn.
pub(crate) fn about(turn: u128) -> EntrySubject {
    EntrySubject { session: Some(ses(1)), run: Some(run(1)), turn: Some(trn(turn)) }
}

pub(crate) fn draft(about: &EntrySubject, event: Event) -> Draft {
    Draft { cause: None, about: about.clone(), event }
}

pub(crate) fn prompt(content: impl Into<String>) -> Event {
    Event::PromptReceived { content: content.into() }
}

pub(crate) fn opened(key: &str, head: Option<TurnId>) -> Event {
    Event::SessionOpened { key: SessionKey::new(key), agent: AgentId::new("builder"), head }
}

pub(crate) fn plan(prompt: &str, steps: usize) -> Event {
    let step = |number| StepPlan {
        id: format!("step-{number}"),
        uses: "prompt".to_owned(),
        agent: AgentId::new("builder"),
        persona: None,
    };
    Event::RunCreated(Box::new(RunPlan {
        agent: AgentId::new("builder"),
        task: None,
        prompt: prompt.to_owned(),
        given: Default::default(),
        asked: RunModels { model: "scripted".to_owned(), fallbacks: Vec::new() },
        mode: Mode::Supervised,
        limits: RunLimits { steps_max: 9, iterations_max: 9, calls_max: 9, tokens_max: None },
        check: None,
        workspace: "/work".to_owned(),
        project: "/project".to_owned(),
        steps: (0..steps).map(step).collect(),
        files: Default::default(),
    }))
}

pub(crate) fn starts(parent: Option<TurnId>) -> Event {
    starts_with(parent, json!({}))
}

pub(crate) fn starts_with(parent: Option<TurnId>, charter: Value) -> Event {
    Event::TurnStarted(Box::new(TurnPlan {
        parent,
        parent_hash: None,
        history_from: None,
        pruned: Default::default(),
        compaction: None,
        step: 0,
        prompt: "go on".to_owned(),
        images: Vec::new(),
        charter,
        standing: Default::default(),
        shaping: Default::default(),
    }))
}

pub(crate) fn ends(ending: Ending) -> Event {
    Event::TurnEnded {
        ending,
        hash: ContentHash::of(b"turn"),
        usage: Usage::default(),
        result: None,
        messages: vec![Message::user("go on")],
        context: Default::default(),
    }
}

pub(crate) fn tool_call(number: u128, input: Value) -> ToolCall {
    ToolCall { id: call(number), tool: ToolName::canonical("Bash"), input }
}

pub(crate) fn asks(approval: u128, about_call: u128) -> Event {
    Event::ApprovalAsked(Box::new(Approval {
        id: apr(approval),
        call: tool_call(about_call, json!({"command": "ls"})),
        ruling: Ruling { verdict: Verdict::Ask, findings: Vec::new() },
        digest: ContentHash::of(b"ls"),
        kind: ApprovalKind::ToolCall,
        facts: Default::default(),
    }))
}

pub(crate) fn answers(approval: u128, allow: bool) -> Event {
    let answer = if allow {
        ApprovalAnswer::approved(ApprovalScope::Once)
    } else {
        ApprovalAnswer::declined(None)
    };
    Event::ApprovalAnswered { approval: apr(approval), answer }
}

/// A session, a run, and its first turn, under way.
pub(crate) fn begun() -> Scene {
    let scene = Scene::new();
    let about = about(1);
    let drafts = [opened("main", None), prompt("hello"), plan("hello", 2), starts(None)];
    let drafts = drafts.into_iter().map(|event| draft(&about, event)).collect();
    scene.ledger.append(drafts).expect(WORKS);
    scene
}
