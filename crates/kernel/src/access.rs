//! Decides who may reach an agent and with which powers, from policies and grants.
//!
//! `compile` sorts and indexes the policies once; `AccessPolicies::decide` then answers for one
//! event. A matching policy that denies decides; otherwise one must allow, and the powers are
//! merged, each with its policy or grant. Later stages can only narrow the result.
//!
//! Must never: admit a principal that no policy allows, or read the clock; callers pass local time.

use std::collections::BTreeSet;
use std::sync::Arc;

use agentry_agentfile::access::{LocalTime, MINUTES_PER_DAY, Policy, TimeWindow};
use agentry_protocol::access::{
    AccessRecord, Decision, Effect, Grant, NameList, PolicyContribution, PolicyOutcome,
};
use agentry_protocol::inbound::{Inbound, PeerKind};
use agentry_protocol::principal::Principal;

mod difference;
mod examples;
mod findings;
mod grants;
mod index;
mod key;
mod matching;
mod merge;
mod tools;

pub use difference::{CredentialNames, DecisionContext, DecisionDiff, compare, difference};
pub use examples::examples_that_fail;
pub use findings::{Lint, findings};
pub use grants::{applies, is_active};
pub use key::{SessionKeyError, session_key, slug};
pub use tools::{ToolAnswer, allows_tool, bounds_allow, pattern_matches, resolved};

use index::PolicyIndex;
use matching::PrincipalKinds;

/// The facts about one event that policies match on.
#[derive(Clone, Copy, Debug)]
pub struct AccessQuery<'a> {
    /// The principal that speaks.
    pub principal: &'a Principal,
    /// The sender's ID as claimed by the channel.
    pub sender_id: Option<&'a str>,
    /// The name of the channel.
    pub channel: &'a str,
    /// The kind of peer: a person, a group, …
    pub peer_kind: Option<PeerKind>,
    /// The ID of the peer: the person or group at the other end.
    pub peer_id: Option<&'a str>,
    /// The account of ours that received the event.
    pub account: Option<&'a str>,
    /// The server or workspace of the channel.
    pub guild: Option<&'a str>,
    /// The hook that a timer started.
    pub hook_id: Option<&'a str>,
    /// The type of the event.
    pub event_type: Option<&'a str>,
    /// The local time of the owner.
    pub time: LocalTime,
}

impl<'a> AccessQuery<'a> {
    /// Builds the query for an inbound of a principal at a moment.
    pub fn of(principal: &'a Principal, inbound: &'a Inbound, time: LocalTime) -> Self {
        Self {
            principal,
            sender_id: Some(&inbound.sender.sender_id),
            channel: &inbound.place.channel,
            peer_kind: inbound.place.peer_kind,
            peer_id: inbound.place.peer_id.as_deref(),
            account: inbound.place.account_id.as_deref(),
            guild: inbound.place.guild.as_deref(),
            hook_id: inbound.hook_id.as_deref(),
            event_type: inbound.event_type.as_deref(),
            time,
        }
    }
}

/// Compiled policies, ready to decide.
#[derive(Clone, Debug)]
pub struct AccessPolicies {
    // Invariant: sorted by rank (descending priority, then name); includes disabled policies.
    policies: Vec<RankedPolicy>,
    // Invariant: numbers of enabled policies, each found by every event that it can match.
    index: PolicyIndex,
}

/// A policy with its precomputed rank and match data.
#[derive(Clone, Debug)]
struct RankedPolicy {
    policy: Policy,
    role: PolicyEffect,
    kinds: PrincipalKinds,
    allow: Option<Arc<NameList>>,
    deny: Option<Arc<NameList>>,
    only: Option<Arc<NameList>>,
}

/// The effect of a policy that matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PolicyEffect {
    Allows,
    Denies,
    Modifies,
}

impl PolicyEffect {
    fn part(self) -> PolicyOutcome {
        match self {
            Self::Allows => PolicyOutcome::Allowed,
            Self::Denies => PolicyOutcome::Denied,
            Self::Modifies => PolicyOutcome::Modified,
        }
    }
}

/// Sorts and indexes policies.
pub fn compile(policies: &[Policy]) -> AccessPolicies {
    let mut policies: Vec<RankedPolicy> = policies.iter().map(RankedPolicy::new).collect();
    policies.sort_by(|a, b| {
        let by_priority = b.policy.priority.cmp(&a.policy.priority);
        by_priority.then_with(|| a.policy.name.value.cmp(&b.policy.name.value))
    });
    let index = PolicyIndex::of(&policies);
    AccessPolicies { policies, index }
}

