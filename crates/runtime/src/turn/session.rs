//! The session loop: receive a message, advance the turn, append to the ledger, perform the moves.
//!
//! One turn at a time. A message carries a reply, an outcome or an input. The chosen moves are
//! recorded together with it, and only then performed. No unrecorded move runs.
//!
//! Must never: match on anything but messages and moves. A third match means a b-thread is missing.

use std::collections::BTreeSet;
use std::sync::mpsc::Receiver;

use agentry_agentfile::tool_access::ShellAccess;
use agentry_kernel::moves::Move;
use agentry_kernel::turn::{self, PendingMove, Turn, TurnPhase};
use agentry_protocol::ApprovalId;
use agentry_protocol::approval::{ApprovalAnswer, ApprovalScope};
use agentry_protocol::call_facts::{CallFacts, DependencyChange};
use agentry_protocol::envelope::{Draft, Envelope};
use agentry_protocol::event::{Ending, Event};
use agentry_protocol::hook::HookChange;
use agentry_protocol::tool_call::{OutcomeStatus, RepeatSafety, ToolCall, ToolOutcome};
use agentry_store::Ledger;
use agentry_tools::ToolLimits;

use crate::definitions::Definitions;
use crate::error::Error;
use crate::host::session_message::{Attendance, SessionMessage};
use crate::turn::call_facts::{CallPermit, difference};
use crate::turn::perform::{EffectKey, HookCall, StepRequest, TurnEffects};
use crate::turn::pre_turn::uncertain_hook;

/// The reason why `SessionLoop::drive` returned.
pub(crate) enum TurnExit {
    /// The turn ended.
    Ended(Ending),
    /// The turn waits for these approvals and the session is unattended.
    Paused(Vec<ApprovalId>),
}

/// A turn's loop with its ledger, effects and inbox.
pub(crate) struct SessionLoop<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) definitions: &'a Definitions,
    pub(crate) workers: TurnEffects,
    pub(crate) inbox: &'a Receiver<SessionMessage>,
    pub(crate) attendance: Attendance,
    /// The number of model requests that the run made before this turn.
    pub(crate) asked_before: u64,
    /// The sequence numbers of the inputs that the turn received.
    pub(crate) taken: BTreeSet<u64>,
}

