//! Thousands of streams, held by one thread that waits for all of them at once.
//!
//! Must never: read more of an event than the number and the time of its entry.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use rustix::{
    event::epoll,
    process::{Resource, getrlimit, setrlimit},
};

use crate::failure::CommandFailure;

/// The longest time until the server has greeted all listeners.
const HELLOS_TIME: Duration = Duration::from_secs(60);

/// The subject of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamSubject {
    Session(String),
    Everything,
}

/// A listener, through all its breaks.
pub(crate) struct StreamListener {
    pub(crate) wanted: StreamSubject,
    /// The last entry that existed before it connected.
    pub(crate) after: Option<u64>,
    /// The entries that arrived, in their order.
    pub(crate) seqs: Vec<u64>,
    key: String,
    stream: Option<TcpStream>,
    unread: Vec<u8>,
    reading: PartialFrame,
    /// Entries made before this moment were missed during a break, in milliseconds.
    since_ms: u64,
}

/// The incomplete frame.
#[derive(Default)]
struct PartialFrame {
    event: String,
    id: Option<u64>,
    made_ms: Option<u64>,
    seq: Option<u64>,
}

pub(crate) struct Listeners {
    address: String,
    keys: Vec<String>,
    epoll: rustix::fd::OwnedFd,
    all: Vec<StreamListener>,
    away: Vec<usize>,
    delays_ms: Vec<u64>,
    came_back: usize,
    dropped: usize,
}

/// Raises the limit of open files: each stream is one.
pub(crate) fn allow_many_files() -> Result<(), CommandFailure> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).map_err(|error| {
        CommandFailure::new(format!("The limit of open files cannot be raised: {error}."))
    })
}

