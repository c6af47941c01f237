//! A session has one owner at a time, and only its owner lets in.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use agentry_protocol::SessionId;
use agentry_store::Error;

use crate::scene::{START, Scene, begun, open, ses};

#[test]
fn a_session_that_is_owned_is_busy_until_it_is_given_back() {
    let scene = Scene::new();
    let owned = scene.ledger.lock_session(&ses(1)).unwrap();
    assert_eq!(owned.session(), &ses(1));
    let other = open(&scene.home()).unwrap();
    match other.lock_session(&ses(1)) {
        Err(Error::Busy { session, pid, since }) => {
            assert_eq!((session, pid), (ses(1), Some(std::process::id())));
            assert!(since.is_some_and(|since| since >= START));
        }
        other => panic!("{other:?}"),
    }
    other.lock_session(&ses(2)).unwrap();
    drop(owned);
    other.lock_session(&ses(1)).unwrap();
}

#[test]
fn only_a_whole_id_names_a_lock() {
    let scene = Scene::new();
    let odd = scene.ledger.lock_session(&SessionId::new("../../anchor"));
    assert!(matches!(odd, Err(Error::Unknown { what: "session", .. })));
}

#[test]
fn only_the_owner_of_the_home_gets_in() {
    let scene = begun();
    let mode =
        |name: &str| fs::metadata(scene.home().join(name)).unwrap().permissions().mode() & 0o777;
    for directory in ["", "artifacts", "locks"] {
        assert_eq!(mode(directory), 0o700, "{directory}");
    }
    for file in ["ledger.sqlite3", "ledger.sqlite3-wal", "anchor"] {
        assert_eq!(mode(file), 0o600, "{file}");
    }
}
