//! `agentry hooks`: event hooks made, seen, switched and taken away; nothing of it runs one.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::story::Story;

const URGENT: &str = "
    --- hooks/urgent.sh +x
    #!/bin/sh
    echo '{\"fire\": false}'
    --- hooks/urgent.yml
    name: urgent
    description: Wakes me
    triggers:
      principal: { relationship: family }
      event: { channels: [chat] }
    config: { level: 2 }
    timeout_ms: 1000
    --- hooks/plain.sh +x
    #!/bin/sh
    echo '{\"fire\": true}'
    ";

fn story() -> Story {
    Story::new(URGENT).with("USER", "ada")
}

fn info(story: &Story, hook: &str) -> Value {
    story.json(&format!("hooks info {hook} --json"))
}

#[test]
fn a_hook_is_what_the_file_beside_its_script_says() {
    let story = story();
    assert_eq!(story.out("hooks list"), "no hooks match\n");
    let made = story.out("hooks register hooks/urgent.sh");
    let id = made.split(' ').next().expect("it has an id").to_owned();
    assert!(id.starts_with("hook_") && made.ends_with("  urgent version 1\n"), "{made}");
    let hook = info(&story, "urgent");
    assert_eq!(hook["id"], id.as_str());
    assert_eq!(hook["status"], "active");
    assert_eq!(hook["created_by"], json!({ "person": "ada" }));
    assert_eq!(hook["triggers"]["principal"]["relationship"], "family");
    assert_eq!(hook["config"], json!({ "level": 2 }));
    assert_eq!(hook["program"]["timeout_ms"], 1000);
    assert!(hook["program"]["hash"].as_str().is_some_and(|hash| hash.starts_with("blake3:")));
    let text = story.out(&format!("hooks info {}", &id[..id.len() - 2]));
    for part in ["for: Wakes me", "mode: persistent", "by ada", "version 1: blake3:"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // What was registered is kept; the file may go.
    fs::remove_dir_all(story.path("hooks")).expect("it is there");
    assert_eq!(info(&story, "urgent")["program"], hook["program"]);
    assert!(story.out("ledger verify").starts_with("verified: "));
}

#[test]
fn what_is_said_wins() {
    let story = story();
    story.file("when.json", b"{\"event\": {\"types\": [\"timer_tick\"]}}");
    story.out(
        "hooks register hooks/urgent.sh --name later --mode one-shot --description 'Once more' \
         --hook-config '{\"level\":3}' --trigger when.json",
    );
    let hook = info(&story, "later");
    assert_eq!((&hook["mode"], &hook["description"]), (&json!("one-shot"), &json!("Once more")));
    assert_eq!(hook["config"], json!({ "level": 3 }));
    assert_eq!(hook["triggers"], json!({ "event": { "types": ["timer_tick"] } }));
    // Without a file beside it, it is called as its script.
    story.out("hooks register hooks/plain.sh --trigger hooks/urgent.yml");
    let hook = info(&story, "plain");
    assert_eq!(hook["triggers"]["event"]["channels"], json!(["chat"]));
}

#[test]
fn an_agent_that_works_here_is_the_author() {
    let story = story()
        .with("NEXUS_AGENT_ID", "coder")
        .with("NEXUS_SESSION_ID", "ses_00000000000000000000000001")
        .with("NEXUS_THREAD_ID", "trn_00000000000000000000000001");
    story.out("hooks register hooks/plain.sh");
    let author = info(&story, "plain")["created_by"].clone();
    assert_eq!(author["agent"], "coder");
    assert_eq!(author["session"], "ses_00000000000000000000000001");
    assert_eq!(author["turn"], "trn_00000000000000000000000001");
    assert!(story.out("hooks list --created-by coder").contains("by agent coder"));
    assert_eq!(story.out("hooks list --created-by ada"), "no hooks match\n");
    let wrong = story.with("NEXUS_SESSION_ID", "mine");
    assert_eq!(wrong.ran_in("", "hooks register hooks/urgent.sh").code, Some(2));
}

#[test]
fn versions_follow_each_other_and_switches_hold() {
    let story = story();
    story.out("hooks register hooks/urgent.sh");
    let before = info(&story, "urgent");
    fs::write(story.path("hooks/urgent.sh"), "#!/bin/sh\nexit 0\n").expect("it is there");
    assert!(story.out("hooks update urgent hooks/urgent.sh").ends_with("urgent version 2\n"));
    let after = info(&story, "urgent");
    assert_eq!((&after["version"], &after["id"]), (&json!(2), &before["id"]));
    assert_ne!(after["program"]["hash"], before["program"]["hash"]);
    assert_eq!(after["versions"].as_array().map(Vec::len), Some(2));
    // Another script, which has no file beside it: all else stays.
    story.out("hooks update urgent hooks/plain.sh");
    assert_eq!(info(&story, "urgent")["config"], json!({ "level": 2 }));
    story.out("hooks disable urgent --reason 'too loud'");
    let hook = info(&story, "urgent");
    assert_eq!(
        (&hook["status"], &hook["disabled_reason"]),
        (&json!("disabled"), &json!("too loud"))
    );
    assert!(story.out("hooks list --status disabled").contains("urgent"));
    assert_eq!(story.json("hooks list --status active --json"), json!([]));
    story.out("hooks enable urgent");
    assert_eq!(info(&story, "urgent")["status"], "active");
    story.out("hooks delete urgent");
    assert_eq!(story.json("hooks list --json"), json!([]));
    let gone = story.json("hooks list --all --json");
    assert_eq!(gone[0]["status"], "deleted");
    let id = gone[0]["id"].as_str().expect("it has an id").to_owned();
    for command in ["enable", "disable", "delete"] {
        let ran = story.ran_in("", &format!("hooks {command} {id}"));
        assert_eq!(ran.code, Some(2), "{command}: {}", ran.out);
        assert!(ran.err.contains("was deleted"), "{}", ran.err);
    }
    // The name is free again.
    story.out("hooks register hooks/urgent.sh");
}

#[test]
fn a_hook_that_never_ran_has_nothing_to_show() {
    let story = story();
    story.out("hooks register hooks/urgent.sh");
    assert_eq!(story.out("hooks invocations urgent --since 1h"), "no invocations\n");
    let since =
        "hooks invocations urgent --since 2026-01-01T00:00:00Z --last 3 --errors-only --json";
    assert_eq!(story.json(since), json!([]));
    assert_eq!(story.json("hooks stats urgent --json")["invocations"], 0);
    assert!(story.out("hooks stats urgent").contains("last 0 invocations"));
}

#[test]
fn bad_input_is_refused_with_what_to_do() {
    let story = story();
    story.out("hooks register hooks/urgent.sh");
    story.file("hooks/quiet.sh", b"#!/bin/sh\n");
    story.file("hooks/empty.sh", b"");
    story.file("hooks/big.sh", &vec![b'#'; 1024 * 1024 + 1]);
    for name in ["empty", "big"] {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(story.path(&format!("hooks/{name}.sh")), mode).expect("it is there");
    }
    story.write(
        "
        --- hooks/wrong.sh +x
        #!/bin/sh
        --- hooks/wrong.yml
        name: wrong
        triggers: { sender: me }
        ",
    );
    for (command, why) in [
        ("hooks register hooks/urgent.sh", "there is a hook `urgent` already"),
        ("hooks register hooks/quiet.sh", "is not executable"),
        ("hooks register hooks/empty.sh", "is empty"),
        ("hooks register hooks/big.sh", "is too large"),
        ("hooks register hooks", "is not a regular file"),
        ("hooks register hooks/none.sh", "cannot read hooks/none.sh"),
        ("hooks register hooks/wrong.sh", "hooks/wrong.yml:2:"),
        ("hooks register hooks/plain.sh --name 'A b'", "`name` must have the form"),
        ("hooks register hooks/plain.sh --mode always", "is not one of persistent, one-shot"),
        ("hooks register hooks/plain.sh --hook-config 3", "--hook-config is not a JSON object"),
        ("hooks register hooks/plain.sh --trigger none.yml", "it does not exist"),
        ("hooks register hooks/plain.sh --trigger hooks/plain.sh", "has no valid triggers"),
        ("hooks info nobody", "there is no hook `nobody`"),
        ("hooks update nobody hooks/plain.sh", "there is no hook `nobody`"),
        ("hooks list --status odd", "invalid value 'odd'"),
        ("hooks invocations urgent --since yesterday", "`yesterday` is not a valid time"),
    ] {
        let ran = story.ran_in("", command);
        assert_eq!(ran.code, Some(2), "{command}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(why), "{command}: {}", ran.err);
    }
    assert_eq!(story.json("hooks list --json").as_array().map(Vec::len), Some(1));
}
