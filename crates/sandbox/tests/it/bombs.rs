//! Programs that take all they can get: the call ends, others are answered meanwhile, the next call works.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentry_protocol::confinement::{Confinement, ConfinementLevel, ConfinementLimits};
use agentry_sandbox::{
    CancelToken, Command, Cwd, ProcessBounds, ProcessEnding, ProcessOutcome, Sandbox, SandboxJob,
    SandboxSetup, Streams, egress, limits,
};

use crate::attacks::{Stage, is_root, users};
use crate::{LONG, make_fifo};

const MIB: u64 = 1 << 20;
const SMALL: ConfinementLimits = ConfinementLimits {
    timeout_ms: 120_000,
    memory_bytes: 128 * MIB,
    processes: 40,
    disk_bytes: 16 * MIB,
    files: 128,
};

struct Bench {
    stage: Stage,
    sandbox: Sandbox,
}

impl Bench {
    /// A sandbox of that level, if it is to be had.
    fn open(level: ConfinementLevel) -> Option<Self> {
        let stage = Stage::new();
        let workspace = stage.directory.path().join("ws");
        fs::create_dir(&workspace).unwrap();
        if is_root() && level == ConfinementLevel::Landlock {
            let user = Some(limits::USER_FIRST);
            std::os::unix::fs::chown(&workspace, user, user).unwrap();
        }
        let setup = SandboxSetup {
            binary: stage.probe(),
            path: String::new(),
            quarantine: stage.directory.path().join("quarantine"),
            resolve: egress::system(),
        };
        match Sandbox::open_level(&setup, level) {
            Ok((sandbox, _)) => Some(Self { stage, sandbox }),
            Err(why) if why.contains("bubblewrap is not installed") => {
                println!("skipped: install bubblewrap to try the level {level}");
                None
            }
            Err(why) => panic!("{level}: {why}"),
        }
    }

    fn workspace(&self) -> PathBuf {
        self.stage.directory.path().join("ws")
    }

    fn run(
        &self,
        program: &str,
        args: &[&str],
        time: Duration,
        stop: &CancelToken,
    ) -> ProcessOutcome {
        let command = Command {
            program: program.into(),
            args: args.iter().map(Into::into).collect(),
            cwd: Cwd::Path(self.workspace()),
            env: Vec::new(),
            stdin: None,
            streams: Streams::Together,
        };
        let confinement = Confinement {
            level: self.sandbox.level(),
            allow_read: vec![self.stage.probe().parent().unwrap().display().to_string()],
            allow_write: vec![self.workspace().display().to_string()],
            limits: SMALL,
            ..Confinement::most_restricted()
        };
        let bounds = ProcessBounds { time, output_bytes_max: 64 * 1024 };
        let job = SandboxJob {
            command: &command,
            confinement: &confinement,
            bounds: &bounds,
            connected: Arc::new(drop),
            hear: None,
        };
        self.sandbox.run(&job, stop).unwrap()
    }

    /// The bomb, until it ends or its time is over. Meanwhile other calls are made and answered.
    fn goes_off(&self, kind: &str, time: Duration) -> ProcessOutcome {
        self.goes_off_until(kind, time, &CancelToken::new(), || ())
    }

    /// The bomb that never ends, until it is stopped. Other calls are answered before that.
    fn goes_off_until_stopped(&self, kind: &str) -> ProcessOutcome {
        let stop = CancelToken::new();
        self.goes_off_until(kind, LONG, &stop, || stop.stop())
    }

    fn goes_off_until(
        &self,
        kind: &str,
        time: Duration,
        stop: &CancelToken,
        then: impl FnOnce(),
    ) -> ProcessOutcome {
        let probe = self.stage.probe().display().to_string();
        let finished = std::thread::scope(|scope| {
            let bomb = scope.spawn(|| self.run(&probe, &["bomb", kind], time, stop));
            for _ in 0..5 {
                let other = self.run("/bin/echo", &["here"], LONG, &CancelToken::new());
                assert_eq!(other.ending, ProcessEnding::Exited(0));
                assert_eq!(other.stdout.whole().unwrap(), b"here\n");
            }
            assert!(time != LONG || !matches!(kind, "forks" | "flood") || !bomb.is_finished());
            then();
            bomb.join().unwrap()
        });
        assert_eq!(self.left(), Vec::<String>::new(), "nothing may be left");
        let next = self.run("/bin/echo", &["next"], LONG, &CancelToken::new());
        assert_eq!(
            (next.ending, next.stdout.whole().unwrap()),
            (ProcessEnding::Exited(0), b"next\n".to_vec())
        );
        finished
    }

