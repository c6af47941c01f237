//! The way in: events that come once, are decided about, wait in mailboxes, and are answered.

use std::os::unix::fs::OpenOptionsExt;

use serde_json::Value;

use crate::record::{line, script};
use crate::story::{Ran, Story, Talk};

/// An agent that may read pipes, and a room that strangers share.
const OPEN_ROOM: &str = "
    --- .agentry/agents/host/AGENT.md
    ---
    name: Host
    tools: [Bash]
    tool_approvals:
      rules:
        - {tool: Bash, allow: true, when: {command: {startsWith: 'cat '}}}
    ---
    You answer.
    --- .agentry/access/room.yml
    policies:
      - name: room
        match: {principal: {unknown: true}}
        effect: allow
        permissions: {tools: [bash]}
        session: {key: room}
        priority: 50
    ";

/// A server whose every run waits at a gate first, and then answers.
fn gated() -> (Story, Talk) {
    let story = Story::new(OPEN_ROOM).with("SHELL_TOOL_MODE", "full");
    story.gate("gate");
    script(&story, "s.jsonl", &[line("", &["cat gate"]), line("Done.", &[])]);
    let server = served(&story);
    (story, server)
}

fn served(story: &Story) -> Talk {
    let mut server = story.talk("serve --model scripted:s.jsonl");
    server.hear_line("ready");
    server
}

/// Hands something in without waiting for the answer.
fn hand_in(story: &Story, id: &str, how: &str, text: &str) {
    let Ran { code, err, .. } =
        story.ran_in("", &format!("send --no-wait --id {id} {how} '{text}'"));
    assert_eq!(code, Some(0), "{err}");
}

/// Waits until an event is this far.
pub(crate) fn until(story: &Story, event: &str, status: &str) -> Value {
    let mut last = Value::Null;
    for _ in 0..2_000 {
        last = story.json(&format!("trace {event} --json"));
        if last["status"] == status {
            return last;
        }
    }
    panic!("{event} is not {status}: {last:#}");
}

/// Lets whoever waits at the gate go on until an event is answered.
fn let_through(story: &Story, event: &str) -> Value {
    let mut last = Value::Null;
    for _ in 0..2_000 {
        last = story.json(&format!("trace {event} --json"));
        if last["status"] == "answered" {
            return last;
        }
        // Without a reader it cannot be opened; then it is tried again.
        let mut options = std::fs::OpenOptions::new();
        let gate = options
            .write(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open(story.path("gate"));
        drop(gate);
    }
    panic!("{event} is not answered: {last:#}");
}

/// The pipe, once somebody reads it: who does waits until this goes.
fn hold_gate(story: &Story) -> std::fs::File {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).open(story.path("gate")).expect("the pipe is there")
}

fn prompt_of(story: &Story, trace: &Value) -> String {
    let turn = stage(trace, "agent")["data"]["turn_id"].as_str().expect("a turn");
    let entries = crate::record::entries(story, "turn", turn);
    entries[0]["event"]["prompt"].as_str().expect("a turn has a prompt").to_owned()
}

pub(crate) fn stop(server: Talk) -> Ran {
    server.interrupt();
    let ran = server.end();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran
}

fn stage<'a>(trace: &'a Value, name: &str) -> &'a Value {
    let stages = trace["pipeline"].as_array().expect("there are stages");
    stages.iter().find(|stage| stage["stage"] == name).unwrap_or(&Value::Null)
}

fn run_of(trace: &Value) -> &str {
    stage(trace, "agent")["data"]["run_id"].as_str().unwrap_or_default()
}

#[test]
fn without_a_server_send_answers_itself_and_a_trace_tells_each_stage() {
    let story = Story::new(OPEN_ROOM);
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    assert_eq!(
        story.run("send --id one --model scripted:s.jsonl Hi"),
        "exit 0\n--- stdout\nHello.\n"
    );
    let trace = story.json("trace send:one --json");
    assert_eq!(trace["status"], "answered");
    let stages: Vec<&str> = trace["pipeline"]
        .as_array()
        .expect("there are stages")
        .iter()
        .map(|stage| stage["stage"].as_str().expect("a stage has a name"))
        .collect();
    assert_eq!(stages, ["adapter", "acl", "broker", "agent", "delivery", "ledger"]);
    assert_eq!(stage(&trace, "acl")["result"], "owner local: allowed by owner-full-access");
    assert_eq!(stage(&trace, "broker")["data"]["session_key"], "main");
}

