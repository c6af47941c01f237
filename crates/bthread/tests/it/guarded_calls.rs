//! A small agent: two calls, a gate with a person behind it, a cancel; and a world that does its worst.
//!
//! Must never: leave out a thread by other means than `without`, so that an ablation is exactly one thread.

use std::collections::BTreeSet;

use agentry_bthread::{
    Bid, BrokenProperty, Flow, Lane, Offer, Pattern, Program, ProgramEvent, Spawner, Thread,
    ThreadName, World,
};

pub(crate) const NO_ACT_WITHOUT_APPROVAL: &str = "no act without approval";
pub(crate) const NO_ACT_AFTER_CANCEL: &str = "no act after cancel";

pub(crate) const CANCEL_IS_HEARD: &str = "cancel is heard";

pub(crate) const CALLS: [u64; 2] = [1, 2];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Kind {
    Prompt,
    Propose,
    Ask,
    Answer,
    Execute,
    Done,
    Reject,
    Settle,
    Cancel,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Happening {
    Prompt,
    Propose(u64),
    Ask(u64),
    Answer(u64, bool),
    Execute(u64),
    Done(u64),
    Reject(u64),
    Settle(u64),
    Cancel,
    End,
}

impl ProgramEvent for Happening {
    type Kind = Kind;
    type Guard = bool;

    fn kind(&self) -> Kind {
        match self {
            Happening::Prompt => Kind::Prompt,
            Happening::Propose(_) => Kind::Propose,
            Happening::Ask(_) => Kind::Ask,
            Happening::Answer(..) => Kind::Answer,
            Happening::Execute(_) => Kind::Execute,
            Happening::Done(_) => Kind::Done,
            Happening::Reject(_) => Kind::Reject,
            Happening::Settle(_) => Kind::Settle,
            Happening::Cancel => Kind::Cancel,
            Happening::End => Kind::End,
        }
    }

    fn key(&self) -> u64 {
        match self {
            Happening::Propose(call)
            | Happening::Ask(call)
            | Happening::Answer(call, _)
            | Happening::Execute(call)
            | Happening::Done(call)
            | Happening::Reject(call)
            | Happening::Settle(call) => *call,
            Happening::Prompt | Happening::Cancel | Happening::End => 0,
        }
    }

    fn satisfies(&self, yes: &bool) -> bool {
        matches!(self, Happening::Answer(_, answer) if answer == yes)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum CallState {
    Want,
    Run,
    Done,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Concern {
    // Proposes the calls in turn, then waits until all are settled.
    Loop { started: bool, proposed: usize, settled: usize },
    Call { call: u64, state: CallState },
    Gate { asking: BTreeSet<u64>, waiting: BTreeSet<u64>, allowed: BTreeSet<u64> },
    // The companion of the gate: a refused call is rejected, not left hanging.
    Refuser { refused: BTreeSet<u64> },
    Cancel { cancelled: bool, wanted: BTreeSet<u64> },
}

pub(crate) fn program() -> Vec<Concern> {
    vec![
        Concern::Loop { started: false, proposed: 0, settled: 0 },
        Concern::Gate {
            asking: BTreeSet::new(),
            waiting: BTreeSet::new(),
            allowed: BTreeSet::new(),
        },
        Concern::Refuser { refused: BTreeSet::new() },
        Concern::Cancel { cancelled: false, wanted: BTreeSet::new() },
    ]
}

pub(crate) fn without(name: &str) -> Program<Concern> {
    let all = program();
    let count = all.len();
    let rest: Vec<Concern> = all.into_iter().filter(|concern| concern.name() != name).collect();
    assert_eq!(rest.len(), count - 1, "{name} is not one of the threads");
    Program::new(rest)
}

impl Thread for Concern {
    type Event = Happening;

    fn name(&self) -> ThreadName {
        match self {
            Concern::Loop { .. } => "loop".into(),
            Concern::Call { call, .. } => format!("call {call}").into(),
            Concern::Gate { .. } => "gate".into(),
            Concern::Refuser { .. } => "refuser".into(),
            Concern::Cancel { .. } => "cancel".into(),
        }
    }

    fn bid(&self) -> Bid<Happening> {
        let bid = Bid::new();
        let kind = Pattern::kind;
        match self {
            Concern::Loop { started: false, .. } => bid.wait(kind(Kind::Prompt)),
            Concern::Loop { proposed, settled, .. } => {
                let bid = bid.wait(kind(Kind::Settle));
                match CALLS.get(*proposed) {
                    Some(call) => bid.request(Happening::Propose(*call)),
                    None if *settled == CALLS.len() => bid.request(Happening::End),
                    None => bid,
                }
            }
            Concern::Call { call, state } => match state {
                CallState::Want => {
                    bid.request(Happening::Execute(*call)).wait(kind(Kind::Reject).key(*call))
                }
                CallState::Run => bid.wait(kind(Kind::Done).key(*call)),
                CallState::Done => bid.request(Happening::Settle(*call)),
            },
            Concern::Gate { asking, waiting, allowed } => {
                let mut bid = bid
                    .block(kind(Kind::Execute).keys_not_in(allowed.clone()))
                    .wait(kind(Kind::Propose))
                    .wait(kind(Kind::Answer).keys_in(waiting.clone()));
                bid.requests.extend(asking.iter().map(|call| Happening::Ask(*call)));
                bid
            }
            Concern::Refuser { refused } => {
                let mut bid = bid.wait(kind(Kind::Answer).guarded(false)).wait(kind(Kind::Settle));
                bid.requests.extend(refused.iter().map(|call| Happening::Reject(*call)));
                bid
            }
            Concern::Cancel { cancelled: false, .. } => bid
                .wait(kind(Kind::Cancel))
                .wait(kind(Kind::Propose))
                .wait(kind(Kind::Execute))
                .wait(kind(Kind::Settle)),
            Concern::Cancel { wanted, .. } => {
                let mut bid = bid
                    .block(kind(Kind::Execute))
                    .wait(kind(Kind::Propose))
                    .wait(kind(Kind::Settle))
                    .wait(kind(Kind::Reject));
                bid.requests.extend(wanted.iter().map(|call| Happening::Reject(*call)));
                bid
            }
        }
    }

    fn on(&mut self, event: &Happening, spawner: &mut Spawner<Concern>) -> Flow {
        let key = event.key();
        match self {
            Concern::Loop { started, proposed, settled } => match event {
                Happening::Prompt => *started = true,
                Happening::Propose(call) => {
                    *proposed += 1;
                    spawner.spawn(Concern::Call { call: *call, state: CallState::Want });
                }
                Happening::Settle(_) => *settled += 1,
                _ => return Flow::End,
            },
            Concern::Call { state, .. } => match state {
                CallState::Want if event.kind() == Kind::Execute => *state = CallState::Run,
                CallState::Want | CallState::Run => *state = CallState::Done,
                CallState::Done => return Flow::End,
            },
            Concern::Gate { asking, waiting, allowed } => match event {
                Happening::Propose(_) => {
                    asking.insert(key);
                }
                Happening::Ask(_) => {
                    asking.remove(&key);
                    waiting.insert(key);
                }
                Happening::Answer(_, yes) => {
                    waiting.remove(&key);
                    if *yes {
                        allowed.insert(key);
                    }
                }
                _ => unreachable!("the gate waits for nothing else"),
            },
            Concern::Refuser { refused } => match event {
                Happening::Answer(..) => {
                    refused.insert(key);
                }
                _ => {
                    refused.remove(&key);
                }
            },
            Concern::Cancel { cancelled, wanted } => match event {
                Happening::Cancel => *cancelled = true,
                Happening::Propose(_) => {
                    wanted.insert(key);
                }
                _ => {
                    wanted.remove(&key);
                }
            },
        }
        Flow::Go
    }
}

/// A person, a tool runner, and the monitors of what they must see.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Outside {
    prompted: bool,
    cancel_spent: bool,
    cancelled: bool,
    ended: bool,
    asked: BTreeSet<u64>,
    allowed: BTreeSet<u64>,
    running: BTreeSet<u64>,
}

impl World<Concern> for Outside {
    fn offers(&self, _program: &Program<Concern>) -> Vec<Offer<Happening>> {
        let owed = |event| Offer { event, lane: Lane::Normal, owed: true };
        let mut offers = Vec::new();
        if !self.prompted {
            offers.push(Offer { owed: false, ..owed(Happening::Prompt) });
        }
        if !self.cancel_spent {
            offers.push(Offer { event: Happening::Cancel, lane: Lane::Urgent, owed: false });
        }
        for call in &self.asked {
            offers.push(owed(Happening::Answer(*call, true)));
            offers.push(owed(Happening::Answer(*call, false)));
        }
        offers.extend(self.running.iter().map(|call| owed(Happening::Done(*call))));
        offers
    }

    fn offered(&mut self, event: &Happening) {
        match event {
            Happening::Prompt => self.prompted = true,
            Happening::Cancel => self.cancel_spent = true,
            Happening::Answer(call, _) => {
                self.asked.remove(call);
            }
            Happening::Done(call) => {
                self.running.remove(call);
            }
            _ => unreachable!("nothing else is offered"),
        }
    }

    fn saw(&mut self, event: &Happening) -> Result<(), BrokenProperty> {
        match event {
            Happening::Ask(call) => {
                self.asked.insert(*call);
            }
            Happening::Answer(call, true) => {
                self.allowed.insert(*call);
            }
            Happening::Cancel => self.cancelled = true,
            Happening::End => self.ended = true,
            Happening::Execute(call) => {
                self.running.insert(*call);
                let broken =
                    |property| Err(BrokenProperty { property, why: format!("call {call} ran") });
                if !self.allowed.contains(call) {
                    return broken(NO_ACT_WITHOUT_APPROVAL);
                }
                if self.cancelled {
                    return broken(NO_ACT_AFTER_CANCEL);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn quiet(&self, program: &Program<Concern>) -> Result<(), BrokenProperty> {
        // Else "no act after cancel" would hold because no cancel ever arrives.
        if program.unheard().contains(&Happening::Cancel) {
            let why = "cancel is heard by nobody".to_owned();
            return Err(BrokenProperty { property: CANCEL_IS_HEARD, why });
        }
        Ok(())
    }

    fn ended(&self, _program: &Program<Concern>) -> bool {
        self.ended || !self.prompted
    }
}
