//! An index of event hooks, so that an event evaluates only those it can trigger.
//!
//! Each hook is filed under its rarest exact key; one for several channels or kinds, under each.
//!
//! Must never: file a hook where an event that matches its triggers does not find it.

use std::collections::HashMap;

use agentry_protocol::event_hook::Triggers;
use agentry_protocol::principal::PrincipalKind;

use super::trigger::{MESSAGE, TriggerInput};

type EventHookBuckets = HashMap<Box<str>, Vec<u32>>;

#[derive(Clone, Debug, Default)]
pub(super) struct EventHookIndex {
    entity: EventHookBuckets,
    source: EventHookBuckets,
    name: EventHookBuckets,
    relationship: EventHookBuckets,
    channel: EventHookBuckets,
    kind: EventHookBuckets,
    // By kind of principal.
    rest: [Vec<u32>; PrincipalKind::ALL.len()],
}

/// Converts a position into the number of a hook.
pub(super) fn number(place: usize) -> u32 {
    u32::try_from(place).expect("there are fewer than 2^32 hooks")
}

impl EventHookIndex {
    pub(super) fn of<'a>(all: impl Iterator<Item = &'a Triggers>) -> Self {
        let mut index = Self::default();
        all.enumerate().for_each(|(place, triggers)| index.file(triggers, number(place)));
        index
    }

    fn file(&mut self, triggers: &Triggers, number: u32) {
        let (who, event) = (triggers.principal.as_ref(), triggers.event.as_ref());
        if let Some(who) = who {
            let exact = [
                (&mut self.entity, &who.entity_id),
                (&mut self.source, &who.source),
                (&mut self.name, &who.name),
                (&mut self.relationship, &who.relationship),
            ];
            for (shelf, key) in exact {
                if let Some(key) = key {
                    shelf.entry(key.as_str().into()).or_default().push(number);
                    return;
                }
            }
        }
        let kinds = event.map(|event| event.types.as_slice()).unwrap_or_default();
        let channels = event.map(|event| event.channels.as_slice()).unwrap_or_default();
        // Most events are messages, so this kind is no rare key.
        let is_rare = !kinds.is_empty() && !kinds.iter().any(|kind| kind == MESSAGE);
        let (shelf, keys) = match (is_rare, channels.is_empty()) {
            (true, _) | (false, true) => (&mut self.kind, kinds),
            (false, false) => (&mut self.channel, channels),
        };
        for (place, key) in keys.iter().enumerate() {
            // A repeated key must not trigger its hook twice.
            if !keys[..place].contains(key) {
                shelf.entry(key.as_str().into()).or_default().push(number);
            }
        }
        if keys.is_empty() {
            let wanted = who.and_then(|who| who.kind.as_ref());
            let fits = |kind: &PrincipalKind| wanted.is_none_or(|kinds| kinds.contains(kind));
            for kind in PrincipalKind::ALL.into_iter().filter(fits) {
                self.rest[kind as usize].push(number);
            }
        }
    }

    /// Calls `visit` once for each hook that the event may trigger, in no particular order.
    pub(super) fn each_candidate(&self, seen: &TriggerInput<'_>, mut visit: impl FnMut(u32)) {
        let principal = seen.principal;
        let mut shelf = |shelf: &EventHookBuckets, key: Option<&str>| {
            let found = key.filter(|_| !shelf.is_empty()).and_then(|key| shelf.get(key));
            found.into_iter().flatten().for_each(|number| visit(*number));
        };
        shelf(&self.entity, principal.entity_id.as_deref());
        shelf(&self.source, principal.source.as_deref());
        shelf(&self.name, principal.name.as_deref());
        shelf(&self.relationship, principal.relationship.as_deref());
        shelf(&self.channel, Some(&seen.inbound.place.channel));
        shelf(&self.kind, Some(seen.kind));
        self.rest[principal.kind as usize].iter().for_each(|number| visit(*number));
    }
}
