//! The part of this binary inside of a macOS sandbox: it sets the limits, then becomes a command or
//! a role. Not run yet.
//!
//! Must never: continue when a limit cannot be set; read settings or files of agents.

use std::ffi::OsString;
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;

use agentry_protocol::confinement::ConfinementLimits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;

use super::{escape_probe, start_marker};
use crate::limits::CPU_SPARE_SECONDS;
pub use crate::role::{RoleFn, RoleTable, VERB};

/// The argument after the helper's command that starts a command.
pub(super) const COMMAND: &str = "command";
/// The argument after the helper's command that starts a role.
pub(super) const ROLE: &str = "role";
/// The first answer of a role, after it has read its arguments.
pub(super) const READY: &str = "ready";

/// Becomes the command or role that the arguments name. Returns only on failure.
///
/// # Errors
/// When the command or the role could not be started.
pub fn serve(roles: RoleTable) -> io::Result<()> {
    run(roles, std::env::args_os().skip(2))
}

pub(super) fn run(roles: RoleTable, mut words: impl Iterator<Item = OsString>) -> io::Result<()> {
    let mut next = || words.next().ok_or_else(|| io::Error::other("a word is missing"));
    let (what, limits) = (next()?, next()?);
    let limits = limits.to_str().ok_or_else(|| io::Error::other("the limits make no sense"))?;
    limit(&serde_json::from_str(limits)?)?;
    match what.to_str() {
        Some(COMMAND) => {
            let (note, program) = (PathBuf::from(next()?), next()?);
            become_command(&note, &program, words)
        }
        Some(ROLE) => {
            let name = next()?;
            become_role(&name, roles)
        }
        Some(_) | None => Err(io::Error::other("there is no such word")),
    }
}

fn become_command(
    path: &std::path::Path,
    program: &OsString,
    args: impl Iterator<Item = OsString>,
) -> io::Result<()> {
    start_marker::take_away(path)?;
    // The environment is the one we were given, and its `PATH` is searched.
    let reason = std::process::Command::new(program).args(args).exec();
    start_marker::put_back(path, &reason)?;
    Err(reason)
}

fn become_role(name: &OsString, roles: RoleTable) -> io::Result<()> {
    let own: [(&str, RoleFn); 1] = [(escape_probe::ROLE, escape_probe::run)];
    let mut all = own.iter().chain(roles);
    let Some((_, role)) = all.find(|(known, _)| name == known) else {
        return Err(io::Error::other(format!("there is no part named {}", name.display())));
    };
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let arguments: Value = serde_json::from_str(&line)?;
    let mut output = io::stdout().lock();
    output.write_all(format!("{READY}\n").as_bytes())?;
    output.flush()?;
    drop(output);
    std::process::exit(role(&arguments))
}

/// Limits this process and its later program. Not memory and processes: the system does not enforce
/// the former, and counts the latter for the user's whole machine.
fn limit(limits: &ConfinementLimits) -> io::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let seconds = limits.timeout_ms.div_ceil(1000).saturating_mul(cores);
    let table = [
        (Resource::Fsize, limits.disk_bytes),
        (Resource::Nofile, limits.files),
        (Resource::Core, 0),
        // A process that outlives the call ends by this at last.
        (Resource::Cpu, seconds.saturating_add(CPU_SPARE_SECONDS)),
    ];
    for (resource, most) in table {
        let most = getrlimit(resource).maximum.map_or(most, |hard| most.min(hard));
        // Soft and hard are one, so that no child can raise it again.
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}
