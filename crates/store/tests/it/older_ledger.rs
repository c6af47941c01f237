//! A ledger that an older program wrote, from before its types got their present names.
//!
//! It holds the entries of a random history, and of one in order. Its pages are small, so that the
//! file is, and its one artifact is made by the test: 65,537 times the letter x.

use std::fs;
use std::path::{Path, PathBuf};

use agentry_protocol::ContentHash;
use agentry_protocol::envelope::EntrySubject;
use agentry_store::VerificationReport;
use agentry_store::limits::INLINE_STRING_BYTES_MAX;
use tempfile::TempDir;

use crate::scene::{Scene, WORKS, open, prompt};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/older_ledger")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect(WORKS);
    for entry in fs::read_dir(from).expect(WORKS) {
        let entry = entry.expect(WORKS);
        let target = to.join(entry.file_name());
        if entry.file_type().expect(WORKS).is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).expect(WORKS)).expect(WORKS);
        }
    }
}

fn opened() -> Scene {
    let directory = TempDir::new().expect(WORKS);
    let home = directory.path().join("home");
    copy(&fixture(), &home);
    let text = "x".repeat(INLINE_STRING_BYTES_MAX + 1);
    let hash = ContentHash::of(text.as_bytes());
    let digits = hash.as_str().strip_prefix("blake3:").expect(WORKS);
    let shelf = home.join("artifacts").join(&digits[..2]);
    fs::create_dir_all(&shelf).expect(WORKS);
    fs::write(shelf.join(&digits[2..]), text).expect(WORKS);
    Scene { ledger: open(&home).expect(WORKS), directory }
}

#[test]
fn a_ledger_of_an_older_program_verifies_and_has_the_same_entries() {
    let scene = opened();
    let expected = VerificationReport {
        entries: 120,
        head_hash: "16a8f5952e1778cde384d6ce7b91a3e3c41507a6f8361fe67adbcec0035fa702".to_owned(),
        losses: 0,
        artifacts: 1,
        // The line of the older program, and the one of this opening.
        anchors: 2,
        anchors_unreadable: 0,
    };
    assert_eq!(scene.ledger.verify().unwrap(), expected);
    // As the program that wrote them printed them.
    let lines: Vec<String> =
        scene.all().iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
    assert_eq!(
        ContentHash::of(lines.join("\n").as_bytes()).as_str(),
        "blake3:75eb670ec8dd55cb156473f051a9eaa819e158a7d95ccdf94111c5b5a8624bad"
    );
}

#[test]
fn a_ledger_of_an_older_program_folds_to_the_same_views_and_goes_on() {
    let scene = opened();
    let views = fs::read_to_string(fixture().join("views.txt")).unwrap();
    assert_eq!(scene.ledger.dump_views().unwrap(), views);
    scene.ledger.rebuild_views().unwrap();
    assert_eq!(scene.ledger.dump_views().unwrap(), views);
    assert_eq!(scene.add(&EntrySubject::default(), prompt("on we go")).seq, 121);
    assert_eq!(scene.defects(), []);
}
