//! Known people and programs: added, linked to their identities, tagged and removed.
//!
//! Must never: accept a word that a policy cannot name, or that contains invisible characters.

use agentry_kernel::legible_text::is_hidden;
use agentry_protocol::event::Event;
use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::{AccessChange, Entity, EntityKind, Identity};
use agentry_store::Ledger;

use super::{CommandError, record_alone};
use crate::limits::{ENTITY_NAME_CHARS_MAX, ENTITY_TAGS_MAX, ENTITY_WORD_CHARS_MAX};

/// An entity to add.
pub struct EntityRequest {
    /// The name that the owner uses.
    pub name: String,
    /// The id for policies and grants; None derives one from the name.
    pub id: Option<String>,
    /// The relationship to the owner.
    pub relationship: Option<String>,
    /// True if the entity is the owner on other channels.
    pub is_owner: bool,
    /// The tags.
    pub tags: Vec<String>,
    /// The identities.
    pub identities: Vec<Identity>,
}

/// A change of the tags of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagChange {
    /// Add the tag, unless it is there.
    Add(String),
    /// Remove the tag, if it is there.
    Remove(String),
}

/// Adds an entity.
///
/// # Errors
/// If a word of it is not valid, if its id is taken, or if there is an owner already.
pub fn add(ledger: &Ledger, request: EntityRequest) -> Result<Entity, CommandError> {
    let all = ledger.entities()?;
    let name = checked_name(&request.name)?;
    let id = match &request.id {
        Some(id) => word("id", id)?,
        None => id_of_name(&name)?,
    };
    if let Some(other) = all.iter().find(|one| one.id == id) {
        return Err(CommandError::EntityIdTaken { id, name: other.name.clone() });
    }
    if let Some(owner) = all.iter().find(|one| one.is_user && request.is_owner) {
        return Err(CommandError::OwnerExists(owner.id.clone()));
    }
    let mut identities: Vec<Identity> = Vec::new();
    for identity in request.identities {
        let identity = checked_identity(identity)?;
        if !identities.contains(&identity) {
            identities.push(identity);
        }
    }
    let mut tags: Vec<String> = Vec::new();
    for tag in &request.tags {
        add_tag(&mut tags, tag)?;
    }
    let relationship = request.relationship.map(|text| word("relationship", &text)).transpose()?;
    let (kind, is_user) = (EntityKind::Person, request.is_owner);
    keep(ledger, Entity { id, kind, name, is_user, relationship, tags, identities })
}

/// Adds an identity to an entity; an identity that it has gets the new account and mark.
///
/// # Errors
/// If there is no such entity, or if the identity is not valid or belongs to another entity.
pub fn link(ledger: &Ledger, id: &str, identity: Identity) -> Result<Entity, CommandError> {
    let mut entity = find(ledger, id)?;
    let identity = checked_identity(identity)?;
    entity.identities.retain(|one| !is_same(one, &identity));
    entity.identities.push(identity);
    keep(ledger, entity)
}

/// Removes an identity from an entity.
///
/// # Errors
/// If there is no such entity, or if it does not have the identity.
pub fn unlink(ledger: &Ledger, id: &str, identity: &Identity) -> Result<Entity, CommandError> {
    let mut entity = find(ledger, id)?;
    let before = entity.identities.len();
    entity.identities.retain(|one| !is_same(one, identity));
    if entity.identities.len() == before {
        let identity = written(identity);
        return Err(CommandError::UnknownIdentity { entity: entity.id, identity });
    }
    keep(ledger, entity)
}

/// Changes the tags of an entity; without a difference nothing is recorded.
///
/// # Errors
/// If there is no such entity, or if a tag is not valid.
pub fn change_tags(
    ledger: &Ledger,
    id: &str,
    changes: &[TagChange],
) -> Result<Entity, CommandError> {
    let before = find(ledger, id)?;
    let mut entity = before.clone();
    for change in changes {
        match change {
            TagChange::Add(tag) => add_tag(&mut entity.tags, tag)?,
            TagChange::Remove(tag) => entity.tags.retain(|one| one != tag),
        }
    }
    if entity == before { Ok(entity) } else { keep(ledger, entity) }
}

/// Removes an entity, and returns it as it was.
///
/// # Errors
/// If there is no such entity.
pub fn remove(ledger: &Ledger, id: &str) -> Result<Entity, CommandError> {
    let entity = find(ledger, id)?;
    let change = AccessChange::EntityRemoved { entity: entity.id.clone() };
    record_alone(ledger, Event::Access(change))?;
    Ok(entity)
}

