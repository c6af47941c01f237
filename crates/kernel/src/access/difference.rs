//! What changed policies would have decided otherwise about an event.
//!
//! Must never: call two decisions different that let the same happen; who gave a power is not compared.

use std::sync::Arc;

use agentry_protocol::access::{
    Credentials, Decision, Delivery, DisclosureLevel, Effect, Grant, NameList, SessionChoice,
};
use agentry_protocol::tool::ToolName;

use super::tools::names_tool;
use super::{AccessPolicies, AccessQuery, allows_tool};

/// What surrounded an event when it was decided.
#[derive(Clone, Copy, Debug)]
pub struct DecisionContext<'a> {
    /// The grants there were.
    pub grants: &'a [Grant],
    /// The tools there were.
    pub tools: &'a [ToolName],
    /// When, in milliseconds since 1970.
    pub now: u64,
}

/// Credentials by name; none in place of a list means all.
pub type CredentialNames = Option<Vec<String>>;

/// What would be otherwise; before and after, where they differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionDiff {
    /// Whether it is let in.
    pub effect: Option<(Effect, Effect)>,
    /// Tools that may be called now.
    pub tools_gained: Vec<ToolName>,
    /// Tools that may not be called any more.
    pub tools_lost: Vec<ToolName>,
    /// The credentials.
    pub credentials: Option<(CredentialNames, CredentialNames)>,
    /// How much may be told.
    pub data: Option<(DisclosureLevel, DisclosureLevel)>,
    /// The session and who answers there.
    pub session: Option<(Option<String>, Option<String>)>,
    /// How it reaches a busy session.
    pub delivery: Option<(Option<Delivery>, Option<Delivery>)>,
    /// Whether the answer waits.
    pub delay_response: Option<(bool, bool)>,
}

/// What `new` would decide otherwise than `old` about an event.
pub fn difference(
    old: &AccessPolicies,
    new: &AccessPolicies,
    asked: &AccessQuery<'_>,
    seen: &DecisionContext<'_>,
) -> Option<DecisionDiff> {
    let before = old.decide(asked, seen.grants, seen.now);
    let after = new.decide(asked, seen.grants, seen.now);
    compare(&before, &after, seen.tools)
}

/// What one decision lets happen otherwise than another, as far as these tools go.
pub fn compare(before: &Decision, after: &Decision, tools: &[ToolName]) -> Option<DecisionDiff> {
    let change = between(before, after, tools);
    (change != DecisionDiff::default()).then_some(change)
}

fn between(before: &Decision, after: &Decision, tools: &[ToolName]) -> DecisionDiff {
    let mut change = DecisionDiff {
        effect: differing(before.effect, after.effect),
        credentials: differing(names(&before.credentials), names(&after.credentials)),
        data: differing(before.data.level, after.data.level),
        session: differing(place(&before.session), place(&after.session)),
        delivery: differing(delivery(before), delivery(after)),
        delay_response: differing(delays(before), delays(after)),
        ..DecisionDiff::default()
    };
    let changed = ChangedLists::of(before, after);
    for tool in tools.iter().filter(|tool| changed.may_concern(tool)) {
        let may = |decision| allows_tool(decision, tool).is_allowed();
        match (may(before), may(after)) {
            (false, true) => change.tools_gained.push(tool.clone()),
            (true, false) => change.tools_lost.push(tool.clone()),
            (true, true) | (false, false) => {}
        }
    }
    change
}

/// The lists of tools in which two decisions differ.
enum ChangedLists<'a> {
    /// Any tool may come out otherwise.
    AnyTool,
    /// Only tools that stand on one of these.
    On(Vec<&'a NameList>),
}

impl<'a> ChangedLists<'a> {
    fn of(before: &'a Decision, after: &'a Decision) -> Self {
        let (old, new) = (&before.tools, &after.tools);
        // These bound what is not on them.
        let same_bounds = old.only == new.only && old.ceilings == new.ceilings;
        if before.effect != after.effect || !same_bounds {
            return Self::AnyTool;
        }
        let mut lists = Vec::new();
        add_changed(&old.allow, &new.allow, &mut lists);
        add_changed(&old.deny, &new.deny, &mut lists);
        add_changed(&old.granted, &new.granted, &mut lists);
        Self::On(lists)
    }

    fn may_concern(&self, tool: &ToolName) -> bool {
        match self {
            Self::AnyTool => true,
            Self::On(lists) => lists.iter().any(|list| names_tool(list, tool)),
        }
    }
}

/// What is left of two runs of lists without their common beginning and end.
fn add_changed<'a>(
    old: &'a [Arc<NameList>],
    new: &'a [Arc<NameList>],
    changed: &mut Vec<&'a NameList>,
) {
    let start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[start..], &new[start..]);
    let pairs = old.iter().rev().zip(new.iter().rev());
    let end = pairs.take_while(|(old, new)| old == new).count();
    let rest = old[..old.len() - end].iter().chain(&new[..new.len() - end]);
    changed.extend(rest.map(|list| &**list));
}

fn differing<T: PartialEq>(before: T, after: T) -> Option<(T, T)> {
    (before != after).then_some((before, after))
}

fn names(credentials: &Credentials) -> CredentialNames {
    match credentials {
        Credentials::All(_) => None,
        Credentials::Named(named) => {
            let mut names: Vec<String> = named.iter().map(|one| one.name.to_string()).collect();
            names.sort_unstable();
            names.dedup();
            Some(names)
        }
    }
}

fn place(session: &Option<SessionChoice>) -> Option<String> {
    let session = session.as_ref()?;
    Some(match &session.persona {
        Some(persona) => format!("{} as {persona}", session.key),
        None => session.key.clone(),
    })
}

fn delivery(decision: &Decision) -> Option<Delivery> {
    decision.modifiers.delivery.as_ref().map(|said| said.value)
}

fn delays(decision: &Decision) -> bool {
    decision.modifiers.delay_response.as_ref().is_some_and(|said| said.value)
}
