//! Runs: from the request to the ending, step by step, also across processes.
//!
//! Must never: begin a step before the previous one is recorded as done, or a turn in a session
//! that another process owns.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use agentry_model::Model;
use agentry_protocol::envelope::{Draft, EntrySubject, Envelope};
use agentry_protocol::event::{Ending, Event, RunPlan, StepStatus};
use agentry_protocol::{RunId, SessionId, SessionKey, TurnId};
use agentry_store::{EntryFilter, Ledger, RunRow, RunStatus, SessionLock};
use agentry_tools::Workspace;

use crate::definitions::plan;
use crate::definitions::trust;
use crate::error::Error;
use crate::limits::TURN_ENTRIES_MAX;
use crate::outbound::reply;
use crate::programs::jobs;
use crate::redact::redaction;
use crate::run_request::{AdmittedPrompt, RunRequest, sessionless_draft};
use crate::turn::cancelled_model::CancelledModel;
use crate::turn::pre_turn::left_hooks;
use crate::turn::runner::{ActiveRun, RunExit, RunOutcome, RunResources, Runner};
use crate::turn::session::TurnExit;
use crate::turn::step::ResumeOutcome;

impl Runner<'_> {
    /// Starts a run and drives it until it ends or pauses. Calls `accepted` once it is recorded.
    pub fn start(
        &self,
        order: RunRequest,
        accepted: &mut dyn FnMut(&EntrySubject),
    ) -> Result<RunOutcome, Error> {
        let order = redaction::order(&self.host.redactor, order);
        let plan = plan::of_order(self.definitions, &order)?;
        self.begin(order, plan, accepted)
    }

    /// Records a run with its plan and drives it until it ends or pauses.
    pub(crate) fn begin(
        &self,
        order: RunRequest,
        plan: RunPlan,
        accepted: &mut dyn FnMut(&EntrySubject),
    ) -> Result<RunOutcome, Error> {
        let ledger = &self.host.ledger;
        trust::check(ledger, self.definitions, plan.steps.iter().map(|step| &step.agent))?;
        let model = self.host.models.open(&plan.asked.model, &plan.asked.fallbacks)?;
        let workspace = open_workspace(&plan.workspace)?;
        let id = RunId::from_number((self.host.new_number)());
        let alone = order.session.is_none();
        let key = order.session.unwrap_or_else(|| SessionKey::new(id.as_str()));
        let found = ledger.session_named(&key, &order.agent)?;
        let session = match &found {
            Some(row) => row.id.clone(),
            None => SessionId::from_number((self.host.new_number)()),
        };
        let ownership = ledger.lock_session(&session)?;
        if let Some(turn) = ledger.turn_under_way(&session)? {
            let run = turn.run.map_or_else(|| "a run".to_owned(), |run| run.to_string());
            return Err(Error::Definition(format!(
                "the session `{key}` has an unfinished turn of {run}: `agentry resume {run}` or \
                 `agentry cancel {run}` first"
            )));
        }
        let about =
            EntrySubject { session: Some(session.clone()), run: Some(id.clone()), turn: None };
        let mut events = Vec::new();
        if found.is_none() {
            let (key, agent) = (key, order.agent.clone());
            events.push(Event::SessionOpened { key, agent, head: None });
        }
        let said = order.said.as_ref();
        let persona = order.terms.persona.as_deref();
        events.extend(said.map(|said| said.routed_event(&order.agent, persona)));
        // Events from a channel are in the ledger already.
        if order.inbounds.is_empty() || said.is_some() {
            events.push(Event::PromptReceived { content: order.prompt });
        }
        events.push(Event::RunCreated(Box::new(plan.clone())));
        events.extend(self.host.enforcer.event());
        events.extend(begins(&plan, 0));
        let came =
            said.map(AdmittedPrompt::intake_events).into_iter().flatten().map(sessionless_draft);
        let recorded = self.record_all(came.chain(drafts(&about, events)).collect())?;
        accepted(&about);
        let seq = recorded.last().map_or(0, |envelope| envelope.seq);
        let following = self.post.follow(&self.host.follower, &session, seq)?;
        let held = RunResources::new(id.clone(), ownership, following);
        let underway = ActiveRun {
            id,
            session,
            plan,
            model,
            workspace,
            asked: 0,
            retried: false,
            shaped: None,
            left_hooks: VecDeque::new(),
            alone,
            held,
        };
        self.steps(underway, 0)
    }

    /// Resumes a run that another process left.
    pub fn resume(&self, run: &RunId) -> Result<RunOutcome, Error> {
        let ownership = self.claim(run)?;
        let plan = plan::recorded(&self.host.ledger, run)?;
        let agents = plan.steps.iter().map(|step| &step.agent);
        trust::check(&self.host.ledger, self.definitions, agents)?;
        let model = self.host.models.open(&plan.asked.model, &plan.asked.fallbacks)?;
        self.take_up(run, plan, model, ownership)
    }

    /// Ends a run that no process drives. Nothing new is begun.
    pub fn cancel(&self, run: &RunId) -> Result<RunOutcome, Error> {
        let ownership = self.claim(run)?;
        let session = Some(ownership.session().clone());
        let about = EntrySubject { session, run: Some(run.clone()), turn: None };
        self.record(&about, vec![Event::CancelReceived {}])?;
        let plan = plan::recorded(&self.host.ledger, run)?;
        self.take_up(run, plan, Arc::new(CancelledModel), ownership)
    }

    /// Locks the session of a run that has not ended.
    fn claim(&self, run: &RunId) -> Result<SessionLock, Error> {
        let ledger = &self.host.ledger;
        let session = known(ledger, run)?.session.ok_or_else(|| no_session(run))?;
        let ownership = ledger.lock_session(&session)?;
        // Check only under the lock: before it, another process may still end the run.
        refuse_ended(&known(ledger, run)?)?;
        Ok(ownership)
    }

    fn take_up(
        &self,
        run: &RunId,
        plan: RunPlan,
        model: Arc<dyn Model>,
        ownership: SessionLock,
    ) -> Result<RunOutcome, Error> {
        let ledger = &self.host.ledger;
        let session = ownership.session().clone();
        let about =
            EntrySubject { session: Some(session.clone()), run: Some(run.clone()), turn: None };
        let resumed = [Event::RunResumed {}].into_iter().chain(self.host.enforcer.event());
        let recorded = self.record(&about, resumed.collect())?;
        jobs::reap_of_run(ledger, run)?;
        let seq = recorded.last().map_or(0, |envelope| envelope.seq);
        let following = self.post.follow(&self.host.follower, &session, seq)?;
        let workspace = open_workspace(&plan.workspace)?;
        let turns = ledger.turns_of_run(run)?;
        let steps = ledger.steps(run)?;
        let next = steps.iter().position(|step| step.status != StepStatus::Succeeded);
        let next = next.unwrap_or(steps.len());
        let open = turns.iter().find(|turn| turn.ended_seq.is_none());
        // A turn may have ended before its step was recorded as done: then it is not begun again.
        let latest = open.or_else(|| turns.iter().rfind(|turn| turn.step as usize == next));
        let filter = EntryFilter { run: Some(run.clone()), ..EntryFilter::default() };
        let entries = ledger.read_from(0, &filter, TURN_ENTRIES_MAX)?;
        let mut underway = ActiveRun {
            id: run.clone(),
            session,
            plan,
            model,
            workspace,
            asked: asked(&entries, latest.map(|turn| &turn.id)),
            retried: overflowed(&entries, latest.map(|turn| &turn.id)),
            shaped: None,
            left_hooks: left_hooks(&entries),
            alone: false,
            held: RunResources::new(run.clone(), ownership, following),
        };
        let cancelled = || entries.iter().any(|one| one.event == Event::CancelReceived {});
        if open.is_none() && cancelled() {
            let skipped = skipped(&underway.plan, next).collect();
            return self.end(&mut underway, skipped, Ending::Cancelled, None);
        }
        let Some(turn) = latest else {
            let is_begun = steps.get(next).is_some_and(|step| step.status == StepStatus::Running);
            let begins = begins(&underway.plan, next).filter(|_| !is_begun);
            self.record(&underway.about(), begins.into_iter().collect())?;
            return self.steps(underway, next);
        };
        let at = turn.step as usize;
        match self.go_on(&mut underway, &turn.id, at)? {
            ResumeOutcome::Compacted => self.steps(underway, at),
            ResumeOutcome::Step(TurnExit::Ended(Ending::Done), _) => {
                match self.succeeded(&mut underway, at)? {
                    Some(outcome) => Ok(outcome),
                    None => self.steps(underway, at + 1),
                }
            }
            ResumeOutcome::Step(left, trouble) => self.leave(&mut underway, at, left, trouble),
        }
    }

    /// Drives the steps from a started one on, until one fails or pauses.
    fn steps(&self, mut underway: ActiveRun, from: usize) -> Result<RunOutcome, Error> {
        for at in from..underway.plan.steps.len() {
            match self.step(&mut underway, at)? {
                (TurnExit::Ended(Ending::Done), _) => {
                    if let Some(outcome) = self.succeeded(&mut underway, at)? {
                        return Ok(outcome);
                    }
                }
                (left, trouble) => return self.leave(&mut underway, at, left, trouble),
            }
        }
        self.end(&mut underway, Vec::new(), Ending::Done, None)
    }

    /// Records that a step succeeded and begins the next one; ends the run after the last.
    fn succeeded(&self, underway: &mut ActiveRun, at: usize) -> Result<Option<RunOutcome>, Error> {
        let over = step_ended(at, StepStatus::Succeeded);
        match begins(&underway.plan, at + 1) {
            Some(next) => {
                self.record(&underway.about(), vec![over, next])?;
                Ok(None)
            }
            None => self.end(underway, vec![over], Ending::Done, None).map(Some),
        }
    }

    fn leave(
        &self,
        underway: &mut ActiveRun,
        at: usize,
        left: TurnExit,
        trouble: Option<String>,
    ) -> Result<RunOutcome, Error> {
        match left {
            TurnExit::Ended(ending) => {
                let failed = step_ended(at, StepStatus::Failed);
                let skipped = skipped(&underway.plan, at + 1);
                let steps = [failed].into_iter().chain(skipped).collect();
                self.end(underway, steps, ending, trouble)
            }
            TurnExit::Paused(approvals) => {
                let event = Event::RunPaused { approvals: approvals.clone() };
                self.record(&underway.about(), vec![event])?;
                Ok(underway.outcome(RunExit::Paused(approvals)))
            }
        }
    }

    /// Ends the run: appends the given step events and the ending.
    fn end(
        &self,
        underway: &mut ActiveRun,
        mut steps: Vec<Event>,
        ending: Ending,
        message: Option<String>,
    ) -> Result<RunOutcome, Error> {
        if underway.alone {
            self.after_session(underway, "run ended")?;
        }
        steps.push(Event::RunEnded { ending, message: message.clone() });
        self.record(&underway.about(), steps)?;
        if !underway.plan.given.inbounds.is_empty() {
            reply::answer_here(&self.host, &underway.id)?;
        }
        Ok(underway.outcome(RunExit::Ended { ending, message }))
    }

    pub(crate) fn record(
        &self,
        about: &EntrySubject,
        events: Vec<Event>,
    ) -> Result<Vec<Envelope>, Error> {
        self.record_all(drafts(about, events).collect())
    }

    fn record_all(&self, drafts: Vec<Draft>) -> Result<Vec<Envelope>, Error> {
        let recorded = self.host.ledger.append(drafts)?;
        for envelope in &recorded {
            self.observer.on_entry(envelope);
        }
        Ok(recorded)
    }
}

