//! Runs every attack at one level, looks from outside what came of it, and prints the table.
//!
//! Must never: let an attack pass that got something, or one that could not be tried.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agentry_protocol::confinement::ConfinementLevel;
use agentry_sandbox::{
    CancelToken, ChildBounds, ChildCommand, Command, Cwd, Error, HeadTailBuffer, ProcessBounds,
    ProcessEnding, ProcessOutcome, Sandbox, SandboxJob, SpawnJob, Streams,
};

use crate::attack::{CANARY, CANARY_VARIABLE, Targets, Tried};
use crate::rows::{Bare, Judged, NOTES, Row, Setting, rows};
use crate::scene::{Plot, Scene, is_root, processes};

const WORKERS: usize = 3;
const TIME: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(300);

/// One attack, confined by whoever started us: says one line.
pub(crate) fn attack(name: &str, targets: &str) -> ExitCode {
    let targets: Targets = serde_json::from_str(targets).expect("the targets are ours");
    let (id, number) = name.split_once('#').unwrap_or((name, "0"));
    if id == "wait" {
        return wait(&targets);
    }
    let number: usize = number.parse().expect("the number is ours");
    let row = rows().into_iter().find(|row| row.id == id).expect("the name is one of the list");
    match (row.calls[number])(&targets) {
        Ok(got) => println!("allowed: {got}"),
        Err(why) => println!("denied: {why}"),
    }
    ExitCode::SUCCESS
}

/// The sibling: says that it is there, and stays.
fn wait(targets: &Targets) -> ExitCode {
    let pipe = targets.files.workspace.join("ready");
    std::fs::write(pipe, "x").expect("somebody listens");
    std::thread::sleep(Duration::from_secs(1_000));
    ExitCode::SUCCESS
}

/// One line of the table.
struct Line {
    id: &'static str,
    what: &'static str,
    expected: String,
    got: String,
    pass: bool,
}

/// The way in which the attacks are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// As commands that are waited for.
    Run,
    /// As long-lived programs.
    Spawn,
}

/// Runs the table and prints it; fails when one line does.
pub(crate) fn run(level: &str, way: Way) -> ExitCode {
    if std::env::var_os(CANARY_VARIABLE).is_none() {
        return again(level, way);
    }
    let level = match level {
        "ns" => Some(ConfinementLevel::Ns),
        "bwrap" => Some(ConfinementLevel::Bwrap),
        "landlock" => Some(ConfinementLevel::Landlock),
        "bare" => None,
        _ => {
            eprintln!("there is no level {level}");
            return ExitCode::FAILURE;
        }
    };
    let begun = Instant::now();
    let scene = Scene::new(level);
    let lines = match level {
        None => bare(&scene),
        Some(level) => match Sandbox::open_level(&scene.setup(), level) {
            Ok((sandbox, _)) => confined(scene, &sandbox, way),
            Err(why) => {
                println!("level {level} is not to be had: {why}");
                return ExitCode::from(3);
            }
        },
    };
    let name = level.map_or("bare", ConfinementLevel::as_str);
    let user = if is_root() { "root" } else { "user" };
    println!(
        "{:<6} {:<8} {:<5} {:<9} {:<4} {:<48} got",
        "attack", "level", "user", "expected", "pass", "what"
    );
    for line in &lines {
        let pass = if line.pass { "yes" } else { "NO" };
        println!(
            "{:<6} {name:<8} {user:<5} {:<9} {pass:<4} {:<48} {}",
            line.id, line.expected, line.what, line.got
        );
    }
    let wrong = lines.iter().filter(|line| !line.pass).count();
    println!(
        "level {name}, {user}: {} lines, {wrong} wrong, {} ms",
        lines.len(),
        begun.elapsed().as_millis()
    );
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Once more with a secret in our environment.
fn again(level: &str, way: Way) -> ExitCode {
    let own = std::env::current_exe().expect("we have a name");
    let place =
        tempfile::Builder::new().prefix("probe").tempdir().expect("a directory can be made");
    let status = std::process::Command::new(own)
        .args(["table", "--level", level])
        .args((way == Way::Spawn).then_some("--spawn"))
        .env(CANARY_VARIABLE, CANARY)
        .env("TMPDIR", place.path())
        .status()
        .expect("we can be started again");
    let left: Vec<_> = std::fs::read_dir(place.path())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    if !left.is_empty() {
        println!("NOT PASSED: left behind in the temporary directory: {left:?}");
        return ExitCode::FAILURE;
    }
    ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1))
}

