//! A fuzzer of planting: random file operations in calls of one or two runs, and then nothing protected may differ.
//!
//! What is protected is judged by a walk of its own, with nothing in common with the guard but the list of names.
//!
//! Must never: work in a directory that it did not make.

mod oracle;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentry_protocol::confinement::{Confinement, ConfinementLevel, ConfinementProfile};
use agentry_sandbox::{
    CancelToken, Command, Cwd, ProcessBounds, Sandbox, SandboxJob, SandboxSetup, Streams,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, RenameFlags};
use serde::{Deserialize, Serialize};

/// Long enough never to be reached.
const TIME: Duration = Duration::from_secs(60);
/// In this many sequences git visits every directory afterwards.
const VISITED_EVERY: u64 = 10;
const CALLS_MAX: u64 = 4;
const OPERATIONS_MAX: u64 = 14;
const MANY: usize = 150;
const DEEP: usize = 140;

/// One thing that a hostile program does; whether it works does not matter.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Operation {
    Write(String),
    Directory(String),
    Rename(String, String),
    Exchange(String, String),
    HardLink(String, String),
    Link(String, String),
    Remove(String),
    Mode(String, u32),
    Pipe(String),
    /// A file at the end of a long chain of directories.
    Deep(String, String),
    /// A file in each of many directories.
    Many(String, String),
}

/// Does what it is told inside of a sandbox.
pub(crate) fn act(operations: &str) -> ExitCode {
    let Ok(operations) = serde_json::from_str::<Vec<Operation>>(operations) else {
        return ExitCode::FAILURE;
    };
    for operation in operations {
        perform(&operation);
    }
    ExitCode::SUCCESS
}

fn perform(operation: &Operation) {
    let made = match operation {
        Operation::Write(path) => write(Path::new(path)),
        Operation::Directory(path) => fs::create_dir_all(path).is_ok(),
        Operation::Rename(from, to) => fs::rename(from, to).is_ok(),
        Operation::Exchange(one, other) => {
            rustix::fs::renameat_with(CWD, &**one, CWD, &**other, RenameFlags::EXCHANGE).is_ok()
        }
        Operation::HardLink(from, to) => fs::hard_link(from, to).is_ok(),
        Operation::Link(target, path) => symlink(target, path).is_ok(),
        Operation::Remove(path) => {
            fs::remove_file(path).is_ok() || fs::remove_dir_all(path).is_ok()
        }
        Operation::Mode(path, mode) => {
            fs::set_permissions(path, fs::Permissions::from_mode(*mode)).is_ok()
        }
        Operation::Pipe(path) => {
            let mode = Mode::from_raw_mode(0o644);
            rustix::fs::mknodat(CWD, &**path, FileType::Fifo, mode, 0).is_ok()
        }
        Operation::Deep(path, leaf) => {
            let chain: PathBuf = std::iter::repeat_n("d", DEEP).collect();
            write(&Path::new(path).join(chain).join(leaf))
        }
        Operation::Many(path, leaf) => {
            (0..MANY).all(|number| write(&Path::new(path).join(number.to_string()).join(leaf)))
        }
    };
    // Most of it is refused, and that is fine.
    std::hint::black_box(made);
}

/// Whatever is written could make git run a program, if git came upon it.
fn write(path: &Path) -> bool {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).unwrap_or_default();
    }
    let is_head = path.file_name().is_some_and(|name| name == "HEAD");
    let text = if is_head { "ref: refs/heads/m\n" } else { include_str!("planting/config.txt") };
    // Nobody waits for the reader of a pipe.
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).expect("the flag is a small number");
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).custom_flags(nonblocking);
    options.open(path).and_then(|mut file| file.write_all(text.as_bytes())).is_ok()
}

