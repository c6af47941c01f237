//! `agentry access policies list` and `show`.
//!
//! Must never: list a policy that has an error as active.

use std::io::Write;
use std::process::ExitCode;

use agentry_agentfile::access::{Policy, STOCK, text_of};
use agentry_agentfile::diagnostic::suggestion;
use agentry_agentfile::skill::SkillLevel;
use agentry_protocol::access::Effect;
use serde_json::{Value, json};

use super::{PolicyListOptions, PolicyNameOptions};
use crate::cli_context::CliContext;
use crate::diagnostics::{escaped, visible_line};
use crate::fault::{Blame, Fault};

pub(super) fn run(host: &CliContext, options: &PolicyListOptions) -> Result<ExitCode, Fault> {
    let loaded = host.load(&options.dir, SkillLevel::Extended)?;
    let access = loaded.policies()?;
    let mut policies: Vec<&Policy> = access.policies().collect();
    if !options.priority {
        policies.sort_by_key(|policy| policy.name.value.clone());
    }
    let mut out = crate::output::stdout().lock();
    if options.json {
        let all: Vec<Value> = policies.iter().map(|policy| as_json(policy)).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let widest = policies.iter().map(|one| one.name.value.len()).max().unwrap_or_default();
    for policy in policies {
        let state = if policy.enabled { "on" } else { "off" };
        let (priority, name, place) = (policy.priority, &policy.name.value, place(policy));
        let line =
            format!("{priority:>3}  {state:<3}  {:<8}  {name:<widest$}  {place}", does(policy));
        writeln!(out, "{}", visible_line(&line))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn show(host: &CliContext, options: &PolicyNameOptions) -> Result<ExitCode, Fault> {
    let loaded = host.load(&options.dir, SkillLevel::Extended)?;
    let access = loaded.policies()?;
    let Some(policy) = access.policies().find(|one| *one.name.value == *options.name) else {
        return Err(unknown(&options.name, access.policies()));
    };
    let source = loaded.library.access.source(&policy.name.origin.file);
    let text = source.as_ref().and_then(|source| text_of(source, &options.name));
    let text = text.unwrap_or_default();
    let mut out = crate::output::stdout().lock();
    if options.json {
        let mut value = as_json(policy);
        value["text"] = json!(text);
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    // A comment, so that the output can be saved as a policy file.
    let state = if policy.enabled { "on" } else { "off" };
    let head = format!("# {}, {state}, priority {}", place(policy), policy.priority);
    writeln!(out, "{}\n{}", visible_line(&head), escaped(text))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns true if a policy is built into the binary.
pub(super) fn ships(policy: &Policy) -> bool {
    STOCK.iter().any(|(file, _)| **file == *policy.name.origin.file)
}

pub(super) fn unknown<'a>(name: &str, policies: impl Iterator<Item = &'a Policy>) -> Fault {
    let names: Vec<String> = policies.map(|one| one.name.value.to_string()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Fault::new(Blame::Caller, format!("there is no policy `{name}`")).hint(suggestion(name, &names))
}

fn does(policy: &Policy) -> &'static str {
    match (policy.effect, policy.only_modifies()) {
        (Effect::Deny, _) => "denies",
        (Effect::Allow, true) => "modifies",
        (Effect::Allow, false) => "allows",
    }
}

fn place(policy: &Policy) -> String {
    if ships(policy) {
        format!("built in ({})", policy.name.origin.file)
    } else {
        format!("{}:{}", policy.name.origin.file, policy.name.origin.line)
    }
}

fn as_json(policy: &Policy) -> Value {
    json!({
        "name": policy.name.value, "description": policy.description, "enabled": policy.enabled,
        "priority": policy.priority, "effect": policy.effect, "does": does(policy),
        "ceiling": policy.permissions.ceiling, "file": policy.name.origin.file,
        "line": policy.name.origin.line, "ships": ships(policy),
        "isolate": policy.session.as_ref().is_some_and(|session| session.isolate),
    })
}
