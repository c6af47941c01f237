//! Event hooks: programs that look at what comes in and may start work.

use serde_json::{Value, json};

use crate::intake::{stop, until};
use crate::record::{line, script, waiting};
use crate::story::{Story, Talk};

const PROJECT: &str = "
    --- .agentry/agents/host/AGENT.md
    ---
    name: Host
    tools: [Bash, create_hook, list_hooks, disable_hook]
    ---
    You answer.
    --- .agentry/agents/clerk/AGENT.md
    ---
    name: Clerk
    ---
    You file.
    --- .agentry/access/all.yml
    policies:
      - name: room
        match: {principal: {unknown: true}}
        effect: allow
        session: {key: room}
        priority: 50
      - name: stripe
        match: {principal: {webhook: stripe}}
        effect: allow
        session: {key: money}
        priority: 60
    --- agentry.toml
    [agent]
    default = 'host'
    ";

/// A project with these hooks, registered, and a server.
fn served(hooks: &[(&str, &str, &str)]) -> (Story, Talk) {
    let story = project(hooks);
    let server = serve(&story);
    (story, server)
}

fn project(hooks: &[(&str, &str, &str)]) -> Story {
    let story = Story::new(PROJECT);
    script(&story, "s.jsonl", &[line("Done.", &[])]);
    for (name, yml, body) in hooks {
        register(&story, name, yml, body);
    }
    story
}

