//! Tasks: steps one after the other, each with its own tools, rules and agent; and skills.

use crate::record::{all_is_recorded, entries, latest, line, script};
use crate::story::{Story, ids};

const RELEASE: &str = "
    --- .agentry/agents/builder/AGENT.md
    ---
    name: Builder
    tools: [Read, Write, Bash]
    tool_approvals: {rules: [{tool: Bash, allow: true}]}
    ---
    You build.
    --- .agentry/agents/tester/AGENT.md
    ---
    name: Tester
    tools: [Read, Write, Bash]
    tool_approvals: {rules: [{tool: Bash, allow: true}]}
    ---
    You test.
    --- .agentry/tasks/release/TASK.md
    ---
    name: Release
    agent: builder
    next: test.md
    inputs:
      - {name: version, description: Which one.}
      - {name: channel, description: Where to., default: stable}
    ---
    Release {{input.version}} to {{ input.channel }}.
    --- .agentry/tasks/release/test.md
    ---
    name: Test
    agent: tester
    next: tell.md
    tools: [Read]
    ---
    Test it.
    --- .agentry/tasks/release/tell.md
    ---
    name: Tell
    tool_approvals: {rules: [{tool: Bash, allow: false}]}
    ---
    Tell people about {{input.version}}.
    ";

fn release() -> Story {
    Story::new(RELEASE).with("SHELL_TOOL_MODE", "full")
}

