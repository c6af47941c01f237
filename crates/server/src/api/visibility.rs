//! Reads resources that a caller may see; the kernel decides who sees what.
//!
//! An invisible resource is reported as not found, exactly like one that does not exist.
//!
//! Must never: reveal that another caller's resource exists.

use agentry_kernel::visibility::{self, SessionVoices, Viewer};
use agentry_protocol::inbound::EventId;
use agentry_protocol::{RunId, SessionId};
use agentry_store::{InboundRow, RunRow, SessionRow};

use crate::api_error::ApiError;
use crate::auth::Caller;
use crate::state::ServerState;

/// Returns a session that the caller may see, or "not found".
pub(crate) fn visible_session(
    site: &ServerState,
    caller: &Caller,
    id: &str,
) -> Result<SessionRow, ApiError> {
    let row = site.parts.ledger.session(&SessionId::new(id))?;
    let row = row.filter(|row| can_see_session(site, caller, &row.id));
    row.ok_or_else(|| ApiError::not_found("session", id))
}

/// Returns a run that the caller may see, or "not found".
pub(crate) fn visible_run(
    site: &ServerState,
    caller: &Caller,
    id: &str,
) -> Result<RunRow, ApiError> {
    let row = site.parts.ledger.run(&RunId::new(id))?;
    let seen = |row: &RunRow| {
        caller.is_owner()
            || row.session.as_ref().is_some_and(|id| can_see_session(site, caller, id))
    };
    row.filter(seen).ok_or_else(|| ApiError::not_found("run", id))
}

/// Returns a message that the caller may see, or "not found".
pub(crate) fn visible_message(
    site: &ServerState,
    caller: &Caller,
    id: &str,
) -> Result<InboundRow, ApiError> {
    let none = || ApiError::not_found("message", id);
    let event = EventId::try_from(id.to_owned()).map_err(|_| none())?;
    let ledger = &site.parts.ledger;
    let row = ledger.inbound(&event)?.ok_or_else(none)?;
    if caller.is_owner() {
        return Ok(row);
    }
    let received = ledger.inbound_received(&row)?;
    let is_seen = visibility::can_see_message(viewer(caller), &received);
    Some(row).filter(|_| is_seen).ok_or_else(none)
}

fn viewer(caller: &Caller) -> Viewer<'_> {
    match caller.entity() {
        _ if caller.is_owner() => Viewer::Owner,
        Some(entity) => Viewer::Entity(entity),
        None => Viewer::Unknown,
    }
}

/// Returns true if the caller is the owner or the only speaker of the session.
pub(crate) fn can_see_session(site: &ServerState, caller: &Caller, session: &SessionId) -> bool {
    if caller.is_owner() {
        return true;
    }
    let Some(entity) = caller.entity() else { return false };
    // Without the numbers the caller sees nothing.
    let Ok(voices) = site.parts.ledger.speaker_counts(session, entity) else { return false };
    let voices = SessionVoices { own: voices.own, others: voices.others };
    visibility::can_see_session(viewer(caller), voices)
}
