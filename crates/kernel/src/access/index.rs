//! An index of policies by exact keys, so that an event evaluates only those it can match.
//!
//! Each policy has one entry, under its rarest exact key; one bound to channels, one per channel.
//!
//! Must never: file a policy where a matching event does not find it.

use std::collections::HashMap;

use agentry_protocol::principal::PrincipalKind;

use super::matching::ANY;
use super::{AccessQuery, RankedPolicy};

type PolicyBuckets = HashMap<Box<str>, Vec<u32>>;

#[derive(Clone, Debug, Default)]
pub(super) struct PolicyIndex {
    person: PolicyBuckets,
    source: PolicyBuckets,
    agent: PolicyBuckets,
    relationship: PolicyBuckets,
    tag: PolicyBuckets,
    channel: PolicyBuckets,
    // By kind of principal.
    rest: [Vec<u32>; PrincipalKind::ALL.len()],
}

impl PolicyIndex {
    pub(super) fn of(policies: &[RankedPolicy]) -> Self {
        let mut index = Self::default();
        for (number, one) in policies.iter().enumerate() {
            if one.policy.enabled {
                let number = u32::try_from(number).expect("a file holds fewer than 2^32 policies");
                index.file(one, number);
            }
        }
        index
    }

    fn file(&mut self, one: &RankedPolicy, number: u32) {
        let who = &one.policy.who;
        let exact = |name: &Option<String>| name.as_deref().filter(|name| *name != ANY).is_some();
        let (shelf, key) = match who {
            who if who.person_id.is_some() => (&mut self.person, who.person_id.as_deref()),
            who if exact(&who.webhook) => (&mut self.source, who.webhook.as_deref()),
            who if exact(&who.agent) => (&mut self.agent, who.agent.as_deref()),
            who if who.relationship.is_some() => {
                (&mut self.relationship, who.relationship.as_deref())
            }
            who => (&mut self.tag, who.tags.first().map(String::as_str)),
        };
        if let Some(key) = key {
            shelf.entry(key.into()).or_default().push(number);
            return;
        }
        let conditions = &one.policy.conditions;
        if !conditions.is_empty() && conditions.iter().all(|one| one.channel.is_some()) {
            let mut channels: Vec<&str> =
                conditions.iter().filter_map(|one| one.channel.as_deref()).collect();
            channels.sort_unstable();
            channels.dedup();
            for channel in channels {
                self.channel.entry(channel.into()).or_default().push(number);
            }
            return;
        }
        for kind in PrincipalKind::ALL.into_iter().filter(|kind| one.kinds.has(*kind)) {
            self.rest[kind as usize].push(number);
        }
    }

    /// Calls `visit` once for each policy that the event may match, in no particular order.
    pub(super) fn each_candidate(&self, asked: &AccessQuery<'_>, mut visit: impl FnMut(u32)) {
        let principal = asked.principal;
        let mut shelf = |shelf: &PolicyBuckets, key: Option<&str>| {
            let found = key.filter(|_| !shelf.is_empty()).and_then(|key| shelf.get(key));
            found.into_iter().flatten().for_each(|number| visit(*number));
        };
        shelf(&self.person, principal.entity_id.as_deref());
        shelf(&self.source, principal.source.as_deref());
        shelf(&self.agent, principal.agent_id.as_deref());
        shelf(&self.relationship, principal.relationship.as_deref());
        for (at, tag) in principal.tags.iter().enumerate() {
            // A repeated tag must not visit its policies twice.
            if !principal.tags[..at].contains(tag) {
                shelf(&self.tag, Some(tag));
            }
        }
        shelf(&self.channel, Some(asked.channel));
        self.rest[principal.kind as usize].iter().for_each(|number| visit(*number));
    }
}
