//! Two processes on one home. The second is this test binary once more, told what to do by its
//! environment.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use agentry_protocol::envelope::EntrySubject;
use agentry_store::Error;

use crate::scene::{Scene, WORKS, draft, open, prompt, ses};
use crate::spending::{a_day, wants};

const HOME: &str = "STORE_TEST_HOME";
const ROLE: &str = "STORE_TEST_ROLE";
const READY: &str = "ready";

/// Not a test by itself: what the second process does.
#[test]
fn second_process() {
    let (Ok(role), Ok(home)) = (env::var(ROLE), env::var(HOME)) else { return };
    let ledger = open(&PathBuf::from(home)).unwrap();
    let say = || {
        let mut out = std::io::stdout().lock();
        writeln!(out, "\n{READY}").unwrap();
        out.flush().unwrap();
    };
    match role.as_str() {
        "append" => {
            say();
            for number in 0..100 {
                let event = prompt(format!("second {number}"));
                ledger.append(vec![draft(&EntrySubject::default(), event); 2]).unwrap();
            }
        }
        "own" => {
            let _owned = ledger.lock_session(&ses(1)).unwrap();
            say();
            // Until it is killed: nobody ever writes to its input.
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        "reserve" => {
            say();
            for number in 0..100 {
                let wanted = wants(&format!("second {number}"), 1, a_day(120));
                ledger.reserve(&wanted).unwrap().unwrap_or_default();
            }
        }
        "hold" => {
            let _owned = ledger.lock_session(&ses(1)).unwrap();
            ledger.reserve(&wants("held", 100, a_day(100))).unwrap().unwrap();
            say();
            std::io::stdin().read_line(&mut String::new()).unwrap();
        }
        other => panic!("{other}"),
    }
}

pub(crate) fn start(scene: &Scene, role: &str) -> Child {
    let mut child = Command::new(env::current_exe().expect(WORKS))
        .args(["--exact", "processes::second_process", "--nocapture"])
        .env(HOME, scene.home())
        .env(ROLE, role)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect(WORKS);
    let mut lines = BufReader::new(child.stdout.as_mut().expect(WORKS)).lines();
    assert!(lines.any(|line| line.expect(WORKS) == READY));
    child
}

#[test]
fn two_processes_append_to_one_chain() {
    let scene = Scene::new();
    let child = start(&scene, "append");
    for number in 0..100 {
        let event = prompt(format!("first {number}"));
        scene.ledger.append(vec![draft(&EntrySubject::default(), event); 2]).unwrap();
    }
    assert!(child.wait_with_output().unwrap().status.success());
    let verified = scene.ledger.verify().unwrap();
    assert_eq!(verified.entries, 400);
    let entries = scene.all();
    assert!(entries.chunks(2).all(|pair| pair[0].event == pair[1].event));
}

#[test]
fn a_killed_owner_leaves_the_session_free() {
    let scene = Scene::new();
    let mut child = start(&scene, "own");
    match scene.ledger.lock_session(&ses(1)) {
        Err(Error::Busy { pid, .. }) => assert_eq!(pid, Some(child.id())),
        other => panic!("{other:?}"),
    }
    child.kill().unwrap();
    child.wait().unwrap();
    scene.ledger.lock_session(&ses(1)).unwrap();
    assert_eq!(scene.defects(), []);
}
