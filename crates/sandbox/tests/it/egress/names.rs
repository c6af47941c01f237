//! Which names are looked up, and which addresses are connected to.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;

#[test]
fn an_empty_list_denies_everything() {
    let server = nobody();
    let proxy = Scene { allow: &[], ..Scene::of(server.local_addr().unwrap()) }.start();
    for target in ["ok.test:443", "localhost:80", "a:443"] {
        let why = "the host is not among the allowed domains";
        assert_eq!(proxy.ask(connect(target)), denied(target, why));
    }
    assert_eq!(proxy.lookups(), [""; 0]);
    assert_nobody_came(&server);
}

#[track_caller]
fn check_answers(answers: &[&str], expected: &str) {
    let answers: Vec<SocketAddr> =
        answers.iter().map(|it| SocketAddr::new(it.parse().unwrap(), 443)).collect();
    let any = "192.0.2.1:1".parse().unwrap();
    let scene = Scene { addresses: &[], ..Scene::of(any) };
    let proxy = Scene { answers: Box::new(move |_, _| Ok(answers.clone())), ..scene }.start();
    assert_eq!(proxy.ask(connect("ok.test:443")), denied("ok.test:443", expected));
    assert_eq!(proxy.record(), refused("ok.test", 443, expected));
    assert_eq!(proxy.lookups(), ["ok.test"]);
}

#[test]
fn one_bad_answer_spoils_all() {
    check_answers(&["127.0.0.1"], "127.0.0.1 is an address of this machine");
    check_answers(&["8.8.8.8", "10.0.0.1"], "10.0.0.1 is a private address");
    check_answers(&["10.0.0.1", "8.8.8.8"], "10.0.0.1 is a private address");
    let metadata = "a link-local or metadata address";
    check_answers(&["169.254.169.254"], &format!("169.254.169.254 is {metadata}"));
    check_answers(&["168.63.129.16"], &format!("168.63.129.16 is {metadata}"));
    check_answers(&["100.100.100.200"], "100.100.100.200 is a shared address of a provider");
    check_answers(&["fd00:ec2::254"], "fd00:ec2::254 is a private address");
    check_answers(&["::ffff:127.0.0.1"], "127.0.0.1 is an address of this machine");
    check_answers(&["2002:7f00:1::"], "2002:7f00:1:: is an address of this machine");
    check_answers(&["64:ff9b::a00:1"], "64:ff9b::a00:1 is a private address");
}

#[test]
fn a_name_that_changes_its_answer_is_asked_for_once() {
    let server = Server::new(b"ping", b"pong");
    let (first, asked) = (server.at, AtomicUsize::new(0));
    let forbidden = nobody();
    // 127.0.0.2 is not listed; whoever asked again would be sent there.
    let second = SocketAddr::new([127, 0, 0, 2].into(), forbidden.local_addr().unwrap().port());
    let answers = move |_: &str, _| {
        Ok(vec![if asked.fetch_add(1, Ordering::SeqCst) == 0 { first } else { second }])
    };
    let proxy = Scene { answers: Box::new(answers), ..Scene::of(first) }.start();
    let mut client = proxy.tunnel("ok.test:9");
    client.write_all(b"ping").unwrap();
    assert_eq!(heard(client), "pong");
    assert_eq!(proxy.lookups(), ["ok.test"]);
    let why = "127.0.0.2 is an address of this machine";
    assert_eq!(proxy.ask(connect("ok.test:9")), denied("ok.test:9", why));
    assert_nobody_came(&forbidden);
}

#[test]
fn an_address_is_reached_only_if_that_very_address_is_allowed() {
    let server = Server::new(b"ping", b"pong");
    let port = server.at.port();
    let closed = Scene::of(server.at).start();
    let open = Scene { allow: &["127.0.0.1"], ..Scene::of(server.at) }.start();
    let notations =
        ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.01", "[::ffff:127.0.0.1]"];
    for host in notations {
        let target = format!("{host}:{port}");
        let why = "the address is not among the allowed domains";
        assert_eq!(closed.ask(connect(&target)), denied(&target, why));
        let mut client = open.tunnel(&target);
        client.write_all(b"ping").unwrap();
        assert_eq!(heard(client), "pong");
    }
    for host in ["127.0.0.2", "[::1]", "10.0.0.1", "1.2.3.4.5"] {
        let answer = open.ask(connect(&format!("{host}:{port}")));
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden"), "{host}: {answer}");
    }
    // Allowed, and still not public.
    let private = Scene { allow: &["127.0.0.1"], addresses: &[], ..Scene::of(server.at) }.start();
    let why = "127.0.0.1 is an address of this machine";
    assert_eq!(private.ask(connect("127.0.0.1:443")), denied("127.0.0.1:443", why));
    assert_eq!(closed.lookups().len() + open.lookups().len() + private.lookups().len(), 0);
}

/// Names that look like an allowed one, and any other bytes.
fn odd_host() -> impl Strategy<Value = Vec<u8>> {
    let near = proptest::sample::select(vec![
        "ok.test",
        "OK.TEST.",
        "xok.test",
        "ok.test.evil.org",
        "a.ok.test",
        "a.below.test",
        "below.test",
        "a.below.test.",
        ".below.test",
        "xbelow.test",
        "a.b.BELOW.test",
        "ok.test\0",
        "ok.test\0.evil.org",
        "ok.test%00",
        "u@ok.test",
        "ok.test ",
        "ok..test",
        "127.0.0.1",
        "0x7f.1",
        "[::1]",
        "::1",
        "ok.test:80",
    ]);
    prop_oneof![
        near.prop_map(|text| text.as_bytes().to_vec()),
        "[a-cA-C.*0-9_-]{0,12}(ok|below)\\.test[.a-c]{0,3}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..40),
    ]
}

fn is_allowed(name: &str) -> bool {
    let below = name.strip_suffix(".below.test");
    name == "ok.test" || below.is_some_and(|front| !front.is_empty() && !front.starts_with('.'))
}

#[test]
fn no_name_outside_the_list_is_ever_looked_up_or_connected() {
    let server = nobody();
    let at = server.local_addr().unwrap();
    let mut scene = Scene { allow: &["ok.test", "*.below.test"], addresses: &[], ..Scene::of(at) };
    scene.caps.connections = 10_000;
    let proxy = scene.start();
    let config = Config { cases: 256, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&odd_host(), |host| {
            let length = u8::try_from(host.len()).unwrap();
            let socks = [&[5, 1, 0, 5, 1, 0, 3, length][..], &host, &[1, 187]].concat();
            let http = [b"CONNECT ", &host[..], b":443 HTTP/1.1\r\n\r\n"].concat();
            let get = [b"GET http://", &host[..], b"/ HTTP/1.0\r\n\r\n"].concat();
            for request in [socks, http, get] {
                let mut client = proxy.client();
                client.write_all(&request).unwrap();
                client.shutdown(Shutdown::Write).unwrap();
                let mut answer = Vec::new();
                client.read_to_end(&mut answer).ok();
                // All of it resolves to this machine, so nothing at all may get through.
                prop_assert!(proxy.record().refused.is_some());
            }
            let lookups = std::mem::take(&mut *proxy.lookups.lock().unwrap());
            prop_assert!(lookups.iter().all(|name| is_allowed(name)), "{lookups:?}");
            Ok(())
        })
        .unwrap();
    assert_nobody_came(&server);
}
