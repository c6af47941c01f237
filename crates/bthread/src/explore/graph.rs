//! States as numbers, the edges between them, and two queries: reachability and cycles.
//!
//! Must never: know what a state is.

/// The cause of a transition between two states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EdgeKind {
    Internal,
    Delivery,
    Unheard,
    Owed,
    FreeWill,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) to: u32,
    pub(super) way: EdgeKind,
}

/// Edges by source; states that were not expanded have none.
#[derive(Debug, Default)]
pub(super) struct Graph {
    // Invariant: the edges of state n are edges[ends[n - 1]..ends[n]].
    ends: Vec<usize>,
    edges: Vec<Edge>,
}

/// Edge sources, indexed by target.
struct ReverseGraph {
    starts: Vec<usize>,
    sources: Vec<u32>,
}

impl Graph {
    pub(super) fn push(&mut self, edge: Edge) {
        self.edges.push(edge);
    }

    /// Assigns the edges pushed since the last call to the next state.
    pub(super) fn close_state(&mut self) {
        self.ends.push(self.edges.len());
    }

    pub(super) fn edges_len(&self) -> usize {
        self.edges.len()
    }

    /// Returns the first state from which these edges lead to no target.
    pub(super) fn first_state_without_path(
        &self,
        states: usize,
        is_target: impl Fn(usize) -> bool,
        by: impl Fn(EdgeKind) -> bool,
    ) -> Option<usize> {
        let reverse = self.reverse(states, by);
        let mut reaches: Vec<bool> = (0..states).map(is_target).collect();
        let mut open: Vec<usize> = (0..states).filter(|state| reaches[*state]).collect();
        while let Some(state) = open.pop() {
            for source in reverse.of(state) {
                if !std::mem::replace(&mut reaches[source], true) {
                    open.push(source);
                }
            }
        }
        reaches.iter().position(|reaches| !reaches)
    }

    /// Returns the states of a cycle of these edges in order, the first one found at the front.
    pub(super) fn cycle(&self, states: usize, by: impl Fn(EdgeKind) -> bool) -> Option<Vec<usize>> {
        let mut left: Vec<usize> =
            (0..states).map(|state| self.of(state).filter(|edge| by(edge.way)).count()).collect();
        let reverse = self.reverse(states, &by);
        // States without an outgoing edge are on no cycle; remove them until none is left.
        let mut open: Vec<usize> = (0..states).filter(|state| left[*state] == 0).collect();
        while let Some(state) = open.pop() {
            for source in reverse.of(state) {
                left[source] -= 1;
                if left[source] == 0 {
                    open.push(source);
                }
            }
        }
        let mut path = vec![left.iter().position(|left| *left > 0)?];
        let mut place_on_path = vec![None; states];
        loop {
            let last = path[path.len() - 1];
            place_on_path[last] = Some(path.len() - 1);
            let next = self
                .of(last)
                .find(|edge| by(edge.way) && left[edge.to as usize] > 0)
                .expect("a state that was not taken off has a way to another")
                .to as usize;
            if let Some(place) = place_on_path[next] {
                return Some(from_first_found(path.split_off(place)));
            }
            path.push(next);
        }
    }

    fn of(&self, state: usize) -> impl Iterator<Item = &Edge> {
        let end = self.ends.get(state).copied().unwrap_or(self.edges.len());
        let start = match state {
            0 => 0,
            after_first => self.ends.get(after_first - 1).copied().unwrap_or(end),
        };
        self.edges[start..end].iter()
    }

    fn reverse(&self, states: usize, by: impl Fn(EdgeKind) -> bool) -> ReverseGraph {
        let mut starts = vec![0; states + 1];
        for edge in self.edges.iter().filter(|edge| by(edge.way)) {
            starts[edge.to as usize + 1] += 1;
        }
        for state in 0..states {
            starts[state + 1] += starts[state];
        }
        let mut free = starts.clone();
        let mut sources = vec![0; starts[states]];
        for state in 0..states {
            for edge in self.of(state).filter(|edge| by(edge.way)) {
                let place = &mut free[edge.to as usize];
                sources[*place] = u32::try_from(state).expect("states are numbered by u32");
                *place += 1;
            }
        }
        ReverseGraph { starts, sources }
    }
}

impl ReverseGraph {
    fn of(&self, state: usize) -> impl Iterator<Item = usize> {
        let sources = &self.sources[self.starts[state]..self.starts[state + 1]];
        sources.iter().map(|source| *source as usize)
    }
}

/// Rotates the cycle so that the state with the lowest number comes first.
fn from_first_found(mut circle: Vec<usize>) -> Vec<usize> {
    let places = circle.iter().enumerate();
    let first = places.min_by_key(|(_, state)| **state).map_or(0, |(place, _)| place);
    circle.rotate_left(first);
    circle
}
