//! The tools with which an agent makes, lists and ends event hooks.
//!
//! Their calls are judged and approved like any other. A hook of an agent carries the agent's name,
//! runs with only its input, and starts only that agent; and an agent ends only its own hooks.
//!
//! Must never: let an agent change a hook that is not its own.

use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::event_hook::{
    Author, EventHook, EventHookChange, HookMode, HookProgram, Triggers,
};
use agentry_protocol::tool::{ToolName, find_known_tool};
use agentry_protocol::tool_call::{RepeatSafety, ToolCall, ToolOutcome, ToolSpec};
use agentry_protocol::{AgentId, EventHookId};
use agentry_store::{Error as StoreError, EventHookRow, InvocationFilter};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::host::Host;
use crate::host::tool_source::{CallContext, ToolScope, ToolSource};
use crate::limits::{
    HOOK_LISTED_MAX, HOOK_MODEL_TIMEOUT_MS, HOOK_NAME_CHARS_MAX, HOOK_SCRIPT_BYTES_MAX,
    HOOK_TIMEOUT_MS,
};

const NAMES: [&str; 5] = ["create_hook", "list_hooks", "get_hook", "disable_hook", "delete_hook"];

/// The source of the hook tools.
pub(super) struct HookTools;

impl ToolSource for HookTools {
    fn names(&self) -> Vec<ToolName> {
        NAMES.map(ToolName::canonical).to_vec()
    }

    fn specs(&self, _scope: &ToolScope<'_>) -> Result<Vec<ToolSpec>, Error> {
        Ok(specs().collect())
    }

    fn call(&self, call: &ToolCall, context: &CallContext<'_>) -> Result<ToolOutcome, Error> {
        match context.scope {
            Some(scope) => run(context, &scope.agent.id, call),
            None => Ok(ToolOutcome::failed("Nothing was done: only an agent can have hooks.")),
        }
    }
}

/// Returns the specifications of the hook tools.
fn specs() -> impl Iterator<Item = ToolSpec> {
    NAMES.into_iter().map(|name| {
        let known = find_known_tool(name).expect("the dictionary has it");
        let repeat = match name {
            "list_hooks" | "get_hook" => RepeatSafety::Harmless,
            _ => RepeatSafety::Uncertain,
        };
        ToolSpec {
            name: ToolName::canonical(name),
            description: known.summary.to_owned(),
            parameters: parameters(name),
            category: known.category,
            risk: known.risk,
            repeat,
        }
    })
}

fn parameters(name: &str) -> Value {
    let hook = json!({ "type": "string", "description": "the hook's name or id" });
    let (properties, required): (Value, &[&str]) = match name {
        "create_hook" => (
            json!({
                "name": { "type": "string", "pattern": "^[a-z0-9_-]+$" },
                "description": { "type": "string" },
                "mode": { "enum": ["persistent", "one-shot"] },
                "triggers": {
                    "type": "object",
                    "description": "principal {type, name, relationship, entity_id, source}, event {channels, types, direction, metadata}; all that is given must hold",
                },
                "config": { "type": "object" },
                "script": {
                    "type": "string",
                    "description": "a program that begins with #! ; reads the JSON file named by AGENTRY_HOOK_INPUT and writes {\"fire\": bool, \"context\": {\"prompt\": …}} to AGENTRY_HOOK_OUTPUT",
                },
                "model": { "type": "boolean", "description": "whether it may ask the model" },
            }),
            &["name", "script"],
        ),
        "disable_hook" => (json!({ "hook": hook, "reason": { "type": "string" } }), &["hook"]),
        "list_hooks" => (json!({}), &[]),
        _ => (json!({ "hook": hook }), &["hook"]),
    };
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateHookArgs {
    name: String,
    description: Option<String>,
    #[serde(default)]
    mode: HookMode,
    #[serde(default)]
    triggers: Triggers,
    #[serde(default)]
    config: Map<String, Value>,
    script: String,
    #[serde(default)]
    model: bool,
}

#[derive(Deserialize)]
struct HookIdArgs {
    hook: String,
    reason: Option<String>,
}

fn run(context: &CallContext<'_>, agent: &AgentId, call: &ToolCall) -> Result<ToolOutcome, Error> {
    let CallContext { host, about, .. } = *context;
    let author = Author {
        person: None,
        agent: Some(agent.clone()),
        session: about.session.clone(),
        turn: about.turn.clone(),
    };
    let hooks = HookAuthoring { host, about, author };
    let done = match call.tool.as_str() {
        "create_hook" => read(&call.input).and_then(|wanted| hooks.create(wanted)),
        "list_hooks" => hooks.list(),
        "get_hook" => read(&call.input).and_then(|which| hooks.show(&which)),
        "disable_hook" => {
            read(&call.input).and_then(|which| hooks.end(which, HookDeactivation::Disable))
        }
        _ => read(&call.input).and_then(|which| hooks.end(which, HookDeactivation::Delete)),
    };
    match done {
        Ok(text) => Ok(ToolOutcome::done(text)),
        Err(HookToolError::Rejected(why)) => Ok(ToolOutcome::failed(why)),
        Err(HookToolError::Failed(error)) => Err(error),
    }
}

/// The reason why a call failed.
enum HookToolError {
    /// An error that the model receives as the outcome.
    Rejected(String),
    /// An error of the ledger, which ends the run.
    Failed(Error),
}

impl From<StoreError> for HookToolError {
    fn from(error: StoreError) -> Self {
        let is_told = matches!(
            error,
            StoreError::HookNameTaken { .. }
                | StoreError::HookVersion { .. }
                | StoreError::HookDeleted { .. }
        );
        if is_told {
            Self::Rejected(format!("Nothing was done: {error}."))
        } else {
            Self::Failed(error.into())
        }
    }
}

enum HookDeactivation {
    Disable,
    Delete,
}

fn read<T: DeserializeOwned>(input: &Value) -> Result<T, HookToolError> {
    serde_json::from_value(input.clone())
        .map_err(|error| HookToolError::Rejected(format!("The arguments do not fit: {error}.")))
}

struct HookAuthoring<'a> {
    host: &'a Host,
    about: &'a EntrySubject,
    author: Author,
}

