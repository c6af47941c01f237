//! Random file operations plant nothing, at any level, as root and as an ordinary user, in one run and in two.
//!
//! `AGENTRY_PLANTING=10000` tries as many sequences at the strongest level, and a tenth at the others.

use crate::attacks::{Stage, users};

const SEQUENCES: u64 = 40;
/// The probe says so when a level is not to be had.
const NOT_TO_BE_HAD: i32 = 3;

fn plant(level: &str, share: u64) {
    let count = std::env::var("AGENTRY_PLANTING").ok().and_then(|count| count.parse().ok());
    let count = (count.unwrap_or(SEQUENCES) / share).max(1).to_string();
    let stage = Stage::new();
    for user in users() {
        let output = stage.command(user).args(["planting", level, "1", &count]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        println!("{said}");
        if output.status.code() == Some(NOT_TO_BE_HAD) {
            println!("skipped: the level {level} is not to be had");
            continue;
        }
        assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn nothing_is_planted_in_own_namespaces() {
    plant("ns", 1);
}

#[test]
fn nothing_is_planted_in_bubblewrap() {
    plant("bwrap", 4);
}

#[test]
fn nothing_is_planted_with_landlock() {
    plant("landlock", 4);
}
