//! Talks HTTP with a server of ours, byte by byte, so that anything can be said to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::story::{Story, Talk};

/// Longer than anything takes on a machine under load.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// A server that runs, and a key to it.
pub(crate) struct Web {
    pub(crate) address: String,
    pub(crate) key: Option<String>,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.body))
    }

    /// The code of a refusal.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// A header, by its name in small letters.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Starts a server; the address is in its first line.
pub(crate) fn serve(story: &Story, options: &str) -> (Talk, Web) {
    let mut server = story.talk(&format!("serve --model scripted:s.jsonl {options}"));
    server.hear_line("://");
    let line = server.last_line().to_owned();
    let address = line.split("://").nth(1).and_then(|rest| rest.split([' ', '/']).next());
    let address = address.expect("the line has an address").to_owned();
    server.hear_line("ready");
    (server, Web { address, key: None })
}

/// Makes a key.
pub(crate) fn key(story: &Story, options: &str) -> String {
    story.out(&format!("token create {options}")).trim().to_owned()
}

/// A server, and the key of its owner.
pub(crate) fn served(story: &Story) -> (Talk, Web) {
    let (server, mut web) = serve(story, "");
    web.key = Some(key(story, "--scope read,submit,approve,admin,audit"));
    (server, web)
}

impl Web {
    /// The same server, for whoever has another key.
    pub(crate) fn with(&self, key: &str) -> Self {
        Self { address: self.address.clone(), key: Some(key.to_owned()) }
    }

    /// The same server, for whoever has none.
    pub(crate) fn keyless(&self) -> Self {
        Self { address: self.address.clone(), key: None }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_read_timeout(Some(ANSWER_TIME_MAX)).expect("a time can be set");
        stream
    }

    /// The head of a request.
    fn head(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> String {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        if let Some(key) = &self.key {
            head.push_str(&format!("Authorization: Bearer {key}\r\n"));
        }
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head
    }

    /// Says something, and takes the answer.
    pub(crate) fn ask(
        &self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut text = self.head(method, path, headers);
        if !body.is_empty() {
            let kind = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
            if !kind {
                text.push_str("Content-Type: application/json\r\n");
            }
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        self.raw(format!("{text}\r\n{body}").as_bytes())
    }

    /// Says bytes, and takes the answer.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that has read enough may close before all is said.
        stream.write_all(bytes).unwrap_or_default();
        read(stream)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask(("GET", path), &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask(("POST", path), &[], &body.to_string())
    }

    /// Opens a stream.
    pub(crate) fn stream(
        &self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> Events {
        let mut text = self.head(method, path, headers);
        text.push_str("Accept: text/event-stream\r\n");
        if !body.is_empty() {
            let length = body.len();
            text.push_str("Content-Type: application/json\r\n");
            text.push_str(&format!("Content-Length: {length}\r\n"));
        }
        let mut stream = self.connect();
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).expect("it can be said");
        let mut reader = BufReader::new(stream);
        let (status, headers) = read_head(&mut reader);
        assert_eq!(status, 200, "{path}: {headers:?} {}", rest(reader));
        Events { reader: Chunks { reader, left: 0 }, headers }
    }

    /// Runs a prompt to its end: all its events.
    pub(crate) fn run(&self, prompt: &str) -> Vec<Event> {
        let body = serde_json::json!({ "prompt": prompt }).to_string();
        self.stream(("POST", "/run"), &[], &body).collect()
    }
}

fn read(stream: TcpStream) -> Answer {
    let mut reader = BufReader::new(stream);
    let (status, headers) = read_head(&mut reader);
    let is_chunked = headers.iter().any(|(name, _)| name == "transfer-encoding");
    let body = if is_chunked {
        let mut body = String::new();
        Chunks { reader, left: 0 }.read_to_string(&mut body).expect("a body is text");
        body
    } else {
        rest(reader)
    };
    Answer { status, headers, body }
}

fn rest(mut reader: BufReader<TcpStream>) -> String {
    let mut bytes = Vec::new();
    // A connection that is cut has said all that it says.
    reader.read_to_end(&mut bytes).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn read_head(reader: &mut BufReader<TcpStream>) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    reader.read_line(&mut line).expect("there is an answer");
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok());
    let status = status.unwrap_or_else(|| panic!("no answer: {line:?}"));
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("there are headers");
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    (status, headers)
}

/// A body that comes in chunks.
struct Chunks {
    reader: BufReader<TcpStream>,
    left: usize,
}

impl Read for Chunks {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            let mut line = String::new();
            if self.reader.read_line(&mut line)? == 0 {
                return Ok(0);
            }
            if line.trim().is_empty() {
                line.clear();
                self.reader.read_line(&mut line)?;
            }
            self.left = usize::from_str_radix(line.trim(), 16).unwrap_or(0);
            if self.left == 0 {
                return Ok(0);
            }
        }
        let wanted = into.len().min(self.left);
        let count = self.reader.read(&mut into[..wanted])?;
        self.left -= count;
        Ok(count)
    }
}

/// Something that a stream said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

/// A stream under way.
pub(crate) struct Events {
    reader: Chunks,
    pub(crate) headers: Vec<(String, String)>,
}

impl Events {
    /// The next of this name.
    pub(crate) fn until(&mut self, name: &str) -> Event {
        let found = self.find(|event| event.name == name);
        found.unwrap_or_else(|| panic!("the stream ended without {name}"))
    }

    /// The next entry of this type.
    pub(crate) fn entry(&mut self, kind: &str) -> Event {
        let found = self.find(|event| event.data["event"]["type"] == kind);
        found.unwrap_or_else(|| panic!("the stream ended without {kind}"))
    }

    fn line(&mut self) -> Option<String> {
        let mut bytes = Vec::new();
        let mut one = [0];
        loop {
            match self.reader.read(&mut one) {
                Ok(1) if one[0] == b'\n' => break,
                Ok(1) => bytes.push(one[0]),
                Ok(_) | Err(_) => return None,
            }
        }
        Some(String::from_utf8(bytes).expect("a stream is text"))
    }
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let mut event = Event { name: "message".to_owned(), id: None, data: Value::Null };
        let mut is_empty = true;
        loop {
            let line = self.line()?;
            match line.split_once(':') {
                None if is_empty => {}
                None => return Some(event),
                Some((field, value)) => {
                    let value = value.trim_start();
                    match field {
                        "event" => event.name = value.to_owned(),
                        "id" => event.id = Some(value.to_owned()),
                        "data" => {
                            event.data = serde_json::from_str(value).expect("data is JSON");
                            is_empty = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

/// The kinds of AgentEvents, without pieces.
pub(crate) fn kinds(events: &[Event]) -> Vec<String> {
    let whole = events.iter().filter(|event| event.data["isPartial"] != true);
    whole.map(|event| event.data["type"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The ids of frames that stand for entries.
pub(crate) fn ids(events: &[Event]) -> Vec<String> {
    events.iter().filter_map(|event| event.id.clone()).collect()
}
