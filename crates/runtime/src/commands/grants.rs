//! Grants: given by the owner for a time, and revoked.
//!
//! Must never: change a grant; it is given or revoked, and both stay in the ledger.

use agentry_protocol::GrantId;
use agentry_protocol::access::{Grant, GrantConditions, PrincipalQuery, Resource};
use agentry_protocol::event::Event;
use agentry_protocol::intake::AccessChange;

use super::{CommandContext, CommandError, record_alone};

/// A grant to give.
pub struct GrantRequest {
    /// The principals that get it; all conditions must match.
    pub receiver: PrincipalQuery,
    /// The resources.
    pub resources: Vec<Resource>,
    /// The channel and session to which it is limited.
    pub conditions: GrantConditions,
    /// The duration in milliseconds; None means until it is revoked.
    pub lasts_ms: Option<u64>,
    /// The reason, for the record.
    pub reason: Option<String>,
    /// The giver, for the record.
    pub by: String,
}

/// A grant to revoke.
pub struct GrantRevocation {
    /// The grant.
    pub grant: GrantId,
    /// The reason, for the record.
    pub reason: Option<String>,
    /// The person or program that revokes it, for the record.
    pub by: String,
}

/// Gives a grant.
///
/// # Errors
/// If it has no receiver, no resource or no duration.
pub fn give(context: CommandContext<'_>, request: GrantRequest) -> Result<Grant, CommandError> {
    let GrantRequest { receiver, resources, conditions, lasts_ms, reason, by } = request;
    if receiver == PrincipalQuery::default() {
        return Err(CommandError::GrantWithoutReceiver);
    }
    if resources.is_empty() {
        return Err(CommandError::GrantWithoutResource);
    }
    if lasts_ms == Some(0) {
        return Err(CommandError::GrantWithoutTime);
    }
    let now = context.ledger.now();
    let grant = Grant {
        id: GrantId::from_number((context.new_number)()),
        principal_query: receiver,
        resources,
        created_at: now,
        expires_at: lasts_ms.map(|lasts| now.saturating_add(lasts)),
        revoked_at: None,
        granted_by: by,
        reason: context.hide(reason),
        request_context: None,
        conditions,
    };
    let change = AccessChange::GrantGiven { grant: Box::new(grant.clone()) };
    record_alone(context.ledger, Event::Access(change))?;
    Ok(grant)
}

/// Revokes a grant, and returns it as it is from now on.
///
/// # Errors
/// If there is no such grant, or if it was revoked before.
pub fn revoke(
    context: CommandContext<'_>,
    request: GrantRevocation,
) -> Result<Grant, CommandError> {
    let GrantRevocation { grant: id, reason, by } = request;
    let find = || {
        let found = context.ledger.grant(&id)?;
        found.ok_or_else(|| CommandError::UnknownGrant(id.clone()))
    };
    if find()?.revoked_at.is_some() {
        return Err(CommandError::GrantRevoked(id));
    }
    let reason = context.hide(reason);
    let change = AccessChange::GrantRevoked { grant: id.clone(), by, reason };
    record_alone(context.ledger, Event::Access(change))?;
    find()
}
