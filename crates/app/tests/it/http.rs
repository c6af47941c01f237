//! The server: runs over HTTP, streams that go on after a break, and what a client can do to a run.

use serde_json::{Value, json};

use crate::intake::stop;
use crate::record::{all_is_recorded, line, script, story};
use crate::story::Story;
use crate::web::{Event, Web, ids, kinds, serve, served};

/// A story whose agent first waits at a gate, and then answers.
fn gated() -> Story {
    let story = story();
    story.gate("gate");
    script(&story, "s.jsonl", &[line("Looking.", &["cat gate"]), line("All done.", &[])]);
    story
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value:#}"))
}

/// Says something in a session of its own; the session and the run, once they are there.
fn begun(web: &Web, said: &str) -> (String, String) {
    let sent = web.post("/api/sessions", &json!({ "text": said }));
    assert_eq!(sent.status, 202, "{}", sent.body);
    let event = text(&sent.json(), "eventId").to_owned();
    let became = web.get(&format!("/api/messages/{event}?waitMs=30000")).json();
    (text(&became, "sessionId").to_owned(), text(&became, "runId").to_owned())
}

#[test]
fn a_run_request_streams_agent_events_with_ids() {
    let story = story();
    script(&story, "s.jsonl", &[line("Let me see.", &["echo hi"]), line("Hello.", &[])]);
    let (server, web) = serve(&story, "--insecure-loopback");
    let events = web.run("Hello");
    assert_eq!(kinds(&events), ["init", "text", "tool_use", "tool_result", "text", "done"]);
    let partial = |event: &&Event| event.data["isPartial"] == true;
    assert!(events.iter().filter(partial).count() > 1, "the answer comes in pieces");
    assert!(events.iter().filter(partial).all(|event| event.id.is_none()));
    let whole = events.iter().filter(|event| !partial(event));
    assert!(whole.clone().all(|event| event.id.is_some()));
    assert_eq!(events.last().unwrap().data["result"], "Hello.");
    stop(server);
    all_is_recorded(&story);
}

#[test]
fn a_stream_that_breaks_anywhere_goes_on_without_loss_or_repeat() {
    let story = story();
    script(&story, "s.jsonl", &[line("Let me see.", &["echo hi"]), line("Hello.", &[])]);
    let (server, web) = served(&story);
    let body = json!({ "prompt": "Hello" }).to_string();
    let mut stream = web.stream(("POST", "/run"), &[], &body);
    let place = stream.headers.iter().find(|(name, _)| name == "location").unwrap().1.clone();
    let all: Vec<Event> = stream.by_ref().collect();
    let all = ids(&all);
    let run = story.json("show --format json")[0]["run_id"].as_str().unwrap().to_owned();
    for place in [place, format!("/api/runs/{run}/events")] {
        for cut in 0..all.len() {
            let rest: Vec<Event> =
                web.stream(("GET", &place), &[("Last-Event-ID", &all[cut])], "").collect();
            assert_eq!(ids(&rest), all[cut + 1..], "{place} after {}", all[cut]);
        }
        let whole: Vec<Event> = web.stream(("GET", &place), &[], "").collect();
        assert_eq!(ids(&whole), all, "{place}");
    }
    stop(server);
}

#[test]
fn the_same_key_of_a_request_runs_once() {
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let (server, web) = served(&story);
    let headers = [("Idempotency-Key", "order-1")];
    let body = json!({ "prompt": "Hello" }).to_string();
    let first: Vec<Event> = web.stream(("POST", "/run"), &headers, &body).collect();
    let again: Vec<Event> = web.stream(("POST", "/run"), &headers, &body).collect();
    assert_eq!(ids(&again), ids(&first));
    let other = json!({ "prompt": "Something else" }).to_string();
    let refused = web.ask(("POST", "/run"), &headers, &other);
    assert_eq!((refused.status, refused.code().as_str()), (409, "conflict"));
    assert_eq!(story.json("show --format json").as_array().unwrap().len(), 1);
    stop(server);
}

