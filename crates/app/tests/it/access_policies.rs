//! `agentry access policies`: see policies, and change which hold.

use std::fs;

use crate::past;
use crate::story::Story;

const PEOPLE: &str = "# Who may; kept by hand.\n\
    - name: friends # the nice ones\n\
    \u{20}\u{20}match:\n\
    \u{20}\u{20}\u{20}\u{20}principal: {relationship: friend}\n\
    \u{20}\u{20}effect: allow\n\
    \u{20}\u{20}permissions: { tools: [web_fetch] }\n\
    \u{20}\u{20}session: { key: 'friend:{principal.name}' }\n\
    \n\
    - {name: no-robots, effect: deny, match: {principal: {agent: '*'}}}   # keep\n";

fn story() -> Story {
    let story = Story::new("");
    story.file(".agentry/access/people.yml", PEOPLE.as_bytes());
    story
}

#[test]
fn policies_are_listed_by_name_or_by_rank() {
    let story = story();
    let names = |command: &str| -> Vec<String> {
        let out = story.out(command);
        out.lines().map(|line| line.split_whitespace().nth(3).unwrap().to_owned()).collect()
    };
    let by_name = names("access policies list");
    assert!(by_name.is_sorted() && by_name.len() == 21, "{by_name:?}");
    let by_rank = names("access policies list --priority");
    assert_eq!(by_rank[0], "owner-full-access");
    assert!(!by_rank.is_sorted());
    let out = story.out("access policies list");
    let line = out.lines().find(|line| line.contains(" friends ")).unwrap();
    insta::assert_snapshot!(line, @" 50  on   allows    friends                  .agentry/access/people.yml:2");
    let json = story.json("access policies list --json");
    let off = json.as_array().unwrap().iter().filter(|one| one["enabled"] == false).count();
    assert_eq!(off, 17);
}

