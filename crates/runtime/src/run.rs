//! Runs: from an order to its end, step by step, also across processes.
//!
//! Must never: begin a step before the one before it is recorded as done, or a turn in a session that
//! somebody else owns.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

use agentry_kernel::prompt::Moment;
use agentry_kernel::turn::Turn;
use agentry_model::Model;
use agentry_protocol::approval::Reach;
use agentry_protocol::envelope::{About, Draft, Envelope};
use agentry_protocol::event::{Ending, Event, RunPlan, StepStatus, TurnPlan};
use agentry_protocol::inbound::EventId;
use agentry_protocol::message::Image;
use agentry_protocol::{AgentId, ApprovalId, RunId, SessionId, SessionKey, TaskId, TurnId};
use agentry_store::{Filter, Ledger, Ownership, RunRow, RunStatus};
use agentry_tools::Workspace;

use crate::define::{Definitions, Terms};
use crate::error::Error;
use crate::hidden;
use crate::history;
use crate::host::{SharedHost, Witness};
use crate::limits::TURN_ENTRIES_MAX;
use crate::mail::Following;
use crate::nobody::Nobody;
use crate::perform::Workers;
use crate::plan;
use crate::rebuild;
use crate::request;
use crate::session::{Attendance, Handle, Left, News, Session, halted, is_for_turn};

/// What is asked of a run.
pub struct Order {
    /// Who does it.
    pub agent: AgentId,
    /// The task, if it is one.
    pub task: Option<TaskId>,
    /// What was typed.
    pub prompt: String,
    /// Pictures that go with it.
    pub images: Vec<Image>,
    /// The task's inputs, as given.
    pub inputs: BTreeMap<String, String>,
    /// Model, mode and limits.
    pub terms: Terms,
    /// The session to go on with; none means a new one.
    pub session: Option<SessionKey>,
    /// The directory that the definitions came from.
    pub project: String,
    /// What came in and is answered by it, all of one sender.
    pub inbounds: Vec<EventId>,
}

/// How a run left this process.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Which run.
    pub run: RunId,
    /// Its session.
    pub session: SessionId,
    /// How.
    pub end: End,
}

/// How a run left this process.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// It is over.
    Ended {
        /// How.
        ending: Ending,
        /// In words.
        message: Option<String>,
    },
    /// It waits for these answers, and nobody is there.
    Paused(Vec<ApprovalId>),
}

/// Somebody who runs runs.
pub struct Runner<'a> {
    /// The parts.
    pub host: SharedHost,
    /// What is defined.
    pub definitions: &'a Definitions,
    /// Who looks on.
    pub witness: Arc<dyn Witness>,
    /// Whether somebody is there to answer.
    pub attendance: Attendance,
    /// Where news comes in.
    pub post: Post,
}

/// Where news for a session comes in.
pub struct Post {
    sender: Sender<News>,
    receiver: Receiver<News>,
}

impl Default for Post {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel();
        Self { sender, receiver }
    }
}

impl Post {
    /// A way to say something to the session.
    pub fn handle(&self) -> Handle {
        Handle(self.sender.clone())
    }
}

/// One run under way.
struct Underway {
    id: RunId,
    session: SessionId,
    plan: RunPlan,
    model: Arc<dyn Model>,
    workspace: Arc<Workspace>,
    asked: u64,
    _ownership: Ownership,
    _following: Following,
}

