//! A grant: a power for a time, with its principals, resources and end.
//!
//! Must never: decide whether a grant is active. The kernel decides, with the time that it gets.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access_terms::DisclosureLevel;
use crate::id::GrantId;
use crate::limits::RESOURCE_BYTES_MAX;

/// A power given for a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// The id of the grant.
    pub id: GrantId,
    /// The principals that get the power.
    pub principal_query: PrincipalQuery,
    /// The resources that the grant gives.
    pub resources: Vec<Resource>,
    /// The time of creation, in milliseconds since 1970.
    pub created_at: u64,
    /// The end, in milliseconds since 1970; none means no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// The time of the revocation, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<u64>,
    /// The person or program that gave the grant.
    pub granted_by: String,
    /// The reason, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The id of the permission request that led to the grant; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_context: Option<String>,
    /// The conditions on place.
    #[serde(default, skip_serializing_if = "GrantConditions::is_empty")]
    pub conditions: GrantConditions,
}

/// A query for the principals of a grant. All fields must match; an empty query matches none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrincipalQuery {
    /// The entity with this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_id: Option<String>,
    /// Every entity with this relationship to the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relationship: Option<String>,
    /// Every entity with all of these tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// The places where a grant is active; everywhere if empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantConditions {
    /// The grant is active only on this channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The grant is active only in the session with this key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl GrantConditions {
    /// Returns true if the grant is active everywhere.
    pub fn is_empty(&self) -> bool {
        self.channel.is_none() && self.session.is_none()
    }
}

/// A resource of a grant: `tool:x` or `x`, `credential:x`, `data:level`, `exec:pattern`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Resource {
    /// Tools with this name or pattern.
    Tool(String),
    /// The credential with this name.
    Credential(String),
    /// The level of the owner's data that may be disclosed.
    Data(DisclosureLevel),
    /// Commands that match this pattern.
    Exec(String),
}

impl JsonSchema for Resource {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Resource".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "`tool:x` or `x`, `credential:x`, `data:level`, `exec:pattern`.",
            "type": "string",
            "minLength": 1,
            "maxLength": RESOURCE_BYTES_MAX
        })
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) => write!(f, "tool:{name}"),
            Self::Credential(name) => write!(f, "credential:{name}"),
            Self::Data(level) => write!(f, "data:{level}"),
            Self::Exec(pattern) => write!(f, "exec:{pattern}"),
        }
    }
}

impl FromStr for Resource {
    type Err = WrongResource;

    fn from_str(text: &str) -> Result<Self, WrongResource> {
        let fail = |why| Err(WrongResource { text: shortened(text), why });
        if text.len() > RESOURCE_BYTES_MAX {
            return fail("it is too long");
        }
        if text.chars().any(char::is_control) {
            return fail("it holds a sign that cannot be printed");
        }
        let (kind, rest) = text.split_once(':').unwrap_or(("tool", text));
        if rest.is_empty() {
            return fail("nothing is named");
        }
        let is_name = !rest.chars().any(|sign| sign.is_whitespace() || sign == ':');
        match kind {
            "tool" if is_name => Ok(Self::Tool(rest.to_owned())),
            "credential" if is_name => Ok(Self::Credential(rest.to_owned())),
            "tool" | "credential" => fail("a name has no spaces and no colon"),
            "data" => rest
                .parse()
                .map(Self::Data)
                .or_else(|_| fail("a data level is none, minimal, contextual or full")),
            "exec" => Ok(Self::Exec(rest.to_owned())),
            _ => {
                fail("it begins with tool:, credential:, data: or exec:, or is the name of a tool")
            }
        }
    }
}

impl TryFrom<String> for Resource {
    type Error = WrongResource;

    fn try_from(text: String) -> Result<Self, WrongResource> {
        text.parse()
    }
}

impl From<Resource> for String {
    fn from(resource: Resource) -> Self {
        resource.to_string()
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(64).collect()
}

/// The error for a text that is not a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongResource {
    text: String,
    why: &'static str,
}

impl fmt::Display for WrongResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a resource: {}", self.text.escape_debug(), self.why)
    }
}

impl std::error::Error for WrongResource {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_is_read_back_as_it_was_written() {
        let cases = [
            ("send_email", Resource::Tool("send_email".to_owned())),
            ("tool:calendar_*", Resource::Tool("calendar_*".to_owned())),
            ("github/search", Resource::Tool("github/search".to_owned())),
            ("credential:google", Resource::Credential("google".to_owned())),
            ("data:restricted", Resource::Data(DisclosureLevel::Contextual)),
            ("exec:git log *", Resource::Exec("git log *".to_owned())),
            ("exec:a:b", Resource::Exec("a:b".to_owned())),
        ];
        for (text, resource) in cases {
            assert_eq!(text.parse(), Ok(resource.clone()), "{text}");
            assert_eq!(resource.to_string().parse(), Ok(resource.clone()));
            let json = serde_json::to_string(&resource).unwrap();
            assert_eq!(serde_json::from_str::<Resource>(&json).unwrap(), resource);
        }
    }

    #[test]
    fn what_is_no_resource_is_refused() {
        let long = "x".repeat(RESOURCE_BYTES_MAX + 1);
        for text in ["", "tool:", "data:work", "file:x", "a b", "tool:a:b", "exec:", "x\n", &long] {
            assert!(text.parse::<Resource>().is_err(), "{text:?}");
        }
    }
}
