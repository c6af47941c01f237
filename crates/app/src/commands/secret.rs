//! `agentry secret set`, `list`, `rm`: stores, lists and removes secrets.
//!
//! Must never: accept a value from the command line, or print one.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::process::ExitCode;

use agentry_agentfile::diagnostic::{Findings, Severity, suggestion};
use agentry_agentfile::file_tree::FileTree;
use agentry_agentfile::manifest::config;
use agentry_runtime::limits::SECRET_BYTES_MAX;
use agentry_runtime::secret_store::{self, SecretLocation, SecretStatus};
use clap::{Args, Subcommand};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::OutputFormat;
use crate::cli_context::CliContext;
use crate::fault::{Blame, Fault};

#[derive(Subcommand)]
pub(crate) enum SecretCommand {
    /// Store a value, typed hidden or read from standard input
    Set(SetOptions),
    /// List names, storage and receivers of secrets
    List(SecretListOptions),
    /// Remove a value
    Rm(RmOptions),
}

#[derive(Args)]
pub(crate) struct SetOptions {
    /// The name of the secret
    name: String,
    /// Copy the value from this environment variable
    #[arg(long, value_name = "VARIABLE")]
    from_env: Option<String>,
    /// Always rejected: other users of the machine can read the command line.
    #[arg(hide = true, allow_hyphen_values = true)]
    given: Vec<String>,
}

