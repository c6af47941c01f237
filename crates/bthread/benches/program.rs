//! `cargo bench --package agentry-bthread --bench program`: events and explored states per second.
//!
//! Two taps and a mixer go on for ever while the other threads each wait for, and block, a kind of their own:
//! what a step costs when almost nobody is concerned.
//!
//! Must never: assert a time; machines differ.

use std::time::Duration;

use agentry_bthread::{
    Bid, BrokenProperty, ExplorationLimits, Flow, Offer, Pattern, Program, ProgramEvent, Spawner,
    StepOutcome, Thread, ThreadName, World, explore,
};
use rustix::time::{ClockId, clock_gettime};

const SIZES: [u32; 3] = [10, 100, 1_000];
const EVENTS: u32 = 200_000;
const ROUNDS: usize = 9;
const EVENTS_TARGET: f64 = 2e6;
/// Each of these threads asks so often, in any order: eleven states of each, in every combination.
const WALKERS: u32 = 5;
const ASKED: u32 = 10;

fn main() {
    measure_steps();
    measure_walk();
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Ev {
    Hot,
    Cold,
    Other(u32),
}

impl ProgramEvent for Ev {
    type Kind = Ev;
    type Guard = ();

    fn kind(&self) -> Ev {
        *self
    }

    fn key(&self) -> u64 {
        0
    }

    fn satisfies(&self, (): &()) -> bool {
        true
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Concern {
    Pour(Ev),
    Mix { next: Ev },
    Idle(u32),
    Walk { number: u32, left: u32 },
}

impl Thread for Concern {
    type Event = Ev;

    fn name(&self) -> ThreadName {
        match self {
            Concern::Pour(_) => "tap".into(),
            Concern::Mix { .. } => "mixer".into(),
            Concern::Idle(_) => "idle".into(),
            Concern::Walk { .. } => "walker".into(),
        }
    }

    fn bid(&self) -> Bid<Ev> {
        match self {
            Concern::Pour(what) => Bid::new().request(*what),
            Concern::Mix { next } => {
                Bid::new().wait(Pattern::kind(*next)).block(Pattern::kind(other(*next)))
            }
            Concern::Idle(number) => {
                let own = || Pattern::kind(Ev::Other(*number));
                Bid::new().wait(own()).block(own())
            }
            Concern::Walk { number, .. } => Bid::new().request(Ev::Other(*number)),
        }
    }

    fn on(&mut self, event: &Ev, _spawner: &mut Spawner<Concern>) -> Flow {
        match self {
            Concern::Pour(_) | Concern::Idle(_) => Flow::Go,
            Concern::Mix { next } => {
                *next = other(*event);
                Flow::Go
            }
            Concern::Walk { left, .. } => {
                *left -= 1;
                if *left == 0 { Flow::End } else { Flow::Go }
            }
        }
    }
}

fn other(water: Ev) -> Ev {
    match water {
        Ev::Hot => Ev::Cold,
        Ev::Cold | Ev::Other(_) => Ev::Hot,
    }
}

fn measure_steps() {
    println!(
        "\nEvents of a program, {EVENTS} a round, {ROUNDS} rounds in turns: the median by CPU time\n"
    );
    let mut programs = SIZES.map(mixing);
    let mut paces = SIZES.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for (program, paces) in programs.iter_mut().zip(&mut paces) {
            paces.push(f64::from(EVENTS) / cpu_of(|| step(program)).as_secs_f64());
        }
    }
    let paces = paces.map(median);
    println!("{:>8} {:>12} {:>14}", "threads", "events/s", "ns per event");
    for (size, pace) in SIZES.iter().zip(paces) {
        println!("{size:>8} {pace:>12.0} {:>14.0}", 1e9 / pace);
    }
    let slowest = paces.into_iter().fold(f64::INFINITY, f64::min);
    let fastest = paces.into_iter().fold(0.0, f64::max);
    let word = if slowest >= EVENTS_TARGET { "meets" } else { "misses" };
    println!(
        "\nThe slowest {word} the target of {EVENTS_TARGET:.0} events a second; between fastest and \
         slowest is a factor of {:.2}.",
        fastest / slowest
    );
}

/// Two taps, a mixer, and threads that nothing ever happens to.
fn mixing(threads: u32) -> Program<Concern> {
    let working = [Concern::Pour(Ev::Hot), Concern::Pour(Ev::Cold), Concern::Mix { next: Ev::Hot }];
    let idle = (3..threads).map(Concern::Idle);
    Program::new(working.into_iter().chain(idle))
}

fn step(program: &mut Program<Concern>) {
    for _ in 0..EVENTS {
        assert!(matches!(program.step(), StepOutcome::Chosen(_)), "the taps never run dry");
    }
}

fn measure_walk() {
    let walkers = (0..WALKERS).map(|number| Concern::Walk { number, left: ASKED });
    let program = Program::new(walkers);
    let mut paces = Vec::new();
    let (mut states, mut edges) = (0, 0);
    for _ in 0..ROUNDS.div_ceil(3) {
        let mut seen = None;
        let program = program.clone();
        let spent = cpu_of(|| seen = Some(explore(program, Silence, ExplorationLimits::default())));
        let seen = seen.expect("the walk came to its end");
        assert!(seen.complete && seen.broken.is_empty(), "{seen}");
        (states, edges) = (seen.states, seen.edges);
        paces.push(f64::from(u32::try_from(states).unwrap_or(u32::MAX)) / spent.as_secs_f64());
    }
    let pace = median(paces);
    println!(
        "\nThe explorer sees {states} states and {edges} ways of {WALKERS} threads at {pace:.0} \
         states a second of CPU time."
    );
}

/// An outside that says nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Silence;

impl World<Concern> for Silence {
    fn offers(&self, _program: &Program<Concern>) -> Vec<Offer<Ev>> {
        Vec::new()
    }

    fn saw(&mut self, _event: &Ev) -> Result<(), BrokenProperty> {
        Ok(())
    }

    fn offered(&mut self, _event: &Ev) {}

    fn quiet(&self, _program: &Program<Concern>) -> Result<(), BrokenProperty> {
        Ok(())
    }

    fn ended(&self, program: &Program<Concern>) -> bool {
        program.threads().next().is_none()
    }
}

fn cpu_of(work: impl FnOnce()) -> Duration {
    let before = cpu();
    work();
    cpu().saturating_sub(before)
}

fn cpu() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.cast_unsigned(), u32::try_from(spent.tv_nsec).unwrap_or_default())
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
