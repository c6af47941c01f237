//! The entries of an inbound event: received from a channel, decided by access, routed to a session.
//!
//! Intake makes them one after the other, and a process that waits for its own prompt all at once.
//!
//! Must never: choose an agent or a session; both are given.

use agentry_kernel::route;
use agentry_protocol::AgentId;
use agentry_protocol::access::AccessRecord;
use agentry_protocol::event::Event;
use agentry_protocol::inbound::{EventId, Inbound};
use agentry_protocol::intake::{IntakeStage, QueueSettings, RoutedInbound, SenderKind};

/// The event of an admitted sender, with the decision that admitted it.
#[derive(Clone, Copy)]
pub(crate) struct AdmittedEvent<'a> {
    /// The id of the event that is routed.
    pub(crate) id: &'a EventId,
    /// The message of the sender; for the work of hooks, the event that triggered them.
    pub(crate) origin: &'a Inbound,
    /// The decision of access about it.
    pub(crate) record: &'a AccessRecord,
}

/// The destination of an admitted event, and the way in which it waits there.
pub(crate) struct RouteChoice {
    pub(crate) agent: AgentId,
    pub(crate) persona: Option<String>,
    pub(crate) source: SenderKind,
    /// The text without its directive; None if it has none.
    pub(crate) text: Option<String>,
    pub(crate) settings: QueueSettings,
    /// The time before which the answer is held back.
    pub(crate) answer_after: Option<u64>,
    /// True if the process that routes it also answers it.
    pub(crate) here: bool,
}

/// Returns the entry of an event that a channel received.
pub(crate) fn received(inbound: Inbound) -> Event {
    Event::Intake(IntakeStage::Received { inbound: Box::new(inbound) })
}

/// Returns the entry of a decision of access.
pub(crate) fn decided(record: AccessRecord) -> Event {
    Event::Intake(IntakeStage::Decided { record: Box::new(record) })
}

/// Returns the entry that routes an event, under the authority of its sender.
pub(crate) fn routed(event: AdmittedEvent<'_>, choice: RouteChoice) -> Event {
    let AdmittedEvent { id, origin, record } = event;
    let RouteChoice { agent, persona, source, text, settings, answer_after, here } = choice;
    Event::Intake(IntakeStage::Routed(Box::new(RoutedInbound {
        event: id.clone(),
        access: record.id.clone(),
        agent,
        persona,
        source,
        authority: route::authority(origin, &record.principal, &record.decision),
        text,
        settings,
        answer_after,
        here,
    })))
}
