//! One step of a run: room is made, a turn runs, and once it may be tried again with less to read.
//!
//! Must never: begin a turn that another one of the session is not over for, or try one a second time for
//! anything but its length.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

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

use crate::call_facts::CallFactResolver;
use crate::compaction::PromptFit;
use crate::error::Error;
use crate::history;
use crate::limits::{RETOLD_CALL_CHARS_MAX, RETOLD_CALLS_MAX, TURN_ENTRIES_MAX};
use crate::perform::TurnEffects;
use crate::permission_request;
use crate::plan;
use crate::programs::Programs;
use crate::run::{ActiveRun, Runner};
use crate::session::{SessionLoop, SessionMessage, TurnExit, halted, is_for_turn, is_lasting};
use crate::turn_hooks::{self, PreTurnOutcome};
use crate::turn_rebuild::{self, RebuiltTurn};

/// How a turn left the loop, and why in words.
pub(crate) type StepExit = (TurnExit, Option<String>);

/// What came of a turn.
enum StepAttempt {
    /// It is over, or waits.
    Ended(StepExit),
    /// It ended because its request was too long.
    TooLong(StepExit),
    /// It did not begin: what must be sent does not get shorter.
    Stuck(CompactionError),
}

/// What came of a turn that another process left.
pub(crate) enum ResumeOutcome {
    /// Older turns were summed up; the turn of the step comes now.
    Compacted,
    /// The turn of the step.
    Step(TurnExit, Option<String>),
}

