//! Every event that the ledger can hold. Past tense: an event is a fact and cannot be vetoed.
//!
//! Two streams: *world* holds input from people and programs; *turns* holds the acts of agents.
//! The moves of a turn are events too: each is recorded when it is chosen, before it is done.
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

pub use crate::plan::{Mode, RunInputs, RunLimits, RunModels, RunPlan, StepPlan, TurnPlan};

/// An event of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// A person or program sent a prompt to an agent. World.
    PromptReceived {
        /// The text of the prompt.
        content: String,
    },
    /// A person or program sent a message to a running turn. World.
    SteerReceived {
        /// The text of the message.
        content: String,
        /// The inbound event that carried it, if it came through a channel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event: Option<EventId>,
    },
    /// A person or program asked a turn to end. World.
    CancelReceived {},
    /// A person or program asked for another mode. World.
    ModeReceived {
        /// The new mode.
        mode: Mode,
        /// The limit of iterations from now on; none keeps the limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_iterations: Option<u32>,
    },
    /// A person or program answered an approval. World.
    ApprovalAnswered {
        /// The approval that is answered.
        approval: ApprovalId,
        /// The answer of the person.
        answer: ApprovalAnswer,
    },
    /// The tool-access file changed during a turn. World.
    ToolAccessChanged {
        /// The new content of the file; content that does not parse turns all tools off.
        access: Value,
    },
    /// The owner continues after entries of the ledger were lost. World.
    LossAccepted {
        /// The sequence number of the last entry that is still there.
        last: u64,
        /// The sequence number of the last entry that is known to have been written.
        known: u64,
        /// The hash of that last written entry, in hexadecimal digits.
        hash: String,
    },
    /// An inbound or its answer reached a stage between channel and session. World or turns.
    Intake(IntakeStage),
    /// A grant, an entity, a key to the server or the list of audit records changed. World.
    Access(AccessChange),
    /// An event hook was changed, matched or run. World or turns.
    EventHook(EventHookChange),
    /// The owner trusted the programs of a directory, or withdrew the trust. World.
    Trust(TrustChange),
    /// A job, one run of an agent's program, changed its state.
    Job(JobChange),
    /// A hook of a turn starts or finished. A move where a turn chose it.
    Hook(HookChange),
    /// A session was opened.
    SessionOpened {
        /// The name of the session that people use.
        key: SessionKey,
        /// The agent of the session.
        agent: AgentId,
        /// The turn that the session continues, if it was forked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<TurnId>,
    },
    /// A run was created.
    RunCreated(Box<RunPlan>),
    /// A run continued in another process.
    RunResumed {},
    /// A run waits for a person and is unattended; its process released it.
    RunPaused {
        /// The approvals that the run waits for.
        approvals: Vec<ApprovalId>,
    },
    /// A run ended.
    RunEnded {
        /// The kind of ending.
        ending: Ending,
        /// The reason, as text for a person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// A sandbox was opened and tested; it confines the calls of the run.
    SandboxOpened {
        /// The results of the tests.
        attestation: Attestation,
    },
    /// No sandbox is available; calls that need one are refused.
    SandboxMissing {
        /// The sandboxes that were tried, and the reason why each is unavailable.
        why: String,
    },
    /// A step of a task began.
    StepStarted {
        /// The index of the step, from zero.
        index: u32,
    },
    /// A step of a task ended.
    StepEnded {
        /// The index of the step, from zero.
        index: u32,
        /// The result of the step.
        status: StepStatus,
    },
    /// A turn began.
    TurnStarted(Box<TurnPlan>),
    /// The turn took an input into account. The input affects the turn from here on.
    InputTaken {
        /// The sequence number of the input in the world stream.
        input: u64,
    },
    /// Move: a request is sent to the model.
    ModelAsked {
        /// The number of the request in the turn, from one.
        step: u32,
        /// The hash of the whole request.
        request: ContentHash,
        /// The length of the request; a later request of the turn begins with the same bytes.
        bytes: u64,
        /// True if the request only asks the model whether the work is done.
        #[serde(default, skip_serializing_if = "is_false")]
        check: bool,
    },
    /// The model answered.
    ModelReplied {
        /// The number of the request in the turn, from one.
        step: u32,
        /// The reply.
        reply: ModelReply,
        /// The facts that the host found about the calls of the reply, in their order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        facts: Vec<CallFacts>,
    },
    /// A request to the model failed.
    ModelFailed {
        /// The number of the request in the turn, from one.
        step: u32,
        /// The reason of the failure.
        failure: ModelFailure,
    },
    /// An attempt of a request failed, and the request is sent again.
    ModelRetried {
        /// The number of the request in the turn, from one.
        step: u32,
        /// The number of the failed attempt, from one.
        attempt: u32,
        /// The reason of the failure.
        failure: ModelFailure,
        /// The pause before the next attempt, in milliseconds.
        wait_ms: u64,
    },
    /// A model failed, and the request goes to another model instead.
    ModelReplaced {
        /// The number of the request in the turn, from one.
        step: u32,
        /// The model that failed: provider and model.
        from: String,
        /// The model that gets the request now: provider and model.
        to: String,
        /// The reason of the failure.
        failure: ModelFailure,
    },
    /// Move: a call is proposed and judged.
    CallProposed {
        /// The proposed call.
        call: ToolCall,
        /// The ruling of all stages about the call.
        ruling: Ruling,
    },
    /// Move: a call needs the approval of a person.
    ApprovalAsked(Box<Approval>),
    /// Move: a call starts. Recorded before the tool runs.
    CallStarted {
        /// The id of the call.
        call: CallId,
        /// The reason why the call is allowed.
        by: Permit,
        /// The confinement of the call. Records from before the sandbox lack it: unconfined.
        #[serde(default = "CallConfinement::nothing")]
        under: CallConfinement,
        /// The replacement of the proposed arguments, if a person or a hook replaced them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited: Option<Box<CallEdit>>,
    },
    /// A call that was started finished.
    CallFinished {
        /// The id of the call.
        call: CallId,
        /// The outcome of the call.
        outcome: ToolOutcome,
    },
    /// A call did not start: a dependency changed after the ruling. The call is judged again.
    CallWithheld {
        /// The id of the call.
        call: CallId,
        /// The new facts, with their differences from those of the ruling.
        facts: CallFacts,
    },
    /// A connection of a call ended or was refused.
    ConnectionEnded {
        /// The id of the call.
        call: CallId,
        /// The host, the bytes in both directions, and the reason of a refusal.
        connection: Connection,
    },
    /// Move: a call is refused; it had no effect.
    CallRefused {
        /// The id of the call.
        call: CallId,
        /// The reason, in the words that the model gets.
        why: String,
    },
    /// Move: a running call is stopped.
    CallStopped {
        /// The id of the call.
        call: CallId,
    },
    /// Move: a command checks whether the work is done.
    CheckStarted {
        /// The number of the check in the turn, from one.
        iteration: u32,
        /// The command that runs in the sandbox.
        command: String,
    },
    /// A check command finished.
    CheckFinished {
        /// The number of the check in the turn, from one.
        iteration: u32,
        /// The outcome of the command; `Done` means that the work is done.
        outcome: ToolOutcome,
    },
    /// Move: an iteration of autonomous work is counted.
    IterationCounted {
        /// The number of iterations so far; a change of the mode restarts it.
        count: u32,
    },
    /// Move: the turn ends.
    TurnEnded {
        /// The kind of ending.
        ending: Ending,
        /// The hash of this turn and, through its parent, of all turns before it.
        hash: ContentHash,
        /// The tokens that the turn used.
        usage: Usage,
        /// The last text of the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        /// The messages that the turn adds to its branch.
        messages: Vec<Message>,
        /// The changes to the context that later turns of the branch send to the model.
        #[serde(default, skip_serializing_if = "ContextUpdate::is_empty")]
        context: Box<ContextUpdate>,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The reason why a call is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Permit {
    /// An approval rule allows it.
    Rule {
        /// The place of the rule: `file:line` or `built-in`.
        rule: String,
    },
    /// A person approved this call.
    Approval {
        /// The approval.
        approval: ApprovalId,
    },
    /// A person approved the same call earlier in the session.
    Earlier {
        /// The earlier approval.
        approval: ApprovalId,
    },
    /// The autonomous mode allows it.
    Mode {},
}

/// The confinement of a call, by its hash. The charter of the turn has the whole value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallConfinement {
    /// The mechanism that enforces it.
    pub level: ConfinementLevel,
    /// The hash of the `Confinement`.
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

/// A replacement of the proposed arguments of a call by a person or a hook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallEdit {
    /// The arguments that the call runs with.
    pub input: Value,
    /// The hash of the tool and these arguments.
    pub digest: ContentHash,
    /// The ruling about the changed call.
    pub ruling: Ruling,
    /// The program of the hook that changed them; none means that a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The way in which a turn or a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The work is done.
    Done,
    /// An error of the runtime or of a program ended the work.
    Failed,
    /// Every call was denied, or a gate halted the turn.
    Denied,
    /// A limit of steps, calls, iterations, tokens or spending was reached.
    LimitReached,
    /// The model failed, and no fallback replied.
    ModelFailed,
    /// A person or program asked the turn or run to end.
    Cancelled,
}

impl Ending {
    /// Returns true if a turn with this ending becomes the head of its session.
    pub fn moves_head(self) -> bool {
        match self {
            // The next turn must know what was done, also if the work was stopped half way.
            Self::Done | Self::Denied | Self::LimitReached | Self::Cancelled => true,
            Self::Failed | Self::ModelFailed => false,
        }
    }
}

/// The state of a step of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// The step has not started.
    Pending,
    /// The step is running.
    Running,
    /// The turn of the step ended as it should.
    Succeeded,
    /// The turn of the step failed.
    Failed,
    /// An earlier step failed, so this one does not run.
    Skipped,
}

impl StepStatus {
    /// Returns the word for files and wires.
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
