//! SOCKS: the same rules behind another door.

use super::*;

const HELLO: &[u8] = &[5, 1, 0];

fn by_name(host: &[u8], port: u16) -> Vec<u8> {
    let length = u8::try_from(host.len()).unwrap();
    [&[5, 1, 0, 3, length], host, &port.to_be_bytes()].concat()
}

/// The answer after the greeting, and the connection.
fn replied(proxy: &Proxy, request: &[u8]) -> (u8, TcpStream) {
    let mut client = proxy.client();
    client.write_all(HELLO).unwrap();
    let mut method = [0; 2];
    client.read_exact(&mut method).unwrap();
    assert_eq!(method, [5, 0]);
    client.write_all(request).unwrap();
    let mut reply = [0; 10];
    client.read_exact(&mut reply).unwrap();
    assert_eq!([reply[0], reply[2], reply[3]], [5, 0, 1]);
    (reply[1], client)
}

#[test]
fn a_name_is_resolved_by_the_proxy_and_reached() {
    let server = Server::new(b"ping", b"pong");
    let proxy = Scene::of(server.at).start();
    let hello = greeting(Some("ok.test"));
    let (reply, mut client) = replied(&proxy, &by_name(b"ok.test", 443));
    assert_eq!(reply, 0);
    client.write_all(&[&hello[..], b"ping"].concat()).unwrap();
    assert_eq!(heard(client), "pong");
    let record = proxy.record();
    assert_eq!((record.host.as_str(), record.port, record.refused), ("ok.test", 443, None));
    assert_eq!((record.bytes_out, record.bytes_in), (hello.len() as u64 + 4, 4));
    assert_eq!(proxy.lookups(), ["ok.test"]);
}

#[test]
fn everything_in_one_piece_is_understood_too() {
    let server = Server::new(b"ping", b"pong");
    let proxy = Scene::of(server.at).start();
    let all = [HELLO, &by_name(b"ok.test", 99), b"ping"].concat();
    let mut client = proxy.client();
    client.write_all(&all).unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert!(answer.ends_with(b"pong"));
    drop(client);
    assert_eq!(server.heard(), "ping");
}

#[test]
fn the_greeting_of_tls_is_judged_here_too() {
    let server = Server::new(b"never", b"");
    let proxy = Scene::of(server.at).start();
    for (bytes, why) in [
        (greeting(Some("evil.test")), "the TLS greeting names another host: evil.test"),
        (greeting(None), "the TLS greeting names no host"),
    ] {
        let (reply, mut client) = replied(&proxy, &by_name(b"ok.test", 443));
        assert_eq!(reply, 0);
        client.write_all(&bytes).unwrap();
        assert_eq!(heard(client), "");
        assert_eq!(proxy.record(), refused("ok.test", 443, why));
        assert_eq!(server.heard(), "");
    }
}

#[test]
fn what_is_not_allowed_is_answered_so_and_never_looked_up() {
    let server = nobody();
    let proxy = Scene::of(server.local_addr().unwrap()).start();
    let v6 = [&[5, 1, 0, 4][..], &[0; 15], &[1], &[1, 187]].concat();
    for (request, host, port) in [
        (by_name(b"evil.test", 443), "evil.test", 443),
        (by_name(b"ok.test\0.evil.test", 443), r"ok.test\x00.evil.test", 443),
        (by_name(b"ok.test\0", 443), r"ok.test\x00", 443),
        (by_name(b"127.0.0.1", 443), "127.0.0.1", 443),
        (by_name(b"0x7f.1", 443), "0x7f.1", 443),
        (by_name(b"::1", 443), "::1", 443),
        (by_name(b"", 443), "", 443),
        (by_name(b"ok.test", 0), "ok.test", 0),
        (vec![5, 1, 0, 1, 127, 0, 0, 1, 0, 80], "127.0.0.1", 80),
        (v6, "[::1]", 443),
    ] {
        let (reply, client) = replied(&proxy, &request);
        assert_eq!((reply, heard(client).as_str()), (2, ""), "{host}");
        let record = proxy.record();
        assert_eq!((record.host.as_str(), record.port), (host, port));
        assert!(record.refused.is_some(), "{host}");
    }
    assert_eq!(proxy.lookups(), [""; 0]);
    assert_nobody_came(&server);
}

#[test]
fn only_connections_out_are_made() {
    let server = nobody();
    let proxy = Scene::of(server.local_addr().unwrap()).start();
    for command in [2, 3, 0, 9] {
        let mut request = by_name(b"ok.test", 443);
        request[1] = command;
        assert_eq!(replied(&proxy, &request).0, 7);
        let why = "malformed request: only connections out are made";
        assert_eq!(proxy.record(), refused("ok.test", 443, why));
    }
    assert_eq!(replied(&proxy, &[5, 1, 0, 2, 0, 0]).0, 8);
    assert!(proxy.record().refused.is_some());
    let mut client = proxy.client();
    client.write_all(&[5, 1, 2]).unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, [5, 0xff]);
    assert!(proxy.record().refused.is_some());
    assert_nobody_came(&server);
}

#[test]
fn a_host_that_does_not_answer_has_its_own_replies() {
    let (_held, gone) = closed();
    let proxy = Scene::of(gone).start();
    assert_eq!(replied(&proxy, &by_name(b"ok.test", 443)).0, 5);
    assert!(proxy.record().refused.unwrap().starts_with("not reached: "));
    let nothing = Scene { answers: Box::new(|_, _| Ok(Vec::new())), ..Scene::of(gone) }.start();
    assert_eq!(replied(&nothing, &by_name(b"ok.test", 443)).0, 4);
    assert_eq!(nothing.record(), refused("ok.test", 443, "not reached: it has no address"));
}