    /// What still runs of the probe, but for the helper.
    fn left(&self) -> Vec<String> {
        let probe = self.stage.probe().display().to_string();
        let table = fs::read_dir("/proc").unwrap().flatten();
        let lines = table.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines.filter(|line| line.contains(&probe) && line.contains(" bomb ")).collect()
    }
}

fn each_level(test: impl Fn(&Bench)) {
    for level in [ConfinementLevel::Ns, ConfinementLevel::Bwrap, ConfinementLevel::Landlock] {
        if let Some(bench) = Bench::open(level) {
            println!("{level}");
            test(&bench);
        }
    }
}

const SOON: Duration = Duration::from_millis(700);

#[test]
fn processes_without_end_are_ended_by_the_time_and_hurt_nobody() {
    each_level(|bench| {
        assert_eq!(bench.goes_off_until_stopped("forks").ending, ProcessEnding::Stopped);
        assert_eq!(bench.goes_off("forks", SOON).ending, ProcessEnding::TimedOut);
    });
}

#[test]
fn threads_without_end_stop_at_the_limit() {
    each_level(|bench| {
        let finished = bench.goes_off("threads", SOON);
        assert_eq!(finished.ending, ProcessEnding::TimedOut);
        let made: u64 =
            String::from_utf8(finished.stdout.whole().unwrap()).unwrap().trim().parse().unwrap();
        assert!(made < SMALL.processes, "{made}");
    });
}

#[test]
fn one_process_gets_no_more_memory_than_the_limit() {
    each_level(|bench| {
        let finished = bench.goes_off("memory", LONG);
        // Either the limit of the process holds it, or all are ended together.
        assert!(
            matches!(finished.ending, ProcessEnding::Exited(3) | ProcessEnding::OutOfMemory),
            "{finished:?}"
        );
    });
}

#[test]
fn many_processes_that_are_each_below_the_limit_are_ended_together() {
    each_level(|bench| {
        assert_eq!(bench.goes_off("memories", LONG).ending, ProcessEnding::OutOfMemory)
    });
}

#[test]
fn temporary_files_and_a_home_that_is_thrown_away_have_a_limit() {
    for level in [ConfinementLevel::Ns, ConfinementLevel::Bwrap] {
        let Some(bench) = Bench::open(level) else { continue };
        for kind in ["temporary", "home"] {
            let finished = bench.goes_off(kind, LONG);
            assert_eq!(finished.ending, ProcessEnding::Exited(0));
            let text = String::from_utf8(finished.stdout.whole().unwrap()).unwrap();
            let written: u64 = text.trim().strip_suffix(" MiB").unwrap().parse().unwrap();
            assert!(written <= SMALL.disk_bytes / MIB, "{level} {kind}: {written}");
        }
    }
}

#[test]
fn a_flood_of_output_is_kept_in_a_bounded_space_and_can_be_stopped() {
    each_level(|bench| {
        let finished = bench.goes_off_until_stopped("flood");
        assert_eq!(finished.ending, ProcessEnding::Stopped);
        assert_eq!(finished.stdout.head().len() + finished.stdout.tail().len(), 64 * 1024);
        assert!(finished.stdout.bytes_left_out() > 0);
    });
}

#[test]
fn a_stop_ends_who_listens_to_nothing() {
    each_level(|bench| {
        let script = "trap '' TERM HUP; (setsid sh -c 'sleep 1000; :' &); exec 3>alive; printf x >&3; sleep 1000";
        let pipe = observer(&bench.workspace());
        let stop = CancelToken::new();
        std::thread::scope(|scope| {
            let running = scope.spawn(|| bench.run("/bin/sh", &["-c", script], LONG, &stop));
            let mut pipe = fs::File::open(&pipe).unwrap();
            pipe.read_exact(&mut [0]).unwrap();
            stop.stop();
            assert_eq!(running.join().unwrap().ending, ProcessEnding::Stopped);
            // Its end comes when every process that holds it is gone.
            assert!(is_let_go(&mut pipe));
        });
    });
}

/// Whether nobody holds the other end of a pipe any more; whoever is about to end has time to.
pub(crate) fn is_let_go(pipe: &mut fs::File) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut watched = [PollFd::new(&*pipe, PollFlags::IN)];
    poll(&mut watched, Some(&Timespec { tv_sec: 30, tv_nsec: 0 })).unwrap();
    !watched[0].revents().is_empty() && pipe.read(&mut [0]).unwrap() == 0
}

/// A pipe that processes in the sandbox hold while they live.
pub(crate) fn observer(workspace: &std::path::Path) -> PathBuf {
    use std::os::unix::fs::MetadataExt as _;
    let path = workspace.join("alive");
    make_fifo(&path);
    let owner = workspace.metadata().unwrap();
    std::os::unix::fs::chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
    path
}

