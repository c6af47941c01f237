//! One step of a run: compaction if needed, one turn, and one retry if the turn was too long.
//!
//! Must never: begin a turn before the session's previous turn has ended, or retry one for any
//! reason but its length.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use agentry_kernel::charter::Charter;
use agentry_kernel::compaction::{CompactionError, CompactionTrigger};
use agentry_kernel::prompt::TemplateIds;
use agentry_kernel::turn::{Turn, standing_key};
use agentry_protocol::approval::Approval;
use agentry_protocol::envelope::{EntrySubject, Envelope};
use agentry_protocol::event::{Ending, Event, TurnPlan};
use agentry_protocol::hook::TurnShape;
use agentry_protocol::{ApprovalId, ContentHash, SessionId, TurnId};
use agentry_store::{CallStatus, EntryFilter, TurnStatus};

use crate::definitions::plan;
use crate::error::Error;
use crate::host::session_message::SessionMessage;
use crate::host::tool_source::ToolScope;
use crate::inbound::permission_request;
use crate::limits::{RETOLD_CALL_CHARS_MAX, RETOLD_CALLS_MAX, TURN_ENTRIES_MAX};
use crate::programs::Programs;
use crate::turn::call_facts::CallFactResolver;
use crate::turn::charter;
use crate::turn::compaction::PromptFit;
use crate::turn::history;
use crate::turn::perform::{AgentExtensions, TurnEffects, TurnServices};
use crate::turn::pre_turn::PreTurnOutcome;
use crate::turn::runner::{ActiveRun, PendingTurn, Runner};
use crate::turn::session::{SessionLoop, TurnExit, halted, is_for_turn, is_lasting};
use crate::turn::step_exit::{StepExit, finish};
use crate::turn::turn_agent::TurnAgent;
use crate::turn::turn_hooks;
use crate::turn::turn_rebuild::{self, RebuiltTurn};

/// The result of one attempt at the turn of a step.
enum StepAttempt {
    /// The turn ended, or waits for approvals.
    Ended(StepExit),
    /// The turn ended because its request exceeded the context window.
    TooLong(StepExit),
    /// The turn did not begin: its request cannot be made short enough.
    Stuck(CompactionError),
}

/// The result of resuming a turn that another process left.
pub(crate) enum ResumeOutcome {
    /// The compaction ended; the turn of the step has yet to begin.
    Compacted,
    /// The turn of the step left the loop.
    Step(TurnExit, Option<String>),
}

