//! `agentry access replay`: what policies would decide otherwise about what was decided before.

use agentry_protocol::GrantId;
use agentry_protocol::access::{Grant, GrantConditions, PrincipalQuery};
use agentry_protocol::inbound::PeerKind;
use agentry_protocol::intake::AccessChange;
use agentry_protocol::principal::{Principal, PrincipalKind};

use crate::past::{self, NOON, at, happened, message, person, policies};
use crate::story::Story;

const THEN: &str = r#"
- name: friends
  match: { principal: { relationship: friend } }
  effect: allow
  permissions: { tools: [web_fetch, read_file], data: minimal }
  session: { key: "friend:{principal.name}" }
- name: guild
  match: { conditions: [{ guild: g1 }] }
  effect: allow
  permissions: { tools: [read_file] }
  session: { key: "{channel}:guild:{peer_id}" }
"#;

const SINCE: &str = "--since 2026-11-16T00:00:00Z";

/// Casey twice, a stranger, and somebody in a guild.
fn story() -> Story {
    let story = Story::new("").with("AGENTRY_TIMEZONE", "UTC");
    story.file(".agentry/access/people.yml", THEN.as_bytes());
    let then = policies(THEN);
    let ledger = past::ledger(&story, NOON);
    let casey = person("Casey", "friend");
    for id in ["1", "2"] {
        happened(&ledger, &then, &casey, message("discord", id, "casey#1"), at("12:00"));
    }
    let stranger = Principal::of(PrincipalKind::Unknown);
    happened(&ledger, &then, &stranger, message("mail", "3", "who@x.example"), at("12:00"));
    let mut inbound = message("discord", "4", "bo#2");
    inbound.place.guild = Some("g1".to_owned());
    inbound.place.peer_kind = Some(PeerKind::Channel);
    happened(&ledger, &then, &stranger, inbound, at("12:00"));
    story
}

#[test]
fn the_policies_that_decided_decide_the_same_again() {
    let story = story();
    insta::assert_snapshot!(story.run(&format!("access replay {SINCE}")), @"
    exit 0
    --- stdout
    same            2 x  known Casey on discord: allow  (first discord:1)
    same            1 x  unknown bo#2 on discord: allow  (first discord:4)
    same            1 x  unknown who@x.example on mail: deny  (first mail:3)
    4 decisions, none would differ
    ");
    insta::assert_snapshot!(story.run(&format!("access replay {SINCE} --changed-only")), @"
    exit 0
    --- stdout
    4 decisions, none would differ
    ");
}

#[test]
fn other_policies_are_held_against_it_without_being_used() {
    let story = story();
    let new = THEN
        .replace("[web_fetch, read_file], data: minimal", "[web_fetch, bash], data: none")
        .replace("guild: g1", "guild: g2");
    story.file("new/people.yml", new.as_bytes());
    insta::assert_snapshot!(story.run(&format!("access replay {SINCE} --with new")), @"
    exit 1
    --- stdout
    changed         2 x  known Casey on discord: tools +bash -read_file; data minimal -> none  (first discord:1)
    changed         1 x  unknown bo#2 on discord: allow -> deny: no policy allows it  (first discord:4)
    same            1 x  unknown who@x.example on mail: deny  (first mail:3)
    4 decisions, 3 would differ
    ");
    let json = story.json(&format!("access replay {SINCE} --with new --json --changed-only"));
    assert_eq!(json["decisions"], 4);
    assert_eq!(json["changed"], 3);
    assert_eq!(json["groups"].as_array().unwrap().len(), 2);
    // A project's directory is taken as one.
    story.file("other/.agentry/access/a.yml", THEN.as_bytes());
    let ran = story.ran_in("", &format!("access replay {SINCE} --with other"));
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert_eq!(story.read(".agentry/access/people.yml"), THEN);
}

#[test]
fn only_what_lies_in_the_time_is_decided_again() {
    let story = story();
    let decisions = |span: &str| {
        let json = story.json(&format!("access replay {span} --json"));
        json["decisions"].as_u64().unwrap()
    };
    assert_eq!(decisions("--since 2026-11-16T12:00:00Z"), 4);
    assert_eq!(decisions("--since 2026-11-16T12:00:01Z"), 0);
    assert_eq!(decisions("--since 2026-11-01 --until 2026-11-16T12:00:00Z"), 0);
    assert_eq!(decisions("--since 2026-11-01 --until 2026-11-16T12:00"), 0);
    assert_eq!(decisions("--since 2026-11-01 --until 2026-11-16T12:01"), 4);
}

#[test]
fn the_time_of_a_policy_is_the_owners() {
    let story = story();
    let night = "- name: nights\n  match: {conditions: [{time: '21:00-22:00'}]}\n  effect: deny\n";
    story.file("new/night.yml", format!("{THEN}{night}").as_bytes());
    let changed = |zone: &str| {
        let command = format!("access replay {SINCE} --with new --json -c timezone={zone}");
        story.json(&command)["changed"].as_u64().unwrap()
    };
    assert_eq!(changed("UTC"), 0);
    // There it was 21:00.
    assert_eq!(changed("Asia/Tokyo"), 3);
}

#[test]
fn a_grant_that_held_then_holds_in_the_replay_though_it_was_taken_back() {
    let story = Story::new("");
    story.file(".agentry/access/people.yml", THEN.as_bytes());
    let then = policies(THEN);
    let grant = Grant {
        id: GrantId::from_number(1),
        principal_query: PrincipalQuery {
            person_id: Some("casey".to_owned()),
            ..PrincipalQuery::default()
        },
        resources: vec!["bash".parse().unwrap()],
        created_at: NOON - 1000,
        expires_at: None,
        revoked_at: None,
        granted_by: "owner".to_owned(),
        reason: None,
        request_context: None,
        conditions: GrantConditions::default(),
    };
    let id = grant.id.clone();
    let casey = person("Casey", "friend");
    let ledger = past::ledger(&story, NOON);
    past::changed(&ledger, AccessChange::GrantGiven { grant: Box::new(grant) });
    happened(&ledger, &then, &casey, message("discord", "1", "casey#1"), at("12:00"));
    drop(ledger);
    let ledger = past::ledger(&story, NOON + 5000);
    let revoked = AccessChange::GrantRevoked { grant: id, by: "owner".to_owned(), reason: None };
    past::changed(&ledger, revoked);
    happened(&ledger, &then, &casey, message("discord", "2", "casey#1"), at("12:00"));
    drop(ledger);
    let json = story.json(&format!("access replay {SINCE} --json"));
    assert_eq!((&json["decisions"], &json["changed"]), (&2.into(), &0.into()), "{json:#}");
}

#[test]
fn what_is_wrong_with_the_command_or_the_policies_is_said() {
    let story = story();
    insta::assert_snapshot!(story.run("access replay --since yesterday"), @"
    exit 2
    --- stderr
    error: `yesterday` is not a valid time
     help: write 7d, 12h, 30m, 2026-11-01, 2026-11-01T23:30 or 2026-11-01T23:30:00Z
    ");
    insta::assert_snapshot!(story.run("access replay --with nowhere"), @"
    exit 2
    --- stderr
    error: cannot read nowhere: No such file or directory (os error 2)
     help: name an existing file or directory that you may read
    ");
    story.file("bad/a.yml", b"- name: bad\n  effect: maybe\n");
    insta::assert_snapshot!(story.run("access replay --with bad"), @"
    exit 2
    --- stderr
    error: the access policies have errors, so they allow no access:
      bad/a.yml:2:11 E0304 `effect` has a value that is not allowed
     help: `agentry access check` shows them with excerpts
    ");
}
