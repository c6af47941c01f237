//! Hooks of a turn: small programs beside the agent's text that shape it or say no.

use serde_json::{Value, json};

use crate::record::{all_is_recorded, entries, latest, line, script, waiting};
use crate::story::Story;
use crate::tools::FORTUNE_YML;

/// An agent program whose calls of the shell go ahead.
pub(crate) const AGENT: &str = "
    --- AGENT.md
    ---
    tool_approvals:
      rules:
        - {tool: Bash, allow: true}
        - {tool: Glob, allow: true}
    ---
    You help.
    --- personas/coder/SOUL.md
    You code.
    ";

/// The agent with this in its `hooks`, and these files; trusted.
fn agent(hooks: &str, files: &str) -> Story {
    let story = Story::new(AGENT).with("SHELL_TOOL_MODE", "full");
    let hooks: Vec<String> = hooks.trim().lines().map(|line| format!("  {line}")).collect();
    let yml = format!(
        "name: helper\ntools:\n  allow: [bash, glob]\npersonas:\n  available: [coder]\n  router: auto\nhooks:\n{}\n",
        hooks.join("\n")
    );
    story.file("agent.yml", yml.as_bytes());
    story.write(files);
    script(&story, "hi.jsonl", &[r#"{"text":"Hi."}"#.to_owned()]);
    story.out("trust --yes");
    story
}

const HI: &str = "run --model scripted:hi.jsonl hello";

/// What a turn of the latest run was given.
fn charter(story: &Story) -> Value {
    let mut plans = session(story).into_iter().filter(|one| one["event"]["type"] == "turn_started");
    plans.next_back().expect("there is a turn")["event"]["charter"].clone()
}

/// The names of the tools that the model was offered.
fn offered(charter: &Value) -> Vec<&str> {
    let tools = charter["tools"].as_array().expect("tools are a list").iter();
    tools.map(|one| one["name"].as_str().expect("a tool has a name")).collect()
}

/// The entries of the latest session.
fn session(story: &Story) -> Vec<Value> {
    let runs = story.json("show --format json");
    entries(story, "session", runs[0]["session_id"].as_str().expect("it has a session"))
}

/// What `show` says about the hooks and jobs of the latest run.
fn shown(story: &Story) -> String {
    let out = story.out(&format!("show run {}", latest(story)));
    let about = |line: &&str| line.contains("hook") || line.contains("job_");
    out.lines().filter(about).collect::<Vec<_>>().join("\n")
}

/// The input that a hook copied.
fn input(story: &Story, name: &str) -> Value {
    serde_json::from_str(&story.read(name)).expect("the input of a hook is JSON")
}

const DOCUMENTED: &str = r#"
    --- hooks/before_inference +x
    #!/bin/sh
    cp "$CYBROS_HOOK_INPUT" seen.json
    cat > "$CYBROS_HOOK_OUTPUT" <<'END'
    {
      "system_prompt_append": "Focus on Ruby style and performance.",
      "persona_override": "coder",
      "tool_additions": ["grep", "git_diff"],
      "tool_removals": [],
      "state_updates": { "last_topic": "ruby refactoring" },
      "model_override": null
    }
    END
    "#;

#[test]
fn the_documented_hook_gets_the_documented_input_and_has_its_effect() {
    let story = agent("before_inference: true", DOCUMENTED);
    story.out(HI);
    let seen = input(&story, "seen.json");
    let keys: Vec<&str> = seen.as_object().unwrap().keys().map(String::as_str).collect();
    let documented = [
        "event",
        "conversation_id",
        "turn_id",
        "recent_messages",
        "current_persona",
        "agent_state",
        "available_tools",
        "args",
    ];
    assert!(documented.iter().all(|key| keys.contains(key)) && keys.len() == 8, "{keys:?}");
    assert_eq!(seen["event"], "before_inference");
    assert_eq!(seen["recent_messages"], json!([{"role": "user", "content": "hello"}]));
    assert_eq!(seen["current_persona"], Value::Null);
    assert_eq!(seen["available_tools"], json!(["glob", "bash"]));
    assert_eq!(seen["agent_state"], json!({}));
    let charter = charter(&story);
    let system = charter["system"].as_str().unwrap();
    assert!(system.ends_with("Focus on Ruby style and performance."), "{system}");
    assert!(system.contains("You code."), "{system}");
    let tools = offered(&charter);
    assert_eq!(tools, ["glob", "bash", "grep"]);
    let shown = shown(&story);
    assert!(
        shown.contains("the tool `git_diff` is not added: this host has no such tool"),
        "{shown}"
    );
    all_is_recorded(&story);
}

#[test]
fn what_a_hook_keeps_is_there_in_the_next_turn_and_the_beginning_of_the_prompt_stays() {
    let story = agent(
        "before_inference: true",
        r#"
        --- hooks/before_inference +x
        #!/usr/bin/env python3
        import json, os
        given = json.load(open(os.environ["AGENTRY_HOOK_INPUT"]))
        state = given["agent_state"]
        count = state.get("count", 0) + 1
        out = {"system_prompt_append": f"Turn {count}.", "state_updates": {"count": count, "gone": None if count > 1 else "x"}}
        json.dump(out, open(os.environ["AGENTRY_HOOK_OUTPUT"], "w"))
        json.dump(state, open("state.json", "w"))
        "#,
    );
    let run = "run --session main --model scripted:hi.jsonl hello";
    story.out(run);
    let first = charter(&story)["system"].as_str().unwrap().to_owned();
    story.out(run);
    let second = charter(&story)["system"].as_str().unwrap().to_owned();
    assert_eq!(input(&story, "state.json"), json!({"count": 1, "gone": "x"}));
    assert_eq!(first.strip_suffix("Turn 1."), second.strip_suffix("Turn 2."));
    story.out(run);
    assert_eq!(input(&story, "state.json"), json!({"count": 2}));
}

#[test]
fn the_helper_of_each_language_is_found_and_works() {
    for (language, text) in [
        (
            "sh",
            r#"
            --- hooks/before_inference +x
            #!/bin/sh
            . "$AGENTRY_SH"
            agentry_output '{"system_prompt_append": "From sh."}'
            "#,
        ),
        (
            "ruby",
            r#"
            --- hooks/before_inference +x
            #!/usr/bin/env ruby
            require "cybros_agent"

            CybrosAgent.hook do |input|
              {
                system_prompt_append: "From ruby.",
                state_updates: { mood: "cheerful" }
              }
            end
            "#,
        ),
        (
            "python",
            r#"
            --- hooks/before_inference +x
            #!/usr/bin/env python3
            import agentry_agent

            @agentry_agent.hook
            def hook(input):
                return {"system_prompt_append": "From python."}
            "#,
        ),
        (
            "node",
            r#"
            --- hooks/before_inference +x
            #!/usr/bin/env node
            const { hook } = require("agentry_agent");
            hook((input) => ({ system_prompt_append: "From node." }));
            "#,
        ),
    ] {
        let story = agent("before_inference: true", text);
        story.out(HI);
        let system = charter(&story)["system"].as_str().unwrap().to_owned();
        assert!(system.ends_with(&format!("From {language}.")), "{language}: {}", shown(&story));
    }
}

#[test]
fn a_hook_that_does_not_work_is_left_out_and_shown() {
    for (body, why) in [
        ("sleep 600", "it took longer than 1."),
        ("sh -c 'sleep 600' & exit 0", ""),
        ("yes garbage", "it took longer than 1."),
        ("head -c 3000000 /dev/zero", "standard output has more than"),
        ("head -c 3000000 /dev/zero > \"$CYBROS_HOOK_OUTPUT\"", "output file has more than"),
        ("echo garbage", "its standard output is not JSON"),
        ("echo garbage > \"$CYBROS_HOOK_OUTPUT\"", "its output file is not JSON"),
        ("printf '\\377\\376' > \"$CYBROS_HOOK_OUTPUT\"", "not text"),
        ("echo '[]' > \"$CYBROS_HOOK_OUTPUT\"", "not a JSON object"),
        ("echo '{\"tool_removals\": 7}' > \"$CYBROS_HOOK_OUTPUT\"", "does not fit"),
        ("ln -s /etc/passwd \"$CYBROS_HOOK_OUTPUT\"", "a link"),
        ("mkfifo \"$CYBROS_HOOK_OUTPUT\"", "not a regular file"),
        ("mkdir \"$CYBROS_HOOK_OUTPUT\"", "not a regular file"),
        ("echo '{}' > \"$CYBROS_HOOK_INPUT\"", "it ended with exit code 2"),
        ("echo because >&2; exit 3", "it ended with exit code 3: because"),
        ("kill -9 $$", "it was ended by signal 9"),
    ] {
        let hook = format!("--- hooks/before_inference +x\n#!/bin/sh\n{body}\n");
        let story = agent("before_inference: { timeout_ms: 1000 }", &hook);
        let ran = story.ran_in("", HI);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Hi.\n"), "{body}: {}", ran.err);
        let shown = shown(&story);
        if why.is_empty() {
            assert!(shown.contains("changes nothing"), "{body}: {shown}");
            assert!(shown.contains("leftover processes were killed"), "{body}: {shown}");
            continue;
        }
        assert!(shown.contains(why), "{body}: {shown}");
        assert!(shown.contains("the static config is used"), "{body}: {shown}");
        assert!(ran.err.contains("warning: hook before_inference"), "{body}: {}", ran.err);
        let charter = charter(&story);
        assert!(!charter["system"].as_str().unwrap().contains("# From hooks/"), "{body}");
    }
}

#[test]
fn a_declared_hook_that_is_missing_or_not_executable_does_not_load() {
    let story = Story::new(AGENT);
    story
        .file("agent.yml", b"name: helper\nhooks:\n  PreToolUse: true\n  before_inference: true\n");
    story.file("hooks/before_inference", b"#!/bin/sh\n");
    script(&story, "hi.jsonl", &[r#"{"text":"Hi."}"#.to_owned()]);
    let ran = story.ran_in("", HI);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    let found = story.findings("check");
    assert!(found.contains("E0434 agent.yml:3:"), "{found}");
    assert!(found.contains("E0435 agent.yml:4:"), "{found}");
}

const GATE: &str = "PreToolUse:\n  - { matcher: Bash, run: hooks/gate }";

/// One command, with a gate that has this body.
fn gated(hooks: &str, body: &str) -> (Story, crate::story::Ran) {
    let hook = format!("--- hooks/gate +x\n#!/bin/sh\n{body}\n");
    let story = agent(hooks, &hook);
    let lines = [line("I try.", &["echo made > made.txt"]), line("Done.", &[])];
    script(&story, "try.jsonl", &lines);
    let ran = story.ran_in("", "run --model scripted:try.jsonl go");
    (story, ran)
}

/// What the model was told of its call.
fn told(story: &Story) -> String {
    let ended = session(story).into_iter().rfind(|one| one["event"]["type"] == "turn_ended");
    let messages = ended.expect("the turn is over")["event"]["messages"].clone();
    messages.to_string()
}

#[test]
fn a_gate_says_no_by_its_exit_code_or_its_answer() {
    for body in [
        "cat > seen.json; echo 'not here' >&2; exit 2",
        r#"echo '{"decision": "block", "reason": "not here"}'"#,
        r#"echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not here"}}' > "$AGENTRY_HOOK_OUTPUT""#,
    ] {
        let (story, ran) = gated(GATE, body);
        assert_eq!(ran.code, Some(3), "{body}: {}", ran.err);
        assert!(!story.path("made.txt").exists());
        assert!(
            told(&story).contains("Refused by the hook hooks/gate: not here"),
            "{}",
            told(&story)
        );
        all_is_recorded(&story);
    }
    let (story, _) = gated(GATE, "cat > seen.json; exit 0");
    let seen = input(&story, "seen.json");
    assert_eq!(seen["hook_event_name"], "PreToolUse");
    assert_eq!(seen["tool_name"], "bash");
    assert_eq!(seen["tool_input"], json!({"command": "echo made > made.txt"}));
    for key in ["session_id", "transcript_path", "cwd", "permission_mode", "tool_use_id", "turn_id"]
    {
        assert!(seen.get(key).is_some(), "{key}: {seen}");
    }
    assert!(story.path("made.txt").exists());
}

#[test]
fn a_gate_that_crashes_denies_unless_it_says_otherwise() {
    let crash = "kill -9 $$";
    let (story, ran) = gated(GATE, crash);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(!story.path("made.txt").exists());
    assert!(told(&story).contains("a gate that cannot run means no"), "{}", told(&story));
    let lenient = "PreToolUse: { run: hooks/gate, on_error: allow }";
    let (story, ran) = gated(lenient, crash);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(story.path("made.txt").exists());
    assert!(shown(&story).contains("failed, and is ignored"), "{}", shown(&story));
    let asking = "PreToolUse: { run: hooks/gate, on_error: ask }";
    let (story, ran) = gated(asking, crash);
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert_eq!(waiting(&story).len(), 1);
}

#[test]
fn a_gate_that_hangs_or_is_killed_by_its_limit_denies() {
    let slow = "PreToolUse: { run: hooks/gate, timeout_ms: 500 }";
    let (story, ran) = gated(slow, "sleep 600");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(!story.path("made.txt").exists());
}

#[test]
fn no_mode_waives_the_question_of_a_gate() {
    let hook = r#"
        --- hooks/gate +x
        #!/bin/sh
        echo '{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "look twice"}}'
        "#;
    let story = agent(GATE, hook);
    script(&story, "try.jsonl", &[line("I try.", &["echo made > made.txt"]), line("Done.", &[])]);
    let ran = story.ran_in("", "run --mode wiggum --model scripted:try.jsonl go");
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(!story.path("made.txt").exists());
    let approval = waiting(&story).remove(0);
    story.out(&format!("answer {approval} yes"));
    story.run(&format!("resume {}", latest(&story)));
    assert!(story.path("made.txt").exists());
}

#[test]
fn changed_arguments_are_checked_against_the_rules_again() {
    let change = |command: &str| {
        format!(
            r#"echo '{{"hookSpecificOutput": {{"updatedInput": {{"command": "{command}"}}}}}}'"#
        )
    };
    let (story, ran) = gated(GATE, &change("echo other > other.txt"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(story.path("other.txt").exists() && !story.path("made.txt").exists());
    assert!(told(&story).contains("The hook hooks/gate changed the arguments"), "{}", told(&story));
    all_is_recorded(&story);
    // The guard looks at what the hook wants, too.
    let (story, ran) = gated(GATE, &change("rm -rf /"));
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(told(&story).contains("Refused"), "{}", told(&story));
    let (story, ran) =
        gated(GATE, r#"echo '{"hookSpecificOutput": {"updatedInput": {"cmd": 7}}}'"#);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(told(&story).contains("do not fit the schema"), "{}", told(&story));
}

#[test]
fn hooks_after_a_call_add_take_away_and_keep() {
    let story = agent(
        "after_tool_call: true\nPostToolUse:\n  - { matcher: bash, run: hooks/post }",
        r#"
        --- hooks/after_tool_call +x
        #!/usr/bin/env python3
        import json, os
        given = json.load(open(os.environ["CYBROS_HOOK_INPUT"]))
        json.dump(given, open("after.json", "w"))
        json.dump({"system_prompt_append": "Be brief now.", "tool_removals": ["bash"],
                   "state_updates": {"calls": given["agent_state"].get("calls", 0) + 1}},
                  open(os.environ["CYBROS_HOOK_OUTPUT"], "w"))
        --- hooks/post +x
        #!/bin/sh
        echo "do not do that" >&2
        exit 2
        "#,
    );
    let lines =
        [line("One.", &["echo one"]), line("Two.", &["echo two > two.txt"]), line("Done.", &[])];
    script(&story, "try.jsonl", &lines);
    story.run("run --session main --model scripted:try.jsonl go");
    let after = input(&story, "after.json");
    assert_eq!(after["event"], "after_tool_call");
    assert_eq!(after["tool_call"]["name"], "bash");
    assert_eq!(after["tool_result"]["status"], "done");
    assert_eq!(after["tool_result"]["output"], "one\n");
    assert_eq!(after["current_persona"], Value::Null);
    let told = told(&story);
    assert!(told.contains("The hook hooks/post objects: do not do that"), "{told}");
    assert!(told.contains("hook after_tool_call adds: Be brief now."), "{told}");
    assert!(told.contains("took `bash` away for this turn"), "{told}");
    assert!(!story.path("two.txt").exists());
    all_is_recorded(&story);
}

#[test]
fn a_stop_hook_lets_the_agent_go_on_and_ends_at_last() {
    let story = agent(
        "Stop: true",
        r#"
        --- hooks/Stop +x
        #!/bin/sh
        cat >> stops.txt
        echo >> stops.txt
        echo "run the tests" >&2
        exit 2
        "#,
    );
    script(&story, "long.jsonl", &vec![r#"{"text":"I am done."}"#.to_owned(); 12]);
    let ran = story.ran_in("", "run --model scripted:long.jsonl go");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let stops = story.read("stops.txt");
    let again: Vec<bool> =
        stops.lines().map(|line| line.contains(r#""stop_hook_active":true"#)).collect();
    assert_eq!(again, [false, true, true, true, true, true, true, true]);
    assert!(told(&story).contains("does not let you stop: run the tests"), "{}", told(&story));
}

#[test]
fn hooks_at_the_beginning_and_the_end_speak_or_say_no() {
    let story = agent(
        "SessionStart: true\nUserPromptSubmit: true\nSessionEnd: true\non_conversation_start: true",
        r#"
        --- hooks/SessionStart +x
        #!/bin/sh
        echo "The office is closed."
        --- hooks/on_conversation_start +x
        #!/bin/sh
        cp "$CYBROS_HOOK_INPUT" start.json
        echo '{"state_updates": {"begun": true}}' > "$CYBROS_HOOK_OUTPUT"
        --- hooks/UserPromptSubmit +x
        #!/bin/sh
        if grep -q forbidden "$AGENTRY_HOOK_INPUT"; then echo "not that" >&2; exit 2; fi
        echo '{"hookSpecificOutput": {"additionalContext": "It is Monday."}}'
        --- hooks/SessionEnd +x
        #!/bin/sh
        cat > end.json
        "#,
    );
    story.out(HI);
    let start = input(&story, "start.json");
    assert_eq!((&start["turn_id"], &start["recent_messages"]), (&Value::Null, &json!([])));
    let told = told(&story);
    assert!(told.contains("hooks/SessionStart adds: The office is closed."), "{told}");
    assert!(told.contains("hooks/UserPromptSubmit adds: It is Monday."), "{told}");
    assert_eq!(input(&story, "end.json")["hook_event_name"], "SessionEnd");
    let ran = story.ran_in("", "run --model scripted:hi.jsonl forbidden");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.err.contains("the hook hooks/UserPromptSubmit says no: not that"), "{}", ran.err);
    assert!(ran.out.is_empty(), "{}", ran.out);
}

#[test]
fn a_hook_adds_no_tool_that_the_agent_could_not_have() {
    let story = agent(
        "before_inference: true",
        r#"
        --- hooks/before_inference +x
        #!/bin/sh
        echo '{"tool_additions": ["write_file", "web_fetch", "nonsense"], "persona_override": "boss", "model_override": "no/such"}'
        --- context/tool-access.json
        {"tools": {"web_fetch": {"enabled": false}}}
        "#,
    );
    story.out("trust --yes");
    story.out(HI);
    let charter = charter(&story);
    let tools = offered(&charter);
    assert!(tools.contains(&"write_file") && !tools.contains(&"web_fetch"), "{tools:?}");
    let finished = session(&story).into_iter().find(|one| one["event"]["change"] == "finished");
    let shown = finished.expect("the hook has run")["event"]["report"]["notes"].to_string();
    for note in [
        "`web_fetch` is not added",
        "`nonsense` is not added",
        "no persona `boss`",
        "`no/such` is not used",
    ] {
        assert!(shown.contains(note), "{note}: {shown}");
    }
}

#[test]
fn a_hook_has_no_network_and_does_not_see_what_the_agent_may_not_see() {
    let story = agent(
        "before_inference: true",
        r#"
        --- hooks/before_inference +x
        #!/bin/sh
        if cat "$HOME/.ssh/id_rsa" 2>/dev/null; then exit 9; fi
        if env | grep -q SECRET_THING; then exit 8; fi
        echo '{}'
        "#,
    )
    .with("SECRET_THING_KEY", "hush-hush-hush");
    story.out(HI);
    assert!(shown(&story).contains("changes nothing"), "{}", shown(&story));
}

#[test]
fn a_hook_adds_no_tool_that_its_sender_may_not_have() {
    let story = agent(
        "before_inference: true",
        r#"
        --- hooks/before_inference +x
        #!/bin/sh
        echo '{"tool_additions": ["write_file", "read_file"]}'
        --- .agentry/access/friends.yml
        policies:
          - name: friends
            match: {principal: {unknown: true}}
            effect: allow
            permissions: {tools: [glob, read_file]}
            session: {key: friends}
            priority: 50
        "#,
    );
    let sent =
        story.ran_in("", "send --channel chat --from x --peer p --model scripted:hi.jsonl hello");
    assert_eq!(sent.code, Some(0), "{}", sent.err);
    let charter = charter(&story);
    let tools = offered(&charter);
    assert_eq!(tools, ["glob", "read_file"]);
    let finished = session(&story).into_iter().find(|one| one["event"]["change"] == "finished");
    let notes = finished.expect("the hook has run")["event"]["report"]["notes"].to_string();
    assert!(notes.contains("`write_file` is not added: the sender may not have it"), "{notes}");
}

#[test]
fn the_documented_tool_with_its_helper_is_called_in_a_turn() {
    let story = Story::new(AGENT);
    story.write(
        r#"
        --- agent.yml
        name: helper
        tools:
          custom: [fortune]
        --- AGENT.md
        ---
        tool_approvals:
          rules:
            - {tool: fortune, allow: true}
        ---
        You tell fortunes.
        --- tools/fortune.rb +x
        #!/usr/bin/env ruby
        require "cybros_agent"

        CybrosAgent.tool do |input|
          sign = input.arguments["sign"]
          { fortune: "Great day for #{sign}!" }
        end
        "#,
    );
    story.file("tools/fortune.yml", FORTUNE_YML.as_bytes());
    let call = |sign: &str| {
        json!({"text": "", "tool_calls": [{"name": "fortune", "input": {"sign": sign}}]})
            .to_string()
    };
    script(&story, "try.jsonl", &[call("leo"), call("cat"), line("Done.", &[])]);
    story.out("trust --yes");
    assert_eq!(story.out("run --model scripted:try.jsonl go"), "Done.\n");
    let told = told(&story);
    assert!(told.contains(r#"{\"fortune\":\"Great day for leo!\"}"#), "{told}");
    assert!(told.contains("do not fit the schema of `fortune`"), "{told}");
    all_is_recorded(&story);
}
