//! The way to a provider: time limits, interrupts, redirects, proxies, keys.
//!
//! Must never: reach a real provider.

use std::cell::Cell;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentry_model::{
    HttpError, HttpSettings, HttpTimeouts, Protocol, Provider, ProviderClient, Proxy, limits, list,
    open,
};
use agentry_protocol::message::FailureKind;

use crate::http_asking::{
    KEY, Told, ask, ask_while, hello, http, model, provider, with, with_timing,
};
use crate::server::{Reply, Server};

const BASIC: &str = include_str!("fixtures/anthropic/basic.sse");

/// No test waits for these.
const LONG: Duration = Duration::from_secs(600);
/// A limit that is reached at once.
const SHORT: Duration = Duration::from_millis(20);

fn told(reply: Reply, timing: HttpTimeouts) -> (Told, Server) {
    let server = Server::start(vec![reply]);
    let told = ask(&*model(&with_timing(timing), Protocol::Anthropic, &server), &hello());
    (told, server)
}

#[test]
fn no_connection_in_time_is_named() {
    // It accepts, and never says a word: the handshake does not come to its end.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let http = with_timing(HttpTimeouts { connect: SHORT, first_byte: LONG, idle: LONG });
    let model = open(&http, &provider(Protocol::Anthropic, url), "m").unwrap();
    let told = ask(&*model, &hello());
    assert_eq!(told.kind(), FailureKind::Timeout);
    assert!(told.failure().message.contains("no connection to 127.0.0.1:"), "{:?}", told.failure());
    assert!(told.failure().message.ends_with("within 20 ms"), "{:?}", told.failure());
}

#[test]
fn no_first_byte_in_time_is_named_wherever_the_server_stalls() {
    let timing = HttpTimeouts { connect: LONG, first_byte: Duration::from_millis(200), idle: LONG };
    for reply in [
        Reply::sse(BASIC).stall_before_head(),
        Reply::sse(BASIC).stall_in_head(),
        Reply::sse(BASIC).stall_at(0),
    ] {
        let (told, server) = told(reply, timing);
        assert_eq!(told.kind(), FailureKind::Timeout);
        assert!(
            told.failure().message.contains("did not begin to answer within 200 ms"),
            "{:?}",
            told.failure()
        );
        server.wait_for_hang_up();
    }
}

#[test]
fn silence_in_the_middle_is_named() {
    let timing = HttpTimeouts { connect: LONG, first_byte: LONG, idle: SHORT };
    let (told, server) = told(Reply::sse(BASIC).stall_at(400), timing);
    assert_eq!(told.kind(), FailureKind::Timeout);
    assert!(
        told.failure().message.contains("was silent for 20 ms in the middle"),
        "{:?}",
        told.failure()
    );
    server.wait_for_hang_up();
}

#[test]
fn a_stall_in_the_body_of_an_error_still_names_the_error() {
    let timing = HttpTimeouts { connect: LONG, first_byte: LONG, idle: SHORT };
    let (told, _server) = told(Reply::json(429, "{\"type\"").stall_at(5), timing);
    assert_eq!(told.kind(), FailureKind::RateLimited);
}

#[test]
fn an_interrupt_ends_the_request_and_hangs_up() {
    for reply in [Reply::sse(BASIC).stall_before_head(), Reply::sse(BASIC).stall_at(400)] {
        let server = Server::start(vec![reply]);
        let model = model(&http(), Protocol::Anthropic, &server);
        let looks = Cell::new(0);
        let wanted = |time: Duration| {
            assert_eq!(time, Duration::ZERO, "nobody waits while an answer may come");
            looks.set(looks.get() + 1);
            server.requests().is_empty() || looks.get() < 4
        };
        let told = ask_while(&*model, &hello(), &wanted);
        assert_eq!(told.kind(), FailureKind::Interrupted);
        server.wait_for_hang_up();
    }
}

#[test]
fn an_answer_that_nobody_wants_is_not_even_waited_for() {
    let server = Server::start(vec![Reply::sse(BASIC).stall_before_head()]);
    let model = model(&http(), Protocol::Anthropic, &server);
    assert_eq!(ask_while(&*model, &hello(), &|_| false).kind(), FailureKind::Interrupted);
}

#[test]
fn one_connection_serves_many_requests() {
    let server = Server::start(vec![Reply::sse(BASIC)]);
    let http = http();
    for _ in 0..30 {
        let model = model(&http, Protocol::Anthropic, &server);
        assert_eq!(ask(&*model, &hello()).answer.unwrap().text, "Hello!");
    }
    assert_eq!(server.requests().len(), 30);
    assert_eq!(server.connections(), 1);
}

#[test]
fn a_stream_that_goes_on_after_the_answer_is_left() {
    let endless = format!("{BASIC}{}", ": still here\n\n".repeat(10_000));
    let reply = Reply::sse(endless).pieces_of(14).pace(Duration::from_millis(10));
    let server = Server::start(vec![reply]);
    let told = ask(&*model(&http(), Protocol::Anthropic, &server), &hello());
    assert_eq!(told.answer.unwrap().text, "Hello!");
}

