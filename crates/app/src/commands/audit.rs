//! `agentry audit`: lists, shows, exports and counts access decisions.
//!
//! Must never: change or leave out a decision.

mod export;
mod show;
mod stats;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use agentry_agentfile::diagnostic::{Findings, suggestion};
use agentry_agentfile::file_tree::FileTree;
use agentry_protocol::access::Effect;
use agentry_protocol::principal::PrincipalKind;
use agentry_store::{AuditFilter, AuditRow, PolicyMatchFilter};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::bootstrap::{self, rfc3339, store_fault};
use crate::cli_context::CliContext;
use crate::diagnostics::visible_line;
use crate::fault::{Blame, Fault};
use crate::limits::SHOWN_DECISIONS_MAX;
use crate::timezone::{self, OwnerTimeZone};

#[derive(Subcommand)]
pub(crate) enum AuditCommand {
    /// List decisions, newest first
    List(AuditListOptions),
    /// Show the full record of a decision
    Show(AuditShowOptions),
    /// Export records as CSV or JSON
    Export(ExportOptions),
    /// Count decisions
    Stats(AuditStatsOptions),
}

#[derive(Args)]
pub(crate) struct AuditListOptions {
    /// The maximum number of decisions
    #[arg(long, value_name = "N", default_value_t = SHOWN_DECISIONS_MAX)]
    last: usize,
    #[command(flatten)]
    which: AuditFilterOptions,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Filter for decisions; a decision must match every option.
#[derive(Args)]
struct AuditFilterOptions {
    /// Start time: 7d, 12h, 30m, 2026-11-01, 2026-11-01T23:30
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// End time, exclusive
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only denied events
    #[arg(long, conflicts_with = "allowed")]
    denied: bool,
    /// Only allowed events
    #[arg(long)]
    allowed: bool,
    #[command(flatten)]
    who: AuditPrincipalOptions,
    /// Filter by channel
    #[arg(long)]
    channel: Option<String>,
    /// Filter by the account of yours that received the event
    #[arg(long)]
    account: Option<String>,
    #[command(flatten)]
    policy: AuditPolicyOptions,
}

#[derive(Args)]
struct AuditPrincipalOptions {
    /// Filter by sender, by id or name
    #[arg(long, value_name = "WHO")]
    principal: Option<String>,
    /// Filter by owner, known, unknown, system, webhook or agent
    #[arg(long, value_name = "KIND")]
    principal_type: Option<String>,
    /// Filter by relationship: friend, family, …
    #[arg(long, value_name = "WORD")]
    relationship: Option<String>,
}

#[derive(Args)]
#[group(multiple = false)]
struct AuditPolicyOptions {
    /// Decisions in which this policy matched or denied
    #[arg(long, value_name = "NAME")]
    policy: Option<String>,
    /// Decisions in which this policy matched and did not deny
    #[arg(long, value_name = "NAME")]
    policy_matched: Option<String>,
    /// Decisions that this policy denied
    #[arg(long, value_name = "NAME")]
    policy_denied: Option<String>,
}

#[derive(Args)]
pub(crate) struct AuditShowOptions {
    /// A decision by its id or a part of it, or an event's id
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct ExportOptions {
    /// Output format of the records
    #[arg(long, value_enum)]
    format: export::ExportFormat,
    #[command(flatten)]
    which: AuditFilterOptions,
}

#[derive(Args)]
pub(crate) struct AuditStatsOptions {
    /// Group the counts
    #[arg(long, value_enum)]
    by: Option<stats::StatsGrouping>,
    /// Start time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// End time, exclusive
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// The project whose policies are compared
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(host: &CliContext, what: &AuditCommand) -> Result<ExitCode, Fault> {
    match what {
        AuditCommand::List(options) => list(host, options)?,
        AuditCommand::Show(options) => show::run(host, options)?,
        AuditCommand::Export(options) => export::run(host, options)?,
        AuditCommand::Stats(options) => stats::run(host, options)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(host: &CliContext, options: &AuditListOptions) -> Result<(), Fault> {
    let zone = own_zone(host)?;
    let filter = AuditFilter { last: Some(options.last), ..options.which.filter(&zone)? };
    let ledger = bootstrap::open_ledger(host)?;
    let rows = ledger.audit(&filter).map_err(store_fault)?;
    let mut out = crate::output::stdout().lock();
    if options.json {
        let all: Vec<Value> = rows.iter().map(as_json).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    }
    if rows.is_empty() {
        writeln!(out, "no decision matches")?;
    }
    for row in &rows {
        let who = row.name.as_ref().or(row.principal.as_ref());
        let who = who.map_or_else(|| row.kind.clone(), |who| format!("{} {who}", row.kind));
        let relationship = row.relationship.as_ref().map(|one| format!(" ({one})"));
        let event = row.event.as_deref().unwrap_or("no event");
        let line = format!(
            "{}  {:<5}  {who}{} on {}  {event}  {}",
            zone.shown(row.time),
            row.effect.to_string(),
            relationship.unwrap_or_default(),
            row.channel,
            row.id
        );
        writeln!(out, "{}", visible_line(&line))?;
    }
    Ok(())
}

fn as_json(row: &AuditRow) -> Value {
    json!({
        "id": row.id, "time": rfc3339(row.time), "event_id": row.event, "channel": row.channel,
        "account": row.account, "principal_type": row.kind, "principal_id": row.principal,
        "principal_name": row.name, "principal_relationship": row.relationship,
        "effect": row.effect,
    })
}

/// Returns the owner's time zone, from the operator's settings alone.
pub(super) fn own_zone(host: &CliContext) -> Result<OwnerTimeZone, Fault> {
    timezone::of(&host.settings(&FileTree::default(), &mut Findings::default()))
}

/// Returns the range of times in milliseconds; the end is exclusive.
fn span(
    zone: &OwnerTimeZone,
    since: Option<&str>,
    until: Option<&str>,
) -> Result<(u64, u64), Fault> {
    let now = bootstrap::now();
    let at = |text: Option<&str>| text.map(|text| zone.past(text, now)).transpose();
    Ok((at(since)?.unwrap_or(0), at(until)?.unwrap_or(u64::MAX)))
}

impl AuditFilterOptions {
    fn filter(&self, zone: &OwnerTimeZone) -> Result<AuditFilter, Fault> {
        let (since, until) = span(zone, self.since.as_deref(), self.until.as_deref())?;
        let effect = match (self.allowed, self.denied) {
            (true, _) => Some(Effect::Allow),
            (_, true) => Some(Effect::Deny),
            (false, false) => None,
        };
        Ok(AuditFilter {
            since: Some(since),
            until: Some(until),
            effect,
            principal: self.who.principal.clone(),
            kind: self.who.principal_type.as_deref().map(kind).transpose()?,
            relationship: self.who.relationship.clone(),
            channel: self.channel.clone(),
            account: self.account.clone(),
            policy: self.policy.part(),
            last: None,
        })
    }
}

impl AuditPolicyOptions {
    fn part(&self) -> Option<(String, PolicyMatchFilter)> {
        let all = [
            (&self.policy, PolicyMatchFilter::Any),
            (&self.policy_matched, PolicyMatchFilter::Matched),
            (&self.policy_denied, PolicyMatchFilter::Denied),
        ];
        all.into_iter().find_map(|(name, part)| Some((name.clone()?, part)))
    }
}

fn kind(word: &str) -> Result<String, Fault> {
    let known = PrincipalKind::ALL.map(PrincipalKind::as_str);
    if known.contains(&word) {
        Ok(word.to_owned())
    } else {
        Err(Fault::new(Blame::Caller, format!("there is no kind of sender `{word}`"))
            .hint(suggestion(word, &known)))
    }
}
