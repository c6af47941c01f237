//! An event with what the ledger knows about it.
//!
//! Keeps number, time, cause and version out of the event, so that events are equal in tests and versions
//! stay out of names.
//!
//! Must never: be changed once it was written.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::event_hook::EventHookChange;
use crate::id::{RunId, SessionId, TurnId};
use crate::intake::IntakeStage;

/// The version of the events that this program writes.
pub const EVENT_VERSION: u32 = 1;

/// One entry of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Its place, from one, without gaps.
    pub seq: u64,
    /// When it was written, in milliseconds since 1970.
    pub time: u64,
    /// The entry that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// The version of its form.
    pub version: u32,
    /// Which stream it belongs to.
    pub stream: LedgerStream,
    /// What it is about.
    #[serde(flatten)]
    pub about: EntrySubject,
    /// What happened.
    pub event: Event,
}

/// What an entry is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntrySubject {
    /// The session.
    #[serde(rename = "sessionId", default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The run.
    #[serde(rename = "runId", default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The turn.
    #[serde(rename = "turnId", default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
}

/// An entry before it has its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The entry that led to it.
    pub cause: Option<u64>,
    /// What it is about.
    pub about: EntrySubject,
    /// What happened.
    pub event: Event,
}

/// The two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerStream {
    /// What came in.
    World,
    /// What agents did.
    Turns,
}

impl Event {
    /// The stream that the event belongs to.
    pub fn stream(&self) -> LedgerStream {
        match self {
            Self::PromptReceived { .. }
            | Self::SteerReceived { .. }
            | Self::CancelReceived {}
            | Self::LossAccepted { .. }
            | Self::ModeReceived { .. }
            | Self::ApprovalAnswered { .. }
            | Self::ToolAccessChanged { .. }
            | Self::Access(_)
            | Self::Trust(_)
            | Self::EventHook(
                EventHookChange::Registered { .. }
                | EventHookChange::Enabled { .. }
                | EventHookChange::Disabled { .. }
                | EventHookChange::Deleted { .. },
            )
            | Self::Intake(IntakeStage::Received { .. } | IntakeStage::QueueSet { .. }) => {
                LedgerStream::World
            }
            Self::Intake(
                IntakeStage::Decided { .. }
                | IntakeStage::Routed(_)
                | IntakeStage::Unrun { .. }
                | IntakeStage::ChunkSent { .. }
                | IntakeStage::Delivered(_),
            )
            | Self::EventHook(
                EventHookChange::Matched { .. }
                | EventHookChange::Begun { .. }
                | EventHookChange::Invoked(_)
                | EventHookChange::Settled { .. },
            )
            | Self::Job(_)
            | Self::Hook(_)
            | Self::SessionOpened { .. }
            | Self::RunCreated(_)
            | Self::RunResumed {}
            | Self::RunPaused { .. }
            | Self::RunEnded { .. }
            | Self::SandboxOpened { .. }
            | Self::SandboxMissing { .. }
            | Self::ConnectionEnded { .. }
            | Self::StepStarted { .. }
            | Self::StepEnded { .. }
            | Self::TurnStarted(_)
            | Self::InputTaken { .. }
            | Self::ModelAsked { .. }
            | Self::ModelReplied { .. }
            | Self::ModelFailed { .. }
            | Self::ModelRetried { .. }
            | Self::ModelReplaced { .. }
            | Self::CallProposed { .. }
            | Self::ApprovalAsked(_)
            | Self::CallStarted { .. }
            | Self::CallFinished { .. }
            | Self::CallWithheld { .. }
            | Self::CallRefused { .. }
            | Self::CallStopped { .. }
            | Self::CheckStarted { .. }
            | Self::CheckFinished { .. }
            | Self::IterationCounted { .. }
            | Self::TurnEnded { .. } => LedgerStream::Turns,
        }
    }
}
