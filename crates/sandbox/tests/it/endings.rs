//! How a process tree is ended: by time, on request, and when only others keep it open.

use std::io::{PipeReader, Read};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use agentry_sandbox::{CancelToken, Command, Cwd, ProcessEnding, ProcessOutcome};

use crate::{LONG, run, shell, stdout, within};

/// A pipe that a script can open by its path. Its end comes when every process that took hold of it
/// is gone, so a test can wait for that without a sleep.
struct Witness {
    reader: PipeReader,
    path: String,
    writer: Option<std::io::PipeWriter>,
}

impl Witness {
    fn new() -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), writer.as_raw_fd());
        Self { reader, path, writer: Some(writer) }
    }

    /// What was written until the last holder was gone.
    fn last_words(mut self) -> String {
        self.writer = None;
        let mut text = String::new();
        self.reader.read_to_string(&mut text).unwrap();
        text
    }

    /// Waits until somebody wrote a byte.
    fn wait(&mut self) {
        self.reader.read_exact(&mut [0]).unwrap();
    }
}

/// Runs the script until it says on descriptor 3 that it is ready, then stops it.
fn stopped_when_ready(mut observer: Witness, script: &str) -> (ProcessOutcome, Duration, Witness) {
    let command = shell(&format!("exec 3>{}; {script}", observer.path));
    let stop = CancelToken::new();
    let remote = stop.clone();
    let stopper = std::thread::spawn(move || {
        observer.wait();
        remote.stop();
        (Instant::now(), observer)
    });
    let finished = agentry_sandbox::run(&command, &within(LONG), &stop).unwrap();
    let ended = Instant::now();
    let (stopped, observer) = stopper.join().unwrap();
    (finished, ended - stopped, observer)
}

#[test]
fn when_its_time_is_over_the_whole_tree_is_gone() {
    let observer = Witness::new();
    let script = format!(
        "exec 3>{}; (sleep 1000 & sleep 1000) & sh -c 'sleep 1000' & sleep 1000",
        observer.path
    );
    let bounds = within(Duration::from_millis(500));
    let finished = agentry_sandbox::run(&shell(&script), &bounds, &CancelToken::new()).unwrap();
    assert_eq!((finished.ending, finished.left_behind), (ProcessEnding::TimedOut, 0));
    assert!(finished.duration >= bounds.time);
    assert_eq!(observer.last_words(), "");
}

#[test]
fn a_stop_from_another_thread_ends_the_tree_at_once() {
    let script = "(sleep 1000 & sleep 1000) & printf x >&3; sleep 1000";
    let (finished, took, observer) = stopped_when_ready(Witness::new(), script);
    assert_eq!((finished.ending, finished.left_behind), (ProcessEnding::Stopped, 0));
    assert_eq!(observer.last_words(), "");
    // Far below the time limit; how far is for a benchmark to say.
    assert!(took < LONG / 4);
}

#[test]
fn who_does_not_listen_to_the_request_to_end_is_killed() {
    let script = "trap 'echo asked' TERM
        sh -c 'trap \"\" TERM; printf x >&3; while :; do sleep 1000; done' &
        while :; do wait; done";
    let (finished, _, observer) = stopped_when_ready(Witness::new(), script);
    assert_eq!(finished.ending, ProcessEnding::Stopped);
    assert_eq!(stdout(&finished), "asked\n", "it is asked first");
    assert_eq!(observer.last_words(), "");
}

#[test]
fn who_left_the_session_is_found_by_its_parent() {
    let script = "setsid sh -c 'printf x >&3; sleep 1000; :' & sleep 1000";
    let (finished, _, observer) = stopped_when_ready(Witness::new(), script);
    assert_eq!(finished.ending, ProcessEnding::Stopped);
    assert_eq!(observer.last_words(), "");
}

#[test]
fn who_left_the_group_and_lost_its_parent_is_found_by_its_session() {
    let script = "bash -c 'set -m; sleep 1000 & exit'; printf x >&3; sleep 1000";
    let (finished, _, observer) = stopped_when_ready(Witness::new(), script);
    assert_eq!(finished.ending, ProcessEnding::Stopped);
    assert_eq!(observer.last_words(), "");
}

#[test]
fn a_background_process_that_keeps_the_output_open_is_not_waited_for() {
    let observer = Witness::new();
    let script = format!("exec 3>{}; sleep 1000 & echo done", observer.path);
    let finished = run(&shell(&script));
    assert_eq!((finished.ending, finished.left_behind), (ProcessEnding::Exited(0), 1));
    assert_eq!(stdout(&finished), "done\n");
    assert_eq!(observer.last_words(), "", "and it does not outlive the call");
}

#[test]
fn who_ran_away_with_the_output_is_not_waited_for_either() {
    // It left the session and its parent is gone: such a process is not found. It ends when we let
    // go of the pipe that it reads.
    let (reader, held) = std::io::pipe().unwrap();
    let leash = format!("/proc/{}/fd/{}", std::process::id(), reader.as_raw_fd());
    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        "mkfifo f; (setsid sh -c 'echo away >f; exec cat {leash}' &); read -r x <f; echo $x; exit 3"
    );
    let finished = run(&Command { cwd: Cwd::Path(dir.path().into()), ..shell(&script) });
    assert_eq!((finished.ending, finished.left_behind), (ProcessEnding::Exited(3), 0));
    assert_eq!(stdout(&finished), "away\n");
    drop(held);
}

#[test]
fn what_is_written_after_the_child_has_ended_is_still_taken() {
    // The other process sees the end of its input when the shell is gone, and speaks only then.
    let script = "exec 4>&1; exec > >(read -r x; echo late >&4)";
    let command = Command { program: "/bin/bash".into(), ..shell(script) };
    let finished = run(&command);
    assert_eq!((stdout(&finished).as_str(), finished.ending), ("late\n", ProcessEnding::Exited(0)));
}

#[test]
fn what_was_stopped_before_is_not_started() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("made");
    let stop = CancelToken::new();
    stop.stop();
    let script = format!("touch {}", file.display());
    let finished = agentry_sandbox::run(&shell(&script), &within(LONG), &stop).unwrap();
    assert_eq!(finished.ending, ProcessEnding::Stopped);
    assert!(!file.exists());
}

#[test]
fn one_flag_stops_several_processes() {
    let stop = CancelToken::new();
    let mut observer = Witness::new();
    let script = format!("exec 3>{}; echo x >&3; sleep 1000", observer.path);
    std::thread::scope(|scope| {
        let runs = [(); 3].map(|()| {
            let (stop, script) = (&stop, &script);
            scope.spawn(move || agentry_sandbox::run(&shell(script), &within(LONG), stop).unwrap())
        });
        for _ in 0..3 {
            // Each writes a letter and a line end.
            observer.wait();
            observer.wait();
        }
        stop.stop();
        for run in runs {
            assert_eq!(run.join().unwrap().ending, ProcessEnding::Stopped);
        }
    });
}

#[test]
fn no_zombie_stays() {
    let finished = run(&shell("echo $$"));
    let pid = stdout(&finished);
    assert!(!std::path::Path::new(&format!("/proc/{}", pid.trim())).exists());
}
