//! How a decision bounds the tools, and who says so.
//!
//! Must never: let a tool pass under another of its names.

use std::fmt;

use agentry_protocol::access::{
    Decision, Effect, NameList, PermissionSource, ResolvedTools, ToolBounds,
};
use agentry_protocol::tool::{self, ToolName};

/// What a decision says about one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolAnswer<'a> {
    /// It may be called.
    Allowed {
        /// Who says so.
        by: &'a PermissionSource,
        /// The name or pattern.
        pattern: &'a str,
    },
    /// Somebody denies it by name.
    DeniedByName {
        /// Who says so.
        by: &'a PermissionSource,
        /// The name or pattern.
        pattern: &'a str,
    },
    /// Somebody denies all but their own list, and it is not on it.
    NotAmongOnly {
        /// Who says so.
        by: &'a PermissionSource,
    },
    /// It is not under a ceiling.
    AboveCeiling {
        /// Whose ceiling.
        by: &'a PermissionSource,
    },
    /// Nobody allows it.
    NotAllowed,
}

impl<'a> ToolAnswer<'a> {
    /// Who says so; nobody where nobody said anything.
    pub fn decided_by(self) -> Option<&'a PermissionSource> {
        match self {
            Self::Allowed { by, .. }
            | Self::DeniedByName { by, .. }
            | Self::NotAmongOnly { by }
            | Self::AboveCeiling { by } => Some(by),
            Self::NotAllowed => None,
        }
    }

    /// Whether it may be called.
    pub fn is_allowed(self) -> bool {
        match self {
            Self::Allowed { .. } => true,
            Self::DeniedByName { .. }
            | Self::NotAmongOnly { .. }
            | Self::AboveCeiling { .. }
            | Self::NotAllowed => false,
        }
    }
}

impl fmt::Display for ToolAnswer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allowed { by, pattern } => write!(f, "allowed by {by} ({pattern})"),
            Self::DeniedByName { by, pattern } => write!(f, "denied by {by} ({pattern})"),
            Self::NotAmongOnly { by } => write!(f, "{by} denies all but its own tools"),
            Self::AboveCeiling { by } => write!(f, "above the ceiling of {by}"),
            Self::NotAllowed => f.write_str("no policy and no grant allows it"),
        }
    }
}

/// Whether a tool may be called under a decision, and who says so.
pub fn allows_tool<'a>(decision: &'a Decision, name: &ToolName) -> ToolAnswer<'a> {
    if decision.effect == Effect::Deny {
        return ToolAnswer::NotAllowed;
    }
    bounds_allow(&decision.tools, name)
}

/// Whether a tool may be called within the bounds of a decision that allows, and who says so.
pub fn bounds_allow<'a>(bounds: &'a ToolBounds, name: &ToolName) -> ToolAnswer<'a> {
    let name = name.as_str();
    // Looked up once: the dictionary is long, and there may be many lists.
    let others = tool::find_known_tool(name).map(|known| known.aliases).unwrap_or_default();
    let refused = bounds.deny.iter().find_map(|list| denied_by(list, name, others));
    if let Some((by, pattern)) = refused {
        return ToolAnswer::DeniedByName { by, pattern };
    }
    if let Some((by, pattern)) = bounds.granted.iter().find_map(|list| named_by(list, name)) {
        return ToolAnswer::Allowed { by, pattern };
    }
    if let Some(list) = bounds.only.iter().find(|list| named_by(list, name).is_none()) {
        return ToolAnswer::NotAmongOnly { by: &list.from };
    }
    if let Some(list) = bounds.ceilings.iter().find(|list| named_by(list, name).is_none()) {
        return ToolAnswer::AboveCeiling { by: &list.from };
    }
    match bounds.allow.iter().find_map(|list| named_by(list, name)) {
        Some((by, pattern)) => ToolAnswer::Allowed { by, pattern },
        None => ToolAnswer::NotAllowed,
    }
}

/// Sorts tools into those that may be called and those that may not.
pub fn resolved<'t>(
    decision: &Decision,
    tools: impl IntoIterator<Item = &'t ToolName>,
) -> ResolvedTools {
    let mut resolved = ResolvedTools::default();
    for name in tools {
        match allows_tool(decision, name).is_allowed() {
            true => resolved.tools_allowed.push(name.to_string()),
            false => resolved.tools_denied.push(name.to_string()),
        }
    }
    resolved
}

fn named_by<'a>(list: &'a NameList, name: &str) -> Option<(&'a PermissionSource, &'a str)> {
    let pattern = list.names.iter().find(|pattern| pattern_matches(pattern, name))?;
    Some((&list.from, pattern))
}

/// Whether a list names a tool under any of its names.
pub(super) fn names_tool(list: &NameList, name: &ToolName) -> bool {
    let others =
        tool::find_known_tool(name.as_str()).map(|known| known.aliases).unwrap_or_default();
    denied_by(list, name.as_str(), others).is_some()
}

/// A pattern that denies holds for every name that a tool has.
fn denied_by<'a>(
    list: &'a NameList,
    name: &str,
    others: &[&str],
) -> Option<(&'a PermissionSource, &'a str)> {
    let is_denied = |pattern: &str| {
        pattern_matches(pattern, name) || others.iter().any(|other| pattern_matches(pattern, other))
    };
    let pattern = list.names.iter().find(|pattern| is_denied(pattern))?;
    Some((&list.from, pattern))
}

/// Whether a text fits a pattern: `*` is any text, `?` any one sign.
pub fn pattern_matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut from) = (0, 0);
    // Where the last `*` stands, and how much of the text it has eaten so far.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(sign) if *sign == b'?' || *sign == text[from] => {
                at += 1;
                from += 1;
            }
            Some(_) | None => match star {
                Some((place, eaten)) => {
                    star = Some((place, eaten + 1));
                    at = place + 1;
                    from = eaten + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|sign| *sign == b'*')
}