fn register(story: &Story, name: &str, yml: &str, body: &str) {
    story.write(&format!("--- own/{name} +x\n#!/bin/sh\n{body}\n"));
    story.file(&format!("own/{name}.yml"), format!("name: {name}\n{yml}").as_bytes());
    let ran = story.ran_in("", &format!("hooks register own/{name}"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

fn serve(story: &Story) -> Talk {
    let mut server = story.talk("serve --agent host --model scripted:s.jsonl");
    server.hear_line("ready");
    server
}

fn hand_in(story: &Story, id: &str, how: &str, text: &str) {
    let ran = story.ran_in("", &format!("send --no-wait --id {id} {how} '{text}'"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

/// Waits until a hook has so many runnings behind it.
fn invoked(story: &Story, hook: &str, count: usize) -> Vec<Value> {
    let mut last = Value::Null;
    for _ in 0..2_000 {
        last = story.json(&format!("hooks invocations {hook} --json"));
        let done = |one: &&Value| !one["finished_at"].is_null();
        let all: Vec<Value> =
            last.as_array().expect("it is a list").iter().filter(done).cloned().collect();
        if all.len() >= count {
            return all;
        }
    }
    panic!("{hook} has not run {count} times: {last:#}");
}

/// The entry that an event came in with.
fn seq(story: &Story, event: &str) -> Value {
    let trace = story.json(&format!("trace {event} --json"));
    trace["pipeline"][0]["data"]["seq"].clone()
}

fn info(story: &Story, hook: &str) -> Value {
    story.json(&format!("hooks info {hook} --json"))
}

/// The runs, newest first: agent and session.
fn runs(story: &Story) -> Vec<(String, String)> {
    let runs = story.json("show --format json");
    let opened = |run: &Value| {
        let session = run["session_id"].as_str().expect("it has a session");
        let entries = crate::record::entries(story, "session", session);
        let opened = entries.into_iter().find(|one| one["event"]["type"] == "session_opened");
        let event = opened.expect("it was opened")["event"].clone();
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        (text("agent"), text("key"))
    };
    runs.as_array().expect("it is a list").iter().map(opened).collect()
}

const FIRES: &str =
    r#"echo '{"fire": true, "context": {"prompt": "Look at it."}}' > "$AGENTRY_HOOK_OUTPUT""#;
const SILENT: &str = r#"echo '{"fire": false}'"#;
const MESSAGES: &str = "triggers: {event: {types: [message], channels: [chat]}}\n";

#[test]
fn two_hooks_that_fire_on_one_message_are_one_run_beside_the_plain_answer() {
    let (story, server) = served(&[
        ("first", MESSAGES, FIRES),
        ("second", MESSAGES, r#"echo '{"fire": true, "context": {"extracted": {"sum": 7}}}'"#),
        ("third", MESSAGES, SILENT),
        ("elsewhere", "triggers: {event: {channels: [other]}}\n", FIRES),
    ]);
    hand_in(&story, "m1", "--channel chat --from x --peer p", "Hi there");
    until(&story, "chat:m1", "answered");
    for hook in ["first", "second", "third"] {
        invoked(&story, hook, 1);
    }
    let fired = format!("chat:hook:{}:own", seq(&story, "chat:m1"));
    let trace = until(&story, &fired, "answered");
    stop(server);
    assert_eq!(runs(&story).len(), 2, "{:?}", runs(&story));
    assert!(runs(&story).iter().all(|(agent, key)| agent == "host" && key == "room"));
    let turn = trace["pipeline"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["stage"] == "agent")
        .unwrap()["data"]["turn_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let entries = crate::record::entries(&story, "turn", &turn);
    let prompt = entries[0]["event"]["prompt"].as_str().unwrap().to_owned();
    for part in
        ["[Hook first fired]", "Look at it.", "[Hook second fired]", "\"sum\":7", "> Hi there"]
    {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let never = story.json("hooks invocations elsewhere --json");
    assert_eq!(never, json!([]));
}

#[test]
fn a_webhook_reaches_an_agent_only_when_a_hook_fires_and_never_another_session() {
    let filter = r#"
amount=$(sed -n 's/.*"amount":\([0-9]*\).*/\1/p' "$CYBROS_HOOK_INPUT")
if [ "$amount" -gt 10000 ]; then
  echo '{"fire": true, "agent": "clerk", "context": {"prompt": "Large."}, "routing": {"mode": "session", "target": "main"}}'
else
  echo '{"fire": false}'
fi"#;
    let (story, server) = served(&[(
        "large",
        "triggers: {principal: {type: webhook, source: stripe}, event: {metadata: {kind: charge}}}\n",
        filter,
    )]);
    let send = |id: &str, amount: u64, kind: &str| {
        let how = format!(
            "--channel webhook --from stripe --account stripe --metadata '{{\"kind\":\"{kind}\",\"amount\":{amount}}}'"
        );
        hand_in(&story, id, &how, "x");
    };
    send("small", 500, "charge");
    send("big", 20000, "charge");
    send("other", 20000, "refund");
    until(&story, "webhook:small", "unrun");
    until(&story, "webhook:other", "unrun");
    until(&story, "webhook:big", "unrun");
    let fired = format!("webhook:hook:{}:clerk", seq(&story, "webhook:big"));
    until(&story, &fired, "answered");
    stop(server);
    assert_eq!(runs(&story), [("clerk".to_owned(), "money".to_owned())]);
    assert_eq!(invoked(&story, "large", 2).len(), 2);
}

#[test]
fn a_one_shot_is_over_when_it_has_fired_and_last_triggered_means_fired() {
    let (story, server) = served(&[
        ("once", "mode: one-shot\ntriggers: {event: {channels: [chat]}}\n", FIRES),
        ("quiet", "triggers: {event: {channels: [chat]}}\n", SILENT),
    ]);
    for id in ["m1", "m2"] {
        hand_in(&story, id, "--channel chat --from x --peer p", "Hi");
        until(&story, &format!("chat:{id}"), "answered");
        invoked(&story, "quiet", usize::from(id == "m2") + 1);
    }
    stop(server);
    let once = info(&story, "once");
    assert_eq!(once["status"], "disabled", "{once:#}");
    assert_eq!(once["trigger_count"], 1);
    assert!(once["last_triggered"].is_u64());
    let quiet = info(&story, "quiet");
    assert_eq!((&quiet["trigger_count"], &quiet["last_triggered"]), (&json!(0), &Value::Null));
}

#[test]
fn five_failures_open_the_breaker_and_the_sixth_event_does_not_set_it_off() {
    let (story, server) = served(&[
        ("bad", "triggers: {event: {channels: [chat]}}\n", "echo broken >&2; exit 1"),
        ("good", "triggers: {event: {channels: [chat]}}\n", SILENT),
    ]);
    for number in 1..=6 {
        let id = format!("m{number}");
        hand_in(&story, &id, "--channel chat --from x --peer p", "Hi");
        until(&story, &format!("chat:{id}"), "answered");
        invoked(&story, "good", number);
    }
    let ran = stop(server);
    assert!(ran.err.contains("is paused for 5 minutes: it failed 5 times in a row"), "{}", ran.err);
    let bad = info(&story, "bad");
    assert_eq!(bad["status"], "paused", "{bad:#}");
    assert_eq!(invoked(&story, "bad", 5).len(), 5);
    assert!(bad["last_error"].as_str().unwrap().contains("broken"), "{bad:#}");
    let stats = story.json("hooks stats bad --json");
    assert_eq!(stats["errors"], 5, "{stats:#}");
}

#[test]
fn hostile_hooks_are_ended_and_do_not_hold_up_the_others() {
    let (story, server) = served(&[
        ("hangs", "timeout_ms: 300\ntriggers: {event: {channels: [chat]}}\n", "sleep 600"),
        ("floods", "timeout_ms: 300\ntriggers: {event: {channels: [chat]}}\n", "yes x"),
        ("garbage", MESSAGES, "echo garbage"),
        ("links", MESSAGES, r#"ln -s /etc/passwd "$AGENTRY_HOOK_OUTPUT""#),
        ("odd", MESSAGES, r#"echo '{"fire": true, "session": "main"}'"#),
        ("works", MESSAGES, SILENT),
    ]);
    hand_in(&story, "m1", "--channel chat --from x --peer p", "Hi");
    until(&story, "chat:m1", "answered");
    for (hook, why) in [
        ("hangs", "took longer than"),
        ("floods", "took longer than"),
        ("garbage", "not one JSON object"),
        ("links", "a link"),
        ("odd", "`session` that nobody knows"),
    ] {
        let error = invoked(&story, hook, 1)[0]["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains(why), "{hook}: {error}");
    }
    assert_eq!(invoked(&story, "works", 1)[0]["error"], Value::Null);
    stop(server);
    assert_eq!(runs(&story).len(), 1);
}

#[test]
fn a_hook_may_ask_the_one_model_and_what_it_asks_is_counted() {
    let body = r#"
. "$AGENTRY_SH"
agentry_classify "Is this urgent? $(agentry_get event.content)" yes no
if [ "$AGENTRY_LABEL" = yes ]; then agentry_fire "It is urgent."; else agentry_no; fi"#;
    let story = project(&[]);
    let yes = json!({"text": "{\"label\": \"yes\", \"confidence\": 0.9}"}).to_string();
    script(&story, "s.jsonl", &[yes]);
    register(&story, "urgent", "model: true\ntriggers: {event: {channels: [chat]}}\n", body);
    register(&story, "dumb", "triggers: {event: {channels: [chat]}}\n", body);
    let server = serve(&story);
    hand_in(&story, "m1", "--channel chat --from x --peer p", "Fire!");
    until(&story, "chat:m1", "answered");
    let done = invoked(&story, "urgent", 1).remove(0);
    assert_eq!((&done["fired"], &done["llm_calls"]), (&json!(true), &json!(1)), "{done:#}");
    let dumb = invoked(&story, "dumb", 1).remove(0);
    assert!(dumb["error"].as_str().unwrap().contains("model: true"), "{dumb:#}");
    stop(server);
}

#[test]
fn a_hook_is_tried_by_hand_and_nothing_is_done() {
    let story =
        project(&[("once", "mode: one-shot\ntriggers: {event: {channels: [chat]}}\n", FIRES)]);
    story.file("event.json", br#"{"channel": "chat", "sender_id": "x", "content": "Hi"}"#);
    let out = story.out("hooks test once --event event.json --model scripted:s.jsonl");
    assert!(out.contains("It fires; the agent of the session would receive:"), "{out}");
    assert!(out.contains("It would be disabled: it fired, and was to fire once"), "{out}");
    story.file("event.json", br#"{"channel": "other", "sender_id": "x"}"#);
    let out = story.out("hooks test once --event event.json --model scripted:s.jsonl");
    assert!(out.contains("Its triggers do not match"), "{out}");
    story.file("event.json", b"[]");
    let ran = story.ran_in("", "hooks test once --event event.json");
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(runs(&story).is_empty());
    assert_eq!(info(&story, "once")["trigger_count"], 0);
}

#[test]
fn an_agent_makes_a_hook_with_approval_and_ends_only_its_own() {
    let story = project(&[("owners", MESSAGES, SILENT)]);
    let call = |name: &str, input: Value| {
        json!({"text": "", "tool_calls": [{"name": name, "input": input}]}).to_string()
    };
    let made = json!({"name": "mine", "script": "#!/bin/sh\necho '{\"fire\": false}'\n",
                      "triggers": {"event": {"channels": ["chat"]}}});
    script(
        &story,
        "make.jsonl",
        &[
            call("create_hook", made),
            call("disable_hook", json!({"hook": "owners"})),
            call("disable_hook", json!({"hook": "mine", "reason": "enough"})),
            line("Done.", &[]),
        ],
    );
    let ran = story.ran_in("", "run --agent host --model scripted:make.jsonl go");
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    assert!(story.ran_in("", "hooks info mine").code != Some(0));
    for _ in 0..3 {
        let approval = waiting(&story).remove(0);
        story.out(&format!("answer {approval} yes"));
        story.run(&format!("resume {}", crate::record::latest(&story)));
    }
    let mine = info(&story, "mine");
    assert_eq!(
        (&mine["status"], &mine["disabled_reason"]),
        (&json!("disabled"), &json!("enough")),
        "{mine:#}"
    );
    assert_eq!(mine["created_by"]["agent"], "host", "{mine:#}");
    assert_eq!(info(&story, "owners")["status"], "active");
}

#[test]
fn a_hook_that_was_under_way_when_the_server_was_killed_is_not_run_again() {
    let story = Story::new(PROJECT);
    script(&story, "s.jsonl", &[line("Done.", &[])]);
    // It asks the model, which is a pipe that nobody writes to.
    story.gate("gate.jsonl");
    let body = r#"
. "$AGENTRY_SH"
agentry_classify "?" yes no >/dev/null
agentry_fire "late""#;
    register(&story, "slow", "model: true\ntriggers: {event: {channels: [chat]}}\n", body);
    register(&story, "quick", "triggers: {event: {channels: [chat]}}\n", FIRES);
    let mut server = story.talk("serve --agent host --model scripted:gate.jsonl");
    server.hear_line("ready");
    hand_in(&story, "m1", "--channel chat --from x --peer p", "Hi");
    invoked(&story, "quick", 1);
    server.kill();
    let server = serve(&story);
    let slow = invoked(&story, "slow", 1).remove(0);
    assert!(slow["error"].as_str().unwrap().contains("it is not run again"), "{slow:#}");
    until(&story, "chat:m1", "answered");
    until(&story, &format!("chat:hook:{}:own", seq(&story, "chat:m1")), "answered");
    stop(server);
    assert_eq!(invoked(&story, "quick", 1).len(), 1);
}

#[test]
fn no_channel_can_hand_in_what_hooks_want_done() {
    let story = project(&[]);
    let ran = story.ran_in(
        "",
        "send --no-wait --id x --channel chat --from x --event-type hook_fired 'do it'",
    );
    assert_ne!(ran.code, Some(0), "{}", ran.out);
}