fn command(plot: &Plot, words: &[&str]) -> Command {
    Command {
        program: std::env::current_exe().expect("we have a name").into(),
        args: words.iter().map(Into::into).collect(),
        cwd: Cwd::Path(plot.workspace()),
        env: Vec::new(),
        stdin: None,
        streams: Streams::Together,
    }
}

fn said(finished: &ProcessOutcome) -> Tried {
    let output = finished.stdout.whole().unwrap_or_default();
    let text = String::from_utf8_lossy(&output);
    let text = text.trim();
    match (text.strip_prefix("allowed: "), text.strip_prefix("denied: ")) {
        (Some(got), _) => Ok(got.to_owned()),
        (None, Some(why)) if !why.contains('\n') => Err(why.to_owned()),
        // It must say something, or it was not tried.
        _ => Ok(format!("no line, but {:?} and {text:?}", finished.ending)),
    }
}

/// Every attack that works without a sandbox does.
fn bare(scene: &Scene) -> Vec<Line> {
    let mut scene_others = scene.others.clone();
    scene_others.helper = 0;
    let mut sleeper =
        std::process::Command::new("sleep").arg("1000").spawn().expect("`sleep` is there");
    scene_others.sibling = i32::try_from(sleeper.id()).expect("numbers of processes are small");
    // The supervisor is not attacked here: tracing and slowing would hit the table itself.
    scene_others.supervisor = scene_others.sibling;
    let wanted = |row: &Row| match row.bare {
        Bare::Everybody => true,
        Bare::Root => is_root(),
        Bare::NotTried => false,
    };
    let lines = rows().into_iter().filter(wanted).map(|row| {
        let plot = scene.plot(row.id, row.setting);
        let mut got = Err("nothing".to_owned());
        for number in 0..row.calls.len() {
            let targets = Targets { others: scene_others.clone(), ..scene.targets(&plot, "bare") };
            let text = serde_json::to_string(&targets).expect("targets are plain");
            let mut command = command(&plot, &["attack", &format!("{}#{number}", row.id), &text]);
            command.env.push((CANARY_VARIABLE.into(), CANARY.into()));
            let bounds = ProcessBounds { time: TIME, output_bytes_max: 10_000 };
            let finished = agentry_sandbox::run(&command, &bounds, &CancelToken::new())
                .expect("it can be started");
            got = said(&finished);
        }
        let (pass, got) = match got {
            Ok(got) => (true, got),
            Err(why) => (false, format!("denied: {why}")),
        };
        Line { id: row.id, what: row.what, expected: "allowed".to_owned(), got, pass }
    });
    let lines = lines.collect();
    sleeper.kill().unwrap_or_default();
    sleeper.wait().map(drop).unwrap_or_default();
    lines
}

fn confined(mut scene: Scene, sandbox: &Sandbox, way: Way) -> Vec<Line> {
    let level = sandbox.level();
    let stop = CancelToken::new();
    let plot = scene.plot("sibling", Setting::Plain);
    let pipe = plot.pipe("ready");
    let marker = format!("probe-sibling-{}", std::process::id());
    let text = serde_json::to_string(&scene.targets(&plot, &marker)).expect("targets are plain");
    let mut sibling = command(&plot, &["attack", "wait", &text]);
    sibling.env.push((CANARY_VARIABLE.into(), CANARY.into()));
    let confinement = plot.confinement(level, Setting::Hosts);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let bounds = ProcessBounds { time: Duration::from_secs(900), output_bytes_max: 10_000 };
            let job = SandboxJob {
                command: &sibling,
                confinement: &confinement,
                bounds: &bounds,
                connected: Arc::new(drop),
                hear: None,
            };
            sandbox.run(&job, &stop).expect("the sibling runs")
        });
        std::fs::read(pipe).expect("the sibling says that it is there");
        scene.find_others(&marker);
        let mut lines = all(&scene, sandbox, way);
        lines.push(from_outside());
        stop.stop();
        let came = scene.visitors();
        lines.push(Line {
            id: "N1-N4",
            what: "our listeners outside",
            expected: "denied".to_owned(),
            pass: came.is_empty(),
            got: if came.is_empty() { "nobody came".to_owned() } else { came.join(", ") },
        });
        lines.extend(NOTES.iter().map(|note| Line {
            id: note.id,
            what: note.what,
            expected: "elsewhere".to_owned(),
            got: note.shown.to_owned(),
            pass: true,
        }));
        lines
    })
}

