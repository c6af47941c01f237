//! One sandbox for several commands: each finds it as new, and none finds one that is not the one it would get.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentry_protocol::ContentHash;
use agentry_protocol::confinement::{
    Confinement, ConfinementLevel, ConfinementLimits, NetworkAccess,
};
use agentry_sandbox::{
    CancelToken, Command, Cwd, Error, ProcessBounds, ProcessEnding, ProcessOutcome, Sandbox,
    SandboxJob, SandboxSetup, Streams, limits,
};

use crate::attacks::Stage;
use crate::{LONG, make_fifo};

/// What a new sandbox numbers its program; the next one in it has a higher number.
const NEW: &str = "2";
const MIB: u64 = 1 << 20;

struct Bench {
    stage: Stage,
    sandbox: Sandbox,
    confinement: Confinement,
}

impl Bench {
    fn open() -> Self {
        let stage = Stage::new();
        let root = stage.directory.path().canonicalize().unwrap();
        let (workspace, home) = (root.join("in/ws"), root.join("home"));
        fs::create_dir_all(workspace.join(".git")).unwrap();
        fs::write(workspace.join(".git/config"), "[core]\n").unwrap();
        fs::write(workspace.join("mine"), "mine").unwrap();
        fs::create_dir(&home).unwrap();
        let setup = SandboxSetup {
            binary: stage.probe(),
            path: String::new(),
            quarantine: root.join("quarantine"),
            // Nobody is there, so that a name which is allowed is told apart from one that is not.
            resolve: Arc::new(|_, _| Ok(Vec::new())),
        };
        let (sandbox, _) = Sandbox::open_level(&setup, ConfinementLevel::Ns).unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let confinement = Confinement {
            level: ConfinementLevel::Ns,
            allow_read: vec![text(&root.join("bin"))],
            allow_write: vec![text(&workspace)],
            deny_read: vec![text(&workspace.join(".env"))],
            home: Some(text(&home)),
            ..Confinement::most_restricted()
        };
        Self { stage, sandbox, confinement }
    }

    fn workspace(&self) -> PathBuf {
        self.stage.directory.path().canonicalize().unwrap().join("in/ws")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.workspace().join(name)
    }

    fn run_with(
        &self,
        confinement: &Confinement,
        script: &str,
        bounds: (Duration, &CancelToken),
    ) -> Result<ProcessOutcome, Error> {
        self.run_in(confinement, &[], script, bounds)
    }

    fn run_with_env(
        &self,
        confinement: &Confinement,
        env: &[(&str, &str)],
        script: &str,
    ) -> ProcessOutcome {
        self.run_in(confinement, env, script, (LONG, &CancelToken::new())).unwrap()
    }

    fn run_in(
        &self,
        confinement: &Confinement,
        more: &[(&str, &str)],
        script: &str,
        (time, stop): (Duration, &CancelToken),
    ) -> Result<ProcessOutcome, Error> {
        let mut env = vec![("PROBE".into(), self.stage.probe().into())];
        env.extend(more.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let command = Command {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), format!("echo $$; {script}").into()],
            cwd: Cwd::Path(self.workspace()),
            env,
            stdin: None,
            streams: Streams::Together,
        };
        let bounds = ProcessBounds { time, output_bytes_max: 64 * 1024 };
        let job = SandboxJob {
            command: &command,
            confinement,
            bounds: &bounds,
            connected: Arc::new(drop),
            hear: None,
        };
        self.sandbox.run(&job, stop)
    }

    /// Whether the command got a new sandbox, and what it said.
    #[track_caller]
    fn said_with(&self, confinement: &Confinement, script: &str) -> (bool, String) {
        let finished = self.run_with(confinement, script, (LONG, &CancelToken::new())).unwrap();
        let text = crate::stdout(&finished);
        assert_eq!(finished.violations, Vec::<String>::new());
        let (number, said) = text.split_once('\n').unwrap();
        (number == NEW, said.to_owned())
    }

    #[track_caller]
    fn said(&self, script: &str) -> (bool, String) {
        self.said_with(&self.confinement, script)
    }

    /// Runs a command that leaves nothing behind; says whether it got a new sandbox.
    #[track_caller]
    fn is_new(&self) -> bool {
        self.said("true").0
    }

    /// The first processes of sandboxes that are there: children of the helper, which has the same command line.
    fn first_processes(&self) -> Vec<i32> {
        let table = fs::read_dir("/proc").unwrap().flatten();
        let numbers = table.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let ours: Vec<(i32, i32)> = numbers
            .filter_map(|pid| {
                is_of(&self.stage, pid).then_some(())?;
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
                Some((pid, stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()?))
            })
            .collect();
        let is_ours = |pid: i32| ours.iter().any(|(own, _)| *own == pid);
        ours.iter().filter(|(_, parent)| is_ours(*parent)).map(|(pid, _)| *pid).collect()
    }
}

