//! Principals named on the command line: a kind of sender, a known entity, or an invented one.
//!
//! Must never: treat a word that matches no entity as an unknown sender.

use agentry_protocol::intake::Entity;
use agentry_protocol::principal::{Principal, PrincipalKind};

use agentry_agentfile::diagnostic::suggestion;

use crate::fault::{Blame, Fault};

/// Parses `owner`, `webhook:stripe`, `relationship:friend`, or the id or name of an entity.
pub(super) fn principal(words: &[String], entities: &[Entity]) -> Result<Principal, Fault> {
    if let [word] = words
        && let Some(principal) = kind(word)
    {
        // The owner speaks with the relationship and tags of the owner's entity.
        let owner = entities.iter().find(|entity| entity.is_user);
        let owner = owner.filter(|_| principal.kind == PrincipalKind::Owner);
        return Ok(owner.map_or(principal, speaker));
    }
    let mut made_up = Principal::of(PrincipalKind::Known);
    for word in words {
        match word.split_once(':').filter(|(_, rest)| !rest.is_empty()) {
            Some(("relationship", one)) => made_up.relationship = Some(one.to_owned()),
            Some(("tag", one)) => made_up.tags.push(one.to_owned()),
            Some(("name", one)) => made_up.name = Some(one.to_owned()),
            Some(("id", one)) => made_up.entity_id = Some(one.to_owned()),
            Some(_) | None if words.len() == 1 => return known(word, entities),
            Some(_) | None => return Err(strange(word)),
        }
    }
    Ok(made_up)
}

/// Parses a kind of sender that is no entity.
fn kind(word: &str) -> Option<Principal> {
    let of = Principal::of;
    match word.split_once(':').filter(|(_, rest)| !rest.is_empty()) {
        None => match word {
            "owner" => Some(of(PrincipalKind::Owner)),
            "unknown" => Some(of(PrincipalKind::Unknown)),
            "system" => Some(of(PrincipalKind::System)),
            _ => None,
        },
        Some(("webhook", source)) => {
            Some(Principal { source: Some(source.to_owned()), ..of(PrincipalKind::Webhook) })
        }
        Some(("agent", id)) => {
            Some(Principal { agent_id: Some(id.to_owned()), ..of(PrincipalKind::Agent) })
        }
        Some(_) => None,
    }
}

/// Returns the principal of an entity.
pub(crate) fn speaker(entity: &Entity) -> Principal {
    let kind = if entity.is_user { PrincipalKind::Owner } else { PrincipalKind::Known };
    Principal {
        entity_id: Some(entity.id.clone()),
        name: Some(entity.name.clone()),
        relationship: entity.relationship.clone(),
        tags: entity.tags.clone(),
        ..Principal::of(kind)
    }
}

fn known(word: &str, entities: &[Entity]) -> Result<Principal, Fault> {
    if let Some(entity) = entities.iter().find(|entity| entity.id == *word) {
        return Ok(speaker(entity));
    }
    let named: Vec<&Entity> =
        entities.iter().filter(|entity| entity.name.eq_ignore_ascii_case(word)).collect();
    match named.as_slice() {
        [entity] => Ok(speaker(entity)),
        [] => {
            let mut all: Vec<&str> = vec!["owner", "unknown", "system"];
            all.extend(entities.iter().flat_map(|one| [one.id.as_str(), one.name.as_str()]));
            Err(Fault::new(Blame::Caller, format!("there is no entity `{word}`")).hint(format!(
                "{} (or describe an invented person: relationship:friend)",
                suggestion(word, &all)
            )))
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|one| one.id.as_str()).collect();
            let what = format!("several entities are called `{word}`: {}", ids.join(", "));
            Err(Fault::new(Blame::Caller, what).hint("use the id of one of them"))
        }
    }
}

fn strange(word: &str) -> Fault {
    Fault::new(Blame::Caller, format!("`{word}` cannot be combined with other words")).hint(
        "an invented person is relationship:x, tag:x, name:x and id:x; all others are one word",
    )
}