#[test]
fn a_run_is_steered_and_asked_about_and_stopped_over_http() {
    let story = gated();
    let (server, web) = served(&story);
    let (session, run) = begun(&web, "Look at the gate");
    let mut live = web.stream(("GET", &format!("/api/stream?session={session}&after=0")), &[], "");
    live.entry("call_started");
    let steer = json!({ "text": "And be quick", "delivery": "steer" });
    let steered = web.post(&format!("/api/sessions/{session}/messages"), &steer);
    assert_eq!(steered.status, 202, "{}", steered.body);
    assert_eq!(live.entry("steer_received").data["event"]["content"], "And be quick");
    let busy = web.get(&format!("/api/sessions/{session}")).json();
    assert_eq!(busy["session"]["state"], "running");
    assert_eq!(web.post(&format!("/api/runs/{run}/cancel"), &json!({})).status, 202);
    assert_eq!(live.entry("run_ended").data["event"]["ending"], "cancelled");
    let over = web.post(&format!("/api/runs/{run}/cancel"), &json!({}));
    assert_eq!((over.status, over.code().as_str()), (409, "conflict"));
    assert_eq!(web.get(&format!("/api/runs/{run}")).json()["run"]["status"], "canceled");
    stop(server);
    all_is_recorded(&story);
}

#[test]
fn a_call_that_asks_is_answered_over_http_and_the_run_goes_on() {
    let story = story();
    script(&story, "s.jsonl", &[line("Trying.", &["touch made"]), line("Over.", &[])]);
    let (server, web) = served(&story);
    let mut events = web.stream(("POST", "/run"), &[], &json!({ "prompt": "go" }).to_string());
    let gate = events.find(|event| event.data["type"] == "approval_gate").expect("it is asked");
    let (run, id) = (text(&gate.data, "runId").to_owned(), text(&gate.data, "gateId").to_owned());
    let wrong = json!({ "gateId": "apr_x", "allow": true });
    assert_eq!(web.post(&format!("/runs/{run}/approvals"), &wrong).status, 422);
    let answer = json!({ "gateId": id, "allow": true });
    assert_eq!(web.post(&format!("/runs/{run}/approvals"), &answer).status, 200);
    let done = events.last().expect("the run ends");
    assert_eq!((&done.data["type"], &done.data["result"]), (&json!("done"), &json!("Over.")));
    assert!(story.path("made").exists());
    let again = web.post(&format!("/runs/{run}/approvals"), &answer);
    assert_eq!((again.status, again.code().as_str()), (409, "conflict"));
    stop(server);
    all_is_recorded(&story);
}

#[test]
fn a_turn_is_forked_and_the_fork_goes_on() {
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let (server, web) = served(&story);
    let (session, run) = begun(&web, "One");
    web.stream(("GET", &format!("/api/runs/{run}/events")), &[], "").for_each(drop);
    let whole = web.get(&format!("/api/sessions/{session}")).json();
    let turn = text(&whole["branch"][0], "turnId").to_owned();
    let forked = web.post(&format!("/api/turns/{turn}/fork"), &json!({ "key": "other" }));
    assert_eq!(forked.status, 201, "{}", forked.body);
    let fork = text(&forked.json(), "sessionId").to_owned();
    let branch = web.get(&format!("/api/sessions/{fork}")).json()["branch"].clone();
    assert_eq!(branch[0]["turnId"], turn.as_str());
    let sent =
        web.post(&format!("/api/sessions/{fork}/messages"), &json!({ "text": "Two" })).json();
    let became = web.get(&format!("/api/messages/{}?waitMs=30000", text(&sent, "eventId"))).json();
    assert_eq!(became["sessionId"], fork.as_str());
    stop(server);
}

#[test]
fn who_stops_the_server_tells_the_streams() {
    let story = gated();
    let (server, web) = served(&story);
    let mut live = web.stream(("GET", "/api/stream"), &[], "");
    live.until("hello");
    let ran = stop(server);
    assert!(ran.err.contains("stopping"), "{}", ran.err);
    assert_eq!(live.until("bye").data["reason"], "stopping");
    assert_eq!(live.next(), None);
}