/// Whether a process is one of ours: the helper, or the first process of a sandbox.
fn is_of(stage: &Stage, pid: i32) -> bool {
    let probe = stage.probe().display().to_string();
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).starts_with(&probe)
}

#[test]
fn the_next_command_runs_in_the_same_sandbox_and_finds_it_as_new() {
    let bench = Bench::open();
    let look = "ls -A /tmp /dev/shm; ls -ld /tmp /dev/shm | cut -c1-10; cat $HOME/kept 2>&1; umask; \
                cat /proc/[0-9]*/comm 2>&1 | grep -c sleep; cat /proc/self/limits; ulimit -a; pwd; env | sort; ls -l /proc/self/fd | wc -l";
    let (new, at_first) = bench.said(look);
    assert!(new);
    let (new, second) = bench.said(look);
    assert!(!new, "a second sandbox was built");
    assert_eq!(second, at_first);
    let leave = "echo kept > $HOME/kept; mkdir -p /tmp/a/b/c /tmp/home/x; echo x > /tmp/a/b/c/file; \
                 ln -s $PWD /tmp/link; ln -s $PWD /tmp/a/link; mkfifo /tmp/a/pipe; echo x > /dev/shm/x; \
                 chmod 0 /tmp/a/b /dev/shm; chmod 700 /tmp; cd /; umask 077; ulimit -n 10; trap '' TERM INT; \
                 for signal in KILL STOP TERM CHLD SEGV BUS ABRT SEGV; do kill -$signal 1; done; \
                 sleep 1000 & sleep 1000 & true";
    assert!(!bench.said(leave).0);
    let (new, third) = bench.said(look);
    assert!(!new);
    let kept =
        at_first.replace(at_first.lines().find(|line| line.starts_with("cat: ")).unwrap(), "kept");
    assert_eq!(third, kept);
    assert_eq!(fs::read_to_string(bench.file("mine")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(bench.file(".git/config")).unwrap(), "[core]\n");
}

#[test]
fn the_home_that_is_thrown_away_is_new_for_every_command() {
    let bench = Bench::open();
    let confinement = Confinement { home: None, ..bench.confinement.clone() };
    let script = "ls -A $HOME; ls -ld $HOME | cut -c1-10; echo x > $HOME/.profile; chmod 777 $HOME";
    for expected in [true, false, false] {
        assert_eq!(bench.said_with(&confinement, script), (expected, "drwx------\n".to_owned()));
    }
    assert!(!bench.said_with(&confinement, "rm -r $HOME").0);
    assert_eq!(bench.said_with(&confinement, script), (false, "drwx------\n".to_owned()));
}

#[test]
fn what_a_program_leaves_behind_beside_files_does_not_reach_the_next() {
    let bench = Bench::open();
    for kind in [
        "memory",
        "semaphores",
        "messages",
        "queue",
        "limit",
        "priority",
        "scheduler",
        "turn",
        "connection",
        "terminal",
        "files",
    ] {
        bench.is_new();
        assert!(!bench.is_new(), "{kind}: nothing was left behind, and still there is a new one");
        assert_eq!(bench.said(&format!("$PROBE leave {kind}")), (false, String::new()));
        assert!(bench.is_new(), "{kind} reached the next command");
    }
}

#[test]
fn inode_flags_and_times_of_the_temporary_directories_do_not_reach_the_next_command() {
    let bench = Bench::open();
    let look = "lsattr -d /tmp /dev/shm 2>/dev/null; stat -c '%X %Y' /tmp /dev/shm";
    let (_, at_first) = bench.said(look);
    assert!(!bench.said("touch -ad @1 /tmp /dev/shm; touch -md @2 /tmp; touch /dev/shm/x").0);
    assert_eq!(bench.said(look), (false, at_first.clone()), "times reached the next command");
    for flags in ["+d", "+A", "+dA"] {
        let (_, said) = bench.said(&format!("chattr {flags} /tmp 2>&1 && echo set"));
        // The temporary file system of an older kernel has no flags.
        if said == "set\n" {
            assert!(bench.is_new(), "{flags} reached the next command");
            assert_eq!(bench.said(look).1.lines().next(), at_first.lines().next());
        }
    }
}

#[test]
fn a_sandbox_is_not_used_again_for_another_authority_or_with_other_variables() {
    let bench = Bench::open();
    let of = |name: &str| Confinement {
        authority: Some(ContentHash::of(name.as_bytes())),
        ..bench.confinement.clone()
    };
    assert!(bench.said_with(&of("friend"), "true").0);
    assert!(!bench.said_with(&of("friend"), "true").0);
    assert!(bench.said_with(&of("owner"), "true").0, "the sandbox of a friend was used again");
    assert!(bench.said("true").0, "the sandbox of somebody was used for nobody");
    assert!(!bench.said_with(&of("owner"), "true").0);
    let said = bench.run_with_env(&of("owner"), &[("TOKEN", "x")], "true");
    assert!(crate::stdout(&said).starts_with("2\n"), "a secret came into a used sandbox");
    assert!(!bench.said_with(&of("owner"), "true").0);
}

#[test]
fn a_protected_file_that_was_replaced_is_protected_anew() {
    let bench = Bench::open();
    let look = "cat .git/config; (echo x >> .git/config) 2>/dev/null || echo refused";
    assert_eq!(bench.said(look), (true, "[core]\nrefused\n".to_owned()));
    assert_eq!(bench.said(look), (false, "[core]\nrefused\n".to_owned()));
    // As an editor does it.
    fs::write(bench.file(".git/new"), "[user]\n").unwrap();
    fs::rename(bench.file(".git/new"), bench.file(".git/config")).unwrap();
    assert_eq!(bench.said(look).1, "[user]\nrefused\n");
    // The same directory by its number, or a new one with the same number: only the kernel can tell.
    fs::remove_dir_all(bench.file(".git")).unwrap();
    fs::create_dir(bench.file(".git")).unwrap();
    fs::write(bench.file(".git/config"), "[third]\n").unwrap();
    assert_eq!(bench.said(look), (true, "[third]\nrefused\n".to_owned()));
}

#[test]
fn what_is_hidden_stays_hidden_whatever_is_done_to_it_outside() {
    let bench = Bench::open();
    let look = "cat .env 2>/dev/null || echo hidden";
    let hidden = |new| (new, "hidden\n".to_owned());
    assert_eq!(bench.said(look), hidden(true));
    fs::write(bench.file(".env"), "secret").unwrap();
    assert_eq!(bench.said(look), hidden(true));
    assert_eq!(bench.said(look), hidden(false));
    fs::write(bench.file("other"), "secret").unwrap();
    fs::rename(bench.file("other"), bench.file(".env")).unwrap();
    assert_eq!(bench.said(look), hidden(true));
    // The very same file, but not the same name: the mount over the name is gone.
    fs::hard_link(bench.file(".env"), bench.file("link")).unwrap();
    let look_both = format!("{look}; cat link 2>/dev/null || echo hidden");
    assert_eq!(bench.said(&look_both), (true, "hidden\nhidden\n".to_owned()));
    fs::remove_file(bench.file(".env")).unwrap();
    fs::rename(bench.file("link"), bench.file(".env")).unwrap();
    assert_eq!(bench.said(look), hidden(true));
}

#[test]
fn a_place_on_the_way_to_the_workspace_that_was_renamed_is_not_used_again() {
    let bench = Bench::open();
    let around = bench.workspace().parent().unwrap().display().to_string();
    assert!(bench.is_new());
    assert!(!bench.said(&format!("cd /; mv {around} /tmp/away; mkdir -p {around}/ws")).0);
    assert_eq!(bench.said("cat mine"), (true, "mine".to_owned()));
    assert!(!bench.said(&format!("touch {around}/more; chmod 777 {around}")).0);
    assert_eq!(bench.said(&format!("cat mine; ls {around}")), (true, "minews\n".to_owned()));
    assert!(!bench.said(&format!("touch {around}/more")).0);
    assert_eq!(bench.said(&format!("cat mine; ls {around}")), (false, "minews\n".to_owned()));
}

#[test]
fn two_commands_at_the_same_time_are_in_two_sandboxes() {
    let bench = Bench::open();
    assert!(bench.is_new());
    let pipe = bench.file("pipe");
    make_fifo(&pipe);
    std::thread::scope(|scope| {
        let one = scope.spawn(|| bench.said("echo x > /tmp/one; echo x > pipe; read -r x < pipe"));
        assert_eq!(fs::read(&pipe).unwrap(), b"x\n");
        assert_eq!(bench.said("ls /tmp | grep one; true"), (true, String::new()));
        fs::write(&pipe, "x\n").unwrap();
        assert!(!one.join().unwrap().0);
    });
}

#[test]
fn a_command_that_was_ended_takes_its_sandbox_along() {
    let bench = Bench::open();
    let ended = |confinement: &Confinement, script, time, stop: &CancelToken, ending| {
        assert!(!bench.said_with(confinement, "true").0);
        let finished = bench.run_with(confinement, script, (time, stop)).unwrap();
        assert_eq!(finished.ending, ending);
        assert!(bench.said_with(confinement, "true").0, "after {ending:?}");
    };
    let plain = &bench.confinement;
    bench.is_new();
    ended(
        plain,
        "sleep 1000",
        Duration::from_millis(100),
        &CancelToken::new(),
        ProcessEnding::TimedOut,
    );
    let stop = CancelToken::new();
    let pipe = bench.file("pipe");
    make_fifo(&pipe);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            fs::File::open(&pipe).unwrap().read_exact(&mut [0]).unwrap();
            stop.stop();
        });
        ended(plain, "echo x > pipe; sleep 1000", LONG, &stop, ProcessEnding::Stopped);
    });
    let small = ConfinementLimits { memory_bytes: 128 * MIB, ..plain.limits };
    let small = Confinement { limits: small, ..plain.clone() };
    bench.said_with(&small, "true");
    ended(&small, "$PROBE bomb memories", LONG, &CancelToken::new(), ProcessEnding::OutOfMemory);
    // A program that a signal ended is over by itself.
    let finished = bench.run_with(plain, "kill -9 $$", (LONG, &CancelToken::new())).unwrap();
    assert_eq!(finished.ending, ProcessEnding::Signalled(9));
    assert!(!bench.is_new());
    // What could not be started never ran.
    let gone = bench.file("gone").display().to_string();
    let command = Command {
        program: "/bin/true".into(),
        args: Vec::new(),
        cwd: Cwd::Path(gone.into()),
        // As the others have it, so that it gets the same sandbox.
        env: vec![("PROBE".into(), bench.stage.probe().into())],
        stdin: None,
        streams: Streams::Apart,
    };
    let bounds = ProcessBounds { time: LONG, output_bytes_max: 1024 };
    let (confinement, connected) = (plain, Arc::new(drop));
    let job = SandboxJob { command: &command, confinement, bounds: &bounds, connected, hear: None };
    let error = bench.sandbox.run(&job, &CancelToken::new()).unwrap_err();
    assert!(matches!(error, Error::NoDirectory { .. }), "{error}");
    assert!(bench.is_new());
}

