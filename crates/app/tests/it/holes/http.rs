//! Holes of the attack review around the server: scopes, rate limits, replays, streams, and the start of the server.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::intake::stop;
use crate::record::{latest, line, script, story};
use crate::story::{Story, Talk};
use crate::web::{Answer, Web, key, serve, served};

/// The example of the documentation of GitHub's webhooks.
const SECRET: &str = "It's a Secret to Everybody";
const BODY: &str = "Hello, World!";
const SIGNATURE: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

/// A server whose model would run a command that nobody allowed.
fn with_a_command() -> (Story, Talk, Web) {
    let story = story();
    let done = json!({ "text": "{\"done\": true}" }).to_string();
    script(&story, "s.jsonl", &[line("I do it.", &["touch unasked"]), done]);
    story.write(
        "
        --- .agentry/tasks/touch/TASK.md
        ---
        name: Touch
        agent: builder
        ---
        Touch it.
        ",
    );
    let (server, web) = served(&story);
    (story, server, web)
}

#[track_caller]
fn needs_approve(answer: &Answer) {
    let error = answer.json()["error"].clone();
    let message = error["message"].as_str().unwrap_or_default();
    assert_eq!((answer.status, &error["code"]), (403, &json!("forbidden")), "{}", answer.body);
    assert!(message.contains("`approve`"), "{message}");
}

fn runs(web: &Web) -> usize {
    web.get("/api/runs").json()["runs"].as_array().map_or(0, Vec::len)
}

/// X9: a key that may only submit chooses no mode in which nobody is asked.
#[test]
fn a_key_without_approve_gets_no_mode_that_asks_nobody_on_any_route() {
    let (story, server, owner) = with_a_command();
    let submits = owner.with(&key(&story, "--scope submit"));
    for (path, body) in [
        ("/run", json!({ "prompt": "x", "mode": "wiggum" })),
        ("/run", json!({ "prompt": "x", "mode": "autonomous" })),
        ("/api/sessions", json!({ "text": "x", "mode": "wiggum" })),
        ("/api/tasks/touch/runs", json!({ "mode": "wiggum" })),
    ] {
        needs_approve(&submits.post(path, &body));
    }
    assert_eq!(runs(&owner), 0, "nothing began");
    // In the other mode it waits for somebody.
    let mut live = owner.stream(("GET", "/api/stream"), &[], "");
    live.until("hello");
    let sent = submits.post("/run", &json!({ "prompt": "x", "mode": "structured" }));
    assert_eq!(sent.status, 202, "{}", sent.body);
    live.entry("run_paused");
    let run = latest(&story);
    let session = owner.get(&format!("/api/runs/{run}")).json()["run"]["sessionId"].clone();
    let session = session.as_str().expect("the run has a session").to_owned();
    for (path, body) in [
        (format!("/api/runs/{run}/mode"), json!({ "mode": "wiggum" })),
        (format!("/api/runs/{run}/mode"), json!({ "mode": "structured", "maxIterations": 9 })),
        (format!("/api/sessions/{session}/messages"), json!({ "text": "x", "mode": "wiggum" })),
    ] {
        needs_approve(&submits.post(&path, &body));
    }
    let admin = owner.with(&key(&story, "--scope admin"));
    needs_approve(&admin.post("/api/agents/builder/history/HEAD/revert", &json!({})));
    assert_eq!(runs(&owner), 1);
    assert!(!story.path("unasked").exists());
    let both = owner.with(&key(&story, "--scope submit,approve"));
    let sent = both.post("/run", &json!({ "prompt": "x", "mode": "wiggum" }));
    assert_eq!(sent.status, 202, "{}", sent.body);
    live.entry("run_ended");
    assert!(story.path("unasked").exists(), "a key that opens both may");
    stop(server);
}

/// Two sources of webhooks, and what the first signs with.
fn sources() -> Story {
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    fs::create_dir_all(story.home(".config/agentry")).expect("it can be made");
    let text = "[webhooks.github]\nsecret = \"hub\"\n";
    fs::write(story.home(".config/agentry/agentry.toml"), text).expect("it can be written");
    let mut talk = story.talk("secret set hub");
    talk.say(SECRET);
    assert_eq!(talk.end().code, Some(0));
    story
}

fn signed_call(web: &Web, headers: &[(&str, &str)]) -> (u16, Value) {
    let own = [("X-Hub-Signature-256", SIGNATURE), ("Content-Type", "text/plain")];
    let headers: Vec<(&str, &str)> = headers.iter().copied().chain(own).collect();
    let answer = web.keyless().ask(("POST", "/webhooks/github"), &headers, BODY);
    (answer.status, answer.json())
}

