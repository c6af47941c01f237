//! `agentry grants`: gives, lists, revokes and audits grants.
//!
//! Must never: change a grant; it is given or revoked, and both stay in the ledger.

use std::io::Write;
use std::process::ExitCode;

use agentry_kernel::access::is_active;
use agentry_kernel::permission_request::grantees;
use agentry_protocol::access::{Grant, GrantConditions, PrincipalQuery, Resource};
use agentry_runtime::commands::CommandContext;
use agentry_runtime::commands::grants::{self, GrantRequest, GrantRevocation};
use agentry_runtime::redact::Redactor;
use agentry_store::{GrantActivityRow, Ledger};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::bootstrap::{self, new_uuid_number};
use crate::cli_context::CliContext;
use crate::command_faults::command_fault;
use crate::diagnostics::escaped;
use crate::fault::{Blame, Fault};

/// The giver that is recorded: the user of this home.
const OWNER: &str = "owner";
const SECOND_MS: u64 = 1_000;

#[derive(Subcommand)]
pub(crate) enum GrantsCommand {
    /// List active grants
    List(GrantListOptions),
    /// Show a grant
    Show(GrantShowOptions),
    /// Give tools, credentials, data or commands
    Give(GiveOptions),
    /// Revoke a grant
    Revoke(GrantRevokeOptions),
    /// Show the history of one grant or of all
    Audit(GrantAuditOptions),
}

