//! What is probably not meant in policies, as text.

use std::collections::BTreeSet;

use agentry_agentfile::access::{Policy, bundled_policies, parse};
use agentry_agentfile::diagnostic::Findings;
use agentry_agentfile::source::SourceText;
use agentry_kernel::access::{compile, findings};
use agentry_protocol::tool::ToolName;

#[track_caller]
fn check(yaml: &str, expected: &[&str]) {
    let mut wrong = Findings::default();
    let policies = parse(&SourceText::new("test.yml", yaml), &mut wrong);
    assert!(!wrong.has_errors(), "{wrong:?}");
    check_policies(&policies, expected);
}

#[track_caller]
fn check_policies(policies: &[Policy], expected: &[&str]) {
    let known: BTreeSet<ToolName> =
        ["bash", "read_file", "web_search"].map(ToolName::canonical).into();
    let lints = findings(&compile(policies), &known);
    let lines: Vec<String> =
        lints.iter().map(|one| format!("{} {}", one.code, one.message)).collect();
    assert_eq!(lines, expected);
    assert!(lints.iter().all(|one| !one.help.is_empty()));
}

#[test]
fn the_policies_that_ship_are_meant() {
    check_policies(bundled_policies(), &[]);
    let mut all = bundled_policies().to_vec();
    for policy in &mut all {
        // Somebody who blocks strangers cannot have a public account too.
        policy.enabled = &*policy.name.value != "block-unknown";
    }
    check_policies(&all, &[]);
}

#[test]
fn an_allow_behind_a_wall_is_unreachable() {
    let allow = "{name: night, effect: allow, permissions: {tools: [bash]}, \
                 match: {principal: {relationship: friend, tags: [a, b]}, conditions: \
                 [{channel: mail, time: '23:00-05:00'}, {channel: mail, time: '01:00-02:00'}]}}";
    let wall =
        |matching: &str| format!("- {{name: wall, effect: deny, match: {matching}}}\n- {allow}");
    let found = ["E1012 `night` admits no sender: `wall` denies all of them"];
    for covers in [
        "{}",
        "{principal: {relationship: friend}}",
        "{principal: {tags: [b]}}",
        "{principal: {is_user: false, unknown: false}, conditions: [{channel: mail}]}",
        "{conditions: [{channel: slack}, {channel: mail, time: '22:00-05:00'}]}",
    ] {
        // The last but one leaves the owner, who may be somebody's friend too.
        let expected: &[&str] = if covers.contains("is_user") { &[] } else { &found };
        check(&wall(covers), expected);
    }
    for leaves in [
        "{principal: {relationship: family}}",
        "{principal: {tags: [a, c]}}",
        "{principal: {person_id: x}}",
        "{conditions: [{channel: slack}]}",
        "{conditions: [{channel: mail, time: '23:00-04:00'}]}",
        "{conditions: [{channel: mail, time: weekends}]}",
    ] {
        check(&wall(leaves), &[]);
    }
}

#[test]
fn a_public_account_behind_a_wall_for_strangers_is_told() {
    check(
        "
- {name: public, effect: allow, permissions: {tools: [web_search]}, match: {conditions: [{channel: discord}]}}
- {name: block-unknown, effect: deny, match: {principal: {unknown: true}}, priority: 10}
",
        &["E1012 strangers can never use `public`: `block-unknown` denies all of them"],
    );
    check(
        "
- {name: public, effect: allow, permissions: {tools: [web_search]}, match: {conditions: [{channel: discord}]}}
- {name: block-mail, effect: deny, match: {principal: {unknown: true}, conditions: [{channel: mail}]}}
- {name: off, effect: deny, enabled: false}
",
        &[],
    );
}

#[test]
fn what_can_never_match_is_told() {
    let one = |matching: &str| {
        format!("{{name: x, effect: allow, permissions: {{tools: [bash]}}, match: {matching}}}")
    };
    let nobody = "E1013 `x` can never concern anybody: no sender has all the kinds that `match.principal` asks for";
    let no_entity = "E1013 `x` can never concern anybody: strangers, timers and webhooks have no relationship, tags or person_id";
    let no_time = "E1013 `x` can never concern anybody: its time windows are empty";
    let some_time = "E1013 a condition of `x` can never hold: `08:00-08:00` is empty";
    for (matching, expected) in [
        ("{principal: {is_user: true, unknown: true}}", nobody),
        ("{principal: {webhook: x, agent: y}}", nobody),
        ("{principal: {system: true, is_user: true}}", nobody),
        ("{principal: {unknown: true, relationship: friend}}", no_entity),
        ("{principal: {webhook: '*', tags: [a]}}", no_entity),
        ("{conditions: [{time: '08:00-08:00'}]}", no_time),
        ("{conditions: [{time: '08:00-08:00'}, {channel: mail}]}", some_time),
    ] {
        check(&one(matching), &[expected]);
    }
    check(&one("{principal: {is_user: false, relationship: friend}}"), &[]);
    check(&one("{principal: {agent: '*', tags: [a]}}"), &[]);
}

#[test]
fn a_tool_that_is_not_here_is_told() {
    check(
        "
- name: x
  effect: allow
  permissions: {tools: {allow: [Read, web_serch, 'web_*', 'zzz*', srv/tool], deny: ['*', weather]}}
",
        &[
            "E1014 `x` names the tool `web_serch`, which is not here",
            "E1014 `x` names the tool `zzz*`, which is not here",
            "E1014 `x` names the tool `weather`, which is not here",
        ],
    );
}

#[test]
fn a_policy_that_changes_nothing_is_told() {
    check(
        "
- {name: night, effect: allow, match: {conditions: [{channel: mail}]}, modifiers: {queue_mode: collect}}
- {name: work, effect: allow, match: {conditions: [{channel: slack}]}, permissions: {tools: [bash]}}
",
        &["E1015 `night` only modifies, and no policy allows the senders that it concerns"],
    );
    check(
        "
- {name: night, effect: allow, match: {conditions: [{time: '23:00-08:00'}]}, modifiers: {queue_mode: collect}}
- {name: work, effect: allow, match: {conditions: [{channel: slack}]}, permissions: {tools: [bash]}}
",
        &[],
    );
    check(
        "{name: roof, effect: allow, ceiling: true, permissions: {tools: '*', data: full}}",
        &["E1015 `roof` is a ceiling that bounds nothing"],
    );
    check(
        "
- {name: a, effect: deny, match: {principal: {unknown: true}}}
- {name: b, effect: deny, match: {principal: {unknown: true}, conditions: [{channel: mail}]}}
- {name: c, effect: deny, match: {principal: {unknown: true}}}
",
        &[
            "E1015 `b` denies only what `a` denies already",
            "E1015 `c` denies only what `a` denies already",
        ],
    );
}

#[test]
fn two_ceilings_with_nothing_between_them_are_told() {
    let two = |second: &str| {
        format!(
            "
- {{name: a, effect: allow, ceiling: true, permissions: {{tools: [bash]}}, match: {{conditions: [{{channel: mail}}]}}}}
- {{name: b, effect: allow, ceiling: true, {second}}}
"
        )
    };
    let found = ["E1016 the ceilings `a` and `b` leave no tool between them"];
    check(&two("permissions: {tools: [read_file]}"), &found);
    check(&two("permissions: {tools: [read_file, 'b*']}"), &[]);
    check(&two("permissions: {tools: [read_file]}, match: {conditions: [{channel: slack}]}"), &[]);
}
