//! Long-lived programs: their pipes, their end and that of all they started, their files, their owner.

mod files;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentry_protocol::confinement::{
    Confinement, ConfinementLevel, ConfinementLimits, Connection, NetworkAccess,
};
use agentry_sandbox::{
    CancelToken, ChildBounds, ChildCommand, ChildOutcome, Command, Cwd, Error, LEVELS,
    ProcessEnding, Sandbox, SandboxJob, SandboxSetup, SandboxedChild, SpawnJob, Streams, egress,
    limits,
};

use crate::attacks::{Stage, is_root, users};
use crate::bombs::{is_let_go, levels_here, observer, place};
use crate::{LONG, within};

/// Children, and processes that left their parent, their session, or both.
const TREE: &str = "i=0; while [ $i -lt 50 ]; do sleep 1000 & i=$((i+1)); done
    (setsid sh -c 'sleep 1000; :' &)
    (sh -c '(sleep 1000; :) & exit' &)
    setsid sh -c '(setsid sleep 1000 &); exit'";
/// An end that does not come.
const NEVER: &str = "while :; do sleep 1000; done";
const SOON: Duration = Duration::from_millis(300);

/// A workspace, and a sandbox that lets programs write there; or none.
struct Place {
    stage: Stage,
    sandbox: Option<Sandbox>,
    confinement: Confinement,
    told: Sender<String>,
    /// The reports about protected files.
    reports: Receiver<String>,
    connections: Arc<Mutex<Vec<Connection>>>,
}

impl Place {
    fn open(level: ConfinementLevel) -> Option<Self> {
        let stage = Stage::new();
        let root = stage.directory.path().canonicalize().unwrap();
        let workspace = root.join("ws");
        fs::create_dir(&workspace).unwrap();
        if is_root() && level == ConfinementLevel::Landlock {
            let user = Some(limits::USER_FIRST);
            std::os::unix::fs::chown(&workspace, user, user).unwrap();
        }
        let setup = SandboxSetup {
            binary: stage.probe(),
            path: String::new(),
            quarantine: root.join("quarantine"),
            resolve: egress::system(),
        };
        let sandbox = if level == ConfinementLevel::Off {
            None
        } else {
            match Sandbox::open_level(&setup, level) {
                Ok((sandbox, _)) => Some(sandbox),
                Err(why) if why.contains("bubblewrap is not installed") => {
                    println!("skipped: install bubblewrap to try the level {level}");
                    return None;
                }
                Err(why) => panic!("{level}: {why}"),
            }
        };
        let confinement = Confinement {
            level,
            allow_read: vec![root.join("bin").display().to_string()],
            allow_write: vec![workspace.display().to_string()],
            ..Confinement::most_restricted()
        };
        let (told, reports) = channel();
        let connections = Arc::default();
        println!("{level}");
        Some(Self { stage, sandbox, confinement, told, reports, connections })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.stage.directory.path().canonicalize().unwrap().join("ws").join(name)
    }

    fn command(&self, words: &[&str]) -> ChildCommand {
        ChildCommand {
            program: words[0].into(),
            args: words[1..].iter().map(Into::into).collect(),
            cwd: Cwd::Path(self.file("")),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        }
    }

    fn try_start(
        &self,
        command: ChildCommand,
        bounds: ChildBounds,
    ) -> Result<SandboxedChild, Error> {
        let Some(sandbox) = &self.sandbox else {
            return agentry_sandbox::spawn(command, bounds);
        };
        let (told, connections) = (self.told.clone(), self.connections.clone());
        let job = SpawnJob {
            command,
            confinement: self.confinement.clone(),
            bounds,
            connected: Arc::new(move |connection| connections.lock().unwrap().push(connection)),
            violated: Arc::new(move |line: &str| told.send(line.to_owned()).unwrap()),
        };
        sandbox.spawn(job, &CancelToken::new())
    }

    fn start(&self, words: &[&str], bounds: ChildBounds) -> SandboxedChild {
        self.try_start(self.command(words), bounds).unwrap()
    }

    /// A script that is asked to end first, and has all the time.
    fn shell(&self, script: &str) -> SandboxedChild {
        self.start(&["/bin/sh", "-c", script], ChildBounds { time: None, grace: LONG })
    }

    /// A script that has hardly any time to end.
    fn deaf(&self, script: &str) -> SandboxedChild {
        self.start(&["/bin/sh", "-c", script], ChildBounds { time: None, grace: SOON })
    }

