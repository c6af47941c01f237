//! Opens the sandbox that the settings require.
//!
//! Must never: continue with weaker confinement than the settings require.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use agentry_agentfile::sandbox::{SandboxLayer, SandboxLayers};
use agentry_kernel::confinement;
use agentry_protocol::confinement::ConfinementLevel;
use agentry_runtime::Enforcer;
use agentry_runtime::environment::Environment;
use agentry_sandbox::helper::RoleFn;
use agentry_sandbox::{Sandbox, SandboxSetup, egress, private_directory};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::output::warn;

/// The services of this binary that run in a sandbox, by name.
pub static ROLES: [(&str, RoleFn); 1] = [(agentry_tools::FILE_TOOLS, agentry_tools::serve_files)];

/// Hides the memory of this process, which has secrets, from other processes and core dumps.
pub fn harden_process() {
    #[cfg(target_os = "linux")]
    warn_of_failure(rustix::process::set_dumpable_behavior(
        rustix::process::DumpableBehavior::NotDumpable,
    ));
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    warn_of_failure(setrlimit(Resource::Core, none));
}

/// Warns if a step failed. It is an extra protection, so the process goes on.
fn warn_of_failure(step: rustix::io::Result<()>) {
    if let Err(error) = step {
        warn(&format!("the memory of this process is not hidden from other processes: {error}"));
    }
}

/// Opens the sandbox for runs; the result says so if it is off or missing.
pub fn open(environment: &Environment, layers: &SandboxLayers) -> Enforcer {
    remove_leftovers(environment);
    if layers.operator.sandbox.enabled == Some(false) {
        return Enforcer::Off;
    }
    let quarantine = setup(environment).quarantine;
    if let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(&quarantine) {
        warn(&format!("cannot create the quarantine {}: {error}", quarantine.display()));
    }
    let opened = Sandbox::open(&setup(environment), minimum(layers));
    let (sandbox, attestation) = match opened {
        Ok(opened) => opened,
        Err(unavailable) => return Enforcer::Missing(unavailable.to_string()),
    };
    let soft: Vec<&str> =
        attestation.limits.iter().filter(|limit| !limit.hard).map(|limit| &*limit.limit).collect();
    let requests: Vec<&SandboxLayer> = layers.requests.iter().collect();
    if confinement::is_strict(&layers.operator, &requests) && !soft.is_empty() {
        return Enforcer::Missing(format!(
            "sandbox.limits.strict is set, but this kernel does not enforce: {}",
            soft.join(", ")
        ));
    }
    Enforcer::sandbox(sandbox, attestation, run_homes(environment))
}

/// Removes temporary directories of killed processes, and warns of those that remain.
fn remove_leftovers(environment: &Environment) {
    for parent in [std::env::temp_dir(), run_homes(environment)] {
        for line in private_directory::remove_leftovers(&parent) {
            warn(&line);
        }
    }
}

/// Returns the directory for homes of runs; a temporary one without a state directory.
fn run_homes(environment: &Environment) -> PathBuf {
    environment.state.as_ref().map_or_else(std::env::temp_dir, |state| state.join("run-homes"))
}

/// Returns an enforcer for commands that run nothing.
pub fn placeholder_enforcer(layers: &SandboxLayers) -> Enforcer {
    match layers.operator.sandbox.enabled {
        Some(false) => Enforcer::Off,
        Some(true) | None => Enforcer::Missing("this command runs nothing".to_owned()),
    }
}

/// Returns the weakest confinement level that the settings accept.
pub fn minimum(layers: &SandboxLayers) -> ConfinementLevel {
    let requests: Vec<&SandboxLayer> = layers.requests.iter().collect();
    confinement::minimum(&layers.operator, &requests)
}

/// Returns the machine's setup for sandboxes; this binary is also the helper.
pub fn setup(environment: &Environment) -> SandboxSetup {
    let quarantine = match &environment.state {
        Some(state) => state.join("quarantine"),
        None => {
            let user = rustix::process::geteuid().as_raw();
            std::env::temp_dir().join(format!("agentry-quarantine-{user}"))
        }
    };
    SandboxSetup {
        binary: binary(),
        path: environment.path.clone(),
        quarantine,
        resolve: egress::system(),
    }
}

/// Returns the path of this running binary, even if its file was replaced.
#[cfg(target_os = "linux")]
pub fn binary() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// Returns the path of this binary; empty if unknown, which the sandbox reports when it starts it.
#[cfg(not(target_os = "linux"))]
pub fn binary() -> PathBuf {
    std::env::current_exe().unwrap_or_default()
}
