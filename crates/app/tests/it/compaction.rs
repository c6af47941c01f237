//! Compactions: when they come, what the model is asked and shown, and how they end.

use serde_json::{Value, json};

use crate::models::{Served, answer, call, story, text};
use crate::record::{all_is_recorded, entries};
use crate::story::{Story, ids};

/// About a thousand tokens, and a mark to be found by.
fn prompt(number: usize) -> String {
    format!("mark-{number}{}", " the".repeat(1_000))
}

/// Room for five such prompts, of which three are kept.
const SMALL: &str = "-c limits.window=8000";

fn say(story: &Story, number: usize) {
    let prompt = prompt(number);
    story.out(&format!("{SMALL} run --session desk --model some-model '{prompt}'"));
}

fn answers(numbers: std::ops::RangeInclusive<usize>) -> Vec<String> {
    numbers.map(|number| text(&format!("answer-{number}"))).collect()
}

/// Six turns: before the sixth, the first three become one text.
fn compacted() -> (Served, Story) {
    let mut all = answers(1..=5);
    all.push(text("SUMMARY-ONE"));
    all.extend(answers(6..=20));
    let server = Served::new(all);
    let story = story(&server);
    (1..=6).for_each(|number| say(&story, number));
    (server, story)
}

/// What was said to the model in its n-th request, all messages together.
fn asked(server: &Served, at: usize) -> String {
    let all = server.asked();
    let request = all.get(at).unwrap_or_else(|| panic!("there were {} requests", all.len()));
    request.body["messages"].to_string()
}

/// The marks that stand in a request, in order, and how often each does.
fn marks(request: &str) -> Vec<String> {
    let found = request.match_indices("mark-").map(|(at, _)| {
        request[at..].chars().take_while(|c| c.is_alphanumeric() || *c == '-').collect()
    });
    found.collect()
}

fn numbered(numbers: &[usize]) -> Vec<String> {
    numbers.iter().map(|number| format!("mark-{number}")).collect()
}

/// The turns of a session that came to their end, with whether each is a compaction.
fn turns(story: &Story, session: &str) -> Vec<(String, Value)> {
    let ended = entries(story, "session", session)
        .into_iter()
        .filter(|entry| entry["event"]["type"] == "turn_ended");
    ended
        .map(|entry| {
            let id = entry["turnId"].as_str().expect("a turn has an id").to_owned();
            (id, entry["event"]["context"]["compaction"].clone())
        })
        .collect()
}

fn head(story: &Story, key: &str) -> Value {
    let sessions = story.json("show session --format json");
    let found = sessions.as_array().expect("a list").iter().find(|one| one["key"] == key).cloned();
    found.expect("the session is there")["head"].clone()
}

#[test]
fn older_turns_become_one_text_and_the_kept_ones_are_shown_exactly_once() {
    let (server, story) = compacted();
    let summing = &server.asked()[5].body.clone();
    assert!(summing.get("tools").is_none_or(|tools| tools == &serde_json::json!([])), "{summing}");
    assert_eq!(summing["messages"].as_array().map(Vec::len), Some(2), "nothing else is sent");
    assert_eq!(marks(&asked(&server, 5)), numbered(&[1, 2, 3]));
    let request = asked(&server, 6);
    assert_eq!(marks(&request), numbered(&[4, 5, 6]));
    assert_eq!(request.matches("SUMMARY-ONE").count(), 1);
    assert!(request.find("SUMMARY-ONE") < request.find("mark-4"), "{request}");
    for kept in ["answer-4", "answer-5"] {
        assert_eq!(request.matches(kept).count(), 1, "{kept}");
    }
    let turns = turns(&story, "desk");
    assert_eq!(turns.len(), 7);
    let one = &turns[5].1;
    assert_eq!(one["summary"], "SUMMARY-ONE");
    assert_eq!(
        (&one["summarized_through"], &one["first_kept"]),
        (&Value::from(turns[2].0.clone()), &Value::from(turns[3].0.clone()))
    );
    let tokens = |field: &str| one[field].as_u64().expect("it is a number");
    assert!(tokens("tokens_after") < tokens("tokens_before"), "{one}");
    assert_eq!(head(&story, "desk"), Value::from(turns[6].0.clone()));
    let shown = story.out("show session desk");
    assert!(shown.contains("compaction starts (the model's window is almost full)"), "{shown}");
    assert!(shown.contains("compaction ended: "), "{shown}");
    all_is_recorded(&story);
}

