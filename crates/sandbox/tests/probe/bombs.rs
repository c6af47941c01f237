//! Supervisors for tests that kill them, or their helper.
//!
//! Must never: outlive the test that started them.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use agentry_protocol::confinement::{Confinement, ConfinementLevel, ConfinementLimits};
use agentry_sandbox::{
    CancelToken, Command, Cwd, ProcessBounds, Sandbox, SandboxJob, SandboxSetup, Streams,
};

use crate::scene;

fn level(name: &str) -> ConfinementLevel {
    match name {
        "ns" => ConfinementLevel::Ns,
        "bwrap" => ConfinementLevel::Bwrap,
        _ => ConfinementLevel::Landlock,
    }
}

pub(crate) fn open(name: &str, directory: &str) -> (Sandbox, Confinement) {
    let binary = std::env::current_exe().expect("we have a name");
    let setup = SandboxSetup {
        binary: binary.clone(),
        path: String::new(),
        quarantine: Path::new(directory).join("quarantine"),
        resolve: scene::system_names(),
    };
    let (sandbox, _) = Sandbox::open_level(&setup, level(name)).expect("the level is to be had");
    let confinement = Confinement {
        level: sandbox.level(),
        allow_read: vec![binary.parent().expect("it is in a directory").display().to_string()],
        allow_write: vec![Path::new(directory).join("ws").display().to_string()],
        limits: ConfinementLimits { timeout_ms: 600_000, ..ConfinementLimits::default() },
        ..Confinement::most_restricted()
    };
    (sandbox, confinement)
}

fn command(program: &str, args: &[&str], directory: &str) -> Command {
    Command {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        cwd: Cwd::Path(Path::new(directory).join("ws")),
        env: Vec::new(),
        stdin: None,
        streams: Streams::Together,
    }
}

/// A supervisor with a tree of processes that nobody can ask to end; each holds the pipe `alive`.
pub(crate) fn hold(name: &str, directory: &str) -> ExitCode {
    let (sandbox, confinement) = open(name, directory);
    let script = "exec 3>alive; trap '' TERM HUP; (setsid sh -c 'sleep 1000; :' &) ; sleep 1000 & printf x >&3; sleep 1000";
    let command = command("/bin/sh", &["-c", script], directory);
    let bounds = ProcessBounds { time: Duration::from_secs(600), output_bytes_max: 1_000 };
    let job = SandboxJob {
        command: &command,
        confinement: &confinement,
        bounds: &bounds,
        connected: Arc::new(drop),
        hear: None,
    };
    sandbox.run(&job, &CancelToken::new()).expect("it runs until we are killed");
    ExitCode::FAILURE
}

/// A supervisor that starts one command after the other, and says how many ran and how many did not.
pub(crate) fn spawn_in_a_loop(name: &str, directory: &str) -> ExitCode {
    let (sandbox, confinement) = open(name, directory);
    let own = std::env::current_exe().expect("we have a name").display().to_string();
    let command = command(&own, &["proof"], directory);
    let bounds = ProcessBounds { time: Duration::from_secs(60), output_bytes_max: 1_000 };
    println!("ready");
    let (mut confined, mut failed) = (0, 0);
    for _ in 0..60 {
        let job = SandboxJob {
            command: &command,
            confinement: &confinement,
            bounds: &bounds,
            connected: Arc::new(drop),
            hear: None,
        };
        match sandbox.run(&job, &CancelToken::new()) {
            Ok(finished) => {
                let text = finished.stdout.whole().unwrap_or_default();
                let text = String::from_utf8_lossy(&text);
                if !text.is_empty() && text.trim() != "confined" {
                    println!("ran: {text}");
                    return ExitCode::FAILURE;
                }
                confined += 1;
            }
            Err(_) => failed += 1,
        }
    }
    println!("{confined} {failed}");
    ExitCode::SUCCESS
}

/// Says whether it is confined: what is refused, what is ruled out, and what is hidden.
pub(crate) fn proof() -> ExitCode {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let has = |line: &str| {
        status.lines().any(|found| found.split_whitespace().collect::<Vec<_>>().join(" ") == line)
    };
    let fenced = std::fs::read_dir("/root").is_err()
        && std::fs::write("/usr/bin/probe-planted", "x").is_err();
    let confined =
        has("NoNewPrivs: 1") && has("Seccomp: 2") && has("CapEff: 0000000000000000") && fenced;
    let said = if confined { "confined" } else { "NOT CONFINED" };
    println!("{said}");
    if !confined {
        // Also when nobody hears us any more.
        std::fs::write("not-confined", status).unwrap_or_default();
    }
    ExitCode::SUCCESS
}
