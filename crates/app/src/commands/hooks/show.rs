//! `agentry hooks list`, `info`, `invocations` and `stats`: event hooks and their history.
//!
//! Must never: read a hook's whole history to show its latest invocations.

use std::io::Write;

use agentry_protocol::event_hook::{Author, Circuit, CircuitState, EventHook};
use agentry_store::{EventHookRow, InvocationFilter, InvocationRow, Ledger};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::find;
use crate::bootstrap::{self, rfc3339, store_fault};
use crate::cli_context::CliContext;
use crate::commands::audit::own_zone;
use crate::diagnostics::{escaped, visible_line};
use crate::fault::Fault;
use crate::limits::SHOWN_INVOCATIONS_MAX;

#[derive(Args)]
pub(crate) struct HookListOptions {
    /// Filter by status
    #[arg(long, value_enum, value_name = "STATUS")]
    status: Option<HookStatusArg>,
    /// Filter by the person or agent that created the hook
    #[arg(long, value_name = "WHO")]
    created_by: Option<String>,
    /// Include deleted hooks
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum HookStatusArg {
    /// Enabled; the last invocation succeeded
    Active,
    /// Paused for a while after repeated failures
    Paused,
    /// Disabled
    Disabled,
    /// Enabled; the last invocation failed
    Errored,
}

impl HookStatusArg {
    fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
            Self::Errored => "errored",
        }
    }
}