#[test]
fn the_second_compaction_includes_the_first() {
    let (server, story) = compacted();
    (7..=9).for_each(|number| say(&story, number));
    // Runs 7 and 8 made one request each; run 9 two.
    let summing = asked(&server, 9);
    assert_eq!(marks(&summing), numbered(&[4, 5, 6]));
    assert_eq!(summing.matches("SUMMARY-ONE").count(), 1, "{summing}");
    let request = asked(&server, 10);
    assert_eq!(marks(&request), numbered(&[7, 8, 9]));
    assert!(!request.contains("SUMMARY-ONE"), "the second stands for it");
    assert!(request.contains("answer-9"), "the scripted answer became the second summary");
    all_is_recorded(&story);
}

#[test]
fn a_fork_is_shown_what_its_own_branch_has() {
    let (server, story) = compacted();
    let turns = turns(&story, "desk");
    for (at, summary, shown) in [
        // Before what was summed up ends, among what was kept, at the compaction, and after it.
        (1, false, vec![1, 2, 30]),
        (3, false, vec![1, 2, 3, 4, 30]),
        (5, true, vec![4, 5, 30]),
        (6, true, vec![4, 5, 6, 30]),
    ] {
        story.out(&format!("fork {} --session branch-{at}", turns[at].0));
        let from = server.asked().len();
        let run = format!("{SMALL} run --session branch-{at} --model some-model mark-30");
        story.out(&run);
        let request = asked(&server, from);
        assert_eq!(marks(&request), numbered(&shown), "fork of turn {at}");
        assert_eq!(request.contains("SUMMARY-ONE"), summary, "fork of turn {at}");
    }
    all_is_recorded(&story);
}

