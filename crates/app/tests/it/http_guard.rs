//! What keeps the server: keys, names, pages of somebody else, and requests that are too much.

use std::io::Write;

use serde_json::json;

use crate::intake::stop;
use crate::record::{line, script, story};
use crate::story::{Story, Talk};
use crate::web::{Answer, Web, key, serve, served};

fn ready() -> (Story, Talk, Web) {
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let (server, web) = served(&story);
    (story, server, web)
}

fn refused(answer: &Answer) -> (u16, String) {
    (answer.status, answer.code())
}

fn code(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// W1: nothing without a key, and nothing that tells what runs here.
#[test]
fn every_route_needs_a_key() {
    let (story, server, web) = ready();
    let document = web.get("/api/openapi.json").json();
    let nobody = web.keyless();
    for (path, of) in document["paths"].as_object().expect("there are paths") {
        let path = path.replace(['{', '}'], "");
        for (method, operation) in of.as_object().expect("there are methods") {
            let method = method.to_uppercase();
            let body = if method == "POST" { "{}" } else { "" };
            let answer = nobody.ask((&method, &path), &[], body);
            let is_open = operation["security"].as_array().is_some_and(Vec::is_empty);
            let wanted = if is_open { code(403, "csrf") } else { code(401, "unauthenticated") };
            assert_eq!(refused(&answer), wanted, "{method} {path}");
            assert_eq!(answer.header("server"), None);
            assert!(!answer.body.contains("0.1.0"), "{}", answer.body);
        }
    }
    for wrong in ["", "agt_", "agt_x_y", "Basic", &web.key.clone().unwrap().replace('_', "-")] {
        assert_eq!(refused(&web.with(wrong).get("/api/me")), code(401, "unauthenticated"));
    }
    let mut other = web.key.clone().unwrap();
    other.pop();
    assert_eq!(refused(&web.with(&other).get("/api/me")), code(401, "unauthenticated"));
    let entries = story.out("ledger verify");
    assert!(entries.starts_with("verified: "), "{entries}");
    stop(server);
}

#[test]
fn a_key_opens_its_scopes_and_nothing_else() {
    let (story, server, web) = ready();
    let reader = web.with(&key(&story, "--scope read --name reader"));
    assert_eq!(reader.get("/api/sessions").status, 200);
    let body = json!({ "prompt": "Hello" });
    assert_eq!(refused(&reader.post("/run", &body)), code(403, "forbidden"));
    let writer = web.with(&key(&story, "--scope submit"));
    assert_eq!(writer.post("/run", &body).status, 202);
    assert_eq!(refused(&writer.get("/api/sessions")), code(403, "forbidden"));
    let answer = json!({ "gateId": "apr_00000000000000000000000001", "allow": true });
    assert_eq!(refused(&writer.post("/runs/run_x/approvals", &answer)), code(403, "forbidden"));
    let admin = web.with(&key(&story, "--scope admin"));
    let more = json!({ "name": "more", "scopes": ["admin", "approve"] });
    assert_eq!(refused(&admin.post("/api/tokens", &more)), code(403, "forbidden"));
    let made = admin.post("/api/tokens", &json!({ "name": "same", "scopes": ["admin"] }));
    assert_eq!(made.status, 201, "{}", made.body);
    let made = made.json()["key"].as_str().unwrap().to_owned();
    assert_eq!(web.with(&made).get("/api/tokens").status, 200);
    stop(server);
}

#[test]
fn a_key_that_is_taken_back_opens_nothing_and_its_stream_ends() {
    let (story, server, web) = ready();
    let made = story.json("token create --scope read --json");
    let reader = web.with(made["key"].as_str().unwrap());
    let mut live = reader.stream(("GET", "/api/stream"), &[], "");
    live.until("hello");
    story.out(&format!("token revoke {}", made["id"].as_str().unwrap()));
    assert_eq!(live.until("bye").data["reason"], "revoked");
    assert_eq!(live.next(), None);
    assert_eq!(refused(&reader.get("/api/me")), code(401, "unauthenticated"));
    let listed = story.json("token list --all --format json");
    assert!(listed.as_array().unwrap().iter().any(|key| key["revokedAt"].is_u64()));
    assert!(!listed.to_string().contains(made["key"].as_str().unwrap()));
    stop(server);
}

#[test]
fn a_code_signs_in_once_and_the_cookie_is_strict() {
    let (story, server, web) = ready();
    let link = story.out("console --print");
    let sign = link.trim().split("#code=").nth(1).expect("the link has a code").to_owned();
    let origin = format!("http://{}", web.address);
    let nobody = web.keyless();
    let headers = [("Origin", origin.as_str()), ("X-Agentry", "1")];
    let body = json!({ "code": sign }).to_string();
    // A page of somebody else cannot sign a browser in.
    let foreign = [("Origin", "http://evil.test"), ("X-Agentry", "1")];
    assert_eq!(refused(&nobody.ask(("POST", "/api/login"), &foreign, &body)), code(403, "csrf"));
    let signed = nobody.ask(("POST", "/api/login"), &headers, &body);
    assert_eq!(signed.status, 200, "{}", signed.body);
    assert_eq!(signed.json()["principal"]["kind"], "owner");
    let cookie = signed.header("set-cookie").expect("there is a cookie").to_owned();
    for word in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    let again = nobody.ask(("POST", "/api/login"), &headers, &body);
    assert_eq!(refused(&again), code(401, "unauthenticated"));
    let pair = cookie.split(';').next().unwrap().to_owned();
    let with = |more: &[(&'static str, &str)]| {
        let mut all = vec![("Cookie", pair.clone())];
        all.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
        all
    };
    let ask = |(method, path): (&str, &str), more: &[(&'static str, &str)], body: &str| {
        let all = with(more);
        let all: Vec<(&str, &str)> =
            all.iter().map(|(name, value)| (*name, value.as_str())).collect();
        nobody.ask((method, path), &all, body)
    };
    assert_eq!(ask(("GET", "/api/me"), &[], "").status, 200);
    let run = json!({ "prompt": "Hello" }).to_string();
    // W3: what a browser sends by itself changes nothing.
    assert_eq!(refused(&ask(("POST", "/run"), &[], &run)), code(403, "csrf"));
    assert_eq!(refused(&ask(("POST", "/run"), &[("X-Agentry", "1")], &run)), code(403, "csrf"));
    assert_eq!(refused(&ask(("POST", "/run"), &[("Origin", &origin)], &run)), code(403, "csrf"));
    let ours = [("Origin", origin.as_str()), ("X-Agentry", "1")];
    assert_eq!(ask(("POST", "/run"), &ours, &run).status, 202);
    assert_eq!(ask(("POST", "/api/logout"), &ours, "{}").status, 200);
    assert_eq!(refused(&ask(("GET", "/api/me"), &[], "")), code(401, "unauthenticated"));
    stop(server);
}

/// W2: a name that an attacker's DNS points here.
#[test]
fn the_server_answers_to_its_own_names_only() {
    let (_story, server, web) = ready();
    let port = web.address.rsplit(':').next().unwrap().to_owned();
    for host in [format!("localhost:{port}"), format!("127.0.0.1:{port}"), format!("[::1]:{port}")]
    {
        assert_eq!(web.ask(("GET", "/api/me"), &[("Host", &host)], "").status, 200, "{host}");
    }
    let foreign = [
        "evil.test".to_owned(),
        format!("evil.test:{port}"),
        format!("0.0.0.0:{port}"),
        "localhost".to_owned(),
        format!("localhost.evil.test:{port}"),
        format!("127.0.0.1:{port}@evil.test"),
    ];
    for host in foreign {
        for path in ["/api/me", "/", "/api/nothing"] {
            let answer = web.ask(("GET", path), &[("Host", &host)], "");
            assert_eq!(refused(&answer), code(421, "wrong_host"), "{host} {path}");
        }
    }
    let key = web.key.clone().unwrap();
    let none =
        format!("GET /api/me HTTP/1.1\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\r\n");
    assert!([400, 421].contains(&web.raw(none.as_bytes()).status));
    let two = format!(
        "GET /api/me HTTP/1.1\r\nHost: {0}\r\nHost: evil.test\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n",
        web.address
    );
    assert!([400, 421].contains(&web.raw(two.as_bytes()).status));
    stop(server);
}

/// W3: pages of somebody else, also where no key is asked for.
#[test]
fn a_page_of_somebody_else_can_do_nothing() {
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let (server, web) = serve(&story, "--insecure-loopback");
    let run = json!({ "prompt": "Hello" }).to_string();
    let own = format!("http://{}", web.address);
    let cases: [&[(&str, &str)]; 6] = [
        &[("Origin", "http://evil.test")],
        &[("Origin", "null")],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Origin", &own)],
        &[("Sec-Fetch-Site", "same-origin")],
    ];
    for headers in cases {
        let answer = web.ask(("POST", "/run"), headers, &run);
        assert_eq!(refused(&answer), code(403, "csrf"), "{headers:?}");
    }
    for headers in &cases[..4] {
        let answer = web.ask(("GET", "/api/stream"), headers, "");
        assert_eq!(refused(&answer), code(403, "csrf"), "{headers:?}");
    }
    let form = [("Content-Type", "text/plain")];
    assert_eq!(refused(&web.ask(("POST", "/run"), &form, &run)), code(415, "unsupported"));
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    assert_eq!(refused(&web.ask(("POST", "/run"), &form, &run)), code(415, "unsupported"));
    let preflight = [("Origin", "http://evil.test"), ("Access-Control-Request-Method", "POST")];
    let answer = web.ask(("OPTIONS", "/run"), &preflight, "");
    assert_eq!(answer.status, 403);
    assert!(!answer.headers.iter().any(|(name, _)| name.starts_with("access-control")));
    assert_eq!(web.ask(("POST", "/run"), &[], &run).status, 202, "a program needs none of it");
    stop(server);
}

/// W5, W6: what every answer forbids a browser.
#[test]
fn every_answer_tells_browsers_what_not_to_do() {
    let (_story, server, web) = ready();
    for path in ["/", "/api/me", "/api/nothing", "/runs/run_x", "/assets/gone.js"] {
        let answer = web.get(path);
        let policy =
            answer.header("content-security-policy").expect("there is a policy").to_owned();
        for word in ["default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for"] {
            assert!(policy.contains(word), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
    }
    assert_eq!(web.get("/api/me").header("cache-control"), Some("no-store"));
    stop(server);
}

/// W8: requests that are too much.
#[test]
fn what_is_too_much_is_refused_and_the_server_goes_on() {
    let (_story, server, web) = ready();
    let large = json!({ "prompt": "x".repeat(2 * 1024 * 1024) }).to_string();
    assert_eq!(refused(&web.ask(("POST", "/run"), &[], &large)), code(413, "too_large"));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(refused(&web.ask(("POST", "/run"), &[], &deep)), code(422, "invalid"));
    let packed = [("Content-Encoding", "gzip")];
    let body = json!({ "prompt": "x" }).to_string();
    assert_eq!(refused(&web.ask(("POST", "/run"), &packed, &body)), code(415, "unsupported"));
    let many: Vec<(String, String)> =
        (0..200).map(|number| (format!("X-{number}"), "y".to_owned())).collect();
    let many: Vec<(&str, &str)> =
        many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(web.ask(("GET", "/api/me"), &many, "").status, 431);
    let long = "y".repeat(100_000);
    assert_eq!(web.ask(("GET", "/api/me"), &[("X-Long", &long)], "").status, 431);
    // Chunks without an end: closed when they are too many.
    let mut stream = web.connect();
    let head = format!(
        "POST /run HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        web.address,
        web.key.clone().unwrap()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let sent = (0..1_000).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    assert!(sent < 1_000, "the server stops reading");
    for body in ["", "{", "{\"prompt\": 7}", "{\"promt\": \"x\"}", "null", "{\"prompt\": \"  \"}"] {
        let answer = web.ask(("POST", "/run"), &[], body);
        assert_eq!(refused(&answer), code(422, "invalid"), "{body}");
    }
    assert_eq!(web.get("/api/me").status, 200);
    stop(server);
}

#[test]
fn too_many_wrong_keys_are_counted_and_right_ones_go_on() {
    let (_story, server, web) = ready();
    let wrong = web.with("agt_00000000000000000000000001_x");
    let answers: Vec<u16> = (0..30).map(|_| wrong.get("/api/me").status).collect();
    assert!(answers.contains(&401) && answers.last() == Some(&429), "{answers:?}");
    let limited = wrong.get("/api/me");
    assert!(limited.header("retry-after").is_some());
    assert_eq!(web.get("/api/me").status, 200);
    stop(server);
}

#[test]
fn a_wrong_word_in_a_query_or_a_path_is_named() {
    let (_story, server, web) = ready();
    let odd = web.get("/api/sessions?limt=3");
    assert_eq!(refused(&odd), code(422, "invalid"));
    assert!(odd.body.contains("limt"), "{}", odd.body);
    assert_eq!(refused(&web.get("/api/runs/../../etc/passwd")), code(404, "not_found"));
    assert_eq!(refused(&web.get("/api/runs/run_x")), code(404, "not_found"));
    assert_eq!(refused(&web.get("/api/nothing")), code(404, "not_found"));
    assert_eq!(refused(&web.ask(("DELETE", "/api/me"), &[], "")), code(405, "wrong_method"));
    stop(server);
}

/// Others reach it over TLS only, by the name that was said.
#[test]
fn what_goes_out_is_encrypted_with_the_certificate_that_was_named() {
    let story = story();
    script(&story, "s.jsonl", &[line("Hello.", &[])]);
    let made =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("it is made");
    story.file("cert.pem", made.cert.pem().as_bytes());
    story.file("key.pem", made.signing_key.serialize_pem().as_bytes());
    let (server, web) = serve(&story, "--host localhost --tls-cert cert.pem --tls-key key.pem");
    let port = web.address.rsplit(':').next().expect("an address has a port").to_owned();
    let root = reqwest::Certificate::from_pem(made.cert.pem().as_bytes()).expect("it is one");
    let client = reqwest::blocking::Client::builder()
        .tls_certs_only([root])
        .no_proxy()
        .build()
        .expect("there is a client");
    let url = format!("https://localhost:{port}/api/me");
    let key = key(&story, "--scope read");
    let answer = client.get(&url).bearer_auth(&key).send().expect("it is answered");
    assert_eq!(answer.status(), 200);
    // Who does not speak TLS is told nothing.
    let plain = Web { address: format!("localhost:{port}"), key: Some(key) };
    let mut stream = plain.connect();
    stream.write_all(b"GET /api/me HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut said = Vec::new();
    std::io::Read::read_to_end(&mut stream, &mut said).unwrap_or_default();
    assert!(!said.starts_with(b"HTTP"), "{}", String::from_utf8_lossy(&said));
    stop(server);
    let ran =
        story.ran_in("", "serve --model scripted:s.jsonl --tls-cert cert.pem --tls-key s.jsonl");
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    assert!(ran.err.contains("s.jsonl"), "{}", ran.err);
}

#[test]
fn two_servers_do_not_take_one_address() {
    let (_story, server, web) = ready();
    let other = story();
    script(&other, "s.jsonl", &[line("Hello.", &[])]);
    let ran = other.ran_in("", &format!("serve --model scripted:s.jsonl --listen {}", web.address));
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("cannot listen") && ran.err.contains("--listen"), "{}", ran.err);
    stop(server);
}
