//! An index from event kinds to the threads concerned.
//!
//! Only a cache over the bids: it can be dropped and rebuilt at any time, and narrows searches.
//!
//! Must never: decide anything, or be part of a program's equality, hash or stored form.

use std::{ops::Range, slice};

use crate::bid::{Bid, Pattern, ProgramEvent};

/// The relation of a bid to a kind of event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Relation {
    // The bid requests it, waits for it or is interrupted by it.
    Move,
    Block,
}

const RELATIONS: [Relation; 2] = [Relation::Move, Relation::Block];

/// Thread positions, ascending and unique.
type Positions = Vec<u32>;

#[derive(Clone, Debug)]
pub(crate) struct BidIndex<E: ProgramEvent> {
    // Invariant: ascending and unique; `concerned` has one entry for each. Searching a short sorted
    // list is faster than hashing.
    kinds: Vec<E::Kind>,
    concerned: Vec<[Positions; RELATIONS.len()]>,
    requesting: Positions,
}

impl<E: ProgramEvent> BidIndex<E> {
    pub(crate) fn build<'a>(bids: impl Iterator<Item = &'a Bid<E>>) -> Self
    where
        E: 'a,
    {
        let mut index =
            BidIndex { kinds: Vec::new(), concerned: Vec::new(), requesting: Vec::new() };
        for (position, bid) in bids.enumerate() {
            index.add(position, bid);
        }
        index
    }

    pub(crate) fn add(&mut self, position: usize, bid: &Bid<E>) {
        let position = narrow(position);
        for relation in RELATIONS {
            for kind in kinds(bid, relation) {
                let place = self.kinds.binary_search(&kind).unwrap_or_else(|place| {
                    self.kinds.insert(place, kind);
                    self.concerned.insert(place, Default::default());
                    place
                });
                insert(&mut self.concerned[place][relation as usize], position);
            }
        }
        if !bid.requests.is_empty() {
            insert(&mut self.requesting, position);
        }
    }

    pub(crate) fn remove(&mut self, position: usize, bid: &Bid<E>) {
        let position = narrow(position);
        for relation in RELATIONS {
            for kind in kinds(bid, relation) {
                if let Ok(place) = self.kinds.binary_search(&kind) {
                    remove(&mut self.concerned[place][relation as usize], position);
                }
            }
        }
        if !bid.requests.is_empty() {
            remove(&mut self.requesting, position);
        }
    }

    /// Updates the index for a changed bid. Most moves keep the kinds of a bid and cost nothing.
    pub(crate) fn replace(&mut self, position: usize, before: &Bid<E>, after: &Bid<E>) {
        // A request that becomes a wait of the same kind still changes `requesting`.
        let same = before.requests.is_empty() == after.requests.is_empty()
            && RELATIONS
                .iter()
                .all(|relation| kinds(before, *relation).eq(kinds(after, *relation)));
        if !same {
            self.remove(position, before);
            self.add(position, after);
        }
    }

    pub(crate) fn concerned(&self, relation: Relation, kind: E::Kind) -> &[u32] {
        match self.kinds.binary_search(&kind) {
            Ok(place) => &self.concerned[place][relation as usize],
            Err(_) => &[],
        }
    }

    pub(crate) fn requesting(&self) -> &[u32] {
        &self.requesting
    }
}

/// The threads to search: all, or those that the index names.
pub(crate) enum Candidates<'a> {
    All(Range<usize>),
    Listed(slice::Iter<'a, u32>),
}

impl Iterator for Candidates<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        match self {
            Candidates::All(range) => range.next(),
            Candidates::Listed(positions) => positions.next().map(|position| *position as usize),
        }
    }
}

fn kinds<E: ProgramEvent>(bid: &Bid<E>, relation: Relation) -> impl Iterator<Item = E::Kind> {
    let (requests, waits, others) = match relation {
        Relation::Move => (&bid.requests[..], &bid.waits[..], &bid.interrupts[..]),
        Relation::Block => (&[][..], &[][..], &bid.blocks[..]),
    };
    let patterns = waits.iter().chain(others).map(Pattern::of_kind);
    requests.iter().map(ProgramEvent::kind).chain(patterns)
}

fn insert(positions: &mut Positions, position: u32) {
    if let Err(at) = positions.binary_search(&position) {
        positions.insert(at, position);
    }
}

fn remove(positions: &mut Positions, position: u32) {
    if let Ok(at) = positions.binary_search(&position) {
        positions.remove(at);
    }
}

fn narrow(position: usize) -> u32 {
    u32::try_from(position).expect("a program has fewer than four billion threads")
}
