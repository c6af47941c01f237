//! The concerns of a turn, side by side.
//!
//! One closed enum, so that a program can be compared, stored and explored, and so that a new concern must
//! be named here.
//!
//! Must never: hold a rule of its own; each concern has its file.

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

/// One concern of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Concern {
    /// Nothing new begins once somebody asked the turn to end.
    Cancel(Cancellation),
    /// Dangerous calls are held back.
    Guard(DangerGuard),
    /// Dangerous calls are refused.
    GuardReject(DangerRefusal),
    /// Nothing new begins once a hook said so.
    Halt(HookHalt),
    /// Hooks are heard before a call is made.
    BeforeCall(BeforeCall),
    /// Hooks look at what came of a call.
    AfterCall(AfterCall),
    /// Hooks are heard before a turn finishes.
    BeforeFinish(BeforeFinish),
    /// So much and no more.
    Budget(Budget),
    /// Done is what a check says.
    Check(Check),
    /// What is said meanwhile is read.
    Steering(SteeringState),
    /// No call without a rule or a person.
    Gate(Gate),
    /// What changes something is done one by one.
    OneByOne(SerialWrites),
    /// Think, act, think again.
    ThinkAct(ThinkAct),
    /// One call.
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
            Self::ThinkAct(concern) => concern.on(signal, spawner),
            Self::Call(concern) => concern.on(signal),
        }
    }
}

/// At which moments of a turn there are hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HookMoments {
    /// Before a call.
    pub before_call: bool,
    /// After a call.
    pub after_call: bool,
    /// Before the turn finishes.
    pub before_finish: bool,
}

impl HookMoments {
    /// The moments of these hooks; those outside of a turn are not its own.
    pub fn of(hooks: &[HookSpec]) -> Self {
        let has = |moment| hooks.iter().any(|hook| hook.moment == moment);
        Self {
            before_call: has(HookMoment::PreToolUse),
            after_call: has(HookMoment::AfterToolCall) || has(HookMoment::PostToolUse),
            before_finish: has(HookMoment::Stop),
        }
    }
}

/// The concerns of a turn, most urgent first. The order is for speed only: what holds, holds in every
/// order.
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
