//! `access/`: every shape and field of a policy, and everything that can be wrong with one.

use agentry_agentfile::access::{
    KeyTemplate, LocalTime, NameSet, Policy, TimeWindow, bundled_policies, parse,
};
use agentry_agentfile::diagnostic::{FindingText, Findings};
use agentry_agentfile::diagnostic_code::DiagnosticCode;
use agentry_agentfile::schema::FileKind;
use agentry_agentfile::source::SourceText;
use agentry_protocol::access::{Delivery, DisclosureLevel, Effect};
use agentry_protocol::inbound::PeerKind;
use agentry_protocol::principal::PrincipalKind;

use crate::reading::{check, check_clean, given, lines};

fn policies(file: &str, text: &str) -> Vec<Policy> {
    let mut findings = Findings::default();
    let policies = parse(&SourceText::new(file, text), &mut findings);
    assert_eq!(lines(&findings), [""; 0]);
    policies
}

/// One policy in the file `.agentry/access/a.yml`.
#[track_caller]
fn check_one(policy: &str, expected: &str) {
    check(&format!("--- .agentry/access/a.yml\n{policy}"), expected);
}

const FULL: &str = r#"
- name: everything
  description: Every field there is.
  match:
    principal:
      is_user: false
      relationship: family
      tags: [near, old]
      person_id: person_abc
      unknown: false
      system: false
    conditions:
      - channel: slack
        peer_kind: group
        account: work-slack
        guild: "987654321"
        time: "23:00-08:00"
        hook_id: daily
        event_type: timer
      - time: weekends
  effect: allow
  permissions:
    tools:
      allow: [web_search, Read, "calendar_*"]
      deny: [shell, "*", "credentials_*"]
    credentials: [github, jira]
    data: restricted
  session:
    persona: atlas
    key: "family:{principal.name}:{channel}"
  modifiers:
    queue_mode: coalesce
    delay_response: true
  priority: 85
  enabled: false
  ceiling: true
  isolate: true
  examples:
    - principal: { kind: known, name: Mom, relationship: family, tags: [near], person_id: p1 }
      channel: slack
      peer_kind: group
      peer_id: "7"
      account: work-slack
      guild: g
      hook_id: h
      event_type: e
      at: sat 23:30
      expect: allow
      tools: [web_search]
      no_tools: [bash]
      session: family:mom:slack
    - { principal: owner, expect: deny }
    - { principal: { webhook: stripe }, expect: deny, at: "08:00" }
"#;

#[test]
fn every_field_is_read() {
    let all = policies("a.yml", FULL);
    let [policy] = all.as_slice() else { panic!("one policy") };
    assert_eq!(&*policy.name.value, "everything");
    assert_eq!(policy.name.origin.line, 2);
    assert_eq!(policy.description.as_deref(), Some("Every field there is."));
    assert_eq!((policy.enabled, policy.priority, policy.effect), (false, 85, Effect::Allow));
    assert_eq!(policy.who.tags, ["near", "old"]);
    assert_eq!((policy.who.is_user, policy.who.unknown), (Some(false), Some(false)));
    assert_eq!(policy.who.person_id.as_deref(), Some("person_abc"));
    let [first, second] = policy.conditions.as_slice() else { panic!("two conditions") };
    assert_eq!(first.peer_kind, Some(PeerKind::Group));
    assert_eq!(first.time, Some(TimeWindow::Daily { start: 23 * 60, end: 8 * 60 }));
    assert_eq!(
        (first.guild.as_deref(), first.event_type.as_deref()),
        (Some("987654321"), Some("timer"))
    );
    assert_eq!(second.time, Some(TimeWindow::Weekends));
    let tools = policy.permissions.tools.as_ref().unwrap();
    let text = |names: &[std::sync::Arc<str>]| names.join(" ");
    assert_eq!(text(tools.allow.as_ref().unwrap()), "web_search read_file calendar_*");
    assert_eq!((text(&tools.deny).as_str(), tools.deny_the_rest), ("bash credentials_*", true));
    let listed = vec!["github".into(), "jira".into()];
    assert_eq!(policy.permissions.credentials, Some(NameSet::Listed(listed)));
    assert_eq!(policy.permissions.data, Some(DisclosureLevel::Contextual));
    assert!(policy.permissions.ceiling);
    let session = policy.session.as_ref().unwrap();
    assert_eq!(session.key, KeyTemplate::parse("family:{principal.name}:{channel}").unwrap());
    assert_eq!((session.persona.as_deref(), session.isolate), (Some("atlas"), true));
    assert_eq!(policy.modifiers.delivery, Some(Delivery::Collect));
    assert_eq!(policy.modifiers.delay_response, Some(true));
    let [mom, owner, stripe] = policy.examples.as_slice() else { panic!("three examples") };
    assert_eq!(mom.value.at, LocalTime::parse("sat 23:30").unwrap());
    assert_eq!((mom.value.tools.len(), mom.value.no_tools.len()), (1, 1));
    assert_eq!(mom.value.principal.entity_id.as_deref(), Some("p1"));
    assert_eq!(owner.value.principal.kind, PrincipalKind::Owner);
    assert_eq!(stripe.value.principal.kind, PrincipalKind::Webhook);
}