/// Runs sequences at a level, beginning with a seed.
pub(crate) fn run(level: &str, seed: &str, count: &str) -> ExitCode {
    let level = match level {
        "ns" => ConfinementLevel::Ns,
        "bwrap" => ConfinementLevel::Bwrap,
        _ => ConfinementLevel::Landlock,
    };
    let (Ok(seed), Ok(count)) = (seed.parse::<u64>(), count.parse::<u64>()) else {
        return ExitCode::FAILURE;
    };
    let user = if rustix::process::geteuid().is_root() { "root" } else { "user" };
    let place = tempfile::Builder::new().prefix("planting").tempdir().expect("it can be made");
    let runs = match Runs::open(level, &place.path().join("quarantine")) {
        Ok(runs) => runs,
        Err(why) => {
            println!("level {level} is not to be had: {why}");
            return ExitCode::from(3);
        }
    };
    let first = seed;
    for seed in first..first + count {
        let workspace = tempfile::Builder::new().prefix("ws").tempdir_in(place.path());
        let workspace = workspace.expect("it can be made");
        let sequence = Sequence {
            workspace: workspace.path().canonicalize().expect("it is there"),
            runs: &runs,
            said: Mutex::default(),
        };
        if let Err(why) = sequence.run(seed) {
            println!("level {level}, {user}, seed {seed}: {why}");
            return ExitCode::FAILURE;
        }
    }
    println!("level {level}, {user}: {count} sequences from seed {first}, nothing planted");
    ExitCode::SUCCESS
}

/// Two runs that work in the same directories.
struct Runs {
    level: ConfinementLevel,
    sandboxes: [Sandbox; 2],
}

impl Runs {
    fn open(level: ConfinementLevel, quarantine: &Path) -> Result<Self, String> {
        let setup = SandboxSetup {
            binary: std::env::current_exe().expect("we have a name"),
            path: String::new(),
            quarantine: quarantine.to_owned(),
            resolve: Arc::new(|_, _| Ok(Vec::new())),
        };
        let open = || Sandbox::open_level(&setup, level).map(|(sandbox, _)| sandbox);
        Ok(Self { level, sandboxes: [open()?, open()?] })
    }
}

/// A workspace of a person, in which both work.
struct Sequence<'a> {
    workspace: PathBuf,
    runs: &'a Runs,
    /// What was said about the calls.
    said: Mutex<Vec<String>>,
}

impl Sequence<'_> {
    fn run(&self, seed: u64) -> Result<(), String> {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let [one, other] = &self.runs.sandboxes;
        furnish(&self.workspace);
        let before = oracle::protected(&self.workspace);
        let plans: [Vec<Vec<Operation>>; 2] = [plan(&mut random), plan(&mut random)];
        let are_two = random.below(2) == 0;
        std::thread::scope(|scope| {
            if are_two {
                scope.spawn(|| self.calls(other, &plans[1]));
            }
            self.calls(one, &plans[0]);
        });
        // If a check could not be finished, this call finishes it.
        self.calls(one, &[Vec::new(), Vec::new()]);
        let after = oracle::protected(&self.workspace);
        if before != after {
            let told = oracle::difference(&before, &after);
            let said = self.said.lock().expect("nobody fails while it is held").join("\n");
            return Err(format!("{told}\n{}\n{said}", serde_json::json!(plans)));
        }
        if seed.is_multiple_of(VISITED_EVERY) {
            oracle::visit_with_git(&self.workspace);
        }
        if Path::new(oracle::RAN).exists() {
            Err(format!("a planted program ran\n{}", serde_json::json!(plans)))
        } else {
            Ok(())
        }
    }

    fn calls(&self, sandbox: &Sandbox, calls: &[Vec<Operation>]) {
        let binary = std::env::current_exe().expect("we have a name");
        let folder = binary.parent().expect("it is in a directory");
        let confinement = Confinement {
            level: self.runs.level,
            profile: ConfinementProfile::Trusted,
            allow_read: vec![folder.display().to_string()],
            allow_write: vec![self.workspace.display().to_string()],
            ..Confinement::most_restricted()
        };
        for operations in calls {
            let text = serde_json::to_string(operations).expect("they are plain");
            let command = Command {
                program: binary.clone().into(),
                args: vec!["planted".into(), text.into()],
                cwd: Cwd::Path(self.workspace.clone()),
                env: Vec::new(),
                stdin: None,
                streams: Streams::Together,
            };
            let job = SandboxJob {
                command: &command,
                confinement: &confinement,
                bounds: &ProcessBounds { time: TIME, output_bytes_max: 10_000 },
                connected: Arc::new(drop),
                hear: None,
            };
            // A call may be refused; what counts is what is left.
            let said = match sandbox.run(&job, &CancelToken::new()) {
                Ok(finished) => finished.violations.join("\n  "),
                Err(error) => error.to_string(),
            };
            self.said.lock().expect("nobody fails while it is held").push(said);
        }
    }
}

