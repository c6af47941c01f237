//! Wiggum mode: work, check, repeat, until it is done or the iterations are used up.

use crate::record::{all_is_recorded, entries, latest, line, script, story};
use crate::story::{Story, events};

fn ran(story: &Story, more: &str) -> String {
    let command = format!("run --json --mode wiggum {more} --model scripted:s.jsonl work");
    let ran = story.ran_in("", &command);
    format!("exit {:?}\n{}", ran.code, events(&ran.out))
}

#[test]
fn it_repeats_until_the_model_says_done() {
    let story = story();
    script(
        &story,
        "s.jsonl",
        &[
            line("", &["ls nowhere"]),
            line(r#"{"done": false}"#, &[]),
            line("", &["touch made"]),
            line("Not JSON, so not done.", &[]),
            line("", &["touch more"]),
            line(r#"{"done": "true"}"#, &[]),
            line("Nothing left to do.", &[]),
            line("So: {\"done\": true}", &[]),
        ],
    );
    insta::assert_snapshot!(ran(&story, ""), @r#"
    exit Some(0)
    init agent="builder" mode="wiggum" confinement="ns"
    iteration count=1
    tool_use toolName="bash" input={"command":"ls nowhere"}
    tool_result status="failed" output="ls: cannot access 'nowhere': No such file or directory\n[exit code 2, … s]" outcome="failed" exitCode=2
    text content="{\"done\": false}"
    iteration count=2
    tool_use toolName="bash" input={"command":"touch made"}
    tool_result status="completed" output="[no output]" outcome="done" exitCode=0
    text content="Not JSON, so not done."
    iteration count=3
    tool_use toolName="bash" input={"command":"touch more"}
    tool_result status="completed" output="[no output]" outcome="done" exitCode=0
    text content="{\"done\": \"true\"}"
    text content="Nothing left to do."
    iteration count=4
    text content="So: {\"done\": true}"
    done stopReason="end_turn" result="Nothing left to do." iterations=4
    "#);
    // Nobody was asked, and what failed is part of the talk.
    assert!(story.path("made").exists());
    let ended = entries(&story, "session", &latest(&story));
    let ended = ended.iter().find(|one| one["event"]["type"] == "turn_ended").expect("it ended");
    let said = ended["event"]["messages"].to_string();
    assert!(said.contains("cannot access 'nowhere'"), "{said}");
    all_is_recorded(&story);
}

#[test]
fn a_check_command_decides_instead_of_the_model() {
    let story = story();
    script(
        &story,
        "s.jsonl",
        &[
            line(r#"I say {"done": true}"#, &[]),
            line("", &["touch made"]),
            line("Never asked.", &[]),
        ],
    );
    insta::assert_snapshot!(ran(&story, "--check 'echo looking; test -f made'"), @r#"
    exit Some(0)
    init agent="builder" mode="wiggum" confinement="ns"
    text content="I say {\"done\": true}"
    iteration count=1
    iteration count=2
    tool_use toolName="bash" input={"command":"touch made"}
    tool_result status="completed" output="[no output]" outcome="done" exitCode=0
    done stopReason="end_turn" result="I say {\"done\": true}" iterations=2
    "#);
    let shown = story.run(&format!("show {}", latest(&story)));
    let checks: Vec<&str> = shown.lines().filter(|line| line.contains("check")).collect();
    assert_eq!(checks.len(), 4, "{shown}");
    all_is_recorded(&story);
}

#[test]
fn what_a_failed_check_said_is_told_to_the_model() {
    let story = story();
    script(&story, "s.jsonl", &[line("Done?", &[]), line("", &["touch made"])]);
    ran(&story, "--check 'echo the roof is missing; test -f made'");
    let all = entries(&story, "session", &latest(&story));
    let ended = all.iter().find(|one| one["event"]["type"] == "turn_ended").expect("it ended");
    let said = ended["event"]["messages"].to_string();
    assert!(
        said.contains("The check did not pass") && said.contains("the roof is missing"),
        "{said}"
    );
    all_is_recorded(&story);
}

#[test]
fn the_iteration_limit_has_its_own_code_and_exit_5() {
    let story = story();
    let no = line(r#"{"done": false}"#, &[]);
    script(
        &story,
        "s.jsonl",
        &[
            line("", &["echo 1"]),
            no.clone(),
            line("", &["echo 2"]),
            no.clone(),
            line("", &["echo 3"]),
            no,
        ],
    );
    insta::assert_snapshot!(ran(&story, "--max-iterations 2"), @r#"
    exit Some(5)
    init agent="builder" mode="wiggum" confinement="ns"
    iteration count=1
    tool_use toolName="bash" input={"command":"echo 1"}
    tool_result status="completed" output="1\n" outcome="done" exitCode=0
    text content="{\"done\": false}"
    iteration count=2
    tool_use toolName="bash" input={"command":"echo 2"}
    tool_result status="completed" output="2\n" outcome="done" exitCode=0
    text content="{\"done\": false}"
    error code="max_iterations" message="stopped at a limit: the iteration limit" recoverable=true
    done stopReason="error" iterations=2
    "#);
    all_is_recorded(&story);
}

#[test]
fn the_guard_stays_on() {
    let story = story();
    script(
        &story,
        "s.jsonl",
        &[
            line("", &["rm -rf /"]),
            line(r#"{"done": false}"#, &[]),
            line("", &["echo fine"]),
            line(r#"{"done": true}"#, &[]),
        ],
    );
    insta::assert_snapshot!(ran(&story, ""), @r#"
    exit Some(0)
    init agent="builder" mode="wiggum" confinement="ns"
    iteration count=1
    tool_use toolName="bash" input={"command":"rm -rf /"}
    tool_result status="failed" output="Refused as dangerous, in every mode: it reaches everything on the machine" outcome="refused"
    text content="{\"done\": false}"
    iteration count=2
    tool_use toolName="bash" input={"command":"echo fine"}
    tool_result status="completed" output="fine\n" outcome="done" exitCode=0
    text content="{\"done\": true}"
    done stopReason="end_turn" iterations=2
    "#);
    all_is_recorded(&story);
}
