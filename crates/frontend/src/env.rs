//! The environment of this process, read once.
//!
//! Must never: read variables in another module, or change the environment.

use agentry_runtime::environment::Environment;

/// Reads the environment of this process.
pub(crate) fn read() -> Environment {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    Environment::from_variables(std::env::vars_os().filter_map(text).collect())
}
