//! Work that comes in over HTTP beside what people say: calls of webhooks, tasks, and runs that were left.

use std::fs;

use serde_json::{Value, json};

use crate::intake::{stop, until};
use crate::record::{all_is_recorded, latest, line, script, story};
use crate::story::{Story, Talk};
use crate::web::{Web, key, serve, served};

/// The example of the documentation of GitHub's webhooks.
const SECRET: &str = "It's a Secret to Everybody";
const BODY: &str = "Hello, World!";
const SIGNATURE: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

/// Two sources: one that signs, one that has nothing to sign with.
fn sources() -> Story {
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let text = "[webhooks.github]\nsecret = \"hub\"\n[webhooks.plain]\n";
    fs::create_dir_all(story.home(".config/agentry")).expect("it can be made");
    fs::write(story.home(".config/agentry/agentry.toml"), text).expect("it can be written");
    story
}

fn with_secret(story: &Story) -> (Talk, Web) {
    let mut talk = story.talk("secret set hub");
    talk.say(SECRET);
    assert_eq!(talk.end().code, Some(0));
    served(story)
}

fn called(web: &Web, source: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let headers: Vec<(&str, &str)> =
        headers.iter().copied().chain([("Content-Type", "text/plain")]).collect();
    let answer = web.ask(("POST", &format!("/webhooks/{source}")), &headers, BODY);
    (answer.status, answer.json())
}

#[test]
fn a_signed_call_of_a_webhook_is_an_event_once() {
    let story = sources();
    let (server, owner) = with_secret(&story);
    let web = owner.keyless();
    let signed = [("X-Hub-Signature-256", SIGNATURE), ("X-GitHub-Delivery", "d-1")];
    let (status, taken) = called(&web, "github", &signed);
    // The body is what is signed, so the body is what the event is known by.
    let id = "webhook:github:dffd6021bb2bd5b0af676290809ec3a53191dd81c7f70a4b28688a362182986f";
    assert_eq!((status, &taken["eventId"]), (202, &json!(id)), "{taken}");
    assert_eq!(taken["repeated"], false);
    let (status, again) = called(&web, "github", &signed);
    assert_eq!((status, &again["repeated"], &again["seq"]), (202, &json!(true), &taken["seq"]));
    // Who calls is known by the source, and a policy would have to let it in.
    let trace = until(&story, id, "denied");
    let stages = trace["pipeline"].as_array().unwrap();
    let said = stages.iter().filter_map(|stage| stage["result"].as_str());
    let denied = "webhook github: denied, no policy allows it";
    assert!(said.clone().any(|said| said == denied), "{trace:#}");
    stop(server);
    all_is_recorded(&story);
}

#[test]
fn a_call_of_which_nobody_knows_who_made_it_is_refused() {
    let story = sources();
    story.out("entities add --name ada --id ada --relationship friend");
    let (server, owner) = with_secret(&story);
    let web = owner.keyless();
    let refused = |web: &Web, source: &str, headers: &[(&str, &str)]| {
        let (status, body) = called(web, source, headers);
        (status, body["error"]["code"].as_str().unwrap_or_default().to_owned())
    };
    let unknown = (401, "unauthenticated".to_owned());
    assert_eq!(refused(&web, "github", &[]), unknown);
    let wrong = SIGNATURE.replace("75", "76");
    assert_eq!(refused(&web, "github", &[("X-Hub-Signature-256", &wrong)]), unknown);
    // A key opens no source that signs.
    assert_eq!(refused(&owner, "github", &[]), unknown);
    assert_eq!(refused(&web, "plain", &[]), unknown);
    // Nobody learns which there are.
    assert_eq!(called(&web, "other", &[]), called(&web, "github", &[]));
    let ada = owner.with(&key(&story, "--scope read,submit --as ada"));
    assert_eq!(refused(&ada, "plain", &[]), unknown);
    let reader = owner.with(&key(&story, "--scope read"));
    assert_eq!(refused(&reader, "plain", &[]), unknown);
    assert_eq!(called(&owner, "plain", &[]).0, 202);
    assert_eq!(refused(&owner, "other", &[]), (404, "not_found".to_owned()));
    let signed = ("X-Hub-Signature-256", SIGNATURE);
    let foreign = refused(&web, "github", &[signed, ("Origin", "https://evil.test")]);
    assert_eq!(foreign, (403, "csrf".to_owned()));
    let large = "x".repeat(1024 * 1024 + 1);
    assert_eq!(owner.ask(("POST", "/webhooks/plain"), &[], &large).status, 413);
    stop(server);
}

#[test]
fn a_webhook_whose_secret_has_no_value_is_found_when_the_server_starts() {
    let story = sources();
    let ran = story.ran_in("", "serve --model scripted:s.jsonl");
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("`webhooks.github.secret` names the secret `hub`"), "{}", ran.err);
    assert!(ran.err.contains("agentry secret set hub"), "{}", ran.err);
}

