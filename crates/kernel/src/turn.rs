//! The state of one turn: it receives events and returns moves.
//!
//! A turn is a behavioral program. Each concern is a small b-thread in its own file that requests,
//! waits and blocks, unaware of the others. This file connects them and stores the values for which
//! they hold only numbers: the calls, the transcript, the usage.
//!
//! Must never: wait, read a clock, or choose a move that the program did not choose.

mod after_call;
mod answer;
mod before_call;
mod before_finish;
mod budget;
mod call;
mod cancel;
mod check;
mod concern;
mod danger;
mod ending;
mod events;
mod gate;
mod halt;
mod hooks;
mod phase;
mod ruling;
mod serial_writes;
pub mod signal;
mod steering;
mod think_act;
pub mod transcript;
mod withheld_call;

use std::collections::BTreeMap;

use agentry_agentfile::source::Origin;
use agentry_agentfile::tool_access::ToolAccess;
use agentry_bthread::{Halt, Lane, Program};
use agentry_protocol::access::RequestQuota;
use agentry_protocol::approval::ApprovalAnswer;
use agentry_protocol::call_facts::CallFacts;
use agentry_protocol::context::{CompactionPlan, PruningStep};
use agentry_protocol::event::{CallConfinement, CallEdit, Ending, Event, Mode, TurnPlan};
use agentry_protocol::hook::HookChange;
use agentry_protocol::message::{Message, ModelFailure, ModelReply, ModelRequest};
use agentry_protocol::tool_call::{OutcomeStatus, ToolCall, ToolOutcome};
use agentry_protocol::verdict::{Ruling, Verdict};
use agentry_protocol::{ApprovalId, CallId, ContentHash, SkillId};

pub use self::concern::{Concern, HookMoments, concerns};
pub use self::gate::SandboxPresence;
pub use self::phase::{PendingMove, TurnPhase};
use crate::charter::Charter;
use crate::moves::Move;
use ending::TurnUsage;
pub use events::{digest, standing_key};
use events::{loaded_skill, said, says_done};
use hooks::{CallHooks, TurnHooks};
use signal::{CheckResult, Signal, TurnStopReason};
use transcript::TurnTranscript;

/// One inbound, with all that the agent does until it settles.
pub struct Turn {
    charter: Charter,
    plan: TurnSetup,
    program: Program<Concern>,
    talk: TurnTranscript,
    calls: Vec<CallRecord>,
    open: PendingRequests,
    steers: Vec<String>,
    skills: Vec<SkillId>,
    spent: TurnUsage,
    // The requests that its sender may still send to the owner.
    requests: Option<RequestQuota>,
    hooks: TurnHooks,
    end: TurnResult,
}

/// The data reported at the end of a turn.
#[derive(Default)]
struct TurnResult {
    ended: Option<(Ending, TurnStopReason)>,
    failure: Option<ModelFailure>,
    // The last text of the model, except for answers to a check.
    result: Option<String>,
}

impl TurnResult {
    fn said(&mut self, reply: &ModelReply) {
        if !reply.text.is_empty() {
            self.result = Some(reply.text.clone());
        }
    }
}

/// Requests and checks without a result.
#[derive(Default)]
struct PendingRequests {
    asked: BTreeMap<u32, RequestPurpose>,
    check: Option<u32>,
    // The number of requests so far.
    steps: u32,
}

impl PendingRequests {
    /// Discards pending checks: input from outside makes their answers obsolete.
    fn forget_checks(&mut self) {
        self.asked.retain(|_, asked| matches!(asked, RequestPurpose::Think(_)));
        self.check = None;
    }
}