#[test]
fn where_there_is_nothing_to_sum_up_nothing_is_recorded() {
    let server = Served::new(answers(1..=1));
    let story = story(&server);
    assert_eq!(story.ran_in("", "compact").code, Some(2), "there is no session");
    story.out("run --session desk --model some-model hello");
    let before = entries(&story, "session", "desk").len();
    for command in ["compact", "compact desk", "compact --focus x"] {
        assert_eq!(story.out(command), "desk: nothing to summarize\n");
    }
    assert_eq!(entries(&story, "session", "desk").len(), before);
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn somebody_asks_for_a_compaction_and_says_what_matters() {
    let mut all = answers(1..=5);
    all.extend([text("SUMMARY-ONE"), text("answer-6")]);
    let server = Served::new(all);
    let story = story(&server);
    (1..=5).for_each(|number| say(&story, number));
    let out = story.out(&format!("{SMALL} compact desk --focus 'the price of milk'"));
    let turns = turns(&story, "desk");
    let (one, through, first) = (&turns[5].1, &turns[1].0, &turns[2].0);
    assert_eq!(
        out.trim_end(),
        format!(
            "{} → {} tokens; summarized through {through}, kept from {first} on",
            one["tokens_before"], one["tokens_after"]
        )
    );
    let summing = asked(&server, 5);
    assert_eq!(marks(&summing), numbered(&[1, 2]));
    assert!(summing.contains("Give most room to: the price of milk."), "{summing}");
    story.out(&format!("{SMALL} run --session desk --model some-model mark-6"));
    let request = asked(&server, 6);
    assert_eq!(marks(&request), numbered(&[3, 4, 5, 6]));
    assert!(request.contains("SUMMARY-ONE"), "{request}");
    all_is_recorded(&story);
}

#[test]
fn a_call_and_its_outcome_stay_together() {
    let read = || call(r#"{"path":"notes.md"}"#);
    let mut all = answers(1..=2);
    // The third turn is the last that is summed up, the fourth the first that is kept.
    for number in 3..=4 {
        all.extend([read(), text(&format!("answer-{number}"))]);
    }
    all.extend([text("answer-5"), text("SUMMARY-ONE"), text("answer-6")]);
    let server = Served::new(all);
    let story = story(&server);
    (1..=6).for_each(|number| say(&story, number));
    let requests = server.asked();
    let request = requests.last().expect("there were requests").body["messages"].clone();
    let messages = request.as_array().expect("a list");
    let outcomes: Vec<usize> =
        (0..messages.len()).filter(|at| messages[*at]["role"] == "tool").collect();
    assert_eq!(outcomes.len(), 1, "{request}");
    let calls = &messages[outcomes[0] - 1]["tool_calls"];
    assert_eq!(calls[0]["id"], messages[outcomes[0]]["tool_call_id"], "{request}");
    assert_eq!(marks(&request.to_string()), numbered(&[4, 5, 6]));
    drop(requests);
    all_is_recorded(&story);
}

fn too_long() -> String {
    let body = r#"{"error":{"message":"This model's maximum context length is 10 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
    answer("400 Bad Request", "application/json", body)
}

#[test]
fn a_request_that_was_too_long_is_made_shorter_and_tried_once_more() {
    let mut all = answers(1..=3);
    all.extend([too_long(), text("SUMMARY-ONE"), text("answer-4"), text("answer-5")]);
    let server = Served::new(all);
    let story = story(&server);
    (1..=3).for_each(|number| say(&story, number));
    let ran = story.ran_in("", &format!("run --session desk --model some-model '{}'", prompt(4)));
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "answer-4"), "{}", ran.err);
    assert!(
        ran.err.contains("compaction: the model said that the request was too long"),
        "{}",
        ran.err
    );
    assert_eq!(server.asked().len(), 6);
    let request = asked(&server, 5);
    assert!(request.contains("SUMMARY-ONE"), "{request}");
    assert_eq!(request.matches("mark-4").count(), 1);
    let turns = turns(&story, "desk");
    // The turn that was too long is in the record, and not on the branch.
    assert_eq!(turns.len(), 6);
    story.out("run --session desk --model some-model mark-5");
    assert_eq!(asked(&server, 6).matches("mark-4").count(), 1);
    all_is_recorded(&story);
}

#[test]
fn a_request_that_stays_too_long_is_not_tried_for_ever() {
    let mut all = answers(1..=3);
    all.extend([too_long(), text("SUMMARY-ONE"), too_long(), text("never said")]);
    let server = Served::new(all);
    let story = story(&server);
    (1..=3).for_each(|number| say(&story, number));
    let ran = story.ran_in("", &format!("run --session desk --model some-model '{}'", prompt(4)));
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    assert!(ran.err.contains("still says that the request is too long after"), "{}", ran.err);
    assert_eq!(server.asked().len(), 6);
    all_is_recorded(&story);
}

#[test]
fn a_first_request_that_is_too_long_says_what_the_provider_says() {
    let server = Served::new(vec![too_long()]);
    let story = story(&server);
    let ran = story.ran_in("", "run --session desk --model some-model hello");
    assert_eq!(ran.code, Some(6), "{}", ran.err);
    assert!(ran.err.contains("maximum context length is 10 tokens"), "{}", ran.err);
    assert_eq!(server.asked().len(), 1);
    all_is_recorded(&story);
}

#[test]
fn compactions_that_make_nothing_shorter_stop_with_an_error() {
    let mut all = answers(1..=5);
    all.extend([text(&"long ".repeat(3_000)), text(&"longer ".repeat(5_000)), text("never said")]);
    let server = Served::new(all);
    let story = story(&server);
    (1..=5).for_each(|number| say(&story, number));
    story.out(&format!("{SMALL} compact desk"));
    story.out("-c limits.window=4000 compact desk");
    assert_eq!(server.asked().len(), 7);
    let ran = story.ran_in("", "-c limits.window=4000 run --session desk --model some-model hello");
    assert_eq!(ran.code, Some(5), "{}", ran.err);
    assert!(ran.err.contains("was compacted 2 times and still has"), "{}", ran.err);
    assert_eq!(server.asked().len(), 7, "nobody was asked");
    all_is_recorded(&story);
}

