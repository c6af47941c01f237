//! The proxy between a sandbox and the network, on loopback with real connections.

mod caps;
mod http;
mod names;
mod socks;
mod tunnel;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentry_protocol::confinement::{Connection, NetworkAccess};
use agentry_sandbox::egress::{Egress, EgressLimits, EgressRules};
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use rustls::crypto::aws_lc_rs;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use crate::LONG;

/// A proxy, and what it told.
struct Proxy {
    egress: Egress,
    at: SocketAddr,
    records: Receiver<Connection>,
    lookups: Arc<Mutex<Vec<String>>>,
}

type Answers = Box<dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

struct Scene<'a> {
    allow: &'a [&'a str],
    addresses: &'a [&'a str],
    caps: EgressLimits,
    answers: Answers,
}

impl Scene<'_> {
    /// `ok.test` is allowed and is that server, whatever port is asked for.
    fn of(server: SocketAddr) -> Self {
        Self {
            allow: &["ok.test"],
            addresses: &["127.0.0.1"],
            caps: EgressLimits::default(),
            answers: Box::new(move |_, _| Ok(vec![server])),
        }
    }

    fn start(self) -> Proxy {
        let network = NetworkAccess::Domains {
            allow: self.allow.iter().map(ToString::to_string).collect(),
            addresses: self.addresses.iter().map(ToString::to_string).collect(),
        };
        let rules = EgressRules::new(&network).unwrap().with_caps(self.caps);
        let listener = TcpListener::bind((own_address(), 0)).unwrap();
        let at = listener.local_addr().unwrap();
        let lookups = Arc::new(Mutex::new(Vec::new()));
        let (sender, records) = mpsc::channel();
        let (asked, answers) = (lookups.clone(), self.answers);
        let resolve = Arc::new(move |host: &str, port: u16| {
            asked.lock().unwrap().push(host.to_owned());
            answers(host, port)
        });
        let tell = Arc::new(move |connection| sender.send(connection).unwrap());
        let egress = Egress::start(listener, rules, resolve, tell).unwrap();
        Proxy { egress, at, records, lookups }
    }
}

impl Proxy {
    fn client(&self) -> TcpStream {
        let client = TcpStream::connect(self.at).unwrap();
        client.set_read_timeout(Some(LONG)).unwrap();
        client
    }

    /// Says all of it and hears all of the answer.
    fn ask(&self, request: impl AsRef<[u8]>) -> String {
        let mut client = self.client();
        client.write_all(request.as_ref()).unwrap();
        heard(client)
    }

    fn record(&self) -> Connection {
        self.records.recv_timeout(LONG).unwrap()
    }

    fn lookups(&self) -> Vec<String> {
        self.lookups.lock().unwrap().clone()
    }

    /// A tunnel that is open.
    fn tunnel(&self, target: &str) -> TcpStream {
        let mut client = self.client();
        client.write_all(connect(target).as_bytes()).unwrap();
        let welcome = b"HTTP/1.1 200 Connection established\r\n\r\n";
        let mut answer = vec![0; welcome.len()];
        client.read_exact(&mut answer).unwrap();
        assert_eq!(answer.escape_ascii().to_string(), welcome.escape_ascii().to_string());
        client
    }
}

fn connect(target: &str) -> String {
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")
}

/// What comes until the connection ends, in whatever way.
fn heard(mut client: TcpStream) -> String {
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        answer.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(answer).unwrap()
}

fn denied(target: &str, why: &str) -> String {
    let text = format!("denied by sandbox: {target}: {why}\n");
    let length = text.len();
    format!(
        "HTTP/1.1 403 Forbidden\r\nX-Denied-By: sandbox\r\n\
         Content-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{text}"
    )
}

fn refused(host: &str, port: u16, why: &str) -> Connection {
    let refused = Some(why.to_owned());
    Connection { host: host.to_owned(), port, refused, bytes_out: 0, bytes_in: 0 }
}

/// A server of one answer, which it gives each time it has heard the question.
struct Server {
    at: SocketAddr,
    heard: Receiver<Vec<u8>>,
}

impl Server {
    fn new(question_ends: &'static [u8], answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let (sender, heard) = mpsc::channel();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let sender = sender.clone();
                std::thread::spawn(move || serve(client.unwrap(), question_ends, answer, sender));
            }
        });
        Self { at, heard }
    }

    /// What one connection brought, from its beginning to its end.
    fn heard(&self) -> String {
        self.heard.recv_timeout(LONG).unwrap().escape_ascii().to_string()
    }
}

fn serve(
    mut client: TcpStream,
    question_ends: &'static [u8],
    answer: &'static [u8],
    sender: mpsc::Sender<Vec<u8>>,
) {
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    let mut answered = false;
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        heard.extend_from_slice(&buffer[..count]);
        if !answered && heard.ends_with(question_ends) {
            answered = true;
            client.write_all(answer).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
        }
    }
    // The test may be over.
    sender.send(heard).ok();
}

/// An address of this machine that no other test listens at, also when the door is closed.
fn own_address() -> Ipv4Addr {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let first = Ipv4Addr::new(127, 1, 0, 1).to_bits();
    Ipv4Addr::from_bits(first + NEXT.fetch_add(1, Ordering::SeqCst))
}

/// A port that is taken and where nobody listens.
fn closed() -> (OwnedFd, SocketAddr) {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let at = getsockname(&socket).unwrap().try_into().unwrap();
    (socket, at)
}

/// A server that nobody may come to.
fn nobody() -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    listener
}

#[track_caller]
fn assert_nobody_came(listener: &TcpListener) {
    assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
}

/// The greeting of a TLS client for that host, or for none.
fn greeting(host: Option<&str>) -> Vec<u8> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    config.enable_sni = host.is_some();
    let name = host.unwrap_or("ok.test").to_owned().try_into().unwrap();
    let mut bytes = Vec::new();
    ClientConnection::new(Arc::new(config), name).unwrap().write_tls(&mut bytes).unwrap();
    bytes
}

/// Soon over, and yet long enough for a busy machine to say a few words.
fn short() -> Duration {
    Duration::from_millis(400)
}