/// The listener of a sandbox is in its own network: nobody outside finds it.
fn from_outside() -> Line {
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], agentry_sandbox::limits::PROXY_PORT));
    let connected = std::net::TcpStream::connect_timeout(&address, Duration::from_millis(500));
    let pass = connected.is_err();
    let got = connected.map_or_else(|error| format!("denied: {error}"), |_| "connected".to_owned());
    Line {
        id: "N15",
        what: "reach the proxy of a sandbox from outside",
        expected: "denied".to_owned(),
        got,
        pass,
    }
}

fn all(scene: &Scene, sandbox: &Sandbox, way: Way) -> Vec<Line> {
    let rows = rows();
    let next = AtomicUsize::new(0);
    let lines = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(row) = rows.get(number) else { break };
                    let line = one(scene, sandbox, row, way);
                    lines.lock().unwrap_or_else(PoisonError::into_inner).push((number, line));
                }
            });
        }
    });
    let mut lines = lines.into_inner().unwrap_or_else(PoisonError::into_inner);
    lines.sort_by_key(|(number, _)| *number);
    lines.into_iter().map(|(_, line)| line).collect()
}

/// What came of the last call, and what is seen outside.
struct Outcome {
    finished: Result<ProcessOutcome, Error>,
    left: Vec<String>,
}

fn one(scene: &Scene, sandbox: &Sandbox, row: &Row, way: Way) -> Line {
    let begun = Instant::now();
    let level = sandbox.level();
    let plot = scene.plot(row.id, row.setting);
    let (outside, protected) = (plot.outside_now(), plot.protected_now());
    let call = |number| call(scene, (sandbox, way), row, &plot, number);
    let mut outcome = call(0);
    for number in 1..row.calls.len() {
        if let Some(act) = row.between {
            act(&plot);
        }
        outcome = call(number);
    }
    let mut got = judge(row, &plot, &outcome, &protected);
    if row.judged == Judged::Survived {
        let next = call(usize::MAX);
        if next.finished.as_ref().is_ok_and(|finished| finished.ending != ProcessEnding::Exited(0))
            || next.finished.is_err()
        {
            got = Ok(format!(
                "the next call does not work: {:?}",
                next.finished.map(|finished| finished.ending)
            ));
        }
    }
    if !outcome.left.is_empty() {
        got = Ok(format!("{} processes are left: {:?}", outcome.left.len(), outcome.left[0]));
    }
    let gap = row.gap_at(level, is_root());
    if plot.outside_now() != outside && got.is_err() {
        got = Ok("something outside has changed".to_owned());
    }
    let (expected, pass) = match gap {
        Some(_) => ("known gap", true),
        None => ("denied", got.is_err()),
    };
    let got = match (got, gap) {
        (Ok(got), Some(why)) => format!("allowed: {got} ({why})"),
        (Ok(got), None) => format!("allowed: {got}"),
        (Err(why), _) => format!("denied: {why}"),
    };
    let got = if std::env::var_os("TIMES").is_some() {
        format!("{:>6} ms {got}", begun.elapsed().as_millis())
    } else {
        got
    };
    Line { id: row.id, what: row.what, expected: expected.to_owned(), got, pass }
}

fn call(
    scene: &Scene,
    (sandbox, way): (&Sandbox, Way),
    row: &Row,
    plot: &Plot,
    number: usize,
) -> Outcome {
    let marker = format!("probe-row-{}-{}", std::process::id(), row.id);
    let text = serde_json::to_string(&scene.targets(plot, &marker)).expect("targets are plain");
    let name = format!("{}#{number}", row.id);
    let command = match number {
        // Does nothing but run.
        usize::MAX => command(plot, &["attack", "whoami"]),
        _ => command(plot, &["attack", &name, &text]),
    };
    let confinement = plot.confinement(sandbox.level(), row.setting);
    let time = if row.setting == Setting::ShortTime { SHORT } else { TIME };
    let bounds = ProcessBounds { time, output_bytes_max: 10_000 };
    let job = SandboxJob {
        command: &command,
        confinement: &confinement,
        bounds: &bounds,
        connected: Arc::new(drop),
        hear: None,
    };
    let finished = match way {
        Way::Run => sandbox.run(&job, &CancelToken::new()),
        Way::Spawn => spawn(sandbox, &job),
    };
    // Right after the call: nothing may be left, not even for a moment.
    let end = format!("\"{marker}\"");
    let left = processes()
        .into_iter()
        .filter(|(_, line)| line.contains(&end))
        .map(|(pid, _)| state(pid))
        .collect();
    Outcome { finished, left }
}

