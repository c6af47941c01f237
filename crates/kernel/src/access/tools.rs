//! Bounds on tools within a decision, with the policy or grant behind each answer.
//!
//! Must never: allow a denied tool under another of its names.

use std::fmt;

use agentry_protocol::access::{
    Decision, Effect, NameList, PermissionSource, ResolvedTools, ToolBounds,
};
use agentry_protocol::tool::{self, ToolName};

/// The answer of a decision for one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolAnswer<'a> {
    /// A policy or grant allows the tool.
    Allowed {
        /// The policy or grant that allows it.
        by: &'a PermissionSource,
        /// The name or pattern that matched.
        pattern: &'a str,
    },
    /// A policy denies the tool by name.
    DeniedByName {
        /// The policy that denies it.
        by: &'a PermissionSource,
        /// The name or pattern that matched.
        pattern: &'a str,
    },
    /// A policy denies all tools but its own list, which lacks this one.
    NotAmongOnly {
        /// The policy with that list.
        by: &'a PermissionSource,
    },
    /// The tool is outside of a ceiling.
    AboveCeiling {
        /// The policy with that ceiling.
        by: &'a PermissionSource,
    },
    /// No policy and no grant allows the tool.
    NotAllowed,
}

impl<'a> ToolAnswer<'a> {
    /// Returns the policy or grant that decided; None if no policy names the tool.
    pub fn decided_by(self) -> Option<&'a PermissionSource> {
        match self {
            Self::Allowed { by, .. }
            | Self::DeniedByName { by, .. }
            | Self::NotAmongOnly { by }
            | Self::AboveCeiling { by } => Some(by),
            Self::NotAllowed => None,
        }
    }

    /// Returns true if the tool may be called.
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

/// Decides if a tool may be called under a decision, and names the policy or grant.
pub fn allows_tool<'a>(decision: &'a Decision, name: &ToolName) -> ToolAnswer<'a> {
    if decision.effect == Effect::Deny {
        return ToolAnswer::NotAllowed;
    }
    bounds_allow(&decision.tools, name)
}

/// Decides if a tool may be called within bounds, and names the policy or grant.
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

/// Sorts tools into allowed and denied ones.
pub fn resolved<'t>(
    decision: &Decision,
    tools: impl IntoIterator<Item = &'t ToolName>,
) -> ResolvedTools {
    let mut resolved = ResolvedTools::default();
    for name in tools {
        if allows_tool(decision, name).is_allowed() {
            resolved.tools_allowed.push(name.to_string());
        } else {
            resolved.tools_denied.push(name.to_string());
        }
    }
    resolved
}

fn named_by<'a>(list: &'a NameList, name: &str) -> Option<(&'a PermissionSource, &'a str)> {
    let pattern = list.names.iter().find(|pattern| pattern_matches(pattern, name))?;
    Some((&list.from, pattern))
}

/// Returns true if a list matches any of the tool's names.
pub(super) fn names_tool(list: &NameList, name: &ToolName) -> bool {
    let others =
        tool::find_known_tool(name.as_str()).map(|known| known.aliases).unwrap_or_default();
    denied_by(list, name.as_str(), others).is_some()
}

/// Matches a denying list, whose patterns apply to every name of a tool.
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

/// Matches a text against a pattern: `*` is any text, `?` any one byte.
pub fn pattern_matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut from) = (0, 0);
    // The position of the last `*`, and the end of the text that it has matched so far.
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
