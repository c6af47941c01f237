//! Opens a sandbox, runs one command in it, and prints what came of it as one line of JSON.
//!
//! Must never: hide an error; the test decides what was expected.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentry_protocol::confinement::{Confinement, ConfinementLevel, Connection};
use agentry_sandbox::{
    CancelToken, ChildBounds, ChildCommand, Command, Cwd, Error, ProcessBounds, Sandbox,
    SandboxJob, SandboxSetup, SpawnJob, Streams, egress,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// What a test wants.
#[derive(Deserialize)]
struct Wanted {
    /// The weakest level that is taken.
    minimum: ConfinementLevel,
    /// Only this level.
    only: Option<ConfinementLevel>,
    /// The helper; our own binary if there is none.
    binary: Option<PathBuf>,
    confinement: Confinement,
    words: Vec<String>,
    cwd: PathBuf,
    path: String,
    quarantine: PathBuf,
    time_ms: u64,
    /// Done between the opening and the run.
    #[serde(default)]
    meanwhile: Meanwhile,
    /// As a long-lived program, not as a command.
    #[serde(default)]
    spawn: bool,
}

#[derive(Default, Deserialize)]
enum Meanwhile {
    #[default]
    Nothing,
    KillHelper,
    Remove(PathBuf),
    /// The next helper finds that the kernel refuses some calls.
    Refuse(Vec<String>),
}

pub(crate) fn run(text: &str) {
    let wanted: Wanted = serde_json::from_str(text).expect("a test says what it wants");
    println!("{}", came_of(wanted));
}

fn came_of(wanted: Wanted) -> Value {
    let setup = SandboxSetup {
        binary: wanted.binary.clone().unwrap_or_else(|| "/proc/self/exe".into()),
        path: wanted.path.clone(),
        quarantine: wanted.quarantine.clone(),
        resolve: egress::system(),
    };
    let opened = match wanted.only {
        Some(level) => Sandbox::open_level(&setup, level),
        None => Sandbox::open(&setup, wanted.minimum).map_err(|error| error.to_string()),
    };
    let sandbox = match opened {
        Ok((sandbox, _)) => sandbox,
        Err(why) => return json!({ "unavailable": why }),
    };
    match &wanted.meanwhile {
        Meanwhile::Nothing => {}
        Meanwhile::KillHelper => kill_children(),
        Meanwhile::Refuse(calls) => {
            kill_children();
            await_end_of_children();
            crate::refused::refuse_all(calls);
        }
        Meanwhile::Remove(path) => std::fs::remove_dir_all(path).expect("it can be removed"),
    }
    if wanted.spawn { spawn_in(&sandbox, wanted) } else { run_in(&sandbox, &wanted) }
}

fn spawn_in(sandbox: &Sandbox, wanted: Wanted) -> Value {
    let level = sandbox.level();
    let mut words = wanted.words.into_iter();
    let job = SpawnJob {
        command: ChildCommand {
            program: words.next().expect("there is a program").into(),
            args: words.map(Into::into).collect(),
            cwd: Cwd::Path(wanted.cwd),
            env: Vec::new(),
        },
        confinement: Confinement { level, ..wanted.confinement },
        bounds: ChildBounds { time: None, grace: Duration::ZERO },
        connected: Arc::new(drop),
        violated: Arc::new(|line| panic!("{line}")),
    };
    let time = Duration::from_millis(wanted.time_ms);
    let ended = sandbox.spawn(job, &CancelToken::new()).and_then(|mut child| child.wait(time));
    match ended {
        Ok(outcome) => {
            let outcome = outcome.expect("it ends in time");
            json!({ "level": level, "ending": format!("{:?}", outcome.ending) })
        }
        Err(error) => json!({ "level": level, "error": kind(&error), "text": error.to_string() }),
    }
}

fn run_in(sandbox: &Sandbox, wanted: &Wanted) -> Value {
    let level = sandbox.level();
    let confinement = Confinement { level, ..wanted.confinement.clone() };
    let command = Command {
        program: wanted.words[0].clone().into(),
        args: wanted.words[1..].iter().map(Into::into).collect(),
        cwd: Cwd::Path(wanted.cwd.clone()),
        env: Vec::new(),
        stdin: None,
        streams: Streams::Together,
    };
    let connections = Arc::new(Mutex::new(Vec::new()));
    let told = connections.clone();
    let job = SandboxJob {
        command: &command,
        confinement: &confinement,
        hear: None,
        bounds: &ProcessBounds {
            time: Duration::from_millis(wanted.time_ms),
            output_bytes_max: 256 * 1024,
        },
        connected: Arc::new(move |connection: Connection| {
            told.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }),
    };
    match sandbox.run(&job, &CancelToken::new()) {
        Ok(finished) => {
            let kept = &finished.stdout;
            let output = [kept.head(), &kept.tail()].concat();
            json!({
                "level": level,
                "ending": format!("{:?}", finished.ending),
                "output": String::from_utf8_lossy(&output),
                "left_behind": finished.left_behind,
                "violations": finished.violations,
                "connections": *connections.lock().unwrap_or_else(PoisonError::into_inner),
                "ms": finished.duration.as_millis(),
            })
        }
        Err(error) => json!({ "level": level, "error": kind(&error), "text": error.to_string() }),
    }
}

fn kind(error: &Error) -> &'static str {
    match error {
        Error::ProgramNotFound { .. } => "program not found",
        Error::NotExecutable { .. } => "not executable",
        Error::NoDirectory { .. } => "no directory",
        Error::TooLong { .. } => "too long",
        Error::NotStarted { .. } => "not started",
        Error::Sandbox { .. } => "sandbox",
        Error::Unwatched(_) => "unwatched",
        Error::Unkillable(_) => "unkillable",
    }
}

/// The helper is the only child there is, of whichever thread.
fn kill_children() {
    let threads = std::fs::read_dir("/proc/self/task").expect("the kernel lists threads");
    let lists = threads.map(|thread| {
        let thread = thread.expect("the kernel lists threads").path();
        std::fs::read_to_string(thread.join("children")).expect("the kernel lists children")
    });
    let children: Vec<i32> = lists
        .collect::<String>()
        .split_whitespace()
        .map(|child| child.parse().expect("the kernel lists numbers"))
        .collect();
    assert!(!children.is_empty(), "there is no helper");
    for pid in children.into_iter().filter_map(rustix::process::Pid::from_raw) {
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is ours");
    }
}

/// Waits until the helper has ended, and leaves it to be reaped by its owner.
fn await_end_of_children() {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    waitid(WaitId::All, ended).expect("there is a helper");
}