/// Runs an attack as a long-lived program, and reads its output itself.
fn spawn(sandbox: &Sandbox, job: &SandboxJob<'_>) -> Result<ProcessOutcome, Error> {
    let Command { program, args, cwd, env, .. } = job.command;
    let Cwd::Path(cwd) = cwd else { unreachable!("the table names directories") };
    let violations = Arc::new(Mutex::new(Vec::new()));
    let told = violations.clone();
    let job = SpawnJob {
        command: ChildCommand {
            program: program.clone(),
            args: args.clone(),
            cwd: Cwd::Path(cwd.clone()),
            env: env.clone(),
        },
        confinement: job.confinement.clone(),
        bounds: ChildBounds { time: Some(job.bounds.time), grace: Duration::from_millis(50) },
        connected: job.connected.clone(),
        violated: Arc::new(move |line: &str| {
            told.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned());
        }),
    };
    let mut child = sandbox.spawn(job, &CancelToken::new())?;
    drop(child.stdin.take());
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (outcome, stdout, stderr) = std::thread::scope(|scope| {
        let stdout = scope.spawn(|| read_all(stdout));
        let stderr = scope.spawn(|| read_all(stderr));
        let outcome = child.wait(Duration::from_secs(900));
        let join = |reader: std::thread::ScopedJoinHandle<'_, HeadTailBuffer>| {
            reader.join().expect("a pipe can be read")
        };
        (outcome, join(stdout), join(stderr))
    });
    let outcome = outcome?.expect("its time was over long ago");
    let violations = violations.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(ProcessOutcome {
        ending: outcome.ending,
        stdout,
        stderr,
        duration: outcome.duration,
        left_behind: outcome.left_behind,
        violations,
    })
}

fn read_all(pipe: Option<std::io::PipeReader>) -> HeadTailBuffer {
    let mut kept = HeadTailBuffer::with_bytes_max(10_000);
    let mut pipe = pipe.expect("it was not taken");
    let mut piece = [0; 4096];
    while let Ok(length @ 1..) = std::io::Read::read(&mut pipe, &mut piece) {
        kept.push(&piece[..length]);
    }
    kept
}

fn state(pid: i32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let state = status.lines().find(|line| line.starts_with("State:")).unwrap_or("State: gone");
    format!("{pid} {}", state.replace('\t', " "))
}

/// What an attack got, judged by what it says and by what is seen.
fn judge(row: &Row, plot: &Plot, outcome: &Outcome, protected: &[String]) -> Tried {
    let finished = match &outcome.finished {
        Ok(finished) => finished,
        // It did not run: nothing was got, and the reason is shown.
        Err(error) => {
            return if error.to_string().contains("helper") {
                Ok(format!("broken: {error}"))
            } else {
                Err(format!("not run: {error}"))
            };
        }
    };
    match row.judged {
        Judged::Said => said(finished),
        Judged::Seen => match said(finished) {
            Ok(got) if got.ends_with("was written") => {
                Err("only its own view was written, nothing outside".to_owned())
            }
            said => said,
        },
        Judged::TimedOut if finished.ending == ProcessEnding::TimedOut => {
            Err("ended by its time, nothing is left".to_owned())
        }
        Judged::TimedOut => Ok(format!("it ended by {:?}", finished.ending)),
        Judged::Survived => Err(match said(finished) {
            Ok(got) | Err(got) => format!("{got}; survived"),
        }),
        Judged::Owner => {
            use std::os::unix::fs::MetadataExt;
            let of =
                |name: &str| plot.workspace().join(name).metadata().map(|metadata| metadata.uid());
            match (of("made"), of("made-dir")) {
                (Ok(one), Ok(two)) if one == plot.owner() && two == plot.owner() => {
                    Err(format!("they belong to {one}, the owner of the workspace"))
                }
                others => {
                    Ok(format!("they belong to {others:?}, the workspace to {}", plot.owner()))
                }
            }
        }
        Judged::PutRight => {
            let now = plot.protected_now();
            let told = !finished.violations.is_empty();
            match said(finished) {
                _ if now != protected => Ok(format!("it is not as it was: {now:?}")),
                Ok(_) if told => Err("put right and reported".to_owned()),
                Ok(got) => Ok(format!("{got}, and nothing was reported")),
                Err(why) => Err(why),
            }
        }
    }
}