/// X16: wrong keys of somebody stop nobody else, also where a proxy has one address for all.
#[test]
fn wrong_keys_behind_a_proxy_stop_no_webhook_no_login_and_no_other_client() {
    let story = sources();
    let free = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = free.local_addr().expect("it has an address").to_string();
    drop(free);
    let options = format!("--listen {address} --behind-proxy --host agents.example");
    let (server, web) = serve(&story, &options);
    let web = Web { address, ..web };
    let host = ("Host", "agents.example");
    let wrong = web.with("agt_00000000000000000000000001_x");
    let attack =
        |from: &str| wrong.ask(("GET", "/api/me"), &[host, ("X-Forwarded-For", from)], "").status;
    let answers: Vec<u16> = (0..30).map(|_| attack("6.6.6.6, 203.0.113.7")).collect();
    assert!(answers.contains(&401) && answers.last() == Some(&429), "{answers:?}");
    // Who calls from elsewhere is not concerned, and neither is what is right, from wherever.
    let other = web.with("agt_00000000000000000000000002_x");
    let elsewhere = [host, ("X-Forwarded-For", "203.0.113.8")];
    assert_eq!(other.ask(("GET", "/api/me"), &elsewhere, "").status, 401);
    for from in ["203.0.113.7", "203.0.113.9", "unknown"] {
        let (status, body) = signed_call(&web, &[host, ("X-Forwarded-For", from)]);
        assert_eq!(status, 202, "{from}: {body}");
    }
    let link = story.out("console --print");
    let code = link.trim().split("#code=").nth(1).expect("the link has a code").to_owned();
    let own = [
        host,
        ("X-Forwarded-For", "203.0.113.7"),
        ("Origin", "https://agents.example"),
        ("X-Agentry", "1"),
    ];
    let body = json!({ "code": code }).to_string();
    assert_eq!(web.ask(("POST", "/api/login"), &own, &body).status, 200);
    let right = web.with(&key(&story, "--scope read"));
    let headers = [host, ("X-Forwarded-For", "203.0.113.7")];
    assert_eq!(right.ask(("GET", "/api/me"), &headers, "").status, 200);
    stop(server);
}

/// X17: a call that was recorded and is sent again under another id is the same call.
#[test]
fn a_captured_webhook_under_another_delivery_id_is_a_repetition() {
    let story = sources();
    let (server, web) = served(&story);
    let (status, first) = signed_call(&web, &[("X-GitHub-Delivery", "a")]);
    assert_eq!((status, &first["repeated"]), (202, &json!(false)), "{first}");
    for header in ["X-GitHub-Delivery", "Webhook-Id", "Idempotency-Key", "X-Agentry-Delivery"] {
        let (status, again) = signed_call(&web, &[(header, "b")]);
        assert_eq!((status, &again["repeated"]), (202, &json!(true)), "{header}: {again}");
        assert_eq!(again["seq"], first["seq"]);
    }
    stop(server);
}

/// R6: one key does not take all streams.
#[test]
fn a_key_has_so_many_streams_and_no_more() {
    const PER_KEY: usize = 200;
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let (server, owner) = served(&story);
    let greedy = owner.with(&key(&story, "--scope read"));
    let open: Vec<_> = (0..PER_KEY)
        .map(|_| {
            let mut live = greedy.stream(("GET", "/api/stream"), &[], "");
            live.until("hello");
            live
        })
        .collect();
    let refused = greedy.get("/api/stream");
    assert_eq!((refused.status, refused.code()), (429, "rate_limited".to_owned()));
    assert!(
        refused.body.contains("open streams for this key: the limit is 200"),
        "{}",
        refused.body
    );
    assert_eq!(greedy.get("/api/me").status, 200);
    owner.stream(("GET", "/api/stream"), &[], "").until("hello");
    drop(open);
    stop(server);
}

/// A server whose errors can be read while it runs.
struct Waiting(Child);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.kill().unwrap_or_default();
        self.0.wait().map(drop).unwrap_or_default();
    }
}

fn started(story: &Story) -> Waiting {
    let child = Command::new(env!("CARGO_BIN_EXE_agentry"))
        .args(["serve", "--model", "scripted:s.jsonl"])
        .current_dir(story.path(""))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", story.home(""))
        .env("AGENTRY_LISTEN", "127.0.0.1:0")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    Waiting(child.expect("the binary starts"))
}

/// R3: a process that answers one message is waited for; another server is not.
#[test]
fn a_server_waits_for_a_one_off_send_and_says_so() {
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    story.out("send Hello --model scripted:s.jsonl");
    let path = story.home(".local/state/agentry/locks/intake.lock");
    let mut lock = File::options().write(true).truncate(true).open(path).expect("it is there");
    lock.lock().expect("nobody has it");
    write!(lock, "4711 7").expect("it can be written");
    let mut server = started(&story);
    let errors = BufReader::new(server.0.stderr.take().expect("it has errors")).lines();
    let mut errors = errors.map_while(Result::ok);
    let told = errors.find(|line| line.contains("waiting")).expect("it says what it waits for");
    assert!(told.contains("`agentry send` (process 4711)"), "{told}");
    drop(lock);
    let out = BufReader::new(server.0.stdout.take().expect("it has an output")).lines();
    assert!(out.map_while(Result::ok).any(|line| line.starts_with("ready")), "it began");
    let second = story.ran_in("", "serve --model scripted:s.jsonl");
    assert_eq!(second.code, Some(2), "{}", second.err);
    let told = "another agentry server is already running for this home";
    assert!(second.err.contains(told), "{}", second.err);
}