impl Listeners {
    pub(crate) fn new(address: &str, keys: Vec<String>) -> Result<Self, CommandFailure> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|error| trouble(&error))?;
        let address = address.to_owned();
        let (all, away, delays_ms) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { address, keys, epoll, all, away, delays_ms, came_back: 0, dropped: 0 })
    }

    pub(crate) fn open(&mut self, wanted: StreamSubject) -> Result<(), CommandFailure> {
        let at = self.all.len();
        self.all.push(StreamListener {
            wanted,
            after: None,
            seqs: Vec::new(),
            key: self.keys[at % self.keys.len()].clone(),
            stream: None,
            unread: Vec::new(),
            reading: PartialFrame::default(),
            since_ms: 0,
        });
        self.connect(at)
    }

    fn connect(&mut self, at: usize) -> Result<(), CommandFailure> {
        let listener = &mut self.all[at];
        let query = match &listener.wanted {
            StreamSubject::Session(session) => format!("?session={session}"),
            StreamSubject::Everything => String::new(),
        };
        let last = listener.seqs.last().copied().or(listener.after);
        let last = last.map_or_else(String::new, |seq| format!("Last-Event-ID: {seq}\r\n"));
        let request = format!(
            "GET /api/stream{query} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{last}\r\n",
            self.address, listener.key
        );
        let opened = TcpStream::connect(&self.address).and_then(|mut stream| {
            stream.write_all(request.as_bytes())?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        });
        let stream = opened.map_err(|error| trouble(&error))?;
        let number = epoll::EventData::new_u64(at as u64);
        epoll::add(&self.epoll, &stream, number, epoll::EventFlags::IN)
            .map_err(|error| trouble(&error))?;
        listener.unread.clear();
        listener.reading = PartialFrame::default();
        listener.since_ms = now_ms();
        listener.stream = Some(stream);
        Ok(())
    }

    pub(crate) fn wait_for_hellos(&mut self) -> Result<(), CommandFailure> {
        let begun = Instant::now();
        while self.all.iter().any(|listener| listener.after.is_none()) {
            if begun.elapsed() > HELLOS_TIME {
                let silent = self.all.iter().filter(|one| one.after.is_none()).count();
                return Err(CommandFailure::new(format!("{silent} streams were not greeted.")));
            }
            self.listen(Duration::from_millis(100))?;
        }
        Ok(())
    }

    /// Reads all events that arrive for a while.
    pub(crate) fn listen(&mut self, time: Duration) -> Result<(), CommandFailure> {
        let until = Instant::now() + time;
        let mut events = Vec::with_capacity(1_024);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            let wait = rustix::event::Timespec {
                tv_sec: 0,
                tv_nsec: i64::from(left.subsec_nanos().max(1_000_000)),
            };
            events.clear();
            let waited =
                epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&wait));
            match waited {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(trouble(&error)),
            }
            let now_ms = now_ms();
            for event in &events {
                let at = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
                if self.all.get_mut(at).is_some_and(|one| one.read(now_ms, &mut self.delays_ms)) {
                    continue;
                }
                self.dropped += 1;
                self.all[at].stream = None;
            }
        }
    }

    /// Disconnects one of so many listeners without a goodbye.
    pub(crate) fn break_off(&mut self, of: usize) {
        for at in (0..self.all.len()).step_by(of) {
            if self.all[at].stream.take().is_some() {
                self.away.push(at);
            }
        }
    }

    /// Reconnects so many of the disconnected listeners, from their last entry on.
    pub(crate) fn come_back(&mut self, count: usize) -> Result<(), CommandFailure> {
        for _ in 0..count {
            let Some(at) = self.away.pop() else { return Ok(()) };
            self.connect(at)?;
            self.came_back += 1;
        }
        Ok(())
    }

    pub(crate) fn close(&mut self) {
        self.all.clear();
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = &StreamListener> {
        self.all.iter()
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn came_back(&self) -> usize {
        self.came_back
    }

    pub(crate) fn dropped(&self) -> usize {
        self.dropped
    }

    /// Returns the delays from the ledger to the listener, the shortest first.
    pub(crate) fn delays_ms(&self) -> Vec<u64> {
        let mut all = self.delays_ms.clone();
        all.sort_unstable();
        all
    }
}

impl StreamListener {
    /// Reads the available bytes; false if the stream has ended.
    fn read(&mut self, now_ms: u64, delays_ms: &mut Vec<u64>) -> bool {
        let Some(stream) = &mut self.stream else { return true };
        let mut buffer = [0; 16 * 1024];
        let is_open = loop {
            match stream.read(&mut buffer) {
                Ok(0) => break false,
                Ok(count) => self.unread.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break true,
                Err(_) => break false,
            }
        };
        let unread = std::mem::take(&mut self.unread);
        let whole = unread.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in unread[..whole].split(|byte| *byte == b'\n') {
            self.line(&String::from_utf8_lossy(line), now_ms, delays_ms);
        }
        self.unread = unread[whole..].to_vec();
        is_open
    }

    /// Handles a line. Chunk framing and the head end with a carriage return; events do not.
    fn line(&mut self, line: &str, now_ms: u64, delays_ms: &mut Vec<u64>) {
        if line.ends_with('\r') || line.is_empty() {
            return;
        }
        let Some((field, value)) = line.split_once(':') else { return };
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => {
                self.reading = PartialFrame { event: value.to_owned(), ..PartialFrame::default() }
            }
            "id" => self.reading.id = value.parse().ok(),
            "data" => {
                self.reading.made_ms = number(value, "\"time\":");
                self.reading.seq = number(value, "\"seq\":");
            }
            _ => {}
        }
        let PartialFrame { event, id, made_ms, seq } = &self.reading;
        match (event.as_str(), *id, *made_ms, *seq) {
            ("hello", _, _, Some(seq)) => self.after = self.after.or(Some(seq)),
            ("entry", Some(id), Some(made_ms), _) => {
                self.seqs.push(id);
                if made_ms >= self.since_ms {
                    delays_ms.push(now_ms.saturating_sub(made_ms));
                }
            }
            _ => return,
        }
        self.reading = PartialFrame::default();
    }
}

/// Returns the number behind the first such name.
fn number(json: &str, name: &str) -> Option<u64> {
    let rest = &json[json.find(name)? + name.len()..];
    let digits = rest.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn trouble(error: &dyn std::error::Error) -> CommandFailure {
    CommandFailure::new(format!("The streams cannot be held: {error}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_in_whatever_order_their_fields_come() {
        let mut listener = StreamListener {
            wanted: StreamSubject::Everything,
            after: None,
            seqs: Vec::new(),
            key: String::new(),
            stream: None,
            unread: Vec::new(),
            reading: PartialFrame::default(),
            since_ms: 50,
        };
        let mut delays = Vec::new();
        let sent = "HTTP/1.1 200 OK\r\n\r\n1f\r\nevent: hello\ndata: {\"seq\":7}\n\n\r\n\
                    40\r\nevent: entry\nid: 8\ndata: {\"seq\":8,\"time\":60}\n\n\r\n\
                    event: entry\ndata: {\"seq\":9,\"time\":40}\nid: 9\n\n:\n\n";
        for line in sent.split('\n') {
            listener.line(line, 65, &mut delays);
        }
        assert_eq!((listener.after, listener.seqs, delays), (Some(7), vec![8, 9], vec![5]));
    }
}
