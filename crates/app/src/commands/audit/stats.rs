//! `agentry audit stats`: counts decisions, and lists policies that never matched.
//!
//! Must never: count a decision twice.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use agentry_agentfile::skill::SkillLevel;
use agentry_store::{DecisionCount, DecisionGrouping, Ledger};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::{AuditStatsOptions, own_zone, span};
use crate::bootstrap::{self, store_fault};
use crate::cli_context::CliContext;
use crate::diagnostics::visible_line;
use crate::fault::Fault;

/// Grouping of the counts.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum StatsGrouping {
    /// By sender
    Principal,
    /// By channel
    Channel,
    /// By the policies that matched or denied
    Policy,
}

pub(super) fn run(host: &CliContext, options: &AuditStatsOptions) -> Result<(), Fault> {
    let zone = own_zone(host)?;
    let (since, until) = span(&zone, options.since.as_deref(), options.until.as_deref())?;
    let ledger = bootstrap::open_ledger(host)?;
    let kinds =
        ledger.decision_counts(DecisionGrouping::Kind, since..until).map_err(store_fault)?;
    let parts = parts(&ledger, since)?;
    let rows = match options.by {
        None => kinds.clone(),
        Some(StatsGrouping::Principal) => ledger
            .decision_counts(DecisionGrouping::Principal, since..until)
            .map_err(store_fault)?,
        Some(StatsGrouping::Channel) => {
            ledger.decision_counts(DecisionGrouping::Channel, since..until).map_err(store_fault)?
        }
        Some(StatsGrouping::Policy) => parts.values().cloned().collect(),
    };
    let allowed: u64 = kinds.iter().map(|one| one.allowed).sum();
    let denied: u64 = kinds.iter().map(|one| one.denied).sum();
    let never = never(host, options, &parts);
    let mut out = crate::output::stdout().lock();
    if options.json {
        let row = |one: &DecisionCount| json!({ "of": one.of, "allowed": one.allowed, "denied": one.denied });
        let value = json!({
            "decisions": allowed + denied, "allowed": allowed, "denied": denied,
            "rows": rows.iter().map(row).collect::<Vec<Value>>(),
            "policies_never_matched": never.as_ref().ok(),
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
        return Ok(());
    }
    let widest = rows.iter().map(|one| one.of.chars().count()).max().unwrap_or_default();
    for one in &rows {
        let line =
            format!("{:<widest$}  {:>8} allowed  {:>8} denied", one.of, one.allowed, one.denied);
        writeln!(out, "{}", visible_line(&line))?;
    }
    writeln!(out, "{} decisions, {allowed} allowed, {denied} denied", allowed + denied)?;
    match never {
        Ok(names) if names.is_empty() => {
            writeln!(out, "every enabled policy matched at least once")?
        }
        Ok(names) => writeln!(out, "policies that never matched: {}", names.join(", "))?,
        // The counts are valid even if the policies do not load.
        Err(fault) => writeln!(crate::output::stderr().lock(), "{fault}")?,
    }
    Ok(())
}

/// Returns for each policy the number of events it allowed or modified, and denied.
fn parts(ledger: &Ledger, since: u64) -> Result<BTreeMap<String, DecisionCount>, Fault> {
    let mut parts: BTreeMap<String, DecisionCount> = BTreeMap::new();
    for (policy, part, count) in ledger.policy_counts(since).map_err(store_fault)? {
        let one = parts.entry(policy.clone()).or_insert(DecisionCount {
            of: policy,
            allowed: 0,
            denied: 0,
        });
        if part == "denied" { one.denied += count } else { one.allowed += count }
    }
    Ok(parts)
}

/// Returns the enabled policies that never matched or denied.
fn never(
    host: &CliContext,
    options: &AuditStatsOptions,
    parts: &BTreeMap<String, DecisionCount>,
) -> Result<Vec<String>, Fault> {
    let loaded = host.load(&options.dir, SkillLevel::Extended)?;
    let access = loaded.policies()?;
    let on = access.policies().filter(|policy| policy.enabled);
    let names: BTreeSet<String> = on.map(|policy| policy.name.value.to_string()).collect();
    Ok(names.into_iter().filter(|name| !parts.contains_key(name)).collect())
}