#[test]
fn the_same_id_twice_runs_once() {
    let story = Story::new(OPEN_ROOM);
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let send = "send --id one --model scripted:s.jsonl Hi";
    assert_eq!(story.out(send), "Hello.\n");
    let Ran { code, out, err } = story.ran_in("", send);
    assert_eq!((code, out.as_str()), (Some(0), "Hello.\n"));
    assert!(err.contains("send:one was received before, as entry 1"), "{err}");
    let runs = story.json("show --format json");
    assert_eq!(runs.as_array().expect("runs are a list").len(), 1);
}

#[test]
fn a_fresh_install_lets_in_the_owner_and_nobody_else() {
    let story = Story::new(
        "
        --- .agentry/agents/host/AGENT.md
        ---
        name: Host
        ---
        You answer.
        ",
    );
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let stranger = "send --model scripted:s.jsonl --channel telegram --from 7 --id m1 'Let me in'";
    let Ran { code, out, err } = story.ran_in("", stranger);
    assert_eq!((code, out.as_str()), (Some(3), ""), "{err}");
    assert_eq!(err, "agentry: unknown 7: denied, no policy allows it\n");
    assert_eq!(story.json("trace telegram:m1 --json")["status"], "denied");
    assert_eq!(story.out("send --model scripted:s.jsonl Hi"), "Hello.\n");
}

#[test]
fn an_answer_is_an_event_that_starts_nothing() {
    let story = Story::new(OPEN_ROOM);
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let server = served(&story);
    story.out("send --id one Hi");
    story.out("send --id two Hi");
    stop(server);
    let rows = story.out("trace");
    // The clock ticks meanwhile.
    let rows: Vec<&str> = rows.lines().filter(|row| !row.contains(" timer:")).collect();
    let rows = rows.join("\n");
    let count = |status: &str| rows.lines().filter(|row| row.starts_with(status)).count();
    assert_eq!((count("answered"), count("sent")), (2, 2), "{rows}");
    assert_eq!(rows.lines().count(), 4, "{rows}");
}

