//! Links the binary with a short table of relocations where the C library of this machine can read one.
//!
//! The long table is 2 MB of the file, and of the memory of every process. A C library before 2.36 cannot read the
//! short one and would not start the binary, so the machine is asked, and a build for another machine goes without.
//!
//! Must never: fail a build.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_here = env::var("HOST") == env::var("TARGET");
    let is_gnu = env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu")
        && env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux");
    if is_here && is_gnu && c_library().is_some_and(|version| version >= (2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of the C library that programs of this machine are started with.
fn c_library() -> Option<(u32, u32)> {
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
