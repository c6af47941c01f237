//! Fetching, from servers on this machine that the rules allow, and from nowhere else.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use agentry_protocol::tool_call::OutcomeStatus;
use agentry_tools::FetchRules;
use serde_json::json;

use crate::Bench;

/// Answers each connection with the next of its answers, then is gone.
struct Server {
    address: String,
    thread: JoinHandle<Vec<String>>,
}

impl Server {
    fn with(answers: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let thread = std::thread::spawn(move || {
            answers
                .into_iter()
                .map(|answer| {
                    let (mut stream, _) = listener.accept().unwrap();
                    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                    let request = lines.next().unwrap().unwrap();
                    while !lines.next().unwrap().unwrap().is_empty() {}
                    // A client that has enough hangs up; that is its right.
                    stream.write_all(&answer).ok();
                    request
                })
                .collect()
        });
        Self { address, thread }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn requests(self) -> Vec<String> {
        self.thread.join().unwrap()
    }
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 {head}\r\nConnection: close\r\n").into_bytes();
    answer.extend(format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes());
    answer.extend_from_slice(body);
    answer
}

fn typed(kind: &str, body: &[u8]) -> Vec<u8> {
    answer(&format!("200 OK\r\nContent-Type: {kind}"), body)
}

fn sent_on(to: &str) -> Vec<u8> {
    answer(&format!("302 Found\r\nLocation: {to}"), b"")
}

fn bench_for(server: &Server) -> Bench {
    let mut bench = Bench::with(&[]);
    bench.fetch = FetchRules::allowing([server.address.clone()]);
    bench
}

#[test]
fn a_page_comes_as_markdown() {
    let server = Server::with(vec![typed(
        "text/html; charset=utf-8",
        "<h1>Grüße</h1><p>a <b>b</b>".as_bytes(),
    )]);
    let bench = bench_for(&server);
    let url = server.url("/x");
    let outcome = bench.run("web_fetch", json!({"url": url}));
    assert_eq!(outcome.status, OutcomeStatus::Done);
    assert_eq!(outcome.text, format!("[{url}, 200, text/html]\n# Grüße\n\na **b**"));
    assert!(outcome.measured.duration_ms.is_some());
    assert_eq!(server.requests(), ["GET /x HTTP/1.1"]);
}

#[test]
fn text_comes_as_it_is_and_other_things_are_named() {
    for (kind, body, expected) in [
        ("application/json", "{\"a\": 1}".as_bytes(), "{\"a\": 1}"),
        ("text/plain", b"<b>x</b>", "<b>x</b>"),
        ("text/plain; charset=ISO-8859-1", b"caf\xe9", "café"),
        ("image/png", b"\x89PNG", "A file of type image/png, 4 bytes; it is not shown as text."),
    ] {
        let server = Server::with(vec![typed(kind, body)]);
        let bench = bench_for(&server);
        let text = bench.done("web_fetch", json!({"url": server.url("/")}));
        assert_eq!(text.split_once('\n').unwrap().1, expected);
    }
}

#[test]
fn a_status_that_is_no_success_is_a_failure_with_its_text() {
    let server = Server::with(vec![answer("404 Not Found\r\nContent-Type: text/plain", b"gone")]);
    let bench = bench_for(&server);
    let url = server.url("/x");
    let text = bench.failed("web_fetch", json!({"url": url}));
    assert_eq!(text, format!("[{url}, 404, text/plain]\ngone"));
}

#[test]
fn a_body_as_long_as_the_limit_is_whole_and_one_byte_more_is_cut() {
    let server = Server::with(vec![typed("text/plain", b"12345"), typed("text/plain", b"123456")]);
    let mut bench = bench_for(&server);
    bench.bounds.fetch_bytes = 5;
    let url = server.url("/");
    let outcome = bench.run("web_fetch", json!({"url": url}));
    assert_eq!(outcome.text, format!("[{url}, 200, text/plain]\n12345"));
    assert!(!outcome.measured.truncated);
    let outcome = bench.run("web_fetch", json!({"url": url}));
    assert_eq!(outcome.text, format!("[{url}, 200, text/plain, cut after 5 bytes]\n12345"));
    assert!(outcome.measured.truncated);
}

#[test]
fn the_limit_counts_what_comes_out_of_a_compressed_body() {
    // Made with `head -c 100000 /dev/zero | tr '\0' a | gzip -9n`: 100,000 times the letter a.
    let bomb = gzip_of_many_letters();
    let server = Server::with(vec![answer(
        "200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip",
        &bomb,
    )]);
    let mut bench = bench_for(&server);
    bench.bounds.fetch_bytes = 1_000;
    let outcome = bench.run("web_fetch", json!({"url": server.url("/")}));
    assert!(bomb.len() < 1_000);
    assert!(outcome.measured.truncated);
    assert_eq!(outcome.text.split_once('\n').unwrap().1, "a".repeat(1_000));
}

fn gzip_of_many_letters() -> Vec<u8> {
    let script = "head -c 100000 /dev/zero | tr '\\0' a | gzip -9n";
    std::process::Command::new("sh").args(["-c", script]).output().unwrap().stdout
}

#[test]
fn a_text_as_long_as_the_limit_is_whole_and_one_character_more_is_left_out() {
    let server = Server::with(vec![
        typed("text/plain", "äöü".as_bytes()),
        typed("text/plain", "äöüß".as_bytes()),
    ]);
    let mut bench = bench_for(&server);
    bench.bounds.fetch_output_chars = 3;
    let fetch = || bench.run("web_fetch", json!({"url": server.url("/")}));
    assert!(fetch().text.ends_with("]\näöü"));
    let outcome = fetch();
    assert!(outcome.text.ends_with("]\näöü\n… 1 characters left out …"), "{}", outcome.text);
    assert!(outcome.measured.truncated);
}

#[test]
fn an_answer_that_never_ends_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut bench = Bench::with(&[]);
    bench.fetch = FetchRules::allowing([address.clone()]);
    bench.bounds.fetch_ms = 200;
    // The connection is made by the system; nobody ever answers.
    let url = format!("http://{address}/");
    let text = bench.failed("web_fetch", json!({"url": url}));
    assert_eq!(text, "No complete answer within 200 ms.");
}

