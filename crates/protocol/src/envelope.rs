//! An event with its ledger metadata: number, time, cause and version.
//!
//! The event itself does not hold the metadata, so that events are equal in tests and versions
//! stay out of names.
//!
//! Must never: be changed after it was written.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::event_hook::EventHookChange;
use crate::id::{RunId, SessionId, TurnId};
use crate::intake::IntakeStage;

/// The version of the events that this program writes.
pub const EVENT_VERSION: u32 = 1;

/// An entry of the ledger.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// The sequence number, from one, without gaps except for accepted losses.
    pub seq: u64,
    /// The time of writing, in milliseconds since 1970.
    pub time: u64,
    /// The sequence number of the entry that caused this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// The version of the event's format.
    pub version: u32,
    /// The stream of the entry.
    pub stream: LedgerStream,
    /// The session, run and turn of the entry.
    #[serde(flatten)]
    pub about: EntrySubject,
    /// The event.
    pub event: Event,
}

/// The session, run and turn of an entry, as far as it has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntrySubject {
    /// The session of the entry.
    #[serde(rename = "sessionId", default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The run of the entry.
    #[serde(rename = "runId", default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The turn of the entry.
    #[serde(rename = "turnId", default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
}

/// An entry before the ledger gives it a number and a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The sequence number of the entry that caused this one.
    pub cause: Option<u64>,
    /// The session, run and turn of the entry.
    pub about: EntrySubject,
    /// The event.
    pub event: Event,
}

/// The two streams of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LedgerStream {
    /// Input from people, programs and channels.
    World,
    /// Acts of agents and of the runtime.
    Turns,
}

impl Event {
    /// Returns the stream of the event.
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
