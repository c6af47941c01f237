//! Tests as processes: which changes each of them reaches, and whether one of them notices a change.
//!
//! Must never: count a change as noticed by a test that fails without it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Error;
use crate::audit::Audit;
use crate::rewrite::Mutant;
use crate::switch::SESSIONS;

/// A change may make a test slower, but not for ever.
const SLOWER_MAX: u32 = 10;
const TIME_MIN: Duration = Duration::from_secs(20);
/// No test takes longer without a change.
const TIME_MAX: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(5);
/// Runs a test in a session of its own: `$1` is the directory of sessions, `$2` the change, `$3` the notes.
const START: &str = r#"printf '%s\n%s' "$2" "$3" > "$1/$$"; shift 3; exec "$@""#;

/// The verdict of the tests on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Noticed,
    Survived,
    /// No test comes to the changed code.
    Unreached,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Noticed => "noticed",
            Self::Survived => "survived",
            Self::Unreached => "unreached",
        })
    }
}

struct Test {
    binary: String,
    cwd: String,
    name: String,
    takes: Duration,
}

/// The tests of an audit, built with all changes switched off.
pub(crate) struct Suite {
    sessions: PathBuf,
    notes: PathBuf,
    tests: Vec<Test>,
    /// The tests that reach each change, the fastest first.
    reached_by: BTreeMap<usize, Vec<usize>>,
}

impl Suite {
    /// Builds the tests and runs each once, to learn what it reaches. Tests that fail as they are do not count.
    pub(crate) fn build(tree: &Path, target: &Path, audit: &Audit) -> Result<Self, Error> {
        let mut list = Command::new("cargo");
        list.args(["nextest", "list", "--message-format", "json", "-E", audit.filter]);
        for package in audit.packages {
            list.args(["-p", package]);
        }
        list.current_dir(tree).env("CARGO_TARGET_DIR", target).stderr(Stdio::inherit());
        let listed = list.output()?;
        if !listed.status.success() {
            return Err("the tests cannot be built".into());
        }
        let mut suite = Self {
            sessions: tree.join(SESSIONS),
            notes: tree.join(format!("reached-{}", audit.name)),
            tests: tests_in(&serde_json::from_slice(&listed.stdout)?),
            reached_by: BTreeMap::new(),
        };
        suite.learn()?;
        Ok(suite)
    }

    pub(crate) fn len(&self) -> usize {
        self.tests.len()
    }

    fn learn(&mut self) -> Result<(), Error> {
        std::fs::create_dir_all(&self.notes)?;
        for directory in [&self.notes, &self.sessions] {
            open_to_all(directory)?;
        }
        let notes = |at: usize| self.notes.join(at.to_string());
        let runs = in_parallel(self.tests.len(), |at| {
            let started = Instant::now();
            let passed = self.passes(&self.tests[at], 0, Some(&notes(at)), TIME_MAX);
            (passed, started.elapsed())
        });
        let mut reached: Vec<(usize, Vec<usize>)> = Vec::new();
        for (at, (passed, takes)) in runs.into_iter().enumerate() {
            self.tests[at].takes = takes;
            if !passed {
                println!("left out, it fails without a change: {}", self.tests[at].name);
                continue;
            }
            let text = std::fs::read_to_string(notes(at)).unwrap_or_default();
            reached.push((at, text.lines().filter_map(|line| line.parse().ok()).collect()));
        }
        reached.sort_by_key(|(at, _)| self.tests[*at].takes);
        for (at, numbers) in reached {
            for number in numbers {
                let tests = self.reached_by.entry(number).or_default();
                if tests.last() != Some(&at) {
                    tests.push(at);
                }
            }
        }
        Ok(())
    }

    /// Tries every change by the tests that reach it, and reports each verdict as soon as it is known.
    pub(crate) fn try_all(&self, mutants: &[&Mutant], report: impl Fn(&Mutant, Verdict) + Sync) {
        in_parallel(mutants.len(), |at| report(mutants[at], self.try_one(mutants[at].number)));
    }

    fn try_one(&self, number: usize) -> Verdict {
        let Some(tests) = self.reached_by.get(&number) else { return Verdict::Unreached };
        let is_noticed = tests.iter().map(|test| &self.tests[*test]).any(|test| {
            let time = (test.takes * SLOWER_MAX).max(TIME_MIN);
            !self.passes(test, number, None, time)
        });
        if is_noticed { Verdict::Noticed } else { Verdict::Survived }
    }

    fn passes(&self, test: &Test, number: usize, notes: Option<&Path>, time: Duration) -> bool {
        let mut command = Command::new("setsid");
        command
            .args(["--wait", "sh", "-c", START, "sh"])
            .arg(&self.sessions)
            .arg(number.to_string())
            .arg(notes.map_or_else(String::new, |notes| notes.to_string_lossy().into_owned()))
            .args([&test.binary, "--exact", &test.name, "--nocapture"])
            .current_dir(&test.cwd)
            .env("CARGO_MANIFEST_DIR", &test.cwd)
            .env("NEXTEST", "1")
            .env("PROPTEST_RNG_SEED", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else { return false };
        let until = Instant::now() + time;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return status.success(),
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
                Ok(None) | Err(_) => {
                    // A test that hangs has noticed the change. `setsid` made it the leader of a group of its own.
                    let group = format!("-{}", child.id());
                    drop(Command::new("kill").args(["-9", "--", &group]).status());
                    drop(child.kill());
                    drop(child.wait());
                    return false;
                }
            }
        }
    }
}

fn tests_in(listed: &Value) -> Vec<Test> {
    let mut tests = Vec::new();
    for suite in listed["rust-suites"].as_object().into_iter().flat_map(|suites| suites.values()) {
        let text = |key: &str| suite[key].as_str().unwrap_or_default().to_owned();
        for (name, case) in suite["testcases"].as_object().into_iter().flatten() {
            let is_wanted = case["filter-match"]["status"] == "matches" && case["ignored"] != true;
            if is_wanted {
                tests.push(Test {
                    binary: text("binary-path"),
                    cwd: text("cwd"),
                    name: name.clone(),
                    takes: Duration::ZERO,
                });
            }
        }
    }
    tests
}

/// Lets processes of other users write here; some tests play an ordinary user.
fn open_to_all(directory: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o777))?;
    Ok(())
}

/// Does a thing for each number below `count` on all cores; the results are in order.
fn in_parallel<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, T>> = Mutex::new(BTreeMap::new());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        return;
                    }
                    let result = work(at);
                    results
                        .lock()
                        .expect("no worker panics while it holds the lock")
                        .insert(at, result);
                }
            });
        }
    });
    results.into_inner().expect("all workers have ended").into_values().collect()
}