impl Runner<'_> {
    /// Starts a run and brings it as far as it goes. `accepted` is called when the order is on disk.
    pub fn start(&self, order: Order, accepted: &mut dyn FnMut(&About)) -> Result<Outcome, Error> {
        let order = hidden::order(&self.host.redactor, order);
        let plan = plan::of_order(self.definitions, &order)?;
        let ledger = &self.host.ledger;
        let model = self.host.models.open(&plan.asked.model, &plan.asked.fallbacks)?;
        let workspace = open_workspace(&plan.workspace)?;
        let id = RunId::from_number((self.host.new_number)());
        let key = order.session.unwrap_or_else(|| SessionKey::new(id.as_str()));
        let found = ledger.session_named(&key, &order.agent)?;
        let session = match &found {
            Some(row) => row.id.clone(),
            None => SessionId::from_number((self.host.new_number)()),
        };
        let ownership = ledger.own(&session)?;
        if let Some(turn) = ledger.turn_under_way(&session)? {
            let run = turn.run.map_or_else(|| "a run".to_owned(), |run| run.to_string());
            return Err(Error::Definition(format!(
                "the session `{key}` has an unfinished turn of {run}: `agentry resume {run}` or \
                 `agentry cancel {run}` first"
            )));
        }
        let about = About { session: Some(session.clone()), run: Some(id.clone()), turn: None };
        let mut events = Vec::new();
        if found.is_none() {
            let (key, agent) = (key, order.agent.clone());
            events.push(Event::SessionOpened { key, agent, head: None });
        }
        // What a channel brought stands in the ledger already.
        if order.inbounds.is_empty() {
            events.push(Event::PromptReceived { content: order.prompt });
        }
        events.push(Event::RunCreated(Box::new(plan.clone())));
        events.extend(self.host.enforcer.event());
        let recorded = self.record(&about, events)?;
        accepted(&about);
        let seq = recorded.last().map_or(0, |envelope| envelope.seq);
        let following = self.host.mail.follow(ledger, &session, seq, self.post.sender.clone())?;
        let underway = Underway {
            id,
            session,
            plan,
            model,
            workspace,
            asked: 0,
            _ownership: ownership,
            _following: following,
        };
        self.steps(underway, 0)
    }

    /// Takes up a run that another process left.
    pub fn resume(&self, run: &RunId) -> Result<Outcome, Error> {
        let ownership = self.claim(run)?;
        let plan = plan::recorded(&self.host.ledger, run)?;
        let model = self.host.models.open(&plan.asked.model, &plan.asked.fallbacks)?;
        self.take_up((run, plan), model, ownership)
    }

    /// Ends a run that nobody works on. Nothing new is begun.
    pub fn cancel(&self, run: &RunId) -> Result<Outcome, Error> {
        let ownership = self.claim(run)?;
        let session = Some(ownership.session().clone());
        let about = About { session, run: Some(run.clone()), turn: None };
        self.record(&about, vec![Event::CancelReceived {}])?;
        let plan = plan::recorded(&self.host.ledger, run)?;
        self.take_up((run, plan), Arc::new(Nobody), ownership)
    }

    /// Owns the session of a run that is not over.
    fn claim(&self, run: &RunId) -> Result<Ownership, Error> {
        let ledger = &self.host.ledger;
        let session = known(ledger, run)?.session.ok_or_else(|| no_session(run))?;
        let ownership = ledger.own(&session)?;
        // Only now is the record nobody else's to change.
        refuse_ended(&known(ledger, run)?)?;
        Ok(ownership)
    }

    fn take_up(
        &self,
        (run, plan): (&RunId, RunPlan),
        model: Arc<dyn Model>,
        ownership: Ownership,
    ) -> Result<Outcome, Error> {
        let ledger = &self.host.ledger;
        let session = ownership.session().clone();
        let about = About { session: Some(session.clone()), run: Some(run.clone()), turn: None };
        let resumed = [Event::RunResumed {}].into_iter().chain(self.host.enforcer.event());
        let recorded = self.record(&about, resumed.collect())?;
        let seq = recorded.last().map_or(0, |envelope| envelope.seq);
        let following = self.host.mail.follow(ledger, &session, seq, self.post.sender.clone())?;
        let workspace = open_workspace(&plan.workspace)?;
        let turns = ledger.turns_of_run(run)?;
        let steps = ledger.steps(run)?;
        let next = steps.iter().position(|step| step.status != StepStatus::Succeeded);
        let next = next.unwrap_or(steps.len());
        let open = turns.iter().find(|turn| turn.ended_seq.is_none());
        // A turn may be over while its step is not recorded as such: then it is not begun again.
        let latest = open.or_else(|| turns.iter().rfind(|turn| turn.step as usize == next));
        let filter = Filter { run: Some(run.clone()), ..Filter::default() };
        let entries = ledger.read_from(0, &filter, TURN_ENTRIES_MAX)?;
        let mut underway = Underway {
            id: run.clone(),
            session,
            plan,
            model,
            workspace,
            asked: asked(&entries, latest.map(|turn| &turn.id)),
            _ownership: ownership,
            _following: following,
        };
        let cancelled = || entries.iter().any(|one| one.event == Event::CancelReceived {});
        if open.is_none() && cancelled() {
            return self.end(&underway, next, (Ending::Cancelled, None));
        }
        let Some(turn) = latest else { return self.steps(underway, next) };
        let at = turn.step as usize;
        match self.go_on(&mut underway, &turn.id, at)? {
            (Left::Over(Ending::Done), _) => {
                self.step_ended(&underway, at, StepStatus::Succeeded)?;
                self.steps(underway, at + 1)
            }
            (left, trouble) => self.leave(&underway, at, left, trouble),
        }
    }

    /// A turn that another process left, from its record.
    fn go_on(
        &self,
        underway: &mut Underway,
        id: &TurnId,
        at: usize,
    ) -> Result<(Left, Option<String>), Error> {
        let ledger = &self.host.ledger;
        let (mut turn, taken) =
            rebuild::rebuild(ledger, (&underway.id, id), self.definitions.level)?;
        let mut session = self.session(underway, id, at)?;
        session.taken = taken;
        session.workers.confine(&turn.charter().authority);
        for input in self.untaken(&underway.session, id, &session.taken)? {
            self.post.sender.send(News::Input(Box::new(input))).unwrap_or_default();
        }
        session.take_up(&mut turn)?;
        finish(session, turn, underway)
    }

    /// What came in for a turn and was not taken.
    fn untaken(
        &self,
        session: &SessionId,
        turn: &TurnId,
        taken: &BTreeSet<u64>,
    ) -> Result<Vec<Envelope>, Error> {
        let ledger = &self.host.ledger;
        let since = ledger.turn(turn)?.map_or(0, |row| row.started_seq);
        let filter = Filter { session: Some(session.clone()), ..Filter::default() };
        let entries = ledger.read_from(since, &filter, TURN_ENTRIES_MAX)?;
        let wanted = |one: &Envelope| is_for_turn(&one.event) && !taken.contains(&one.seq);
        Ok(entries.into_iter().filter(wanted).collect())
    }

    /// The steps from one on, until one does not succeed.
    fn steps(&self, mut underway: Underway, from: usize) -> Result<Outcome, Error> {
        for at in from..underway.plan.steps.len() {
            match self.step(&mut underway, at)? {
                (Left::Over(Ending::Done), _) => {
                    self.step_ended(&underway, at, StepStatus::Succeeded)?;
                }
                (left, trouble) => return self.leave(&underway, at, left, trouble),
            }
        }
        let all = underway.plan.steps.len();
        self.end(&underway, all, (Ending::Done, None))
    }

    fn leave(
        &self,
        underway: &Underway,
        at: usize,
        left: Left,
        trouble: Option<String>,
    ) -> Result<Outcome, Error> {
        match left {
            Left::Over(ending) => {
                self.step_ended(underway, at, StepStatus::Failed)?;
                self.end(underway, at + 1, (ending, trouble))
            }
            Left::Paused(approvals) => {
                let event = Event::RunPaused { approvals: approvals.clone() };
                self.record(&underway.about(), vec![event])?;
                Ok(underway.outcome(End::Paused(approvals)))
            }
        }
    }

    /// One step: one turn.
    fn step(&self, underway: &mut Underway, at: usize) -> Result<(Left, Option<String>), Error> {
        let ledger = &self.host.ledger;
        let id = TurnId::from_number((self.host.new_number)());
        let head = ledger.session(&underway.session)?.and_then(|row| row.head);
        let history = history::before(ledger, head.as_ref())?;
        let task = plan::task(self.definitions, &underway.plan)?;
        let agent = &underway.plan.steps[at].agent;
        let moment = Moment { session: Some(underway.session.as_str()), turn: Some(id.as_str()) };
        let mut terms = plan::terms(&underway.plan, at);
        terms.bounds = terms.bounds.map(|bounds| request::renewed(ledger, bounds)).transpose()?;
        let step = task.map(|task| (task, at));
        let charter = self.definitions.charter(agent, step, &terms, &moment)?;
        let plan = TurnPlan {
            parent_hash: head
                .as_ref()
                .map(|head| ledger.turn(head))
                .transpose()?
                .flatten()
                .and_then(|row| row.hash),
            parent: head.clone(),
            history_from: history.from,
            history_left_out: history.left_out,
            step: u32::try_from(at).unwrap_or(u32::MAX),
            prompt: self.host.redactor.hide(&plan::prompt(&underway.plan, task, at)),
            images: if at == 0 { underway.plan.given.images.clone() } else { Vec::new() },
            charter: serde_json::to_value(&charter).expect("a charter is plain JSON"),
            standing: self.standing(&underway.session)?,
        };
        let (mut turn, moves) = Turn::begin(charter, &plan, history.messages).map_err(halted)?;
        let started = Event::StepStarted { index: plan.step };
        self.record(&underway.about(), vec![started])?;
        let mut session = self.session(underway, &id, at)?;
        session.workers.confine(&turn.charter().authority);
        session.record_and_perform(
            &mut turn,
            Some(Event::TurnStarted(Box::new(plan))),
            None,
            moves,
        )?;
        finish(session, turn, underway)
    }

    fn session<'b>(
        &'b self,
        underway: &Underway,
        turn: &TurnId,
        at: usize,
    ) -> Result<Session<'b>, Error> {
        let about = About { turn: Some(turn.clone()), ..underway.about() };
        // A turn that goes on has what it was told; a definition that is gone takes only its skills along.
        let task = plan::task(self.definitions, &underway.plan).ok().flatten();
        let agent = &underway.plan.steps[at].agent;
        let skills = self.definitions.loadable(agent, task.map(|task| (task, at)));
        let skills = skills.unwrap_or_default();
        let mut workers = Workers::new(
            self.host.clone(),
            (underway.model.clone(), underway.workspace.clone()),
            skills,
            (self.witness.clone(), self.post.sender.clone()),
            about,
        );
        workers.fallbacks.clone_from(&underway.plan.asked.fallbacks);
        Ok(Session {
            ledger: &self.host.ledger,
            definitions: self.definitions,
            workers,
            inbox: &self.post.receiver,
            attendance: self.attendance,
            asked_before: underway.asked,
            taken: BTreeSet::new(),
        })
    }

    fn step_ended(&self, underway: &Underway, at: usize, status: StepStatus) -> Result<(), Error> {
        let index = u32::try_from(at).unwrap_or(u32::MAX);
        self.record(&underway.about(), vec![Event::StepEnded { index, status }])?;
        Ok(())
    }

    /// Ends the run; the steps from `rest` on are skipped.
    fn end(
        &self,
        underway: &Underway,
        rest: usize,
        (ending, message): (Ending, Option<String>),
    ) -> Result<Outcome, Error> {
        let skipped = (rest..underway.plan.steps.len()).map(|at| Event::StepEnded {
            index: u32::try_from(at).unwrap_or(u32::MAX),
            status: StepStatus::Skipped,
        });
        let ended = Event::RunEnded { ending, message: message.clone() };
        self.record(&underway.about(), skipped.chain([ended]).collect())?;
        Ok(underway.outcome(End::Ended { ending, message }))
    }

    fn record(&self, about: &About, events: Vec<Event>) -> Result<Vec<Envelope>, Error> {
        let draft = |event| Draft { cause: None, about: about.clone(), event };
        let recorded = self.host.ledger.append(events.into_iter().map(draft).collect())?;
        for envelope in &recorded {
            self.witness.recorded(envelope);
        }
        Ok(recorded)
    }

    /// What people allowed for the whole session.
    fn standing(&self, session: &SessionId) -> Result<BTreeMap<String, ApprovalId>, Error> {
        let rows = self.host.ledger.approvals_allowed(session)?;
        let lasting = rows.into_iter().filter(|row| {
            row.answer.as_ref().is_some_and(|one| one.allow && one.reach == Reach::Session)
        });
        Ok(lasting.map(|row| (row.approval.digest.to_string(), row.approval.id)).collect())
    }
}

