//! A loopback server for the tests of the wire: it answers from a script, as awkwardly as the test wants.
//!
//! Each piece is one HTTP chunk of its own, so that the client gets exactly these pieces, whatever TCP does
//! with them. It stalls by waiting for the client to hang up, so no test sleeps.
//!
//! Must never: speak to anything but 127.0.0.1.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A running server; it stops listening when it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    state: Arc<State>,
    accepting: Option<JoinHandle<()>>,
}

/// What the server was sent.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// What the server answers.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    pieces: Pieces,
    pace: Option<Duration>,
    ending: Ending,
}

#[derive(Clone, Debug)]
enum Pieces {
    Whole,
    Of(usize),
    At(Vec<usize>),
}

/// Where an answer ends, and how; a place is counted in bytes of the body.
#[derive(Clone, Copy, Debug)]
enum Ending {
    Whole,
    StallBeforeHead,
    StallInHead,
    StallAt(usize),
    CutAt(usize),
    ResetAt(usize),
    ResetBeforeHead,
}

type Respond = dyn Fn(usize, &Received) -> Reply + Send + Sync;

struct State {
    respond: Box<Respond>,
    requests: Mutex<Vec<Received>>,
    connections: AtomicUsize,
    hung_up: AtomicUsize,
    stopped: AtomicBool,
}

impl Server {
    /// The n-th request gets the n-th reply; the last one is given again and again.
    pub(crate) fn start(replies: Vec<Reply>) -> Self {
        assert!(!replies.is_empty(), "a server needs a reply");
        Self::with(move |number, _| replies[number.min(replies.len() - 1)].clone())
    }

    /// The reply is worked out from the number of the request, from zero, and the request.
    pub(crate) fn with(
        respond: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(State {
            respond: Box::new(respond),
            requests: Mutex::default(),
            connections: AtomicUsize::new(0),
            hung_up: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        let accepting = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || serve(&shared, stream));
            }
        });
        Self { address, state, accepting: Some(accepting) }
    }

    /// Its address as a base URL without a slash at the end.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<Received> {
        self.state.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many connections were made.
    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Waits until the client has hung up on an answer that stalled.
    pub(crate) fn wait_for_hang_up(&self) {
        while self.state.hung_up.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            accepting.join().expect("the accepting thread ends");
        }
    }
}

impl Received {
    /// The value of a header, by its name in small letters.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

impl Reply {
    /// A stream of server-sent events, whole and in one piece.
    pub(crate) fn sse(body: impl Into<Vec<u8>>) -> Self {
        Self::of(200, "text/event-stream; charset=utf-8", body)
    }

    /// A JSON body with this status.
    pub(crate) fn json(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::of(status, "application/json", body)
    }

    /// A body of this type with this status.
    pub(crate) fn of(status: u16, media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), media_type.to_owned())],
            body: body.into(),
            pieces: Pieces::Whole,
            pace: None,
            ending: Ending::Whole,
        }
    }

    /// With this header too.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// In pieces of so many bytes.
    pub(crate) fn pieces_of(mut self, bytes: usize) -> Self {
        self.pieces = Pieces::Of(bytes);
        self
    }

    /// Split before each of these bytes.
    pub(crate) fn split_at(mut self, places: &[usize]) -> Self {
        self.pieces = Pieces::At(places.to_vec());
        self
    }

    /// With so much time between two pieces.
    pub(crate) fn pace(mut self, time: Duration) -> Self {
        self.pace = Some(time);
        self
    }

    /// Nothing at all is sent.
    pub(crate) fn stall_before_head(self) -> Self {
        self.ending(Ending::StallBeforeHead)
    }

    /// A part of the headers is sent, and then nothing more.
    pub(crate) fn stall_in_head(self) -> Self {
        self.ending(Ending::StallInHead)
    }

    /// So many bytes of the body are sent, and then nothing more.
    pub(crate) fn stall_at(self, bytes: usize) -> Self {
        self.ending(Ending::StallAt(bytes))
    }

    /// The connection is closed after so many bytes of the body, without an end of the body.
    pub(crate) fn cut_at(self, bytes: usize) -> Self {
        self.ending(Ending::CutAt(bytes))
    }

    /// The body ends after so many bytes, as if that were all.
    pub(crate) fn end_at(mut self, bytes: usize) -> Self {
        self.body.truncate(bytes);
        self
    }

    /// The connection is reset after so many bytes of the body; the request must have a body.
    pub(crate) fn reset_at(self, bytes: usize) -> Self {
        self.ending(Ending::ResetAt(bytes))
    }

    /// The connection is reset before anything is sent; the request must have a body.
    pub(crate) fn reset_before_head(self) -> Self {
        self.ending(Ending::ResetBeforeHead)
    }

    fn ending(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    fn resets(&self) -> bool {
        matches!(self.ending, Ending::ResetAt(_) | Ending::ResetBeforeHead)
    }
}