#[derive(Args)]
pub(crate) struct HookShowOptions {
    /// The hook, by its name, its id or a part of the id
    hook: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct InvocationsOptions {
    /// The hook, by its name, its id or a part of the id
    hook: String,
    /// The maximum number of invocations
    #[arg(long, value_name = "N", default_value_t = SHOWN_INVOCATIONS_MAX)]
    last: usize,
    /// Start time: an age such as 1h, or a date
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only invocations that failed
    #[arg(long)]
    errors_only: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct HookStatsOptions {
    /// The hook, by its name, its id or a part of the id
    hook: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn list(ledger: &Ledger, options: &HookListOptions) -> Result<(), Fault> {
    let mut rows = ledger.event_hooks(options.all).map_err(store_fault)?;
    rows.retain(|row| {
        options.status.is_none_or(|status| row.status.as_str() == status.as_str())
            && options.created_by.as_deref().is_none_or(|who| is_by(&row.hook.created_by, who))
    });
    let mut out = crate::output::stdout().lock();
    if options.json {
        let all: Vec<Value> = rows.iter().map(as_json).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    }
    if rows.is_empty() {
        writeln!(out, "no hooks match")?;
    }
    for row in &rows {
        let EventHook { id, name, mode, version, created_by, .. } = &row.hook;
        let line = format!(
            "{id}  {:<8}  {name}  version {version}, {}, by {created_by}, fired {} times",
            standing(row),
            mode.as_str(),
            row.trigger_count
        );
        writeln!(out, "{}", visible_line(&line))?;
    }
    Ok(())
}

/// Returns true if the author is this person or agent.
fn is_by(author: &Author, who: &str) -> bool {
    let agent = author.agent.as_ref().map(|agent| agent.as_str());
    agent == Some(who) || author.person.as_deref() == Some(who) || author.to_string() == who
}

fn standing(row: &EventHookRow) -> &'static str {
    match row.times.deleted {
        Some(_) => "deleted",
        None => row.status.as_str(),
    }
}

fn as_json(row: &EventHookRow) -> Value {
    let mut value = json!(row.hook);
    value["status"] = json!(standing(row));
    value["created_at"] = json!(row.times.created);
    value["updated_at"] = json!(row.times.updated);
    value["enabled_at"] = json!(row.times.enabled);
    value["disabled_at"] = json!(row.times.disabled);
    value["deleted_at"] = json!(row.times.deleted);
    value["disabled_reason"] = json!(row.disabled_reason);
    value["last_triggered"] = json!(row.times.last_triggered);
    value["trigger_count"] = json!(row.trigger_count);
    value["last_error"] = json!(row.last_error);
    value["circuit"] = json!(row.circuit);
    value
}

pub(super) fn info(ledger: &Ledger, options: &HookShowOptions) -> Result<(), Fault> {
    let row = find(ledger, &options.hook)?;
    let versions = ledger.event_hook_versions(&row.hook.id).map_err(store_fault)?;
    let mut out = crate::output::stdout().lock();
    if options.json {
        let mut value = as_json(&row);
        value["versions"] = json!(versions);
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
        return Ok(());
    }
    let hook = &row.hook;
    writeln!(out, "{}  {}  {}", hook.id, standing(&row), escaped(&hook.name))?;
    let program = &hook.program;
    let lines = [
        ("for", hook.description.clone()),
        ("mode", Some(hook.mode.as_str().to_owned())),
        ("triggers", Some(json!(hook.triggers).to_string())),
        ("config", Some(Value::Object(hook.config.clone()).to_string())),
        ("script", Some(program.path.clone())),
        ("hash", Some(program.hash.to_string())),
        ("time", Some(format!("at most {} ms", program.timeout_ms))),
        ("model", program.model.then(|| "may be called".to_owned())),
        ("made", Some(format!("{} by {}", rfc3339(row.times.created), hook.created_by))),
        ("changed", Some(rfc3339(row.times.updated))),
        ("disabled", row.times.disabled.map(rfc3339)),
        ("because", row.disabled_reason.clone()),
        ("deleted", row.times.deleted.map(rfc3339)),
        ("fired", Some(format!("{} times", row.trigger_count))),
        ("last fired", row.times.last_triggered.map(rfc3339)),
        ("last error", row.last_error.clone()),
        ("breaker", Some(circuit(row.circuit))),
    ];
    for (name, value) in lines.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        writeln!(out, "  {name}: {}", escaped(&value))?;
    }
    for version in &versions {
        let line = format!("{} by {}", version.program.hash, version.created_by);
        writeln!(out, "  version {}: {}", version.version, escaped(&line))?;
    }
    Ok(())
}

fn circuit(circuit: Circuit) -> String {
    let state = match circuit.state {
        CircuitState::Closed => "closed",
        CircuitState::Open => "open",
        CircuitState::HalfOpen => "half open",
    };
    match circuit.consecutive_errors {
        0 => state.to_owned(),
        count => format!("{state}, {count} errors in a row"),
    }
}

pub(super) fn invocations(
    host: &CliContext,
    ledger: &Ledger,
    options: &InvocationsOptions,
) -> Result<(), Fault> {
    let row = find(ledger, &options.hook)?;
    let since = options.since.as_deref();
    let since = since.map(|text| own_zone(host)?.past(text, bootstrap::now())).transpose()?;
    let filter = InvocationFilter {
        hook: Some(row.hook.id),
        since,
        errors_only: options.errors_only,
        last: Some(options.last),
    };
    let rows = ledger.invocations(&filter).map_err(store_fault)?;
    let mut out = crate::output::stdout().lock();
    if options.json {
        let all: Vec<Value> = rows.iter().map(invocation_json).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    }
    if rows.is_empty() {
        writeln!(out, "no invocations")?;
    }
    for row in &rows {
        let what = match &row.invocation {
            None => row.status.as_str().to_owned(),
            Some(one) => match (&one.error, one.fired) {
                (Some(error), _) => format!("failed in {} ms: {error}", one.latency_ms),
                (None, true) => format!("fired in {} ms", one.latency_ms),
                (None, false) => format!("did not fire, in {} ms", one.latency_ms),
            },
        };
        let line = format!("{}  {}  {}  {what}", rfc3339(row.time), row.id, row.event);
        writeln!(out, "{}", visible_line(&line))?;
    }
    Ok(())
}

fn invocation_json(row: &InvocationRow) -> Value {
    match &row.invocation {
        Some(one) => json!(one),
        None => json!({
            "id": row.id, "hook_id": row.hook, "version": row.version, "event_id": row.event,
            "status": row.status.as_str(), "time": row.time,
        }),
    }
}

pub(super) fn stats(ledger: &Ledger, options: &HookStatsOptions) -> Result<(), Fault> {
    let row = find(ledger, &options.hook)?;
    let stats = ledger.hook_stats(&row.hook.id).map_err(store_fault)?;
    let mut out = crate::output::stdout().lock();
    let spent = &stats.spent;
    if options.json {
        let value = json!({
            "hook_id": row.hook.id, "name": row.hook.name, "trigger_count": row.trigger_count,
            "invocations": stats.invocations, "errors": stats.errors, "fired": stats.fired,
            "latency_avg_ms": stats.latency_avg_ms, "latency_p95_ms": stats.latency_p95_ms,
            "latency_p99_ms": stats.latency_p99_ms, "spent": spent,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
        return Ok(());
    }
    writeln!(out, "{}", escaped(&row.hook.name))?;
    writeln!(out, "  fired since creation: {}", row.trigger_count)?;
    writeln!(out, "  last {} invocations:", stats.invocations)?;
    writeln!(out, "    fired: {}, errors: {}", stats.fired, stats.errors)?;
    let (average, p95, p99) = (stats.latency_avg_ms, stats.latency_p95_ms, stats.latency_p99_ms);
    writeln!(out, "    time: {average:.0} ms on average, p95 {p95} ms, p99 {p99} ms")?;
    let tokens = format!("{} in, {} out", spent.llm_tokens_in, spent.llm_tokens_out);
    let cost = spent.llm_cost_usd.map_or_else(String::new, |cost| format!(", {cost:.4} USD"));
    writeln!(out, "    models: {} calls, tokens {tokens}{cost}", spent.llm_calls)?;
    writeln!(out, "    searches: {}", spent.search_calls)?;
    Ok(())
}
