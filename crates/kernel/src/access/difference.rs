//! What changed policies would have decided otherwise about an event.
//!
//! Must never: call two decisions different that let the same happen; who gave a power is not compared.

use agentry_protocol::access::{
    Credentials, DataLevel, Decision, Delivery, Effect, Grant, SessionChoice,
};
use agentry_protocol::tool::ToolName;

use super::{Access, Asked, allows_tool};

/// What surrounded an event when it was decided.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
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
pub struct Change {
    /// Whether it is let in.
    pub effect: Option<(Effect, Effect)>,
    /// Tools that may be called now.
    pub tools_gained: Vec<ToolName>,
    /// Tools that may not be called any more.
    pub tools_lost: Vec<ToolName>,
    /// The credentials.
    pub credentials: Option<(CredentialNames, CredentialNames)>,
    /// How much may be told.
    pub data: Option<(DataLevel, DataLevel)>,
    /// The session and who answers there.
    pub session: Option<(Option<String>, Option<String>)>,
    /// How it reaches a busy session.
    pub delivery: Option<(Option<Delivery>, Option<Delivery>)>,
    /// Whether the answer waits.
    pub delay_response: Option<(bool, bool)>,
}

/// What `new` would decide otherwise than `old` about an event.
pub fn difference(
    old: &Access,
    new: &Access,
    asked: &Asked<'_>,
    seen: &Seen<'_>,
) -> Option<Change> {
    let before = old.decide(asked, seen.grants, seen.now);
    let after = new.decide(asked, seen.grants, seen.now);
    let change = between(&before, &after, seen.tools);
    (change != Change::default()).then_some(change)
}

fn between(before: &Decision, after: &Decision, tools: &[ToolName]) -> Change {
    let mut change = Change {
        effect: differing(before.effect, after.effect),
        credentials: differing(names(&before.credentials), names(&after.credentials)),
        data: differing(before.data.level, after.data.level),
        session: differing(place(&before.session), place(&after.session)),
        delivery: differing(delivery(before), delivery(after)),
        delay_response: differing(delays(before), delays(after)),
        ..Change::default()
    };
    if before.tools == after.tools && before.effect == after.effect {
        return change;
    }
    for tool in tools {
        let may = |decision| allows_tool(decision, tool).is_allowed();
        match (may(before), may(after)) {
            (false, true) => change.tools_gained.push(tool.clone()),
            (true, false) => change.tools_lost.push(tool.clone()),
            (true, true) | (false, false) => {}
        }
    }
    change
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