#[test]
fn too_much_memory_is_seen_in_the_second_command_as_in_the_first() {
    let bench = Bench::open();
    let small = ConfinementLimits { memory_bytes: 128 * MIB, ..bench.confinement.limits };
    let small = Confinement { limits: small, ..bench.confinement.clone() };
    assert!(bench.said_with(&small, "true").0);
    let finished =
        bench.run_with(&small, "$PROBE bomb memories", (LONG, &CancelToken::new())).unwrap();
    assert_eq!(finished.ending, ProcessEnding::OutOfMemory);
}

#[test]
fn a_sandbox_that_died_while_it_waited_is_replaced() {
    let bench = Bench::open();
    assert!(bench.is_new());
    let waiting = bench.first_processes();
    assert_eq!(waiting.len(), 1);
    let pid = rustix::process::Pid::from_raw(waiting[0]).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert!(bench.is_new());
    assert!(!bench.is_new());
}

#[test]
fn a_command_with_other_rights_gets_another_sandbox() {
    let bench = Bench::open();
    let plain = bench.confinement.clone();
    let more = bench.stage.directory.path().canonicalize().unwrap().join("home");
    let others = [
        Confinement { limits: ConfinementLimits { files: 77, ..plain.limits }, ..plain.clone() },
        Confinement {
            limits: ConfinementLimits { timeout_ms: 7_000, ..plain.limits },
            ..plain.clone()
        },
        Confinement { allow_read: Vec::new(), ..plain.clone() },
        Confinement {
            allow_write: Vec::new(),
            allow_read: plain.allow_write.clone(),
            ..plain.clone()
        },
        Confinement { deny_read: vec![bench.file("mine").display().to_string()], ..plain.clone() },
        Confinement { deny_write: vec![bench.file("mine").display().to_string()], ..plain.clone() },
        Confinement { home: None, allow_read: vec![more.display().to_string()], ..plain.clone() },
    ];
    for other in others {
        bench.is_new();
        assert!(bench.said_with(&other, "true").0, "{other:?}");
        assert!(!bench.said_with(&other, "true").0, "{other:?}");
    }
}