#[test]
fn a_file_is_one_policy_a_list_or_a_named_list_in_yaml_or_json() {
    let one = "{name: a, effect: deny}";
    for (file, text) in [
        ("a.yml", one.to_owned()),
        ("a.yaml", format!("- {one}")),
        ("a.yml", format!("policies:\n  - {one}")),
        ("a.json", r#"{"name": "a", "effect": "deny"}"#.to_owned()),
        ("a.json", r#"[{"name": "a", "effect": "deny"}]"#.to_owned()),
        ("a.json", r#"{"policies": [{"name": "a", "effect": "deny"}]}"#.to_owned()),
    ] {
        let all = policies(file, &text);
        assert_eq!((all.len(), &*all[0].name.value, all[0].priority), (1, "a", 50), "{text}");
    }
}

#[test]
fn tools_and_credentials_come_in_each_shape() {
    let tools = |tools: &str| {
        let text = format!("{{name: a, effect: allow, permissions: {{tools: {tools}}}}}");
        let rule = policies("a.yml", &text).remove(0).permissions.tools.unwrap();
        let allow = rule.allow.map(|names| names.join(" "));
        format!("{allow:?} {} {}", rule.deny.join(" "), rule.deny_the_rest)
    };
    assert_eq!(tools("'*'"), "Some(\"*\")  false");
    assert_eq!(tools("[weather, Bash]"), "Some(\"weather bash\")  false");
    assert_eq!(tools("[]"), "Some(\"\")  false");
    assert_eq!(tools("{allow: '*', deny: [x]}"), "Some(\"*\") x false");
    assert_eq!(tools("{allow: [a], deny: '*'}"), "Some(\"a\")  true");
    assert_eq!(tools("{deny: [x]}"), "None x false");
    let credentials = |text: &str| {
        let text = format!("{{name: a, effect: allow, permissions: {{credentials: {text}}}}}");
        policies("a.yml", &text).remove(0).permissions.credentials.unwrap()
    };
    assert_eq!(credentials("'*'"), NameSet::All);
    assert_eq!(credentials("[]"), NameSet::Listed(Vec::new()));
    assert_eq!(credentials("[a, '*']"), NameSet::All);
}

#[test]
fn what_the_schema_knows_is_said_at_its_place() {
    check_one("{name: a, effect: allow, permision: {}}", "E0301 error .agentry/access/a.yml:1:26");
    check_one("{name: a}", "E0302 error .agentry/access/a.yml:1:1");
    check_one("{effect: deny}", "E0302 error .agentry/access/a.yml:1:1");
    check_one("{name: 'A b', effect: deny}", "E0305 error .agentry/access/a.yml:1:8");
    check_one("{name: a, effect: maybe}", "E0304 error .agentry/access/a.yml:1:19");
    check_one("{name: a, effect: deny, priority: 101}", "E0305 error .agentry/access/a.yml:1:35");
    check_one("{name: a, effect: deny, priority: high}", "E0303 error .agentry/access/a.yml:1:35");
    check_one(
        "{name: a, effect: deny, match: {principal: {person_id: 7}}}",
        "E0303 error .agentry/access/a.yml:1:56",
    );
    check_one(
        "{name: a, effect: deny, match: {principal: {isuser: true}}}",
        "E0301 error .agentry/access/a.yml:1:45",
    );
    check_one(
        "{name: a, effect: deny, match: {conditions: []}}",
        "E0305 error .agentry/access/a.yml:1:45",
    );
    check_one(
        "{name: a, effect: deny, match: {conditions: [{peer_kind: dms}]}}",
        "E0304 error .agentry/access/a.yml:1:58",
    );
    check_one("just text", "E0209 error .agentry/access/a.yml:1:1");
    check_one("# nothing", "E0111 warning .agentry/access/a.yml:1:1");
}

#[test]
fn a_time_that_cannot_be_read_is_told() {
    for time in ["8:00-9:00", "23:00", "weekend", "25:00-26:00"] {
        check_one(
            &format!("{{name: a, effect: deny, match: {{conditions: [{{time: '{time}'}}]}}}}"),
            "E1001 error .agentry/access/a.yml:1:53",
        );
    }
    check_one(
        "{name: a, effect: deny, examples: [{principal: owner, expect: deny, at: noon}]}",
        "E1001 error .agentry/access/a.yml:1:73",
    );
}

#[test]
fn a_session_key_that_cannot_be_used_is_told() {
    for key in ["", "a b", "x:{name}", "x:{channel", "a::b", "{principal.name}"] {
        check_one(
            &format!("{{name: a, effect: allow, session: {{key: '{key}'}}}}"),
            "E1002 error .agentry/access/a.yml:1:41",
        );
    }
    check_one(
        "{name: a, effect: allow, session: {persona: atlas}}",
        "E0302 error .agentry/access/a.yml:1:35",
    );
}

#[test]
fn a_word_for_data_or_delivery_that_means_nothing_is_told() {
    let (_, findings) =
        given("--- .agentry/access/a.yml\n{name: a, effect: allow, permissions: {data: work}}")
            .read();
    assert_eq!(lines(&findings), ["E1003 error .agentry/access/a.yml:1:46"]);
    assert!(findings.sorted()[0].help.as_ref().unwrap().contains("`tags`"));
    check_one(
        "{name: a, effect: allow, modifiers: {queue_mode: later}}",
        "E0304 error .agentry/access/a.yml:1:50",
    );
}

#[test]
fn one_name_is_for_one_policy() {
    check(
        "
        --- .agentry/access/a.yml
        - {name: a, effect: deny}
        - {name: a, effect: deny}
        --- .agentry/access/b.yaml
        {name: a, effect: deny}
        ",
        "E1004 error .agentry/access/a.yml:2:10
         E1004 error .agentry/access/b.yaml:1:8",
    );
}

#[test]
fn a_policy_that_denies_gives_nothing() {
    check_one(
        "
name: a
effect: deny
permissions: {tools: [x]}
session: {key: main}
modifiers: {queue_mode: steer}
ceiling: true
isolate: true
",
        "E1005 error .agentry/access/a.yml:4:14
         E1005 error .agentry/access/a.yml:5:10
         E1005 error .agentry/access/a.yml:6:12
         E1005 error .agentry/access/a.yml:7:10
         E1005 error .agentry/access/a.yml:8:10",
    );
}

#[test]
fn what_can_do_nothing_is_told() {
    check_one(
        "{name: a, effect: allow, modifiers: {queue_mode: steer}}",
        "E1006 note .agentry/access/a.yml:1:37",
    );
    check_one(
        "{name: a, effect: deny, match: {conditions: [{}, {channel: x}]}}",
        "E1007 warning .agentry/access/a.yml:1:46",
    );
    check_one("{name: a, effect: allow, ceiling: true}", "E1008 error .agentry/access/a.yml:1:35");
    check_one("{name: a, effect: allow, isolate: true}", "E1008 error .agentry/access/a.yml:1:35");
}

#[test]
fn the_policies_of_a_directory_join_those_that_ship() {
    let files = given(
        "
        --- .agentry/access/mine.yml
        - {name: owner-full-access, effect: allow, permissions: {tools: [read_file]}}
        - {name: mine, effect: deny}
        --- .agentry/access/README.md
        What these are for.
        ",
    )
    .home("--- .agentry/access/more.json\n{\"name\": \"more\", \"effect\": \"deny\"}");
    let (library, findings) = files.read();
    assert_eq!(lines(&findings), [""; 0]);
    assert!(!library.is_empty());
    let all = library.access.policies();
    assert_eq!(all.len(), bundled_policies().len() + 2);
    let own: Vec<&str> = library.access.own.iter().map(|one| &*one.name.value).collect();
    assert_eq!(own, ["owner-full-access", "mine", "more"]);
    let owner = all.iter().find(|one| &*one.name.value == "owner-full-access").unwrap();
    assert_eq!(&*owner.name.origin.file, ".agentry/access/mine.yml");
}

#[test]
fn with_one_broken_file_only_what_ships_holds() {
    for broken in ["{name: b, effect: allow, oops: 1}", "{name: a, effect: deny}", "{"] {
        let text = format!(
            "--- .agentry/access/a.yml\n{{name: a, effect: allow}}\n--- .agentry/access/b.yml\n{broken}\n"
        );
        let (library, findings) = given(&text).read();
        assert!(findings.has_errors(), "{broken}");
        assert_eq!(library.access.policies(), bundled_policies(), "{broken}");
        assert_eq!(library.access.broken.len(), 1);
    }
}

#[test]
fn what_ships_lets_in_the_owner_alone() {
    assert_eq!(bundled_policies().len(), 19);
    for policy in bundled_policies().iter().filter(|policy| policy.enabled) {
        assert_eq!(policy.who.is_user, Some(true), "{}", policy.name.value);
    }
    check_clean("--- .agentry/agents/a/AGENT.md\n---\nname: A\n---\nHi.\n");
}

#[test]
fn what_is_found_later_points_into_the_file() {
    let (library, mut findings) =
        given("--- .agentry/access/a.yml\n- {name: a, effect: deny}\n- {name: b, effect: deny}")
            .read();
    let origin = library.access.own[1].name.origin.clone();
    library.access.report(
        DiagnosticCode::PolicyExampleFails,
        &origin,
        FindingText::new("x"),
        &mut findings,
    );
    assert_eq!(lines(&findings), ["E1011 error .agentry/access/a.yml:2:10"]);
    assert_eq!(findings.sorted()[0].span.range().len(), 1);
}

#[test]
fn the_schema_for_editors_takes_every_shape() {
    let schema = FileKind::Access.schema();
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let policy = serde_json::json!({ "name": "a", "effect": "deny" });
    for good in
        [policy.clone(), serde_json::json!([policy]), serde_json::json!({ "policies": [policy] })]
    {
        assert!(validator.is_valid(&good), "{good}");
    }
    assert!(!validator.is_valid(&serde_json::json!({ "policies": [{ "name": "a" }] })));
    assert!(!validator.is_valid(&serde_json::json!("a")));
}
