//! `agentry token`: keys to the server.
//!
//! Must never: print a key a second time.

use std::io::Write;
use std::process::ExitCode;

use agentry_protocol::token::{TokenKind, TokenScope};
use agentry_store::TokenRow;
use clap::{Args, Subcommand};
use serde_json::json;

use super::OutputFormat;
use super::grants::span_ms;
use crate::bootstrap::{open_ledger, store_fault};
use crate::cli_context::CliContext;
use crate::diagnostics::visible;
use crate::fault::{Blame, Fault};
use crate::http::auth::{self, KeySpec};

#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a key; it is shown once
    Create(CreateOptions),
    /// List the keys that there are
    List(TokenListOptions),
    /// Take a key back
    Revoke(TokenRevokeOptions),
}

#[derive(Args)]
pub(crate) struct CreateOptions {
    /// What it opens: read, submit, approve, admin, audit, executor (with commas between them)
    #[arg(long, value_name = "SCOPES", value_delimiter = ',', required = true)]
    scope: Vec<String>,
    /// What to call it
    #[arg(long, default_value = "key")]
    name: String,
    /// The entity that speaks with it; the owner if none is named
    #[arg(long = "as", value_name = "ENTITY")]
    entity: Option<String>,
    /// How long it holds, such as 30d or 12h; until it is taken back if nothing is said
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct TokenListOptions {
    /// Also those that open nothing any more
    #[arg(long)]
    all: bool,
    /// How they are printed
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

#[derive(Args)]
pub(crate) struct TokenRevokeOptions {
    /// The key, by its id or a part of it
    token: String,
    /// Why
    #[arg(long)]
    reason: Option<String>,
}

pub(crate) fn run(host: &CliContext, tokens: TokenCommand) -> Result<ExitCode, Fault> {
    match tokens {
        TokenCommand::Create(options) => create(host, options),
        TokenCommand::List(options) => list(host, &options),
        TokenCommand::Revoke(options) => revoke(host, options),
    }
}

fn create(host: &CliContext, options: CreateOptions) -> Result<ExitCode, Fault> {
    let ledger = open_ledger(host)?;
    let scopes = options.scope.iter().map(|word| {
        word.trim()
            .parse::<TokenScope>()
            .map_err(|unknown| Fault::new(Blame::Caller, format!("--scope: {unknown}")))
    });
    let scopes = scopes.collect::<Result<Vec<TokenScope>, Fault>>()?;
    let expires_at = match &options.expires {
        Some(text) => Some(ledger.now().saturating_add(span_ms(text)?)),
        None => None,
    };
    let wanted = KeySpec {
        name: options.name,
        kind: TokenKind::Bearer,
        scopes,
        entity: options.entity,
        expires_at,
    };
    auth::check(&ledger, &wanted)?;
    let made = auth::issue(&ledger, wanted)?;
    let mut out = crate::output::stdout().lock();
    if options.json {
        writeln!(out, "{}", json!({ "id": made.token.id, "key": made.text }))?;
    } else {
        writeln!(out, "{}", made.text)?;
        let mut err = crate::output::stderr().lock();
        writeln!(err, "{}: keep it; it is not shown again", made.token.id)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(host: &CliContext, options: &TokenListOptions) -> Result<ExitCode, Fault> {
    let ledger = open_ledger(host)?;
    let now = ledger.now();
    let rows = ledger.tokens().map_err(store_fault)?;
    let opens =
        |row: &&TokenRow| row.revoked.is_none() && row.token.expires_at.is_none_or(|at| now < at);
    let rows: Vec<&TokenRow> = rows.iter().filter(|row| options.all || opens(row)).collect();
    let mut out = crate::output::stdout().lock();
    match options.format {
        OutputFormat::Json => {
            let all: Vec<_> = rows.iter().map(|row| as_json(row)).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        }
        OutputFormat::Text if rows.is_empty() => {
            writeln!(out, "there is no key; make one with `agentry token create --scope read`")?;
        }
        OutputFormat::Text => {
            for row in rows {
                let scopes: Vec<&str> =
                    row.token.scopes.iter().map(|scope| scope.as_str()).collect();
                let who = row.token.entity.as_deref().unwrap_or("owner");
                let state = if opens(&row) { "" } else { "  (opens nothing any more)" };
                writeln!(
                    out,
                    "{}  {}  {}  {}  {}{state}",
                    row.token.id,
                    row.token.kind.as_str(),
                    visible(who),
                    scopes.join(","),
                    visible(&row.token.name)
                )?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(row: &TokenRow) -> serde_json::Value {
    let token = &row.token;
    json!({
        "id": token.id, "name": token.name, "kind": token.kind, "scopes": token.scopes,
        "entity": token.entity, "createdAt": token.created_at, "expiresAt": token.expires_at,
        "revokedAt": row.revoked,
    })
}

fn revoke(host: &CliContext, options: TokenRevokeOptions) -> Result<ExitCode, Fault> {
    let ledger = open_ledger(host)?;
    let id = ledger.find_token(&options.token).map_err(store_fault)?;
    auth::revoke(&ledger, &id, "owner", options.reason).map_err(store_fault)?;
    writeln!(crate::output::stdout(), "{id}: opens nothing any more")?;
    Ok(ExitCode::SUCCESS)
}
