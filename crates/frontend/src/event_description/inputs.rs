//! The words about people and programs outside of a turn: approvals, inbounds, changes of access.
//!
//! Must never: show the secret of a key.

use agentry_protocol::ApprovalId;
use agentry_protocol::approval::{Approval, ApprovalAnswer, ApprovalScope};
use agentry_protocol::intake::{AccessChange, IntakeStage};

/// Describes the question for an approval.
pub(super) fn question(approval: &Approval) -> String {
    format!("{} requested for {}", approval.id, approval.call.tool)
}

/// Describes the answer to an approval.
pub(super) fn answer(approval: &ApprovalId, answer: &ApprovalAnswer) -> String {
    let word = match (answer.expired, answer.allow, answer.reach) {
        (true, _, _) => "expired".to_owned(),
        (false, true, ApprovalScope::Once) => "yes".to_owned(),
        (false, true, reach) => format!("yes, {}", reach.as_str()),
        (false, false, _) => "no".to_owned(),
    };
    let edit = answer.edit.as_ref().map_or_else(String::new, |to| format!(", changed to {to}"));
    let reason = answer.reason.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    let by = answer.by.as_ref().map_or_else(String::new, |by| format!(" (by {by})"));
    format!("{approval} answered{by}: {word}{edit}{reason}")
}

/// Describes a stage of an inbound.
pub(super) fn intake(stage: &IntakeStage) -> String {
    match stage {
        IntakeStage::Received { inbound } => {
            let sender = &inbound.sender.sender_id;
            format!("{} from {sender}: {}", inbound.event_id, inbound.body.content)
        }
        IntakeStage::Decided { record } => {
            let who = record.principal.name.as_deref().unwrap_or(&record.sender_identifier);
            let (kind, channel) = (&record.principal.kind, &record.channel);
            format!("{kind} {who} on {channel}: {}", record.decision.effect)
        }
        IntakeStage::Routed(routed) => {
            format!("{} goes to {} ({})", routed.event, routed.agent, routed.settings.mode)
        }
        IntakeStage::Unrun { event, why, detail } => {
            let detail = detail.as_ref().map_or_else(String::new, |detail| format!(": {detail}"));
            format!("{event} is ignored: {why}{detail}")
        }
        IntakeStage::ChunkSent { event, chunk, .. } => {
            format!("chunk {} for {event} sent", chunk + 1)
        }
        IntakeStage::Delivered(delivered) => match &delivered.error {
            None => format!("answer to {} sent in {} chunks", delivered.event, delivered.chunks),
            Some(error) => format!("answer to {} not sent: {error}", delivered.event),
        },
        IntakeStage::QueueSet { wish } => {
            format!("queue mode set: {}", serde_json::to_string(wish).unwrap_or_default())
        }
    }
}

/// Describes a change of access.
pub(super) fn access(change: &AccessChange) -> String {
    match change {
        AccessChange::GrantGiven { grant } => format!("{} given by {}", grant.id, grant.granted_by),
        AccessChange::GrantRevoked { grant, by, .. } => format!("{grant} revoked by {by}"),
        AccessChange::GrantExpired { grant } => format!("{grant} expired"),
        AccessChange::EntityChanged { entity } => {
            format!("entity {} saved as {}", entity.id, entity.name)
        }
        AccessChange::EntityRemoved { entity } => format!("entity {entity} removed"),
        AccessChange::TokenIssued { token } => {
            format!("{} `{}` created, a {}", token.id, token.name, token.kind.as_str())
        }
        AccessChange::TokenRevoked { token, by, .. } => format!("{token} revoked by {by}"),
        AccessChange::AuditTrimmed(_) => "old audit records are no longer listed".to_owned(),
    }
}