#[test]
fn messages_that_follow_make_a_chain_in_their_order() {
    let (story, server) = gated();
    hand_in(&story, "m1", "", "/queue followup first");
    hand_in(&story, "m2", "", "/queue followup second");
    hand_in(&story, "m3", "", "/queue followup third");
    until(&story, "send:m3", "waiting");
    let mut turns = Vec::new();
    for id in ["send:m1", "send:m2", "send:m3"] {
        let trace = let_through(&story, id);
        turns.push(stage(&trace, "agent")["data"]["turn_id"].as_str().expect("a turn").to_owned());
    }
    stop(server);
    let parent = |turn: &str| {
        let entries = crate::record::entries(&story, "turn", turn);
        entries[0]["event"]["parent"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(parent(&turns[0]), "");
    assert_eq!(parent(&turns[1]), turns[0]);
    assert_eq!(parent(&turns[2]), turns[1]);
}

#[test]
fn a_message_to_a_running_turn_is_told_to_it() {
    let (story, server) = gated();
    hand_in(&story, "m1", "", "first");
    until(&story, "send:m1", "running");
    // The turn runs as soon as somebody reads the pipe; only then can something be told to it.
    let writer = hold_gate(&story);
    hand_in(&story, "m2", "", "and this");
    until(&story, "send:m2", "taken");
    drop(writer);
    let first = until(&story, "send:m1", "answered");
    let second = until(&story, "send:m2", "answered");
    assert_eq!(run_of(&first), run_of(&second));
    stop(server);
}

#[test]
fn an_interrupt_stops_the_turn_and_drops_what_waits_of_its_sender() {
    let (story, server) = gated();
    hand_in(&story, "m1", "", "first");
    let writer = hold_gate(&story);
    hand_in(&story, "m2", "", "/queue followup second");
    until(&story, "send:m2", "waiting");
    hand_in(&story, "m3", "", "/queue interrupt third");
    until(&story, "send:m1", "failed");
    drop(writer);
    let dropped = until(&story, "send:m2", "unrun");
    assert_eq!(stage(&dropped, "broker")["data"]["why"], "interrupted");
    let_through(&story, "send:m3");
    stop(server);
}

#[test]
fn a_stop_drops_what_waits_first_and_then_ends_what_runs() {
    let (story, server) = gated();
    hand_in(&story, "m1", "", "first");
    let writer = hold_gate(&story);
    hand_in(&story, "m2", "", "/queue followup second");
    until(&story, "send:m2", "waiting");
    hand_in(&story, "m3", "", "/stop");
    until(&story, "send:m1", "failed");
    until(&story, "send:m2", "unrun");
    until(&story, "send:m3", "unrun");
    drop(writer);
    let entries = |id: &str| {
        let trace = story.json(&format!("trace {id} --json"));
        stage(&trace, "broker")["timestamp"]
            .as_u64()
            .expect("a time")
            .max(stage(&trace, "agent")["timestamp"].as_u64().unwrap_or_default())
    };
    assert!(entries("send:m2") <= entries("send:m1"));
    stop(server);
}

#[test]
fn a_stop_leaves_what_came_after_it() {
    let (story, server) = gated();
    server.kill();
    // They are taken together when the server is there again.
    hand_in(&story, "m1", "", "/queue followup first");
    hand_in(&story, "m2", "", "/stop");
    hand_in(&story, "m3", "", "/queue followup third");
    let server = served(&story);
    let dropped = until(&story, "send:m1", "unrun");
    assert_eq!(stage(&dropped, "broker")["data"]["why"], "aborted");
    until(&story, "send:m2", "unrun");
    let_through(&story, "send:m3");
    stop(server);
}

#[test]
fn a_stop_ends_a_run_that_waits_for_a_person() {
    let (story, server) = gated();
    script(&story, "s.jsonl", &[line("", &["touch new.txt"]), line("Done.", &[])]);
    hand_in(&story, "m1", "", "first");
    until(&story, "send:m1", "paused");
    hand_in(&story, "m2", "", "/stop");
    until(&story, "send:m1", "failed");
    stop(server);
    assert_eq!(story.out("approvals"), "no approvals wait for an answer\n");
    assert!(!story.path("new.txt").exists());
}

#[test]
fn collected_messages_share_a_turn_with_one_sender_only() {
    let (story, server) = gated();
    let (ann, bob) = ("--channel tg --from ann --peer room", "--channel tg --from bob --peer room");
    hand_in(&story, "a1", ann, "first");
    let writer = hold_gate(&story);
    let collect = "/queue collect debounce:1ms";
    hand_in(&story, "a2", ann, &format!("{collect} second"));
    hand_in(&story, "a3", ann, &format!("{collect} third"));
    hand_in(&story, "b1", bob, &format!("{collect} fourth"));
    until(&story, "tg:b1", "waiting");
    drop(writer);
    let_through(&story, "tg:a1");
    let second = let_through(&story, "tg:a2");
    let third = let_through(&story, "tg:a3");
    let fourth = let_through(&story, "tg:b1");
    stop(server);
    assert_eq!(run_of(&second), run_of(&third));
    assert_ne!(run_of(&third), run_of(&fourth));
    assert_eq!(
        prompt_of(&story, &third),
        "[Queued messages while agent was busy]\n\n---\nQueued #1\nsecond\n\n---\nQueued #2\nthird\n\n\
         [From somebody (unknown) on tg, dm]"
    );
}

#[test]
fn what_is_too_much_is_summed_up_in_the_next_prompt_also_after_a_crash() {
    let (story, server) = gated();
    hand_in(&story, "m1", "", "first");
    let writer = hold_gate(&story);
    hand_in(&story, "m2", "", "/queue followup cap:1 second");
    hand_in(&story, "m3", "", "/queue followup cap:1 third");
    let dropped = until(&story, "send:m2", "unrun");
    assert_eq!(stage(&dropped, "broker")["data"]["why"], "summarized");
    server.kill();
    drop(writer);
    let server = served(&story);
    // The first run goes on: its command is not made again.
    until(&story, "send:m1", "answered");
    let third = let_through(&story, "send:m3");
    stop(server);
    assert_eq!(
        prompt_of(&story, &third),
        "[Queue overflow] Dropped 1 message due to cap.\nSummary:\n- second\n\nthird"
    );
}

#[test]
fn after_a_crash_what_waited_is_answered_once_and_what_ran_goes_on() {
    let (story, server) = gated();
    hand_in(&story, "m1", "", "first");
    let writer = hold_gate(&story);
    hand_in(&story, "m2", "", "/queue followup second");
    until(&story, "send:m2", "waiting");
    server.kill();
    drop(writer);
    hand_in(&story, "m3", "", "/queue followup third");
    let server = served(&story);
    let first = until(&story, "send:m1", "answered");
    let uncertain = stage(&first, "agent")["data"]["uncertain"].as_array().expect("a list").len();
    assert_eq!(uncertain, 1, "{first:#}");
    for id in ["send:m2", "send:m3"] {
        let_through(&story, id);
    }
    stop(server);
    let runs = story.json("show --format json");
    assert_eq!(runs.as_array().expect("runs are a list").len(), 3);
}

#[test]
fn only_the_owner_says_where_a_message_goes() {
    let story = Story::new(OPEN_ROOM);
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let send = "send --model scripted:s.jsonl --session main";
    let Ran { code, err, .. } =
        story.ran_in("", &format!("{send} --channel tg --from ann --id a1 Hi"));
    assert_eq!(code, Some(1));
    assert_eq!(err, "agentry: no turn: only the owner says where a message goes\n");
    assert_eq!(story.out(&format!("{send} Hi")), "Hello.\n");
    let Ran { code, err, .. } =
        story.ran_in("", "send --model scripted:s.jsonl --persona nobody Hi");
    assert_eq!(code, Some(1));
    assert_eq!(err, "agentry: no turn: `nobody` is neither an agent nor a persona of `host`\n");
}

#[test]
fn a_directive_that_cannot_be_read_is_told_and_one_alone_holds_for_the_session() {
    let story = Story::new(OPEN_ROOM);
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let Ran { code, err, .. } =
        story.ran_in("", "send --model scripted:s.jsonl '/queue sometimes Hi'");
    assert_eq!(code, Some(1));
    assert!(err.starts_with("agentry: no turn: /queue does not know `sometimes`"), "{err}");
    story.ran_in("", "send --model scripted:s.jsonl --id d1 '/queue collect cap:3'");
    assert_eq!(stage(&story.json("trace send:d1 --json"), "broker")["data"]["why"], "directive");
    story.out("send --model scripted:s.jsonl --id m1 Hi");
    let trace = story.json("trace send:m1 --json");
    assert_eq!(stage(&trace, "broker")["data"]["queue_mode"], "collect");
}

#[test]
fn broken_policies_let_nobody_in() {
    let story = Story::new(OPEN_ROOM);
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    story.file(".agentry/access/more.yml", b"policies:\n  - name: [\n");
    let Ran { code, err, .. } = story.ran_in("", "send --model scripted:s.jsonl --id m1 Hi");
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("so they allow no access:\n  .agentry/access/more.yml:2:11"), "{err}");
    assert_eq!(story.json("trace send:m1 --json")["status"], "received");
    std::fs::remove_file(story.path(".agentry/access/more.yml")).expect("it was written");
    assert_eq!(story.out("send --model scripted:s.jsonl --id m1 Hi"), "Hello.\n");
}

#[test]
fn a_server_whose_policies_break_lets_nobody_in_until_they_are_mended() {
    let story = Story::new(OPEN_ROOM);
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let server = served(&story);
    assert_eq!(story.out("send --id m1 Hi"), "Hello.\n");
    story.file(".agentry/access/more.yml", b"policies:\n  - name: [\n");
    // Whoever comes within a moment of the change may still be let in by what was read before.
    let status = |event: &str| story.json(&format!("trace {event} --json"))["status"].clone();
    let is_left = |number: &usize| {
        let event = format!("send:x{number}");
        hand_in(&story, &format!("x{number}"), "", "Hi");
        (0..200).all(|_| status(&event) == "received")
    };
    let left = (0..100).find(is_left).expect("somebody is not let in any more");
    std::fs::remove_file(story.path(".agentry/access/more.yml")).expect("it was written");
    until(&story, &format!("send:x{left}"), "answered");
    let said = stop(server).err;
    assert_eq!(said.matches("intake paused: ").count(), 1, "{said}");
    assert_eq!(said.matches("intake resumed").count(), 1, "{said}");
}

#[test]
fn there_is_one_server_for_a_home() {
    let story = Story::new(OPEN_ROOM);
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let server = served(&story);
    let Ran { code, err, .. } = story.ran_in("", "serve --model scripted:s.jsonl");
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("another agentry server is already running for this home"), "{err}");
    stop(server);
}

