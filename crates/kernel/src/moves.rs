//! What a turn does next. Imperative: a move may still be held back until it is chosen.
//!
//! A chosen move is recorded as an event, and only then done.
//!
//! Must never: say how it is done.

use agentry_protocol::approval::Approval;
use agentry_protocol::call_facts::CallFacts;
use agentry_protocol::context::ContextUpdate;
use agentry_protocol::event::{CallConfinement, CallEdit, Ending, Event, Permit};
use agentry_protocol::hook::{HookChange, HookSpec};
use agentry_protocol::message::{Message, Usage};
use agentry_protocol::tool_call::{ToolCall, ToolOutcome};
use agentry_protocol::verdict::Ruling;
use agentry_protocol::{CallId, ContentHash};

/// One move.
#[derive(Clone, Debug, PartialEq)]
pub enum Move {
    /// Ask the model; the turn has the request.
    AskModel {
        /// Which request of the turn, from one.
        step: u32,
        /// The hash of the request.
        request: ContentHash,
        /// Its length.
        bytes: u64,
        /// Whether the question is only whether the work is done.
        check: bool,
    },
    /// Put a call on the table.
    Propose {
        /// The call.
        call: ToolCall,
        /// What the rules say about it.
        ruling: Ruling,
    },
    /// Ask a person.
    AskApproval(Box<Approval>),
    /// Make a call.
    RunCall {
        /// The call.
        call: ToolCall,
        /// What allows it.
        by: Permit,
        /// What it runs under.
        under: CallConfinement,
        /// What a person or a hook put in the place of the proposed arguments; the call has them.
        edited: Option<Box<CallEdit>>,
        /// What was found out about it when it was judged; if that has changed, it is not made.
        expected: Box<CallFacts>,
    },
    /// Refuse a call.
    Refuse {
        /// The call.
        call: CallId,
        /// Why, as the model is told.
        why: String,
    },
    /// Stop a call that is under way.
    StopCall {
        /// The call.
        call: CallId,
    },
    /// Run the command that checks whether the work is done.
    RunCheck {
        /// Which check of the turn.
        iteration: u32,
        /// The command.
        command: String,
    },
    /// Run a hook.
    RunHook {
        /// Which hook of the turn, from one.
        number: u32,
        /// The hook.
        hook: Box<HookSpec>,
        /// The call that it is about, with the arguments that it has now.
        call: Option<ToolCall>,
        /// What came of that call, where it was made.
        outcome: Option<ToolOutcome>,
    },
    /// Count an iteration.
    CountIteration {
        /// How many there have been.
        count: u32,
    },
    /// End the turn.
    EndTurn {
        /// How.
        ending: Ending,
        /// The hash of the turn.
        hash: ContentHash,
        /// What was spent.
        usage: Usage,
        /// The last thing the model said.
        result: Option<String>,
        /// What the turn adds to its branch.
        messages: Vec<Message>,
        /// What it means for what later turns are shown.
        context: Box<ContextUpdate>,
    },
}

impl Move {
    /// The move as it stands in the ledger.
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

/// What an event of the ledger is to a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventRole {
    /// The turn is told of it.
    Told,
    /// The turn chose it.
    Chosen,
    /// The turn is told of the entry that it points at.
    Pointer(u64),
    /// It is not the turn's.
    Other,
}

/// What an event of the ledger is to a turn.
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

/// Hooks that ran before a turn began have no number and are not its own.
fn role_of_hook(change: &HookChange) -> EventRole {
    match change {
        HookChange::Started { number: 0, .. }
        | HookChange::Finished { number: 0, .. }
        | HookChange::StateSet { .. } => EventRole::Other,
        HookChange::Started { .. } => EventRole::Chosen,
        HookChange::Finished { .. } => EventRole::Told,
    }
}
