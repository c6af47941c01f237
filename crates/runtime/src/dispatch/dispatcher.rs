//! The dispatcher: all mailboxes of this process, the order of their turns, and the active runs.
//!
//! One thread owns the mailboxes. It receives new inbound events and the exits of runs, informs the
//! mailbox of the session, and records and performs the actions that the mailbox returns. An idle
//! session is only a row in the ledger; its mailbox is rebuilt from there when an event arrives.
//!
//! Must never: hold state in memory only, or start a turn that is not waiting in the ledger.

mod active_session;
mod message;
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
use agentry_protocol::{RunId, SessionId};
use agentry_store::{InboundStatus, IntakeLock};

use crate::definitions::definition_source::DefinitionSource;
use crate::error::Error;
use crate::host::{NoticeSink, RunObserver, SharedHost};
use crate::inbound::event_hooks::{HookRunner, HookRunnerHandle};
use crate::inbound::intake::IntakePipeline;
use crate::limits::{DESK_WAIT_MAX, UNREADY_WAIT_MS};
use crate::outbound::reply::ReplySender;
use active_session::ActiveSession;
pub use message::DispatcherHandle;
use message::DispatcherMessage;
use run_launcher::{RunAction, RunLauncher};

/// The events that a dispatcher serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DispatcherScope {
    /// All events, until a stop.
    All,
    /// One event, until it is settled.
    One(EventId),
}

/// The services and limits of a dispatcher.
pub struct DispatcherOptions {
    /// The shared services.
    pub host: Arc<crate::Host>,
    /// The current definitions.
    pub definition_source: Arc<dyn DefinitionSource>,
    /// The observer of all runs.
    pub observer: Arc<dyn RunObserver>,
    /// The sink of notices for the operator.
    pub say: NoticeSink,
    /// The limits on running and waiting turns.
    pub limits: SchedulerLimits,
    /// The sender of answers.
    pub replies: ReplySender,
    /// The lock that makes this the only dispatcher of the home.
    pub sole: IntakeLock,
}

/// The dispatcher of one home.
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

/// Work that the dispatcher has yet to do.
#[derive(Default)]
struct DispatcherBacklog {
    /// Events that are in the ledger and not yet in their mailbox.
    arriving: HashSet<EventId>,
    /// Turns that the full schedule did not accept yet.
    held: VecDeque<TurnRequest>,
    /// The times at which sessions are checked again, in milliseconds since 1970.
    wakes: BTreeSet<(u64, SessionId)>,
    /// The next wait of a session that another process owns, in milliseconds.
    waits: HashMap<SessionId, u64>,
    /// Runs that another process may have ended, with answers that are still to be sent.
    left: BTreeSet<(SessionId, RunId)>,
    /// True if the backlog was drained since the last wake-up.
    looked: bool,
    /// The reason why intake is paused, and the time of the next try.
    unready: Option<(String, u64)>,
    stopping: bool,
}

impl Dispatcher {
    /// Opens the dispatcher of a home.
    pub fn open(options: DispatcherOptions, scope: DispatcherScope) -> Result<Self, Error> {
        let DispatcherOptions { host, definition_source, observer, say, limits, replies, sole } =
            options;
        let words = mpsc::channel();
        let tools = host.tools.builtin_names();
        let intake = IntakePipeline::new(
            host.ledger.clone(),
            definition_source.clone(),
            tools,
            host.new_number,
        )?;
        let worker = RunLauncher {
            host: host.clone(),
            definition_source,
            observer,
            replies,
            words: words.0.clone(),
        };
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

    /// Returns a handle that can stop it.
    pub fn handle(&self) -> DispatcherHandle {
        DispatcherHandle::new(self.words.0.clone())
    }

    /// Works until it was stopped and no run is active, or until its one event is settled.
    pub fn work(mut self) -> Result<(), Error> {
        let _following = active_session::follow_world(&self.host, self.words.0.clone())?;
        if self.scope == DispatcherScope::All {
            for session in active_session::unfinished(&self.host.ledger)? {
                self.with(&session, MailboxInput::Ticked)?;
            }
        }
        self.worker.replies.begin(&self.host, &self.say)?;
        // A dispatcher for one event leaves hooks to the server.
        let hooks = match self.scope {
            DispatcherScope::All => Some(HookRunner::start(
                self.host.clone(),
                self.worker.definition_source.clone(),
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
                        // Only a person can continue it.
                        || status == InboundStatus::Paused
                        // Only a server runs its hooks.
                        || status == InboundStatus::Hooked
                };
                let is_left = row.is_none_or(|row| left(row.status));
                Ok(is_left && self.schedule.running() == 0)
            }
        }
    }

    /// Moves received events into mailboxes, as long as the schedule accepts turns.
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
                (self.say)("intake resumed");
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

    /// Pauses intake and notifies the operator, once per reason. The events stay in the ledger.
    fn wait_until_ready(&mut self, why: &str) {
        let before = self.rest.unready.take();
        if before.is_none_or(|(before, _)| before != why) {
            (self.say)(&format!("intake paused: {why}"));
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
                if compacts { self.with(&session, MailboxInput::CompactionStarted) } else { Ok(()) }
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

    /// Passes an input to the mailbox of a session and performs the resulting actions.
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

    /// Performs an action of a mailbox; its result is the next input of the mailbox.
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
            // The ledger rejected the repeated event before; it cannot arrive here twice.
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
        // The process that received the message may not know all secrets of this one.
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
            // They were admitted before.
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

/// True if the error may pass by itself, or after a person repairs a file.
fn may_pass(error: &Error) -> bool {
    matches!(error, Error::Unready(_) | Error::Ledger(agentry_store::Error::Locked { .. }))
}

#[cfg(test)]
mod tests;