impl Runner<'_> {
    /// One step that has begun: one turn, and before it what makes room for it.
    pub(crate) fn step(&self, underway: &mut ActiveRun, at: usize) -> Result<StepExit, Error> {
        if underway.is_compaction(at) {
            return self.compact_asked(underway, at);
        }
        let tried = self.turn(underway, at, CompactionTrigger::Request)?;
        self.settle(underway, at, tried)
    }

    /// Tries a turn once more that was too long, and says how the step ends.
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
            // There is nothing to make shorter, so what the provider said stands.
            StepAttempt::Stuck(CompactionError::TooLarge { .. }) => Ok(too_long),
            tried @ (StepAttempt::Ended(_) | StepAttempt::TooLong(_) | StepAttempt::Stuck(_)) => {
                self.settle(underway, at, tried)
            }
        }
    }

    /// The turn of a step.
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
            let before = self.before_turn(underway, at, (&id, &charter, &prompt))?;
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
        let history = match self.make_room(underway, (&id, &charter), &mut plan, trigger)? {
            PromptFit::Ready(history) => history,
            PromptFit::Exited(ended) => return Ok(StepAttempt::Ended(ended)),
            PromptFit::Stuck(stuck) => return Ok(StepAttempt::Stuck(stuck)),
        };
        plan.parent_hash = self.hash_of(plan.parent.as_ref())?;
        let (mut turn, moves) = Turn::begin(charter, &plan, history).map_err(halted)?;
        let mut session = self.session(underway, &id, at)?;
        session.workers.confine(&turn.charter().authority, &underway.held.homes);
        let early = self.early(underway, plan.parent.as_ref())?;
        session.record_and_perform(
            &mut turn,
            vec![Event::TurnStarted(Box::new(plan))],
            None,
            moves,
        )?;
        for input in early {
            self.post.sender.send(SessionMessage::Input(Box::new(input))).unwrap_or_default();
        }
        let ended = finish(session, &mut turn, underway)?;
        Ok(if turn.overflowed() { StepAttempt::TooLong(ended) } else { StepAttempt::Ended(ended) })
    }

    /// A turn that another process left, from its record.
    pub(crate) fn go_on(
        &self,
        underway: &mut ActiveRun,
        id: &TurnId,
        at: usize,
    ) -> Result<ResumeOutcome, Error> {
        let ledger = &self.host.ledger;
        let RebuiltTurn { mut turn, taken, shaping } =
            turn_rebuild::rebuild(ledger, (&underway.id, id), self.definitions.level)?;
        if !turn.is_compaction() {
            underway.shaped = Some((at, PreTurnOutcome { shaping, ..PreTurnOutcome::default() }));
        }
        let mut session = self.session(underway, id, at)?;
        session.taken = taken;
        session.workers.confine(&turn.charter().authority, &underway.held.homes);
        session.workers.quiet = turn.is_compaction();
        let since = ledger.turn(id)?.map_or(0, |row| row.started_seq);
        for input in self.untaken(&underway.session, since, &session.taken)? {
            self.post.sender.send(SessionMessage::Input(Box::new(input))).unwrap_or_default();
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

    /// What a turn of a step is given.
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
        self.definitions.charter(agent, task.map(|task| (task, at)), &terms, &moment)
    }

    /// The hash of a turn that is over.
    pub(crate) fn hash_of(&self, turn: Option<&TurnId>) -> Result<Option<ContentHash>, Error> {
        let row = turn.map(|turn| self.host.ledger.turn(turn)).transpose()?.flatten();
        Ok(row.and_then(|row| row.hash))
    }

    /// What came in while the compaction before a turn was under way.
    fn early(&self, underway: &ActiveRun, parent: Option<&TurnId>) -> Result<Vec<Envelope>, Error> {
        let parent = parent.map(|parent| self.host.ledger.turn(parent)).transpose()?.flatten();
        match parent.filter(|row| row.run.as_ref() == Some(&underway.id)) {
            Some(row) if history::is_compaction(&self.host.ledger, &row)? => {
                self.untaken(&underway.session, row.started_seq, &BTreeSet::new())
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }

    /// What came in for turns since an entry and was not taken.
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

    /// What the turn did that is tried again, so that it is not done twice unknowingly.
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

    /// What people said to a turn while it was under way.
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

    /// A turn with all that it needs to go on.
    pub(crate) fn session<'b>(
        &'b self,
        underway: &ActiveRun,
        turn: &TurnId,
        at: usize,
    ) -> Result<SessionLoop<'b>, Error> {
        let about = EntrySubject { turn: Some(turn.clone()), ..underway.about() };
        // A turn that goes on has what it was told; a definition that is gone takes only its skills along.
        let task = plan::task(self.definitions, &underway.plan).ok().flatten();
        let agent = &underway.plan.steps[at].agent;
        let skills = self.definitions.loadable(agent, task.map(|task| (task, at)));
        let skills = skills.unwrap_or_default();
        let programs = self.definitions.agent(agent).and_then(|agent| {
            let persona = turn_hooks::active_persona(agent, underway, at, &underway.shaping(at));
            Ok(Programs { persona, ..Programs::of(self.definitions, agent)? })
        });
        let programs = programs.ok();
        let model = match underway.shaping(at).model {
            Some(model) => self.host.models.open(&model, &underway.plan.asked.fallbacks)?,
            None => underway.model.clone(),
        };
        let (host, workspace) = (self.host.clone(), underway.workspace.clone());
        let binding = CallFactResolver::new(host, workspace, self.definitions, agent);
        let mut workers = TurnEffects::new(
            self.host.clone(),
            (model, underway.workspace.clone()),
            (skills, programs, binding),
            (self.witness.clone(), self.post.sender.clone()),
            about,
        );
        workers.fallbacks.clone_from(&underway.plan.asked.fallbacks);
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

    /// What people allowed for the whole session.
    fn standing(&self, session: &SessionId) -> Result<BTreeMap<String, ApprovalId>, Error> {
        let rows = self.host.ledger.approvals_standing(session)?;
        let lasting = rows.into_iter().filter(|row| row.answer.as_ref().is_some_and(is_lasting));
        let key = |approval: &Approval| standing_key(&approval.digest, &approval.facts.bound);
        Ok(lasting.map(|row| (key(&row.approval), row.approval.id)).collect())
    }
}

impl ActiveRun {
    /// What the hooks before the turn of a step made of it.
    fn shaping(&self, at: usize) -> TurnShape {
        let shaped = self.shaped.as_ref().filter(|(step, _)| *step == at);
        shaped.map(|(_, before)| before.shaping.clone()).unwrap_or_default()
    }

    /// Whether a step only sums up older turns.
    pub(crate) fn is_compaction(&self, at: usize) -> bool {
        self.plan.steps.get(at).is_some_and(|step| step.uses == plan::COMPACT)
    }
}

/// Brings a turn as far as it goes, and counts its requests for the turns after it.
pub(crate) fn finish(
    mut session: SessionLoop<'_>,
    turn: &mut Turn,
    underway: &mut ActiveRun,
) -> Result<StepExit, Error> {
    let left = session.drive(turn)?;
    underway.asked += u64::from(turn.steps());
    Ok((left, turn.failure_text()))
}

/// The session cannot be made shorter, and so the run goes no further.
fn stopped(stuck: &CompactionError) -> StepExit {
    (TurnExit::Ended(Ending::LimitReached), Some(stuck.to_string()))
}
