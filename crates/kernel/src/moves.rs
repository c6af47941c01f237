//! The next moves of a turn, in the imperative: the program may still block one until it is chosen.
//!
//! A chosen move is recorded as an event, and only then performed.
//!
//! Must never: specify how a move is performed.

use agentry_protocol::approval::Approval;
use agentry_protocol::call_facts::CallFacts;
use agentry_protocol::context::ContextUpdate;
use agentry_protocol::event::{CallConfinement, CallEdit, Ending, Event, Permit};
use agentry_protocol::hook::{HookChange, HookSpec};
use agentry_protocol::message::{Message, Usage};
use agentry_protocol::tool_call::{ToolCall, ToolOutcome};
use agentry_protocol::verdict::Ruling;
use agentry_protocol::{CallId, ContentHash};

/// The next action of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// Send the request to the model; the turn holds the request.
    AskModel {
        /// The number of the request in the turn, from one.
        step: u32,
        /// The hash of the request.
        request: ContentHash,
        /// The length of the request, in bytes.
        bytes: u64,
        /// True if the request only asks whether the work is done.
        check: bool,
    },
    /// Propose a call.
    Propose {
        /// The proposed call.
        call: ToolCall,
        /// The ruling of the authority on it.
        ruling: Ruling,
    },
    /// Request a person's approval.
    AskApproval(Box<Approval>),
    /// Run a call.
    RunCall {
        /// The call, with its final arguments.
        call: ToolCall,
        /// The permit that allows it.
        by: Permit,
        /// The confinement of its processes.
        under: CallConfinement,
        /// The change by a person or a hook to the proposed arguments; already applied to the call.
        edited: Option<Box<CallEdit>>,
        /// The facts on which it was judged; if they have changed, it is not run.
        expected: Box<CallFacts>,
    },
    /// Refuse a call.
    Refuse {
        /// The ID of the refused call.
        call: CallId,
        /// The reason, as shown to the model.
        why: String,
    },
    /// Stop a running call.
    StopCall {
        /// The ID of the running call.
        call: CallId,
    },
    /// Run the command that checks whether the work is done.
    RunCheck {
        /// The number of the check in the turn.
        iteration: u32,
        /// The command, as shell text.
        command: String,
    },
    /// Run a hook.
    RunHook {
        /// The number of the hook in the turn, from one.
        number: u32,
        /// The hook to run.
        hook: Box<HookSpec>,
        /// The call that it concerns, with its current arguments.
        call: Option<ToolCall>,
        /// The outcome of that call, if it was made.
        outcome: Option<ToolOutcome>,
    },
    /// Count an iteration.
    CountIteration {
        /// The number of iterations so far.
        count: u32,
    },
    /// End the turn.
    EndTurn {
        /// The way in which it ended.
        ending: Ending,
        /// The content hash of the turn.
        hash: ContentHash,
        /// The tokens spent by its requests.
        usage: Usage,
        /// The last text of the model.
        result: Option<String>,
        /// The messages that the turn adds to its branch.
        messages: Vec<Message>,
        /// The effect on the context of later turns.
        context: Box<ContextUpdate>,
    },
}

impl Move {
    /// Returns the event that records the move in the ledger.
    pub fn event(&self) -> Event {
        match self.clone() {
            Self::AskModel { step, request, bytes, check } => {
                Event::ModelAsked { step, request, bytes, check }
            }
            Self::Propose { call, ruling } => Event::CallProposed { call, ruling },
            Self::AskApproval(approval) => Event::ApprovalAsked(approval),
            Self::RunCall { call, by, under, edited, expected: _ } => {
                Event::CallStarted { call: call.id, by, under, edited }
            }
            Self::Refuse { call, why } => Event::CallRefused { call, why },
            Self::StopCall { call } => Event::CallStopped { call },
            Self::RunCheck { iteration, command } => Event::CheckStarted { iteration, command },
            Self::RunHook { number, hook, call, outcome: _ } => {
                let HookSpec { moment, program, .. } = *hook;
                let call = call.map(|call| call.id);
                Event::Hook(HookChange::Started { number, moment, program, call })
            }
            Self::CountIteration { count } => Event::IterationCounted { count },
            Self::EndTurn { ending, hash, usage, result, messages, context } => {
                Event::TurnEnded { ending, hash, usage, result, messages, context }
            }
        }
    }
}

/// The role of a ledger event for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventRole {
    /// The turn receives it as input.
    Told,
    /// The turn chose it.
    Chosen,
    /// The turn receives the entry with this sequence number.
    Pointer(u64),
    /// It does not concern the turn.
    Other,
}

/// Returns the role of a ledger event for a turn.
pub fn role(event: &Event) -> EventRole {
    match event {
        Event::ModelReplied { .. }
        | Event::ModelFailed { .. }
        | Event::CallFinished { .. }
        | Event::CallWithheld { .. }
        | Event::CheckFinished { .. } => EventRole::Told,
        Event::Hook(change) => role_of_hook(change),
        Event::InputTaken { input } => EventRole::Pointer(*input),
        Event::ModelAsked { .. }
        | Event::CallProposed { .. }
        | Event::ApprovalAsked(_)
        | Event::CallStarted { .. }
        | Event::CallRefused { .. }
        | Event::CallStopped { .. }
        | Event::CheckStarted { .. }
        | Event::IterationCounted { .. }
        | Event::TurnEnded { .. } => EventRole::Chosen,
        Event::PromptReceived { .. }
        | Event::SteerReceived { .. }
        | Event::CancelReceived {}
        | Event::LossAccepted { .. }
        | Event::ModeReceived { .. }
        | Event::ApprovalAnswered { .. }
        | Event::ToolAccessChanged { .. }
        | Event::SessionOpened { .. }
        | Event::Intake(_)
        | Event::Access(_)
        | Event::EventHook(_)
        | Event::Trust(_)
        | Event::Job(_)
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
        | Event::TurnStarted(_) => EventRole::Other,
    }
}

/// Returns the role of a hook event. Hooks before a turn have no number and are not the turn's own.
fn role_of_hook(change: &HookChange) -> EventRole {
    match change {
        HookChange::Started { number: 0, .. }
        | HookChange::Finished { number: 0, .. }
        | HookChange::StateSet { .. } => EventRole::Other,
        HookChange::Started { .. } => EventRole::Chosen,
        HookChange::Finished { .. } => EventRole::Told,
    }
}
