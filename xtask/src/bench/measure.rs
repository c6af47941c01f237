//! Runs a program many times and returns the cost of one run.
//!
//! Must never: count a run that failed, or count work of our own.

use std::{
    ffi::OsStr,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    child,
    failure::CommandFailure,
    limits::{BENCH_COMPLAINT_LINES_MAX, BENCH_RUNS_MAX, BENCH_RUNS_MIN},
};

pub(crate) struct Cost {
    /// Of the best run: the machine's speed without disturbance.
    pub(crate) wall_best: Duration,
    /// Over all runs, since the kernel counts in ticks. None where there is no `/proc`.
    pub(crate) cpu_mean: Option<Duration>,
    pub(crate) runs: u32,
}

impl Cost {
    pub(crate) fn wall_micros(&self) -> f64 {
        self.wall_best.as_secs_f64() * 1e6
    }
}

/// The time that short runs are repeated for, so that the ticks of the CPU clock do not matter.
const MEASURED_FOR: Duration = Duration::from_millis(1_000);

/// The unit of CPU time in `/proc`: hundredths of a second on every Linux we build for.
const TICKS_PER_SECOND: u64 = 100;

pub(crate) fn cost(program: &Path, arguments: &[&OsStr]) -> Result<Cost, CommandFailure> {
    warm_up(program, arguments)?;
    let cpu_before = cpu_of_children();
    let mut walls = Vec::new();
    let mut spent = Duration::ZERO;
    let mut runs = 0;
    while runs < BENCH_RUNS_MIN || (spent < MEASURED_FOR && runs < BENCH_RUNS_MAX) {
        let wall = run_once(program, arguments)?;
        walls.push(wall);
        spent += wall;
        runs += 1;
    }
    let cpu_mean = match (cpu_before, cpu_of_children()) {
        (Some(before), Some(after)) => Some(after.saturating_sub(before) / runs),
        (_, _) => None,
    };
    Ok(Cost { wall_best: walls.into_iter().min().unwrap_or(spent), cpu_mean, runs })
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the recent number of processes that wanted a core, other programs' included.
pub(crate) fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

/// Fills the page cache, and shows the complaint if the program rejects our input.
fn warm_up(program: &Path, arguments: &[&OsStr]) -> Result<(), CommandFailure> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let output =
        command.output().map_err(|error| CommandFailure::file("start", program, &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let first: Vec<&str> = said.lines().take(BENCH_COMPLAINT_LINES_MAX).collect();
    Err(CommandFailure::new(format!(
        "`{}` failed ({}), so there is nothing to measure. It said:\n{}",
        child::spelled(&command),
        output.status,
        first.join("\n")
    )))
}

fn run_once(program: &Path, arguments: &[&OsStr]) -> Result<Duration, CommandFailure> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let success = child::succeeds(&mut command)?;
    let wall = started.elapsed();
    if success {
        return Ok(wall);
    }
    Err(CommandFailure::new(format!(
        "`{}` succeeded once and then failed. Run it by hand to see why.",
        child::spelled(&command)
    )))
}

/// Returns the CPU time of all children that ended so far; None without `/proc`.
fn cpu_of_children() -> Option<Duration> {
    ticks_of_children(&std::fs::read_to_string("/proc/self/stat").ok()?)
        .map(|ticks| Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND))
}

/// Reads user and system time of children, fields 16 and 17. Field 2 is a name in parentheses that
/// may hold anything, so counting starts behind it.
fn ticks_of_children(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(13);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strange_name_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 30 12 20 0 1 0 99";
        assert_eq!(ticks_of_children(stat), Some(42));
        assert_eq!(ticks_of_children("7 (a"), None);
    }

    #[test]
    fn a_program_that_objects_is_not_measured() {
        let failure = cost(Path::new("cc"), &["--no-such-option".as_ref()])
            .err()
            .expect("cc refuses")
            .to_string();
        assert!(failure.contains("nothing to measure"), "{failure}");
    }

    #[test]
    fn a_program_is_run_several_times() {
        let cost = cost(Path::new("true"), &[]).unwrap_or_else(|failure| panic!("{failure}"));
        assert!((BENCH_RUNS_MIN..=BENCH_RUNS_MAX).contains(&cost.runs));
        assert!(cost.wall_micros() > 0.0);
    }
}
