//! Requests to the server, one after the other on one connection.
//!
//! Must never: show one key more often than the server allows.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::failure::CommandFailure;

/// The interval between two checks of a state until it is final.
const LOOK: Duration = Duration::from_millis(50);

/// The longest idle time of a connection before a new one is opened; the server closes it later.
const IDLE: Duration = Duration::from_secs(2);

pub(crate) struct ServerClient {
    address: String,
    keys: Vec<String>,
    next: usize,
    connection: Option<BufReader<TcpStream>>,
    used: Instant,
}

impl ServerClient {
    pub(crate) fn new(address: &str, keys: Vec<String>) -> Self {
        Self { address: address.to_owned(), keys, next: 0, connection: None, used: Instant::now() }
    }

    /// Begins so many sessions with one turn each; returns their ids.
    pub(crate) fn begin_sessions(
        &mut self,
        count: usize,
        agent: &str,
    ) -> Result<Vec<String>, CommandFailure> {
        let mut messages = Vec::new();
        for number in 0..count {
            let body =
                json!({ "text": "Hello.", "agent": agent, "key": format!("bench-{number}") });
            let sent = self.post("/api/sessions", &body)?;
            messages.push(sent["eventId"].as_str().unwrap_or_default().replace(':', "%3A"));
        }
        messages.iter().map(|message| self.session_of(message)).collect()
    }

    /// Waits until a message is answered, and returns its session.
    fn session_of(&mut self, message: &str) -> Result<String, CommandFailure> {
        loop {
            let became = self.get(&format!("/api/messages/{message}?waitMs=1000"))?;
            match (became["status"].as_str(), became["sessionId"].as_str()) {
                (Some("answered"), Some(session)) => return Ok(session.to_owned()),
                (Some("received" | "waiting" | "running"), _) => thread::sleep(LOOK),
                _ => {
                    return Err(CommandFailure::new(format!("A session did not begin: {became}.")));
                }
            }
        }
    }

    pub(crate) fn send_message(
        &mut self,
        session: &str,
        text: &str,
    ) -> Result<Value, CommandFailure> {
        self.post(&format!("/api/sessions/{session}/messages"), &json!({ "text": text }))
    }

    pub(crate) fn get(&mut self, path: &str) -> Result<Value, CommandFailure> {
        self.ask("GET", path, "")
    }

    fn post(&mut self, path: &str, body: &Value) -> Result<Value, CommandFailure> {
        self.ask("POST", path, &body.to_string())
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<Value, CommandFailure> {
        self.next = (self.next + 1) % self.keys.len().max(1);
        let key = &self.keys[self.next];
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let trouble =
            |error: std::io::Error| CommandFailure::new(format!("{method} {path}: {error}."));
        if self.connection.is_none() || self.used.elapsed() > IDLE {
            let stream = TcpStream::connect(&self.address).map_err(trouble)?;
            stream.set_nodelay(true).map_err(trouble)?;
            self.connection = Some(BufReader::new(stream));
        }
        self.used = Instant::now();
        let Some(connection) = &mut self.connection else {
            return Err(CommandFailure::new("There is no connection."));
        };
        connection.get_mut().write_all(request.as_bytes()).map_err(trouble)?;
        let (status, text) = answer(connection).map_err(trouble)?;
        if !(200..300).contains(&status) {
            let text = String::from_utf8_lossy(&text);
            return Err(CommandFailure::new(format!("{method} {path} got {status}: {text}")));
        }
        serde_json::from_slice(&text)
            .map_err(|error| CommandFailure::new(format!("{method} {path} got no JSON: {error}.")))
    }
}

/// Reads one answer with a length; the server sends no other to these requests.
fn answer(connection: &mut impl BufRead) -> std::io::Result<(u16, Vec<u8>)> {
    let mut line = String::new();
    connection.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
    let mut length = 0;
    loop {
        line.clear();
        if connection.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        let lower = line.to_ascii_lowercase();
        if let Some(text) = lower.strip_prefix("content-length:") {
            length = text.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body)?;
    Ok((status, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_up_to_its_end_and_no_further() {
        let mut sent = "HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n{}HTTP".as_bytes();
        let read = answer(&mut sent).expect("it is whole");
        assert_eq!(read, (202, b"{}".to_vec()));
        assert_eq!(sent, b"HTTP");
    }
}
