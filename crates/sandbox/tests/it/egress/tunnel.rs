//! Tunnels: what goes through them, and what never does.

use super::*;

#[test]
fn a_tunnel_carries_both_ways_after_the_greeting_named_the_host() {
    let server = Server::new(b"ping", b"pong");
    let proxy = Scene::of(server.at).start();
    let hello = greeting(Some("ok.test"));
    let mut client = proxy.tunnel("OK.test:443");
    let (first, second) = hello.split_at(hello.len() / 2);
    client.write_all(first).unwrap();
    client.write_all(second).unwrap();
    client.write_all(b"ping").unwrap();
    assert_eq!(heard(client), "pong");
    let sent = [&hello[..], b"ping"].concat();
    assert_eq!(server.heard(), sent.escape_ascii().to_string());
    assert_eq!(
        proxy.record(),
        Connection {
            host: "OK.test".to_owned(),
            port: 443,
            refused: None,
            bytes_out: sent.len() as u64,
            bytes_in: 4
        }
    );
    assert_eq!(proxy.lookups(), ["ok.test"]);
}

#[test]
fn a_greeting_that_comes_with_the_request_is_not_lost() {
    let server = Server::new(b"ping", b"pong");
    let proxy = Scene::of(server.at).start();
    let request = [connect("ok.test:443").as_bytes(), &greeting(Some("ok.test")), b"ping"].concat();
    assert!(proxy.ask(request).ends_with("\r\n\r\npong"));
    assert_eq!(proxy.record().refused, None);
}

#[track_caller]
fn check_nothing_passes(bytes: &[u8], why: &str) {
    let server = Server::new(b"never", b"");
    let proxy = Scene::of(server.at).start();
    let mut client = proxy.tunnel("ok.test:443");
    client.write_all(bytes).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(heard(client), "");
    assert_eq!(proxy.record(), refused("ok.test", 443, why));
    assert_eq!(server.heard(), "");
}

#[test]
fn a_greeting_for_another_host_is_not_passed_on() {
    check_nothing_passes(
        &greeting(Some("evil.test")),
        "the TLS greeting names another host: evil.test",
    );
    check_nothing_passes(
        &greeting(Some("a.ok.test")),
        "the TLS greeting names another host: a.ok.test",
    );
}

#[test]
fn a_greeting_without_a_host_is_not_passed_on() {
    check_nothing_passes(&greeting(None), "the TLS greeting names no host");
}

#[test]
fn what_is_no_greeting_is_not_passed_on() {
    let why = "this is no TLS greeting: received corrupt message of type InvalidContentType";
    check_nothing_passes(b"SSH-2.0-OpenSSH_9.9\r\n", why);
    check_nothing_passes(b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", why);
    let hello = greeting(Some("ok.test"));
    check_nothing_passes(&hello[..hello.len() - 1], "the TLS greeting is not complete");
    check_nothing_passes(b"", "the TLS greeting is not complete");
}

#[test]
fn a_greeting_has_a_length_and_a_time() {
    let server = Server::new(b"never", b"");
    let mut scene = Scene::of(server.at);
    scene.caps.head_bytes = 100;
    let proxy = scene.start();
    let mut client = proxy.tunnel("ok.test:443");
    client.write_all(&greeting(Some("ok.test"))).unwrap();
    assert_eq!(heard(client), "");
    let why = "the TLS greeting is longer than 100 bytes";
    assert_eq!(proxy.record(), refused("ok.test", 443, why));
    assert_eq!(server.heard(), "");

    let mut scene = Scene::of(server.at);
    scene.caps.head_time = short();
    let proxy = scene.start();
    let client = proxy.tunnel("ok.test:443");
    assert_eq!(heard(client), "");
    assert_eq!(proxy.record(), refused("ok.test", 443, "the TLS greeting took too long"));
    assert_eq!(server.heard(), "");
}

#[test]
fn other_ports_are_refused_before_anyone_is_asked() {
    let server = nobody();
    let proxy = Scene { addresses: &[], ..Scene::of(server.local_addr().unwrap()) }.start();
    let why = "port 22 is not allowed, only 80 and 443";
    assert_eq!(proxy.ask(connect("ok.test:22")), denied("ok.test:22", why));
    assert_eq!(proxy.record(), refused("ok.test", 22, why));
    assert_eq!(proxy.lookups(), [""; 0]);
    assert_nobody_came(&server);
}

#[test]
fn a_listed_address_is_reached_at_any_port_and_speaks_anything() {
    let server = Server::new(b"ping", b"pong");
    let proxy = Scene::of(server.at).start();
    let mut client = proxy.tunnel("ok.test:2222");
    client.write_all(b"ping").unwrap();
    assert_eq!(heard(client), "pong");
    assert_eq!(server.heard(), "ping");
    assert_eq!(proxy.record().refused, None);
}

#[test]
fn a_tunnel_to_plain_http_is_for_its_host_only() {
    let server = Server::new(b"\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let proxy = Scene::of(server.at).start();
    let mut client = proxy.tunnel("ok.test:80");
    client.write_all(b"GET /a HTTP/1.1\r\nHost: ok.test\r\n\r\n").unwrap();
    assert!(heard(client).ends_with("\r\n\r\nok"));
    let expected = r"GET /a HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n";
    assert_eq!(server.heard(), expected);
    assert_eq!(proxy.record().refused, None);
    for request in [
        "GET /a HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n",
        "SSH-2.0-OpenSSH_9.9\r\n\r\n",
    ] {
        let mut client = proxy.tunnel("ok.test:80");
        client.write_all(request.as_bytes()).unwrap();
        assert!(heard(client).starts_with("HTTP/1.1 400 Bad Request\r\n"), "{request}");
        let why = proxy.record().refused.unwrap();
        assert!(why.starts_with("malformed request: "), "{why}");
        assert_eq!(server.heard(), "", "{request}");
    }
}

#[test]
fn a_host_that_does_not_answer_is_told_apart_from_a_refusal() {
    let (_held, gone) = closed();
    let proxy = Scene::of(gone).start();
    let answer = proxy.ask(connect("ok.test:443"));
    assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway\r\n"), "{answer}");
    assert!(!answer.contains("X-Denied-By"), "{answer}");
    let why = "not reached: Connection refused (os error 111)";
    assert_eq!(proxy.record(), refused("ok.test", 443, why));
}

#[test]
fn the_next_address_is_tried_when_the_first_does_not_answer() {
    let (_held, gone) = closed();
    let server = Server::new(b"ping", b"pong");
    let answers = vec![gone, server.at];
    let scene = Scene::of(gone);
    let proxy = Scene { answers: Box::new(move |_, _| Ok(answers.clone())), ..scene }.start();
    let mut client = proxy.tunnel("ok.test:9");
    client.write_all(b"ping").unwrap();
    assert_eq!(heard(client), "pong");
    assert_eq!(proxy.lookups(), ["ok.test"]);
}
