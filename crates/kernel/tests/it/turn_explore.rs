//! Every state that a turn can reach, under every order of what its concerns want and the world says.
//!
//! The world is adversarial: any reply of up to three calls of any kind, answers in any order, cancel,
//! steering, mode switches, withdrawn permissions and answers of hooks at any moment. The same concerns run in production;
//! only the calls are reduced to what the concerns look at. Each property is a monitor in `Outside::saw`.

mod hooks;

use std::collections::BTreeMap;

use agentry_bthread::explore::{
    ALWAYS_CAN_END, BrokenProperty, Exploration, ExplorationLimits, NEVER_STUCK, Offer, World,
    explore,
};
use agentry_bthread::{Choice, Lane, Program};
use agentry_kernel::turn::signal::{CallSummary, CheckResult, Signal, TurnStopReason};
use agentry_kernel::turn::{Concern, HookMoments, SandboxPresence, concerns};
use agentry_protocol::event::{Mode, RunLimits};
use agentry_protocol::verdict::Verdict;

const GATE: &str = "no act without a rule or an approval";
const RULES: &str = "no act that the rules deny";
const DANGER: &str = "no dangerous act";
const CANCEL: &str = "nothing new after a cancel";
const HEARD: &str = "a cancel is heard";
const ONCE: &str = "each call is made at most once";
const SETTLED: &str = "each call has exactly one outcome";
const READ: &str = "what is said is read";
const CHECKED: &str = "autonomous work is done when a check says so";
const COUNTED: &str = "every autonomous iteration is counted";
const LIMIT: &str = "limits hold";
const ALONE: &str = "what changes something is done one by one";
const BOUND: &str = "what was withheld is not made before it was judged again";
const OFF: &str = "without a sandbox no act without an approval of that call";
const LACKING: &str = "who lacks the permission needs an approval of that call, in every mode";
const HOOKS: &str = "no act and no question before the hooks have cleared it";
const INSISTS: &str = "where a hook wants it a person is asked, in every mode";
const WATCHED: &str = "no outcome is passed before its hooks have seen it";
const REVIEWED: &str = "a turn finishes when its hooks let it";
const HALTED: &str = "nothing new after a hook halts the turn";
const NAMED: &str = "a turn waits for something named";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Outside {
    plan: Plan,
    mode: Mode,
    confined: SandboxPresence,
    thinking: Option<u64>,
    checking: Option<u64>,
    calls: BTreeMap<u64, Seen>,
    cancel: Word,
    unread: bool,
    passed: bool,
    counted: bool,
    thinks: u32,
    iterations: u32,
    executed: u32,
    reviewing: Option<u64>,
    let_go: bool,
    halted: bool,
    ended: Option<TurnStopReason>,
}

/// What the world may still do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Plan {
    replies: u8,
    calls: u64,
    cancels: u8,
    steers: u8,
    modes: u8,
    forbids: u8,
    unasked: u8,
    /// How often a call is withheld because what it depends on changed.
    withholds: u8,
    /// How many of the kinds of calls there are.
    kinds: usize,
    limits: (u32, u32, u32),
    /// At which moments there are hooks, how often there is another one, and how often one changes a call.
    moments: HookMoments,
    nexts: u8,
    edits: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Seen {
    subject: CallSummary,
    asked: bool,
    answer: Option<bool>,
    forbidden: bool,
    insisted: bool,
    made: bool,
    withheld: bool,
    before: Hearing,
    after: Hearing,
    state: CallState,
}