#[test]
fn a_summary_that_nobody_wrote_changes_nothing() {
    let mut all = answers(1..=5);
    all.extend([text("  "), text("never said")]);
    let server = Served::new(all);
    let story = story(&server);
    (1..=5).for_each(|number| say(&story, number));
    let before = head(&story, "desk");
    let ran = story.ran_in("", &format!("{SMALL} compact desk"));
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("the model wrote no summary of the earlier turns"), "{}", ran.err);
    assert_eq!(head(&story, "desk"), before);
    all_is_recorded(&story);
}

#[test]
fn who_sums_up_can_call_nothing() {
    let mut all = answers(1..=5);
    all.extend([call(r#"{"path":"notes.md"}"#), text("never said")]);
    let server = Served::new(all);
    let story = story(&server);
    (1..=5).for_each(|number| say(&story, number));
    let ran = story.ran_in("", &format!("{SMALL} compact desk"));
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let all = entries(&story, "session", "desk");
    assert!(!all.iter().any(|entry| entry["event"]["type"] == "call_started"));
    assert_eq!(server.asked().len(), 6);
    all_is_recorded(&story);
}

#[test]
fn a_failed_turn_leaves_the_head_where_it_was() {
    let server = Served::new(vec![
        text("answer-1"),
        answer("401 Unauthorized", "application/json", r#"{"error":{"message":"no"}}"#),
        text("answer-3"),
    ]);
    let story = story(&server);
    story.out("run --session desk --model some-model mark-1");
    let first = head(&story, "desk");
    let ran = story.ran_in("", "run --session desk --model some-model mark-2");
    assert_eq!(ran.code, Some(6), "{}", ran.err);
    assert_eq!(head(&story, "desk"), first);
    story.out("run --session desk --model some-model mark-3");
    assert_eq!(marks(&asked(&server, 2)), numbered(&[1, 3]));
    let shown = ids(&story.out("show session desk"));
    assert!(shown.contains("mark-2"), "what failed is still in the record");
    all_is_recorded(&story);
}

/// An answer of a provider that does not say what was spent.
fn uncounted(delta: &Value, reason: &str) -> String {
    let chunk = json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let last = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] });
    let body = format!("data: {chunk}\n\ndata: {last}\n\ndata: [DONE]\n\n");
    answer("200 OK", "text/event-stream", &body)
}

#[test]
fn long_outputs_of_old_calls_are_cut_first_and_the_beginning_stays_the_same() {
    let function = json!({ "name": "read_file", "arguments": r#"{"path":"long.txt"}"# });
    let call = json!({ "index": 0, "id": "c1", "type": "function", "function": function });
    let mut all = Vec::new();
    for number in 1..=9 {
        if number < 8 {
            all.push(uncounted(&json!({ "tool_calls": [call] }), "tool_calls"));
        }
        all.push(uncounted(&json!({ "content": format!("answer-{number}") }), "stop"));
    }
    let server = Served::new(all);
    let story = story(&server);
    story.file("long.txt", "word ".repeat(3_000).as_bytes());
    for number in 1..=9 {
        story.out(&format!(
            "-c limits.window=60000 run --session desk --model some-model mark-{number}"
        ));
    }
    let pruned: Vec<Value> = entries(&story, "session", "desk")
        .into_iter()
        .filter(|entry| entry["event"]["type"] == "turn_started")
        .map(|entry| entry["event"]["pruned"].clone())
        .collect();
    let steps = pruned.iter().filter(|step| !step.is_null()).count();
    assert!(steps >= 1, "nothing was cut: {pruned:?}");
    assert!(!server.asked().iter().any(|one| one.body.to_string().contains("<turns>")));
    // Between two steps each request begins with all of the one before.
    let last = server.asked().len() - 1;
    let messages =
        |at: usize| server.asked()[at].body["messages"].as_array().cloned().unwrap_or_default();
    let (before, after) = (messages(last - 1), messages(last));
    assert_eq!(after[..before.len()], before[..]);
    assert!(asked(&server, last).contains("[Tool output trimmed"), "the cut is said");
    all_is_recorded(&story);
}
