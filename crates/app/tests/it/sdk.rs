//! The helper libraries pass their own tests, each under its real interpreter.

use std::path::Path;
use std::process::Command;

#[test]
fn the_helpers_of_all_languages_work() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/tests/run");
    let ran = Command::new(&script).output().expect("the script runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.status.success(), "{}\n{}", text(&ran.stdout), text(&ran.stderr));
}
