//! The usage of a process and of all processes below it.
//!
//! Must never: miss a process because its parent did not wait for it.

use std::fs;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::process::{WaitOptions, set_child_subreaper, wait};
use wait4::Wait4;

use super::piped;
use crate::child;
use crate::failure::CommandFailure;

pub(crate) struct ProcessTreeUsage {
    pub(crate) cpu: Duration,
    pub(crate) memory_bytes: u64,
}

impl ProcessTreeUsage {
    pub(crate) fn memory_mib(&self) -> f64 {
        u32::try_from(self.memory_bytes / 1024).map_or(f64::NAN, f64::from) / 1024.0
    }
}

/// Makes this process adopt all later orphans below it.
pub(crate) fn adopt() -> Result<(), CommandFailure> {
    set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| CommandFailure::new(format!("Cannot adopt processes: {error}.")))
}

/// Runs a command to its end while `talk` talks with it; returns its usage.
pub(crate) fn spent_by(
    command: &mut Command,
    talk: impl FnOnce(&mut Child) -> Result<(), CommandFailure>,
) -> Result<ProcessTreeUsage, CommandFailure> {
    let before = reaped()?;
    let mut child = piped(command).spawn().map_err(|error| {
        CommandFailure::new(format!("Could not run `{}`: {error}.", child::spelled(command)))
    })?;
    let talked = talk(&mut child);
    let used =
        child.wait4().map_err(|error| CommandFailure::new(format!("Cannot wait: {error}.")))?;
    // The remaining processes were adopted; wait until none is left.
    while let Ok(Some(_)) = wait(WaitOptions::empty()) {}
    talked?;
    if !used.status.success() {
        let spelled = child::spelled(command);
        return Err(CommandFailure::new(format!("`{spelled}` failed ({}).", used.status)));
    }
    let cpu = reaped()?.checked_sub(before).unwrap_or_default();
    Ok(ProcessTreeUsage { cpu, memory_bytes: used.rusage.maxrss })
}

/// Returns the time of all reaped processes, including the ones that those have reaped.
fn reaped() -> Result<Duration, CommandFailure> {
    let read = fs::read_to_string("/proc/self/stat")
        .map_err(|error| CommandFailure::new(format!("Cannot read /proc/self/stat: {error}.")))?;
    // The name of the program may hold spaces; the counted fields come after it.
    let fields: Vec<&str> =
        read.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    match (ticks(13), ticks(14)) {
        // A tick is a hundredth of a second on every Linux.
        (Some(user), Some(system)) => Ok(Duration::from_millis((user + system) * 10)),
        _ => Err(CommandFailure::new("/proc/self/stat does not say what children spent.")),
    }
}
