//! Compares what old and changed policies decide about an event.
//!
//! Must never: call two decisions different that permit the same; the source of a power is ignored.

use std::sync::Arc;

use agentry_protocol::access::{
    Credentials, Decision, Delivery, DisclosureLevel, Effect, Grant, NameList, SessionChoice,
};
use agentry_protocol::tool::ToolName;

use super::tools::names_tool;
use super::{AccessPolicies, AccessQuery, allows_tool};

/// The circumstances in which an event was decided.
#[derive(Clone, Copy, Debug)]
pub struct DecisionContext<'a> {
    /// The grants that existed.
    pub grants: &'a [Grant],
    /// The tools that existed.
    pub tools: &'a [ToolName],
    /// The time, in milliseconds since 1970.
    pub now: u64,
}

/// Credentials by name; None means all.
pub type CredentialNames = Option<Vec<String>>;

/// The differences between two decisions: pairs of before and after, None where they are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionDiff {
    /// The effect: allow or deny.
    pub effect: Option<(Effect, Effect)>,
    /// Tools that become available.
    pub tools_gained: Vec<ToolName>,
    /// Tools that are no longer available.
    pub tools_lost: Vec<ToolName>,
    /// The credentials that may be used.
    pub credentials: Option<(CredentialNames, CredentialNames)>,
    /// The level of data that may be disclosed.
    pub data: Option<(DisclosureLevel, DisclosureLevel)>,
    /// The session and the persona that answers there.
    pub session: Option<(Option<String>, Option<String>)>,
    /// The way a message reaches a busy session.
    pub delivery: Option<(Option<Delivery>, Option<Delivery>)>,
    /// True if the answer is delayed.
    pub delay_response: Option<(bool, bool)>,
}

/// Returns how the decision of `new` about an event differs from that of `old`; None if equal.
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

/// Compares the effects of two decisions, as far as these tools go; None if they are equal.
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
    /// The answer may differ for any tool.
    AnyTool,
    /// The answer may differ only for tools on one of these lists.
    On(Vec<&'a NameList>),
}

impl<'a> ChangedLists<'a> {
    fn of(before: &'a Decision, after: &'a Decision) -> Self {
        let (old, new) = (&before.tools, &after.tools);
        // These lists also restrict tools that are not on them.
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

/// Adds the differing middle of two series of lists, without their common beginning and end.
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
