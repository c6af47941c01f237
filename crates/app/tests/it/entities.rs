//! `agentry entities`: who is known, and by which identities.

use crate::story::Story;

#[test]
fn somebody_is_made_known_changed_and_forgotten() {
    let story = Story::new("");
    insta::assert_snapshot!(story.run("entities list"), @"
    exit 0
    --- stdout
    no entities; only you are known: the user of this terminal is the owner
    ");
    let add = "entities add --name 'Casey Doe' --relationship friend --tag night --tag night \
               --identity discord:1 --identity email:c@x.example";
    insta::assert_snapshot!(story.run(add), @"
    exit 0
    --- stdout
    casey-doe  Casey Doe  friend  +night  discord:1  email:c@x.example
    ");
    insta::assert_snapshot!(story.run("entities link casey-doe slack:U1 --account work --owned"), @"
    exit 0
    --- stdout
    casey-doe  Casey Doe  friend  +night  discord:1  email:c@x.example  slack:U1
    ");
    insta::assert_snapshot!(story.run("entities unlink 'casey doe' discord:1"), @"
    exit 0
    --- stdout
    casey-doe  Casey Doe  friend  +night  email:c@x.example  slack:U1
    ");
    insta::assert_snapshot!(story.run("entities tag casey-doe +day -night"), @"
    exit 0
    --- stdout
    casey-doe  Casey Doe  friend  +day  email:c@x.example  slack:U1
    ");
    insta::assert_snapshot!(story.run("entities show casey-doe"), @"
    exit 0
    --- stdout
    id            casey-doe
    name          Casey Doe
    type          person
    owner         no
    relationship  friend
    tags          day
    identity      email:c@x.example
    identity      slack:U1, for our account work, owned by us
    ");
    let json = story.json("entities list --json");
    assert_eq!(json[0]["identities"][1]["account_id"], "work");
    assert_eq!(json[0]["identities"][1]["is_owned"], true);
    assert_eq!(json, serde_json::json!([story.json("entities show casey-doe --json")]));
    insta::assert_snapshot!(story.run("entities remove casey-doe"), @"
    exit 0
    --- stdout
    removed casey-doe (Casey Doe)
    ");
    assert_eq!(story.json("entities list --json"), serde_json::json!([]));
}

#[test]
fn an_identity_is_one_entity_only_and_the_other_is_named() {
    let story = Story::new("");
    story.out("entities add --name Casey --identity discord:1");
    story.out("entities add --name Bo");
    insta::assert_snapshot!(story.run("entities link bo discord:1"), @"
    exit 2
    --- stderr
    error: discord:1 is casey already; unlink it there first
    ");
    insta::assert_snapshot!(story.run("entities add --name Eve --identity discord:1"), @"
    exit 2
    --- stderr
    error: discord:1 is casey already; unlink it there first
    ");
    assert_eq!(story.json("entities list --json").as_array().unwrap().len(), 2);
    // When it is free, it can be somebody else's.
    story.out("entities unlink casey discord:1");
    story.out("entities link bo discord:1");
}

#[test]
fn there_is_one_owner_and_one_of_each_id() {
    let story = Story::new("");
    story.out("entities add --name Ada --owner");
    insta::assert_snapshot!(story.run("entities add --name Bob --owner"), @"
    exit 2
    --- stderr
    error: the owner already exists as `ada`
     help: add another identity of yours: agentry entities link ada CHANNEL:ID
    ");
    insta::assert_snapshot!(story.run("entities add --name ada"), @"
    exit 2
    --- stderr
    error: the id `ada` is taken by Ada
     help: choose another id with --id
    ");
    // A second with the same name is told apart by the id.
    story.out("entities add --name ada --id ada-2");
    insta::assert_snapshot!(story.run("entities show ADA"), @"
    exit 2
    --- stderr
    error: several entities are called `ADA`: ada, ada-2
     help: use the id of one of them
    ");
    let json = story.json("access test --principal owner --channel terminal --json");
    assert_eq!(json["principal"]["entity_id"], "ada");
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let story = Story::new("");
    story.out("entities add --name Casey");
    for command in [
        "entities add --name '山田'",
        "entities add --name Bo --id 'b o'",
        "entities add --name Bo --tag 'a b'",
        "entities add --name Bo --identity discord",
        "entities link casey Discord:1",
        "entities tag casey night",
        "entities show nobody",
        "entities unlink casey discord:1",
    ] {
        let ran = story.ran_in("", command);
        assert_eq!(ran.code, Some(2), "{command}: {}{}", ran.out, ran.err);
        assert!(ran.err.starts_with("error: "), "{command}: {}", ran.err);
    }
    assert_eq!(story.json("entities list --json").as_array().unwrap().len(), 1);
}