#[derive(Args)]
pub(crate) struct GrantListOptions {
    /// Include expired and revoked grants
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct GrantShowOptions {
    /// The grant, by its id or a part of it
    grant: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct GiveOptions {
    /// person:ID, relationship:WORD or tag:WORD; all must match
    #[arg(long, value_name = "WHO", required = true)]
    to: Vec<String>,
    /// Limit the grant to a channel
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Limit the grant to a session, by its key
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// Duration, such as 24h [default: until revoked]
    #[arg(long = "for", value_name = "TIME")]
    duration: Option<String>,
    /// The reason, for the record
    #[arg(long)]
    reason: Option<String>,
    /// [tool:]NAME, credential:NAME, data:LEVEL or exec:PATTERN
    #[arg(required = true, value_name = "RESOURCE")]
    resources: Vec<String>,
}

#[derive(Args)]
pub(crate) struct GrantRevokeOptions {
    /// The grant, by its id or a part of it
    grant: String,
    /// The reason, for the record
    #[arg(long)]
    reason: Option<String>,
}

#[derive(Args)]
pub(crate) struct GrantAuditOptions {
    /// The grant, by its id or a part of it
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    grant: Option<String>,
    /// Show the history of all grants
    #[arg(long)]
    all: bool,
    /// Limit the history to this time, such as 30d
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(host: &CliContext, what: &GrantsCommand) -> Result<ExitCode, Fault> {
    let ledger = bootstrap::open_ledger(host)?;
    let mut out = crate::output::stdout().lock();
    match what {
        GrantsCommand::List(options) => list(&ledger, options, &mut out)?,
        GrantsCommand::Show(options) => {
            let grant = find(&ledger, &options.grant)?;
            if options.json {
                writeln!(out, "{}", serde_json::to_string_pretty(&grant)?)?;
            } else {
                write_whole(&grant, ledger.now(), &mut out)?;
            }
        }
        GrantsCommand::Give(options) => {
            let request = requested(options)?;
            let redactor = host.redactor()?;
            let context = context(&ledger, &redactor);
            let grant = grants::give(context, request).map_err(command_fault)?;
            writeln!(out, "{}", grant.id)?;
        }
        GrantsCommand::Revoke(options) => {
            let grant = ledger.find_grant(&options.grant).map_err(bootstrap::store_fault)?;
            let (by, reason) = (OWNER.to_owned(), options.reason.clone());
            let redactor = host.redactor()?;
            let request = GrantRevocation { grant, reason, by };
            let revoked = grants::revoke(context(&ledger, &redactor), request);
            writeln!(out, "{}: revoked", revoked.map_err(command_fault)?.id)?;
        }
        GrantsCommand::Audit(options) => audit(&ledger, options, &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the services of commands of this process.
pub(super) fn context<'a>(ledger: &'a Ledger, redactor: &'a Redactor) -> CommandContext<'a> {
    CommandContext { ledger, redactor, new_number: new_uuid_number }
}

fn find(ledger: &Ledger, text: &str) -> Result<Grant, Fault> {
    let id = ledger.find_grant(text).map_err(bootstrap::store_fault)?;
    let grant = ledger.grant(&id).map_err(bootstrap::store_fault)?;
    grant.ok_or_else(|| Fault::new(Blame::Caller, format!("there is no grant `{id}`")))
}

fn requested(options: &GiveOptions) -> Result<GrantRequest, Fault> {
    let mut query = PrincipalQuery::default();
    for who in &options.to {
        let wrong = || {
            let text = format!("`{who}` names no receiver of the grant");
            Fault::new(Blame::Caller, text).hint("write person:ID, relationship:WORD or tag:WORD")
        };
        let (kind, word) =
            who.split_once(':').filter(|(_, word)| !word.is_empty()).ok_or_else(wrong)?;
        match kind {
            "person" if query.person_id.is_none() => query.person_id = Some(word.to_owned()),
            "relationship" if query.relationship.is_none() => {
                query.relationship = Some(word.to_owned());
            }
            "tag" => query.tags.push(word.to_owned()),
            _ => return Err(wrong()),
        }
    }
    let parsed = options.resources.iter().map(|text| text.parse::<Resource>());
    let resources: Result<Vec<Resource>, _> = parsed.collect();
    let resources = resources.map_err(|error| {
        let hint = "write tool:NAME, credential:NAME, data:LEVEL or exec:PATTERN";
        Fault::new(Blame::Caller, error.to_string()).hint(hint)
    })?;
    Ok(GrantRequest {
        receiver: query,
        resources,
        conditions: GrantConditions {
            channel: options.channel.clone(),
            session: options.session.clone(),
        },
        lasts_ms: options.duration.as_deref().map(span_ms).transpose()?,
        reason: options.reason.clone(),
        by: OWNER.to_owned(),
    })
}

fn list(ledger: &Ledger, options: &GrantListOptions, out: &mut dyn Write) -> Result<(), Fault> {
    let now = ledger.now();
    let mut grants = ledger.grants(!options.all).map_err(bootstrap::store_fault)?;
    // A grant may have expired before that is recorded.
    grants.retain(|grant| options.all || is_active(grant, now));
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&grants)?)?;
        return Ok(());
    }
    if grants.is_empty() {
        writeln!(out, "there are no grants")?;
    }
    for grant in &grants {
        let line = format!("{}: {}", grantees(grant), what(grant));
        writeln!(out, "{}  {}  {}", grant.id, standing(grant, now), escaped(&line))?;
    }
    Ok(())
}

fn write_whole(grant: &Grant, now: u64, out: &mut dyn Write) -> Result<(), Fault> {
    writeln!(out, "{}  {}", grant.id, standing(grant, now))?;
    let place = &grant.conditions;
    let lines = [
        ("to", Some(grantees(grant))),
        ("gives", Some(what(grant))),
        ("channel", place.channel.clone()),
        ("session", place.session.clone()),
        ("given by", Some(grant.granted_by.clone())),
        ("given", Some(bootstrap::rfc3339(grant.created_at))),
        ("ends", grant.expires_at.map(bootstrap::rfc3339)),
        ("revoked", grant.revoked_at.map(bootstrap::rfc3339)),
        ("why", grant.reason.clone()),
        ("asked for as", grant.request_context.clone()),
    ];
    for (name, value) in lines.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        writeln!(out, "  {name}: {}", escaped(&value))?;
    }
    Ok(())
}

fn audit(ledger: &Ledger, options: &GrantAuditOptions, out: &mut dyn Write) -> Result<(), Fault> {
    let grant = options.grant.as_deref().map(|text| ledger.find_grant(text));
    let grant = grant.transpose().map_err(bootstrap::store_fault)?;
    let since = options.since.as_deref().map(span_ms).transpose()?;
    let since = since.map_or(0, |span| ledger.now().saturating_sub(span));
    let rows = ledger.grant_log(grant.as_ref(), since).map_err(bootstrap::store_fault)?;
    if options.json {
        let all: Vec<Value> = rows.iter().map(as_json).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(());
    }
    for row in &rows {
        let mut line =
            format!("{}  {}  {}", bootstrap::rfc3339(row.time), row.grant, row.activity.as_str());
        for (name, value) in
            [("by", &row.actor), ("because", &row.reason), ("decision", &row.access)]
        {
            if let Some(value) = value {
                line.push_str(&format!("  {name} {}", escaped(value)));
            }
        }
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn as_json(row: &GrantActivityRow) -> Value {
    json!({
        "grant": row.grant, "time": row.time, "activity": row.activity.as_str(),
        "actor": row.actor, "reason": row.reason, "access": row.access,
    })
}

fn standing(grant: &Grant, now: u64) -> &'static str {
    match (grant.revoked_at, is_active(grant, now)) {
        (Some(_), _) => "revoked",
        (None, true) => "active",
        (None, false) => "expired",
    }
}

fn what(grant: &Grant) -> String {
    grant.resources.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Parses a duration such as `90s`, `30m`, `24h` or `30d` into milliseconds.
pub(super) fn span_ms(text: &str) -> Result<u64, Fault> {
    let wrong = || {
        Fault::new(Blame::Caller, format!("`{text}` is not a duration"))
            .hint("write a number with s, m, h or d, such as 24h")
    };
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds: u64 = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    number.checked_mul(seconds * SECOND_MS).filter(|ms| *ms > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::span_ms;

    #[test]
    fn a_time_is_a_number_with_a_unit() {
        for (text, ms) in
            [("90s", 90_000), ("30m", 1_800_000), ("24h", 86_400_000), ("1d", 86_400_000)]
        {
            assert_eq!(span_ms(text).ok(), Some(ms), "{text}");
        }
        for wrong in ["", "24", "h", "-1h", "0h", "1w", "1.5h", "99999999999999999999d", "ä"] {
            assert!(span_ms(wrong).is_err(), "{wrong}");
        }
    }
}
