//! Owners of long-lived programs, for tests that kill them or count what they leave.
//!
//! Must never: outlive the test that started them.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentry_protocol::confinement::Confinement;
use agentry_sandbox::{
    CancelToken, ChildBounds, ChildCommand, Cwd, ProcessEnding, Sandbox, SandboxedChild, SpawnJob,
};

use crate::bombs;

const LONG: Duration = Duration::from_secs(120);

/// Children, and processes that left their parent, their session, or both.
const TREE: &str = "i=0; while [ $i -lt 50 ]; do sleep 1000 & i=$((i+1)); done
    (setsid sh -c 'sleep 1000; :' &)
    (sh -c '(sleep 1000; :) & exit' &)
    setsid sh -c '(setsid sleep 1000 &); exit';";

/// Starts long-lived programs at a level, or without a sandbox.
enum Starter {
    Confined(Sandbox, Box<Confinement>),
    Open,
}

impl Starter {
    fn new(level: &str, directory: &str) -> Self {
        if level == "off" {
            return Self::Open;
        }
        let (sandbox, confinement) = bombs::open(level, directory);
        Self::Confined(sandbox, Box::new(confinement))
    }

    fn start(&self, script: &str, directory: &str) -> SandboxedChild {
        let command = ChildCommand {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            cwd: Cwd::Path(Path::new(directory).join("ws")),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        };
        let bounds = ChildBounds { time: None, grace: LONG };
        let started = match self {
            Self::Open => agentry_sandbox::spawn(command, bounds),
            Self::Confined(sandbox, confinement) => {
                let job = SpawnJob {
                    command,
                    confinement: Confinement::clone(confinement),
                    bounds,
                    connected: Arc::new(drop),
                    violated: Arc::new(|line| panic!("{line}")),
                };
                sandbox.spawn(job, &CancelToken::new())
            }
        };
        started.expect("it starts")
    }
}

/// The owner of a tree of processes that nobody can ask to end; each holds the pipe `alive`.
pub(crate) fn hold(level: &str, directory: &str) -> ExitCode {
    let starter = Starter::new(level, directory);
    // Without a sandbox only the program itself dies with its owner.
    let others = if level == "off" { "" } else { TREE };
    let script = format!("exec 3>alive; trap '' TERM HUP; {others} echo x >&3; exec sleep 1000");
    let mut child = starter.start(&script, directory);
    let outcome = child.wait(Duration::from_secs(600)).expect("it can be watched");
    eprintln!("it ended although we were not killed: {outcome:?}");
    ExitCode::FAILURE
}

/// Starts and ends a program many times; prints what is left of it.
pub(crate) fn cycles(level: &str, directory: &str, count: &str) -> ExitCode {
    let count: u32 = count.parse().expect("the count is ours");
    let starter = Starter::new(level, directory);
    // What the first one leaves for the others, if anything, is no leak.
    cycle(&starter, directory, 0);
    let before = settled(&starter);
    for number in 0..count {
        cycle(&starter, directory, number);
    }
    let after = settled(&starter);
    println!("before: {before:?}\nafter:  {after:?}");
    if before == after { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the remains when only this process and the helper are left, which reaps in its own
/// time. A thread that was joined is listed a moment longer.
fn settled(starter: &Starter) -> Remains {
    let processes = match starter {
        Starter::Confined(..) => 2,
        Starter::Open => 1,
    };
    let until = Instant::now() + LONG;
    loop {
        let remains = remains();
        let is_settled = remains.processes == processes && remains.threads == 1;
        if is_settled || Instant::now() >= until {
            return remains;
        }
        std::thread::yield_now();
    }
}

fn cycle(starter: &Starter, directory: &str, number: u32) {
    let mut child = starter.start("(sleep 1000 &) ; echo ready; read -r word", directory);
    let mut said = [0; 6];
    let mut output = child.stdout.take().expect("it was not taken");
    std::io::Read::read_exact(&mut output, &mut said).expect("it says that it is ready");
    match number % 3 {
        0 => {
            let outcome = child.terminate().expect("it can be watched");
            assert!(matches!(outcome.ending, ProcessEnding::Stopped | ProcessEnding::Exited(1)));
        }
        1 => {
            drop(child.stdin.take());
            let outcome = child.wait(LONG).expect("it can be watched").expect("it ends");
            assert_eq!(outcome.ending, ProcessEnding::Exited(1));
        }
        _ => drop(child),
    }
}

/// The descriptors, processes and directories of this process.
#[derive(Debug, PartialEq, Eq)]
struct Remains {
    descriptors: usize,
    threads: usize,
    /// We and all below us.
    processes: usize,
    temporary: Vec<String>,
}

fn remains() -> Remains {
    let count = |path: &str| std::fs::read_dir(path).map_or(0, Iterator::count);
    let mut family = vec![std::process::id()];
    let mut next = 0;
    while let Some(pid) = family.get(next) {
        next += 1;
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
        let lists: String = threads
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok())
            .collect();
        family.extend(lists.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    let left = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let mut temporary: Vec<String> =
        left.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    temporary.sort();
    let (descriptors, threads) = (count("/proc/self/fd"), count("/proc/self/task"));
    Remains { descriptors, threads, processes: family.len(), temporary }
}
