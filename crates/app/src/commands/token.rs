//! `agentry token`: creates, lists and revokes access tokens of the server.
//!
//! Must never: print a token a second time.

use std::io::Write;
use std::process::ExitCode;

use agentry_protocol::token::{TokenKind, TokenScope};
use agentry_runtime::commands::keys::{self, KeyIssuer, KeyRevocation, KeySpec};
use agentry_server::auth;
use agentry_store::TokenRow;
use clap::{Args, Subcommand};
use serde_json::json;

use super::OutputFormat;
use super::grants::{context, span_ms};
use crate::bootstrap::{open_ledger, store_fault};
use crate::cli_context::CliContext;
use crate::command_faults::command_fault;
use crate::diagnostics::visible;
use crate::fault::{Blame, Fault};

#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token; it is shown once
    Create(CreateOptions),
    /// List tokens
    List(TokenListOptions),
    /// Revoke a token
    Revoke(TokenRevokeOptions),
}

#[derive(Args)]
pub(crate) struct CreateOptions {
    /// Any of read, submit, approve, admin, audit, executor
    #[arg(long, value_name = "SCOPES", value_delimiter = ',', required = true)]
    scope: Vec<String>,
    /// The name of the token
    #[arg(long, default_value = "key")]
    name: String,
    /// The entity that uses the token [default: the owner]
    #[arg(long = "as", value_name = "ENTITY")]
    entity: Option<String>,
    /// Lifetime, such as 30d or 12h [default: until revoked]
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(crate) struct TokenListOptions {
    /// Include expired and revoked tokens
    #[arg(long)]
    all: bool,
    /// Output format of the list
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

#[derive(Args)]
pub(crate) struct TokenRevokeOptions {
    /// The token, by its id or a part of it
    token: String,
    /// The reason, for the record
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
    let made = keys::issue(&ledger, wanted, KeyIssuer::Owner, auth::key_numbers()?);
    let made = made.map_err(command_fault)?;
    let mut out = crate::output::stdout().lock();
    if options.json {
        writeln!(out, "{}", json!({ "id": made.token.id, "key": made.text }))?;
    } else {
        writeln!(out, "{}", made.text)?;
        let mut err = crate::output::stderr().lock();
        writeln!(err, "{}: store this token now; it is not shown again", made.token.id)?;
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
            writeln!(out, "no tokens; create one with `agentry token create --scope read`")?;
        }
        OutputFormat::Text => {
            for row in rows {
                let scopes: Vec<&str> =
                    row.token.scopes.iter().map(|scope| scope.as_str()).collect();
                let who = row.token.entity.as_deref().unwrap_or("owner");
                let state = if opens(&row) { "" } else { "  (expired or revoked)" };
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
    let redactor = host.redactor()?;
    let (token, by) = (id.clone(), "owner".to_owned());
    let request = KeyRevocation { token, reason: options.reason, by };
    keys::revoke(context(&ledger, &redactor), request).map_err(command_fault)?;
    writeln!(crate::output::stdout(), "{id}: revoked")?;
    Ok(ExitCode::SUCCESS)
}
