//! `agentry access test` and `check`: what would be decided, and what is wrong with the policies.

use agentry_protocol::GrantId;
use agentry_protocol::access::{Grant, GrantConditions, PrincipalQuery};
use agentry_protocol::intake::AccessChange;

use crate::past;
use crate::story::Story;

const FRIENDS: &str = r#"
    --- .agentry/access/people.yml
    # Who may.
    - name: friends
      match:
        principal: { relationship: friend }
      effect: allow
      permissions:
        tools: [web_fetch, read_*]
        credentials: [weather]
        data: minimal
      session: { key: "friend:{principal.name}", persona: casual }
      priority: 60
      examples:
        - { principal: { relationship: friend, name: Casey }, expect: allow, tools: [web_fetch] }
    - name: nights
      match:
        principal: { is_user: false }
        conditions: [{ time: "23:00-08:00" }]
      effect: allow
      modifiers: { queue_mode: collect, delay_response: true }
      priority: 95
    "#;

fn first_lines(text: &str, count: usize) -> String {
    text.lines().take(count).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_trial_says_what_is_decided_by_whom_and_each_policys_part() {
    let story = Story::new(FRIENDS).with("AGENTRY_TIMEZONE", "Europe/Berlin");
    let ran = story.run(
        "access test --principal relationship:friend,name:Casey --channel discord --peer-kind dm \
         --peer 7 --at 2026-11-16T22:30:00Z",
    );
    insta::assert_snapshot!(first_lines(&ran, 31), @"
    exit 0
    --- stdout
    who       known, Casey, relationship friend
    event     discord, dm, peer 7, at mon 23:30 (Europe/Berlin)
    decision  allow: allowed by `friends`

    tools        bash         no   no policy and no grant allows it
                 create_hook  no   no policy and no grant allows it
                 delete_hook  no   no policy and no grant allows it
                 disable_hook no   no policy and no grant allows it
                 edit_file    no   no policy and no grant allows it
                 get_hook     no   no policy and no grant allows it
                 glob         no   no policy and no grant allows it
                 grep         no   no policy and no grant allows it
                 list_hooks   no   no policy and no grant allows it
                 load_skill   no   no policy and no grant allows it
                 read_file    yes  allowed by policy friends (read_*)
                 web_fetch    yes  allowed by policy friends (web_fetch)
                 write_file   no   no policy and no grant allows it
    credentials  weather (policy friends)
    data         minimal (policy friends)
    session      friend:casey (policy friends)
    persona      casual (policy friends)
    queue_mode   collect (policy nights)
    delayed      true (policy nights)

    policies, by priority
      100  owner-full-access        not matched: is_user
       99  block-person             disabled
       95  nights                   modified
       95  quiet-hours              disabled
    ");
    let json = story.json(
        "access test --principal relationship:friend,name:Casey --channel discord --at 12:00 --json",
    );
    assert_eq!(json["effect"], "allow");
    assert_eq!(json["decision"]["session"]["key"], "friend:casey");
    assert_eq!(json["event"]["timezone"], "Europe/Berlin");
    assert_eq!(json["policies"][1]["policy"], "block-person");
    let tools = json["tools"].as_array().expect("there are tools");
    let bash = tools.iter().find(|tool| tool["name"] == "bash").expect("there is bash");
    assert_eq!(bash["allowed"], false);
}

#[test]
fn whoever_no_policy_allows_is_denied_and_the_exit_says_so() {
    let story = Story::new(FRIENDS);
    let ran = story
        .run("access test --principal unknown --channel discord --at 'mon 12:00' -c timezone=UTC");
    insta::assert_snapshot!(first_lines(&ran, 9), @"
    exit 3
    --- stdout
    who       unknown
    event     discord, at mon 12:00 (UTC)
    decision  deny: no policy allows it

    policies, by priority
      100  owner-full-access        not matched: is_user
       99  block-person             disabled
    ");
    for who in ["system", "webhook:stripe", "agent:builder", "tag:x"] {
        let json = story.json(&format!("access test --principal {who} --channel x --json"));
        assert_eq!(json["effect"], "deny", "{who}");
    }
    let ran = story.ran_in("", "access test --principal owner --channel terminal");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn what_is_no_time_no_zone_and_nobody_is_said() {
    let story = Story::new(FRIENDS);
    insta::assert_snapshot!(story.run("access test --principal owner --channel x --at noon"), @"
    exit 2
    --- stderr
    error: --at: `noon` is not a valid time
     help: write 23:30, sat 23:30, 2026-11-16T23:30 or 2026-11-16T23:30:00Z
    ");
    insta::assert_snapshot!(
        story.run("access test --principal owner --channel x -c timezone=Europe/Berln"), @"
    exit 2
    --- stderr
    error: flag -c timezone=Europe/Berln: this machine has no time zone `Europe/Berln`
     help: write a name such as Europe/Berlin; the system's zones must be installed
    "
    );
    insta::assert_snapshot!(story.run("access test --principal casey --channel x"), @"
    exit 2
    --- stderr
    error: there is no entity `casey`
     help: known here: owner, system, unknown (or describe an invented person: relationship:friend)
    ");
    insta::assert_snapshot!(story.run("access test --principal owner,tag:x --channel x"), @"
    exit 2
    --- stderr
    error: `owner` cannot be combined with other words
     help: an invented person is relationship:x, tag:x, name:x and id:x; all others are one word
    ");
}

#[test]
fn somebody_who_is_known_and_a_grant_count_in_a_trial() {
    let story = Story::new(FRIENDS);
    story.out("entities add --name Casey --relationship friend --tag night");
    let trial = "access test --principal Casey --channel discord --at 12:00 --json";
    let before = story.json(trial);
    assert_eq!(before["principal"]["entity_id"], "casey");
    assert_eq!(before["principal"]["tags"][0], "night");
    let bash = |json: &serde_json::Value| {
        let tools = json["tools"].as_array().expect("there are tools").clone();
        tools.into_iter().find(|tool| tool["name"] == "bash").expect("there is bash")
    };
    assert_eq!(bash(&before)["allowed"], false);
    let grant = Grant {
        id: GrantId::from_number(7),
        principal_query: PrincipalQuery {
            person_id: Some("casey".to_owned()),
            ..PrincipalQuery::default()
        },
        resources: vec!["bash".parse().unwrap()],
        created_at: 1,
        expires_at: None,
        revoked_at: None,
        granted_by: "owner".to_owned(),
        reason: None,
        request_context: None,
        conditions: GrantConditions::default(),
    };
    let ledger = past::ledger(&story, past::NOON);
    past::changed(&ledger, AccessChange::GrantGiven { grant: Box::new(grant) });
    drop(ledger);
    let after = story.json(trial);
    assert_eq!(bash(&after)["allowed"], true);
    assert!(bash(&after)["why"].as_str().unwrap().contains("grant grt_"), "{after:#}");
}

#[test]
fn a_trial_makes_no_ledger_where_there_is_none() {
    let story = Story::new(FRIENDS);
    story.out("access test --principal owner --channel terminal");
    assert!(!story.home(".local/state").exists());
}

#[test]
fn what_is_right_is_said_and_what_ships_is_right() {
    insta::assert_snapshot!(Story::new(FRIENDS).run("access check"), @"
    exit 0
    --- stdout
    note[E1006]: `nights` only modifies, so it admits no sender
      --> .agentry/access/people.yml:19:14
       |
    19 |   modifiers: { queue_mode: collect, delay_response: true }
       |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: others must allow; add `permissions` if this policy should too

    checked 2 policies of yours in 1 file and 19 built-in: 1 note
    ");
    insta::assert_snapshot!(Story::new("").run("access check"), @"
    exit 0
    --- stdout
    checked 0 policies of yours in 0 files and 19 built-in: no findings
    ");
}

#[test]
fn findings_have_a_place_a_code_and_help_and_check_has_them_too() {
    let story = Story::new(
        r#"
        --- .agentry/access/people.yml
        - name: friends
          match:
            principal: { relationship: friend }
          effect: allow
          permissions: { tools: [web_fech] }
        - name: nobody
          match:
            principal: { unknown: true, relationship: friend }
          effect: allow
        - name: no-friends
          match:
            principal: { relationship: friend }
          effect: deny
        "#,
    );
    insta::assert_snapshot!(story.run("access check"), @"
    exit 0
    --- stdout
    warning[E1012]: `friends` admits no sender: `no-friends` denies all of them
     --> .agentry/access/people.yml:1:9
      |
    1 | - name: friends
      |         ^^^^^^^
      |
      = help: narrow the one that denies; a denial wins whatever its priority

    warning[E1014]: `friends` names the tool `web_fech`, which is not here
     --> .agentry/access/people.yml:1:9
      |
    1 | - name: friends
      |         ^^^^^^^
      |
      = help: did you mean `web_fetch`?

    warning[E1013]: `nobody` can never concern anybody: strangers, timers and webhooks have no relationship, tags or person_id
     --> .agentry/access/people.yml:6:9
      |
    6 | - name: nobody
      |         ^^^^^^
      |
      = help: remove `unknown`, `system` or `webhook`, or what is asked beside it

    checked 3 policies of yours in 1 file and 19 built-in: 3 warnings
    ");
    let lines = story.findings("check");
    for code in ["E1012", "E1013", "E1014"] {
        assert!(lines.contains(code), "{code} is missing:\n{lines}");
    }
    assert!(lines.contains("E1014 .agentry/access/people.yml:1:9 warning"), "{lines}");
}

#[test]
fn an_example_that_comes_out_otherwise_refuses_all_policies() {
    let story = Story::new(
        r#"
        --- .agentry/access/people.yml
        - name: friends
          match:
            principal: { relationship: friend }
          effect: allow
          permissions: { tools: [web_fetch] }
          examples:
            - { principal: unknown, expect: allow }
        "#,
    );
    insta::assert_snapshot!(story.run("access check"), @"
    exit 2
    --- stdout
    error[E1011]: this event is denied: no policy allows it
     --> .agentry/access/people.yml:7:7
      |
    7 |     - { principal: unknown, expect: allow }
      |       ^^^^^^^^^^^^^^^^^^^^
      |
      = help: change the policies or the example; `agentry access test` shows each policy's part

    checked 1 policy of yours in 1 file and 19 built-in: 1 error; they allow no access until these are fixed
    ");
    insta::assert_snapshot!(story.run("access test --principal owner --channel terminal"), @"
    exit 2
    --- stderr
    error: the access policies have errors, so they allow no access:
      .agentry/access/people.yml:7:7 E1011 this event is denied: no policy allows it
     help: `agentry access check` shows them with excerpts
    ");
    let ran = story.ran_in("", "check");
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.out.contains("E1011"), "{}", ran.out);
}

#[test]
fn a_policy_that_cannot_be_read_refuses_all_policies() {
    let story = Story::new(FRIENDS);
    story.write("--- .agentry/access/broken.yml\n- name: more\n  effect: maybe\n");
    insta::assert_snapshot!(story.run("access check"), @"
    exit 2
    --- stdout
    error[E0304]: `effect` has a value that is not allowed
     --> .agentry/access/broken.yml:2:11
      |
    2 |   effect: maybe
      |           ^^^^^
      |
      = help: write `allow` or `deny`

    note[E1006]: `nights` only modifies, so it admits no sender
      --> .agentry/access/people.yml:19:14
       |
    19 |   modifiers: { queue_mode: collect, delay_response: true }
       |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: others must allow; add `permissions` if this policy should too

    checked 2 files: 1 error, 1 note; they allow no access until these are fixed
    ");
    insta::assert_snapshot!(story.run("access policies list"), @"
    exit 2
    --- stderr
    error: the access policies have errors, so they allow no access:
      .agentry/access/broken.yml:2:11 E0304 `effect` has a value that is not allowed
     help: `agentry access check` shows them with excerpts
    ");
    // What is wrong in the home counts as much as what is wrong in the project.
    let story = Story::new(FRIENDS);
    std::fs::create_dir_all(story.home(".agentry/access")).unwrap();
    std::fs::write(story.home(".agentry/access/own.yml"), "- name: more\n  effect: maybe\n")
        .unwrap();
    let ran = story.ran_in("", "access check");
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("~/.agentry/access/own.yml:2:11"), "{}", ran.out);
}
