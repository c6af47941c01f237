//! Event hooks: registered with a copy of their script, switched, and deleted.
//!
//! Must never: change a hook other than by a new version, or run one.

use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::event_hook::{self, HookManifest};
use agentry_protocol::EventHookId;
use agentry_protocol::event::Event;
use agentry_protocol::event_hook::{Author, EventHook, EventHookChange, HookProgram};
use agentry_store::{EventHookRow, EventHookStatus, Ledger};

use super::{CommandContext, CommandError, record_alone};
use crate::limits::HOOK_FILE_BYTES_MAX;

/// A hook to register, or a new version of one.
pub struct HookRequest {
    /// The fields of the hook.
    pub manifest: HookManifest,
    /// The place that said these fields; the findings name it.
    pub manifest_from: String,
    /// The path of the script, for people; the stored copy runs.
    pub script_path: String,
    /// The content of the script.
    pub script: Vec<u8>,
    /// The author of the change.
    pub by: Author,
}

/// A new version of a hook.
pub struct HookVersion {
    /// The hook.
    pub hook: EventHook,
    /// True if it stays disabled, as the version before it was.
    pub is_disabled: bool,
}

/// Registers a hook; it is enabled.
///
/// # Errors
/// If its fields or its script are not valid, or if its name is taken.
pub fn register(
    context: CommandContext<'_>,
    request: HookRequest,
) -> Result<EventHook, CommandError> {
    let id = EventHookId::from_number((context.new_number)());
    keep(context.ledger, request, id, 1)
}

/// Registers a new version of a hook. A disabled hook stays disabled.
///
/// # Errors
/// If there is no such hook, if it was deleted, or as for `register`.
pub fn update(
    ledger: &Ledger,
    hook: &EventHookId,
    request: HookRequest,
) -> Result<HookVersion, CommandError> {
    let row = find(ledger, hook)?;
    let by = request.by.clone();
    let hook = keep(ledger, request, row.hook.id, row.hook.version + 1)?;
    let is_disabled = row.status == EventHookStatus::Disabled;
    if is_disabled {
        let reason = row.disabled_reason;
        change(ledger, EventHookChange::Disabled { hook: hook.id.clone(), by, reason })?;
    }
    Ok(HookVersion { hook, is_disabled })
}

/// Enables a hook, and returns it.
///
/// # Errors
/// If there is no such hook, or if it was deleted.
pub fn enable(ledger: &Ledger, hook: &EventHookId, by: Author) -> Result<EventHook, CommandError> {
    let hook = find(ledger, hook)?.hook;
    change(ledger, EventHookChange::Enabled { hook: hook.id.clone(), by })?;
    Ok(hook)
}

/// Disables a hook, and returns it.
///
/// # Errors
/// If there is no such hook, or if it was deleted.
pub fn disable(
    context: CommandContext<'_>,
    hook: &EventHookId,
    by: Author,
    reason: Option<String>,
) -> Result<EventHook, CommandError> {
    let hook = find(context.ledger, hook)?.hook;
    let reason = context.hide(reason);
    change(context.ledger, EventHookChange::Disabled { hook: hook.id.clone(), by, reason })?;
    Ok(hook)
}

/// Deletes a hook, and returns it as it was; its history stays.
///
/// # Errors
/// If there is no such hook, or if it was deleted before.
pub fn delete(ledger: &Ledger, hook: &EventHookId, by: Author) -> Result<EventHook, CommandError> {
    let hook = find(ledger, hook)?.hook;
    change(ledger, EventHookChange::Deleted { hook: hook.id.clone(), by })?;
    Ok(hook)
}

fn find(ledger: &Ledger, id: &EventHookId) -> Result<EventHookRow, CommandError> {
    let row = ledger.event_hook(id)?.ok_or_else(|| CommandError::UnknownHook(id.clone()))?;
    match row.times.deleted {
        None => Ok(row),
        Some(_) => Err(CommandError::HookDeleted(row.hook.name)),
    }
}

fn keep(
    ledger: &Ledger,
    request: HookRequest,
    id: EventHookId,
    version: u32,
) -> Result<EventHook, CommandError> {
    let HookRequest { manifest, manifest_from, script_path, script, by } = request;
    let manifest = checked(&manifest, manifest_from)?;
    if script.is_empty() {
        return Err(CommandError::HookScriptEmpty(script_path));
    }
    if script.len() as u64 > HOOK_FILE_BYTES_MAX {
        return Err(CommandError::HookScriptTooLarge(script_path));
    }
    let hash = ledger.keep_file(&script)?;
    let hook = EventHook {
        id,
        name: manifest.name,
        description: manifest.description,
        mode: manifest.mode,
        triggers: manifest.triggers,
        config: manifest.config,
        program: HookProgram {
            path: script_path,
            hash,
            timeout_ms: manifest.timeout_ms,
            model: manifest.model,
        },
        created_by: by,
        version,
    };
    change(ledger, EventHookChange::Registered { hook: Box::new(hook.clone()) })?;
    Ok(hook)
}

/// Checks the fields as if they stood in the file beside a script.
fn checked(manifest: &HookManifest, from: String) -> Result<HookManifest, CommandError> {
    let mut written = serde_json::to_value(manifest).expect("the fields of a hook are plain JSON");
    if let Some(fields) = written.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    let mut findings = Findings::default();
    event_hook::read(&written.to_string(), &from, &mut findings).ok_or_else(|| {
        let findings = findings.sorted().into_iter().cloned().collect();
        CommandError::WrongHook { file: from, findings }
    })
}

fn change(ledger: &Ledger, change: EventHookChange) -> Result<(), CommandError> {
    record_alone(ledger, Event::EventHook(change)).map(drop)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use agentry_agentfile::limits::EVENT_HOOK_TIMEOUT_MS_DEFAULT;
    use agentry_protocol::event_hook::{HookMode, Triggers};
    use serde_json::Map;

    use super::*;

    #[test]
    fn valid_fields_are_read_again_as_they_are() {
        let manifest = HookManifest {
            name: "urgent".to_owned(),
            description: None,
            mode: HookMode::default(),
            triggers: Triggers::default(),
            config: Map::from_iter(BTreeMap::from([("level".to_owned(), 3.into())])),
            timeout_ms: EVENT_HOOK_TIMEOUT_MS_DEFAULT,
            model: false,
        };
        assert_eq!(checked(&manifest, "here".to_owned()).expect("it is valid"), manifest);
        let wrong = HookManifest { name: "A b".to_owned(), ..manifest };
        let error = checked(&wrong, "here".to_owned()).unwrap_err();
        assert!(error.to_string().starts_with("here does not describe a hook: "), "{error}");
    }
}
