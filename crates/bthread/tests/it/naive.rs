//! The rules written down as plainly as possible, without index, sharing or cleverness.
//!
//! Must never: use anything of the engine but bids and patterns.

use agentry_bthread::{Bid, Flow, Lane, Spawner, Thread};

use crate::actors::{Actor, Ev};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Naive {
    pub(crate) threads: Vec<Actor>,
    pub(crate) urgent: Vec<Ev>,
    pub(crate) normal: Vec<Ev>,
    pub(crate) unheard: Vec<Ev>,
}

/// What was chosen: the event, and the lane if it came from outside.
pub(crate) type Picked = (Ev, Option<Lane>);

impl Naive {
    pub(crate) fn new(threads: Vec<Actor>) -> Naive {
        Naive { threads, urgent: Vec::new(), normal: Vec::new(), unheard: Vec::new() }
    }

    pub(crate) fn offer(&mut self, lane: Lane, event: Ev) {
        match lane {
            Lane::Urgent => self.urgent.push(event),
            Lane::Normal => self.normal.push(event),
        }
    }

    fn bids(&self) -> Vec<Bid<Ev>> {
        self.threads.iter().map(Thread::bid).collect()
    }

    pub(crate) fn is_blocked(&self, event: &Ev) -> bool {
        self.bids().iter().any(|bid| bid.blocks.iter().any(|pattern| pattern.matches(event)))
    }

    fn is_heard(&self, event: &Ev) -> bool {
        self.bids().iter().any(|bid| {
            bid.waits.iter().chain(&bid.interrupts).any(|pattern| pattern.matches(event))
                || bid.requests.contains(event)
        })
    }

    fn is_deliverable(&self, event: &Ev) -> bool {
        !self.is_blocked(event) && self.is_heard(event)
    }

    /// Every request that could be chosen, once each, and every deliverable event of a queue.
    pub(crate) fn enabled(&self) -> (Vec<Ev>, Vec<(Lane, Ev)>) {
        let mut inside: Vec<Ev> = Vec::new();
        for event in self.bids().into_iter().flat_map(|bid| bid.requests) {
            if !self.is_blocked(&event) && !inside.contains(&event) {
                inside.push(event);
            }
        }
        let mut outside: Vec<(Lane, Ev)> = Vec::new();
        for (lane, queue) in [(Lane::Urgent, &self.urgent), (Lane::Normal, &self.normal)] {
            for event in queue {
                let is_second = outside.iter().any(|(l, e)| *l == lane && e.kind == event.kind);
                if !is_second && self.is_deliverable(event) {
                    outside.push((lane, *event));
                }
            }
        }
        (inside, outside)
    }

    pub(crate) fn step(&mut self) -> Option<Picked> {
        if let Some(at) = self.urgent.iter().position(|event| self.is_deliverable(event)) {
            let event = self.urgent.remove(at);
            self.apply(&event);
            return Some((event, Some(Lane::Urgent)));
        }
        let requests = self.bids().into_iter().flat_map(|bid| bid.requests);
        if let Some(event) = requests.into_iter().find(|event| !self.is_blocked(event)) {
            self.apply(&event);
            return Some((event, None));
        }
        if let Some(at) = self.normal.iter().position(|event| self.is_deliverable(event)) {
            let event = self.normal.remove(at);
            self.apply(&event);
            return Some((event, Some(Lane::Normal)));
        }
        let before = self.clone();
        for queue in [&mut self.urgent, &mut self.normal] {
            for event in std::mem::take(queue) {
                if before.is_blocked(&event) {
                    queue.push(event);
                } else {
                    self.unheard.push(event);
                }
            }
        }
        None
    }

    fn apply(&mut self, event: &Ev) {
        let mut stay = Vec::new();
        let mut spawner = Spawner::new();
        for mut thread in std::mem::take(&mut self.threads) {
            let bid = thread.bid();
            let flow = if bid.interrupts.iter().any(|pattern| pattern.matches(event)) {
                thread.interrupted(event)
            } else if bid.waits.iter().any(|pattern| pattern.matches(event))
                || bid.requests.contains(event)
            {
                thread.on(event, &mut spawner)
            } else {
                Flow::Go
            };
            if flow == Flow::Go {
                stay.push(thread);
            }
        }
        stay.extend(spawner.into_spawned());
        self.threads = stay;
    }
}