    /// Starts a script whose processes all hold a pipe, and waits until it has begun with its end.
    fn with_witness(&self, script: &str, end: &str) -> (SandboxedChild, fs::File) {
        let pipe = observer(&self.file(""));
        let child = self.deaf(&format!("exec 3>alive; {script}; printf x >&3; {end}"));
        let mut pipe = fs::File::open(pipe).unwrap();
        pipe.read_exact(&mut [0]).unwrap();
        fs::remove_file(self.file("alive")).unwrap();
        (child, pipe)
    }
}

fn each_level(test: impl Fn(&Place)) {
    for level in LEVELS {
        Place::open(level).iter().for_each(&test);
    }
}

fn each_level_with(limits: ConfinementLimits, test: impl Fn(&Place)) {
    for level in LEVELS {
        let Some(mut place) = Place::open(level) else { continue };
        place.confinement.limits = limits;
        test(&place);
    }
}

/// Every level, and without a sandbox.
fn everywhere(test: impl Fn(&Place)) {
    each_level(&test);
    Place::open(ConfinementLevel::Off).iter().for_each(&test);
}

/// Reads as much output of a program as is expected, and compares it.
#[track_caller]
fn hear(child: &mut SandboxedChild, expected: &str) {
    let mut said = vec![0; expected.len()];
    child.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
    assert_eq!(String::from_utf8(said).unwrap(), expected);
}

fn say(child: &mut SandboxedChild, line: &str) {
    writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
}

#[track_caller]
fn ended(child: &mut SandboxedChild) -> ChildOutcome {
    child.wait(LONG).unwrap().expect("it ends")
}

fn rest(pipe: &mut Option<std::io::PipeReader>) -> String {
    let mut text = String::new();
    pipe.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_program_is_spoken_to_again_and_again_and_its_errors_come_apart() {
    everywhere(|place| {
        let mut child =
            place.shell("echo trouble >&2; while read -r word; do echo \"<$word>\"; done");
        for word in ["one", "two", "three"] {
            say(&mut child, word);
            hear(&mut child, &format!("<{word}>\n"));
        }
        assert_eq!(child.wait(Duration::ZERO).unwrap(), None);
        drop(child.stdin.take());
        let outcome = ended(&mut child);
        assert_eq!((outcome.ending, outcome.left_behind), (ProcessEnding::Exited(0), 0));
        assert_eq!(child.wait(LONG).unwrap(), Some(outcome), "it can be asked again");
        assert_eq!(child.terminate().unwrap(), outcome, "and ended again");
        assert_eq!((&*rest(&mut child.stdout), &*rest(&mut child.stderr)), ("", "trouble\n"));
    });
}

#[test]
fn the_exit_code_and_the_signal_are_told() {
    everywhere(|place| {
        assert_eq!(ended(&mut place.shell("exit 7")).ending, ProcessEnding::Exited(7));
        let killed = ended(&mut place.shell("kill -KILL $$"));
        assert_eq!(killed.ending, ProcessEnding::Signalled(libc::SIGKILL));
    });
}

#[test]
fn a_program_that_is_over_at_once_has_started() {
    everywhere(|place| {
        for _ in 0..20 {
            let mut child =
                place.start(&["/bin/true"], ChildBounds { time: None, grace: Duration::ZERO });
            assert_eq!(ended(&mut child).ending, ProcessEnding::Exited(0));
        }
    });
}

#[test]
fn a_program_that_listens_may_end_by_itself() {
    everywhere(|place| {
        let script = "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
        let mut child = place.shell(script);
        hear(&mut child, "ready\n");
        assert_eq!(child.terminate().unwrap().ending, ProcessEnding::Stopped);
        assert_eq!(rest(&mut child.stdout), "bye\n");
    });
}

#[test]
fn closing_the_input_is_the_first_request_to_end() {
    everywhere(|place| {
        let mut child = place.shell("trap '' TERM; echo ready; cat; echo bye");
        hear(&mut child, "ready\n");
        child.terminate().unwrap();
        assert_eq!(rest(&mut child.stdout), "bye\n");
    });
}

#[test]
fn another_thread_ends_a_program_while_one_waits() {
    everywhere(|place| {
        let mut child = place.deaf("trap '' TERM; echo ready; while :; do sleep 1000; done");
        hear(&mut child, "ready\n");
        let handle = child.handle();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(move || ended(&mut child));
            handle.terminate();
            let outcome = waiting.join().unwrap();
            assert_eq!(outcome.ending, ProcessEnding::Stopped);
            assert!(outcome.duration >= SOON, "it had its grace");
        });
        // Nothing is left to do.
        handle.kill();
    });
}