/// Brings a turn as far as it goes, and counts its requests for the turns after it.
fn finish(
    mut session: Session<'_>,
    mut turn: Turn,
    underway: &mut Underway,
) -> Result<(Left, Option<String>), Error> {
    let left = session.drive(&mut turn)?;
    underway.asked += u64::from(turn.steps());
    Ok((left, turn.trouble()))
}

/// How many requests to the model stand in a run's entries, but for those of one turn.
fn asked(entries: &[Envelope], but: Option<&TurnId>) -> u64 {
    let asked = entries.iter().filter(|envelope| {
        matches!(envelope.event, Event::ModelAsked { .. }) && envelope.about.turn.as_ref() != but
    });
    asked.count() as u64
}

impl Underway {
    fn about(&self) -> About {
        About { session: Some(self.session.clone()), run: Some(self.id.clone()), turn: None }
    }

    fn outcome(&self, end: End) -> Outcome {
        Outcome { run: self.id.clone(), session: self.session.clone(), end }
    }
}

fn open_workspace(path: &str) -> Result<Arc<Workspace>, Error> {
    let opened = Workspace::open(Path::new(path));
    let opened = opened
        .map_err(|error| Error::Workspace { path: path.to_owned(), why: error.to_string() })?;
    Ok(Arc::new(opened))
}

fn known(ledger: &Ledger, run: &RunId) -> Result<RunRow, Error> {
    let row = ledger.run(run)?;
    row.ok_or_else(|| Error::Definition(format!("there is no run `{run}`")))
}

fn no_session(run: &RunId) -> Error {
    Error::Halted(format!("{run} has no session in the ledger"))
}

fn refuse_ended(row: &RunRow) -> Result<(), Error> {
    match row.status {
        RunStatus::Completed | RunStatus::Failed | RunStatus::Canceled => {
            Err(Error::Ended { run: row.id.clone(), status: row.status.as_str() })
        }
        RunStatus::Planned | RunStatus::Running | RunStatus::PausedForApproval => Ok(()),
    }
}