#[derive(Args)]
pub(crate) struct SecretListOptions {
    /// Output format of the list
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

#[derive(Args)]
pub(crate) struct RmOptions {
    /// The name of the secret
    name: String,
}

pub(crate) fn run(host: &CliContext, what: &SecretCommand) -> Result<ExitCode, Fault> {
    let settings = settings(host)?;
    match what {
        SecretCommand::Set(options) => set(host, &settings, options)?,
        SecretCommand::List(options) => list(host, &settings, options)?,
        SecretCommand::Rm(options) => remove(host, &settings, options)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads the operator's settings for secrets; those of a project do not count.
fn settings(host: &CliContext) -> Result<config::SecretsToml, Fault> {
    let mut findings = Findings::default();
    let settings = host.settings(&FileTree::new(""), &mut findings);
    let sorted = findings.sorted();
    let errors = sorted.iter().filter(|one| one.severity == Severity::Error);
    let lines: Vec<String> = errors.map(|one| format!("  {}", one.brief())).collect();
    if lines.is_empty() {
        return Ok(settings.config.secrets);
    }
    let message = format!("your settings have errors:\n{}", lines.join("\n"));
    Err(Fault::new(Blame::Caller, message).hint("`agentry config show` shows them with excerpts"))
}

fn set(
    host: &CliContext,
    settings: &config::SecretsToml,
    options: &SetOptions,
) -> Result<(), Fault> {
    let name = &options.name;
    let refuse = |why: String| Fault::new(Blame::Caller, format!("`{name}` was not stored: {why}"));
    secret_store::check_name(name).map_err(refuse)?;
    if !options.given.is_empty() {
        let why = "values on the command line are rejected, because other users can read them";
        return Err(refuse(why.to_owned())
            .hint("treat this value as leaked; pass a new one on standard input"));
    }
    let value = match &options.from_env {
        Some(variable) => host
            .environment
            .secret(variable)
            .ok_or_else(|| refuse(format!("the variable {variable} is not set")))?,
        None if io::stdin().is_terminal() => asked(name)?,
        None => piped()?,
    };
    secret_store::check_value(&value).map_err(refuse)?;
    secret_store::keep(&host.environment, settings, name, value)?;
    let mut err = crate::output::stderr().lock();
    writeln!(err, "`{name}` is stored")?;
    let is_for_nobody =
        settings.named.get(name.as_str()).is_none_or(|said| said.receivers.is_empty());
    if is_for_nobody {
        writeln!(err, "it has no receiver yet; name one in your settings:")?;
        writeln!(err, "  [secrets.{name}]\n  for = [\"tool:bash\"]")?;
    }
    Ok(())
}

/// Reads the value from the terminal without echo.
fn asked(name: &str) -> Result<SecretString, Fault> {
    let unreadable = |error: io::Error| {
        Fault::new(Blame::Machine, format!("cannot ask for the value: {error}"))
            .hint("pass it on standard input: agentry secret set NAME < FILE")
    };
    let stdin = io::stdin();
    let before = tcgetattr(&stdin).map_err(|error| unreadable(error.into()))?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    silent.local_modes.insert(LocalModes::ECHONL);
    tcsetattr(&stdin, OptionalActions::Flush, &silent).map_err(|error| unreadable(error.into()))?;
    let mut err = crate::output::stderr().lock();
    let prompted = write!(err, "value of `{name}` (not shown): ").and_then(|()| err.flush());
    let mut line = String::new();
    let read = prompted.and_then(|()| stdin.lock().read_line(&mut line));
    let restored = tcsetattr(&stdin, OptionalActions::Now, &before);
    let value = without_line_end(line);
    read.map_err(unreadable)?;
    restored.map_err(|error| unreadable(error.into()))?;
    Ok(value)
}

/// Reads the value from standard input, to its end.
fn piped() -> Result<SecretString, Fault> {
    let mut text = String::new();
    // Two bytes more for the line end, and one more to detect a value that is too long.
    let room = SECRET_BYTES_MAX as u64 + 3;
    match io::stdin().lock().take(room).read_to_string(&mut text) {
        Ok(0) => Err(Fault::new(Blame::Caller, "standard input is empty")
            .hint("agentry secret set NAME < FILE, or --from-env VARIABLE")),
        Ok(_) => Ok(without_line_end(text)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Fault::new(Blame::Caller, "the value on standard input is not UTF-8 text"))
        }
        Err(error) => {
            Err(Fault::new(Blame::Machine, format!("cannot read standard input: {error}")))
        }
    }
}

/// Removes one line end, which is not part of the value.
fn without_line_end(text: String) -> SecretString {
    let text = SecretString::from(text);
    let plain = secrecy::ExposeSecret::expose_secret(&text);
    let plain = plain.strip_suffix('\n').unwrap_or(plain);
    SecretString::from(plain.strip_suffix('\r').unwrap_or(plain))
}

fn list(
    host: &CliContext,
    settings: &config::SecretsToml,
    options: &SecretListOptions,
) -> Result<(), Fault> {
    let all = secret_store::list(&host.environment, settings)?;
    let mut out = crate::output::stdout().lock();
    match options.format {
        OutputFormat::Json => {
            let all: Vec<Value> = all.iter().map(as_json).collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        }
        OutputFormat::Text if all.is_empty() => writeln!(out, "no secrets")?,
        OutputFormat::Text => {
            for one in &all {
                let receivers: Vec<String> =
                    one.receivers.iter().map(ToString::to_string).collect();
                let whom = match receivers.as_slice() {
                    [] => "no receiver".to_owned(),
                    some => format!("for {} as {}", some.join(", "), one.variable),
                };
                writeln!(out, "{}  {}  {whom}", one.name, in_words(&one.place))?;
            }
        }
    }
    Ok(())
}

fn in_words(place: &SecretLocation) -> String {
    match place {
        SecretLocation::File => "in the file".to_owned(),
        SecretLocation::Keyring => "in the keyring".to_owned(),
        SecretLocation::Environment(variable, true) => format!("in the variable {variable}"),
        SecretLocation::Environment(variable, false) => {
            format!("in the variable {variable}, not set")
        }
        SecretLocation::Nowhere => "not set".to_owned(),
    }
}

fn as_json(one: &SecretStatus) -> Value {
    let (kept, is_set) = match &one.place {
        SecretLocation::File => (json!("file"), true),
        SecretLocation::Keyring => (json!("keyring"), true),
        SecretLocation::Environment(variable, is_set) => (json!({ "env": variable }), *is_set),
        SecretLocation::Nowhere => (Value::Null, false),
    };
    let receivers: Vec<String> = one.receivers.iter().map(ToString::to_string).collect();
    json!({ "name": one.name, "kept": kept, "set": is_set, "for": receivers, "as": one.variable })
}

fn remove(
    host: &CliContext,
    settings: &config::SecretsToml,
    options: &RmOptions,
) -> Result<(), Fault> {
    let name = &options.name;
    if secret_store::forget(&host.environment, name)? {
        writeln!(crate::output::stderr().lock(), "`{name}` is removed")?;
        return Ok(());
    }
    let known = secret_store::list(&host.environment, settings)?;
    let fault = Fault::new(Blame::Caller, format!("no value is stored for `{name}`"));
    if let Some(SecretLocation::Environment(variable, _)) =
        known.iter().find(|one| one.name == *name).map(|one| &one.place)
    {
        return Err(fault.hint(format!("it comes from the variable {variable}")));
    }
    let names: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
    Err(match names.as_slice() {
        [] => fault,
        names => fault.hint(suggestion(name, names)),
    })
}