struct TurnSetup {
    parent_hash: Option<ContentHash>,
    standing: BTreeMap<String, ApprovalId>,
    under: CallConfinement,
    pruned: PruningStep,
    compaction: Option<Box<CompactionPlan>>,
    // The text of the inbound, shown to the owner with a permission request.
    message: String,
    // The mode that was last requested.
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestPurpose {
    Think(u64),
    Check(u64),
}

struct CallRecord {
    call: ToolCall,
    ruling: Ruling,
    danger: Option<String>,
    digest: ContentHash,
    // The facts that the host has found out about it.
    facts: CallFacts,
    questions: Questions,
    // The change by a person or a hook to the model's arguments; already applied.
    edited: Option<Box<CallEdit>>,
    running: bool,
    outcome: Option<ToolOutcome>,
    said: bool,
    hooked: CallHooks,
}

/// The approvals requested for one call.
#[derive(Default)]
struct Questions {
    // The number of requests so far.
    count: u32,
    // The pending approval.
    open: Option<ApprovalId>,
    // The approval whose answer counts.
    answered: Option<ApprovalId>,
    no: Option<ApprovalAnswer>,
    // The number of times that the call was withheld.
    withheld: u32,
}

/// The question of a check that the model answers.
pub const CHECK_QUESTION: &str =
    "Are you done? Reply with JSON only: {\"done\": true} or {\"done\": false}.";

impl Turn {
    /// Begins a turn and returns its first moves.
    pub fn begin(
        charter: Charter,
        plan: &TurnPlan,
        history: Vec<Message>,
    ) -> Result<(Self, Vec<Move>), Halt> {
        let mut talk = TurnTranscript::new(&charter, history);
        talk.say(Message::User { content: plan.prompt.clone(), images: plan.images.clone() });
        let requests = charter.authority.bounds.as_ref().and_then(|one| one.requests.clone());
        let message = requests.as_ref().map(|_| plan.prompt.clone()).unwrap_or_default();
        let mut turn = Self {
            program: Program::new(concerns(
                charter.first_mode(),
                &charter.limits,
                SandboxPresence::by(charter.confinement().level),
                HookMoments::of(&charter.hooks),
            )),
            plan: TurnSetup {
                parent_hash: plan.parent_hash.clone(),
                standing: plan.standing.clone(),
                under: CallConfinement::from(charter.confinement()),
                pruned: plan.pruned.clone(),
                compaction: plan.compaction.clone(),
                message,
                mode: charter.first_mode(),
            },
            charter,
            talk,
            calls: Vec::new(),
            open: PendingRequests::default(),
            steers: Vec::new(),
            skills: Vec::new(),
            spent: TurnUsage::default(),
            requests,
            hooks: TurnHooks::default(),
            end: TurnResult::default(),
        };
        let moves = turn.advance()?;
        Ok((turn, moves))
    }

    /// Delivers an event with the time of its ledger entry, in milliseconds since 1970.
    pub fn tell_at(&mut self, event: &Event, time_ms: u64) -> Result<Vec<Move>, Halt> {
        if let Some(room) = &mut self.requests {
            room.now_ms = room.now_ms.max(time_ms);
        }
        self.tell(event)
    }

    /// Delivers an event and returns the moves that the turn makes in response, in order.
    pub fn tell(&mut self, event: &Event) -> Result<Vec<Move>, Halt> {
        if self.end.ended.is_some() {
            return Ok(Vec::new());
        }
        match event {
            Event::ModelReplied { step, reply, facts } => self.hear_reply(*step, reply, facts),
            Event::ModelFailed { step, failure } => self.hear_failure(*step, failure),
            Event::CallFinished { call, outcome } => self.hear_outcome(call, outcome),
            Event::CallWithheld { call, facts } => self.hear_withheld(call, facts),
            Event::CheckFinished { iteration, outcome } => self.hear_check(*iteration, outcome),
            Event::SteerReceived { content, .. } => {
                self.steers.push(content.clone());
                self.open.forget_checks();
                self.hooks.forget_stops();
                self.program.offer(Lane::Normal, Signal::Steered);
            }
            Event::CancelReceived {} => self.program.offer(Lane::Urgent, Signal::Cancelled),
            // A sender with restricted bounds cannot switch to the autonomous mode.
            Event::ModeReceived { mode: Mode::Autonomous, .. }
                if !self.charter.authority.may_be_autonomous() => {}
            Event::ModeReceived { mode, max_iterations } => {
                self.open.forget_checks();
                self.hooks.forget_stops();
                self.plan.mode = *mode;
                self.program.offer(Lane::Normal, Signal::ModeWanted(*mode, *max_iterations));
            }
            Event::ApprovalAnswered { approval, answer } => {
                let at =
                    self.calls.iter().position(|one| one.questions.open.as_ref() == Some(approval));
                if let Some(at) = at {
                    self.hear_answer(at, approval, answer);
                }
            }
            Event::ToolAccessChanged { access } => self.hear_access(access),
            Event::Hook(HookChange::Finished { number, report, .. }) => {
                self.hear_hook(*number, report);
            }
            Event::PromptReceived { .. }
            | Event::LossAccepted { .. }
            | Event::SessionOpened { .. }
            | Event::Intake(_)
            | Event::Access(_)
            | Event::EventHook(_)
            | Event::Trust(_)
            | Event::Job(_)
            | Event::Hook(HookChange::Started { .. } | HookChange::StateSet { .. })
            | Event::RunCreated(_)
            | Event::RunResumed {}
            | Event::RunPaused { .. }
            | Event::RunEnded { .. }
            | Event::SandboxOpened { .. }
            | Event::SandboxMissing { .. }
            | Event::ConnectionEnded { .. }
            | Event::ModelRetried { .. }
            | Event::ModelReplaced { .. }
            | Event::StepStarted { .. }
            | Event::StepEnded { .. }
            | Event::TurnStarted(_)
            | Event::InputTaken { .. }
            | Event::ModelAsked { .. }
            | Event::CallProposed { .. }
            | Event::ApprovalAsked(_)
            | Event::CallStarted { .. }
            | Event::CallRefused { .. }
            | Event::CallStopped { .. }
            | Event::CheckStarted { .. }
            | Event::IterationCounted { .. }
            | Event::TurnEnded { .. } => {}
        }
        self.advance()
    }