impl SessionLoop<'_> {
    /// Drives a turn to its ending, or until it waits for approvals and is unattended.
    pub(crate) fn drive(&mut self, turn: &mut Turn) -> Result<TurnExit, Error> {
        loop {
            match turn.standing() {
                TurnPhase::Over(ending) => return Ok(TurnExit::Ended(ending)),
                TurnPhase::Stuck(why) => return Err(Error::Halted(why)),
                TurnPhase::Waiting(approvals) if self.attendance == Attendance::Absent => {
                    // The inbox may hold the awaited answer.
                    match self.inbox.try_recv() {
                        Ok(message) => self.take(turn, message)?,
                        Err(_) => return Ok(TurnExit::Paused(approvals)),
                    }
                    continue;
                }
                TurnPhase::Waiting(_) | TurnPhase::Working => {}
            }
            let message = self.inbox.recv().expect("the session holds a sender of its own");
            self.take(turn, message)?;
        }
    }

    fn take(&mut self, turn: &mut Turn, message: SessionMessage) -> Result<(), Error> {
        match message {
            SessionMessage::EffectResult(event) => {
                let event = Box::new(self.with_facts(turn, *event)?);
                let work = work_of(&event);
                work.iter().for_each(|work| self.workers.finish(work));
                self.look_at_access(turn)?;
                let told = self.tell(turn, *event);
                work.iter().for_each(|work| self.workers.release_reservation(work));
                told
            }
            SessionMessage::RecordOnly(event) => {
                self.record_and_perform(turn, vec![*event], None, Vec::new())
            }
            SessionMessage::Input(envelope) => self.take_input(turn, &envelope),
            SessionMessage::Unattended => {
                self.attendance = Attendance::Absent;
                Ok(())
            }
            SessionMessage::Fatal(why) => Err(Error::Halted(why)),
        }
    }

    /// Adds to a reply the facts about its calls that the rulings need.
    fn with_facts(&self, turn: &Turn, event: Event) -> Result<Event, Error> {
        let Event::ModelReplied { step, reply, .. } = event else { return Ok(event) };
        let binding = self.workers.binding();
        let mut facts = Vec::with_capacity(reply.calls.len());
        for call in &reply.calls {
            let paths = binding.paths(call);
            let mut found = CallFacts { paths, ..CallFacts::default() };
            if turn.may_ask(call, &found) {
                found = binding.facts(call);
                found.changes = self.since_allowed(call, &found)?;
            }
            facts.push(found);
        }
        if facts.iter().all(CallFacts::is_empty) {
            facts.clear();
        }
        Ok(Event::ModelReplied { step, reply, facts })
    }

    /// Returns the changes since a person allowed this call for the rest of the session.
    fn since_allowed(
        &self,
        call: &ToolCall,
        found: &CallFacts,
    ) -> Result<Vec<DependencyChange>, Error> {
        let Some(session) = &self.workers.about.session else { return Ok(Vec::new()) };
        let digest = turn::digest(call);
        let rows = self.ledger.approvals_standing(session)?;
        let same = rows.iter().filter(|row| {
            row.approval.digest == digest && row.answer.as_ref().is_some_and(is_lasting)
        });
        let changes = same.map(|row| difference(&row.approval.facts.bound, &found.bound));
        Ok(changes.min_by_key(Vec::len).unwrap_or_default())
    }

    /// Informs the turn of an event and records both the event and the chosen moves in one append.
    pub(crate) fn tell(&mut self, turn: &mut Turn, event: Event) -> Result<(), Error> {
        let events = self.workers.settled(event)?;
        let told = events.first().map(|event| turn.tell(event)).transpose().map_err(halted)?;
        self.record_and_perform(turn, events, None, told.unwrap_or_default())
    }

    fn take_input(&mut self, turn: &mut Turn, envelope: &Envelope) -> Result<(), Error> {
        // An input that arrives during a compaction is for the turn after it.
        let is_early = turn.is_compaction() && envelope.event != Event::CancelReceived {};
        if !is_for_turn(&envelope.event) || is_early || !self.taken.insert(envelope.seq) {
            return Ok(());
        }
        self.look_at_access(turn)?;
        self.tell_recorded(turn, envelope)
    }

    /// Informs the turn of an entry that is in the ledger; from here on the entry counts as taken.
    fn tell_recorded(&mut self, turn: &mut Turn, envelope: &Envelope) -> Result<(), Error> {
        let moves = turn.tell_at(&envelope.event, envelope.time).map_err(halted)?;
        let taken = Event::InputTaken { input: envelope.seq };
        self.record_and_perform(turn, vec![taken], Some(envelope.seq), moves)
    }

    /// Appends the events and the chosen moves, all or nothing; then performs the moves.
    pub(crate) fn record_and_perform(
        &mut self,
        turn: &mut Turn,
        events: Vec<Event>,
        cause: Option<u64>,
        moves: Vec<Move>,
    ) -> Result<(), Error> {
        let about = &self.workers.about;
        let draft = |event| Draft { cause, about: about.clone(), event };
        let told = events.len();
        let drafts: Vec<Draft> =
            events.into_iter().chain(moves.iter().map(Move::event)).map(draft).collect();
        if drafts.is_empty() {
            return Ok(());
        }
        let recorded = self.ledger.append(drafts)?;
        for envelope in &recorded {
            self.workers.observer.on_entry(envelope);
        }
        for (next, envelope) in moves.into_iter().zip(&recorded[told..]) {
            self.perform(turn, next, envelope.seq);
        }
        let wanted: Vec<EffectKey> = turn.undone().iter().map(work_undone).collect();
        self.workers.stop_all_but(&wanted);
        Ok(())
    }

    fn perform(&mut self, turn: &Turn, next: Move, seq: u64) {
        match next {
            Move::AskModel { step, bytes, .. } => self.ask_model(turn, step, seq, bytes),
            Move::RunCall { call, by, edited, expected, .. } => {
                let by_edit = edited.is_some_and(|edited| edited.by.is_none());
                self.workers.run_call(call, CallPermit { by, expected, by_edit }, bounds(turn));
            }
            Move::StopCall { call } => self.workers.stop(&EffectKey::Call(call)),
            Move::RunCheck { iteration, command } => {
                self.workers.run_check(iteration, command, bounds(turn));
            }
            Move::RunHook { number, hook, call, outcome } => {
                self.workers.run_hook(turn, HookCall { number, hook, call, outcome, again: false });
            }
            // The entry is all there is to these moves.
            Move::Propose { .. }
            | Move::AskApproval(_)
            | Move::Refuse { .. }
            | Move::CountIteration { .. }
            | Move::EndTurn { .. } => {}
        }
    }

    fn ask_model(&mut self, turn: &Turn, step: u32, seq: u64, bytes: u64) {
        let number = self.asked_before + u64::from(step);
        let request = turn.request();
        self.workers.ask_model(StepRequest { step, number, seq, request, bytes });
    }

    /// Resumes pending moves of another process: asks the model again, marks the rest as uncertain.
    pub(crate) fn resume_pending(&mut self, turn: &mut Turn) -> Result<(), Error> {
        if let TurnPhase::Over(_) = turn.standing() {
            return Ok(());
        }
        for undone in turn.undone() {
            match undone {
                PendingMove::Model { step, .. } => {
                    let seq = self.ledger.last_seq()?;
                    let bytes = turn.request_bytes();
                    self.ask_model(turn, step, seq, bytes);
                }
                PendingMove::Call(call) => {
                    let spec = turn.charter().tools.iter().find(|spec| spec.name == call.tool);
                    let outcome = uncertain(spec.map(|spec| spec.repeat));
                    self.tell(turn, Event::CallFinished { call: call.id, outcome })?;
                }
                PendingMove::Check { iteration } => {
                    let outcome = uncertain(None);
                    self.tell(turn, Event::CheckFinished { iteration, outcome })?;
                }
                PendingMove::Hook { number, moment, program } => {
                    let report = Box::new(uncertain_hook());
                    let change = HookChange::Finished { number, moment, program, report };
                    self.tell(turn, Event::Hook(change))?;
                }
            }
        }
        Ok(())
    }

    /// Reloads the tool-access file, which is live, before the turn reacts to the next message.
    pub(crate) fn look_at_access(&mut self, turn: &mut Turn) -> Result<(), Error> {
        let charter = turn.charter();
        let now = self.definitions.access_now(charter);
        if now == charter.authority.access {
            return Ok(());
        }
        let access = serde_json::to_value(&now).expect("tool access is plain JSON");
        let event = Event::ToolAccessChanged { access };
        let draft = Draft { cause: None, about: self.workers.about.clone(), event };
        let recorded = self.ledger.append(vec![draft])?;
        for envelope in recorded {
            self.workers.observer.on_entry(&envelope);
            self.taken.insert(envelope.seq);
            self.tell_recorded(turn, &envelope)?;
        }
        Ok(())
    }
}

