//! Requests that name their host.

use super::*;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const OK_HEARD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";

#[test]
fn a_request_reaches_its_host_in_the_form_that_was_judged() {
    let server = Server::new(b"body", OK);
    let proxy = Scene::of(server.at).start();
    let answer = proxy.ask(
        "POST http://OK.test:80/a?b HTTP/1.1\r\nHost: ok.test\r\nProxy-Authorization: Basic x\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nA: b\r\nContent-Length: 4\r\n\r\nbody",
    );
    assert_eq!(answer, OK_HEARD);
    let sent = server.heard();
    assert_eq!(
        sent,
        r"POST /a?b HTTP/1.1\r\nHost: ok.test\r\nA: b\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"
    );
    let record = proxy.record();
    assert_eq!((record.host.as_str(), record.port, record.refused), ("OK.test", 80, None));
    assert_eq!(record.bytes_out, sent.replace("\\r", "r").replace("\\n", "n").len() as u64);
    assert_eq!(record.bytes_in, OK_HEARD.len() as u64);
}

#[test]
fn what_follows_a_request_is_never_passed_on() {
    for (question_ends, request) in [
        (&b"\r\n\r\n"[..], "GET http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n"),
        (b"body", "PUT http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4\r\n\r\nbody"),
        (
            b"0\r\n\r\n",
            "PUT http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n\
             4\r\nbody\r\n0\r\n\r\n",
        ),
    ] {
        let server = Server::new(question_ends, OK);
        let proxy = Scene::of(server.at).start();
        let second = "GET http://evil.test/secret HTTP/1.1\r\nHost: evil.test\r\n\r\n";
        assert_eq!(proxy.ask(format!("{request}{second}")), OK_HEARD);
        let sent = server.heard();
        assert!(!sent.contains("evil") && !sent.contains("secret"), "{sent}");
        assert_eq!(proxy.record().refused, None);
        assert_eq!(proxy.lookups(), ["ok.test"]);
    }
}

#[test]
fn a_server_that_keeps_its_connection_does_not_keep_ours() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = Scene::of(listener.local_addr().unwrap()).start();
    let mut client = proxy.client();
    client.write_all(b"GET http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n").unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server.write_all(OK).unwrap();
    assert_eq!(heard(client), OK_HEARD);
    assert_eq!(proxy.record().refused, None);
}

#[test]
fn a_body_may_wait_until_the_server_wants_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = Scene::of(listener.local_addr().unwrap()).start();
    let mut client = proxy.client();
    client
        .write_all(
            b"POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4\r\n\
              Expect: 100-continue\r\n\r\n",
        )
        .unwrap();
    let (mut server, _) = listener.accept().unwrap();
    server.set_read_timeout(Some(LONG)).unwrap();
    let head = b"POST / HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4\r\n\
                 Expect: 100-continue\r\nConnection: close\r\n\r\n";
    let mut got = vec![0; head.len()];
    server.read_exact(&mut got).unwrap();
    assert_eq!(got.escape_ascii().to_string(), head.escape_ascii().to_string());
    let go_on = b"HTTP/1.1 100 Continue\r\n\r\n";
    server.write_all(go_on).unwrap();
    let mut got = vec![0; go_on.len()];
    client.read_exact(&mut got).unwrap();
    assert_eq!(got, go_on);
    client.write_all(b"body").unwrap();
    let mut got = [0; 4];
    server.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"body");
    server.write_all(OK).unwrap();
    assert_eq!(heard(client), OK_HEARD);
}

#[test]
fn what_could_be_read_in_two_ways_goes_nowhere() {
    let server = nobody();
    let proxy = Scene::of(server.local_addr().unwrap()).start();
    for request in [
        "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n",
        "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "GET http://ok.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        "GET http://ok.test/ HTTP/1.1\r\nHost: ok.test:8080\r\n\r\n",
        "GET http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nHost: evil.test\r\n\r\n",
        "GET http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nA: b\r\n c\r\n\r\n",
        "GET http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nA: b\nC: d\r\n\r\n",
        "GET http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nA: b\rC: d\r\n\r\n",
        "GET http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nA: b\0\r\n\r\n",
        "GET http://ok.test/ HTTP/1.1\nHost: ok.test\n\n",
        "GET http://ok.test/ HTTP/1.1\r\n\r\n",
        "GET https://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n",
        "CONNECT ok.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
        "CONNECT ok.test HTTP/1.1\r\nHost: ok.test\r\n\r\n",
        "\x16\x03\x01\r\n\r\n",
    ] {
        let answer = proxy.ask(request);
        assert!(answer.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{request:?}: {answer}");
        let why = proxy.record().refused.unwrap();
        assert!(why.starts_with("malformed request: "), "{request:?}: {why}");
    }
    assert_eq!(proxy.lookups(), [""; 0]);
    assert_nobody_came(&server);
}

#[test]
fn a_host_that_is_not_allowed_is_denied_in_words() {
    let server = nobody();
    let proxy = Scene::of(server.local_addr().unwrap()).start();
    let why = "the host is not among the allowed domains";
    let request = "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    assert_eq!(proxy.ask(request), denied("evil.test:80", why));
    assert_eq!(proxy.record(), refused("evil.test", 80, why));
    // A body that nobody reads must not cost the process the answer.
    let body = "x".repeat(8_000_000);
    let length = body.len();
    let head = "POST http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n";
    let request = format!("{head}Content-Length: {length}\r\n\r\n{body}");
    assert_eq!(proxy.ask(request), denied("evil.test:80", why));
    assert_nobody_came(&server);
}

#[test]
fn a_body_that_breaks_its_promise_is_cut_off() {
    for (request, why) in [
        ("Transfer-Encoding: chunked\r\n\r\n4\r\nbody!", "the chunks of the body are malformed"),
        ("Content-Length: 9\r\n\r\nbody", "the body of the request ended too early"),
    ] {
        let server = Server::new(b"never", b"");
        let proxy = Scene::of(server.at).start();
        let mut client = proxy.client();
        let head = "POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n";
        client.write_all(format!("{head}{request}").as_bytes()).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let answer = heard(client);
        assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{answer}");
        assert!(answer.ends_with(&format!("closed by sandbox: ok.test:80: {why}\n")), "{answer}");
        assert_eq!(proxy.record().refused, Some(format!("closed: {why}")));
        assert!(!server.heard().contains('!'));
    }
}

#[test]
fn a_server_that_says_nothing_or_nonsense_is_told_to_the_process() {
    for (answer, why) in [
        (&b""[..], "the server ended without an answer"),
        (b"HTTP/1.1 200 OK\r\n", "the server ended without an answer"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "the answer is not HTTP"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "the server wants to speak another protocol"),
    ] {
        let server = Server::new(b"\r\n\r\n", answer);
        let proxy = Scene::of(server.at).start();
        let answer = proxy.ask("GET http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n");
        assert!(answer.ends_with(&format!("closed by sandbox: ok.test:80: {why}\n")), "{answer}");
        assert_eq!(proxy.record().refused, Some(format!("closed: {why}")));
    }
}

#[test]
fn who_asks_for_nothing_is_recorded_too() {
    let server = nobody();
    let proxy = Scene::of(server.local_addr().unwrap()).start();
    drop(proxy.client());
    assert_eq!(proxy.record(), refused("", 0, "nothing was asked for"));
    let mut client = proxy.client();
    client.write_all(b"GET http://ok").unwrap();
    drop(client);
    assert_eq!(proxy.record(), refused("", 0, "malformed request: the head is not whole"));
    assert_nobody_came(&server);
}
