//! What others lack they ask the owner for; grants that the owner gives, and what becomes of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use agentry_protocol::envelope::{Draft, EntrySubject};
use agentry_protocol::event::Event;
use agentry_protocol::intake::{AccessChange, Entity, EntityKind, Identity};
use agentry_store::Ledger;
use serde_json::Value;

use crate::record::{all_is_recorded, line, script, story};
use crate::story::Story;

const POLICY: &str = "
    --- .agentry/access/family.yml
    - name: family
      match: { principal: { relationship: family } }
      effect: allow
      permissions: { tools: [glob], credentials: [], data: none }
      session: { key: 'family:{principal.name}' }
    - name: strangers
      match: { principal: { unknown: true } }
      effect: allow
      permissions: { tools: [glob], credentials: [], data: none }
      session: { key: 'stranger:{principal.id}' }
    ";

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970");
    u64::try_from(now.as_millis()).expect("it is not that late")
}

/// The ledger of a story, at another time.
fn ledger(story: &Story, time: u64) -> Ledger {
    let clock = AtomicU64::new(time);
    let clock = Arc::new(move || clock.fetch_add(1, Ordering::Relaxed));
    Ledger::open(&story.home(".local/state/agentry"), clock).expect("the ledger opens")
}

/// A project that lets the family and strangers in, and that knows Mom.
#[expect(clippy::disallowed_methods, reason = "a test writes the past itself")]
fn family() -> Story {
    let story = story();
    story.write(POLICY);
    story.out("approvals");
    let entity = Entity {
        id: "mom".to_owned(),
        kind: EntityKind::Person,
        name: "Mom".to_owned(),
        is_user: false,
        relationship: Some("family".to_owned()),
        tags: Vec::new(),
        identities: vec![Identity {
            channel: "chat".to_owned(),
            identifier: "mom-1".to_owned(),
            account_id: None,
            is_owned: false,
        }],
    };
    let event = Event::Access(AccessChange::EntityChanged { entity: Box::new(entity) });
    let draft = Draft { cause: None, about: EntrySubject::default(), event };
    ledger(&story, now()).append(vec![draft]).expect("Mom becomes known");
    script(&story, "s.jsonl", &[line("", &["touch made"]), line("Over.", &[])]);
    story
}

fn send(story: &Story, from: &str) -> String {
    let model = "--model scripted:s.jsonl";
    story.run(&format!("send --channel chat --from {from} {model} 'make it please'"))
}

fn requests(story: &Story, how: &str) -> Vec<Value> {
    let all = story.json(&format!("requests list {how} --json"));
    all.as_array().expect("it is a list").clone()
}

fn only_request(story: &Story) -> String {
    let waiting = requests(story, "");
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    waiting[0]["id"].as_str().expect("it has an id").to_owned()
}

#[test]
fn an_approved_request_resumes_the_very_same_call_once() {
    let story = family();
    send(&story, "mom-1");
    assert!(!story.path("made").exists());
    let id = only_request(&story);
    let shown = story.out(&format!("requests show {id}"));
    assert!(shown.contains("Mom (family) on chat has no permission for this"), "{shown}");
    assert!(shown.contains("a lasting approval grants: exec:touch made"), "{shown}");
    assert!(shown.contains("they wrote: make it please"), "{shown}");
    let said = story.out(&format!("requests approve {id} --once"));
    assert!(said.contains("approved once"), "{said}");
    story.out("resume --last");
    assert!(story.path("made").exists());
    assert_eq!(story.json("grants list --all --json"), serde_json::json!([]));
    let again = story.ran_in("", &format!("requests approve {id}"));
    assert_eq!(again.code, Some(2));
    all_is_recorded(&story);
}

