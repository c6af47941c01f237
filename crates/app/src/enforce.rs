//! Opens the sandbox that the settings ask for.
//!
//! Must never: go on with less than the settings ask for.

use std::path::PathBuf;

use agentry_agentfile::sandbox::{Layer, Layers};
use agentry_kernel::confine;
use agentry_protocol::confinement::Level;
use agentry_runtime::Enforcer;
use agentry_sandbox::helper::Role;
use agentry_sandbox::{Sandbox, Setup, egress};

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::env::Environment;

/// The parts of this program that run in a sandbox.
pub(crate) static ROLES: [(&str, Role); 1] =
    [(agentry_tools::FILE_TOOLS, agentry_tools::serve_files)];

/// Nobody with our user number looks into this process, and no crash writes its memory to a file: it holds secrets.
pub(crate) fn close_ourselves() {
    // A system that refuses keeps its own ways to forbid it; nothing else depends on it.
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .unwrap_or_default();
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    setrlimit(Resource::Core, none).unwrap_or_default();
}

/// The sandbox for runs.
pub(crate) fn open(environment: &Environment, layers: &Layers) -> Enforcer {
    if layers.operator.sandbox.enabled == Some(false) {
        return Enforcer::Off;
    }
    let opened = Sandbox::open(&setup(environment), minimum(layers));
    let (sandbox, attestation) = match opened {
        Ok(opened) => opened,
        Err(unavailable) => return Enforcer::Missing(unavailable.to_string()),
    };
    let soft: Vec<&str> =
        attestation.limits.iter().filter(|limit| !limit.hard).map(|limit| &*limit.limit).collect();
    let requests: Vec<&Layer> = layers.requests.iter().collect();
    if confine::is_strict(&layers.operator, &requests) && !soft.is_empty() {
        return Enforcer::Missing(format!(
            "sandbox.limits.strict is set, and here the kernel does not bound: {}",
            soft.join(", ")
        ));
    }
    Enforcer::sandbox(sandbox, attestation)
}

/// What stands in for a sandbox where nothing is run.
pub(crate) fn unopened(layers: &Layers) -> Enforcer {
    match layers.operator.sandbox.enabled {
        Some(false) => Enforcer::Off,
        Some(true) | None => Enforcer::Missing("nothing is run here".to_owned()),
    }
}

/// The weakest level that is accepted.
pub(crate) fn minimum(layers: &Layers) -> Level {
    let requests: Vec<&Layer> = layers.requests.iter().collect();
    confine::minimum(&layers.operator, &requests)
}

/// What a sandbox needs of this machine. The helper is this very program, whatever its file is by now.
pub(crate) fn setup(environment: &Environment) -> Setup {
    let state = environment.state.clone().unwrap_or_else(std::env::temp_dir);
    Setup {
        binary: binary(),
        path: environment.path.clone(),
        quarantine: state.join("quarantine"),
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
