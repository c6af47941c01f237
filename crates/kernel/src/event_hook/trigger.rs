//! Matches an event against the triggers of a hook.
//!
//! Must never: treat an absent trigger as one that does not match.

use agentry_protocol::event_hook::{EventTrigger, PrincipalTrigger, Triggers};
use agentry_protocol::inbound::Inbound;
use agentry_protocol::principal::Principal;

/// The kind of an event that declares none.
pub(super) const MESSAGE: &str = "message";

/// An event, as triggers see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TriggerInput<'a> {
    pub(super) inbound: &'a Inbound,
    pub(super) principal: &'a Principal,
    pub(super) kind: &'a str,
}

impl<'a> TriggerInput<'a> {
    pub(super) fn of(inbound: &'a Inbound, principal: &'a Principal) -> Self {
        Self { inbound, principal, kind: inbound.event_type.as_deref().unwrap_or(MESSAGE) }
    }
}

/// Returns true if all given triggers match.
pub(super) fn holds(triggers: &Triggers, seen: &TriggerInput<'_>) -> bool {
    triggers.event.as_ref().is_none_or(|event| event_fits(event, seen))
        && triggers.principal.as_ref().is_none_or(|who| principal_fits(who, seen.principal))
}

fn event_fits(event: &EventTrigger, seen: &TriggerInput<'_>) -> bool {
    let among = |list: &[String], word: &str| list.is_empty() || list.iter().any(|one| one == word);
    let inbound = seen.inbound;
    among(&event.channels, &inbound.place.channel)
        && among(&event.types, seen.kind)
        && event.direction.is_none_or(|direction| direction == inbound.direction)
        && event.metadata.iter().all(|(name, value)| inbound.metadata.get(name) == Some(value))
}

fn principal_fits(who: &PrincipalTrigger, principal: &Principal) -> bool {
    let is = |said: &Option<String>, is: &Option<String>| said.is_none() || said == is;
    who.kind.as_ref().is_none_or(|kinds| kinds.contains(&principal.kind))
        && is(&who.name, &principal.name)
        && is(&who.relationship, &principal.relationship)
        && is(&who.entity_id, &principal.entity_id)
        && is(&who.source, &principal.source)
}