#[test]
fn a_server_whose_hooks_watch_no_clock_records_no_ticks() {
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let (server, web) = served(&story);
    web.run("Hello");
    let came = web.get("/api/inbounds").json()["inbounds"].as_array().unwrap().clone();
    let channels: Vec<&Value> = came.iter().map(|one| &one["channel"]).collect();
    assert!(!channels.contains(&&json!("timer")), "{channels:?}");
    stop(server);
}

const TASK: &str = "
    --- .agentry/agents/builder/AGENT.md
    ---
    name: Builder
    ---
    You build.
    --- .agentry/tasks/release/TASK.md
    ---
    name: Release
    agent: builder
    next: tell.md
    inputs:
      - {name: version, description: Which one.}
    ---
    Release {{input.version}}.
    --- .agentry/tasks/release/tell.md
    ---
    name: Tell
    ---
    Tell people about {{input.version}}.
    ";

#[test]
fn a_task_is_done_over_http_step_by_step() {
    let story = Story::new(TASK);
    script(&story, "s.jsonl", &[line("Released.", &[]), line("Told.", &[])]);
    let (server, web) = served(&story);
    let path = "/api/tasks/release/runs";
    let missing = web.post(path, &json!({}));
    assert_eq!((missing.status, missing.code().as_str()), (422, "invalid"), "{}", missing.body);
    assert!(missing.body.contains("the input `version` is missing"), "{}", missing.body);
    let unknown = web.post(path, &json!({ "inputs": { "version": "1", "colour": "red" } }));
    assert!(unknown.body.contains("there is no input `colour`"), "{}", unknown.body);
    assert_eq!(web.post("/api/tasks/nothing/runs", &json!({})).status, 404);
    let sent = web.post(path, &json!({ "inputs": { "version": "1.2" } }));
    assert_eq!(sent.status, 202, "{}", sent.body);
    let event = sent.json()["eventId"].as_str().unwrap().to_owned();
    let events: Vec<_> = web.stream(("GET", &format!("/run/{event}")), &[], "").collect();
    assert_eq!(events.last().unwrap().data["result"], "Told.");
    let run = events[0].data["runId"].as_str().unwrap();
    let whole = web.get(&format!("/api/runs/{run}")).json();
    assert_eq!(whole["run"]["task"], "release");
    let steps: Vec<&Value> =
        whole["steps"].as_array().unwrap().iter().map(|step| &step["status"]).collect();
    assert_eq!(steps, [&json!("succeeded"), &json!("succeeded")]);
    assert_eq!(whole["turns"][0]["prompt"].as_str().unwrap().lines().next(), Some("Release 1.2."));
    stop(server);
    all_is_recorded(&story);
}

/// A run that `agentry run` left, since it asks and nobody was there.
fn left() -> Story {
    let story = story();
    script(&story, "s.jsonl", &[line("Trying.", &["touch made"]), line("Over.", &[])]);
    let ran = story.ran_in("", "run --model scripted:s.jsonl 'go'");
    assert_eq!(ran.code, Some(4), "{}", ran.err);
    story
}

#[test]
fn a_run_that_was_left_is_answered_with_other_arguments_and_taken_up() {
    let story = left();
    let run = latest(&story);
    let (server, web) = serve(&story, "");
    let web = web.with(&key(&story, "--name phone --scope read,submit,approve"));
    let asked = web.get("/api/approvals").json()["approvals"][0].clone();
    let id = asked["id"].as_str().unwrap();
    let answer = json!({
        "allow": true, "digest": asked["digest"], "edit": { "command": "touch other" },
    });
    let answered = web.post(&format!("/api/approvals/{id}/answer"), &answer);
    assert_eq!(answered.status, 200, "{}", answered.body);
    let answered = answered.json();
    assert_eq!(answered["next"], format!("agentry resume {run}"));
    let by = answered["approval"]["answer"]["by"].as_str().unwrap();
    assert!(by.starts_with("http: phone (key_"), "{by}");
    assert!(answered["approval"]["answeredAt"].as_u64().is_some());
    let taken = web.post(&format!("/api/runs/{run}/resume"), &json!({}));
    assert_eq!(taken.status, 202, "{}", taken.body);
    web.stream(("GET", &format!("/api/runs/{run}/events")), &[], "").for_each(drop);
    assert!(story.path("other").exists() && !story.path("made").exists());
    let over = web.post(&format!("/api/runs/{run}/resume"), &json!({}));
    assert_eq!((over.status, over.code().as_str()), (409, "conflict"), "{}", over.body);
    stop(server);
    all_is_recorded(&story);
}

#[test]
fn a_run_of_another_project_is_not_taken_up() {
    let story = left();
    let run = latest(&story);
    story.file("elsewhere/s.jsonl", line("Hello.", &[]).as_bytes());
    story.file("elsewhere/.agentry/agents/b/AGENT.md", b"---\nname: B\n---\nYou build.\n");
    let (server, web) = serve(&story, "-C elsewhere");
    let web = web.with(&key(&story, "--scope submit"));
    let refused = web.post(&format!("/api/runs/{run}/resume"), &json!({}));
    assert_eq!((refused.status, refused.code().as_str()), (409, "conflict"), "{}", refused.body);
    assert!(refused.body.contains(&format!("agentry resume {run}")), "{}", refused.body);
    stop(server);
}