/// The id of the newest event on a channel.
fn newest(story: &Story, channel: &str) -> String {
    let rows = story.out("trace");
    let mut ids = rows.lines().filter_map(|row| row.split_whitespace().nth(1));
    let own = |id: &&str| {
        let rest = id.strip_prefix(channel).and_then(|rest| rest.strip_prefix(':'));
        rest.is_some_and(|rest| !rest.starts_with("sent:"))
    };
    ids.find(own).expect("something came in there").to_owned()
}

#[test]
fn what_is_said_at_the_terminal_and_over_stdio_goes_the_same_way() {
    let story = Story::new(OPEN_ROOM);
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    assert_eq!(story.out("run --session desk --model scripted:s.jsonl 'Good morning'"), "Hello.\n");
    let mut talk = story.talk("stdio --model scripted:s.jsonl");
    talk.say(r#"{"type": "prompt", "prompt": "Good evening"}"#);
    talk.hear("done");
    talk.end();
    for (channel, said) in [("terminal", "Good morning"), ("stdio", "Good evening")] {
        let event = newest(&story, channel);
        let trace = story.json(&format!("trace {event} --json"));
        let names: Vec<&str> = trace["pipeline"]
            .as_array()
            .expect("there are stages")
            .iter()
            .filter_map(|stage| stage["stage"].as_str())
            .collect();
        assert_eq!(names, ["adapter", "acl", "broker", "agent", "delivery", "ledger"]);
        assert_eq!(stage(&trace, "acl")["result"], "owner local: allowed by owner-full-access");
        assert_eq!(prompt_of(&story, &trace), said);
        let audit = story.json(&format!("audit show {event} --json"));
        assert_eq!(audit["channel"], channel);
    }
    let terminal = story.json(&format!("trace {} --json", newest(&story, "terminal")));
    assert_eq!(stage(&terminal, "broker")["data"]["session_key"], "desk");
}

#[test]
fn policies_bind_whoever_sits_at_the_terminal_too() {
    let story = Story::new(OPEN_ROOM);
    script(&story, "s.jsonl", &[line("", &["cat s.jsonl"]), line("Hello.", &[])]);
    story.file(
        ".agentry/access/owner.yml",
        b"- name: no-shell\n  match: {principal: {is_user: true}}\n  effect: allow\n  permissions: {tools: {allow: '*', deny: [bash]}}\n  session: {key: main}\n",
    );
    let Ran { code, err, .. } = story.ran_in("", "run --model scripted:s.jsonl Hi");
    assert_eq!(code, Some(3), "every call was denied: {err}");
    assert!(err.contains("denied by policy no-shell (bash)"), "{err}");
    story.file(
        ".agentry/access/owner.yml",
        b"- name: closed\n  match: {principal: {is_user: true}, conditions: [{channel: terminal}]}\n  effect: deny\n",
    );
    let Ran { code, out, err } = story.ran_in("", "run --model scripted:s.jsonl Hi");
    assert_eq!((code, out.as_str()), (Some(3), ""), "{err}");
    assert!(err.contains("error: owner local: denied, the policy `closed` denies it"), "{err}");
    let event = newest(&story, "terminal");
    assert_eq!(story.json(&format!("trace {event} --json"))["status"], "denied");
    // Another channel of the owner is open.
    assert_eq!(story.ran_in("", "send --model scripted:s.jsonl Hi").code, Some(0));
}

#[test]
fn a_server_leaves_the_runs_of_others_alone() {
    let story = Story::new(OPEN_ROOM).with("SHELL_TOOL_MODE", "full");
    script(&story, "s.jsonl", &[line("", &["touch new.txt"]), line("Done.", &[])]);
    // It waits for a person, who is not there.
    assert_eq!(story.ran_in("", "run --model scripted:s.jsonl Hi").code, Some(4));
    let event = newest(&story, "terminal");
    let server = served(&story);
    assert_eq!(story.json(&format!("trace {event} --json"))["status"], "paused");
    let approval = crate::record::waiting(&story)[0].clone();
    story.out(&format!("answer {approval} yes"));
    // What comes after the answer is answered, and the run is still where it was.
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    assert_eq!(story.out("send Hi"), "Hello.\n");
    stop(server);
    assert_eq!(story.json(&format!("trace {event} --json"))["status"], "paused");
    script(&story, "s.jsonl", &[line("", &["touch new.txt"]), line("Done.", &[])]);
    story.out(&format!("resume {}", run_of(&story.json(&format!("trace {event} --json")))));
    let trace = story.json(&format!("trace {event} --json"));
    assert_eq!(
        (&trace["status"], stage(&trace, "delivery")["data"]["chunks"].as_u64()),
        (&"answered".into(), Some(1))
    );
}
