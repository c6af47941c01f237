//! `agentry audit`: what was decided about who may, allowed or denied.

use agentry_protocol::principal::{Principal, PrincipalKind};

use crate::past::{self, NOON, at, happened, message, person, policies};
use crate::story::{Story, ids};

const POLICIES: &str = r#"
- name: friends
  match: { principal: { relationship: friend } }
  effect: allow
  permissions: { tools: [web_fetch], credentials: [weather], data: minimal }
  session: { key: "friend:{principal.name}", persona: casual }
- name: no-mail
  match: { conditions: [{ channel: mail }] }
  effect: deny
- name: unused
  match: { principal: { relationship: work } }
  effect: allow
"#;

const MINUTE: u64 = 60_000;

/// Casey is let in, not by mail; a stranger is not; one is named like a formula.
fn story() -> Story {
    let story = Story::new("").with("AGENTRY_TIMEZONE", "UTC");
    story.file(".agentry/access/people.yml", POLICIES.as_bytes());
    let then = policies(POLICIES);
    let casey = person("Casey", "friend");
    let odd = person("=cmd,\"x\"", "friend");
    let stranger = Principal::of(PrincipalKind::Unknown);
    let events = [
        (&casey, "discord", "1", "casey#1"),
        (&casey, "mail", "2", "c@x.example"),
        (&stranger, "discord", "3", "who#9"),
        (&odd, "discord", "4", "-odd"),
    ];
    for (after, (who, channel, id, sender)) in events.into_iter().enumerate() {
        let ledger = past::ledger(&story, NOON + after as u64 * MINUTE);
        happened(&ledger, &then, who, message(channel, id, sender), at("12:00"));
    }
    story
}