impl RankedPolicy {
    fn new(policy: &Policy) -> Self {
        let role = match policy.effect {
            Effect::Deny => PolicyEffect::Denies,
            Effect::Allow if policy.only_modifies() => PolicyEffect::Modifies,
            Effect::Allow => PolicyEffect::Allows,
        };
        let rule = policy.permissions.tools.as_ref();
        let list = |names: &[Arc<str>]| {
            let from =
                agentry_protocol::access::PermissionSource::Policy(policy.name.value.clone());
            Arc::new(NameList { from, names: names.to_vec() })
        };
        let allow = rule.and_then(|rule| rule.allow.as_deref()).map(list);
        let deny = rule.filter(|rule| !rule.deny.is_empty()).map(|rule| list(&rule.deny));
        let the_rest = rule.is_some_and(|rule| rule.deny_the_rest);
        let only = the_rest.then(|| allow.clone().unwrap_or_else(|| list(&[])));
        Self {
            policy: policy.clone(),
            role,
            kinds: PrincipalKinds::of(&policy.who),
            allow,
            deny,
            only,
        }
    }

    fn name(&self) -> &Arc<str> {
        &self.policy.name.value
    }
}

impl AccessPolicies {
    /// Returns the minutes of a day at which a policy starts or stops; empty if none does.
    pub fn boundary_minutes(&self) -> BTreeSet<u16> {
        let on = self.policies.iter().filter(|one| one.policy.enabled);
        let conditions = on.flat_map(|one| &one.policy.conditions);
        let windows = conditions.filter_map(|one| one.time);
        let turns = windows.flat_map(|window| match window {
            TimeWindow::Daily { start, end } => [start, end % MINUTES_PER_DAY],
            TimeWindow::Weekends | TimeWindow::Weekdays => [0, 0],
        });
        turns.collect()
    }

    /// Decides about one event. `now` is in milliseconds since 1970 and only for grants.
    pub fn decide(&self, asked: &AccessQuery<'_>, grants: &[Grant], now: u64) -> Decision {
        let mut matched: Vec<u32> = Vec::with_capacity(8);
        self.index.each_candidate(asked, |number| {
            if self.policies[number as usize].mismatch(asked).is_none() {
                matched.push(number);
            }
        });
        matched.sort_unstable();
        let matched: Vec<&RankedPolicy> =
            matched.into_iter().map(|number| &self.policies[number as usize]).collect();
        merge::decision(&matched, asked, grants, now)
    }

    /// Returns every policy's part in a decision, the first in rank first.
    pub fn parts(&self, asked: &AccessQuery<'_>) -> Vec<PolicyContribution> {
        let part = |one: &RankedPolicy| match (one.policy.enabled, one.mismatch(asked)) {
            (false, _) => PolicyOutcome::Disabled,
            (true, Some(key)) => PolicyOutcome::NotMatched(key),
            (true, None) => one.role.part(),
        };
        let parts = self.policies.iter();
        parts
            .map(|one| PolicyContribution { policy: one.name().clone(), part: part(one) })
            .collect()
    }

    /// Returns the names of the policies evaluated for an event: its exact keys permit them.
    pub fn evaluated(&self, asked: &AccessQuery<'_>) -> Vec<Arc<str>> {
        let mut numbers = Vec::new();
        self.index.each_candidate(asked, |number| numbers.push(number));
        numbers.sort_unstable();
        numbers.into_iter().map(|number| self.policies[number as usize].name().clone()).collect()
    }

    /// Returns all policies, the first in rank first.
    pub fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.policies.iter().map(|one| &one.policy)
    }

    /// Builds the record of a decision; the caller adds its id, event and times.
    pub fn record(
        &self,
        asked: &AccessQuery<'_>,
        decision: Decision,
        id: agentry_protocol::AccessId,
    ) -> AccessRecord {
        AccessRecord {
            id,
            timestamp: 0,
            event_id: None,
            channel: asked.channel.to_owned(),
            sender_identifier: asked.sender_id.unwrap_or_default().to_owned(),
            peer_kind: asked.peer_kind,
            account: asked.account.map(str::to_owned),
            principal: asked.principal.clone(),
            policies_evaluated: self.evaluated(asked),
            decision,
            resolved: None,
            processing_time_ms: 0.0,
        }
    }
}
