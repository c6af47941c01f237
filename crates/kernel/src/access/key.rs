//! A session's key from its template and what is known of an event.
//!
//! Values are lower-cased and written so that none can add a level to the key or be taken for another:
//! what an id may not hold is written as `%` and two digits, and only a name's spaces become `-`.
//!
//! Must never: leave a place empty, or put in a `:` that the template does not have.

use agentry_agentfile::access::{KeyPart, KeyTemplate, KeyVariable};
use agentry_protocol::principal::PrincipalKind;

use super::AccessQuery;
use crate::limits::SESSION_KEY_BYTES_MAX;

/// Why there is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionKeyError {
    /// Nothing is known that could stand in this place.
    Missing(KeyVariable),
    /// It comes out longer than a key may be.
    TooLong,
}

/// The key, with all values in their places.
pub fn session_key(
    template: &KeyTemplate,
    asked: &AccessQuery<'_>,
) -> Result<String, SessionKeyError> {
    let mut key = String::with_capacity(48);
    for part in &template.parts {
        match part {
            KeyPart::Text(text) => key.push_str(text),
            KeyPart::Value(variable) => {
                let before = key.len();
                let value = value_of(*variable, asked).unwrap_or_default();
                match variable {
                    KeyVariable::PrincipalName => push_name(&mut key, value),
                    KeyVariable::PrincipalId
                    | KeyVariable::PrincipalRelationship
                    | KeyVariable::Source
                    | KeyVariable::Channel
                    | KeyVariable::PeerId
                    | KeyVariable::Account
                    | KeyVariable::Guild => push_id(&mut key, value),
                }
                if key.len() == before {
                    return Err(SessionKeyError::Missing(*variable));
                }
            }
        }
        if key.len() > SESSION_KEY_BYTES_MAX {
            return Err(SessionKeyError::TooLong);
        }
    }
    Ok(key)
}

/// What is known of an event; a stranger's id is the one that the channel gives.
fn value_of<'a>(variable: KeyVariable, asked: &AccessQuery<'a>) -> Option<&'a str> {
    let principal = asked.principal;
    match variable {
        KeyVariable::PrincipalName => principal.name.as_deref(),
        KeyVariable::PrincipalId => match principal.kind {
            PrincipalKind::Webhook => principal.source.as_deref(),
            PrincipalKind::Agent => principal.agent_id.as_deref(),
            PrincipalKind::Unknown => asked.sender_id,
            PrincipalKind::Owner | PrincipalKind::Known | PrincipalKind::System => {
                principal.entity_id.as_deref()
            }
        },
        KeyVariable::PrincipalRelationship => principal.relationship.as_deref(),
        KeyVariable::Source => principal.source.as_deref(),
        KeyVariable::Channel => Some(asked.channel),
        KeyVariable::PeerId => asked.peer_id,
        KeyVariable::Account => asked.account,
        KeyVariable::Guild => asked.guild,
    }
}

/// An id as it stands in a key: it adds no level, and no two ids look alike.
pub fn slug(id: &str) -> String {
    let mut key = String::with_capacity(id.len());
    push_id(&mut key, id);
    key
}

/// A name as people read it: letters of any script, words joined by `-`.
fn push_name(key: &mut String, name: &str) {
    for (at, word) in name.split_whitespace().enumerate() {
        if at > 0 {
            key.push('-');
        }
        for sign in word.chars() {
            match sign.is_alphanumeric() {
                true => key.extend(sign.to_lowercase()),
                false => push_sign(key, sign),
            }
        }
    }
}

/// An id, so that two ids that differ in more than case never look alike.
fn push_id(key: &mut String, id: &str) {
    id.chars().for_each(|sign| push_sign(key, sign));
}

fn push_sign(key: &mut String, sign: char) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    if sign.is_ascii_alphanumeric() || "._@+-".contains(sign) {
        key.push(sign.to_ascii_lowercase());
        return;
    }
    let mut bytes = [0; 4];
    for byte in sign.encode_utf8(&mut bytes).bytes() {
        key.push('%');
        key.push(DIGITS[usize::from(byte >> 4)].into());
        key.push(DIGITS[usize::from(byte & 15)].into());
    }
}