#[test]
fn decisions_are_listed_newest_first() {
    insta::assert_snapshot!(ids(&story().run("audit list")), @r#"
    exit 0
    --- stdout
    2026-11-16 12:03:00  allow  known =cmd,"x" (friend) on discord  discord:4  acc_1
    2026-11-16 12:02:00  deny   unknown on discord  discord:3  acc_2
    2026-11-16 12:01:00  deny   known Casey (friend) on mail  mail:2  acc_3
    2026-11-16 12:00:00  allow  known Casey (friend) on discord  discord:1  acc_4
    "#);
    insta::assert_snapshot!(Story::new("").run("audit list"), @"
    exit 0
    --- stdout
    no decision matches
    ");
}

#[test]
fn every_filter_narrows() {
    let story = story();
    let events = |filter: &str| -> String {
        let rows = story.json(&format!("audit list {filter} --json"));
        let rows = rows.as_array().expect("rows are an array");
        let events = rows.iter().map(|row| row["event_id"].as_str().unwrap_or_default());
        events.collect::<Vec<_>>().join(" ")
    };
    let cases = [
        ("--last 1", "discord:4"),
        ("--since 2026-11-16T12:02:00Z", "discord:4 discord:3"),
        ("--until 2026-11-16T12:01:00Z", "discord:1"),
        ("--denied", "discord:3 mail:2"),
        ("--allowed", "discord:4 discord:1"),
        ("--principal casey", "mail:2 discord:1"),
        ("--principal Casey", "mail:2 discord:1"),
        ("--principal-type unknown", "discord:3"),
        ("--relationship friend", "discord:4 mail:2 discord:1"),
        ("--channel mail", "mail:2"),
        ("--account ours", ""),
        ("--policy friends", "discord:4 mail:2 discord:1"),
        ("--policy-matched friends --denied", "mail:2"),
        ("--policy-denied no-mail", "mail:2"),
        ("--policy-denied friends", ""),
        ("--channel discord --allowed --principal casey", "discord:1"),
    ];
    for (filter, expected) in cases {
        assert_eq!(events(filter), expected, "{filter}");
    }
    for wrong in ["--since soon", "--principal-type stranger", "--denied --allowed"] {
        let ran = story.ran_in("", &format!("audit list {wrong}"));
        assert_eq!(ran.code, Some(2), "{wrong}: {}", ran.out);
    }
}

#[test]
fn a_record_is_shown_whole() {
    let story = story();
    insta::assert_snapshot!(ids(&story.run("audit show mail:2")), @"
    exit 0
    --- stdout
    id                   acc_1
    time                 2026-11-16 12:01:00 (UTC)
    event                mail:2
    channel              mail
    sender               c@x.example
    peer_kind            dm
    account              -
    principal_type       known
    principal_id         casey
    principal_name       Casey
    relationship         friend
    tags                 -
    effect               deny
    why                  the policy `no-mail` denies it
    could call           -
    could not call       bash, read_file, web_fetch
    credentials          -
    data                 none (default)
    policy               friends allowed
    policy               no-mail denied
    policies_evaluated   friends, no-mail
    grants               -
    took                 0.5 ms
    ");
    insta::assert_snapshot!(ids(&story.run("audit show discord:1")), @"
    exit 0
    --- stdout
    id                   acc_1
    time                 2026-11-16 12:00:00 (UTC)
    event                discord:1
    channel              discord
    sender               casey#1
    peer_kind            dm
    account              -
    principal_type       known
    principal_id         casey
    principal_name       Casey
    relationship         friend
    tags                 -
    effect               allow
    tools allowed        web_fetch (policy friends)
    could call           web_fetch
    could not call       bash, read_file
    credentials          weather (policy friends)
    data                 minimal (policy friends)
    session              friend:casey (policy friends)
    persona              casual
    policy               friends allowed
    policies_evaluated   friends
    grants               -
    took                 0.5 ms
    ");
}

#[test]
fn a_record_is_found_by_its_id_a_part_of_it_or_its_event() {
    let story = story();
    let by_event = story.json("audit show discord:1 --json");
    let id = by_event["id"].as_str().expect("it has an id");
    assert_eq!(story.json(&format!("audit show {id} --json")), by_event);
    assert_eq!(story.json(&format!("audit show {} --json", &id[..12])), by_event);
    assert_eq!(story.json(&format!("audit show {} --json", &id[20..])), by_event);
    assert_eq!(by_event["session"]["key"], "friend:casey");
    assert_eq!(by_event["resolved"]["tools_allowed"][0], "web_fetch");
    insta::assert_snapshot!(story.run("audit show discord:99"), @"
    exit 2
    --- stderr
    error: there is no decision about the event `discord:99`
     help: `agentry audit list` lists all decisions
    ");
    insta::assert_snapshot!(story.run("audit show nothing"), @"
    exit 2
    --- stderr
    error: there is no decision `nothing`
    ");
}

#[test]
fn an_export_has_every_field_and_no_formula() {
    let story = story();
    insta::assert_snapshot!(ids(&story.out("audit export --format csv --since 2026-11-16")), @r#"
    id,timestamp,event_id,channel,sender_identifier,peer_kind,account,principal_id,principal_type,principal_name,principal_relationship,policies_evaluated,policies_matched,policies_denied,effect,deny_reason,tools_allowed,tools_denied,credentials_allowed,data_access,persona,session_key,grants_applied,processing_time_ms
    acc_1,2026-11-16T12:00:00Z,discord:1,discord,casey#1,dm,,casey,known,Casey,friend,friends,friends,,allow,,web_fetch,bash read_file,weather,minimal,casual,friend:casey,,0.5
    acc_2,2026-11-16T12:01:00Z,mail:2,mail,c@x.example,dm,,casey,known,Casey,friend,friends no-mail,friends,no-mail,deny,the policy `no-mail` denies it,,bash read_file web_fetch,,none,,,,0.5
    acc_3,2026-11-16T12:02:00Z,discord:3,discord,who#9,dm,,,unknown,,,,,,deny,no policy allows it,,bash read_file web_fetch,,none,,,,0.5
    acc_4,2026-11-16T12:03:00Z,discord:4,discord,'-odd,dm,,"'=cmd,""x""",known,"'=cmd,""x""",friend,friends,friends,,allow,,web_fetch,bash read_file,weather,minimal,casual,friend:%3dcmd%2c%22x%22,,0.5
    "#);
    let json = story.json("audit export --format json --since 2026-11-16 --denied");
    assert_eq!(json.as_array().unwrap().len(), 2);
    assert_eq!(json[0]["event_id"], "mail:2");
    assert_eq!(json[0]["deny_reason"]["policy"], "no-mail");
    assert_eq!(story.out("audit export --format json --since 2026-11-17").trim(), "[]");
}

#[test]
fn decisions_are_counted_and_policies_that_never_had_a_part_are_named() {
    let story = story();
    insta::assert_snapshot!(story.run("audit stats"), @"
    exit 0
    --- stdout
    known           2 allowed         1 denied
    unknown         0 allowed         1 denied
    4 decisions, 2 allowed, 2 denied
    policies that never matched: owner-full-access, owner-in-groups, unused
    ");
    insta::assert_snapshot!(story.run("audit stats --by principal"), @r#"
    exit 0
    --- stdout
    known Casey            1 allowed         1 denied
    known =cmd,"x"         1 allowed         0 denied
    unknown                0 allowed         1 denied
    4 decisions, 2 allowed, 2 denied
    policies that never matched: owner-full-access, owner-in-groups, unused
    "#);
    insta::assert_snapshot!(story.run("audit stats --by channel"), @"
    exit 0
    --- stdout
    discord         2 allowed         1 denied
    mail            0 allowed         1 denied
    4 decisions, 2 allowed, 2 denied
    policies that never matched: owner-full-access, owner-in-groups, unused
    ");
    insta::assert_snapshot!(story.run("audit stats --by policy"), @"
    exit 0
    --- stdout
    friends         3 allowed         0 denied
    no-mail         0 allowed         1 denied
    4 decisions, 2 allowed, 2 denied
    policies that never matched: owner-full-access, owner-in-groups, unused
    ");
    let json = story.json("audit stats --by policy --json --since 2026-11-16T12:03:00Z");
    assert_eq!(json["decisions"], 1);
    assert_eq!(json["rows"].as_array().unwrap().len(), 1);
    let never = json["policies_never_matched"].to_string();
    assert!(never.contains("unused") && never.contains("no-mail"), "{never}");
}
