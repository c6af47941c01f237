//! Matches a policy against an event, and names the first key that differs.
//!
//! Must never: allocate; this runs for every policy of every event.

use agentry_agentfile::access::{PolicyCondition, PrincipalCondition};
use agentry_protocol::access::MatchKey;
use agentry_protocol::principal::PrincipalKind;

use super::{AccessQuery, RankedPolicy};

/// The pattern for every webhook or agent.
pub(super) const ANY: &str = "*";

/// The set of principal kinds that a policy can match, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PrincipalKinds(u8);

impl PrincipalKinds {
    pub(super) fn of(who: &PrincipalCondition) -> Self {
        let admits = |kind: PrincipalKind| {
            is_not(who.is_user, kind == PrincipalKind::Owner)
                && is_not(who.unknown, kind == PrincipalKind::Unknown)
                && is_not(who.system, kind == PrincipalKind::System)
                && (who.webhook.is_none() || kind == PrincipalKind::Webhook)
                && (who.agent.is_none() || kind == PrincipalKind::Agent)
        };
        let kinds = PrincipalKind::ALL.into_iter().filter(|kind| admits(*kind));
        Self(kinds.fold(0, |bits, kind| bits | 1 << kind as u8))
    }

    pub(super) fn has(self, kind: PrincipalKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn covers(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) fn shares(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn within(self, kinds: &[PrincipalKind]) -> bool {
        PrincipalKind::ALL.into_iter().all(|kind| !self.has(kind) || kinds.contains(&kind))
    }
}

fn is_not(said: Option<bool>, is: bool) -> bool {
    said.is_none_or(|said| said == is)
}

impl RankedPolicy {
    /// Returns the first key of the policy that does not match the event; None if all match.
    pub(super) fn mismatch(&self, asked: &AccessQuery<'_>) -> Option<MatchKey> {
        let who = &self.policy.who;
        let principal = asked.principal;
        if !self.kinds.has(principal.kind) {
            return Some(wrong_kind(who, principal.kind));
        }
        let named = |said: &Option<String>, is: &Option<String>| {
            said.as_deref().is_none_or(|said| said == ANY || is.as_deref() == Some(said))
        };
        let same = |said: &Option<String>, is: &Option<String>| said.is_none() || said == is;
        if !named(&who.webhook, &principal.source) {
            return Some(MatchKey::Webhook);
        }
        if !named(&who.agent, &principal.agent_id) {
            return Some(MatchKey::Agent);
        }
        if !same(&who.person_id, &principal.entity_id) {
            return Some(MatchKey::PersonId);
        }
        if !same(&who.relationship, &principal.relationship) {
            return Some(MatchKey::Relationship);
        }
        if !who.tags.iter().all(|tag| principal.tags.contains(tag)) {
            return Some(MatchKey::Tags);
        }
        let mut conditions = self.policy.conditions.iter();
        let first = wrong_condition(conditions.next()?, asked)?;
        let rest = conditions.all(|condition| wrong_condition(condition, asked).is_some());
        rest.then_some(first)
    }
}

fn wrong_kind(who: &PrincipalCondition, kind: PrincipalKind) -> MatchKey {
    if !is_not(who.is_user, kind == PrincipalKind::Owner) {
        MatchKey::IsUser
    } else if !is_not(who.unknown, kind == PrincipalKind::Unknown) {
        MatchKey::Unknown
    } else if !is_not(who.system, kind == PrincipalKind::System) {
        MatchKey::System
    } else if who.webhook.is_some() && kind != PrincipalKind::Webhook {
        MatchKey::Webhook
    } else {
        MatchKey::Agent
    }
}

/// Returns the first key of a condition that does not match the event.
fn wrong_condition(condition: &PolicyCondition, asked: &AccessQuery<'_>) -> Option<MatchKey> {
    let differs = |said: &Option<String>, is: Option<&str>| said.is_some() && said.as_deref() != is;
    if differs(&condition.channel, Some(asked.channel)) {
        return Some(MatchKey::Channel);
    }
    if condition.peer_kind.is_some() && condition.peer_kind != asked.peer_kind {
        return Some(MatchKey::PeerKind);
    }
    if differs(&condition.account, asked.account) {
        return Some(MatchKey::Account);
    }
    if differs(&condition.guild, asked.guild) {
        return Some(MatchKey::Guild);
    }
    if differs(&condition.hook_id, asked.hook_id) {
        return Some(MatchKey::HookId);
    }
    if differs(&condition.event_type, asked.event_type) {
        return Some(MatchKey::EventType);
    }
    let outside = condition.time.is_some_and(|window| !window.contains(asked.time));
    outside.then_some(MatchKey::Time)
}
