//! What it costs to start `true` and wait for its end: bare, at each level, and with bubblewrap alone.
//!
//! Must never: count a spawn that failed.

use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentry_protocol::confinement::{Confinement, ConfinementLevel};
use agentry_sandbox::{
    CancelToken, Command, Cwd, LEVELS, ProcessBounds, ProcessEnding, Sandbox, SandboxJob,
    SandboxSetup, Streams, egress,
};

use crate::Times;

const PROGRAM: &str = "/bin/true";
/// What our default shows of the system, so that bubblewrap has the same to do.
const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store"];
const SETTINGS: [&str; 20] = [
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/protocols",
    "/etc/python3",
    "/etc/rpc",
    "/etc/services",
    "/etc/ssl",
    "/etc/terminfo",
    "/etc/timezone",
];

/// One way to start a program.
type Way<'a> = (String, Box<dyn Fn() + 'a>);

pub(crate) fn measure(rounds: usize, only: Option<&str>) {
    let place = tempfile::tempdir().expect("there is room for temporary files");
    let root = place.path().canonicalize().expect("it is there");
    let directory = root.join("project");
    std::fs::create_dir(&directory).expect("it is new");
    let sandboxes: Vec<Sandbox> =
        LEVELS.into_iter().filter_map(|level| open(level, &root)).collect();
    let arguments = bubblewrap(&directory);
    let mut ways: Vec<Way<'_>> = vec![("bare".to_owned(), Box::new(bare))];
    for sandbox in &sandboxes {
        let directory = &directory;
        let way = Box::new(move || confined(sandbox, directory));
        ways.push((format!("level {}", sandbox.level()), way));
    }
    if Path::new("/usr/bin/bwrap").exists() {
        ways.push((BUBBLEWRAP.to_owned(), Box::new(|| spawn("/usr/bin/bwrap", &arguments))));
    }
    ways.retain(|(name, _)| only.is_none_or(|only| only == name));
    let mut times: Vec<Times> = ways.iter().map(|_| Times::default()).collect();
    for (_, way) in &ways {
        way();
    }
    for _ in 0..rounds {
        for ((_, way), times) in ways.iter().zip(&mut times) {
            let start = Instant::now();
            way();
            times.0.push(start.elapsed());
        }
    }
    println!("\nSpawns of `true` to its end, {rounds} of each in turns\n");
    println!(
        "{:<24} {:>10} {:>10} {:>10} {:>14} {:>14}",
        "", "p5 ms", "median ms", "p95 ms", "above bare ms", "of bubblewrap"
    );
    let alone = ways.iter().zip(&times).find(|((name, _), _)| name == BUBBLEWRAP);
    let alone = alone.map(|(_, times)| times.middle_ms());
    for ((name, _), one) in ways.iter().zip(&times) {
        let (low, middle, high) = (one.ms_at(5), one.middle_ms(), one.ms_at(95));
        let above = middle - times[0].middle_ms();
        let ratio = alone.map_or_else(String::new, |alone| format!("{:.2}", middle / alone));
        println!("{name:<24} {low:>10.2} {middle:>10.2} {high:>10.2} {above:>14.2} {ratio:>14}");
    }
}

const BUBBLEWRAP: &str = "bubblewrap alone";

fn open(level: ConfinementLevel, root: &Path) -> Option<Sandbox> {
    let setup = SandboxSetup {
        binary: "/proc/self/exe".into(),
        path: String::new(),
        quarantine: root.join("quarantine"),
        resolve: egress::system(),
    };
    match Sandbox::open_level(&setup, level) {
        Ok((sandbox, _)) => Some(sandbox),
        Err(why) => {
            println!("level {level} is not measured: {why}");
            None
        }
    }
}

fn bare() {
    spawn(PROGRAM, &[]);
}

fn spawn(program: &str, arguments: &[String]) {
    let mut process = Process::new(program);
    process.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(process.status().expect("it starts").success(), "{program} failed");
}

fn confined(sandbox: &Sandbox, directory: &Path) {
    let command = Command {
        program: PROGRAM.into(),
        args: Vec::new(),
        cwd: Cwd::Path(directory.to_owned()),
        env: Vec::new(),
        stdin: None,
        streams: Streams::Together,
    };
    let confinement = Confinement {
        level: sandbox.level(),
        allow_write: vec![directory.display().to_string()],
        ..Confinement::most_restricted()
    };
    let job = SandboxJob {
        command: &command,
        confinement: &confinement,
        bounds: &ProcessBounds { time: Duration::from_secs(60), output_bytes_max: 4096 },
        connected: Arc::new(drop),
        hear: None,
    };
    let finished = sandbox.run(&job, &CancelToken::new()).expect("the sandbox is built");
    assert_eq!(finished.ending, ProcessEnding::Exited(0));
}

/// The flags that come closest to our default.
fn bubblewrap(directory: &Path) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut say = |more: &[&str]| words.extend(more.iter().map(|&word| word.to_owned()));
    say(&["--unshare-all", "--new-session", "--die-with-parent", "--cap-drop", "ALL"]);
    say(&["--hostname", "sandbox", "--clearenv", "--proc", "/proc", "--dev", "/dev"]);
    say(&["--perms", "1777", "--size", "67108864", "--tmpfs", "/dev/shm"]);
    say(&["--perms", "1777", "--size", "536870912", "--tmpfs", "/tmp", "--dir", "/tmp/home"]);
    for path in SYSTEM {
        match std::fs::read_link(path) {
            Ok(target) => say(&["--symlink", &target.to_string_lossy(), path]),
            Err(_) => say(&["--ro-bind-try", path, path]),
        }
    }
    for path in SETTINGS {
        say(&["--ro-bind-try", path, path]);
    }
    let directory = directory.display().to_string();
    say(&["--bind", &directory, &directory, "--remount-ro", "/", "--chdir", &directory]);
    say(&["--", PROGRAM]);
    words
}