#[test]
fn a_task_runs_step_by_step_with_the_scope_and_agent_of_each() {
    let story = release();
    script(
        &story,
        "s.jsonl",
        &[
            line("", &["echo build"]),
            line("Built.", &[]),
            line("", &["echo not a tool of this step"]),
            line("Tested.", &[]),
        ],
    );
    let command = "run release --input version=1.2 --model scripted:s.jsonl";
    // The only call of the second step is denied, so it fails and the third is skipped.
    insta::assert_snapshot!(ids(&story.run(command)), @"
    exit 3
    --- stdout
    Built.
    Tested.
    --- stderr
    run_1: builder with scripted:[tmp]/work/s.jsonl, structured
    ● bash echo build
      ✓ bash: build
    ● bash echo not a tool of this step
      ✗ bash: Refused: the step test.md of the task `release` works with [read_file] only
    error: every call was denied
    ");
    let record = story.json(&format!("show run {} --format json", latest(&story)));
    let steps: Vec<String> = record["steps"]
        .as_array()
        .expect("there are steps")
        .iter()
        .map(|step| {
            let calls = step["tool_calls"].as_array().map_or(0, Vec::len);
            let agent = &step["agent"]["id"];
            format!("{} {} {agent} {} {calls} calls", step["step_id"], step["uses"], step["status"])
        })
        .collect();
    insta::assert_snapshot!(steps.join("\n"), @r#"
    "s1" "step:TASK.md" "builder" "succeeded" 1 calls
    "s2" "step:test.md" "tester" "failed" 1 calls
    "s3" "step:tell.md" "tester" "skipped" 0 calls
    "#);
    assert_eq!(record["task"]["id"], "release");
    assert_eq!(record["status"], "failed");
    assert_eq!(record["inputs"]["channel"], "stable");
    insta::assert_snapshot!(
        record["files"].as_object().expect("files").keys().cloned().collect::<Vec<_>>().join("\n"),
        @"
    .agentry/agents/builder
    .agentry/agents/tester
    .agentry/tasks/release/TASK.md
    "
    );
    all_is_recorded(&story);
}

#[test]
fn a_step_asks_by_its_own_rules_and_the_run_goes_on_after_the_answer() {
    let story = release();
    script(
        &story,
        "s.jsonl",
        &[line("Built.", &[]), line("Tested.", &[]), line("", &["echo tell"]), line("Told.", &[])],
    );
    let command = "run release --input version=1.2 --input channel=beta --model scripted:s.jsonl";
    assert_eq!(story.ran_in("", command).code, Some(4));
    story.out(&format!("answer {} yes", crate::record::waiting(&story)[0]));
    insta::assert_snapshot!(ids(&story.run("resume --last")), @"
    exit 0
    --- stdout
    Told.
    --- stderr
    run_1: resumed
      ✓ bash: tell
    ");
    let session = entries(&story, "session", &latest(&story));
    let prompts: Vec<String> = session
        .iter()
        .filter(|one| one["event"]["type"] == "turn_started")
        .map(|one| one["event"]["prompt"].as_str().unwrap_or_default().to_owned())
        .collect();
    insta::assert_snapshot!(prompts.join("\n=====\n"), @r#"
    Release 1.2 to beta.

    Inputs:
    ```json
    {
      "channel": "beta",
      "version": "1.2"
    }
    ```
    =====
    Test it.

    Inputs:
    ```json
    {
      "channel": "beta",
      "version": "1.2"
    }
    ```
    =====
    Tell people about 1.2.

    Inputs:
    ```json
    {
      "channel": "beta",
      "version": "1.2"
    }
    ```
    "#);
    all_is_recorded(&story);
}

#[test]
fn inputs_that_are_missing_or_unknown_are_named() {
    let story = release();
    script(&story, "s.jsonl", &[line("Built.", &[])]);
    let all: Vec<String> =
        ["", "--input version=1 --input colour=red", "--input version=1 --input version=2"]
            .iter()
            .map(|inputs| story.run(&format!("run release --model scripted:s.jsonl {inputs}")))
            .collect();
    insta::assert_snapshot!(all.join("\n"), @"
    exit 2
    --- stderr
    error: the input `version` is missing; give --input version=…

    exit 2
    --- stderr
    error: there is no input `colour`; it takes: version, channel

    exit 2
    --- stderr
    error: the input `version` is given twice
    ");
    assert_eq!(story.out("show"), "there is no run yet\n");
}

#[test]
fn a_broken_task_does_not_run() {
    let story = release();
    story.file(".agentry/tasks/release/test.md", b"---\nnext: lost.md\n---\n");
    script(&story, "s.jsonl", &[line("Built.", &[])]);
    let command = "run release --input version=1 --model scripted:s.jsonl";
    insta::assert_snapshot!(story.run(command), @"
    exit 2
    --- stderr
    error: the task `release` (.agentry/tasks/release/TASK.md) does not load
     help: `agentry check` shows why
    ");
}

#[test]
fn a_skill_is_offered_by_name_and_its_rules_hold_once_it_is_loaded() {
    let story = Story::new(
        "
        --- .agentry/agents/builder/AGENT.md
        ---
        name: Builder
        tools: [Read, Bash]
        skills: [sums]
        tool_approvals: {rules: [{tool: Bash, allow: true}]}
        ---
        You build.
        --- .agentry/skills/sums/SKILL.md
        ---
        name: sums
        description: Adds numbers.
        tools: [Read]
        ---
        Add with care: the sum of two and two is four.
        ",
    );
    let story = story.with("SHELL_TOOL_MODE", "full");
    let load = r#"{"tool_calls":[{"name":"load_skill","input":{"name":"sums"}}]}"#;
    let lost = r#"{"tool_calls":[{"name":"load_skill","input":{"name":"lost"}}]}"#;
    script(
        &story,
        "s.jsonl",
        &[
            line("", &["echo before"]),
            lost.to_owned(),
            load.to_owned(),
            line("", &["echo after"]),
            line("Four.", &[]),
        ],
    );
    let ran = story.ran_in("", "run --json --model scripted:s.jsonl 'what is 2+2?'");
    insta::assert_snapshot!(crate::story::events(&ran.out), @r#"
    init agent="builder" mode="structured" confinement="ns"
    tool_use toolName="bash" input={"command":"echo before"}
    tool_result status="completed" output="before\n" outcome="done" exitCode=0
    tool_use toolName="load_skill" input={"name":"lost"}
    tool_result status="failed" output="Refused: the arguments do not fit the schema of `load_skill`: /name: the value is not one of \"sums\"; call it again with these mended" outcome="refused"
    tool_use toolName="load_skill" input={"name":"sums"}
    tool_result status="completed" output="<skill name=\"sums\">\nAdd with care: the sum of two and two is four.\n</skill>" outcome="done"
    tool_use toolName="bash" input={"command":"echo after"}
    tool_result status="failed" output="Refused: the skill `sums` works with [read_file, load_skill] only" outcome="refused"
    text content="Four."
    done stopReason="end_turn" result="Four."
    "#);
    let prompt = story.out("show prompt --agent builder");
    assert!(prompt.contains("Adds numbers.") && !prompt.contains("two and two"), "{prompt}");
    all_is_recorded(&story);
}
