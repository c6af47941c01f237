//! A model server that plays a fixed script over Chat Completions: a number of commands, one after
//! the other, then the end.
//!
//! Must never: answer two requests of one talk with the same step.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::failure::CommandFailure;

pub(crate) struct ScriptedModelServer {
    address: SocketAddr,
    seen: Arc<RequestCounters>,
}

#[derive(Default)]
struct RequestCounters {
    /// The largest number of outcomes in one request.
    made: AtomicUsize,
    bytes: AtomicU64,
}

impl ScriptedModelServer {
    pub(crate) fn start(calls: usize) -> Result<ScriptedModelServer, CommandFailure> {
        let trouble =
            |error: std::io::Error| CommandFailure::new(format!("Cannot serve: {error}."));
        let listener = TcpListener::bind("127.0.0.1:0").map_err(trouble)?;
        let address = listener.local_addr().map_err(trouble)?;
        let seen = Arc::new(RequestCounters::default());
        let shared = seen.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = shared.clone();
                // A broken connection ends the run that it belongs to, and is reported there.
                thread::spawn(move || serve(&stream, calls, &seen));
            }
        });
        Ok(ScriptedModelServer { address, seen })
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Returns the number of calls that were made.
    pub(crate) fn made(&self) -> usize {
        self.seen.made.load(Ordering::SeqCst)
    }

    /// Returns the total size of all requests, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.seen.bytes.load(Ordering::SeqCst)
    }
}

fn serve(stream: &TcpStream, calls: usize, seen: &RequestCounters) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let body = read_request(&mut reader)?;
        seen.bytes.fetch_add(body.len() as u64, Ordering::SeqCst);
        let request: Value = serde_json::from_slice(&body).ok()?;
        let messages = request["messages"].as_array()?;
        let made = messages.iter().filter(|message| message["role"] == "tool").count();
        seen.made.fetch_max(made, Ordering::SeqCst);
        let answer = answer(made, calls);
        // In one piece: two would wait for each other's acknowledgement.
        let whole = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        let mut out = stream;
        out.write_all(whole.as_bytes()).ok()?;
    }
}

/// Returns the body of the next request; None when there is none.
fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<Vec<u8>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(said) = line.strip_prefix("content-length:") {
            length = said.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

fn answer(made: usize, calls: usize) -> String {
    let delta = if made < calls {
        let arguments = json!({ "command": format!("echo step {made}; seq 1 20") }).to_string();
        json!({ "tool_calls": [{
            "index": 0, "id": format!("call_{made}"), "type": "function",
            "function": { "name": "bash", "arguments": arguments }
        }] })
    } else {
        json!({ "content": "All of it is done." })
    };
    let reason = if made < calls { "tool_calls" } else { "stop" };
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        format!(
            "data: {}\n\n",
            json!({ "id": "c", "object": "chat.completion.chunk", "choices": [choice] })
        )
    };
    chunk(delta, Value::Null) + &chunk(json!({}), reason.into()) + "data: [DONE]\n\n"
}
