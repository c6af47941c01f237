//! `kill -9` while a program of an agent is under way: it is not run again, and nothing stays locked.

use serde_json::{Value, json};

use crate::hooks::AGENT;
use crate::record::{all_is_recorded, entries, latest, script};
use crate::story::Story;

/// An agent with a tool and a hook that note that they ran and then wait at a gate.
fn story(hooks: &str) -> Story {
    let story = Story::new(AGENT);
    story.write(&format!(
        "
        --- agent.yml
        name: helper
        tools:
          allow: [bash, glob]
          custom: [slow]
        {hooks}
        --- tools/slow.yml
        name: slow
        description: Takes its time
        parameters: {{type: object}}
        --- tools/slow +x
        #!/bin/sh
        echo ran >> ran.txt
        cat gate
        echo '{{\"done\": true}}' > \"$CYBROS_TOOL_OUTPUT\"
        --- hooks/before_inference +x
        #!/bin/sh
        echo ran >> ran.txt
        cat gate
        echo '{{\"system_prompt_append\": \"Never said.\"}}' > \"$CYBROS_HOOK_OUTPUT\"
        --- hooks/PreToolUse +x
        #!/bin/sh
        echo ran >> ran.txt
        cat gate
        "
    ));
    let agent = story
        .read("AGENT.md")
        .replace("    - {tool: Glob", "    - {tool: slow, allow: true}\n    - {tool: Glob");
    story.file("AGENT.md", agent.as_bytes());
    let call = json!({"text": "", "tool_calls": [{"name": "slow", "input": {}}]}).to_string();
    script(&story, "s.jsonl", &[call, r#"{"text":"Over."}"#.to_owned()]);
    story.gate("gate");
    story.out("trust --yes");
    story
}

/// Kills a run while a program of it waits at the gate, and takes it up again.
fn killed(story: &Story) -> crate::story::Ran {
    let run = story.talk("run --model scripted:s.jsonl go");
    // Whoever opens a pipe for writing waits until somebody reads it.
    let gate = std::fs::OpenOptions::new().write(true).open(story.path("gate"));
    run.kill();
    drop(gate);
    story.ran_in("", &format!("resume {}", latest(story)))
}

fn jobs(story: &Story) -> Vec<Value> {
    let runs = story.json("show --format json");
    let session = runs[0]["session_id"].as_str().expect("it has a session");
    let entries = entries(story, "session", session);
    entries.into_iter().filter(|one| one["event"]["type"] == "job").collect()
}

fn ended(story: &Story) -> Vec<String> {
    let ended = jobs(story).into_iter().filter(|one| one["event"]["change"] == "ended");
    ended.map(|one| one["event"]["state"].as_str().expect("a state").to_owned()).collect()
}

#[test]
fn a_tool_that_was_under_way_is_uncertain_and_its_workspace_is_free_again() {
    let story = story("");
    let resumed = killed(&story);
    assert_eq!((resumed.code, resumed.out.as_str()), (Some(0), "Over.\n"), "{}", resumed.err);
    assert_eq!(story.read("ran.txt"), "ran\n");
    assert_eq!(ended(&story), ["uncertain"]);
    let shown = story.out(&format!("show run {}", latest(&story)));
    assert!(shown.contains("uncertain: the process stopped while it was under way"), "{shown}");
    // The next one gets the workspace at once.
    let run = story.talk("run --model scripted:s.jsonl go");
    story.open_gate("gate", "");
    let ran = run.end();
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Over.\n"), "{}", ran.err);
    assert_eq!(story.read("ran.txt"), "ran\nran\n");
    all_is_recorded(&story);
}

#[test]
fn a_hook_before_a_turn_that_was_under_way_is_not_run_again() {
    let story = story("hooks:\n          before_inference: true");
    let run = story.talk("run --model scripted:s.jsonl go");
    let gate = std::fs::OpenOptions::new().write(true).open(story.path("gate"));
    run.kill();
    drop(gate);
    let resumed = story.talk(&format!("resume {}", latest(&story)));
    // The tool of the turn waits there, too.
    story.open_gate("gate", "");
    let resumed = resumed.end();
    assert_eq!((resumed.code, resumed.out.as_str()), (Some(0), "Over.\n"), "{}", resumed.err);
    // Once the hook, once the tool.
    assert_eq!(story.read("ran.txt"), "ran\nran\n");
    assert_eq!(ended(&story), ["uncertain", "succeeded"]);
    let shown = story.out(&format!("show run {}", latest(&story)));
    assert!(shown.contains("failed, so the static config is used: the process stopped"), "{shown}");
    all_is_recorded(&story);
}

#[test]
fn a_gate_that_was_under_way_means_no() {
    let story = story("hooks:\n          PreToolUse: true");
    let resumed = killed(&story);
    assert_eq!(resumed.code, Some(3), "{}", resumed.err);
    assert_eq!(story.read("ran.txt"), "ran\n");
    assert_eq!(ended(&story), ["uncertain"]);
    all_is_recorded(&story);
}

#[test]
fn a_hook_that_hangs_ends_when_the_run_is_interrupted() {
    let story = story("hooks:\n          before_inference: true");
    let run = story.talk("run --model scripted:s.jsonl go");
    let gate = std::fs::OpenOptions::new().write(true).open(story.path("gate"));
    run.interrupt();
    let ran = run.end();
    drop(gate);
    assert_eq!(ran.code, Some(7), "{}", ran.err);
    assert_eq!(ended(&story), ["cancelled"]);
}
