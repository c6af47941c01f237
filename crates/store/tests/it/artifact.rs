//! Long strings live in files of their own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use agentry_protocol::ContentHash;
use agentry_protocol::envelope::EntrySubject;
use agentry_store::limits::INLINE_STRING_BYTES_MAX;
use agentry_store::{Defect, EntryFilter, Error};

use crate::scene::{Scene, WORKS, prompt, raw};

fn with_one_artifact() -> (Scene, PathBuf) {
    let scene = Scene::new();
    let content = "x".repeat(INLINE_STRING_BYTES_MAX + 1);
    scene.add(&EntrySubject::default(), prompt(content.clone()));
    let hash = ContentHash::of(content.as_bytes());
    let digits = hash.as_str().strip_prefix("blake3:").expect(WORKS);
    let file = scene.home().join("artifacts").join(&digits[..2]).join(&digits[2..]);
    assert_eq!(fs::read_to_string(&file).expect(WORKS), content);
    (scene, file)
}

fn body_bytes(scene: &Scene) -> i64 {
    raw(&scene.home())
        .query_row("SELECT length(body) FROM ledger", [], |row| row.get(0))
        .expect(WORKS)
}

#[test]
fn a_string_at_the_limit_stays_inside() {
    let scene = Scene::new();
    let event = prompt("ü".repeat(INLINE_STRING_BYTES_MAX / 2));
    let written = scene.add(&EntrySubject::default(), event);
    assert!(body_bytes(&scene) > 30_000);
    assert_eq!(fs::read_dir(scene.home().join("artifacts")).unwrap().count(), 0);
    assert_eq!(scene.all(), [written]);
}

#[test]
fn a_string_above_the_limit_goes_out_and_comes_back() {
    let (scene, file) = with_one_artifact();
    assert!(body_bytes(&scene) < 200);
    assert_eq!(scene.all()[0].event, prompt("x".repeat(INLINE_STRING_BYTES_MAX + 1)));
    assert_eq!(scene.ledger.verify().unwrap().artifacts, 1);
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_same_string_is_kept_once() {
    let (scene, file) = with_one_artifact();
    scene.add(&EntrySubject::default(), prompt("x".repeat(INLINE_STRING_BYTES_MAX + 1)));
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);
    assert_eq!(scene.ledger.verify().unwrap().artifacts, 1);
}

#[test]
fn a_changed_artifact_is_found_and_never_handed_out() {
    let (scene, file) = with_one_artifact();
    fs::write(&file, "something else").unwrap();
    let read = scene.ledger.read_from(0, &EntryFilter::default(), 9);
    assert!(matches!(read, Err(Error::Artifact { path, why: "was changed" }) if path == file));
    assert!(matches!(scene.defects()[..], [(1, Defect::Artifact(_))]));
}

#[test]
fn a_missing_artifact_is_found() {
    let (scene, file) = with_one_artifact();
    fs::remove_file(&file).unwrap();
    let read = scene.ledger.read_from(0, &EntryFilter::default(), 9);
    assert!(matches!(read, Err(Error::Artifact { why: "is missing", .. })));
    assert!(matches!(scene.defects()[..], [(1, Defect::Artifact(_))]));
}

#[test]
fn a_name_that_is_no_hash_leads_nowhere() {
    let (scene, _) = with_one_artifact();
    let scene = scene.tampered(|sql| {
        let body = r#"{"content":{"$artifact":"../../anchor","bytes":1},"type":"prompt_received"}"#;
        sql.execute("UPDATE ledger SET body = ?1", [body]).unwrap();
    });
    let read = scene.ledger.read_from(0, &EntryFilter::default(), 9);
    assert!(matches!(read, Err(Error::Artifact { why: "has a name that is not a hash", .. })));
}

#[test]
fn an_append_whose_artifact_cannot_be_kept_writes_nothing() {
    let scene = Scene::new();
    let artifacts = scene.home().join("artifacts");
    fs::remove_dir(&artifacts).unwrap();
    fs::write(&artifacts, "in the way").unwrap();
    let event = prompt("x".repeat(INLINE_STRING_BYTES_MAX + 1));
    let refused = scene.ledger.append(vec![crate::scene::draft(&EntrySubject::default(), event)]);
    assert!(matches!(refused, Err(Error::File { .. })));
    assert_eq!(scene.ledger.last_seq().unwrap(), 0);
}
