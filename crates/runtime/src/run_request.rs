//! The request for a run, its settings, and the prompt of this process that access admitted.
//!
//! Must never: start anything.

use std::collections::BTreeMap;

use agentry_kernel::mailbox::settings::{DeliveryLevels, settings};
use agentry_protocol::access::{AccessRecord, Bounds};
use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::{Event, Mode, RunLimits};
use agentry_protocol::hook::TurnShape;
use agentry_protocol::inbound::{EventId, Inbound};
use agentry_protocol::intake::SenderKind;
use agentry_protocol::message::Image;
use agentry_protocol::{AgentId, SessionKey, TaskId};

use crate::intake_entries::{self, AdmittedEvent, RouteChoice};

/// The request for a run, before it is accepted.
pub struct RunRequest {
    /// The agent that performs it.
    pub agent: AgentId,
    /// The task; None for a plain prompt.
    pub task: Option<TaskId>,
    /// The prompt as typed.
    pub prompt: String,
    /// Images that belong to the prompt.
    pub images: Vec<Image>,
    /// The task's inputs, as given.
    pub inputs: BTreeMap<String, String>,
    /// Model, mode and limits of the run.
    pub terms: RunSettings,
    /// The session to continue; None opens a new one.
    pub session: Option<SessionKey>,
    /// The directory of the definitions.
    pub project: String,
    /// The inbound events that the run answers, all of one sender.
    pub inbounds: Vec<EventId>,
    /// A prompt that this process itself received and admitted; None for channel events.
    pub said: Option<AdmittedPrompt>,
}

/// The settings of a run beside the definitions.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// The model, as provider and name.
    pub model: String,
    /// The models that are asked in order if the first one fails.
    pub fallbacks: Vec<String>,
    /// The mode of the run.
    pub mode: Mode,
    /// The limits on steps, calls and time.
    pub limits: RunLimits,
    /// The command that checks the work; None for no such check.
    pub check: Option<String>,
    /// The persona of the agent; None means the agent's default.
    pub persona: Option<String>,
    /// The bounds that access set for the sender; None for the user at this machine.
    pub bounds: Option<Bounds>,
    /// The changes that pre-turn hooks made to the turn.
    pub shaping: TurnShape,
}

/// A prompt of this process that access admitted.
pub struct AdmittedPrompt {
    pub(crate) inbound: Box<Inbound>,
    pub(crate) record: Box<AccessRecord>,
}

impl AdmittedPrompt {
    /// Returns the entries for the received event and the access decision.
    pub(crate) fn intake_events(&self) -> [Event; 2] {
        let (inbound, record) = (*self.inbound.clone(), *self.record.clone());
        [intake_entries::received(inbound), intake_entries::decided(record)]
    }

    /// Returns the entry that routes it to a session of an agent.
    pub(crate) fn routed_event(&self, agent: &AgentId, persona: Option<&str>) -> Event {
        let Self { inbound, record } = self;
        let source = SenderKind::Person;
        let event = AdmittedEvent { id: &inbound.event_id, origin: inbound, record };
        intake_entries::routed(
            event,
            RouteChoice {
                agent: agent.clone(),
                persona: persona.map(str::to_owned),
                source,
                text: None,
                settings: settings(source, &DeliveryLevels::default()),
                answer_after: None,
                here: true,
            },
        )
    }
}

/// Returns a draft that belongs to no session.
pub(crate) fn sessionless_draft(event: Event) -> Draft {
    Draft { cause: None, about: EntrySubject::default(), event }
}