impl Runner<'_> {
    /// Performs a step that has begun: a compaction if needed, then its turn.
    pub(crate) fn step(&self, underway: &mut ActiveRun, at: usize) -> Result<StepExit, Error> {
        if underway.is_compaction(at) {
            return self.compact_asked(underway, at);
        }
        let tried = self.turn(underway, at, CompactionTrigger::Request)?;
        self.settle(underway, at, tried)
    }

    /// Retries a turn that was too long, once, and returns the exit of the step.
    fn settle(
        &self,
        underway: &mut ActiveRun,
        at: usize,
        tried: StepAttempt,
    ) -> Result<StepExit, Error> {
        let too_long = match tried {
            StepAttempt::Ended(ended) => return Ok(ended),
            StepAttempt::Stuck(stuck) => return Ok(stopped(&stuck)),
            StepAttempt::TooLong(ended) => ended,
        };
        let again = std::mem::replace(&mut underway.retried, true);
        match self.turn(underway, at, CompactionTrigger::Overflow { again })? {
            // A compaction cannot help, so the provider's failure is the result.
            StepAttempt::Stuck(CompactionError::TooLarge { .. }) => Ok(too_long),
            tried @ (StepAttempt::Ended(_) | StepAttempt::TooLong(_) | StepAttempt::Stuck(_)) => {
                self.settle(underway, at, tried)
            }
        }
    }

    /// Runs the turn of a step: pre-turn hooks, compaction if needed, then the session loop.
    fn turn(
        &self,
        underway: &mut ActiveRun,
        at: usize,
        trigger: CompactionTrigger,
    ) -> Result<StepAttempt, Error> {
        let id = TurnId::from_number((self.host.new_number)());
        let task = plan::task(self.definitions, &underway.plan)?;
        let mut charter = self.charter(underway, at, &id)?;
        let mut prompt = plan::prompt(&underway.plan, task, at);
        if underway.shaped.as_ref().is_none_or(|(step, _)| *step != at) {
            let before = self.before_turn(
                underway,
                at,
                PendingTurn { id: &id, charter: &charter },
                &prompt,
            )?;
            if let Some(why) = before.blocked {
                return Ok(StepAttempt::Ended((TurnExit::Ended(Ending::Denied), Some(why))));
            }
            underway.shaped = Some((at, before));
        }
        if let Some((_, before)) = &underway.shaped {
            for text in &before.context {
                write!(prompt, "\n\n{text}").expect("a string takes everything");
            }
            if !before.shaping.is_empty() {
                charter = self.charter(underway, at, &id)?;
            }
        }
        if underway.retried {
            prompt.push_str(&self.retold(underway, at)?);
        }
        let mut plan = TurnPlan {
            parent: None,
            parent_hash: None,
            history_from: None,
            pruned: Default::default(),
            compaction: None,
            step: u32::try_from(at).unwrap_or(u32::MAX),
            prompt: self.host.redactor.hide(&prompt),
            images: if at == 0 { underway.plan.given.images.clone() } else { Vec::new() },
            charter: serde_json::to_value(&charter).expect("a charter is plain JSON"),
            standing: self.standing(&underway.session)?,
            shaping: underway.shaping(at),
        };
        let pending = PendingTurn { id: &id, charter: &charter };
        let history = match self.make_room(underway, pending, &mut plan, trigger)? {
            PromptFit::Ready(history) => history,
            PromptFit::Exited(ended) => return Ok(StepAttempt::Ended(ended)),
            PromptFit::Stuck(stuck) => return Ok(StepAttempt::Stuck(stuck)),
        };
        plan.parent_hash = self.hash_of(plan.parent.as_ref())?;
        let (mut turn, moves) = Turn::begin(charter, &plan, history).map_err(halted)?;
        let mut session = self.session(underway, &id, at)?;
        session.workers.confine(turn.charter(), &underway.held.homes);
        let early = self.early(underway, plan.parent.as_ref())?;
        session.record_and_perform(
            &mut turn,
            vec![Event::TurnStarted(Box::new(plan))],
            None,
            moves,
        )?;
        for input in early {
            self.post.push(SessionMessage::Input(Box::new(input)));
        }
        let ended = finish(session, &mut turn, underway)?;
        Ok(if turn.overflowed() { StepAttempt::TooLong(ended) } else { StepAttempt::Ended(ended) })
    }

    /// Resumes a turn that another process left, rebuilt from the ledger.
    pub(crate) fn go_on(
        &self,
        underway: &mut ActiveRun,
        id: &TurnId,
        at: usize,
    ) -> Result<ResumeOutcome, Error> {
        let ledger = &self.host.ledger;
        let RebuiltTurn { mut turn, taken, shaping } =
            turn_rebuild::rebuild(ledger, &underway.id, id, self.definitions.level)?;
        if !turn.is_compaction() {
            underway.shaped = Some((at, PreTurnOutcome { shaping, ..PreTurnOutcome::default() }));
        }
        let mut session = self.session(underway, id, at)?;
        session.taken = taken;
        session.workers.confine(turn.charter(), &underway.held.homes);
        session.workers.quiet = turn.is_compaction();
        let since = ledger.turn(id)?.map_or(0, |row| row.started_seq);
        for input in self.untaken(&underway.session, since, &session.taken)? {
            self.post.push(SessionMessage::Input(Box::new(input)));
        }
        session.resume_pending(&mut turn)?;
        let ended = finish(session, &mut turn, underway)?;
        let makes_room = turn.is_compaction() && !underway.is_compaction(at);
        let (left, trouble) = match ended {
            (TurnExit::Ended(Ending::Done), _) if makes_room => {
                return Ok(ResumeOutcome::Compacted);
            }
            ended if turn.overflowed() && !turn.is_compaction() => {
                self.settle(underway, at, StepAttempt::TooLong(ended))?
            }
            ended => ended,
        };
        Ok(ResumeOutcome::Step(left, trouble))
    }

    /// Builds the charter of a step's turn.
    pub(crate) fn charter(
        &self,
        underway: &ActiveRun,
        at: usize,
        turn: &TurnId,
    ) -> Result<Charter, Error> {
        let task = plan::task(self.definitions, &underway.plan)?;
        let agent = &underway.plan.steps[at].agent;
        let moment =
            TemplateIds { session: Some(underway.session.as_str()), turn: Some(turn.as_str()) };
        let mut terms = plan::terms(&underway.plan, at);
        let ledger = &self.host.ledger;
        terms.bounds =
            terms.bounds.map(|bounds| permission_request::renewed(ledger, bounds)).transpose()?;
        terms.shaping = underway.shaping(at);
        let step = task.map(|task| (task, at));
        let agent = self.definitions.agent(agent)?;
        let scope = ToolScope { definitions: self.definitions, agent, step };
        charter::of_scope(&scope, &self.host.tools, &terms, &moment)
    }

    /// Returns the hash of a turn that ended; None if there is no such turn.
    pub(crate) fn hash_of(&self, turn: Option<&TurnId>) -> Result<Option<ContentHash>, Error> {
        let row = turn.map(|turn| self.host.ledger.turn(turn)).transpose()?.flatten();
        Ok(row.and_then(|row| row.hash))
    }

    /// Returns the inputs that arrived during the compaction before a turn.
    fn early(&self, underway: &ActiveRun, parent: Option<&TurnId>) -> Result<Vec<Envelope>, Error> {
        let parent = parent.map(|parent| self.host.ledger.turn(parent)).transpose()?.flatten();
        match parent.filter(|row| row.run.as_ref() == Some(&underway.id)) {
            Some(row) if history::is_compaction(&self.host.ledger, &row)? => {
                self.untaken(&underway.session, row.started_seq, &BTreeSet::new())
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// Returns the inputs for turns after an entry that no turn has taken.
    fn untaken(
        &self,
        session: &SessionId,
        since: u64,
        taken: &BTreeSet<u64>,
    ) -> Result<Vec<Envelope>, Error> {
        let filter = EntryFilter { session: Some(session.clone()), ..EntryFilter::default() };
        let entries = self.host.ledger.read_from(since, &filter, TURN_ENTRIES_MAX)?;
        let pointed = entries.iter().filter_map(|one| {
            if let Event::InputTaken { input } = one.event { Some(input) } else { None }
        });
        let taken: BTreeSet<u64> = pointed.chain(taken.iter().copied()).collect();
        let wanted = |one: &Envelope| is_for_turn(&one.event) && !taken.contains(&one.seq);
        Ok(entries.into_iter().filter(wanted).collect())
    }

    /// Lists the calls of the failed attempt, so that the model repeats none unknowingly.
    fn retold(&self, underway: &ActiveRun, at: usize) -> Result<String, Error> {
        let ledger = &self.host.ledger;
        let turns = ledger.turns_of_run(&underway.id)?;
        let is_tried = |status| status == TurnStatus::Ended(Ending::ModelFailed);
        let tried = turns.iter().rfind(|row| row.step as usize == at && is_tried(row.status));
        let Some(tried) = tried else { return Ok(String::new()) };
        let calls = ledger.calls_of_run(&underway.id)?.into_iter();
        let calls = calls.filter(|row| row.turn.as_ref() == Some(&tried.id));
        let made = calls.filter(|row| row.started_seq.is_some());
        let mut text = String::new();
        for row in made.take(RETOLD_CALLS_MAX) {
            let proposed = ledger.entry(row.proposed_seq)?.map(|entry| entry.event);
            let Some(Event::CallProposed { call, .. }) = proposed else { continue };
            let outcome = match row.status {
                CallStatus::Finished(status) => format!("{status:?}").to_lowercase(),
                CallStatus::Proposed | CallStatus::Started | CallStatus::Stopping => {
                    "uncertain".to_owned()
                }
            };
            let call: String = format!("{} {}", call.tool, call.input)
                .chars()
                .take(RETOLD_CALL_CHARS_MAX)
                .collect();
            write!(text, "\n- {call}: {outcome}").expect("a string takes everything");
        }
        if !text.is_empty() {
            text = format!(
                "\n\n[This was begun before and broke off because the talk became too long. These calls \
                 were made then:{text}\nLook before you make one of them again.]"
            );
        }
        for said in self.said_meanwhile(&tried.id)? {
            write!(text, "\n\n{said}").expect("a string takes everything");
        }
        Ok(text)
    }

    /// Returns the messages that people sent to a turn while it ran.
    fn said_meanwhile(&self, turn: &TurnId) -> Result<Vec<String>, Error> {
        let ledger = &self.host.ledger;
        let filter = EntryFilter { turn: Some(turn.clone()), ..EntryFilter::default() };
        let mut said = Vec::new();
        for entry in ledger.read_from(0, &filter, TURN_ENTRIES_MAX)? {
            let Event::InputTaken { input } = entry.event else { continue };
            let taken = ledger.entry(input)?.map(|entry| entry.event);
            if let Some(Event::SteerReceived { content, .. }) = taken {
                said.push(content);
            }
        }
        Ok(said)
    }

    /// Builds the session loop for a turn.
    pub(crate) fn session<'b>(
        &'b self,
        underway: &ActiveRun,
        turn: &TurnId,
        at: usize,
    ) -> Result<SessionLoop<'b>, Error> {
        let about = EntrySubject { turn: Some(turn.clone()), ..underway.about() };
        let agent = &underway.plan.steps[at].agent;
        let caller = self.caller(underway, at);
        // A resumed turn has its charter; if its definition is gone, only its own tools are lost.
        let tools = match caller.scope() {
            Ok(scope) => self.host.tools.toolset(&scope)?,
            Err(_) => self.host.tools.fixed_toolset(),
        };
        let programs = self.definitions.agent(agent).and_then(|agent| {
            let persona = turn_hooks::active_persona(agent, underway, at, &underway.shaping(at));
            Ok(Programs { persona, ..Programs::of(self.definitions, agent)? })
        });
        let programs = programs.ok().map(Arc::new);
        let model = match underway.shaping(at).model {
            Some(model) => self.host.models.open(&model, &underway.plan.asked.fallbacks)?,
            None => underway.model.clone(),
        };
        let (host, workspace) = (self.host.clone(), underway.workspace.clone());
        let binding = CallFactResolver::new(host, workspace, self.definitions, agent).into();
        let asked_to_end = BTreeSet::new();
        let workers = TurnEffects::new(TurnServices {
            host: self.host.clone(),
            model,
            fallbacks: underway.plan.asked.fallbacks.clone(),
            workspace: underway.workspace.clone(),
            own: AgentExtensions { caller, tools, programs, asked_to_end, binding },
            observer: self.observer.clone(),
            results: self.post.sender.clone(),
            about,
        });
        Ok(SessionLoop {
            ledger: &self.host.ledger,
            definitions: self.definitions,
            workers,
            inbox: &self.post.receiver,
            attendance: self.attendance,
            asked_before: underway.asked,
            taken: BTreeSet::new(),
        })
    }

    /// Returns the agent of a step's turn.
    pub(crate) fn caller(&self, underway: &ActiveRun, at: usize) -> TurnAgent {
        let agent = underway.plan.steps[at].agent.clone();
        let task = plan::task(self.definitions, &underway.plan).ok().flatten();
        TurnAgent::new(self.definitions.clone(), agent, task.map(|task| (task, at)))
    }

    /// Returns the calls that people allowed for the whole session.
    fn standing(&self, session: &SessionId) -> Result<BTreeMap<String, ApprovalId>, Error> {
        let rows = self.host.ledger.approvals_standing(session)?;
        let lasting = rows.into_iter().filter(|row| row.answer.as_ref().is_some_and(is_lasting));
        let key = |approval: &Approval| standing_key(&approval.digest, &approval.facts.bound);
        Ok(lasting.map(|row| (key(&row.approval), row.approval.id)).collect())
    }
}

impl ActiveRun {
    /// Returns the changes that the pre-turn hooks made to the turn of a step.
    fn shaping(&self, at: usize) -> TurnShape {
        let shaped = self.shaped.as_ref().filter(|(step, _)| *step == at);
        shaped.map(|(_, before)| before.shaping.clone()).unwrap_or_default()
    }

    /// True if the step only summarizes older turns.
    pub(crate) fn is_compaction(&self, at: usize) -> bool {
        self.plan.steps.get(at).is_some_and(|step| step.uses == plan::COMPACT)
    }
}

/// Returns the exit of a step whose session cannot be compacted any further.
fn stopped(stuck: &CompactionError) -> StepExit {
    (TurnExit::Ended(Ending::LimitReached), Some(stuck.to_string()))
}

#[cfg(test)]
mod tests;
