//! Builds a session key from its template and the facts about an event.
//!
//! Values are lower-cased and escaped so that none can add a level to the key or look like another:
//! characters not allowed in an ID become `%` and two digits, and only a name's spaces become `-`.
//!
//! Must never: leave a variable empty, or insert a `:` that the template does not have.

use agentry_agentfile::access::{KeyPart, KeyTemplate, KeyVariable};
use agentry_protocol::principal::PrincipalKind;

use super::AccessQuery;
use crate::limits::SESSION_KEY_BYTES_MAX;

/// The reason why no key can be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionKeyError {
    /// The event has no value for this variable.
    Missing(KeyVariable),
    /// The key exceeds the limit.
    TooLong,
}

/// Builds the key from the template, with a value for each variable.
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

/// Returns the event's value of a variable; an unknown sender has the ID that the channel gives.
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

/// Escapes an ID for a key: it adds no level, and different IDs stay different.
pub fn slug(id: &str) -> String {
    let mut key = String::with_capacity(id.len());
    push_id(&mut key, id);
    key
}

/// Appends a readable name: letters of any script, words joined by `-`.
fn push_name(key: &mut String, name: &str) {
    for (at, word) in name.split_whitespace().enumerate() {
        if at > 0 {
            key.push('-');
        }
        for sign in word.chars() {
            if sign.is_alphanumeric() {
                key.extend(sign.to_lowercase());
            } else {
                push_sign(key, sign);
            }
        }
    }
}

/// Appends an ID so that IDs that differ in more than case stay different.
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
