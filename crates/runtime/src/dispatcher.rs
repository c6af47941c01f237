//! The desk: all mailboxes of this process, who may start next, and the runs under way.
//!
//! One thread owns the mailboxes. It is told what came in and what became of runs, asks the mailbox of the
//! session, records what that wants, and does it. A session with nothing to do is a row in the ledger and
//! nothing else; its mailbox is made again from there when something comes for it.
//!
//! Must never: hold something in memory only, or start a turn that the ledger does not say waits.

mod active_session;
mod run_exit;
mod run_launcher;
mod stop;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use agentry_kernel::mailbox::{MailboxAction, MailboxInput, MailboxItem};
use agentry_kernel::scheduler::{SchedulerDecision, SchedulerLimits, TurnRequest, TurnScheduler};
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::{IntakeStage, UnrunReason};
use agentry_protocol::{RunId, SessionId, TurnId};
use agentry_store::{InboundStatus, IntakeLock};

use crate::error::Error;
use crate::event_hooks::{HookRunner, HookRunnerHandle};
use crate::host::{RunObserver, SharedHost};
use crate::intake::{DefinitionSource, IntakePipeline};
use crate::limits::{DESK_WAIT_MAX, UNREADY_WAIT_MS};
use crate::reply::ReplySender;
use crate::run::RunOutcome;
use active_session::ActiveSession;
use run_launcher::{RunAction, RunLauncher};

/// What a desk is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DispatcherScope {
    /// All that comes, until it is told to stop.
    All,
    /// One event, until it is settled.
    One(EventId),
}

/// Somebody who is told what the operator should know.
pub type NoticeSink = Arc<dyn Fn(&str) + Send + Sync>;

/// What a desk is made of.
pub struct DispatcherOptions {
    /// The parts.
    pub host: Arc<crate::Host>,
    /// The definitions, as they are now.
    pub office: Arc<dyn DefinitionSource>,
    /// Who looks on.
    pub witness: Arc<dyn RunObserver>,
    /// Who is told what the operator should know.
    pub say: NoticeSink,
    /// How much may run and wait.
    pub limits: SchedulerLimits,
    /// What sends answers back.
    pub replies: ReplySender,
    /// That nobody else has a desk for this home.
    pub sole: IntakeLock,
}

/// What the desk is told.
pub(crate) enum DispatcherMessage {
    /// Something came in.
    WorldChanged(WorldChanges),
    /// A run is on disk.
    RunBegan(SessionId, RunId),
    /// A turn began.
    TurnBegan {
        session: SessionId,
        turn: TurnId,
        /// Whether it only makes room for the one after it.
        compacts: bool,
    },
    /// Such a turn is over.
    Compacted(SessionId),
    /// A turn took notice of an entry.
    SteerTaken(SessionId, u64),
    /// A run left its thread.
    RunExited(SessionId, Result<RunOutcome, Error>),
    /// Nobody can see any more what comes in.
    Failed(String),
    /// No more is to be begun.
    Stop,
}

/// What of the world concerns the desk itself.
#[derive(Default)]
pub(crate) struct WorldChanges {
    /// Whether something came in.
    pub(crate) received: bool,
    /// Sessions in which a person answered a question.
    pub(crate) answered: BTreeSet<SessionId>,
    /// Sessions of which somebody asked the run to end.
    pub(crate) cancelled: BTreeSet<SessionId>,
}

/// A way to tell a desk to stop.
#[derive(Clone)]
pub struct DispatcherHandle(Sender<DispatcherMessage>);

impl DispatcherHandle {
    /// No more is begun; what runs may come to its end for a while.
    pub fn stop(&self) {
        // A desk that is gone has stopped.
        self.0.send(DispatcherMessage::Stop).unwrap_or_default();
    }
}

/// The desk.
pub struct Dispatcher {
    host: SharedHost,
    intake: IntakePipeline,
    worker: RunLauncher,
    say: NoticeSink,
    scope: DispatcherScope,
    words: (Sender<DispatcherMessage>, Receiver<DispatcherMessage>),
    // Invariant: a session is here exactly while its mailbox is not idle or a run of it is known.
    live: HashMap<SessionId, ActiveSession>,
    schedule: TurnScheduler,
    jobs: HashMap<u64, RunAction>,
    next_ticket: u64,
    rest: DispatcherBacklog,
    _sole: IntakeLock,
}

