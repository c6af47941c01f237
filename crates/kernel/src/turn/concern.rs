//! The concerns of a turn, as one closed enum.
//!
//! It is closed so that a program can be compared, stored and explored, and so that each new
//! concern must be named here.
//!
//! Must never: contain a rule of its own; each concern has its file.

use std::borrow::Cow;

use agentry_bthread::{Bid, Flow, Spawner, Thread};
use agentry_protocol::event::{Mode, RunLimits};
use agentry_protocol::hook::{HookMoment, HookSpec};
use serde::{Deserialize, Serialize};

use super::after_call::AfterCall;
use super::before_call::BeforeCall;
use super::before_finish::BeforeFinish;
use super::budget::Budget;
use super::call::CallConcern;
use super::cancel::Cancellation;
use super::check::Check;
use super::danger::{DangerGuard, DangerRefusal};
use super::gate::{Gate, SandboxPresence};
use super::halt::HookHalt;
use super::serial_writes::SerialWrites;
use super::signal::Signal;
use super::steering::SteeringState;
use super::think_act::ThinkAct;

/// A concern of a turn: one b-thread of its program.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Concern {
    /// Blocks new work once the turn is asked to end.
    Cancel(Cancellation),
    /// Blocks dangerous calls.
    Guard(DangerGuard),
    /// Requests the refusal of dangerous calls.
    GuardReject(DangerRefusal),
    /// Blocks new work once a hook has halted the turn.
    Halt(HookHalt),
    /// Runs hooks before a call.
    BeforeCall(BeforeCall),
    /// Runs hooks on the outcome of a call.
    AfterCall(AfterCall),
    /// Runs hooks before a turn finishes.
    BeforeFinish(BeforeFinish),
    /// Stops the turn at its limits.
    Budget(Budget),
    /// Finishes autonomous work only after a passed check.
    Check(Check),
    /// Makes the model read new input before the turn finishes.
    Steering(SteeringState),
    /// Blocks calls without a rule or an approval.
    Gate(Gate),
    /// Runs calls that change state one at a time.
    OneByOne(SerialWrites),
    /// Asks the model, proposes its calls, and repeats.
    ThinkAct(ThinkAct),
    /// Carries one call to its outcome.
    Call(CallConcern),
}

impl Thread for Concern {
    type Event = Signal;

    fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Cancel(_) => "cancel".into(),
            Self::Guard(_) => "danger guard".into(),
            Self::GuardReject(_) => "danger refusal".into(),
            Self::Halt(_) => "halt".into(),
            Self::BeforeCall(_) => "before call".into(),
            Self::AfterCall(_) => "after call".into(),
            Self::BeforeFinish(_) => "before finish".into(),
            Self::Budget(_) => "budget".into(),
            Self::Check(_) => "check".into(),
            Self::Steering(_) => "steering".into(),
            Self::Gate(_) => "gate".into(),
            Self::OneByOne(_) => "one by one".into(),
            Self::ThinkAct(_) => "think and act".into(),
            Self::Call(call) => format!("call {}", call.number()).into(),
        }
    }

    fn bid(&self) -> Bid<Signal> {
        match self {
            Self::Cancel(concern) => concern.bid(),
            Self::Guard(concern) => concern.bid(),
            Self::GuardReject(concern) => concern.bid(),
            Self::Halt(concern) => concern.bid(),
            Self::BeforeCall(concern) => concern.bid(),
            Self::AfterCall(concern) => concern.bid(),
            Self::BeforeFinish(concern) => concern.bid(),
            Self::Budget(concern) => concern.bid(),
            Self::Check(concern) => concern.bid(),
            Self::Steering(concern) => concern.bid(),
            Self::Gate(concern) => concern.bid(),
            Self::OneByOne(concern) => concern.bid(),
            Self::ThinkAct(concern) => concern.bid(),
            Self::Call(concern) => concern.bid(),
        }
    }

    fn on(&mut self, signal: &Signal, spawner: &mut Spawner<Self>) -> Flow {
        match self {
            Self::Cancel(concern) => concern.on(signal),
            Self::Guard(_) => Flow::Go,
            Self::GuardReject(concern) => concern.on(signal),
            Self::Halt(concern) => concern.on(signal),
            Self::BeforeCall(concern) => concern.on(signal),
            Self::AfterCall(concern) => concern.on(signal),
            Self::BeforeFinish(concern) => concern.on(signal),
            Self::Budget(concern) => concern.on(signal),
            Self::Check(concern) => concern.on(signal),
            Self::Steering(concern) => concern.on(signal),
            Self::Gate(concern) => concern.on(signal),
            Self::OneByOne(concern) => concern.on(signal),
            Self::ThinkAct(concern) => concern.on(signal, |call| spawner.spawn(Self::Call(call))),
            Self::Call(concern) => concern.on(signal),
        }
    }
}

/// The moments of a turn for which there are hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HookMoments {
    /// A call is about to be made.
    pub before_call: bool,
    /// A call has its outcome.
    pub after_call: bool,
    /// The turn is about to finish.
    pub before_finish: bool,
}

impl HookMoments {
    /// Collects the moments of these hooks; hooks outside of a turn are ignored.
    pub fn of(hooks: &[HookSpec]) -> Self {
        let has = |moment| hooks.iter().any(|hook| hook.moment == moment);
        Self {
            before_call: has(HookMoment::PreToolUse),
            after_call: has(HookMoment::AfterToolCall) || has(HookMoment::PostToolUse),
            before_finish: has(HookMoment::Stop),
        }
    }
}

/// Returns the concerns of a turn, most urgent first. The order only affects speed: the properties
/// hold in every order.
pub fn concerns(
    mode: Mode,
    limits: &RunLimits,
    confined: SandboxPresence,
    moments: HookMoments,
) -> Vec<Concern> {
    let HookMoments { before_call, after_call, before_finish } = moments;
    let hooked = [
        (moments != HookMoments::default()).then_some(Concern::Halt(HookHalt::Armed)),
        before_call.then(|| Concern::BeforeCall(BeforeCall::default())),
        after_call.then(|| Concern::AfterCall(AfterCall::default())),
        before_finish.then(|| Concern::BeforeFinish(BeforeFinish::default())),
    ];
    let first = [
        Concern::Cancel(Cancellation::Armed),
        Concern::Guard(DangerGuard),
        Concern::GuardReject(DangerRefusal::default()),
    ];
    let rest = [
        Concern::Budget(Budget::new(limits, mode)),
        Concern::Check(Check::new(mode)),
        Concern::Steering(SteeringState::Read),
        Concern::Gate(Gate::new(mode, confined)),
        Concern::OneByOne(SerialWrites::default()),
        Concern::ThinkAct(ThinkAct::new()),
    ];
    first.into_iter().chain(hooked.into_iter().flatten()).chain(rest).collect()
}
