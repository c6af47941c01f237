//! Validation of the names, ids, tags and identities of entities.
//!
//! Must never: accept a word that a policy cannot name, or that contains invisible characters.

use agentry_protocol::inbound::EventId;
use agentry_protocol::intake::Identity;

use crate::diagnostics::escaped;
use crate::fault::{Blame, Fault};
use crate::limits::{ENTITY_NAME_CHARS_MAX, ENTITY_TAGS_MAX, ENTITY_WORD_CHARS_MAX};

/// Checks a name: one visible line of at most `ENTITY_NAME_CHARS_MAX` characters.
pub(super) fn name(text: &str) -> Result<String, Fault> {
    let name = text.trim();
    let is_plain = escaped(name) == *name && !name.contains(['\n', '\t']);
    if name.is_empty() || name.chars().count() > ENTITY_NAME_CHARS_MAX || !is_plain {
        let what = "--name is empty, too long, or has invisible characters";
        return Err(Fault::new(Blame::Caller, what)
            .hint(format!("write a name of at most {ENTITY_NAME_CHARS_MAX} characters")));
    }
    Ok(name.to_owned())
}

/// Checks an id that policies and grants can name.
pub(super) fn id(text: &str) -> Result<String, Fault> {
    word("id", text)
}

/// Derives an id from a name: lower case, with `-` for characters that an id cannot have.
pub(super) fn id_of(name: &str) -> Result<String, Fault> {
    let lower = name.to_lowercase();
    let parts = lower.split(|sign: char| !sign.is_ascii_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let made = parts.join("-");
    if made.is_empty() {
        Err(Fault::new(Blame::Caller, format!("cannot derive an id from `{name}`"))
            .hint("give one with --id"))
    } else {
        id(&made)
    }
}

/// Checks the word for a relationship to the owner.
pub(super) fn relationship(text: &str) -> Result<String, Fault> {
    word("relationship", text)
}

/// Adds a tag unless it is present. Fails if there are more than `ENTITY_TAGS_MAX`.
pub(super) fn add_tag(tags: &mut Vec<String>, text: &str) -> Result<(), Fault> {
    let tag = word("tag", text)?;
    if !tags.contains(&tag) {
        tags.push(tag);
    }
    if tags.len() > ENTITY_TAGS_MAX {
        let what = format!("an entity has at most {ENTITY_TAGS_MAX} tags");
        return Err(Fault::new(Blame::Caller, what));
    }
    Ok(())
}

/// Parses `channel:identifier`.
pub(super) fn identity(text: &str) -> Result<Identity, Fault> {
    let fault = |why: &str| {
        Fault::new(Blame::Caller, format!("`{}` is not an identity: {why}", escaped(text)))
            .hint("write the channel and the id there, such as discord:1234")
    };
    let (channel, identifier) =
        text.split_once(':').ok_or_else(|| fault("there is no `:` after a channel"))?;
    // An identifier has the same form as every other id of a channel.
    EventId::of(channel, identifier).map_err(|wrong| fault(&wrong.to_string()))?;
    Ok(Identity {
        channel: channel.to_owned(),
        identifier: identifier.to_owned(),
        account_id: None,
        is_owned: false,
    })
}

/// Checks the id of an account of ours.
pub(super) fn account(text: &str) -> Result<String, Fault> {
    word("account", text)
}

/// Returns true if both have the same channel and identifier.
pub(super) fn is_same(a: &Identity, b: &Identity) -> bool {
    a.channel == b.channel && a.identifier == b.identifier
}

/// Returns an identity as `channel:identifier`.
pub(super) fn written(identity: &Identity) -> String {
    format!("{}:{}", identity.channel, identity.identifier)
}

fn word(what: &str, text: &str) -> Result<String, Fault> {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "._-@".contains(sign);
    let is_word = text.starts_with(|sign: char| sign.is_ascii_alphanumeric())
        && text.chars().count() <= ENTITY_WORD_CHARS_MAX
        && text.chars().all(is_sign);
    if is_word {
        Ok(text.to_owned())
    } else {
        Err(Fault::new(Blame::Caller, format!("`{}` is not a valid {what}", escaped(text))).hint(
            format!(
                "write at most {ENTITY_WORD_CHARS_MAX} letters, digits, `.`, `_`, `-` and `@`, \
                 beginning with a letter or a digit"
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_from_a_name() {
        assert_eq!(id_of("Casey").unwrap(), "casey");
        assert_eq!(id_of("  Casey   O'Neil Jr. ").unwrap(), "casey-o-neil-jr");
        assert!(id_of("山田").is_err());
    }

    #[test]
    fn what_cannot_be_a_word_or_an_identity_is_refused() {
        for text in ["", "-a", "a b", "a\u{202e}", "ä", &"x".repeat(ENTITY_WORD_CHARS_MAX + 1)] {
            assert!(id(text).is_err(), "{text:?}");
        }
        for text in ["", "discord", "discord:", ":1", "Discord:1", "discord:a b", "discord:\n"] {
            assert!(identity(text).is_err(), "{text:?}");
        }
        assert_eq!(written(&identity("email:a@b.example").unwrap()), "email:a@b.example");
        for text in ["", "a\nb", "a\u{200b}b", &"x".repeat(ENTITY_NAME_CHARS_MAX + 1)] {
            assert!(name(text).is_err(), "{text:?}");
        }
    }
}