/// What a person has in a project.
fn furnish(workspace: &Path) {
    for (path, text) in [
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", "[core]\n"),
        (".git/hooks/pre-commit", "#!/bin/sh\n"),
        (".git/objects/x", ""),
        (".git/refs/x", ""),
        ("src/main.rs", "fn main() {}\n"),
        ("sub/.envrc", "mine\n"),
        ("sub/.vscode/settings.json", "{}\n"),
        ("agents/a/AGENT.md", "calm\n"),
        ("agents/a/SOUL.md", "kind\n"),
        ("skills/s/SKILL.md", "skill\n"),
        ("skills/s/scripts/run.sh", "true\n"),
        ("deep/d/d/d/.mcp.json", "{}\n"),
        ("vendor/p/.vscode/tasks.json", "{}\n"),
        ("node_modules/q/package.json", "{}\n"),
    ] {
        let path = workspace.join(path);
        fs::create_dir_all(path.parent().expect("it lies below")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }
}

/// The calls of one run.
fn plan(random: &mut Random) -> Vec<Vec<Operation>> {
    let calls = 1 + random.below(CALLS_MAX);
    let call = |random: &mut Random| {
        let operations = 1 + random.below(OPERATIONS_MAX);
        (0..operations).map(|_| operation(random)).collect()
    };
    (0..calls).map(|_| call(random)).collect()
}

fn operation(random: &mut Random) -> Operation {
    let (one, other) = (path(random), path(random));
    match random.below(14) {
        0..3 => Operation::Write(one),
        3 => Operation::Directory(one),
        4..7 => Operation::Rename(one, other),
        7 => Operation::Exchange(one, other),
        8 => Operation::HardLink(one, other),
        9 => Operation::Link(other, one),
        10 => Operation::Remove(one),
        11 => {
            let modes = [0, 0o300, 0o444, 0o755];
            Operation::Mode(one, *random.of(&modes))
        }
        12 => match random.below(3) {
            0 => Operation::Pipe(one),
            _ => Operation::Deep(name(random).to_owned(), path(random)),
        },
        _ => match random.below(3) {
            0 => Operation::Many(name(random).to_owned(), name(random).to_owned()),
            _ => Operation::Deep(one, name(random).to_owned()),
        },
    }
}

fn path(random: &mut Random) -> String {
    let parts = 1 + random.below(3);
    let parts: Vec<&str> = (0..parts).map(|_| name(random)).collect();
    parts.join("/")
}

fn name(random: &mut Random) -> &'static str {
    const PLAIN: [&str; 12] = [
        "a",
        "b",
        "src",
        "sub",
        "agents",
        "skills",
        "s",
        "deep",
        "d",
        "vendor",
        "node_modules",
        "ws",
    ];
    const PROTECTED: [&str; 26] = [
        ".git",
        ".GIT",
        "config",
        "hooks",
        "HEAD",
        "objects",
        "refs",
        "commondir",
        ".envrc",
        ".vscode",
        "tasks.json",
        ".mcp.json",
        "AGENT.md",
        "agent.yml",
        "SOUL.md",
        "prompts",
        "SKILL.md",
        "TASK.md",
        "agentry.toml",
        ".agentry",
        ".nanobot",
        "context",
        "soul.json",
        "tool-access.json",
        ".exrc",
        "x.code-workspace",
    ];
    let names: &[&'static str] = if random.below(2) == 0 { &PLAIN } else { &PROTECTED };
    let name: &&'static str = random.of(names);
    name
}

/// Numbers that a seed decides.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let at = self.below(all.len() as u64);
        &all[usize::try_from(at).expect("it is below the length")]
    }
}
