//! What one sandbox may take of the network, and that it ends with the sandbox.

use std::sync::Barrier;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Instant;

use super::*;

#[test]
fn connections_at_a_time_are_bounded_and_others_are_unaffected() {
    let server = Server::new(b"ping", b"pong");
    let mut scene = Scene::of(server.at);
    scene.caps.connections_at_once = 2;
    scene.caps.connections = usize::MAX;
    let (full, other) = (scene.start(), Scene::of(server.at).start());
    let mut first = full.tunnel("ok.test:9");
    let second = full.tunnel("ok.test:9");
    assert_eq!(full.ask(connect("ok.test:9")), "");
    assert_eq!(full.record(), refused("", 0, "there are 2 connections already"));
    let mut elsewhere = other.tunnel("ok.test:9");
    elsewhere.write_all(b"ping").unwrap();
    assert_eq!(heard(elsewhere), "pong");
    // Those that are open go on, and one that ends makes room.
    first.write_all(b"ping").unwrap();
    assert_eq!(heard(first), "pong");
    assert_eq!(full.record().refused, None);
    while full.ask(connect("evil.test:9")).is_empty() {}
    drop(second);
}

#[test]
fn connections_in_all_are_bounded_and_then_the_door_is_closed() {
    let server = nobody();
    let mut scene = Scene::of(server.local_addr().unwrap());
    scene.caps.connections = 2;
    let proxy = scene.start();
    for _ in 0..2 {
        assert!(proxy.ask(connect("evil.test:443")).starts_with("HTTP/1.1 403"));
        assert_eq!(proxy.record().host, "evil.test");
    }
    drop(proxy.client());
    assert_eq!(proxy.record(), refused("", 0, "the 2 connections of this sandbox are used up"));
    // The listener goes right after the record: a flood leaves no flood of records.
    while TcpStream::connect(proxy.at).is_ok() {}
    drop(proxy.egress);
    assert_eq!(proxy.records.recv_timeout(LONG), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn bytes_sent_are_bounded_over_all_connections() {
    let server = Server::new(b"ping", b"pong");
    let mut scene = Scene::of(server.at);
    scene.caps.bytes = 10;
    let proxy = scene.start();
    let mut first = proxy.tunnel("ok.test:9");
    first.write_all(b"12ping").unwrap();
    assert_eq!(heard(first), "pong");
    assert_eq!(proxy.record().bytes_out, 6);
    assert_eq!(server.heard(), "12ping");
    let mut second = proxy.tunnel("ok.test:9");
    second.write_all(b"12345").unwrap();
    assert_eq!(heard(second), "");
    let record = proxy.record();
    let why = "closed: the 10 bytes of this sandbox are used up";
    assert_eq!((record.bytes_out, record.refused.as_deref()), (0, Some(why)));
    assert_eq!(server.heard(), "");
}

#[test]
fn bytes_received_are_bounded() {
    let server = Server::new(b"ping", b"more than ten bytes");
    let mut scene = Scene::of(server.at);
    scene.caps.bytes = 10;
    let proxy = scene.start();
    let mut client = proxy.tunnel("ok.test:9");
    client.write_all(b"ping").unwrap();
    assert_eq!(heard(client), "");
    let record = proxy.record();
    let why = "closed: the 10 bytes of this sandbox are used up";
    assert_eq!((record.bytes_in, record.refused.as_deref()), (0, Some(why)));
}

#[test]
fn a_silent_connection_is_closed() {
    let server = Server::new(b"never", b"");
    let mut scene = Scene::of(server.at);
    scene.caps.idle = short();
    let proxy = scene.start();
    let mut client = proxy.tunnel("ok.test:9");
    client.write_all(b"abc").unwrap();
    assert_eq!(server.heard(), "abc");
    assert_eq!(heard(client), "");
    let record = proxy.record();
    let why = "closed: nothing was said for 400ms";
    assert_eq!((record.bytes_out, record.refused.as_deref()), (3, Some(why)));
}

#[test]
fn a_connection_that_is_used_is_not_silent() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut scene = Scene::of(listener.local_addr().unwrap());
    scene.caps.idle = short();
    let proxy = scene.start();
    let mut client = proxy.tunnel("ok.test:9");
    let (mut server, _) = listener.accept().unwrap();
    let begun = Instant::now();
    while begun.elapsed() < 3 * short() {
        client.write_all(b"a").unwrap();
        server.read_exact(&mut [0]).unwrap();
    }
    drop((client, server));
    assert_eq!(proxy.record().refused, None);
}

#[test]
fn a_head_has_a_length_and_a_time() {
    let server = nobody();
    let at = server.local_addr().unwrap();
    let mut scene = Scene::of(at);
    scene.caps.head_bytes = 64;
    let long = scene.start();
    let request = format!("GET http://ok.test/ HTTP/1.1\r\nA: {}\r\n\r\n", "b".repeat(64));
    assert!(long.ask(request).starts_with("HTTP/1.1 400"));
    assert_eq!(long.record(), refused("", 0, "malformed request: the head is too long"));
    let mut scene = Scene::of(at);
    scene.caps.head_time = short();
    let slow = scene.start();
    for (beginning, why) in [
        (&b""[..], "nothing was asked for"),
        (b"GET ", "malformed request: the head took too long"),
        (b"\x05", "malformed request: the request took too long"),
    ] {
        let mut client = slow.client();
        client.write_all(beginning).unwrap();
        heard(client);
        assert_eq!(slow.record(), refused("", 0, why));
    }
    assert_nobody_came(&server);
}

#[test]
fn a_lookup_that_does_not_end_is_not_waited_for() {
    let barrier = Arc::new(Barrier::new(2));
    let blocked = barrier.clone();
    let any = "127.0.0.1:9".parse().unwrap();
    let answers = move |_: &str, _| {
        blocked.wait();
        Ok(Vec::new())
    };
    let mut scene = Scene { answers: Box::new(answers), ..Scene::of(any) };
    scene.caps.resolve_time = short();
    scene.caps.connections_at_once = 1;
    scene.caps.connections = usize::MAX;
    let proxy = scene.start();
    assert!(proxy.ask(connect("ok.test:9")).starts_with("HTTP/1.1 502"));
    assert_eq!(proxy.record(), refused("ok.test", 9, "not reached: timed out"));
    // The lookup is still under way, and counted.
    let mut answer = proxy.ask(connect("ok.test:9"));
    while answer.is_empty() {
        answer = proxy.ask(connect("ok.test:9"));
    }
    assert!(answer.ends_with("1 names are being asked for already\n"), "{answer}");
    barrier.wait();
}

#[test]
fn the_end_of_the_sandbox_ends_every_connection() {
    let server = Server::new(b"never", b"");
    let barrier = Arc::new(Barrier::new(2));
    let (blocked, at) = (barrier.clone(), server.at);
    let answers = move |host: &str, _| {
        if host == "slow.test" {
            blocked.wait();
        }
        Ok(vec![at])
    };
    let allow = ["ok.test", "slow.test"];
    let scene = Scene { allow: &allow, answers: Box::new(answers), ..Scene::of(server.at) };
    let proxy = scene.start();
    let silent = proxy.client();
    let open = proxy.tunnel("ok.test:9");
    let greeting_due = proxy.tunnel("ok.test:443");
    let mut looking_up = proxy.client();
    looking_up.write_all(connect("slow.test:443").as_bytes()).unwrap();
    while !proxy.lookups().contains(&"slow.test".to_owned()) {
        std::thread::yield_now();
    }
    drop(proxy.egress);
    // All of it is told when the drop is over, without a wait for what hangs.
    let mut records: Vec<Connection> = proxy.records.try_iter().collect();
    records.sort_by(|a, b| (&a.host, a.port).cmp(&(&b.host, b.port)));
    let ended = "closed: the sandbox ended";
    let let_through = Connection { refused: None, ..refused("ok.test", 9, "") };
    assert_eq!(
        records,
        [
            refused("", 0, ended),
            let_through,
            refused("ok.test", 443, ended),
            refused("slow.test", 443, ended)
        ]
    );
    for client in [silent, open, greeting_due, looking_up] {
        assert_eq!(heard(client), "");
    }
    assert_eq!((server.heard(), server.heard()), (String::new(), String::new()));
    assert!(TcpStream::connect(proxy.at).is_err());
    barrier.wait();
}