#[test]
fn many_can_ask_at_once() {
    let server = Server::start(vec![Reply::sse(BASIC).pieces_of(7)]);
    let http = http();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let model = model(&http, Protocol::Anthropic, &server);
                assert_eq!(ask(&*model, &hello()).answer.unwrap().text, "Hello!");
            });
        }
    });
    assert_eq!(server.requests().len(), 8);
}

/// Set in the process in which a test runs alone.
pub(crate) const ALONE: &str = "AGENTRY_TEST_ALONE";

#[test]
#[cfg(target_os = "linux")]
fn the_thread_begins_with_the_first_request_and_ends_with_its_owner() {
    if std::env::var_os(ALONE).is_none() {
        // Threads of other tests would be counted too.
        let name = "http::the_thread_begins_with_the_first_request_and_ends_with_its_owner";
        let own = std::env::current_exe().unwrap();
        let child =
            std::process::Command::new(own).args(["--exact", name]).env(ALONE, "1").output();
        let child = child.unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        return;
    }
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    let http = http();
    let near = provider(Protocol::Anthropic, "http://127.0.0.1:9");
    let model = open(&http, &near, "m").unwrap();
    assert_eq!(threads(), before);
    assert!(ask(&*model, &hello()).answer.is_err());
    assert_eq!(threads(), before + 1);
    drop((http, model));
    // The system forgets a thread a moment after it has ended.
    let late = Instant::now() + Duration::from_secs(60);
    while threads() != before && Instant::now() < late {
        std::thread::yield_now();
    }
    assert_eq!(threads(), before);
}

#[test]
fn a_redirect_is_not_followed_and_names_its_target() {
    let target = Server::start(vec![Reply::sse(BASIC)]);
    for status in [301, 302, 307, 308] {
        let reply = Reply::of(status, "text/html", "moved").header("location", &target.url());
        let server = Server::start(vec![reply]);
        let told = ask(&*model(&http(), Protocol::Anthropic, &server), &hello());
        assert_eq!(told.kind(), FailureKind::InvalidRequest);
        let message = &told.failure().message;
        assert!(message.contains(&format!("redirects to {}", target.url())), "{message}");
        assert_eq!(server.requests().len(), 1);
    }
    assert!(target.requests().is_empty());
}

#[test]
fn a_refused_connection_is_named() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let told = ask(&*open(&http(), &provider(Protocol::Anthropic, url), "m").unwrap(), &hello());
    assert_eq!(told.kind(), FailureKind::Connection);
    let message = &told.failure().message;
    assert!(
        message.starts_with(&format!("test: cannot connect to 127.0.0.1:{port}: ")),
        "{message}"
    );
    assert!(message.contains("refused"), "{message}");
}

#[test]
fn a_key_is_never_shown() {
    let server = Server::start(vec![
        Reply::json(
            401,
            format!(
                "{{\"error\":{{\"type\":\"authentication_error\",\"message\":\"bad key {KEY} of user-token-77\"}}}}"
            ),
        ),
        Reply::of(500, "text/plain", format!("trace: x-api-key={KEY}")),
        Reply::of(200, "text/plain", format!("<p>{KEY}")),
        Reply::of(302, "text/plain", "").header("location", &format!("http://x/?key={KEY}")),
    ]);
    let redact = Arc::new(|text: &str| text.replace("user-token-77", "[secret]"));
    let http = with(HttpSettings { redact, ..HttpSettings::default() });
    let model = model(&http, Protocol::Anthropic, &server);
    for number in 0..4 {
        let told = ask(&*model, &hello());
        let message = &told.failure().message;
        assert!(!message.contains(KEY) && message.contains("[key]"), "{message}");
        assert!(number > 0 || message.contains("[secret]"), "{message}");
    }
    let shown = format!("{:?} {http:?}", provider(Protocol::Anthropic, "https://x.example"));
    assert!(!shown.contains(KEY), "{shown}");
}

#[test]
fn a_provider_that_cannot_be_asked_says_why() {
    let refused = |base_url: &str, key: &str| {
        let key = Some(key.to_owned().into());
        let base_url = base_url.to_owned();
        let provider =
            Provider { id: "mine".to_owned(), protocol: Protocol::Anthropic, base_url, key };
        let error = open(&http(), &provider, "m").err().map(|error| error.to_string());
        let listed = list(&http(), &provider, &|_| false).unwrap_err();
        (error, listed.kind)
    };
    let (error, kind) = refused("http://api.example.com", "key");
    assert_eq!(
        error.unwrap(),
        "the provider `mine` cannot be used: its base URL `http://api.example.com` would send the key \
         unencrypted to a public host; write https"
    );
    assert_eq!(kind, FailureKind::InvalidRequest);
    let (error, _) = refused("https://api.example.com", "two\nlines");
    assert!(error.unwrap().contains("its key has characters that no key has"));
    let (error, kind) = refused("https://api.example.com", "\n");
    assert_eq!((error, kind), (None, FailureKind::Interrupted));
}