/// What is left for later.
#[derive(Default)]
struct DispatcherBacklog {
    /// What is in the ledger and was not told to its mailbox yet.
    arriving: HashSet<EventId>,
    /// Turns that there was no room for in the schedule.
    held: VecDeque<TurnRequest>,
    /// When which session is looked at again.
    wakes: BTreeSet<(u64, SessionId)>,
    /// How long a session is left alone the next time it cannot begin.
    waits: HashMap<SessionId, u64>,
    /// Runs that another process may have ended, whose answers are to be sent then.
    left: HashMap<SessionId, RunId>,
    /// Whether nothing may have come in since it was last looked for.
    looked: bool,
    /// Why nothing can be taken in, and when that is tried again.
    unready: Option<(String, u64)>,
    stopping: bool,
}

impl Dispatcher {
    /// A desk for a home.
    pub fn open(furniture: DispatcherOptions, scope: DispatcherScope) -> Result<Self, Error> {
        let DispatcherOptions { host, office, witness, say, limits, replies, sole } = furniture;
        let words = mpsc::channel();
        let tools = host.tools.specs().map(|spec| spec.name.clone()).collect();
        let intake =
            IntakePipeline::new(host.ledger.clone(), office.clone(), tools, host.new_number)?;
        let worker =
            RunLauncher { host: host.clone(), office, witness, replies, words: words.0.clone() };
        Ok(Self {
            host,
            intake,
            worker,
            say,
            scope,
            words,
            live: HashMap::new(),
            schedule: TurnScheduler::new(limits),
            jobs: HashMap::new(),
            next_ticket: 0,
            rest: DispatcherBacklog::default(),
            _sole: sole,
        })
    }

    /// A way to tell it to stop.
    pub fn handle(&self) -> DispatcherHandle {
        DispatcherHandle(self.words.0.clone())
    }

