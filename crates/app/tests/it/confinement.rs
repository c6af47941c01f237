//! What is asked of the sandbox, and what goes with a sandbox that is off.

use crate::record::{entries, latest, line, script, story, waiting};
use crate::story::Story;

const OFF: &str = "-c sandbox.enabled=false";

#[test]
fn without_a_sandbox_there_is_no_wiggum_mode() {
    let story = story();
    script(&story, "s.jsonl", &[line("Done.", &[])]);
    let command = format!("{OFF} run --mode wiggum --model scripted:s.jsonl work");
    insta::assert_snapshot!(story.run(&command), @"
    exit 2
    --- stderr
    error: wiggum mode needs the sandbox, which is off: calls would run without approval and without confinement
     help: remove `sandbox.enabled = false` from your settings, or use --mode structured
    ");
    // A project cannot switch it off, so there it has no effect.
    story.file("agentry.toml", b"[sandbox]\nenabled = false\n");
    script(&story, "s.jsonl", &[line("Done.", &[]), line(r#"{"done": true}"#, &[])]);
    story.out("run --mode wiggum --model scripted:s.jsonl work");
}

#[test]
fn without_a_sandbox_a_person_is_asked_about_what_a_rule_allows() {
    let story = story();
    script(&story, "s.jsonl", &[line("", &["echo x"]), line("Done.", &[])]);
    let inside = story.ran_in("", "run --model scripted:s.jsonl work");
    assert_eq!(inside.code, Some(0), "{}", inside.err);
    let paused = story.ran_in("", &format!("{OFF} run --model scripted:s.jsonl work"));
    assert_eq!(paused.code, Some(4), "{}", paused.err);
    let asked = waiting(&story);
    assert_eq!(asked.len(), 1);
    let run = latest(&story);
    let all = entries(&story, "session", &run);
    let question = all.iter().rev().find(|one| one["event"]["type"] == "approval_asked");
    let findings = &question.expect("a person is asked")["event"]["ruling"]["findings"];
    assert!(findings.to_string().contains("the sandbox is off"), "{findings}");
    // The answer is for this call and is stamped with what it ran under.
    story.out(&format!("{OFF} answer {} yes", asked[0]));
    let ended = story.ran_in("", &format!("{OFF} resume {run}"));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let all = entries(&story, "session", &run);
    let started: Vec<&str> = all
        .iter()
        .filter(|one| one["event"]["type"] == "call_started")
        .filter_map(|one| one["event"]["under"]["level"].as_str())
        .collect();
    assert_eq!(started.last(), Some(&"off"));
}

#[test]
fn a_turn_that_began_inside_does_not_go_on_outside() {
    let story = story();
    script(&story, "s.jsonl", &[line("", &["touch x"]), line("Done.", &[])]);
    let paused = story.ran_in("", "run --model scripted:s.jsonl work");
    assert_eq!(paused.code, Some(4), "{}", paused.err);
    let run = latest(&story);
    let refused = story.ran_in("", &format!("{OFF} resume {run}"));
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("began under `ns`"), "{}", refused.err);
    story.out(&format!("answer {} yes", waiting(&story)[0]));
    assert_eq!(story.ran_in("", &format!("resume {run}")).code, Some(0));
}

#[test]
fn the_time_of_the_confinement_holds_for_a_command() {
    let story = story();
    script(&story, "s.jsonl", &[line("", &["sleep 10"]), line("Done.", &[])]);
    let command = "-c sandbox.limits.timeout=300 run --model scripted:s.jsonl work";
    let ran = story.ran_in("", command);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let all = entries(&story, "session", &latest(&story));
    let ended = all.iter().find(|one| one["event"]["type"] == "call_finished");
    let outcome = &ended.expect("the command has ended")["event"]["outcome"];
    assert!(outcome.to_string().contains("timed out after"), "{outcome}");
}

#[test]
fn explaining_says_that_the_sandbox_is_off() {
    let story = Story::new(
        "
        --- .agentry/agents/a/AGENT.md
        ---
        name: A
        tools: [Read]
        tool_approvals: {rules: [{tool: Read, allow: true}]}
        ---
        Read.
        ",
    );
    let explain = "policy explain --tool Read --args '{\"path\": \"x\"}'";
    assert!(story.run(explain).starts_with("exit 0\n"));
    let text = story.run(&format!("{OFF} {explain}"));
    assert!(text.starts_with("exit 4\n"), "{text}");
    let line = "sandbox      ask    the sandbox is off, so each call needs approval";
    assert!(text.contains(line), "{text}");
    assert!(text.ends_with("verdict: ask, by the stage sandbox\n"), "{text}");
}

#[test]
fn an_agent_shows_what_it_asks_for_and_where() {
    let story = Story::new(
        "
        --- agent.yml
        name: Builder
        security:
          allowWrite: [src]
        limits: {pids: 16}
        --- AGENT.md
        Build.
        ",
    );
    let out = story.out("show agent");
    let asks: Vec<&str> = out.lines().filter(|line| line.starts_with("  asks")).collect();
    assert_eq!(
        asks,
        [
            "  asks limits.pids     16  agent.yml:4:16",
            "  asks security.allowWrite [\"src\"]  agent.yml:3:15",
        ]
    );
    let json = story.json("show agent --format json");
    let asked = &json["powers"]["confinement"][0]["security.allowWrite"];
    assert_eq!(asked["origin"], "agent.yml:3:15");
}

#[test]
fn a_home_is_not_worked_in_as_a_whole() {
    let story = story();
    script(&story, "s.jsonl", &[line("Done.", &[])]);
    let home = story.home("").display().to_string();
    let refused =
        story.ran_in("", &format!("run --model scripted:s.jsonl --workspace {home} work"));
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(refused.err.contains("may not be writable as a whole"), "{}", refused.err);
}
