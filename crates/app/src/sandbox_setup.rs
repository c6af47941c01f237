//! Opens the sandbox that the settings ask for.
//!
//! Must never: go on with less than the settings ask for.

use std::fs::DirBuilder;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use agentry_agentfile::sandbox::{SandboxLayer, SandboxLayers};
use agentry_kernel::confinement;
use agentry_protocol::confinement::ConfinementLevel;
use agentry_runtime::Enforcer;
use agentry_sandbox::helper::RoleFn;
use agentry_sandbox::{Sandbox, SandboxSetup, egress, private_directory};

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::diagnostics::visible;
use crate::env::Environment;

/// The parts of this program that run in a sandbox.
pub(crate) static ROLES: [(&str, RoleFn); 1] =
    [(agentry_tools::FILE_TOOLS, agentry_tools::serve_files)];

/// Nobody with our user number looks into this process, and no crash writes its memory to a file: it holds secrets.
pub(crate) fn harden_process() {
    // A system that refuses keeps its own ways to forbid it; nothing else depends on it.
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .unwrap_or_default();
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).unwrap_or_default();
}

/// The sandbox for runs.
pub(crate) fn open(environment: &Environment, layers: &SandboxLayers) -> Enforcer {
    remove_leftovers(environment);
    if layers.operator.sandbox.enabled == Some(false) {
        return Enforcer::Off;
    }
    // What cannot be made is told by the first call that needs it.
    let quarantine = setup(environment).quarantine;
    DirBuilder::new().recursive(true).mode(0o700).create(quarantine).unwrap_or_default();
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
            "sandbox.limits.strict is set, and here the kernel does not bound: {}",
            soft.join(", ")
        ));
    }
    Enforcer::sandbox(sandbox, attestation, run_homes(environment))
}

/// Removes temporary directories of processes that were killed, and tells of those that do not go.
fn remove_leftovers(environment: &Environment) {
    let mut stderr = crate::output::stderr().lock();
    for parent in [std::env::temp_dir(), run_homes(environment)] {
        for line in private_directory::remove_leftovers(&parent) {
            // With nowhere left to write to, the next start tells again.
            writeln!(stderr, "warning: {}", visible(&line)).unwrap_or_default();
        }
    }
}

/// Where the homes of runs are made. Without a state nothing is run; they would be temporary files then.
fn run_homes(environment: &Environment) -> PathBuf {
    environment.state.as_ref().map_or_else(std::env::temp_dir, |state| state.join("run-homes"))
}

/// What stands in for a sandbox where nothing is run.
pub(crate) fn placeholder_enforcer(layers: &SandboxLayers) -> Enforcer {
    match layers.operator.sandbox.enabled {
        Some(false) => Enforcer::Off,
        Some(true) | None => Enforcer::Missing("nothing is run here".to_owned()),
    }
}

/// The weakest level that is accepted.
pub(crate) fn minimum(layers: &SandboxLayers) -> ConfinementLevel {
    let requests: Vec<&SandboxLayer> = layers.requests.iter().collect();
    confinement::minimum(&layers.operator, &requests)
}

/// What a sandbox needs of this machine. The helper is this very program, whatever its file is by now.
pub(crate) fn setup(environment: &Environment) -> SandboxSetup {
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

/// This very program, whatever its file is by now.
#[cfg(target_os = "linux")]
pub(crate) fn binary() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

/// Elsewhere it has only its name; one that cannot be had cannot be started, and the sandbox says so.
#[cfg(not(target_os = "linux"))]
pub(crate) fn binary() -> PathBuf {
    std::env::current_exe().unwrap_or_default()
}
