//! `agentry access replay`: re-evaluates past decisions with changed policies.
//!
//! Exit 0: no decision differs. Exit 1: some do. Exit 2: the command or the policies are wrong.
//!
//! Must never: change recorded decisions, or record the new ones.

use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use agentry_agentfile::skill::SkillLevel;
use agentry_kernel::access::AccessPolicies;
use agentry_runtime::definitions::policies;
use agentry_runtime::report::policy_replay::{PolicyReplay, PolicyReplayReport, replay_policies};
use clap::Args;
use serde_json::{Value, json};

use super::policy_files::read_policy_files;
use crate::bootstrap::{self, store_fault};
use crate::cli_context::{CliContext, host_tool_names};
use crate::diagnostics::visible_line;
use crate::fault::Fault;
use crate::timezone::{self, OwnerTimeZone};

/// The exit codes, as shown in the help.
const EXITS: &str = "Exit codes: 0 no decision would differ, 1 at least one would.";

/// Age in milliseconds of the oldest decisions that a policy change is compared with.
const LATELY_MS: u64 = 7 * 24 * 60 * 60 * 1000;

#[derive(Args)]
#[command(after_help = EXITS)]
pub(crate) struct Options {
    /// Start time: 7d, 12h, 30m, 2026-11-01, 2026-11-01T23:30
    #[arg(long, value_name = "TIME", default_value = "7d")]
    since: String,
    /// End time, exclusive
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Use the policies in this directory instead of yours
    #[arg(long = "with", value_name = "DIR")]
    with: Option<PathBuf>,
    /// Show only decisions that would differ
    #[arg(long)]
    changed_only: bool,
    /// The project whose policies decide
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The decisions to print.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplayScope {
    /// All decisions.
    All,
    /// Only decisions that would differ.
    Changed,
}

pub(crate) fn run(host: &CliContext, options: &Options) -> Result<ExitCode, Fault> {
    let loaded = host.load(&options.dir, SkillLevel::Extended)?;
    if let Some(fault) = loaded.settings_error().map(Fault::from) {
        return Err(fault.in_a_definition());
    }
    let zone = timezone::of(&loaded.library.settings)?;
    let new = match &options.with {
        None => loaded.policies()?,
        Some(path) => {
            let (rules, findings) = read_policy_files(path)?;
            policies::compile_policies(&rules, &findings)?
        }
    };
    let now = bootstrap::now();
    let since = zone.past(&options.since, now)?;
    let until = options.until.as_ref().map(|text| zone.past(text, now)).transpose()?;
    let span = since..until.unwrap_or(u64::MAX);
    let outcome = outcome(host, None, &new, &zone, span)?;
    let shown = if options.changed_only { ReplayScope::Changed } else { ReplayScope::All };
    let mut out = crate::output::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report_json(&outcome, shown))?)?
    } else {
        write_report(&outcome, shown, &mut out)?
    }
    Ok(if outcome.changed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Compares recent decisions under old and new policies. Returns None if there is no ledger.
pub(super) fn replay_recent(
    host: &CliContext,
    old: &AccessPolicies,
    new: &AccessPolicies,
) -> Result<Option<PolicyReplayReport>, Fault> {
    if !bootstrap::has_ledger(host) {
        return Ok(None);
    }
    let mut findings = agentry_agentfile::diagnostic::Findings::default();
    let nothing = agentry_agentfile::file_tree::FileTree::default();
    let zone = timezone::of(&host.settings(&nothing, &mut findings))?;
    let since = bootstrap::now().saturating_sub(LATELY_MS);
    outcome(host, Some(old), new, &zone, since..u64::MAX).map(Some)
}

fn outcome(
    host: &CliContext,
    old: Option<&AccessPolicies>,
    new: &AccessPolicies,
    zone: &OwnerTimeZone,
    span: Range<u64>,
) -> Result<PolicyReplayReport, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    let grants = ledger.grants(false).map_err(store_fault)?;
    let tools = host_tool_names().into_iter().collect();
    let trial = PolicyReplay { new, old, tools, grants, local: &|at| zone.local(at) };
    replay_policies(&ledger, &trial, span).map_err(store_fault)
}

/// Returns a report as JSON.
pub(super) fn report_json(report: &PolicyReplayReport, shown: ReplayScope) -> Value {
    let groups =
        report.groups.iter().filter(|(group, _)| group.changed || shown == ReplayScope::All);
    let groups = groups.map(|(group, count)| {
        json!({
            "who": group.who, "channel": group.channel, "what": group.what,
            "changed": group.changed, "count": count.number, "first": count.first,
        })
    });
    json!({
        "decisions": report.decisions, "changed": report.changed,
        "groups": groups.collect::<Vec<_>>(),
    })
}

/// Writes a report for people; the last line has the totals.
pub(super) fn write_report(
    report: &PolicyReplayReport,
    shown: ReplayScope,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut sorted: Vec<_> = report.groups.iter().collect();
    sorted.sort_by_key(|(group, count)| (!group.changed, std::cmp::Reverse(count.number)));
    for (group, count) in sorted {
        let (head, what) = match (group.changed, shown) {
            (false, ReplayScope::Changed) => continue,
            (false, ReplayScope::All) => ("same", &group.what),
            (true, ReplayScope::All | ReplayScope::Changed) => ("changed", &group.what),
        };
        let line = format!(
            "{head:<9}  {:>6} x  {} on {}: {what}  (first {})",
            count.number, group.who, group.channel, count.first
        );
        writeln!(out, "{}", visible_line(&line))?;
    }
    let (all, changed) = (report.decisions, report.changed);
    match changed {
        0 => writeln!(out, "{all} decisions, none would differ"),
        changed => writeln!(out, "{all} decisions, {changed} would differ"),
    }
}
