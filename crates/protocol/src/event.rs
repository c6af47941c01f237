//! All that can happen. Past tense: an event cannot be argued with.
//!
//! Two streams: *world* is what came in from people and programs; *turns* is what agents did about it.
//! The moves of a turn are events too: they are recorded when they are chosen, before they are done.
//!
//! Must never: gain a variant for one tool or one provider. A tool call is a tool call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::{Approval, ApprovalAnswer};
use crate::call_facts::CallFacts;
use crate::confinement::{Attestation, Confinement, ConfinementLevel, Connection};
use crate::context::ContextUpdate;
use crate::event_hook::EventHookChange;
use crate::hash::ContentHash;
use crate::hook::HookChange;
use crate::id::{AgentId, ApprovalId, CallId, SessionKey, TurnId};
use crate::inbound::EventId;
use crate::intake::{AccessChange, IntakeStage};
use crate::job::JobChange;
use crate::message::{Message, ModelFailure, ModelReply, Usage};
use crate::tool_call::{ToolCall, ToolOutcome};
use crate::trust::TrustChange;
use crate::verdict::Ruling;

pub use crate::plan::{RunInputs, RunLimits, RunModels, RunPlan, StepPlan, TurnPlan};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// Somebody said something to an agent. World.
    PromptReceived {
        /// What was said.
        content: String,
    },
    /// Somebody said something to a turn that is under way. World.
    SteerReceived {
        /// What was said.
        content: String,
        /// What it came in as, if a channel brought it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event: Option<EventId>,
    },
    /// Somebody asked a turn to end. World.
    CancelReceived {},
    /// Somebody asked for another mode. World.
    ModeReceived {
        /// The mode.
        mode: Mode,
        /// The most iterations from now on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_iterations: Option<u32>,
    },
    /// Somebody answered an approval. World.
    ApprovalAnswered {
        /// The question.
        approval: ApprovalId,
        /// The answer.
        answer: ApprovalAnswer,
    },
    /// The tool-access file changed while a turn was under way. World.
    ToolAccessChanged {
        /// What it says now; broken means that nothing is on.
        access: Value,
    },
    /// The owner goes on after entries of the ledger were lost. World.
    LossAccepted {
        /// The last entry that was there.
        last: u64,
        /// The last entry that is known to have been written.
        known: u64,
        /// The hash of that entry, in hexadecimal digits.
        hash: String,
    },
    /// Something is on its way from a channel to a session, or back. World or turns.
    Intake(IntakeStage),
    /// Somebody changed who may do what. World.
    Access(AccessChange),
    /// Something happened to a hook that looks at events. World or turns.
    EventHook(EventHookChange),
    /// The owner lets programs run, or does not any more. World.
    Trust(TrustChange),
    /// Something happened to a program of an agent that is run once.
    Job(JobChange),
    /// A hook of a turn is run, or was. A move where a turn chose it.
    Hook(HookChange),
    /// A session came to be.
    SessionOpened {
        /// What people call it.
        key: SessionKey,
        /// Who it is with.
        agent: AgentId,
        /// The turn it goes on from, if it was forked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<TurnId>,
    },
    /// A run came to be.
    RunCreated(Box<RunPlan>),
    /// A run went on in another process.
    RunResumed {},
    /// A run waits for a person and nobody is there; the process let go of it.
    RunPaused {
        /// What it waits for.
        approvals: Vec<ApprovalId>,
    },
    /// A run came to its end.
    RunEnded {
        /// How.
        ending: Ending,
        /// In words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A sandbox was opened and tried; what the run's calls are confined by.
    SandboxOpened {
        /// What it is worth.
        attestation: Attestation,
    },
    /// There is no sandbox; calls that need one are refused.
    SandboxMissing {
        /// What was tried, and why it is not to be had.
        why: String,
    },
    /// A step of a task began.
    StepStarted {
        /// Which one, from zero.
        index: u32,
    },
    /// A step of a task ended.
    StepEnded {
        /// Which one.
        index: u32,
        /// How.
        status: StepStatus,
    },
    /// A turn began.
    TurnStarted(Box<TurnPlan>),
    /// The turn took notice of something that came in. From here on it counts.
    InputTaken {
        /// The entry of the world stream.
        input: u64,
    },
    /// Move: the model is asked.
    ModelAsked {
        /// Which request of the turn, from one.
        step: u32,
        /// The hash of the whole request.
        request: ContentHash,
        /// The length of the request; a later request of the turn begins with the same bytes.
        bytes: u64,
        /// Whether the question is only whether the work is done.
        #[serde(default, skip_serializing_if = "is_false")]
        check: bool,
    },
    /// The model answered.
    ModelReplied {
        /// Which request.
        step: u32,
        /// The answer.
        reply: ModelReply,
        /// What was found out about its calls, in their order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        facts: Vec<CallFacts>,
    },
    /// The model did not answer.
    ModelFailed {
        /// Which request.
        step: u32,
        /// Why.
        failure: ModelFailure,
    },
    /// The model did not answer yet, and is asked again.
    ModelRetried {
        /// Which request.
        step: u32,
        /// Which try failed, from one.
        attempt: u32,
        /// Why.
        failure: ModelFailure,
        /// How long it is waited before the next.
        wait_ms: u64,
    },
    /// The model did not answer, and another one is asked instead.
    ModelReplaced {
        /// Which request.
        step: u32,
        /// Who did not answer: provider and model.
        from: String,
        /// Who is asked now.
        to: String,
        /// Why.
        failure: ModelFailure,
    },
    /// Move: a call is on the table.
    CallProposed {
        /// The call.
        call: ToolCall,
        /// What the rules say about it.
        ruling: Ruling,
    },
    /// Move: a person is asked.
    ApprovalAsked(Box<Approval>),
    /// Move: a call is made. Recorded before the tool runs.
    CallStarted {
        /// The call.
        call: CallId,
        /// What allowed it.
        by: Permit,
        /// What it runs under. Records from before there was a sandbox do not say, and mean nothing.
        #[serde(default = "CallConfinement::nothing")]
        under: CallConfinement,
        /// What a person put in the place of the proposed arguments, if anybody did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited: Option<Box<CallEdit>>,
    },
    /// What came of a call that was made.
    CallFinished {
        /// The call.
        call: CallId,
        /// What came of it.
        outcome: ToolOutcome,
    },
    /// A call that was to be made was not: what it depends on changed since it was judged. It is judged again.
    CallWithheld {
        /// The call.
        call: CallId,
        /// What was found instead, and how it differs.
        facts: CallFacts,
    },
    /// A connection of a call came to its end, or was refused.
    ConnectionEnded {
        /// The call.
        call: CallId,
        /// Where to, how much, and whether it was let through.
        connection: Connection,
    },
    /// Move: a call is refused; nothing was done.
    CallRefused {
        /// The call.
        call: CallId,
        /// Why, as the model is told.
        why: String,
    },
    /// Move: a call that is under way is stopped.
    CallStopped {
        /// The call.
        call: CallId,
    },
    /// Move: a command checks whether the work is done.
    CheckStarted {
        /// Which iteration.
        iteration: u32,
        /// The command.
        command: String,
    },
    /// What a check command said.
    CheckFinished {
        /// Which iteration.
        iteration: u32,
        /// What came of it; done means that the work is done.
        outcome: ToolOutcome,
    },
    /// Move: an iteration of autonomous work is over and the next begins.
    IterationCounted {
        /// How many there have been.
        count: u32,
    },
    /// Move: the turn is over.
    TurnEnded {
        /// How.
        ending: Ending,
        /// The hash of this turn and, through its parent, of all before it.
        hash: ContentHash,
        /// What was spent.
        usage: Usage,
        /// The last thing the model said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        /// The messages that the turn adds to its branch.
        messages: Vec<Message>,
        /// What it means for what later turns are shown.
        #[serde(default, skip_serializing_if = "ContextUpdate::is_empty")]
        context: Box<ContextUpdate>,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// With the gate, or without it inside of the sandbox. Files and wires say `structured` and `wiggum`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// A person is asked.
    #[default]
    #[serde(rename = "structured", alias = "supervised")]
    Supervised,
    /// Calls go ahead unless the guard objects; a check decides when the work is done.
    #[serde(rename = "wiggum", alias = "autonomous")]
    Autonomous,
}

impl Mode {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Supervised => "structured",
            Self::Autonomous => "wiggum",
        }
    }
}

