//! Threads that are data, and a generator of random programs of them.
//!
//! Must never: give two different programs for one seed.

use std::sync::Arc;

use agentry_bthread::{
    Bid, Flow, Lane, Pattern, Program, ProgramEvent, Spawner, Thread, ThreadName,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Ev {
    pub(crate) kind: u8,
    pub(crate) key: u64,
    // Tells apart what kind and key do not.
    pub(crate) content: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum Guard {
    OddContent,
    Big,
    // Panics when asked.
    Fails,
}

impl ProgramEvent for Ev {
    type Kind = u8;
    type Guard = Guard;

    fn kind(&self) -> u8 {
        self.kind
    }

    fn key(&self) -> u64 {
        self.key
    }

    fn satisfies(&self, guard: &Guard) -> bool {
        match guard {
            Guard::OddContent => self.content % 2 == 1,
            Guard::Big => self.content >= 100,
            Guard::Fails => panic!("this guard was written to fail"),
        }
    }
}

pub(crate) fn ev(kind: u8, key: u64) -> Ev {
    Ev { kind, key, content: 0 }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Pat {
    kind: u8,
    keys: u8,
    set: Vec<u64>,
    guard: Option<Guard>,
}

impl Pat {
    pub(crate) fn kind(kind: u8) -> Pat {
        Pat { kind, keys: 0, set: vec![0], guard: None }
    }

    pub(crate) fn guarded(self, guard: Guard) -> Pat {
        Pat { guard: Some(guard), ..self }
    }

    fn pattern(&self) -> Pattern<Ev> {
        let pattern = Pattern::kind(self.kind);
        let pattern = match self.keys {
            0 => pattern,
            1 => pattern.key(self.set[0]),
            2 => pattern.keys_in(self.set.iter().copied()),
            _ => pattern.keys_not_in(self.set.iter().copied()),
        };
        match self.guard {
            Some(guard) => pattern.guarded(guard),
            None => pattern,
        }
    }
}

/// What an actor does after an event.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum After {
    Next,
    // Which line follows depends on the event.
    ByKey,
    End,
    // A child starts at this line, with one life less.
    Spawn(usize),
    Panic,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) requests: Vec<Ev>,
    pub(crate) waits: Vec<Pat>,
    pub(crate) blocks: Vec<Pat>,
    pub(crate) interrupts: Vec<Pat>,
    pub(crate) after: After,
    pub(crate) survives_interrupt: bool,
}

impl Line {
    pub(crate) fn new() -> Line {
        Line {
            requests: Vec::new(),
            waits: Vec::new(),
            blocks: Vec::new(),
            interrupts: Vec::new(),
            after: After::Next,
            survives_interrupt: false,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Actor {
    pub(crate) label: String,
    pub(crate) script: Arc<Vec<Line>>,
    pub(crate) at: usize,
    pub(crate) lives: u8,
}

impl Actor {
    pub(crate) fn new(label: &str, script: Vec<Line>) -> Actor {
        Actor { label: label.to_owned(), script: Arc::new(script), at: 0, lives: 3 }
    }

    fn line(&self) -> &Line {
        &self.script[self.at]
    }
}

impl Thread for Actor {
    type Event = Ev;

    fn name(&self) -> ThreadName {
        self.label.clone().into()
    }

    fn bid(&self) -> Bid<Ev> {
        let line = self.line();
        let patterns = |patterns: &[Pat]| patterns.iter().map(Pat::pattern).collect();
        Bid {
            requests: line.requests.clone(),
            waits: patterns(&line.waits),
            blocks: patterns(&line.blocks),
            interrupts: patterns(&line.interrupts),
        }
    }

    fn on(&mut self, event: &Ev, spawner: &mut Spawner<Actor>) -> Flow {
        let lines = self.script.len();
        match self.line().after {
            After::Next => self.at = (self.at + 1) % lines,
            After::ByKey => self.at = (self.at + 1 + event.key as usize) % lines,
            After::End => return Flow::End,
            After::Spawn(line) => {
                if let Some(lives) = self.lives.checked_sub(1) {
                    self.lives = lives;
                    let mut child = self.clone();
                    child.at = line % lines;
                    child.label.push('+');
                    spawner.spawn(child);
                }
                self.at = (self.at + 1) % lines;
            }
            After::Panic => panic!("{} was written to fail", self.label),
        }
        Flow::Go
    }

    fn interrupted(&mut self, _event: &Ev) -> Flow {
        if self.line().survives_interrupt {
            self.at = 0;
            Flow::Go
        } else {
            Flow::End
        }
    }
}

/// Numbers that look random and are the same for the same seed (splitmix64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }

    pub(crate) fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }

    fn event(&mut self) -> Ev {
        Ev { kind: self.below(6) as u8, key: self.below(3), content: self.below(2) as u32 }
    }

    fn pat(&mut self) -> Pat {
        let guard = match self.below(8) {
            0 => Some(Guard::OddContent),
            1 => Some(Guard::Big),
            _ => None,
        };
        let set = (0..=self.below(2)).map(|_| self.below(3)).collect();
        Pat { kind: self.below(6) as u8, keys: self.below(4) as u8, set, guard }
    }

    fn pats(&mut self, most: u64) -> Vec<Pat> {
        (0..self.below(most + 1)).map(|_| self.pat()).collect()
    }

    fn line(&mut self) -> Line {
        let after = match self.below(12) {
            0 => After::End,
            1 => After::Spawn(self.below(4) as usize),
            2..=4 => After::ByKey,
            _ => After::Next,
        };
        let requests = (0..self.below(3)).map(|_| self.event()).collect();
        let blocks = if self.one_in(2) { self.pats(1) } else { Vec::new() };
        let interrupts = if self.one_in(4) { self.pats(1) } else { Vec::new() };
        let survives_interrupt = self.one_in(3);
        Line { requests, waits: self.pats(2), blocks, interrupts, after, survives_interrupt }
    }

    pub(crate) fn actor(&mut self, number: usize) -> Actor {
        let script = (0..=self.below(3)).map(|_| self.line()).collect();
        Actor::new(&format!("actor {number}"), script)
    }

    /// A thread that can only make a program do less.
    pub(crate) fn watcher(&mut self) -> Actor {
        let lines = (0..=self.below(2)).map(|_| {
            let after = if self.one_in(3) { After::ByKey } else { After::Next };
            Line { waits: self.pats(3), blocks: self.pats(2), after, ..Line::new() }
        });
        let script = lines.collect();
        Actor::new("watcher", script)
    }

    /// Up to `most` actors; more than a handful are mostly silent, as threads are in life.
    pub(crate) fn actors(&mut self, most: u64) -> Vec<Actor> {
        let count = 1 + self.below(most) as usize;
        (0..count)
            .map(|number| {
                let mut actor = self.actor(number);
                if number > 4 && !self.one_in(4) {
                    for line in Arc::make_mut(&mut actor.script) {
                        line.blocks.clear();
                        line.requests.clear();
                    }
                }
                actor
            })
            .collect()
    }

    pub(crate) fn program(&mut self) -> Program<Actor> {
        let most = if self.one_in(2) { 6 } else { 40 };
        Program::new(self.actors(most))
    }

    pub(crate) fn lane(&mut self) -> Lane {
        if self.one_in(3) { Lane::Urgent } else { Lane::Normal }
    }

    /// An event from outside; big contents are never requested inside, so they tell where they came from.
    pub(crate) fn external(&mut self, serial: u32) -> Ev {
        let content = if self.one_in(4) { self.below(2) as u32 } else { 100 + serial };
        Ev { content, ..self.event() }
    }
}
