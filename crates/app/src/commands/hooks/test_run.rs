//! `agentry hooks test`: runs an event hook on an event from a file, and reports the result.
//!
//! Must never: cause effects, or count as an invocation of the hook.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agentry_agentfile::agent::Agent;
use agentry_kernel::event_hook::{self, ActiveHook, EventHooks, HookResponse, TriggeringEvent};
use agentry_protocol::access::{AccessRecord, Effect};
use agentry_protocol::inbound::Inbound;
use agentry_runtime::commands::CommandError;
use agentry_runtime::inbound::event_hooks::{HookTrial, HookTrigger, decide_locally, try_hook};
use agentry_runtime::inbound::trace;
use agentry_store::{EventHookRow, Ledger};
use clap::Args;
use serde_json::{Map, Value, json};

use super::find;
use crate::bootstrap::{self, ProjectRuntime};
use crate::cli_context::CliContext;
use crate::command_faults::command_fault;
use crate::commands::OutputFormat;
use crate::diagnostics::visible;
use crate::fault::{Blame, Fault};
use crate::model_choice;
use crate::model_choice::absolute_model;
use crate::timezone;

#[derive(Args)]
pub(crate) struct Options {
    /// The hook, by its name, its id or a part of the id
    hook: String,
    /// An event as JSON: {"content": "…", "channel": "…"}
    #[arg(long, value_name = "FILE")]
    event: PathBuf,
    /// The project whose policies and agents apply
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// The model that the hook may call
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// Output format of the report
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(super) fn run(host: &CliContext, ledger: Ledger, options: &Options) -> Result<ExitCode, Fault> {
    let model = options.model.as_deref().map(absolute_model).transpose()?;
    let row = find(&ledger, &options.hook)?;
    if row.times.deleted.is_some() {
        return Err(command_fault(CommandError::HookDeleted(row.hook.name)));
    }
    let inbound = event(&options.event, ledger.now())?;
    let engine = bootstrap::engine(host, ledger, &options.dir, None)?;
    let policies = engine.loaded.policies()?;
    let local_time =
        timezone::of(&engine.loaded.library.settings)?.local(engine.parts.ledger.now());
    let record =
        decide_locally(&engine.parts, &policies, &inbound, local_time).map_err(bootstrap::fault)?;
    let mut told = json!({
        "hook": row.hook.name,
        "event": inbound.event_id,
        "access": trace::decided(&record),
    });
    let is_set_off = is_set_off(&row, &inbound, &record);
    told["let_in"] = json!(record.decision.effect == Effect::Allow);
    told["set_off"] = json!(is_set_off);
    if record.decision.effect == Effect::Allow && is_set_off {
        let model = asked_model(&engine, model.as_deref());
        let event = HookTrigger { inbound: &inbound, record: &record };
        let trial = try_hook(&engine.parts, &row, event, model);
        tell(&mut told, &row, event, trial.map_err(bootstrap::fault)?);
    }
    print(&told, options.format)?;
    Ok(if told.get("error").is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Reads an event from a file; missing fields get values of a local test event.
fn event(path: &Path, now: u64) -> Result<Inbound, Fault> {
    let wrong = |why: String| {
        Fault::new(Blame::Caller, format!("{} is not an event: {why}", path.display()))
            .hint("write a JSON object such as {\"channel\": \"send\", \"content\": \"Hello\"}")
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let said: Map<String, Value> =
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let channel = said.get("channel").and_then(Value::as_str).unwrap_or("send").to_owned();
    let whole = json!({
        "event_id": format!("{channel}:test-{now}"),
        "timestamp": now,
        "channel": channel,
        "sender_id": "local",
    });
    let Value::Object(mut whole) = whole else { unreachable!("it is written as an object") };
    whole.extend(said);
    let inbound: Inbound =
        serde_json::from_value(Value::Object(whole)).map_err(|error| wrong(error.to_string()))?;
    inbound.check().map_err(|error| wrong(error.to_string()))?;
    Ok(inbound)
}

fn is_set_off(row: &EventHookRow, inbound: &Inbound, record: &AccessRecord) -> bool {
    // A paused hook is tested too, as if its breaker were closed.
    let active = ActiveHook { hook: row.hook.clone(), circuit: Default::default() };
    let hooks = EventHooks::of(vec![active]);
    !hooks.triggered_by(inbound, &record.principal, record.timestamp).is_empty()
}

/// Returns the model for the hook: `asked`, else that of the project's first agent.
fn asked_model(engine: &ProjectRuntime, asked: Option<&str>) -> Result<String, String> {
    let agent: Option<&Agent> = engine.loaded.library.agents.values().next();
    let agent = agent.ok_or("there is no agent whose model could be used")?;
    model_choice::model(engine, agent, asked)
        .map(|choice| choice.model)
        .map_err(|none| none.to_string())
}

fn tell(told: &mut Value, row: &EventHookRow, event: HookTrigger<'_>, trial: HookTrial) {
    let HookTrigger { inbound, record } = event;
    told["latency_ms"] = json!(trial.finished_at.saturating_sub(trial.started_at));
    told["notes"] = json!(trial.notes);
    told["spent"] = json!(trial.spent);
    let result = match trial.answer {
        Ok(result) => result,
        Err(why) => {
            told["error"] = json!(why);
            return;
        }
    };
    let occasion = TriggeringEvent { inbound, principal: &record.principal, own: None };
    let plan = event_hook::plan(&occasion, &[HookResponse { hook: &row.hook, result: &result }]);
    told["result"] = json!(result);
    let dispatches = plan.dispatches.iter();
    let dispatches: Vec<Value> =
        dispatches.map(|one| json!({ "agent": one.agent, "prompt": one.text })).collect();
    told["would_start"] = json!(dispatches);
    if !plan.dispatches.is_empty() && record.decision.session.is_none() {
        told["error"] = json!("it fires, but no policy that allows the event names its session");
    }
    told["would_disable"] = json!(plan.disable.first().map(|one| &one.reason));
}

fn print(told: &Value, format: OutputFormat) -> Result<(), Fault> {
    let mut out = crate::output::stdout().lock();
    if format == OutputFormat::Json {
        writeln!(out, "{}", serde_json::to_string_pretty(told)?)?;
        return Ok(());
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    writeln!(out, "access: {}", visible(&text(&told["access"])))?;
    if told["let_in"] == false {
        writeln!(out, "Access would be denied, so no hook would run.")?;
        return Ok(());
    }
    if told["set_off"] == false {
        writeln!(out, "Its triggers do not match, so its program would not run.")?;
        return Ok(());
    }
    writeln!(out, "It ran for {} ms.", told["latency_ms"])?;
    for note in told["notes"].as_array().into_iter().flatten() {
        writeln!(out, "note: {}", visible(&text(note)))?;
    }
    if let Some(why) = told.get("error") {
        writeln!(out, "It failed: {}", visible(&text(why)))?;
        return Ok(());
    }
    match told["would_start"].as_array().map_or(&[][..], Vec::as_slice) {
        [] => writeln!(out, "It does not fire.")?,
        all => {
            for one in all {
                let agent = one["agent"].as_str().unwrap_or("the agent of the session");
                writeln!(out, "It fires; {} would receive:", visible(agent))?;
                for line in text(&one["prompt"]).lines() {
                    writeln!(out, "  {}", visible(line))?;
                }
            }
        }
    }
    if let Some(why) = told["would_disable"].as_str() {
        writeln!(out, "It would be disabled: {}", visible(why))?;
    }
    Ok(())
}
