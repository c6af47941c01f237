//! Over TLS: the machine's own authorities are trusted, and nobody else is sent a key.
//!
//! Must never: reach a real provider.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;

use agentry_model::{Protocol, open};
use agentry_protocol::message::FailureKind;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::http::ALONE;
use crate::http_asking::{KEY, Told, ask, hello, http, provider};

const BASIC: &str = include_str!("fixtures/anthropic/basic.sse");
const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/tls/authority.pem");

/// Asks a server with a certificate of our test authority; hands out what the server was sent.
fn asked() -> (Told, Option<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let url = format!("https://{}", listener.local_addr().expect("an address"));
    let serving = serve(listener);
    let model = open(&http(), &provider(Protocol::Anthropic, url), "m").expect("a good provider");
    let told = ask(&*model, &hello());
    (told, serving.join().expect("the server ends"))
}

/// Answers one request; none means that the client did not like the certificate.
fn serve(listener: TcpListener) -> JoinHandle<Option<String>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let certificate = CertificateDer::from_pem_slice(include_bytes!("fixtures/tls/server.pem"));
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("fixtures/tls/server-key.pem"));
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the versions are known")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.expect("a certificate")], key.expect("a key"))
        .expect("they belong together");
    std::thread::spawn(move || {
        let (socket, _) = listener.accept().ok()?;
        let session = ServerConnection::new(Arc::new(config)).ok()?;
        let mut stream = StreamOwned::new(session, socket);
        let mut received = Vec::new();
        let mut buffer = [0; 4096];
        // The request is small: its body ends with the end of its list of messages.
        while !received.ends_with(b"]}") {
            let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
            received.extend_from_slice(&buffer[..count]);
        }
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            BASIC.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(BASIC.as_bytes())).ok()?;
        Some(String::from_utf8_lossy(&received).into_owned())
    })
}

#[test]
fn a_server_that_nobody_vouches_for_is_sent_nothing() {
    let (told, received) = asked();
    assert_eq!(told.kind(), FailureKind::Connection);
    assert!(told.failure().message.contains("certificate"), "{:?}", told.failure());
    assert_eq!(received, None);
}

#[test]
#[cfg(target_os = "linux")]
fn an_authority_of_the_machine_is_trusted() {
    if std::env::var_os(ALONE).is_none() {
        let own = std::env::current_exe().unwrap();
        let name = "http_tls::an_authority_of_the_machine_is_trusted";
        let child = std::process::Command::new(own)
            .args(["--exact", name])
            .env(ALONE, "1")
            .env("SSL_CERT_FILE", AUTHORITY)
            .output()
            .unwrap();
        assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
        return;
    }
    let (told, received) = asked();
    assert_eq!(told.answer.unwrap().text, "Hello!");
    let received = received.unwrap();
    assert!(received.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{received}");
    assert!(received.contains(KEY), "{received}");
}