impl HookAuthoring<'_> {
    fn create(&self, wanted: CreateHookArgs) -> Result<String, HookToolError> {
        let told =
            |why: String| Err(HookToolError::Rejected(format!("The hook was not made: {why}.")));
        if wanted.name.chars().count() > HOOK_NAME_CHARS_MAX {
            return told(format!("its name has more than {HOOK_NAME_CHARS_MAX} characters"));
        }
        if !wanted.script.starts_with("#!") {
            return told("its script must begin with #! and what runs it".to_owned());
        }
        if wanted.script.len() > HOOK_SCRIPT_BYTES_MAX {
            return told(format!("its script has more than {HOOK_SCRIPT_BYTES_MAX} bytes"));
        }
        let hash = self.host.ledger.keep_file(wanted.script.as_bytes())?;
        let timeout_ms = if wanted.model { HOOK_MODEL_TIMEOUT_MS } else { HOOK_TIMEOUT_MS };
        let agent = self.author.agent.as_ref().map_or("", |agent| agent.as_str());
        let hook = EventHook {
            id: EventHookId::from_number((self.host.new_number)()),
            name: wanted.name,
            description: wanted.description,
            mode: wanted.mode,
            triggers: wanted.triggers,
            config: wanted.config,
            program: HookProgram {
                path: format!("made by the agent {agent}"),
                hash,
                timeout_ms,
                model: wanted.model,
            },
            created_by: self.author.clone(),
            version: 1,
        };
        let text = format!("The hook `{}` ({}) is on.", hook.name, hook.id);
        self.append(EventHookChange::Registered { hook: Box::new(hook) })?;
        Ok(text)
    }

    fn list(&self) -> Result<String, HookToolError> {
        let rows = self.host.ledger.event_hooks(false)?;
        let lines: Vec<String> = rows.iter().take(HOOK_LISTED_MAX).map(line).collect();
        if lines.is_empty() { Ok("There are no hooks.".to_owned()) } else { Ok(lines.join("\n")) }
    }

    fn show(&self, which: &HookIdArgs) -> Result<String, HookToolError> {
        let row = self.found(&which.hook)?;
        let filter = InvocationFilter {
            hook: Some(row.hook.id.clone()),
            last: Some(HOOK_LISTED_MAX),
            ..InvocationFilter::default()
        };
        let lately = self.host.ledger.invocations(&filter)?;
        let lately: Vec<Value> = lately
            .iter()
            .filter_map(|one| one.invocation.as_ref())
            .map(|one| json!({ "event": one.event_id, "fired": one.fired, "error": one.error }))
            .collect();
        let told = json!({
            "hook": row.hook,
            "status": row.status.as_str(),
            "last_error": row.last_error,
            "invocations": lately,
        });
        Ok(told.to_string())
    }

    fn end(&self, which: HookIdArgs, end: HookDeactivation) -> Result<String, HookToolError> {
        let row = self.found(&which.hook)?;
        if row.hook.created_by.agent != self.author.agent {
            return Err(HookToolError::Rejected(format!(
                "The hook `{}` was made by {}, and only the owner may end it.",
                row.hook.name, row.hook.created_by
            )));
        }
        let (hook, by, reason) = (row.hook.id.clone(), self.author.clone(), which.reason);
        let (change, word) = match end {
            HookDeactivation::Disable => {
                (EventHookChange::Disabled { hook, by, reason }, "disabled")
            }
            HookDeactivation::Delete => (EventHookChange::Deleted { hook, by }, "deleted"),
        };
        self.append(change)?;
        Ok(format!("The hook `{}` is {word}.", row.hook.name))
    }

    fn found(&self, name: &str) -> Result<EventHookRow, HookToolError> {
        let ledger = &self.host.ledger;
        let named = ledger.event_hook_named(name)?;
        let row = match named {
            Some(row) => Some(row),
            None => ledger.event_hook(&EventHookId::new(name))?,
        };
        row.ok_or_else(|| {
            HookToolError::Rejected(format!("There is no hook `{name}`; list_hooks names them."))
        })
    }

    fn append(&self, change: EventHookChange) -> Result<(), HookToolError> {
        let event = Event::EventHook(change);
        let draft = Draft { cause: None, about: self.about.clone(), event };
        self.host.ledger.append(vec![draft])?;
        Ok(())
    }
}

fn line(row: &EventHookRow) -> String {
    let description = row.hook.description.as_deref().unwrap_or("");
    format!(
        "{} ({}), {}, made by {}: {description}",
        row.hook.name,
        row.hook.id,
        row.status.as_str(),
        row.hook.created_by
    )
}