#[test]
fn the_rules_of_the_network_are_those_of_each_command() {
    let bench = Bench::open();
    let network = NetworkAccess::Domains { allow: vec!["ok.test".into()], addresses: Vec::new() };
    let open = Confinement { network, ..bench.confinement.clone() };
    let ask = "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT ok.test:443 HTTP/1.1\\r\\nHost: ok.test:443\\r\\n\\r\\n' >&3; head -n1 <&3";
    let ask = format!("bash -c '{}'", ask.replace('\'', "'\\''"));
    let (refused, allowed) = ("403", "502");
    for (confinement, new, answer) in [
        (&bench.confinement, true, None),
        (&bench.confinement, false, Some(refused)),
        (&open, true, None),
        (&open, false, Some(allowed)),
        (&bench.confinement, true, None),
        (&open, false, Some(allowed)),
    ] {
        match answer {
            None => assert_eq!(bench.said_with(confinement, "true"), (new, String::new())),
            Some(answer) => {
                let said = bench.said_with(confinement, &ask);
                assert!(said.0 == new && said.1.contains(answer), "{answer}: {said:?}");
            }
        }
    }
}

#[test]
fn only_some_sandboxes_wait_and_they_go_with_the_supervisor() {
    let bench = Bench::open();
    for number in 0..limits::IDLE_SANDBOXES_MAX + 2 {
        let files = 60 + u64::try_from(number).unwrap();
        let limits = ConfinementLimits { files, ..bench.confinement.limits };
        assert!(bench.said_with(&Confinement { limits, ..bench.confinement.clone() }, "true").0);
    }
    // Who was told to go may take a moment.
    while bench.first_processes().len() > limits::IDLE_SANDBOXES_MAX {
        std::thread::yield_now();
    }
    let waiting = bench.first_processes();
    assert_eq!(waiting.len(), limits::IDLE_SANDBOXES_MAX);
    let Bench { stage, sandbox, .. } = bench;
    drop(sandbox);
    while waiting.iter().any(|pid| is_of(&stage, *pid)) {
        std::thread::yield_now();
    }
}

