//! `agentry audit show`: the full record of a decision.
//!
//! Must never: leave out a part of the record.

use std::io::{self, Write};

use agentry_protocol::AccessId;
use agentry_protocol::access::{AccessRecord, AttributedName, Credentials, NameList};
use agentry_protocol::inbound::EventId;
use agentry_store::Ledger;

use super::{AuditShowOptions, own_zone};
use crate::bootstrap::{self, store_fault};
use crate::cli_context::CliContext;
use crate::diagnostics::visible_line;
use crate::fault::{Blame, Fault};
use crate::timezone::OwnerTimeZone;

pub(super) fn run(host: &CliContext, options: &AuditShowOptions) -> Result<(), Fault> {
    let zone = own_zone(host)?;
    let ledger = bootstrap::open_ledger(host)?;
    let id = find(&ledger, &options.id)?;
    let record = ledger.decision(&id).map_err(store_fault)?;
    let record =
        record.ok_or_else(|| Fault::new(Blame::Caller, format!("there is no decision `{id}`")))?;
    let mut out = crate::output::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&record)?)?
    } else {
        write(&mut out, &record, &zone)?
    }
    Ok(())
}

/// Finds a decision by its id, or by its event; only the id of an event has a colon.
fn find(ledger: &Ledger, text: &str) -> Result<AccessId, Fault> {
    let Ok(event) = EventId::try_from(text.to_owned()) else {
        return ledger.find_access(text).map_err(store_fault);
    };
    let found = ledger.decision_about(&event).map_err(store_fault)?;
    found.ok_or_else(|| {
        Fault::new(Blame::Caller, format!("there is no decision about the event `{event}`"))
            .hint("`agentry audit list` lists all decisions")
    })
}

fn write(out: &mut dyn Write, record: &AccessRecord, zone: &OwnerTimeZone) -> io::Result<()> {
    for (what, line) in lines(record, zone) {
        writeln!(out, "{what:<20} {}", visible_line(&line))?;
    }
    Ok(())
}

fn lines(record: &AccessRecord, zone: &OwnerTimeZone) -> Vec<(&'static str, String)> {
    let (decision, principal) = (&record.decision, &record.principal);
    let none = || "-".to_owned();
    let or_none = |text: Option<String>| text.unwrap_or_else(none);
    let mut lines = vec![
        ("id", record.id.to_string()),
        ("time", format!("{} ({})", zone.shown(record.timestamp), zone.name())),
        ("event", or_none(record.event_id.as_ref().map(ToString::to_string))),
        ("channel", record.channel.clone()),
        ("sender", record.sender_identifier.clone()),
        ("peer_kind", or_none(record.peer_kind.map(|kind| kind.to_string()))),
        ("account", or_none(record.account.clone())),
        ("principal_type", principal.kind.to_string()),
        ("principal_id", or_none(principal.entity_id.clone())),
        ("principal_name", or_none(principal.name.clone())),
        ("relationship", or_none(principal.relationship.clone())),
        ("tags", joined(principal.tags.iter())),
    ];
    lines.extend(principal.source.clone().map(|source| ("source", source)));
    lines.extend(principal.agent_id.clone().map(|agent| ("agent", agent)));
    lines.push(("effect", decision.effect.to_string()));
    lines.extend(decision.deny_reason.as_ref().map(|why| ("why", why.to_string())));
    let bounds = &decision.tools;
    let lists = [
        ("tools allowed", &bounds.allow),
        ("tools at most", &bounds.ceilings),
        ("tools only", &bounds.only),
        ("tools denied", &bounds.deny),
        ("tools granted", &bounds.granted),
    ];
    for (what, lists) in lists {
        lines.extend(lists.iter().map(|list| (what, names(list))));
    }
    if let Some(resolved) = &record.resolved {
        lines.push(("could call", joined(resolved.tools_allowed.iter())));
        lines.push(("could not call", joined(resolved.tools_denied.iter())));
    }
    lines.push(("credentials", credentials(&decision.credentials)));
    lines.push(("data", format!("{} ({})", decision.data.level, decision.data.from)));
    if !decision.exec.is_empty() {
        lines.push(("commands", joined(decision.exec.iter().map(traced))));
    }
    if let Some(session) = &decision.session {
        lines.push(("session", format!("{} (policy {})", session.key, session.policy)));
        lines.extend(session.persona.as_ref().map(|one| ("persona", one.to_string())));
    }
    let modifiers = &decision.modifiers;
    let delivery = modifiers.delivery.as_ref();
    let delivery = delivery.map(|said| format!("{} (policy {})", said.value, said.policy));
    lines.extend(delivery.map(|line| ("queue_mode", line)));
    let delayed = modifiers.delay_response.as_ref();
    let delayed = delayed.map(|said| format!("{} (policy {})", said.value, said.policy));
    lines.extend(delayed.map(|line| ("delayed", line)));
    for part in &decision.matched {
        lines.push(("policy", format!("{} {}", part.policy, part.part)));
    }
    lines.push(("policies_evaluated", joined(record.policies_evaluated.iter())));
    lines.push(("grants", joined(decision.grants.iter())));
    lines.push(("took", format!("{} ms", record.processing_time_ms)));
    lines
}

fn joined<T: ToString>(items: impl Iterator<Item = T>) -> String {
    let words: Vec<String> = items.map(|item| item.to_string()).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

fn names(list: &NameList) -> String {
    format!("{} ({})", joined(list.names.iter()), list.from)
}

fn traced(one: &AttributedName) -> String {
    format!("{} ({})", one.name, one.from)
}

fn credentials(credentials: &Credentials) -> String {
    match credentials {
        Credentials::All(from) => format!("all ({from})"),
        Credentials::Named(named) => joined(named.iter().map(traced)),
    }
}