/// What allowed a call to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Permit {
    /// A rule.
    Rule {
        /// `file:line` or `built-in`.
        rule: String,
    },
    /// A person, asked about this call.
    Approval {
        /// The question.
        approval: ApprovalId,
    },
    /// A person, asked about the same call earlier in the session.
    Earlier {
        /// The question.
        approval: ApprovalId,
    },
    /// The autonomous mode.
    Mode {},
}

/// The confinement that a call runs under. The charter of its turn has the whole of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallConfinement {
    /// What enforces it.
    pub level: ConfinementLevel,
    /// Its hash.
    pub hash: ContentHash,
}

impl CallConfinement {
    fn nothing() -> Self {
        Self::from(&Confinement::unconfined())
    }
}

impl From<&Confinement> for CallConfinement {
    fn from(confinement: &Confinement) -> Self {
        Self { level: confinement.level, hash: confinement.hash() }
    }
}

/// Arguments that a person or a hook put in the place of the proposed ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallEdit {
    /// The arguments that the call is made with.
    pub input: Value,
    /// The hash of the tool and these arguments.
    pub digest: ContentHash,
    /// What the rules say about the changed call.
    pub ruling: Ruling,
    /// The program of the hook that changed them; none means a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// How a turn or a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The work is done.
    Done,
    /// Something did not work.
    Failed,
    /// Every call was denied.
    Denied,
    /// So many steps, iterations or tokens were not enough.
    LimitReached,
    /// The model did not answer.
    ModelFailed,
    /// Somebody asked it to end.
    Cancelled,
}

impl Ending {
    /// Whether a turn that ended so becomes the head of its session.
    pub fn moves_head(self) -> bool {
        match self {
            // What was done is known to the next turn, also where it was stopped half way.
            Self::Done | Self::Denied | Self::LimitReached | Self::Cancelled => true,
            Self::Failed | Self::ModelFailed => false,
        }
    }
}

/// How a step of a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Its turn has not come.
    Pending,
    /// It is under way.
    Running,
    /// It did what it should.
    Succeeded,
    /// It did not.
    Failed,
    /// A step before it failed.
    Skipped,
}

impl StepStatus {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_from_before_there_was_a_sandbox_ran_under_nothing() {
        let id = CallId::from_number(1);
        let old = serde_json::json!({"type": "call_started", "call": id, "by": {"kind": "mode"}});
        let event: Event = serde_json::from_value(old).unwrap();
        let under = CallConfinement {
            level: ConfinementLevel::Off,
            hash: Confinement::unconfined().hash(),
        };
        let edited = None;
        assert_eq!(event, Event::CallStarted { call: id, by: Permit::Mode {}, under, edited });
    }
}
