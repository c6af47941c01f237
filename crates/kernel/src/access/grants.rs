//! Decides whether a grant is active, and to which principal and session it applies.
//!
//! Must never: treat a grant as active that has expired, is revoked or names no principal.

use agentry_protocol::access::Grant;

use super::AccessQuery;

/// Returns true if a grant is neither expired nor revoked; `now` is in milliseconds since 1970.
pub fn is_active(grant: &Grant, now: u64) -> bool {
    grant.revoked_at.is_none() && grant.expires_at.is_none_or(|end| now < end)
}

/// Returns true if a grant applies to the principal, on this channel and in this session.
pub fn applies(grant: &Grant, asked: &AccessQuery<'_>, session_key: Option<&str>) -> bool {
    let query = &grant.principal_query;
    let principal = asked.principal;
    let says_nothing =
        query.person_id.is_none() && query.relationship.is_none() && query.tags.is_empty();
    let same = |said: &Option<String>, is: &Option<String>| said.is_none() || said == is;
    let place = &grant.conditions;
    !says_nothing
        && same(&query.person_id, &principal.entity_id)
        && same(&query.relationship, &principal.relationship)
        && query.tags.iter().all(|tag| principal.tags.contains(tag))
        && place.channel.as_deref().is_none_or(|channel| channel == asked.channel)
        && (place.session.is_none() || place.session.as_deref() == session_key)
}
