//! The usage of one process with its children: wall time, CPU time, memory.
//!
//! Must never: count a process that failed.

use std::{
    fs::File,
    io::Read,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use wait4::Wait4;

use crate::{child, failure::CommandFailure, limits::BENCH_COMPLAINT_LINES_MAX};

pub(crate) struct ProcessUsage {
    pub(crate) wall: Duration,
    /// User and system time, of the process and of all children it waited for.
    pub(crate) cpu: Duration,
    /// The peak memory of the largest of them, in bytes.
    pub(crate) memory_bytes: u64,
    pub(crate) stdout: String,
}

/// Runs a command to its end. Its error output goes to a file, and is shown if it fails.
pub(crate) fn usage(
    command: &mut Command,
    complaint: &Path,
) -> Result<ProcessUsage, CommandFailure> {
    let stderr = File::create(complaint)
        .map_err(|error| CommandFailure::file("write", complaint, &error))?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
    let started = Instant::now();
    let spawned = command.spawn();
    let trouble = |error: std::io::Error| {
        CommandFailure::new(format!("Could not run `{}`: {error}.", child::spelled(command)))
    };
    let mut child = spawned.map_err(trouble)?;
    let mut stdout = String::new();
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut stdout).map_err(trouble)?;
    }
    let used = child.wait4().map_err(trouble)?;
    let wall = started.elapsed();
    if !used.status.success() {
        return Err(failed(command, used.status, complaint));
    }
    let cpu = used.rusage.utime + used.rusage.stime;
    Ok(ProcessUsage { wall, cpu, memory_bytes: used.rusage.maxrss, stdout })
}

fn failed(command: &Command, status: std::process::ExitStatus, complaint: &Path) -> CommandFailure {
    let said = std::fs::read_to_string(complaint).unwrap_or_default();
    let first: Vec<&str> = said.lines().take(BENCH_COMPLAINT_LINES_MAX).collect();
    CommandFailure::new(format!(
        "`{}` failed ({status}), so there is nothing to measure. It said:\n{}",
        child::spelled(command),
        first.join("\n")
    ))
}

/// The medians of many runs, each figure by itself.
pub(crate) struct MedianUsage {
    pub(crate) wall_micros: f64,
    pub(crate) cpu_micros: f64,
    pub(crate) memory_mib: f64,
}

impl MedianUsage {
    pub(crate) fn of(runs: &[ProcessUsage]) -> MedianUsage {
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let mib = |bytes: u64| u32::try_from(bytes / 1024).map_or(f64::NAN, f64::from) / 1024.0;
        let middle =
            |figure: &dyn Fn(&ProcessUsage) -> f64| median(runs.iter().map(figure).collect());
        MedianUsage {
            wall_micros: middle(&|run| micros(run.wall)),
            cpu_micros: middle(&|run| micros(run.cpu)),
            memory_mib: middle(&|run| mib(run.memory_bytes)),
        }
    }
}

pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_fails_is_not_measured_and_its_complaint_is_shown() {
        let dir = tempfile::tempdir().expect("there is room for a file");
        let mut command = Command::new("cc");
        let failure = usage(command.arg("--no-such-option"), &dir.path().join("stderr"))
            .err()
            .expect("cc refuses")
            .to_string();
        assert!(failure.contains("nothing to measure"), "{failure}");
        assert!(failure.contains("--no-such-option"), "{failure}");
    }

    #[test]
    fn a_process_has_output_time_and_memory() {
        let dir = tempfile::tempdir().expect("there is room for a file");
        let mut command = Command::new("cc");
        let used = usage(command.arg("--version"), &dir.path().join("stderr"))
            .unwrap_or_else(|failure| panic!("{failure}"));
        assert!(!used.stdout.is_empty());
        assert!(used.cpu > Duration::ZERO && used.memory_bytes > 0);
    }

    #[test]
    fn the_median_is_the_one_in_the_middle() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
    }
}
