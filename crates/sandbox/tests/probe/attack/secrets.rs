//! Attacks on secrets that lie about: the environment, arguments, what is left of a crash.
//!
//! Must never: print a secret, only that it was found.

use std::fs;

use super::raw::in_child;
use super::{Targets, Tried, any};

pub(crate) use super::processes::environment;

/// Crashes, and looks for what is left of it.
pub(crate) fn crash(targets: &Targets) -> Tried {
    let ended = in_child(|| std::process::abort()).map_err(|error| error.to_string())?;
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let limit =
        limits.lines().find(|line| line.starts_with("Max core file size")).unwrap_or_default();
    let unlimited = limit.contains("unlimited");
    let left = any([targets.files.workspace.clone(), std::env::temp_dir()].map(|place| {
        let mut inside = fs::read_dir(&place).map_err(|error| error.to_string())?;
        let is_core = |name: &str| name == "core" || name.starts_with("core.");
        let found = inside
            .any(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_core)));
        if found {
            Ok("a dump was left".to_owned())
        } else {
            Err(format!("no dump was left, {ended:?}"))
        }
    }));
    if unlimited { Ok("dumps are not limited".to_owned()) } else { left }
}