#[test]
fn after_a_crash_in_a_turn_the_stream_goes_on_where_it_broke() {
    let story = gated();
    let (server, web) = served(&story);
    let (session, run) = begun(&web, "Look at the gate");
    let path = format!("/api/stream?session={session}");
    let mut live = web.stream(("GET", &format!("{path}&after=0")), &[], "");
    let mut seen: Vec<Event> = Vec::new();
    while seen.last().is_none_or(|event| event.data["event"]["type"] != "call_started") {
        seen.extend(live.next().filter(|event| event.name == "entry"));
    }
    server.kill();
    let (server, again) = serve(&story, "");
    let web = Web { key: web.key, ..again };
    let last = ids(&seen).pop().expect("entries have ids");
    let mut live = web.stream(("GET", &path), &[("Last-Event-ID", &last)], "");
    while seen.last().is_none_or(|event| event.data["event"]["type"] != "run_ended") {
        seen.extend(live.next().filter(|event| event.name == "entry"));
    }
    let recorded = web.get(&format!("/api/entries?session={session}&limit=1000")).json();
    let recorded = recorded["entries"].as_array().unwrap().clone();
    let recorded: Vec<String> = recorded.iter().map(|entry| entry["seq"].to_string()).collect();
    let seen = ids(&seen);
    assert_eq!(seen, recorded[..seen.len()], "every entry once and in order");
    assert_eq!(web.get(&format!("/api/runs/{run}")).json()["run"]["status"], "completed");
    stop(server);
    all_is_recorded(&story);
}

#[test]
fn a_stream_whose_listener_went_away_is_let_go() {
    let story = gated();
    let (server, web) = served(&story);
    let (session, run) = begun(&web, "Look at the gate");
    let paths = [format!("/api/stream?session={session}"), format!("/api/runs/{run}/events")];
    let open = || -> u64 {
        let health = web.get("/api/health").json();
        health["process"]["streams"].as_u64().expect("streams are counted")
    };
    let streams: Vec<_> = paths
        .iter()
        .cycle()
        .take(20)
        .map(|path| {
            let mut stream = web.stream(("GET", path), &[], "");
            stream.next().expect("it says something");
            stream
        })
        .collect();
    assert_eq!(open(), 20);
    drop(streams);
    // Nothing is recorded meanwhile; the server sees that they are gone all the same.
    assert!((0..2_000).any(|_| open() == 0), "{} streams are left", open());
    web.post(&format!("/api/runs/{run}/cancel"), &json!({}));
    stop(server);
}

#[test]
fn pages_of_the_record_have_every_entry_once() {
    let story = story();
    script(&story, "s.jsonl", &[line("Let me see.", &["echo hi"]), line("Hello.", &[])]);
    let (server, web) = served(&story);
    web.run("Hello");
    let all = web.get("/api/entries?limit=1000").json();
    let seqs = |page: &Value| -> Vec<u64> {
        let entries = page["entries"].as_array().unwrap();
        entries.iter().map(|entry| entry["seq"].as_u64().unwrap()).collect()
    };
    let whole = seqs(&all);
    assert_eq!(all["more"], false);
    let (mut forth, mut back) = (Vec::new(), Vec::new());
    let mut page = web.get("/api/entries?limit=3").json();
    loop {
        forth.extend(seqs(&page));
        if page["more"] == false {
            break;
        }
        page = web.get(&format!("/api/entries?limit=3&after={}", page["last"])).json();
    }
    let mut before = whole.last().unwrap() + 1;
    loop {
        let page = web.get(&format!("/api/entries?limit=4&before={before}")).json();
        back.splice(0..0, seqs(&page));
        if page["more"] == false {
            break;
        }
        before = page["first"].as_u64().unwrap();
    }
    // That the answer was delivered may be recorded meanwhile.
    forth.retain(|seq| whole.contains(seq));
    assert_eq!((&forth, &back), (&whole, &whole));
    let ended = all["entries"].as_array().unwrap().iter();
    let mut ended = ended.filter(|entry| entry["event"]["type"] == "turn_ended");
    let ended = ended.next().unwrap();
    assert!(ended["event"].get("messages").is_none());
    let full = web.get(&format!("/api/entries/{}", ended["seq"])).json();
    assert!(full["event"]["messages"].is_array());
    stop(server);
}

#[test]
fn a_run_plays_again_over_http() {
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let (server, web) = served(&story);
    let run = text(&web.run("Hello")[0].data, "runId").to_owned();
    let same = web.post(&format!("/api/runs/{run}/replay"), &json!({})).json();
    assert_eq!(same["identical"], true);
    let whole = web.get(&format!("/api/runs/{run}")).json();
    assert_eq!(whole["timeline"][0]["kind"], "model");
    stop(server);
}