/// How far the hooks of one moment are with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Hearing {
    Due,
    UnderWay,
    Answered,
    Clear,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CallState {
    Proposed,
    Running,
    /// It was not made, and is to be judged again.
    Withheld,
    Finished,
    Settled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Word {
    NotSaid,
    Said,
    Heard,
}

fn broken(property: &'static str, why: impl Into<String>) -> Result<(), BrokenProperty> {
    Err(BrokenProperty { property, why: why.into() })
}

impl Outside {
    fn new(mode: Mode, confined: SandboxPresence, plan: Plan) -> Self {
        Self {
            plan,
            mode,
            confined,
            thinking: None,
            checking: None,
            calls: BTreeMap::new(),
            cancel: Word::NotSaid,
            unread: false,
            passed: false,
            counted: true,
            thinks: 0,
            iterations: 0,
            executed: 0,
            reviewing: None,
            let_go: false,
            halted: false,
            ended: None,
        }
    }

    /// Every reply of so many calls. The calls of a reply are alike but for their kind, so their order
    /// in it makes no difference.
    fn replies(&self, pass: u64) -> Vec<Signal> {
        let mut lists: Vec<Vec<usize>> = vec![Vec::new()];
        let left = self.plan.calls - self.calls.len() as u64;
        if self.plan.replies > 0 {
            let mut grown = lists.clone();
            for _ in 0..left.min(3) {
                let longer = grown.iter().flat_map(|list| {
                    let from = list.last().copied().unwrap_or(0);
                    let kinds = from..self.plan.kinds;
                    kinds.map(|kind| [list.as_slice(), &[kind]].concat())
                });
                grown = longer.collect();
                lists.extend(grown.iter().cloned());
            }
        }
        let first = self.calls.len() as u64;
        let subjects = |list: Vec<usize>| {
            let all = list.into_iter().zip(first..);
            all.map(|(kind, call)| subject(call, kind, self.plan.moments)).collect()
        };
        lists.into_iter().map(|list| Signal::Replied(pass, subjects(list), 0)).collect()
    }

    fn execute(&mut self, subject: &CallSummary) -> Result<(), BrokenProperty> {
        let mode = self.mode;
        self.new_work("an act")?;
        if subject.dangerous {
            return broken(DANGER, format!("call {} is made", subject.call));
        }
        if self.calls.values().any(|seen| seen.state == CallState::Running) {
            return broken(ALONE, format!("call {} is made beside another", subject.call));
        }
        let Some(seen) = self.calls.get_mut(&subject.call) else {
            return broken(SETTLED, "a call is made that was not proposed");
        };
        if seen.state != CallState::Proposed {
            return broken(ONCE, format!("call {}: {:?}", subject.call, seen.state));
        }
        if *subject != seen.subject || (subject.hooked && seen.before != Hearing::Clear) {
            return broken(HOOKS, format!("call {} is made", subject.call));
        }
        if seen.insisted && seen.answer != Some(true) {
            return broken(INSISTS, format!("call {} is made", subject.call));
        }
        if subject.verdict == Verdict::Deny || seen.forbidden || seen.answer == Some(false) {
            return broken(RULES, format!("call {} is made", subject.call));
        }
        let permitted =
            subject.verdict == Verdict::Allow || subject.standing || seen.answer == Some(true);
        if mode == Mode::Supervised && !permitted {
            return broken(GATE, format!("call {} is made", subject.call));
        }
        if self.confined == SandboxPresence::No && seen.answer != Some(true) {
            return broken(OFF, format!("call {} is made", subject.call));
        }
        if subject.permission && seen.answer != Some(true) {
            return broken(LACKING, format!("call {} is made", subject.call));
        }
        if seen.withheld && (subject.standing || subject.verdict == Verdict::Allow) {
            return broken(BOUND, format!("call {} is made", subject.call));
        }
        seen.state = CallState::Running;
        seen.made = true;
        self.executed += u32::from(!seen.withheld);
        if self.executed > self.plan.limits.1 {
            return broken(LIMIT, "one call more than the limit");
        }
        Ok(())
    }

    fn think(&mut self, pass: u64) -> Result<(), BrokenProperty> {
        self.new_work("thinking")?;
        self.thinking = Some(pass);
        self.unread = false;
        self.passed = false;
        self.let_go = false;
        self.thinks += 1;
        if self.thinks > self.plan.limits.0 {
            return broken(LIMIT, "one step more than the limit");
        }
        if self.mode == Mode::Autonomous && self.iterations >= self.plan.limits.2 {
            return broken(LIMIT, "one iteration more than the limit");
        }
        Ok(())
    }

    fn propose(&mut self, subject: &CallSummary) -> Result<(), BrokenProperty> {
        self.new_work("a call")?;
        if !self.counted {
            return broken(COUNTED, "a call of an iteration that was not counted");
        }
        let seen = Seen {
            subject: *subject,
            asked: false,
            answer: None,
            forbidden: false,
            insisted: false,
            made: false,
            withheld: false,
            before: Hearing::Due,
            after: Hearing::Due,
            state: CallState::Proposed,
        };
        if self.calls.insert(subject.call, seen).is_some() {
            return broken(ONCE, "a call is proposed twice");
        }
        Ok(())
    }

    fn end(&mut self, why: TurnStopReason) -> Result<(), BrokenProperty> {
        self.ended = Some(why);
        if let Some((call, _)) =
            self.calls.iter().find(|(_, seen)| seen.state != CallState::Settled)
        {
            return broken(SETTLED, format!("the turn ends and call {call} has no outcome"));
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), BrokenProperty> {
        if self.unread {
            return broken(READ, "the turn finishes with something unread");
        }
        if self.mode == Mode::Autonomous && !self.passed {
            return broken(CHECKED, "the turn finishes without a check that passed");
        }
        if self.plan.moments.before_finish && !self.let_go {
            return broken(REVIEWED, "the turn finishes without a hook that lets it");
        }
        Ok(())
    }

    fn new_work(&self, what: &str) -> Result<(), BrokenProperty> {
        if self.cancel == Word::Heard {
            return broken(CANCEL, format!("{what} begins"));
        }
        if self.halted {
            return broken(HALTED, format!("{what} begins"));
        }
        Ok(())
    }
}

/// Allowed, asked about, dangerous although allowed, denied, dangerous although allowed earlier; and, in
/// some walks, allowed earlier, asked about for somebody who lacks the permission, also allowed earlier.
const KINDS: [(Verdict, bool, bool, bool); 8] = [
    (Verdict::Allow, false, false, false),
    (Verdict::Ask, false, false, false),
    (Verdict::Allow, false, true, false),
    (Verdict::Deny, false, false, false),
    (Verdict::Ask, true, true, false),
    (Verdict::Ask, true, false, false),
    (Verdict::Ask, false, false, true),
    (Verdict::Ask, true, false, true),
];

fn subject(call: u64, kind: usize, moments: HookMoments) -> CallSummary {
    let (verdict, standing, dangerous, permission) = KINDS[kind];
    let (hooked, watched) = (moments.before_call, moments.after_call);
    CallSummary { call, verdict, standing, permission, dangerous, changes: true, hooked, watched }
}

impl World<Concern> for Outside {
    /// One at a time: it may be heard at any moment, so a queue of several adds nothing.
    fn offers(&self, program: &Program<Concern>) -> Vec<Offer<Signal>> {
        let lies_about = |choice: &Choice<Signal>| !matches!(choice, Choice::Internal { .. });
        if self.ended.is_some() || program.choices().iter().any(lies_about) {
            return Vec::new();
        }
        let mut offers = Vec::new();
        let mut owed = |event| offers.push(Offer { event, lane: Lane::Normal, owed: true });
        if let Some(pass) = self.thinking {
            owed(Signal::Unanswered(pass));
            self.replies(pass).into_iter().for_each(&mut owed);
        }
        if let Some(number) = self.checking {
            for result in [CheckResult::Done, CheckResult::NotDone, CheckResult::Unanswered] {
                owed(Signal::Checked(number, result));
            }
        }
        for (call, seen) in &self.calls {
            if seen.state == CallState::Running {
                owed(Signal::Finished(*call));
                if self.plan.withholds > 0 {
                    for verdict in [Verdict::Ask, Verdict::Deny] {
                        let standing = false;
                        owed(Signal::Withheld(CallSummary { verdict, standing, ..seen.subject }));
                    }
                }
            }
            if seen.asked && seen.answer.is_none() && seen.state == CallState::Proposed {
                owed(Signal::Decided(*call, true));
                owed(Signal::Decided(*call, false));
            }
        }
        self.answers_of_hooks().into_iter().for_each(&mut owed);
        let mut free = |event, lane| offers.push(Offer { event, lane, owed: false });
        if self.plan.cancels > 0 {
            free(Signal::Cancelled, Lane::Urgent);
        }
        if self.plan.steers > 0 {
            free(Signal::Steered, Lane::Normal);
        }
        if self.plan.modes > 0 {
            for mode in [Mode::Supervised, Mode::Autonomous] {
                free(Signal::ModeWanted(mode, None), Lane::Normal);
            }
        }
        for (call, seen) in &self.calls {
            if self.plan.forbids > 0 && seen.state == CallState::Proposed && !seen.forbidden {
                free(Signal::Forbidden(*call), Lane::Normal);
            }
            if self.plan.unasked > 0 && !seen.asked && seen.state == CallState::Proposed {
                free(Signal::Decided(*call, true), Lane::Normal);
            }
        }
        offers
    }

    fn offered(&mut self, event: &Signal) {
        match event {
            Signal::Replied(pass, calls, _) => {
                self.thinking = self.thinking.filter(|thinking| thinking != pass);
                self.plan.replies -= u8::from(!calls.is_empty());
            }
            Signal::Unanswered(_) => self.thinking = None,
            Signal::Checked(..) => self.checking = None,
            Signal::Finished(call) => self.set(*call, CallState::Finished),
            Signal::Withheld(subject) => {
                self.plan.withholds -= 1;
                self.set(subject.call, CallState::Withheld);
            }
            Signal::Decided(call, _) => {
                let Some(seen) = self.calls.get_mut(call) else { return };
                if seen.asked {
                    // Spent here; counted when it is heard.
                    seen.asked = false;
                } else {
                    self.plan.unasked -= 1;
                }
            }
            Signal::Cancelled => {
                self.plan.cancels -= 1;
                self.cancel = self.cancel.max_said();
            }
            Signal::Steered => {
                self.plan.steers -= 1;
                self.reviewing = None;
            }
            Signal::ModeWanted(..) => {
                self.plan.modes -= 1;
                self.reviewing = None;
            }
            Signal::Forbidden(_) => self.plan.forbids -= 1,
            other => self.offered_hook(other),
        }
    }

    fn saw(&mut self, event: &Signal) -> Result<(), BrokenProperty> {
        if let (Some(_), Signal::Execute(_) | Signal::Think(_) | Signal::Check(_)) =
            (self.ended, event)
        {
            return broken(CANCEL, "something begins after the end");
        }
        self.saw_hook(event)?;
        match event {
            Signal::Cancelled => self.cancel = Word::Heard,
            Signal::Steered => self.unread = true,
            Signal::ModeWanted(mode, _) => {
                self.mode = *mode;
                self.iterations = 0;
                self.passed = false;
                self.counted = true;
            }
            Signal::Think(pass) => self.think(*pass)?,
            Signal::Replied(..) => self.counted = self.mode == Mode::Supervised,
            Signal::Iterate(_) => {
                self.counted = true;
                self.iterations += 1;
            }
            Signal::Propose(subject) => self.propose(subject)?,
            Signal::Ask(call) => {
                self.new_work("a question")?;
                if let Some(seen) = self.calls.get_mut(call) {
                    if seen.subject.hooked && seen.before != Hearing::Clear {
                        return broken(HOOKS, format!("call {call} is asked about"));
                    }
                    seen.asked = true;
                }
            }
            Signal::Decided(call, allow) => {
                if let Some(seen) = self.calls.get_mut(call) {
                    seen.answer = Some(*allow);
                }
            }
            Signal::Forbidden(call) => {
                if let Some(seen) = self.calls.get_mut(call) {
                    seen.forbidden |= seen.state == CallState::Proposed;
                }
            }
            Signal::Execute(subject) => self.execute(subject)?,
            // Whatever was answered was an answer about something else.
            Signal::Withheld(subject) => {
                if let Some(seen) = self.calls.get_mut(&subject.call) {
                    seen.subject = *subject;
                    (seen.asked, seen.answer, seen.withheld) = (false, None, true);
                    (seen.made, seen.state) = (false, CallState::Proposed);
                }
            }
            Signal::Settle(call) => {
                if self.calls.get(call).is_none_or(|seen| seen.state == CallState::Settled) {
                    return broken(SETTLED, format!("call {call} is settled twice"));
                }
                self.set(*call, CallState::Settled);
            }
            Signal::Check(number) => {
                self.new_work("a check")?;
                self.checking = Some(*number);
            }
            Signal::Checked(_, result) => self.passed = *result == CheckResult::Done,
            Signal::Finish => self.finish()?,
            Signal::Stop(_) => {
                self.thinking = None;
                self.checking = None;
            }
            Signal::End(why) => self.end(*why)?,
            _ => {}
        }
        Ok(())
    }

    fn quiet(&self, program: &Program<Concern>) -> Result<(), BrokenProperty> {
        if self.ended.is_some() || !program.choices().is_empty() {
            return Ok(());
        }
        if self.cancel == Word::Said {
            return broken(HEARD, "a cancel lies about and nothing else happens");
        }
        let asked = self.calls.values().any(|seen| seen.asked);
        let running = self.calls.values().any(|seen| seen.state == CallState::Running);
        let hooked = !self.answers_of_hooks().is_empty();
        if self.thinking.is_none() && self.checking.is_none() && !asked && !running && !hooked {
            return broken(NAMED, "nothing is asked, nothing runs");
        }
        Ok(())
    }

    fn ended(&self, _: &Program<Concern>) -> bool {
        self.ended.is_some()
    }
}

impl Outside {
    fn set(&mut self, call: u64, state: CallState) {
        if let Some(seen) = self.calls.get_mut(&call) {
            seen.state = state;
        }
    }
}

impl Word {
    fn max_said(self) -> Self {
        match self {
            Self::NotSaid | Self::Said => Self::Said,
            Self::Heard => Self::Heard,
        }
    }
}

fn walk(
    concerns: Vec<Concern>,
    (mode, confined): (Mode, SandboxPresence),
    plan: &Plan,
) -> Exploration {
    let outside = Outside::new(mode, confined, plan.clone());
    explore(Program::new(concerns), outside, ExplorationLimits::default())
}

fn limits(plan: &Plan) -> RunLimits {
    let (steps_max, calls_max, iterations_max) = plan.limits;
    RunLimits { steps_max, calls_max, iterations_max, tokens_max: None }
}

fn full(mode: Mode, plan: &Plan) -> Exploration {
    let all = concerns(mode, &limits(plan), SandboxPresence::Yes, plan.moments);
    walk(all, (mode, SandboxPresence::Yes), plan)
}

fn without(name: &str, mode: Mode, plan: &Plan) -> Exploration {
    use agentry_bthread::Thread;
    let all = concerns(mode, &limits(plan), SandboxPresence::Yes, plan.moments);
    let rest: Vec<Concern> = all.iter().filter(|concern| concern.name() != name).cloned().collect();
    assert_eq!(rest.len() + 1, all.len(), "there is no concern {name}");
    walk(rest, (mode, SandboxPresence::Yes), plan)
}

const NO_MOMENTS: HookMoments =
    HookMoments { before_call: false, after_call: false, before_finish: false };
const CALLS: HookMoments = HookMoments { before_call: true, ..NO_MOMENTS };
const OUTCOMES: HookMoments = HookMoments { after_call: true, ..NO_MOMENTS };
const FINISH: HookMoments = HookMoments { before_finish: true, ..NO_MOMENTS };
const EVERYWHERE: HookMoments =
    HookMoments { before_call: true, after_call: true, before_finish: true };

const NOTHING: Plan = Plan {
    replies: 0,
    calls: 0,
    cancels: 0,
    steers: 0,
    modes: 0,
    forbids: 0,
    unasked: 0,
    withholds: 0,
    kinds: 5,
    limits: (3, 3, 2),
    moments: NO_MOMENTS,
    nexts: 0,
    edits: 0,
};

/// One reply of up to three calls of any kind, a cancel and a switch of the mode at any moment.
const THREE_CALLS: Plan =
    Plan { replies: 1, calls: 3, cancels: 1, modes: 1, limits: (2, 3, 1), ..NOTHING };

/// Two replies with calls, and everything that can be said meanwhile.
const TWO_ROUNDS: Plan = Plan {
    replies: 2,
    calls: 2,
    cancels: 1,
    steers: 1,
    modes: 1,
    kinds: 3,
    limits: (3, 2, 2),
    ..NOTHING
};

/// Permissions that are withdrawn, answers that nobody asked for, and too many calls.
const WITHDRAWN: Plan =
    Plan { replies: 1, calls: 2, cancels: 1, forbids: 1, unasked: 1, limits: (2, 1, 1), ..NOTHING };

/// Small, and enough to find out that a concern is missing.
const SMALL: Plan =
    Plan { replies: 1, calls: 2, cancels: 1, steers: 1, limits: (2, 1, 1), ..NOTHING };

const ONE: Plan = Plan { calls: 1, kinds: 2, limits: (3, 2, 2), ..SMALL };

const ROOMY: Plan = Plan { limits: (2, 2, 1), ..SMALL };

#[test]
fn all_properties_hold_in_every_state_and_every_order() {
    let both = [Mode::Supervised, Mode::Autonomous];
    let walks = [
        ("three calls", THREE_CALLS, &both[..]),
        ("two rounds", TWO_ROUNDS, &[Mode::Supervised][..]),
        ("two rounds, steered", Plan { modes: 0, ..TWO_ROUNDS }, &[Mode::Autonomous]),
        ("two rounds, switched", Plan { steers: 0, ..TWO_ROUNDS }, &[Mode::Autonomous]),
        ("withdrawn", WITHDRAWN, &both),
    ];
    walk_all(&walks);
}

fn walk_all(walks: &[(&str, Plan, &[Mode])]) {
    let mut states = 0;
    for (name, plan, modes) in walks {
        for mode in *modes {
            let found = full(*mode, plan);
            println!("{name}, {}: {} states, {} edges", mode.as_str(), found.states, found.edges);
            assert!(found.complete && found.broken.is_empty(), "{name}, {mode:?}: {found}");
            states += found.states;
        }
    }
    println!("explored states: {states}");
}

/// Calls that are withheld just before they are made, at any moment, and everything that can be said meanwhile.
const WITHHELD: Plan =
    Plan { replies: 1, calls: 2, cancels: 1, withholds: 2, kinds: 6, limits: (2, 2, 1), ..NOTHING };

#[test]
fn what_was_withheld_is_judged_again_in_every_state_and_every_order() {
    let both = [Mode::Supervised, Mode::Autonomous];
    let one = Plan { calls: 1, kinds: KINDS.len(), ..WITHHELD };
    let walks = [
        ("withheld", WITHHELD, &both[..]),
        ("withheld, switched", Plan { modes: 2, cancels: 0, ..one.clone() }, &both),
        ("withheld, forbidden", Plan { forbids: 1, unasked: 1, ..one.clone() }, &both),
        ("withheld, watched", Plan { moments: EVERYWHERE, edits: 1, ..one }, &both),
    ];
    walk_all(&walks);
}

#[test]
fn without_a_sandbox_every_act_is_approved() {
    let all = Plan { replies: 1, calls: 2, kinds: KINDS.len(), limits: (2, 2, 1), ..NOTHING };
    let switched = Plan { modes: 1, ..all.clone() };
    let withdrawn = Plan { forbids: 1, unasked: 1, ..all };
    for (name, plan) in [("switched", switched), ("withdrawn", withdrawn)] {
        for mode in [Mode::Supervised, Mode::Autonomous] {
            let off = (mode, SandboxPresence::No);
            let all = concerns(mode, &limits(&plan), SandboxPresence::No, plan.moments);
            let found = walk(all, off, &plan);
            println!("off, {name}, {}: {} states", mode.as_str(), found.states);
            assert!(found.complete && found.broken.is_empty(), "{name}, {mode:?}: {found}");
        }
    }
    // The gate of a turn in a sandbox would not do.
    for mode in [Mode::Supervised, Mode::Autonomous] {
        let wrong = concerns(mode, &limits(&SMALL), SandboxPresence::Yes, SMALL.moments);
        let found = walk(wrong, (mode, SandboxPresence::No), &SMALL);
        assert!(found.violation(OFF).is_some(), "{mode:?}: {found}");
    }
}

#[test]
fn who_lacks_permission_needs_an_approval_in_every_mode() {
    let all = Plan { replies: 1, calls: 2, kinds: KINDS.len(), limits: (2, 2, 1), ..NOTHING };
    let switched = Plan { modes: 1, ..all.clone() };
    let to_and_fro = Plan { modes: 2, calls: 1, cancels: 1, ..all.clone() };
    let withdrawn = Plan { forbids: 1, unasked: 1, ..all };
    for (name, plan) in
        [("switched", switched), ("to and fro", to_and_fro), ("withdrawn", withdrawn)]
    {
        for mode in [Mode::Supervised, Mode::Autonomous] {
            let found = full(mode, &plan);
            println!("permission, {name}, {}: {} states", mode.as_str(), found.states);
            assert!(found.complete && found.broken.is_empty(), "{name}, {mode:?}: {found}");
        }
    }
}

#[test]
fn no_concern_can_be_left_out_unnoticed() {
    for (name, mode, plan, properties) in [
        ("gate", Mode::Supervised, SMALL, &[GATE][..]),
        ("danger guard", Mode::Autonomous, SMALL, &[DANGER]),
        ("danger refusal", Mode::Supervised, SMALL, &[NEVER_STUCK, NAMED]),
        ("cancel", Mode::Supervised, SMALL, &[HEARD]),
        ("budget", Mode::Supervised, SMALL, &[LIMIT]),
        ("steering", Mode::Supervised, SMALL, &[READ]),
        ("check", Mode::Autonomous, SMALL, &[CHECKED]),
        ("before call", Mode::Supervised, Plan { moments: CALLS, ..SMALL }, &[HOOKS]),
        ("after call", Mode::Supervised, Plan { moments: OUTCOMES, ..ONE }, &[WATCHED]),
        ("before finish", Mode::Supervised, Plan { moments: FINISH, ..SMALL }, &[REVIEWED]),
        ("halt", Mode::Supervised, Plan { moments: CALLS, ..ONE }, &[HALTED]),
        ("gate", Mode::Autonomous, Plan { moments: CALLS, ..ONE }, &[INSISTS]),
        ("one by one", Mode::Supervised, ROOMY, &[ALONE]),
        ("think and act", Mode::Supervised, SMALL, &[NAMED, ALWAYS_CAN_END]),
    ] {
        let found = without(name, mode, &plan);
        let named: Vec<&str> = found.broken.iter().map(|one| one.property).collect();
        println!("without {name}: {} states, broken: {named:?}", found.states);
        for property in properties {
            assert!(found.violation(property).is_some(), "without {name}: {found}");
        }
    }
}
