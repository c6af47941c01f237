//! Whether a grant holds now, and for whom and where.
//!
//! Must never: let a grant hold that is over, taken back, or says of nobody.

use agentry_protocol::access::Grant;

use super::AccessQuery;

/// Whether a grant was given, is not over and was not taken back; `now` is in milliseconds since 1970.
pub fn is_active(grant: &Grant, now: u64) -> bool {
    grant.revoked_at.is_none() && grant.expires_at.is_none_or(|end| now < end)
}

/// Whether a grant is for who speaks, on this channel and in this session.
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