/// Answers all requests of one connection. A client that hangs up is no failure of the test.
fn serve(state: &State, stream: TcpStream) {
    drop(stream.set_nodelay(true));
    let Ok(mut writer) = stream.try_clone() else { return };
    let mut reader = BufReader::with_capacity(1, stream);
    while let Some((mut received, length)) = read_head(&mut reader) {
        let mut body = vec![0; length];
        let (most, last) = body.split_at_mut(length.saturating_sub(1));
        // The last byte is looked at and left: closing with it unread resets the connection.
        if reader.read_exact(most).is_err() {
            return;
        }
        // To look at nothing would wait for something.
        if !last.is_empty() && reader.get_ref().peek(last).is_err() {
            return;
        }
        received.body = body;
        let number = state.requests.lock().unwrap_or_else(PoisonError::into_inner).len();
        let reply = (state.respond)(number, &received);
        if !reply.resets() && reader.read_exact(&mut vec![0; length.min(1)]).is_err() {
            return;
        }
        state.requests.lock().unwrap_or_else(PoisonError::into_inner).push(received);
        match answer(&mut writer, &reply) {
            Ok(Next::Request) => {}
            Ok(Next::Close) | Err(_) => return,
            Ok(Next::Stall) => {
                drop(reader.read(&mut [0]));
                state.hung_up.fetch_add(1, Ordering::SeqCst);
                return;
            }
        }
    }
}

enum Next {
    Request,
    Close,
    Stall,
}

fn answer(writer: &mut TcpStream, reply: &Reply) -> std::io::Result<Next> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("transfer-encoding: chunked\r\n\r\n");
    let (until, next) = match reply.ending {
        Ending::Whole => (reply.body.len(), Next::Request),
        Ending::StallBeforeHead => return Ok(Next::Stall),
        Ending::ResetBeforeHead => return Ok(Next::Close),
        Ending::StallInHead => {
            writer.write_all(&head.as_bytes()[..20])?;
            return Ok(Next::Stall);
        }
        Ending::StallAt(bytes) => (bytes, Next::Stall),
        Ending::CutAt(bytes) | Ending::ResetAt(bytes) => (bytes, Next::Close),
    };
    writer.write_all(head.as_bytes())?;
    let body = &reply.body[..until.min(reply.body.len())];
    for piece in pieces(body, &reply.pieces) {
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        writer.write_all(&chunk)?;
        if let Some(pace) = reply.pace {
            std::thread::sleep(pace);
        }
    }
    if matches!(next, Next::Request) {
        writer.write_all(b"0\r\n\r\n")?;
    }
    Ok(next)
}

fn pieces<'a>(body: &'a [u8], how: &Pieces) -> Vec<&'a [u8]> {
    match how {
        Pieces::Whole => vec![body],
        Pieces::Of(bytes) => body.chunks(*bytes).collect(),
        Pieces::At(places) => {
            let mut rest = body;
            let mut at = 0;
            let mut all = Vec::new();
            for place in places {
                let (piece, after) = rest.split_at((place - at).min(rest.len()));
                all.push(piece);
                (rest, at) = (after, *place);
            }
            all.push(rest);
            all
        }
    }
    .into_iter()
    // An empty chunk would be the end.
    .filter(|piece| !piece.is_empty())
    .collect()
}

/// The head of the next request and the length of its body; none when the client is gone.
fn read_head(reader: &mut BufReader<TcpStream>) -> Option<(Received, usize)> {
    let line = |reader: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        (reader.read_line(&mut line).ok()? > 0).then(|| line.trim_end().to_owned())
    };
    let first = line(reader)?;
    let mut words = first.split(' ');
    let method = words.next()?.to_owned();
    let path = words.next()?.to_owned();
    let mut headers = Vec::new();
    loop {
        let text = line(reader)?;
        if text.is_empty() {
            break;
        }
        let (name, value) = text.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let received = Received { method, path, headers, body: Vec::new() };
    let length = received.header("content-length").map_or(Some(0), |text| text.parse().ok())?;
    Some((received, length))
}