fn proxied(proxy: Proxy, base_url: &str) -> Told {
    let http = with(HttpSettings { proxy, ..HttpSettings::default() });
    let provider = Provider { key: None, ..provider(Protocol::Anthropic, base_url) };
    ask(&*open(&http, &provider, "m").expect("a good provider"), &hello())
}

#[test]
fn a_proxy_is_used_when_it_is_given() {
    let proxy = Server::start(vec![Reply::sse(BASIC)]);
    let settings = Proxy { http: Some(proxy.url()), ..Proxy::default() };
    let told = proxied(settings, "http://models.example.test");
    assert_eq!(told.answer.unwrap().text, "Hello!");
    assert_eq!(proxy.requests()[0].path, "http://models.example.test/v1/messages");
}

#[test]
fn a_proxy_for_https_is_asked_for_a_tunnel() {
    let proxy = Server::start(vec![Reply::of(502, "text/plain", "no")]);
    let settings = Proxy { https: Some(proxy.address().to_string()), ..Proxy::default() };
    let told = proxied(settings, "https://models.example.test");
    assert_eq!(told.kind(), FailureKind::Connection);
    let received = proxy.requests().remove(0);
    assert_eq!(
        (received.method.as_str(), received.path.as_str()),
        ("CONNECT", "models.example.test:443")
    );
}

#[test]
fn the_own_machine_and_the_hosts_of_no_proxy_are_asked_directly() {
    let (server, proxy) =
        (Server::start(vec![Reply::sse(BASIC)]), Server::start(vec![Reply::sse(BASIC)]));
    let settings = |no_proxy: &str| Proxy {
        http: Some(proxy.url()),
        https: Some(proxy.url()),
        no_proxy: Some(no_proxy.to_owned()),
    };
    let port = server.address().port();
    assert!(proxied(settings(""), &format!("http://127.0.0.1:{port}")).answer.is_ok());
    assert!(proxied(settings("a.example"), &format!("http://localhost:{port}")).answer.is_ok());
    let told = proxied(settings(""), "http://[::1]:9");
    assert_eq!(told.kind(), FailureKind::Connection);
    let told = proxied(settings("other.test,models.invalid"), "http://models.invalid");
    assert_eq!(told.kind(), FailureKind::Connection);
    assert!(proxy.requests().is_empty());
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn a_proxy_that_is_none_is_refused_without_showing_it() {
    for wrong in ["socks5://u:secret@h:1", "http://", "ftp://secret"] {
        let proxy = Proxy { https: Some(wrong.to_owned()), ..Proxy::default() };
        let error =
            ProviderClient::new(HttpSettings { proxy, ..HttpSettings::default() }).unwrap_err();
        assert!(matches!(error, HttpError::Proxy { variable: "HTTPS_PROXY" }), "{wrong}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn the_wait_that_the_server_asks_for_is_kept() {
    let server = Server::start(vec![
        Reply::json(429, "{}").header("retry-after", "7"),
        Reply::json(529, "{}").header("retry-after-ms", "1500").header("x-request-id", "abc"),
    ]);
    let model = model(&http(), Protocol::Anthropic, &server);
    assert_eq!(ask(&*model, &hello()).failure().retry_after_ms, Some(7_000));
    let told = ask(&*model, &hello());
    assert_eq!(told.failure().retry_after_ms, Some(1_500));
    assert!(told.failure().message.ends_with(" (request abc)"), "{:?}", told.failure());
}

#[test]
fn an_answer_without_an_end_is_stopped_at_its_bounds() {
    let endless = |frame: &str, bytes: usize| {
        let body = frame.repeat(bytes / frame.len() + 2);
        let server = Server::with(move |_, _| Reply::sse(body.clone()).pieces_of(1 << 20));
        ask(&*model(&http(), Protocol::Anthropic, &server), &hello())
    };
    let told = endless("data", limits::FRAME_BYTES_MAX);
    assert_eq!(told.kind(), FailureKind::Malformed);
    assert!(told.failure().message.contains("one event has more than"), "{:?}", told.failure());
    let ping = format!("event: ping\ndata: {}\n\n", "x".repeat(1 << 20));
    let told = endless(&ping, limits::ANSWER_BYTES_MAX);
    assert_eq!(told.kind(), FailureKind::Malformed);
    assert!(told.failure().message.contains("answered with more than"), "{:?}", told.failure());
}

#[test]
fn a_long_error_is_read_to_a_bound() {
    let server =
        Server::start(vec![Reply::of(500, "text/plain", "x".repeat(4 << 20)).pieces_of(1 << 16)]);
    let told = ask(&*model(&http(), Protocol::Anthropic, &server), &hello());
    assert_eq!(told.kind(), FailureKind::Overloaded);
    assert!(told.failure().message.len() < 2 * limits::SHOWN_CHARS_MAX);
}
