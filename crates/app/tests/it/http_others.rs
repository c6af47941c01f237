//! People who are not the owner: they reach agents as far as policies let them, and see only their own.

use serde_json::{Value, json};

use crate::intake::stop;
use crate::record::{line, script};
use crate::story::{Story, Talk};
use crate::web::{Web, key, kinds, served};

const FRIENDS: &str = "
    --- .agentry/agents/host/AGENT.md
    ---
    name: Host
    ---
    You answer.
    --- .agentry/access/friends.yml
    policies:
      - name: friends
        match: {principal: {relationship: friend}}
        effect: allow
        permissions: {tools: []}
        session: {key: 'friend:{principal.name}'}
        priority: 50
    ";

/// A server, its owner, two friends and a stranger.
fn people() -> (Story, Talk, Web, [Web; 3]) {
    let story = Story::new(FRIENDS);
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    for (id, relationship) in [("ada", "friend"), ("bob", "friend"), ("eve", "nobody")] {
        story.out(&format!("entities add --name {id} --id {id} --relationship {relationship}"));
    }
    let (server, owner) = served(&story);
    let others = ["ada", "bob", "eve"]
        .map(|id| owner.with(&key(&story, &format!("--scope read,submit --as {id}"))));
    (story, server, owner, others)
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value:#}")).to_owned()
}

/// W9: ids of somebody else are ids of nothing.
#[test]
fn each_sees_their_own_and_the_owner_all() {
    let (_story, server, owner, [ada, bob, _]) = people();
    let events = ada.run("Hi, it is me");
    assert_eq!(kinds(&events), ["init", "text", "done"]);
    let (session, run) = (text(&events[0].data, "sessionId"), text(&events[0].data, "runId"));
    let paths = [
        format!("/api/sessions/{session}"),
        format!("/api/runs/{run}"),
        format!("/api/entries?session={session}"),
        format!("/api/entries?run={run}"),
    ];
    for path in &paths {
        assert_eq!(ada.get(path).status, 200, "{path}");
        assert_eq!(owner.get(path).status, 200, "{path}");
        let foreign = bob.get(path);
        assert_eq!((foreign.status, foreign.code().as_str()), (404, "not_found"), "{path}");
        let nothing = bob.get(&path.replace(&session, "ses_gone").replace(&run, "run_gone"));
        let same = foreign.body.replace(&session, "ses_gone").replace(&run, "run_gone");
        assert_eq!(nothing.body, same, "nobody can tell what is there");
    }
    for path in [format!("/api/stream?session={session}"), format!("/api/runs/{run}/events")] {
        assert_eq!(bob.get(&path).status, 404, "{path}");
    }
    let say = json!({ "text": "Hi" });
    assert_eq!(bob.post(&format!("/api/sessions/{session}/messages"), &say).status, 404);
    assert_eq!(bob.post(&format!("/api/runs/{run}/cancel"), &json!({})).status, 404);
    let of = |web: &Web| web.get("/api/sessions").json()["sessions"].as_array().unwrap().len();
    assert_eq!((of(&ada), of(&bob), of(&owner)), (1, 0, 1));
    assert_eq!(ada.get("/api/stream").status, 403);
    assert_eq!(ada.get("/api/entries").status, 403);
    assert_eq!(ada.get("/api/runs").status, 403);
    stop(server);
}

#[test]
fn somebody_who_is_not_let_in_is_told_so_in_the_stream() {
    let (story, server, _owner, [_, _, eve]) = people();
    let events = eve.run("Let me in");
    assert_eq!(kinds(&events), ["error", "done"]);
    assert_eq!(events[0].data["code"], "denied");
    assert_eq!(story.json("show --format json"), json!([]));
    stop(server);
}

#[test]
fn only_the_owner_chooses_for_a_run_and_holds_what_answers_for_people() {
    let (story, server, _owner, [ada, _, _]) = people();
    for more in [("session", "main"), ("agent", "host"), ("model", "local"), ("mode", "wiggum")] {
        let answer = ada.post("/run", &json!({ "prompt": "Hi", more.0: more.1 }));
        assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"), "{more:?}");
    }
    for scope in ["approve", "admin", "audit", "executor"] {
        let ran = story.ran_in("", &format!("token create --scope {scope} --as ada"));
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains("only the owner"), "{}", ran.err);
    }
    let ran = story.ran_in("", "token create --scope read --as mallory");
    assert!(ran.err.contains("no entity is known as `mallory`"), "{}", ran.err);
    stop(server);
}

#[test]
fn a_key_of_somebody_who_is_gone_opens_nothing() {
    let (story, server, _owner, [ada, _, _]) = people();
    assert_eq!(ada.get("/api/me").json()["principal"]["entityId"], "ada");
    story.out("entities remove ada");
    assert_eq!(ada.get("/api/me").status, 401);
    stop(server);
}