/// True if a running turn is informed of this input.
pub(crate) fn is_for_turn(event: &Event) -> bool {
    matches!(
        event,
        Event::SteerReceived { .. }
            | Event::CancelReceived {}
            | Event::ModeReceived { .. }
            | Event::ApprovalAnswered { .. }
    )
}

/// True if an answer also allows the same call later in the session.
pub(crate) fn is_lasting(answer: &ApprovalAnswer) -> bool {
    answer.allow && answer.reach == ApprovalScope::Session && answer.edit.is_none()
}

pub(crate) fn halted(halt: agentry_bthread::Halt) -> Error {
    Error::Halted(halt.to_string())
}

fn uncertain(repeat: Option<RepeatSafety>) -> ToolOutcome {
    let what = match repeat {
        Some(RepeatSafety::Harmless) => "It only looks; it is safe to make it again.",
        Some(RepeatSafety::Uncertain) | None => {
            "Nobody knows whether it took effect. Look before you make it again."
        }
    };
    let text = format!("The process stopped while this was under way. {what}");
    ToolOutcome::new(OutcomeStatus::Uncertain, text)
}

fn work_of(event: &Event) -> Option<EffectKey> {
    if let Event::Hook(HookChange::Finished { number, .. }) = event {
        return Some(EffectKey::Hook(*number));
    }
    if let Event::ModelReplied { step, .. } | Event::ModelFailed { step, .. } = event {
        return Some(EffectKey::Step(*step));
    }
    if let Event::CheckFinished { iteration, .. } = event {
        return Some(EffectKey::Check(*iteration));
    }
    if let Event::CallFinished { call, .. } | Event::CallWithheld { call, .. } = event {
        return Some(EffectKey::Call(call.clone()));
    }
    None
}

fn work_undone(undone: &PendingMove) -> EffectKey {
    match undone {
        PendingMove::Model { step, .. } => EffectKey::Step(*step),
        PendingMove::Call(call) => EffectKey::Call(call.id.clone()),
        PendingMove::Check { iteration } => EffectKey::Check(*iteration),
        PendingMove::Hook { number, .. } => EffectKey::Hook(*number),
    }
}

fn bounds(turn: &Turn) -> ToolLimits {
    let ShellAccess { timeout_ms, max_output_chars, allow_any_cwd, .. } =
        &turn.charter().authority.access.shell;
    ToolLimits {
        shell_timeout_ms: timeout_ms.value,
        shell_output_chars: max_output_chars.value,
        shell_any_cwd: allow_any_cwd.value,
        ..ToolLimits::default()
    }
}

#[cfg(test)]
mod tests;
