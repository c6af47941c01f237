//! Holes of the attack review around the record: a clock that is set back, entries that are lost, a home that cannot
//! be written, and a file that is damaged.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_store::Ledger;

use crate::intake::stop;
use crate::record::{line, script, story};
use crate::story::Story;
use crate::web::{key, served};

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

fn state(story: &Story) -> PathBuf {
    story.home(".local/state/agentry")
}

/// A project in which something was recorded.
fn recorded() -> Story {
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    story.out("run Hello --model scripted:s.jsonl");
    story
}

/// The record goes on for two days; then the clock of the machine is what it was before.
#[expect(clippy::disallowed_methods, reason = "a test writes the past itself")]
fn set_clock_back(story: &Story) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    let later = u64::try_from(now.as_millis()).expect("it fits") + 2 * DAY_MS;
    let ledger = Ledger::open(&state(story), Arc::new(move || later)).expect("it opens");
    let event = Event::PromptReceived { content: "later".to_owned() };
    let draft = Draft { cause: None, about: EntrySubject::default(), event };
    ledger.append(vec![draft]).expect("it is recorded");
}

/// X21: what expired stays so, whatever the clock of the machine says.
#[test]
fn a_clock_that_is_set_back_makes_no_grant_and_no_key_good_again() {
    let story = recorded();
    story.out("grants give --to person:m --for 1h read_file");
    let (server, web) = served(&story);
    let reader = web.with(&key(&story, "--scope read --expires 1h"));
    let lasting = web.with(&key(&story, "--scope read"));
    assert!(story.out("grants list").contains("active"));
    assert_eq!(reader.get("/api/me").status, 200);
    stop(server);
    set_clock_back(&story);
    let listed = story.ran_in("", "grants list --all");
    assert!(!listed.out.contains("active") && listed.out.contains("read_file"), "{}", listed.out);
    assert!(listed.err.contains("the clock of this machine is"), "{}", listed.err);
    let doctor = story.ran_in("", "doctor");
    assert!(doctor.out.contains("behind the newest entry of the ledger"), "{}", doctor.out);
    let (server, web) = served(&story);
    assert_eq!(web.with(&reader.key.expect("it has one")).get("/api/me").status, 401);
    assert_eq!(web.with(&lasting.key.expect("it has one")).get("/api/me").status, 200);
    let ran = stop(server);
    assert_eq!(ran.err.matches("the clock of this machine is").count(), 1, "{}", ran.err);
}

/// R1: a ledger that was emptied is not gone on with as if nothing had been.
#[test]
fn an_emptied_ledger_is_reported_and_gone_on_with_only_after_the_loss_is_accepted() {
    let story = recorded();
    for name in ["ledger.sqlite3", "ledger.sqlite3-wal", "ledger.sqlite3-shm"] {
        fs::remove_file(state(&story).join(name)).unwrap_or_default();
    }
    for command in ["run Hello --model scripted:s.jsonl", "grants list", "send Hello"] {
        let ran = story.ran_in("", command);
        assert_ne!(ran.code, Some(0), "{command}");
        assert!(ran.err.contains("the end is lost"), "{command}: {}", ran.err);
        assert!(ran.err.contains("agentry ledger accept-loss"), "{command}: {}", ran.err);
    }
    let shown = story.ran_in("", "ledger verify");
    assert_ne!(shown.code, Some(0));
    assert!(shown.err.contains("agentry ledger accept-loss"), "{}", shown.err);
    let accepted = story.out("ledger accept-loss");
    assert!(accepted.contains("are lost; recorded in entry "), "{accepted}");
    let again = story.ran_in("", "ledger accept-loss");
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("nothing is lost"), "{}", again.err);
    story.out("run Hello --model scripted:s.jsonl");
    let whole = story.out("ledger verify");
    assert!(
        whole.starts_with("verified: ") && whole.contains("accepted losses of entries: 1"),
        "{whole}"
    );
}

/// R2: the last entries are missed too, though no line of the anchor is about them.
#[test]
fn a_lost_log_of_a_killed_server_is_noticed() {
    let story = recorded();
    let (server, web) = served(&story);
    web.run("Hello");
    server.kill();
    let log = state(&story).join("ledger.sqlite3-wal");
    assert!(fs::metadata(&log).is_ok_and(|log| log.len() > 0), "the log has what was told");
    fs::remove_file(log).expect("it can be removed");
    fs::remove_file(state(&story).join("ledger.sqlite3-shm")).unwrap_or_default();
    // Without the lines, only the file about the newest entry knows.
    fs::write(state(&story).join("anchor"), "").expect("it can be written");
    let ran = story.ran_in("", "run Hello --model scripted:s.jsonl");
    assert!(ran.code != Some(0) && ran.err.contains("the end is lost"), "{}", ran.err);
}

/// R4: looking at the record needs no home that can be written.
#[test]
fn the_record_can_be_shown_and_verified_in_a_home_that_cannot_be_written() {
    let story = recorded();
    let (home, expected) = (state(&story), story.out("show"));
    let mode = |mode: u32| {
        for path in [home.clone(), home.join("locks"), home.join("artifacts")] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
        }
    };
    mode(0o500);
    let shown = story.ran_in("", "show");
    let verified = story.ran_in("", "ledger verify");
    mode(0o700);
    assert_eq!((shown.code, &shown.out), (Some(0), &expected), "{}", shown.err);
    assert_eq!(verified.code, Some(0), "{}", verified.err);
    assert!(verified.out.starts_with("verified: "), "{}", verified.out);
}

/// R4: who verifies is not sent to verify.
#[test]
fn a_damaged_file_is_reported_with_what_to_do() {
    let story = recorded();
    let path = state(&story).join("ledger.sqlite3");
    // Whoever looks at it last copies the log into the file.
    story.out("show");
    let mut bytes = fs::read(&path).expect("it is there");
    bytes[..64].fill(b'x');
    fs::write(&path, bytes).expect("it can be written");
    let ran = story.ran_in("", "ledger verify");
    assert_ne!(ran.code, Some(0));
    assert!(ran.err.contains("is damaged"), "{}", ran.err);
    assert!(ran.err.contains("from a copy") && ran.err.contains("accept-loss"), "{}", ran.err);
    assert!(!ran.err.contains("agentry ledger verify"), "{}", ran.err);
}