#[test]
fn a_kill_cuts_the_grace_short() {
    everywhere(|place| {
        let mut child = place.shell("trap '' TERM; echo ready; while :; do sleep 1000; done");
        hear(&mut child, "ready\n");
        let handle = child.handle();
        handle.terminate();
        handle.kill();
        let outcome = ended(&mut child);
        assert_eq!(outcome.ending, ProcessEnding::Stopped);
        assert!(outcome.duration < LONG);
    });
}

#[test]
fn a_limit_of_time_is_kept_if_there_is_one() {
    everywhere(|place| {
        let bounds = ChildBounds { time: Some(SOON), grace: Duration::ZERO };
        let mut child = place.start(&["/bin/cat"], bounds);
        let outcome = ended(&mut child);
        assert_eq!(outcome.ending, ProcessEnding::TimedOut);
        assert!(outcome.duration >= SOON);
    });
}

#[test]
fn a_flood_that_nobody_reads_fills_the_pipe_and_no_memory() {
    everywhere(|place| {
        let probe = place.stage.probe().display().to_string();
        let bounds = ChildBounds { time: None, grace: Duration::ZERO };
        let mut child = place.start(&[&probe, "bomb", "flood"], bounds);
        let pipe = child.stdout.as_ref().unwrap();
        let capacity = pipe_capacity();
        // Full: the program waits, and nobody here has read anything.
        while rustix::io::ioctl_fionread(pipe).unwrap() < capacity as u64 {
            std::thread::yield_now();
        }
        assert_eq!(child.wait(Duration::ZERO).unwrap(), None);
        assert_eq!(child.terminate().unwrap().ending, ProcessEnding::Stopped);
        assert_eq!(rest(&mut child.stdout).len(), capacity);
    });
}

/// The most that a pipe of this machine holds before its writer waits.
fn pipe_capacity() -> usize {
    let (_reader, mut writer) = std::io::pipe().unwrap();
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).unwrap();
    let mut written = 0;
    while let Ok(length) = writer.write(&[b'x'; 4096]) {
        written += length;
    }
    written
}

#[test]
fn a_program_that_closes_its_output_goes_on() {
    everywhere(|place| {
        let mut child = place.shell("exec >&-; read -r code; exit $code");
        assert_eq!(rest(&mut child.stdout), "");
        assert_eq!(child.wait(Duration::ZERO).unwrap(), None);
        say(&mut child, "5");
        assert_eq!(ended(&mut child).ending, ProcessEnding::Exited(5));
    });
}

#[test]
fn the_end_can_be_waited_for_by_its_descriptor() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    everywhere(|place| {
        let mut child = place.shell("read -r word");
        let is_over = |child: &SandboxedChild, seconds| {
            let mut fds = [PollFd::new(child, PollFlags::IN)];
            poll(&mut fds, Some(&Timespec { tv_sec: seconds, tv_nsec: 0 })).unwrap() > 0
        };
        assert!(!is_over(&child, 0));
        say(&mut child, "go");
        assert!(is_over(&child, 60));
        assert_eq!(child.wait(Duration::ZERO).unwrap().unwrap().ending, ProcessEnding::Exited(0));
    });
}

#[test]
fn of_a_tree_that_hides_and_listens_to_nothing_nothing_is_left() {
    each_level(|place| {
        let script = format!("trap '' TERM HUP; {TREE}");
        let (mut child, mut pipe) = place.with_witness(&script, NEVER);
        assert_eq!(child.terminate().unwrap().ending, ProcessEnding::Stopped);
        assert!(is_let_go(&mut pipe));
        let (child, mut pipe) = place.with_witness(&script, NEVER);
        drop(child);
        assert!(is_let_go(&mut pipe));
        // It ends by itself, but its tree would not.
        let (mut child, mut pipe) = place.with_witness(&script, "read -r word");
        say(&mut child, "go");
        let outcome = ended(&mut child);
        assert_eq!(outcome.ending, ProcessEnding::Exited(0));
        assert!(outcome.left_behind > 50, "{outcome:?}");
        assert!(is_let_go(&mut pipe));
    });
}