fn drafts(about: &EntrySubject, events: Vec<Event>) -> impl Iterator<Item = Draft> {
    events.into_iter().map(|event| Draft { cause: None, about: about.clone(), event })
}

/// Returns the event that begins a step; None after the last step.
fn begins(plan: &RunPlan, at: usize) -> Option<Event> {
    (at < plan.steps.len()).then(|| Event::StepStarted { index: index(at) })
}

fn step_ended(at: usize, status: StepStatus) -> Event {
    Event::StepEnded { index: index(at), status }
}

/// Returns the events that mark all steps from one on as skipped.
fn skipped(plan: &RunPlan, from: usize) -> impl Iterator<Item = Event> {
    (from..plan.steps.len()).map(|at| step_ended(at, StepStatus::Skipped))
}

fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Counts the model requests among a run's entries, except those of one turn.
fn asked(entries: &[Envelope], but: Option<&TurnId>) -> u64 {
    let asked = entries.iter().filter(|envelope| {
        matches!(envelope.event, Event::ModelAsked { .. }) && envelope.about.turn.as_ref() != but
    });
    asked.count() as u64
}

/// True if a turn other than the given one exceeded the context window.
fn overflowed(entries: &[Envelope], but: Option<&TurnId>) -> bool {
    entries.iter().filter(|envelope| envelope.about.turn.as_ref() != but).any(|envelope| {
        if let Event::ModelFailed { failure, .. } = &envelope.event {
            failure.kind.is_too_long()
        } else {
            false
        }
    })
}

impl ActiveRun {
    pub(crate) fn about(&self) -> EntrySubject {
        EntrySubject { session: Some(self.session.clone()), run: Some(self.id.clone()), turn: None }
    }

    fn outcome(&self, end: RunExit) -> RunOutcome {
        RunOutcome { run: self.id.clone(), session: self.session.clone(), end }
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

#[cfg(test)]
mod tests;
