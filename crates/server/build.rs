//! Lets cargo see that the console, which is embedded in this crate, was built anew.
//!
//! Must never: fail a build.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", console());
}

/// Returns the directory to watch for a new console. Cargo runs a build script again each time if the directory that
/// it names does not exist, so before the first build of the console this is the directory above.
fn console() -> &'static str {
    const BUILT: &str = "../../console/dist";
    if Path::new(BUILT).exists() { BUILT } else { "../../console" }
}
