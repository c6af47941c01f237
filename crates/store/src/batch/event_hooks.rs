//! Checks changes of event hooks against their state.
//!
//! Must never: let an event match its hooks twice, or be settled before they have finished.

use agentry_protocol::event_hook::{EventHook, EventHookChange, Invocation};
use agentry_protocol::inbound::EventId;
use rusqlite::Connection;

use super::AppendError;
use crate::error::Error;
use crate::status::InvocationStatus;
use crate::view;

pub(super) fn may_be_refused(change: &EventHookChange) -> bool {
    match change {
        EventHookChange::Registered { .. }
        | EventHookChange::Matched { .. }
        | EventHookChange::Begun { .. }
        | EventHookChange::Invoked(_)
        | EventHookChange::Settled { .. } => true,
        EventHookChange::Enabled { .. }
        | EventHookChange::Disabled { .. }
        | EventHookChange::Deleted { .. } => false,
    }
}

pub(super) fn check(sql: &Connection, change: &EventHookChange) -> Result<(), AppendError> {
    match change {
        EventHookChange::Registered { hook } => may_be_registered(sql, hook),
        EventHookChange::Matched { event, .. } => match view::are_hooks_settled(sql, event)? {
            None => Ok(()),
            known => Err(matched(event, known)),
        },
        EventHookChange::Begun { invocation } => match view::invocation_status(sql, invocation)? {
            Some(InvocationStatus::Matched) => Ok(()),
            status => {
                let invocation = invocation.clone();
                Err(AppendError::Refused(Error::InvocationMoved { invocation, status }))
            }
        },
        EventHookChange::Invoked(invocation) => may_be_over(sql, invocation),
        EventHookChange::Settled { event } => may_be_settled(sql, event),
        // Such a change to a deleted hook has no effect, and its author needs no error.
        EventHookChange::Enabled { .. }
        | EventHookChange::Disabled { .. }
        | EventHookChange::Deleted { .. } => Ok(()),
    }
}

fn may_be_registered(sql: &Connection, hook: &EventHook) -> Result<(), AppendError> {
    let (id, version) = (&hook.id, hook.version);
    let expected = match view::newest_version(sql, id)? {
        None => 1,
        Some((_, true)) => {
            return Err(AppendError::Refused(Error::HookDeleted { hook: id.clone() }));
        }
        Some((newest, false)) => newest.saturating_add(1),
    };
    if version != expected {
        let hook = id.clone();
        return Err(AppendError::Refused(Error::HookVersion { hook, version, expected }));
    }
    match view::other_hook_named(sql, &hook.name, id)? {
        None => Ok(()),
        Some(other) => {
            let name = hook.name.clone();
            Err(AppendError::Refused(Error::HookNameTaken { name, hook: other }))
        }
    }
}

fn may_be_over(sql: &Connection, invocation: &Invocation) -> Result<(), AppendError> {
    match view::status_of_its_own(sql, invocation)? {
        Some(InvocationStatus::Matched | InvocationStatus::Begun) => Ok(()),
        status => {
            let invocation = invocation.id.clone();
            Err(AppendError::Refused(Error::InvocationMoved { invocation, status }))
        }
    }
}

fn may_be_settled(sql: &Connection, event: &EventId) -> Result<(), AppendError> {
    match view::are_hooks_settled(sql, event)? {
        Some(false) => {}
        known => return Err(matched(event, known)),
    }
    match view::pending_invocation(sql, event)? {
        None => Ok(()),
        Some(invocation) => {
            let event = event.clone();
            Err(AppendError::Refused(Error::HooksPending { event, invocation }))
        }
    }
}

fn matched(event: &EventId, is_settled: Option<bool>) -> AppendError {
    AppendError::Refused(Error::HooksMatched { event: event.clone(), is_settled })
}