#[test]
fn without_a_sandbox_those_with_a_parent_or_the_session_end() {
    let place = Place::open(ConfinementLevel::Off).unwrap();
    let script = "trap '' TERM HUP; i=0; while [ $i -lt 50 ]; do sleep 1000 & i=$((i+1)); done
        (sh -c '(sleep 1000; :) & exit' &)
        setsid sh -c 'sleep 1000; :' &";
    let script = format!("{script}\n:");
    let (mut child, mut pipe) = place.with_witness(&script, NEVER);
    assert_eq!(child.terminate().unwrap().ending, ProcessEnding::Stopped);
    assert!(is_let_go(&mut pipe));
    let (child, mut pipe) = place.with_witness(&script, NEVER);
    drop(child);
    assert!(is_let_go(&mut pipe));
}

#[test]
fn nothing_is_left_when_the_owner_is_killed() {
    let stage = Stage::new();
    for user in users() {
        for level in levels_here().chain(["off"]) {
            let place = place(&stage, "killed", user, level);
            let pipe = observer(&place.join("ws"));
            let mut owner =
                stage.command(user).args(["hold-child", level]).arg(&place).spawn().unwrap();
            let mut pipe = fs::File::open(pipe).unwrap();
            pipe.read_exact(&mut [0; 2]).unwrap();
            owner.kill().unwrap();
            owner.wait().unwrap();
            assert!(is_let_go(&mut pipe), "{level}");
        }
    }
}

#[test]
fn many_programs_leave_no_process_no_descriptor_and_no_directory_behind() {
    let stage = Stage::new();
    for user in users() {
        for level in levels_here().chain(["off"]) {
            let place = place(&stage, "cycles", user, level);
            let output = {
                let count = if user.is_none() { "200" } else { "30" };
                stage.command(user).args(["cycles", level]).arg(&place).arg(count).output().unwrap()
            };
            let said = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            println!("{level} {user:?}\n{said}");
            assert!(output.status.success(), "{level} {user:?}: {said}{errors}");
        }
    }
}

#[test]
fn a_program_outlives_the_sandbox_value_and_the_thread_that_started_it() {
    for level in LEVELS {
        let Some(mut place) = Place::open(level) else { continue };
        let start = std::thread::spawn(move || {
            let child = place.shell("read -r word; echo $word");
            place.sandbox = None;
            (place, child)
        });
        let (_place, mut child) = start.join().unwrap();
        say(&mut child, "alive");
        hear(&mut child, "alive\n");
        assert_eq!(ended(&mut child).ending, ProcessEnding::Exited(0));
    }
}

#[test]
fn programs_run_side_by_side_and_one_end_is_not_that_of_another() {
    everywhere(|place| {
        let mut children = [(); 4].map(|()| place.shell("while read -r word; do echo $word; done"));
        for (number, child) in children.iter_mut().enumerate() {
            say(child, &number.to_string());
            hear(child, &format!("{number}\n"));
        }
        let [mut first, mut second, third, mut fourth] = children;
        first.terminate().unwrap();
        drop(third);
        for child in [&mut second, &mut fourth] {
            say(child, "here");
            hear(child, "here\n");
        }
    });
}

#[test]
fn a_program_sees_the_environment_of_a_command_and_none_of_ours() {
    everywhere(|place| {
        let mut command = place.command(&["/usr/bin/env"]);
        command.env.push(("DECLARED".into(), "yes".into()));
        let as_command = Command {
            program: command.program.clone(),
            args: Vec::new(),
            cwd: Cwd::Path(place.file("")),
            env: command.env.clone(),
            stdin: None,
            streams: Streams::Together,
        };
        let mut child =
            place.try_start(command, ChildBounds { time: None, grace: Duration::ZERO }).unwrap();
        let stop = CancelToken::new();
        let finished = match &place.sandbox {
            None => agentry_sandbox::run(&as_command, &within(LONG), &stop),
            Some(sandbox) => {
                let job = SandboxJob {
                    command: &as_command,
                    confinement: &place.confinement,
                    bounds: &within(LONG),
                    connected: Arc::new(drop),
                    hear: None,
                };
                sandbox.run(&job, &stop)
            }
        };
        let names = |text: &str| {
            let names = text.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned()));
            names.collect::<std::collections::BTreeSet<String>>()
        };
        let seen = names(&rest(&mut child.stdout));
        assert_eq!(seen, names(&crate::stdout(&finished.unwrap())));
        assert!(seen.contains("DECLARED") && !seen.contains("CARGO_MANIFEST_DIR"), "{seen:?}");
        ended(&mut child);
    });
}