#[test]
fn a_policy_is_shown_as_it_stands_and_one_that_ships_can_be_kept() {
    let story = story();
    insta::assert_snapshot!(story.run("access policies show friends"), @"
    exit 0
    --- stdout
    # .agentry/access/people.yml:2, on, priority 50
    - name: friends # the nice ones
      match:
        principal: {relationship: friend}
      effect: allow
      permissions: { tools: [web_fetch] }
      session: { key: 'friend:{principal.name}' }
    ");
    insta::assert_snapshot!(story.run("access policies show frends"), @"
    exit 2
    --- stderr
    error: there is no policy `frends`
     help: did you mean `friends`?
    ");
    let text = story.out("access policies show friends-access");
    story.file(".agentry/access/friends-access.yml", text.as_bytes());
    story.out("access policies enable friends-access");
    let kept = story.read(".agentry/access/friends-access.yml");
    assert_eq!(kept, text.replace("enabled: false", "enabled: true"));
}

#[test]
fn switching_changes_one_word_and_nothing_else() {
    let story = story();
    insta::assert_snapshot!(story.run("access policies disable friends"), @"
    exit 0
    --- stdout
    wrote .agentry/access/people.yml
      `friends` is now off
    ");
    let off = PEOPLE.replace("# the nice ones\n", "# the nice ones\n  enabled: false\n");
    assert_eq!(story.read(".agentry/access/people.yml"), off);
    insta::assert_snapshot!(story.run("access policies disable friends"), @"
    exit 0
    --- stdout
    `friends` is already off, in .agentry/access/people.yml:2:9
    ");
    story.out("access policies enable friends");
    let on = off.replace("enabled: false", "enabled: true");
    assert_eq!(story.read(".agentry/access/people.yml"), on);
    story.out("access policies disable no-robots");
    let both = on.replace("name: no-robots,", "name: no-robots, enabled: false,");
    assert_eq!(story.read(".agentry/access/people.yml"), both);
    assert_eq!(story.tree(".agentry/access"), "people.yml");
}

#[test]
fn a_policy_that_ships_is_not_switched_but_replaced() {
    let story = story();
    insta::assert_snapshot!(story.run("access policies enable friends-access"), @"
    exit 2
    --- stderr
    error: `friends-access` is built in, so no file of yours switches it on
     help: write a copy that replaces it: agentry access policies show friends-access > .agentry/access/friends-access.yml; then switch the copy
    ");
    insta::assert_snapshot!(story.run("access policies enable friend"), @"
    exit 2
    --- stderr
    error: there is no policy `friend`
     help: did you mean `friends`?
    ");
}

#[test]
fn a_policy_of_the_home_is_switched_in_the_home() {
    let story = story();
    fs::create_dir_all(story.home(".agentry/access")).unwrap();
    let file = story.home(".agentry/access/own.yml");
    fs::write(&file, "- name: mine\n  effect: deny\n  match: {principal: {agent: x}}\n").unwrap();
    insta::assert_snapshot!(story.run("access policies disable mine"), @"
    exit 0
    --- stdout
    wrote ~/.agentry/access/own.yml
      `mine` is now off
    ");
    assert!(fs::read_to_string(&file).unwrap().contains("  enabled: false\n"));
}

#[test]
fn a_switch_that_breaks_an_example_changes_nothing() {
    let story = story();
    let text = "- name: mine\n  effect: deny\n  match: {principal: {tags: [x]}}\n  examples:\n    \
                - {principal: {relationship: friend, name: A}, expect: allow}\n";
    story.file(".agentry/access/own.yml", text.as_bytes());
    insta::assert_snapshot!(story.run("access policies disable friends"), @"
    exit 2
    --- stderr
    error: nothing was changed, because the access policies would have errors:
      .agentry/access/own.yml:5:7 E1011 this event is denied: no policy allows it
    ");
    assert_eq!(story.read(".agentry/access/people.yml"), PEOPLE);
}

#[test]
fn a_file_is_applied_when_it_holds_with_all_others() {
    let story = story();
    story.write(
        "--- new/robots.yml\n- name: robots\n  effect: allow\n  match: {principal: {agent: a}}\n",
    );
    insta::assert_snapshot!(story.run("access policies apply new/robots.yml"), @"
    exit 0
    --- stdout
    wrote .agentry/access/robots.yml
      added: robots
    ");
    assert_eq!(story.read(".agentry/access/robots.yml"), story.read("new/robots.yml"));
    // The same file again is no double of itself.
    story.out("access policies apply new/robots.yml");
}

#[test]
fn a_double_names_both_and_a_loss_names_what_is_lost() {
    let story = story();
    story.write("--- new/other.yml\n- name: x\n  effect: deny\n- name: friends\n  effect: deny\n");
    insta::assert_snapshot!(story.run("access policies apply new/other.yml"), @"
    exit 2
    --- stderr
    error: the policy `friends` of new/other.yml:3 already exists in .agentry/access/people.yml:2:9
     help: rename one of the two, or remove the existing one
    ");
    story.write("--- new/people.yml\n- name: friends\n  effect: deny\n");
    insta::assert_snapshot!(story.run("access policies apply new/people.yml"), @"
    exit 2
    --- stderr
    error: .agentry/access/people.yml has policies that new/people.yml lacks: `no-robots`
     help: add them to the file, rename the file, or remove the old file first
    ");
    assert_eq!(story.tree(".agentry/access"), "people.yml");
    assert_eq!(story.read(".agentry/access/people.yml"), PEOPLE);
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line_and_nothing_is_applied() {
    let story = story();
    story.write("--- new/bad.yml\n- name: bad\n  effect: allow\n  session: {key: '{peer_id}'}\n");
    insta::assert_snapshot!(story.run("access policies apply new/bad.yml"), @"
    exit 2
    --- stderr
    error: nothing was changed, because the access policies would have errors:
      new/bad.yml:3:18 E1002 a key that begins with `{peer_id}` could become that of any session
    ");
    insta::assert_snapshot!(story.run("access policies apply new/none.yml"), @"
    exit 2
    --- stderr
    error: cannot read new/none.yml: No such file or directory (os error 2)
     help: name a file of policies
    ");
    insta::assert_snapshot!(story.run("access policies validate new/bad.yml"), @"
    exit 2
    --- stdout
    error[E1002]: a key that begins with `{peer_id}` could become that of any session
     --> new/bad.yml:3:18
      |
    3 |   session: {key: '{peer_id}'}
      |                  ^^^^^^^^^^^
      |
      = help: put a word before it, as in `people:{peer_id}`

    checked 1 file: 1 error; they allow no access until these are fixed
    ");
    insta::assert_snapshot!(story.run("access policies validate new"), @"
    exit 2
    --- stdout
    error[E1002]: a key that begins with `{peer_id}` could become that of any session
     --> new/bad.yml:3:18
      |
    3 |   session: {key: '{peer_id}'}
      |                  ^^^^^^^^^^^
      |
      = help: put a word before it, as in `people:{peer_id}`

    checked 1 file: 1 error; they allow no access until these are fixed
    ");
    story.write("--- good/a.yml\n- name: a\n  effect: deny\n  match: {principal: {agent: x}}\n");
    insta::assert_snapshot!(story.run("access policies validate good"), @"
    exit 0
    --- stdout
    checked 1 policy of yours in 1 file and 19 built-in: no findings
    ");
    story.write("--- empty/a.txt\nhello\n");
    insta::assert_snapshot!(story.run("access policies validate empty"), @"
    exit 2
    --- stderr
    error: there is no policy in empty
     help: name a file that ends in .yml, .yaml or .json, or a directory with such files
    ");
    assert_eq!(story.tree(".agentry/access"), "people.yml");
}

#[test]
fn a_file_that_cannot_be_written_leaves_all_as_it_was() {
    let story = story();
    // A directory in its place: nobody, not even root, puts a file there.
    story.write("--- .agentry/access/a.yml/kept.txt\nhello\n");
    story.write("--- new/a.yml\n- {name: a, effect: deny, match: {principal: {agent: x}}}\n");
    let ran = story.ran_in("", "access policies apply new/a.yml");
    assert_eq!(ran.code, Some(1), "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("cannot write .agentry/access/a.yml"), "{}", ran.err);
    assert_eq!(story.tree(".agentry/access"), "a.yml/kept.txt\npeople.yml");
}

#[test]
fn a_change_says_what_it_would_have_decided_otherwise_lately() {
    let story = story();
    let then = past::policies(PEOPLE);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let ledger = past::ledger(&story, u64::try_from(now.as_millis()).unwrap());
    let casey = past::person("Casey", "friend");
    for id in ["1", "2"] {
        let inbound = past::message("discord", id, "casey#1");
        past::happened(&ledger, &then, &casey, inbound, past::at("12:00"));
    }
    drop(ledger);
    insta::assert_snapshot!(story.run("access policies disable friends"), @"
    exit 0
    --- stdout
    wrote .agentry/access/people.yml
      `friends` is now off
    re-evaluated decisions of the last 7 days:
    changed         2 x  known Casey on discord: allow -> deny: no policy allows it  (first discord:1)
    2 decisions, 2 would differ
    ");
}