pub(crate) fn levels_here() -> impl Iterator<Item = &'static str> {
    let has_bubblewrap =
        ["/usr/bin/bwrap", "/bin/bwrap"].iter().any(|path| std::path::Path::new(path).exists());
    ["ns", "bwrap", "landlock"].into_iter().filter(move |level| *level != "bwrap" || has_bubblewrap)
}

/// A directory for a supervisor of its own, with a workspace that its commands can write.
pub(crate) fn place(stage: &Stage, name: &str, user: Option<u32>, level: &str) -> PathBuf {
    let place = stage.directory.path().join(format!("{name}-{level}-{}", user.unwrap_or_default()));
    fs::create_dir_all(place.join("ws")).unwrap();
    let of_sandbox =
        (user.is_none() && is_root() && level == "landlock").then_some(limits::USER_FIRST);
    for (path, owner) in [(place.clone(), user), (place.join("ws"), of_sandbox.or(user))] {
        std::os::unix::fs::chown(path, owner, owner).unwrap();
    }
    place
}

#[test]
fn nothing_is_left_when_the_supervisor_is_killed() {
    let stage = Stage::new();
    for user in users() {
        for level in levels_here() {
            let place = place(&stage, "killed", user, level);
            let pipe = observer(&place.join("ws"));
            let mut supervisor =
                stage.command(user).args(["hold", level]).arg(&place).spawn().unwrap();
            let mut pipe = fs::File::open(pipe).unwrap();
            pipe.read_exact(&mut [0]).unwrap();
            supervisor.kill().unwrap();
            supervisor.wait().unwrap();
            // Comes back when nobody holds the other end any more: all are gone.
            assert!(is_let_go(&mut pipe), "{level}");
        }
    }
}

#[test]
fn a_command_runs_confined_or_not_at_all_when_the_helper_is_killed() {
    let stage = Stage::new();
    for user in users() {
        for level in levels_here() {
            let place = place(&stage, "loop", user, level);
            let mut supervisor = stage
                .command(user)
                .args(["loop", level])
                .arg(&place)
                .stdout(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            let own = supervisor.id();
            let mut output = BufReader::new(supervisor.stdout.take().unwrap());
            let mut said = String::new();
            output.read_line(&mut said).unwrap();
            assert_eq!(said, "ready\n");
            let mut killed: u64 = 0;
            while supervisor.try_wait().unwrap().is_none() {
                for helper in children(own) {
                    // At another moment of its life each time.
                    for _ in 0..(killed * 7_919) % 1_000_000 {
                        std::hint::spin_loop();
                    }
                    let helper = rustix::process::Pid::from_raw(helper).unwrap();
                    rustix::process::kill_process(helper, rustix::process::Signal::KILL).ok();
                    killed += 1;
                }
                std::thread::yield_now();
            }
            said.clear();
            output.read_to_string(&mut said).unwrap();
            println!("{level}: {killed} killed; confined and failed: {said}");
            assert!(!said.contains("ran:"), "{said}");
            assert!(!place.join("ws/not-confined").exists());
            assert!(supervisor.wait().unwrap().success());
            assert!(killed > 0);
        }
    }
}

/// The helpers of a supervisor.
fn children(of: u32) -> Vec<i32> {
    let listed = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

#[test]
fn a_call_outlives_the_thread_that_opened_the_sandbox() {
    let (given, taken) = std::sync::mpsc::channel();
    let (leave, left) = std::sync::mpsc::channel::<()>();
    let opener = std::thread::spawn(move || {
        given.send(Bench::open(ConfinementLevel::Ns).unwrap()).unwrap();
        left.recv().unwrap_err();
    });
    let bench = taken.recv().unwrap();
    let ready = observer(&bench.workspace());
    let go = bench.workspace().join("go");
    make_fifo(&go);
    std::thread::scope(|scope| {
        let script = "printf x >alive; read -r word <go; echo $word";
        let running =
            scope.spawn(|| bench.run("/bin/sh", &["-c", script], LONG, &CancelToken::new()));
        fs::File::open(&ready).unwrap().read_exact(&mut [0]).unwrap();
        drop(leave);
        opener.join().unwrap();
        // A call that is already dead would never open the other end.
        let mut word = None;
        while word.is_none() && !running.is_finished() {
            use std::os::unix::fs::OpenOptionsExt as _;
            let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
            word = fs::OpenOptions::new().write(true).custom_flags(nonblocking).open(&go).ok();
            std::thread::yield_now();
        }
        if let Some(mut word) = word {
            std::io::Write::write_all(&mut word, b"on\n").unwrap();
        }
        let finished = running.join().unwrap();
        assert_eq!(
            (finished.ending, finished.stdout.whole().unwrap()),
            (ProcessEnding::Exited(0), b"on\n".to_vec())
        );
    });
}