    /// Returns the request that the model must answer next.
    pub fn request(&self) -> ModelRequest {
        self.talk.request(&self.charter)
    }

    /// Returns the length of that request, in bytes.
    pub fn request_bytes(&self) -> u64 {
        self.talk.digest().1
    }

    /// Returns the number of requests so far.
    pub fn steps(&self) -> u32 {
        self.open.steps
    }

    /// Returns the charter of the turn.
    pub fn charter(&self) -> &Charter {
        &self.charter
    }
}

/// Handling of delivered events, and of the signals that the program chooses.
impl Turn {
    fn hear_reply(&mut self, step: u32, reply: &ModelReply, facts: &[CallFacts]) {
        self.spent.pay(reply.usage, self.open.asked.contains_key(&step));
        let tokens = reply.usage.input_tokens.saturating_add(reply.usage.output_tokens);
        // An answer that is no longer awaited is paid for, and has no other effect.
        match self.open.asked.remove(&step) {
            Some(RequestPurpose::Think(pass)) => {
                self.talk.say(said(reply));
                self.end.said(reply);
                let first = self.calls.len();
                for (at, call) in reply.calls.iter().enumerate() {
                    let judged = self.judged(call, facts.get(at).cloned().unwrap_or_default());
                    self.calls.push(judged);
                }
                let numbers = first..self.calls.len();
                let subjects = numbers.map(|number| self.subject(number)).collect();
                self.program.offer(Lane::Normal, Signal::Replied(pass, subjects, tokens));
            }
            Some(RequestPurpose::Check(number)) => {
                self.talk.say(Message::Assistant {
                    content: reply.text.clone(),
                    thinking: reply.thinking.clone(),
                    calls: Vec::new(),
                    sealed: reply.sealed.clone(),
                });
                let result =
                    if says_done(&reply.text) { CheckResult::Done } else { CheckResult::NotDone };
                self.program.offer(Lane::Normal, Signal::Checked(number, result));
            }
            None => {}
        }
    }

    fn hear_failure(&mut self, step: u32, failure: &ModelFailure) {
        let signal = match self.open.asked.remove(&step) {
            Some(RequestPurpose::Think(pass)) => Signal::Unanswered(pass),
            Some(RequestPurpose::Check(number)) => Signal::Checked(number, CheckResult::Unanswered),
            None => return,
        };
        self.end.failure = Some(failure.clone());
        self.program.offer(Lane::Normal, signal);
    }

    fn hear_outcome(&mut self, call: &CallId, outcome: &ToolOutcome) {
        let Some(at) = self.calls.iter().position(|one| one.call.id == *call && one.running) else {
            return;
        };
        let record = &mut self.calls[at];
        record.running = false;
        record.outcome = Some(outcome.clone());
        if outcome.status == OutcomeStatus::Done
            && let Some(skill) = loaded_skill(&record.call)
            && !self.skills.contains(&skill)
        {
            self.skills.push(skill);
        }
        self.program.offer(Lane::Normal, Signal::Finished(at as u64));
    }