/// Parses an identity, written as `channel:identifier`.
///
/// # Errors
/// If the text is no channel and an id there.
pub fn parse_identity(text: &str) -> Result<Identity, CommandError> {
    let Some((channel, identifier)) = text.split_once(':') else {
        let why = "there is no `:` after a channel".to_owned();
        return Err(CommandError::WrongIdentity { text: text.to_owned(), why });
    };
    checked_identity(Identity {
        channel: channel.to_owned(),
        identifier: identifier.to_owned(),
        account_id: None,
        is_owned: false,
    })
}

/// Returns an identity as `channel:identifier`.
pub fn written(identity: &Identity) -> String {
    format!("{}:{}", identity.channel, identity.identifier)
}

fn find(ledger: &Ledger, id: &str) -> Result<Entity, CommandError> {
    let found = ledger.entities()?.into_iter().find(|entity| entity.id == id);
    found.ok_or_else(|| CommandError::UnknownEntity(id.to_owned()))
}

fn keep(ledger: &Ledger, entity: Entity) -> Result<Entity, CommandError> {
    let change = AccessChange::EntityChanged { entity: Box::new(entity.clone()) };
    record_alone(ledger, Event::Access(change))?;
    Ok(entity)
}

/// Checks a name: one visible line of at most `ENTITY_NAME_CHARS_MAX` characters.
fn checked_name(text: &str) -> Result<String, CommandError> {
    let name = text.trim();
    let is_odd = name.chars().any(|sign| sign.is_control() || is_hidden(sign));
    if name.is_empty() || name.chars().count() > ENTITY_NAME_CHARS_MAX || is_odd {
        return Err(CommandError::EntityName);
    }
    Ok(name.to_owned())
}

/// Derives an id from a name: lower case, with `-` for characters that an id cannot have.
fn id_of_name(name: &str) -> Result<String, CommandError> {
    let lower = name.to_lowercase();
    let parts = lower.split(|sign: char| !sign.is_ascii_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let id = parts.join("-");
    if id.is_empty() {
        return Err(CommandError::NoIdInName(name.to_owned()));
    }
    word("id", &id)
}

fn add_tag(tags: &mut Vec<String>, text: &str) -> Result<(), CommandError> {
    let tag = word("tag", text)?;
    if !tags.contains(&tag) {
        tags.push(tag);
    }
    if tags.len() > ENTITY_TAGS_MAX { Err(CommandError::TooManyTags) } else { Ok(()) }
}

fn checked_identity(identity: Identity) -> Result<Identity, CommandError> {
    // An identifier has the same form as every other id of a channel.
    EventId::of(&identity.channel, &identity.identifier).map_err(|wrong| {
        CommandError::WrongIdentity { text: written(&identity), why: wrong.to_string() }
    })?;
    let account_id = identity.account_id.map(|text| word("account", &text)).transpose()?;
    Ok(Identity { account_id, ..identity })
}

/// Returns true if both have the same channel and identifier.
fn is_same(a: &Identity, b: &Identity) -> bool {
    a.channel == b.channel && a.identifier == b.identifier
}

fn word(what: &'static str, text: &str) -> Result<String, CommandError> {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "._-@".contains(sign);
    let is_word = text.starts_with(|sign: char| sign.is_ascii_alphanumeric())
        && text.chars().count() <= ENTITY_WORD_CHARS_MAX
        && text.chars().all(is_sign);
    if is_word {
        return Ok(text.to_owned());
    }
    Err(CommandError::EntityWord { what, text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_from_a_name() {
        assert_eq!(id_of_name("Casey").unwrap(), "casey");
        assert_eq!(id_of_name("  Casey   O'Neil Jr. ").unwrap(), "casey-o-neil-jr");
        assert!(id_of_name("山田").is_err());
    }

    #[test]
    fn what_cannot_be_a_word_or_an_identity_is_refused() {
        for text in ["", "-a", "a b", "a\u{202e}", "ä", &"x".repeat(ENTITY_WORD_CHARS_MAX + 1)] {
            assert!(word("id", text).is_err(), "{text:?}");
        }
        for text in ["", "discord", "discord:", ":1", "Discord:1", "discord:a b", "discord:\n"] {
            assert!(parse_identity(text).is_err(), "{text:?}");
        }
        assert_eq!(written(&parse_identity("email:a@b.example").unwrap()), "email:a@b.example");
        for text in ["", "a\nb", "a\u{200b}b", &"x".repeat(ENTITY_NAME_CHARS_MAX + 1)] {
            assert!(checked_name(text).is_err(), "{text:?}");
        }
    }
}
