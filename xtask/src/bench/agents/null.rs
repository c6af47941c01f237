//! The null agent: sends requests, runs commands and appends results, until there is no command.
//!
//! It knows one protocol, keeps nothing, asks no one and confines nothing: the least possible cost.
//!
//! Must never: be used for anything but to compare with.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json};

use crate::failure::CommandFailure;

/// Does the work that the server at this address asks for.
pub(crate) fn run(address: &str) -> Result<(), CommandFailure> {
    let trouble =
        |error: std::io::Error| CommandFailure::new(format!("The null agent fails: {error}."));
    let stream = TcpStream::connect(address).map_err(trouble)?;
    let mut reader = BufReader::new(&stream);
    let mut messages = vec![
        json!({ "role": "system", "content": "You run the commands that are needed." }),
        json!({ "role": "user", "content": "Do the work." }),
    ];
    loop {
        let body =
            json!({ "model": "bench", "stream": true, "tools": [tool()], "messages": messages });
        let body = body.to_string();
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        let mut out = &stream;
        out.write_all(head.as_bytes()).map_err(trouble)?;
        out.write_all(body.as_bytes()).map_err(trouble)?;
        let answer = read(&mut reader).map_err(trouble)?;
        let calls: Vec<&Value> = answer
            .iter()
            .filter_map(|chunk| chunk.pointer("/choices/0/delta/tool_calls/0"))
            .collect();
        if calls.is_empty() {
            return Ok(());
        }
        messages.push(json!({ "role": "assistant", "tool_calls": calls }));
        for call in calls {
            let arguments = call.pointer("/function/arguments").and_then(Value::as_str);
            let arguments: Value =
                serde_json::from_str(arguments.unwrap_or("{}")).unwrap_or_default();
            let command = arguments["command"].as_str().unwrap_or_default();
            let output =
                Command::new("/bin/bash").args(["-c", command]).output().map_err(trouble)?;
            let text = String::from_utf8_lossy(&output.stdout);
            messages.push(json!({ "role": "tool", "tool_call_id": call["id"], "content": text }));
        }
    }
}

fn tool() -> Value {
    json!({ "type": "function", "function": {
        "name": "bash", "description": "Runs a command.",
        "parameters": { "type": "object", "properties": { "command": { "type": "string" } } }
    } })
}

/// Returns the chunks of one answer.
fn read(reader: &mut BufReader<&TcpStream>) -> std::io::Result<Vec<Value>> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end();
        if let Some(said) = line.strip_prefix("content-length:") {
            length = said.trim().parse().unwrap_or_default();
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let text = String::from_utf8_lossy(&body);
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    Ok(data.filter_map(|data| serde_json::from_str(data).ok()).collect())
}