#[test]
fn a_yes_that_lasts_gives_a_grant_and_the_next_message_asks_nobody_for_it() {
    let story = family();
    send(&story, "mom-1");
    let id = only_request(&story);
    story.out(&format!("requests approve {id} --duration 24h"));
    let grants = story.json("grants list --json");
    let grant = &grants[0];
    assert_eq!(grant["principal_query"]["person_id"], "mom");
    assert_eq!(grant["resources"], serde_json::json!(["exec:touch made"]));
    assert_eq!(grant["request_context"], id.as_str());
    let lasts = grant["expires_at"].as_u64().zip(grant["created_at"].as_u64());
    assert_eq!(lasts.map(|(end, begin)| end - begin), Some(24 * 60 * 60 * 1_000));
    story.out("resume --last");
    // The permission is there; the agent's own rules still ask about the call.
    send(&story, "mom-1");
    assert_eq!(requests(&story, "").len(), 0);
    let waiting = story.json("approvals --format json");
    assert_eq!(waiting[0]["kind"], "tool_call", "{waiting}");
    let log = story.json("grants audit --all --since 1d --json");
    let log: Vec<&str> =
        log.as_array().expect("a list").iter().filter_map(|one| one["activity"].as_str()).collect();
    assert_eq!(log, ["created", "used"]);
}

#[test]
fn a_denied_request_is_told_and_a_stranger_asks_nobody() {
    let story = family();
    send(&story, "nobody-knows");
    assert_eq!(requests(&story, "--all").len(), 0);
    send(&story, "mom-1");
    let id = only_request(&story);
    story.out(&format!("requests deny {id} --reason 'not today'"));
    let resumed = story.run("resume --last");
    assert!(resumed.contains("A person said no: not today"), "{resumed}");
    assert!(!story.path("made").exists());
    assert_eq!(requests(&story, "--all")[0]["status"], "denied");
    all_is_recorded(&story);
}

#[test]
fn a_request_that_nobody_answered_in_time_is_marked_and_cannot_be_answered() {
    let story = family();
    send(&story, "mom-1");
    let id = only_request(&story);
    let tomorrow = now() + 25 * 60 * 60 * 1_000;
    let late = ledger(&story, tomorrow);
    let expired = agentry_runtime::inbound::permission_request::expire_requests(&late, tomorrow)
        .expect("it works");
    assert_eq!(expired.iter().map(ToString::to_string).collect::<Vec<_>>(), [id.as_str()]);
    let again = agentry_runtime::inbound::permission_request::expire_requests(&late, tomorrow)
        .expect("it works");
    assert_eq!(again, []);
    drop(late);
    assert_eq!(requests(&story, "--all")[0]["status"], "expired");
    assert_eq!(story.ran_in("", &format!("requests approve {id}")).code, Some(2));
    let resumed = story.run("resume --last");
    assert!(resumed.contains("nobody answered the request for permission in time"), "{resumed}");
    all_is_recorded(&story);
}

#[test]
fn grants_are_given_and_taken_back() {
    let story = family();
    story.out("grants give --to person:mom --for 2h --reason 'for today' 'exec:touch *' glob");
    let grants = story.json("grants list --json");
    let id = grants[0]["id"].as_str().expect("it has an id").to_owned();
    let shown = story.out(&format!("grants show {id}"));
    assert!(shown.contains("gives: exec:touch *, tool:glob"), "{shown}");
    send(&story, "mom-1");
    assert_eq!(requests(&story, "--all").len(), 0, "the grant covers it");
    story.out(&format!("grants revoke {id} --reason 'that is enough'"));
    assert_eq!(story.json("grants list --json"), serde_json::json!([]));
    assert_eq!(story.json("grants list --all --json").as_array().map(Vec::len), Some(1));
    assert_eq!(story.ran_in("", &format!("grants revoke {id}")).code, Some(2));
    for wrong in [
        "grants give --to mom glob",
        "grants give --to person:mom 'a b'",
        "grants give --to person:mom --for soon glob",
        "grants give glob",
        "grants audit",
    ] {
        assert_eq!(story.ran_in("", wrong).code, Some(2), "{wrong}");
    }
}

#[test]
fn a_second_request_waits_for_the_cool_down_of_the_operator() {
    let story = family();
    script(&story, "s.jsonl", &[line("", &["touch made", "touch other"]), line("Over.", &[])]);
    send(&story, "mom-1");
    assert_eq!(requests(&story, "").len(), 1);
    let free = family();
    script(&free, "s.jsonl", &[line("", &["touch made", "touch other"]), line("Over.", &[])]);
    let own = free.home(".config/agentry");
    std::fs::create_dir_all(&own).expect("it can be made");
    std::fs::write(own.join("agentry.toml"), "[requests]\ncooldown_s = 0\n")
        .expect("it is written");
    send(&free, "mom-1");
    assert_eq!(requests(&free, "").len(), 2);
}