    /// Works until it is told to stop and nothing runs, or until its one event is settled.
    pub fn work(mut self) -> Result<(), Error> {
        let _looking = active_session::watch_world(&self.host, self.words.0.clone())?;
        if self.scope == DispatcherScope::All {
            for session in active_session::unfinished(&self.host.ledger)? {
                self.with(&session, MailboxInput::Ticked)?;
            }
        }
        self.worker.replies.begin(&self.host, &self.say)?;
        // Who waits for one event leaves its hooks to a server.
        let hooks = match self.scope {
            DispatcherScope::All => Some(HookRunner::start(
                self.host.clone(),
                self.worker.office.clone(),
                self.say.clone(),
            )?),
            DispatcherScope::One(_) => None,
        };
        loop {
            self.take_in()?;
            if let Some(hooks) = hooks.as_ref().filter(|_| self.intake.set_off()) {
                hooks.ring();
            }
            self.start_what_may();
            if self.is_done()? {
                hooks.iter().for_each(HookRunnerHandle::finish);
                return Ok(());
            }
            match self.words.1.recv_timeout(self.time_to_wake()) {
                Ok(word) => self.hear(word)?,
                Err(RecvTimeoutError::Timeout) => self.rest.looked = false,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            while let Ok(word) = self.words.1.try_recv() {
                self.hear(word)?;
            }
            self.wake()?;
        }
    }

    fn is_done(&self) -> Result<bool, Error> {
        match &self.scope {
            DispatcherScope::All => Ok(self.rest.stopping && self.schedule.running() == 0),
            DispatcherScope::One(_) if self.rest.stopping => Ok(self.schedule.running() == 0),
            DispatcherScope::One(event) => {
                let row = self.host.ledger.inbound(event)?;
                let left = |status: InboundStatus| {
                    status.is_settled()
                        // Only a person can bring it on.
                        || status == InboundStatus::Paused
                        // Only a server runs its hooks.
                        || status == InboundStatus::Hooked
                };
                let is_left = row.is_none_or(|row| left(row.status));
                Ok(is_left && self.schedule.running() == 0)
            }
        }
    }

    /// Takes what came in, as long as there is room for it.
    fn take_in(&mut self) -> Result<(), Error> {
        let now = self.host.ledger.now();
        let is_early = self.rest.unready.as_ref().is_some_and(|(_, at)| *at > now);
        while !self.rest.stopping && !self.rest.looked && !is_early && self.rest.held.is_empty() {
            let only = match &self.scope {
                DispatcherScope::All => None,
                DispatcherScope::One(event) => Some(event),
            };
            let (arrivals, more) = match self.intake.take(only) {
                Ok(taken) => taken,
                Err(error) if self.scope == DispatcherScope::All && may_pass(&error) => {
                    self.wait_until_ready(&error.to_string());
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            if self.rest.unready.take().is_some() {
                (self.say)("what comes in is taken again");
            }
            self.rest.looked = !more;
            let arriving = arrivals.iter().filter_map(|arrival| arrival.event().cloned());
            self.rest.arriving = arriving.collect();
            for arrival in arrivals {
                let event = arrival.event().cloned();
                self.with(&arrival.session, arrival.told)?;
                self.host.ledger.append(arrival.then)?;
                event.map(|event| self.rest.arriving.remove(&event));
            }
        }
        Ok(())
    }

    /// What came stays where it is, and somebody is told why, once.
    fn wait_until_ready(&mut self, why: &str) {
        let before = self.rest.unready.take();
        if before.is_none_or(|(before, _)| before != why) {
            (self.say)(&format!("nothing is taken in, and nobody is let in: {why}"));
        }
        let at = self.host.ledger.now().saturating_add(UNREADY_WAIT_MS);
        self.rest.unready = Some((why.to_owned(), at));
    }

    fn hear(&mut self, word: DispatcherMessage) -> Result<(), Error> {
        match word {
            DispatcherMessage::WorldChanged(came) => {
                if came.received {
                    self.rest.looked = false;
                }
                came.answered.iter().for_each(|session| self.answered(session));
                came.cancelled.iter().for_each(|session| self.cancelled(session));
                Ok(())
            }
            DispatcherMessage::RunBegan(session, run) => self.began(&session, run),
            DispatcherMessage::TurnBegan { session, turn, compacts } => {
                self.rest.waits.remove(&session);
                let Some(live) = self.live.get(&session) else { return Ok(()) };
                let sender = live.sender();
                self.with(&session, MailboxInput::TurnStarted { turn, sender })?;
                match compacts {
                    true => self.with(&session, MailboxInput::CompactionStarted),
                    false => Ok(()),
                }
            }
            DispatcherMessage::Compacted(session) => {
                self.with(&session, MailboxInput::CompactionEnded)
            }
            DispatcherMessage::SteerTaken(session, seq) => {
                let Some(live) = self.live.get_mut(&session) else { return Ok(()) };
                let at = live.steers.iter().position(|(steer, _)| *steer == seq);
                let taken = at.map(|at| live.steers.remove(at).1);
                taken.map_or(Ok(()), |event| self.with(&session, MailboxInput::SteerTaken(event)))
            }
            DispatcherMessage::RunExited(session, outcome) => self.over(&session, outcome),
            DispatcherMessage::Failed(why) => Err(Error::Halted(why)),
            DispatcherMessage::Stop => {
                self.worker.replies.stop();
                self.rest.stopping = true;
                Ok(())
            }
        }
    }

    /// Tells the mailbox of a session something, and does what it wants.
    fn with(&mut self, session: &SessionId, input: MailboxInput) -> Result<(), Error> {
        if !self.live.contains_key(session) {
            let live = ActiveSession::load(&self.host.ledger, session, &self.rest.arriving)?;
            let resume = live.run.clone().filter(|_| !live.is_paused);
            self.live.insert(session.clone(), live);
            if let Some(run) = resume {
                self.put_in_line(session, RunAction::Resume(run));
            }
        }
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            let now = self.host.ledger.now();
            let live = self.live.get_mut(session).expect("it was put there");
            let acts = live.mailbox.tell(input, now);
            for act in acts {
                inputs.extend(self.act(session, act)?);
            }
        }
        self.let_go_if_idle(session);
        Ok(())
    }

    fn let_go_if_idle(&mut self, session: &SessionId) {
        let idle = |live: &ActiveSession| live.mailbox.is_idle() && live.run.is_none();
        if self.live.get(session).is_some_and(idle) {
            self.live.remove(session);
        }
    }

    /// Does what a mailbox wants; what came of it is told to the mailbox next.
    fn act(
        &mut self,
        session: &SessionId,
        act: MailboxAction,
    ) -> Result<Option<MailboxInput>, Error> {
        match act {
            MailboxAction::Start { items, prompt, .. } => {
                self.put_in_line(session, RunAction::Start { items, prompt });
                Ok(None)
            }
            MailboxAction::Steer { item } => self.steer(session, item),
            MailboxAction::Cancel { why } => self.cancel(session, why),
            MailboxAction::Rejected { item, why } | MailboxAction::Dropped { item, why } => {
                self.unrun(session, vec![item.id], why, None)?;
                Ok(None)
            }
            // The ledger refused it before; it cannot come here twice.
            MailboxAction::Repeated { .. } => Ok(None),
            MailboxAction::WakeAt(at) => {
                self.rest.wakes.insert((at, session.clone()));
                Ok(None)
            }
        }
    }

    fn steer(
        &mut self,
        session: &SessionId,
        item: MailboxItem,
    ) -> Result<Option<MailboxInput>, Error> {
        let live = self.live.get_mut(session).expect("its mailbox spoke");
        let Some(run) = live.run.clone() else {
            return Ok(Some(MailboxInput::SteerFailed(item.id)));
        };
        // Whoever took it in may not know all secrets of this process.
        let content = self.host.redactor.hide(&item.text);
        let event = Event::SteerReceived { content, event: Some(item.id.clone()) };
        let about = EntrySubject { session: Some(session.clone()), run: Some(run), turn: None };
        match self.host.ledger.append(vec![Draft { cause: None, about, event }]) {
            Ok(recorded) => {
                live.steers.extend(recorded.iter().map(|envelope| (envelope.seq, item.id.clone())));
                Ok(None)
            }
            Err(agentry_store::Error::Handled { .. }) => {
                Ok(Some(MailboxInput::SteerFailed(item.id)))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn unrun(
        &self,
        session: &SessionId,
        events: Vec<EventId>,
        why: UnrunReason,
        detail: Option<&str>,
    ) -> Result<(), Error> {
        let about = EntrySubject { session: Some(session.clone()), ..EntrySubject::default() };
        let draft = |event| {
            let detail = detail.map(str::to_owned);
            let event = Event::Intake(IntakeStage::Unrun { event, why, detail });
            Draft { cause: None, about: about.clone(), event }
        };
        self.host.ledger.append(events.into_iter().map(draft).collect())?;
        Ok(())
    }

    fn put_in_line(&mut self, session: &SessionId, job: RunAction) {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        let live = self.live.get_mut(session).expect("only what is known is put in line");
        live.ticket = Some(ticket);
        let principal = match &job {
            RunAction::Start { items, .. } => {
                items.first().map_or("", |item| item.sender.authority.as_str()).to_owned()
            }
            // They were let in before.
            RunAction::Resume(run) | RunAction::End(run) => run.to_string(),
        };
        self.jobs.insert(ticket, job);
        let wanted = TurnRequest { principal, session: session.clone(), ticket };
        if let Err((wanted, _)) = self.schedule.want(wanted) {
            self.rest.held.push_back(wanted);
        }
    }

    fn start_what_may(&mut self) {
        if self.rest.stopping {
            return;
        }
        for _ in 0..self.rest.held.len() {
            let Some(wanted) = self.rest.held.pop_front() else { break };
            if let Err((wanted, _)) = self.schedule.want(wanted) {
                self.rest.held.push_back(wanted);
            }
        }
        while let SchedulerDecision::Start(TurnRequest { session, ticket, .. }) =
            self.schedule.take_next()
        {
            let Some(job) = self.jobs.remove(&ticket) else { continue };
            if let Some(live) = self.live.get_mut(&session) {
                live.ticket = None;
                self.worker.start(&session, job, live);
            }
        }
    }

    fn began(&mut self, session: &SessionId, run: RunId) -> Result<(), Error> {
        let Some(live) = self.live.get_mut(session) else { return Ok(()) };
        live.run = Some(run.clone());
        if std::mem::take(&mut live.is_unwanted) {
            self.ask_to_end(session, run)?;
        }
        Ok(())
    }

    fn time_to_wake(&self) -> Duration {
        let now = self.host.ledger.now();
        let wakes = self.rest.wakes.first().map(|(at, _)| *at);
        let ready = self.rest.unready.as_ref().map(|(_, at)| *at);
        let next = wakes.into_iter().chain(ready).min().map(|at| at.saturating_sub(now));
        next.map_or(DESK_WAIT_MAX, |ms| Duration::from_millis(ms).min(DESK_WAIT_MAX))
    }

    fn wake(&mut self) -> Result<(), Error> {
        let now = self.host.ledger.now();
        while let Some((at, session)) = self.rest.wakes.first().cloned() {
            if at > now {
                return Ok(());
            }
            self.rest.wakes.remove(&(at, session.clone()));
            self.send_missed_answers(&session);
            self.with(&session, MailboxInput::Ticked)?;
        }
        Ok(())
    }
}

/// Whether what went wrong may be over by itself, or when somebody mends a file.
fn may_pass(error: &Error) -> bool {
    matches!(error, Error::Unready(_) | Error::Ledger(agentry_store::Error::Locked { .. }))
}