#[test]
fn a_body_that_breaks_off_is_a_failure() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nhalf";
    let server = Server::with(vec![head.as_bytes().to_vec()]);
    let bench = bench_for(&server);
    let text = bench.failed("web_fetch", json!({"url": server.url("/")}));
    assert!(text.starts_with("The answer broke off: "), "{text}");
}

#[test]
fn a_stop_from_another_thread_ends_the_waiting() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut bench = Bench::with(&[]);
    bench.fetch = FetchRules::allowing([address.clone()]);
    let stop = bench.stop.clone();
    let stopper = std::thread::spawn(move || {
        let connection = listener.accept().unwrap();
        stop.stop();
        connection
    });
    let outcome = bench.run("web_fetch", json!({"url": format!("http://{address}/")}));
    assert_eq!(outcome.status, OutcomeStatus::Stopped);
    drop(stopper.join().unwrap());
}

#[test]
fn a_page_that_nests_without_end_is_a_failure() {
    let server = Server::with(vec![typed("text/html", "<div>".repeat(5_000).as_bytes())]);
    let bench = bench_for(&server);
    let url = server.url("/");
    let text = bench.failed("web_fetch", json!({"url": url}));
    assert_eq!(text, format!("`{url}` nests too deep to read."));
}

#[test]
fn a_server_may_send_us_on_five_times_and_no_more() {
    let page = typed("text/plain", b"here");
    let mut answers = vec![sent_on("/next"); 5];
    answers.push(page);
    let server = Server::with(answers);
    let bench = bench_for(&server);
    let text = bench.done("web_fetch", json!({"url": server.url("/")}));
    assert_eq!(text, format!("[{}, 200, text/plain]\nhere", server.url("/next")));
    assert_eq!(server.requests().len(), 6);

    let server = Server::with(vec![sent_on("/next"); 6]);
    let bench = bench_for(&server);
    let url = server.url("/");
    let text = bench.failed("web_fetch", json!({"url": url}));
    assert_eq!(text, format!("`{url}` leads on more than 5 times."));
}

#[test]
fn a_server_that_sends_us_on_to_a_private_address_gains_nothing() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let port = other.local_addr().unwrap().port();
    for target in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://127.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("//127.0.0.1:{port}/"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[fd00:ec2::254]/latest/meta-data/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "http://user:word@127.0.0.1/".to_owned(),
    ] {
        let server = Server::with(vec![sent_on(&target)]);
        let bench = bench_for(&server);
        bench.refused("web_fetch", json!({"url": server.url("/")}));
        server.requests();
    }
    assert!(other.accept().is_err(), "nobody may have come");
}

#[test]
fn an_address_that_is_not_public_is_refused_however_it_is_written() {
    let bench = Bench::with(&[]);
    for url in [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://0/",
        "http://localhost/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://10.0.0.1/",
        "http://192.168.0.1:8080/",
        "http://100.64.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "https://[fd00:ec2::254]/",
        "http://①②⑦.⓪.⓪.①/",
    ] {
        let text = bench.refused("web_fetch", json!({"url": url}));
        assert!(text.contains(" is not fetched: its host is a"), "{url}: {text}");
    }
}

#[test]
fn only_the_web_is_fetched_from() {
    let bench = Bench::with(&[]);
    for url in ["file:///etc/passwd", "ftp://example.com/", "data:text/plain,x", "gopher://x/"] {
        let text = bench.refused("web_fetch", json!({"url": url}));
        assert!(text.ends_with("addresses are not fetched, only http and https."), "{text}");
    }
    for url in ["http://user@example.com/", "http://user:word@example.com/"] {
        assert_eq!(
            bench.refused("web_fetch", json!({"url": url})),
            "An address with a user name in it is not fetched."
        );
    }
    for url in ["nonsense", "http://", "/etc/passwd"] {
        bench.failed("web_fetch", json!({"url": url}));
    }
    let long = format!("http://example.com/{}", "x".repeat(9_000));
    assert_eq!(bench.failed("web_fetch", json!({"url": long})), "The address is too long.");
}

#[test]
fn a_rule_allows_one_host_and_port_and_no_other() {
    let server = Server::with(vec![typed("text/plain", b"x")]);
    let mut bench = bench_for(&server);
    let port: u16 = server.address.rsplit_once(':').unwrap().1.parse().unwrap();
    bench.refused("web_fetch", json!({"url": format!("http://localhost:{port}/")}));
    bench.refused("web_fetch", json!({"url": format!("http://127.0.0.1:{}/", port ^ 1)}));
    bench.fetch = FetchRules::allowing([format!("LocalHost:{port}")]);
    bench.done("web_fetch", json!({"url": format!("http://localhost:{port}/")}));
}

#[test]
fn a_server_that_is_not_there_is_a_failure() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let mut bench = Bench::with(&[]);
    bench.fetch = FetchRules::allowing([address.clone()]);
    let text = bench.failed("web_fetch", json!({"url": format!("http://{address}/")}));
    assert!(text.starts_with(&format!("`http://{address}/` cannot be fetched: ")), "{text}");
}
