//! The template of a session's key: plain text, and placeholders for values of an event.
//!
//! Must never: let an inserted value alone be the first level of a key; it could name any session.

use std::fmt;

/// The template of a session's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTemplate {
    /// The parts of the key, in order; never empty.
    pub parts: Vec<KeyPart>,
}

/// A part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPart {
    /// Text, used as written.
    Text(String),
    /// A placeholder for a value of the event.
    Value(KeyVariable),
}

/// A value of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyVariable {
    /// The name of the sender.
    PrincipalName,
    /// The id of the sender.
    PrincipalId,
    /// The sender's relationship to the owner.
    PrincipalRelationship,
    /// The source of a webhook.
    Source,
    /// The channel.
    Channel,
    /// The id of the other side.
    PeerId,
    /// Your account that received the event.
    Account,
    /// The server or workspace.
    Guild,
}

impl KeyVariable {
    /// All variables.
    pub const ALL: [Self; 8] = [
        Self::PrincipalName,
        Self::PrincipalId,
        Self::PrincipalRelationship,
        Self::Source,
        Self::Channel,
        Self::PeerId,
        Self::Account,
        Self::Guild,
    ];

    /// Returns the variable as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PrincipalName => "principal.name",
            Self::PrincipalId => "principal.id",
            Self::PrincipalRelationship => "principal.relationship",
            Self::Source => "source",
            Self::Channel => "channel",
            Self::PeerId => "peer_id",
            Self::Account => "account",
            Self::Guild => "guild",
        }
    }

    /// True if only the owner chooses its value.
    fn is_the_owners(self) -> bool {
        match self {
            Self::Channel | Self::PrincipalRelationship => true,
            Self::PrincipalName
            | Self::PrincipalId
            | Self::Source
            | Self::PeerId
            | Self::Account
            | Self::Guild => false,
        }
    }
}

impl fmt::Display for KeyTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.parts {
            match part {
                KeyPart::Text(text) => f.write_str(text)?,
                KeyPart::Value(variable) => write!(f, "{{{}}}", variable.as_str())?,
            }
        }
        Ok(())
    }
}

impl KeyTemplate {
    /// Parses a template; an error is a message and its remedy.
    pub fn parse(text: &str) -> Result<Self, (String, String)> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find(['{', '}']) {
            let (before, at) = rest.split_at(start);
            push_text(&mut parts, before)?;
            let end = at.find('}').filter(|_| at.starts_with('{')).ok_or_else(|| {
                let help = "write a variable in single braces, as in `family:{principal.name}`";
                ("a brace has no partner".to_owned(), help.to_owned())
            })?;
            let name = &at[1..end];
            let variable = KeyVariable::ALL.into_iter().find(|one| one.as_str() == name);
            parts.push(KeyPart::Value(variable.ok_or_else(|| unknown(name))?));
            rest = &at[end + 1..];
        }
        push_text(&mut parts, rest)?;
        let template = Self { parts };
        template.check_levels()?;
        Ok(template)
    }

    /// Checks that no level is empty, and that the sender does not choose all of the first level.
    fn check_levels(&self) -> Result<(), (String, String)> {
        let mut levels: Vec<Vec<&KeyPart>> = vec![Vec::new()];
        for part in &self.parts {
            match part {
                KeyPart::Value(_) => levels.last_mut().into_iter().for_each(|one| one.push(part)),
                KeyPart::Text(text) => {
                    for (at, piece) in text.split(':').enumerate() {
                        if at > 0 {
                            levels.push(Vec::new());
                        }
                        if !piece.is_empty() {
                            levels.last_mut().into_iter().for_each(|one| one.push(part));
                        }
                    }
                }
            }
        }
        if levels.iter().any(Vec::is_empty) {
            let help = "write words or variables with one `:` between";
            return Err(("a part of the key is empty".to_owned(), help.to_owned()));
        }
        if let [KeyPart::Value(variable), ..] = self.parts.as_slice()
            && !variable.is_the_owners()
        {
            let name = variable.as_str();
            let why =
                format!("a key that begins with `{{{name}}}` could become that of any session");
            return Err((why, format!("put a word before it, as in `people:{{{name}}}`")));
        }
        Ok(())
    }
}

fn push_text(parts: &mut Vec<KeyPart>, text: &str) -> Result<(), (String, String)> {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "._@+:-".contains(sign);
    if let Some(odd) = text.chars().find(|sign| !is_sign(*sign)) {
        let help = "a key is letters, digits, `.`, `_`, `@`, `+`, `-`, with `:` between its levels";
        return Err((format!("a session key cannot hold {odd:?}"), help.to_owned()));
    }
    if !text.is_empty() {
        parts.push(KeyPart::Text(text.to_owned()));
    }
    Ok(())
}

fn unknown(name: &str) -> (String, String) {
    let known = KeyVariable::ALL.map(KeyVariable::as_str);
    let help = crate::diagnostic::suggestion(name, &known);
    (format!("nothing known of an event is called `{name}`"), help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_printed_as_it_was_written() {
        for text in [
            "main",
            "family:{principal.name}",
            "{channel}:group:{peer_id}",
            "unknown:{channel}:{principal.id}",
            "{principal.relationship}:{account}-{guild}",
            "webhook:{source}",
        ] {
            assert_eq!(KeyTemplate::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for text in [
            "",
            "a b",
            "a:",
            ":a",
            "a::b",
            "a:{principal.nam}",
            "a:{principal.name",
            "a}",
            "{{channel}}",
            "a:{}",
            "a%",
            "{principal.name}",
            "{peer_id}:x",
            "ä",
        ] {
            assert!(KeyTemplate::parse(text).is_err(), "{text}");
        }
    }
}