#[test]
fn processes_that_take_too_much_memory_together_are_ended_and_it_is_told() {
    let limits = ConfinementLimits { memory_bytes: 128 << 20, ..ConfinementLimits::default() };
    each_level_with(limits, |place| {
        let probe = place.stage.probe().display().to_string();
        let bounds = ChildBounds { time: None, grace: Duration::ZERO };
        let mut child = place.start(&[&probe, "bomb", "memories"], bounds);
        assert_eq!(ended(&mut child).ending, ProcessEnding::OutOfMemory);
    });
}

#[test]
fn the_limits_of_a_program_are_those_of_its_confinement() {
    let limits = ConfinementLimits { processes: 40, files: 77, ..ConfinementLimits::default() };
    each_level_with(limits, |place| {
        let command = place.command(&["/bin/bash", "-c", "ulimit -n; ulimit -u; ulimit -t"]);
        let bounds = ChildBounds { time: Some(LONG), grace: Duration::ZERO };
        let mut child = place.try_start(command, bounds).unwrap();
        let said = rest(&mut child.stdout);
        let lines: Vec<u64> = said.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(lines[..2], [77, 40]);
        assert!(lines[2] >= LONG.as_secs() && lines[2] < 1_000_000, "{lines:?}");
        // Without a limit of time the processor time lasts for as long as anything runs.
        let mut endless = place.shell("ulimit -t");
        let seconds: u64 = rest(&mut endless.stdout).trim().parse().unwrap();
        assert!(seconds > 1_000_000, "{seconds}");
    });
}

#[test]
fn a_host_that_is_not_allowed_is_refused_and_told() {
    for level in [ConfinementLevel::Ns, ConfinementLevel::Bwrap] {
        let Some(mut place) = Place::open(level) else { continue };
        place.confinement.network =
            NetworkAccess::Domains { allow: vec!["ok.test".into()], addresses: Vec::new() };
        let script = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{}
            printf 'CONNECT other.test:443 HTTP/1.1\\r\\nHost: other.test:443\\r\\n\\r\\n' >&3
            read -r answer <&3; echo $answer; read -r word",
            limits::PROXY_PORT
        );
        let bounds = ChildBounds { time: None, grace: Duration::ZERO };
        let mut child = place.start(&["/bin/bash", "-c", &script], bounds);
        hear(&mut child, "HTTP/1.1 403");
        // Told when the connection has ended, and that is before the end of the program is.
        child.terminate().unwrap();
        let connections = place.connections.lock().unwrap();
        assert_eq!((connections.len(), &*connections[0].host), (1, "other.test"));
        assert!(connections[0].refused.is_some());
    }
}

#[test]
fn what_cannot_be_started_is_told_as_for_a_command() {
    everywhere(|place| {
        fs::write(place.file("plain"), "no program").unwrap();
        let plain = place.file("plain").display().to_string();
        let bounds = ChildBounds { time: None, grace: LONG };
        let failure = |command| place.try_start(command, bounds).err().expect("it cannot start");
        for program in ["/no/such/program", "no-such-program"] {
            let error = failure(place.command(&[program]));
            assert!(matches!(error, Error::ProgramNotFound { .. }), "{error}");
        }
        for program in [&*plain, "/usr"] {
            let error = failure(place.command(&[program]));
            assert!(matches!(error, Error::NotExecutable { .. }), "{error}");
        }
        for cwd in ["/no/such/directory", &plain] {
            let command =
                ChildCommand { cwd: Cwd::Path(cwd.into()), ..place.command(&["/bin/true"]) };
            let error = failure(command);
            assert!(matches!(error, Error::NoDirectory { .. }), "{error}");
        }
    });
}

#[test]
fn a_start_that_was_cancelled_starts_nothing() {
    each_level(|place| {
        let stop = CancelToken::new();
        stop.stop();
        let job = SpawnJob {
            command: place.command(&["/bin/sh", "-c", "sleep 1000; touch made"]),
            confinement: place.confinement.clone(),
            bounds: ChildBounds { time: None, grace: LONG },
            connected: Arc::new(drop),
            violated: Arc::new(|line| panic!("{line}")),
        };
        let started = place.sandbox.as_ref().unwrap().spawn(job, &stop);
        assert!(matches!(started.err(), Some(Error::NotStarted { .. })));
        assert!(!place.file("made").exists());
    });
}