#[test]
fn calls_with_other_roots_share_what_is_known_of_the_common_one() {
    let bench = Bench::open();
    let own = bench.workspace().with_file_name("own");
    fs::create_dir(&own).unwrap();
    let mut other = bench.confinement.clone();
    other.allow_write.push(own.to_str().unwrap().to_owned());
    make_fifo(&bench.file("planted"));
    make_fifo(&bench.file("gate"));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let script = "echo evil > .envrc; echo > planted; cat gate";
            bench.run_with(&bench.confinement, script, (LONG, &CancelToken::new())).unwrap()
        });
        fs::read(bench.file("planted")).unwrap();
        // It begins while the other runs, and does not take what that one planted for the person's.
        let second = bench.run_with(&other, "true", (LONG, &CancelToken::new())).unwrap();
        assert!(second.violations.iter().any(|it| it.contains(".envrc")), "{second:?}");
        assert!(!bench.file(".envrc").exists());
        fs::write(bench.file("gate"), "").unwrap();
        first.join().unwrap();
    });
}

#[test]
fn a_call_with_other_rules_waits_for_its_turn_and_can_be_stopped() {
    let bench = Bench::open();
    let mut other = bench.confinement.clone();
    other.deny_write.push(bench.file("fixed").to_str().unwrap().to_owned());
    make_fifo(&bench.file("begun"));
    make_fifo(&bench.file("gate"));
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            let script = "echo > begun; cat gate; echo done > fixed";
            bench.run_with(&bench.confinement, script, (LONG, &CancelToken::new())).unwrap()
        });
        fs::read(bench.file("begun")).unwrap();
        let stop = CancelToken::new();
        stop.stop();
        let refused = bench.run_with(&other, "true", (LONG, &stop)).unwrap_err().to_string();
        assert!(refused.contains("stopped while it waited"), "{refused}");
        let second =
            scope.spawn(|| bench.run_with(&other, "cat fixed", (LONG, &CancelToken::new())));
        fs::write(bench.file("gate"), "").unwrap();
        assert!(first.join().unwrap().violations.is_empty());
        let second = second.join().unwrap().unwrap();
        let said = crate::stdout(&second);
        assert!(said.ends_with("done\n"), "{said}");
    });
}
