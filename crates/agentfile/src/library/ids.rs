//! Checks which names of directories can be the id of an agent.
//!
//! Ids appear on command lines, in paths and on terminals. An id must not look like an option, hide
//! from a listing, send control codes to a terminal, or look like the id of another agent.
//!
//! Must never: accept an id with an invisible character.

use std::collections::BTreeMap;

use crate::diagnostic::{DiagnosticCode, FindingText, Findings};
use crate::limits::AGENT_ID_BYTES_MAX;

use super::discovery::{DefinitionKind, FoundDefinition};

/// Keeps the first of two definitions with one id, and reports the other.
pub(super) fn without_duplicates<'a>(
    found: Vec<FoundDefinition<'a>>,
    findings: &mut Findings,
) -> Vec<FoundDefinition<'a>> {
    let mut kept: BTreeMap<(DefinitionKind, String), String> = BTreeMap::new();
    let mut rest = Vec::with_capacity(found.len());
    for one in found {
        let key = (one.what.family(), one.id.clone());
        match kept.get(&key) {
            Some(first) => {
                let text = FindingText::new(format!(
                    "the {} `{}` is there already, in {first}",
                    one.what.noun(),
                    one.id
                ))
                .help("this one is not used; rename or remove it");
                findings.about(DiagnosticCode::DuplicateId, one.shown(), text);
            }
            None => {
                kept.insert(key, one.shown());
                rest.push(one);
            }
        }
    }
    rest
}

/// Returns the defect of an agent's id; `None` if the id can be used.
pub(super) fn defect(
    one: &FoundDefinition<'_>,
    known: &BTreeMap<String, String>,
) -> Option<(DiagnosticCode, FindingText)> {
    let shown = one.id.escape_debug();
    if let Some(why) = why_not(one) {
        let text = FindingText::new(format!("`{shown}` cannot be the id of an agent: {why}"));
        return Some((
            DiagnosticCode::AgentIdForm,
            text.help(format!("rename the directory, {}", such_as(&one.id))),
        ));
    }
    let first = known.get(&folded(&one.id)).filter(|first| **first != one.id)?;
    let text = FindingText::new(format!(
        "the ids of the agents `{shown}` and `{}` differ only in case",
        first.escape_debug()
    ));
    Some((DiagnosticCode::AgentIdCase, text.help("this one is not used; rename its directory")))
}

/// Returns the form of an id in which ids are compared.
pub(super) fn folded(id: &str) -> String {
    id.to_lowercase()
}

fn why_not(one: &FoundDefinition<'_>) -> Option<&'static str> {
    let own = one.directory().rsplit('/').next().unwrap_or_default();
    let is_of_root = one.id.rsplit('/').next() != Some(own);
    if one.id.len() > AGENT_ID_BYTES_MAX {
        return Some("it is too long");
    }
    if is_of_root {
        // The owner chose this directory, so almost any name is accepted.
        why_not_root(&one.id)
    } else {
        one.id.split('/').find_map(why_not_name)
    }
}

fn why_not_root(name: &str) -> Option<&'static str> {
    let is_seen = |c: char| {
        let is_accent = ('\u{300}'..='\u{36f}').contains(&c);
        let is_printed = !c.is_whitespace() && c.escape_debug().len() == 1;
        matches!(c, ' ' | '\\' | '\'' | '"') || is_accent || is_printed
    };
    match name {
        _ if name.starts_with('-') => Some("it begins with `-`"),
        _ if !name.chars().all(is_seen) => Some("it has a character that cannot be seen"),
        _ => None,
    }
}

fn why_not_name(name: &str) -> Option<&'static str> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    match name {
        "" => Some("a part of it is empty"),
        _ if name.starts_with('-') => Some("it begins with `-`"),
        _ if name.starts_with('.') => Some("it begins with a dot"),
        _ if !name.chars().all(is_plain) => {
            Some("it has something else than letters, digits, `-`, `_` and `.`")
        }
        _ => None,
    }
}

/// Returns a usable name as a suggestion.
fn such_as(id: &str) -> String {
    let name = id.rsplit('/').next().unwrap_or_default();
    let plain: String =
        name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect();
    let plain: String = plain.trim_start_matches(['-', '.']).chars().take(40).collect();
    if plain.is_empty() {
        "for example to `agent`".to_owned()
    } else {
        format!("for example to `{plain}`")
    }
}