    fn hear_check(&mut self, iteration: u32, outcome: &ToolOutcome) {
        if self.open.check != Some(iteration) {
            return;
        }
        self.open.check = None;
        let result = match outcome.status {
            OutcomeStatus::Done => CheckResult::Done,
            OutcomeStatus::Failed
            | OutcomeStatus::Refused
            | OutcomeStatus::Stopped
            | OutcomeStatus::Uncertain => {
                let content = format!("The check did not pass:\n{}", outcome.text);
                self.talk.say(Message::user(content));
                CheckResult::NotDone
            }
        };
        self.program.offer(Lane::Normal, Signal::Checked(u64::from(iteration), result));
    }

    /// Refuses calls that are no longer allowed; newly allowed ones still wait for their answer.
    fn hear_access(&mut self, access: &serde_json::Value) {
        match serde_json::from_value::<ToolAccess>(access.clone()) {
            Ok(access) => self.charter.authority.set_access(access),
            // Written by another version: no tool is on until the file is read again.
            Err(error) => {
                let mut access = self.charter.authority.access.clone();
                access.broken = Some(Origin::named(format!("tool-access.json ({error})")));
                self.charter.authority.set_access(access);
            }
        }
        self.forbid_anew();
    }

    fn forbid_anew(&mut self) {
        for at in 0..self.calls.len() {
            let record = &self.calls[at];
            if record.running || record.outcome.is_some() {
                continue;
            }
            let ruling = self.ruled(&record.call, &record.facts);
            if ruling.verdict == Verdict::Deny {
                self.calls[at].ruling = ruling;
                self.program.offer(Lane::Normal, Signal::Forbidden(at as u64));
            }
        }
    }

    fn advance(&mut self) -> Result<Vec<Move>, Halt> {
        let chosen = self.program.run()?;
        let mut moves = Vec::new();
        for one in chosen {
            if self.end.ended.is_none() {
                self.act_on(&one.event, &mut moves);
            }
        }
        Ok(moves)
    }

    fn act_on(&mut self, signal: &Signal, moves: &mut Vec<Move>) {
        match signal {
            Signal::Think(pass) => moves.push(self.ask_model(RequestPurpose::Think(*pass))),
            Signal::Check(number) => moves.push(self.begin_check(*number)),
            Signal::Iterate(count) => {
                moves.push(Move::CountIteration {
                    count: u32::try_from(*count).unwrap_or(u32::MAX),
                });
            }
            Signal::Propose(subject) => {
                let record = self.record(subject.call);
                let (call, ruling) = (record.call.clone(), record.ruling.clone());
                moves.push(Move::Propose { call, ruling });
            }
            Signal::Ask(call) => moves.push(self.ask_person(*call)),
            Signal::Execute(subject) => moves.push(self.run_call(subject)),
            Signal::Reject(call, why) => moves.push(self.refuse(*call, *why)),
            Signal::Abort(call) => {
                moves.push(Move::StopCall { call: self.record(*call).call.id.clone() });
            }
            Signal::Settle(call) => moves.extend(self.settle(*call)),
            Signal::Pass(_) => self.say_outcomes(),
            Signal::Consult(call) => moves.extend(self.consult(*call)),
            Signal::Watch(call) => moves.extend(self.watch(*call)),
            Signal::Review(number) => moves.extend(self.review(*number)),
            // Late answers no longer count.
            Signal::Stop(_) => {
                self.hooks.forget_all();
                self.open.asked.clear();
                self.open.check = None;
            }
            Signal::End(why) => moves.push(self.end(*why)),
            Signal::Cancelled
            | Signal::ModeWanted(..)
            | Signal::Steered
            | Signal::Replied(..)
            | Signal::Unanswered(_)
            | Signal::Finished(_)
            | Signal::Withheld(_)
            | Signal::Decided(..)
            | Signal::Checked(..)
            | Signal::Forbidden(_)
            | Signal::Consulted(..)
            | Signal::Watched(..)
            | Signal::Reviewed(..)
            | Signal::GoOn
            | Signal::Finish => {}
        }
    }
}
