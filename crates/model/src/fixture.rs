//! Split streams, a transcript and its requests, for the tests of the protocols.
//!
//! Must never: be part of the product.

use std::cell::RefCell;
use std::sync::Arc;

use agentry_protocol::CallId;
use agentry_protocol::message::{FailureKind, Message, ModelFailure, ModelRequest};
use agentry_protocol::tool::{Risk, ToolCategory, ToolName};
use agentry_protocol::tool_call::{RepeatSafety, ToolCall, ToolSpec};
use serde_json::{Value, json};

use crate::codec::{AnswerFrame, CodecInput, ProtocolCodec};
use crate::{Delta, ModelAnswer};

/// The session of all requests here.
pub(crate) const SESSION: &str = "ses_test";

/// Returns a request with two tools.
pub(crate) fn request(messages: Vec<Message>) -> ModelRequest {
    let tool = |name: &str, parameters: Value| ToolSpec {
        name: ToolName::canonical(name),
        description: format!("Does {name}."),
        parameters,
        category: ToolCategory::Custom,
        risk: Risk::Low,
        repeat: RepeatSafety::Harmless,
    };
    ModelRequest {
        model: "provider/model".to_owned(),
        temperature: Some(0.5),
        max_tokens: Some(1000),
        system: Arc::from("Be brief."),
        tools: Arc::from([
            tool(
                "read_file",
                json!({"type": "object", "properties": {"path": {"type": "string"}}}),
            ),
            tool("git/log", json!({"type": "object", "properties": {}})),
        ]),
        messages: messages.into_iter().map(Arc::new).collect(),
    }
}

/// Returns a call.
pub(crate) fn call(number: u128, tool: &str, input: Value) -> ToolCall {
    ToolCall { id: CallId::from_number(number), tool: ToolName::canonical(tool), input }
}

/// Returns an answer with these calls.
pub(crate) fn asking(content: &str, calls: Vec<ToolCall>) -> Message {
    Message::Assistant { content: content.to_owned(), thinking: String::new(), calls, sealed: None }
}

/// Returns the outcome of a call.
pub(crate) fn outcome(number: u128, content: &str, ok: bool) -> Message {
    Message::Tool { call: CallId::from_number(number), content: content.to_owned(), ok }
}

/// Returns the body of a request, as JSON.
pub(crate) fn body(wire: &dyn ProtocolCodec, model: &str, request: &ModelRequest) -> Value {
    let written = wire.write(CodecInput { request, model, session: SESSION });
    serde_json::from_slice(&written.body).expect("a body is JSON")
}

/// The answer or failure, with the pieces that were streamed.
#[derive(PartialEq, Debug)]
pub(crate) struct FixtureAnswer {
    pub(crate) answer: Result<ModelAnswer, ModelFailure>,
    pub(crate) heard: Vec<Delta>,
}

/// Reads frames as the answer of a model.
pub(crate) fn read_frames(
    wire: &dyn ProtocolCodec,
    model: &str,
    frames: &[AnswerFrame],
) -> FixtureAnswer {
    let request = request(Vec::new());
    let mut reader = wire.reader(CodecInput { request: &request, model, session: SESSION });
    let heard = RefCell::new(Vec::new());
    for frame in frames {
        match reader.take(frame, &|delta| heard.borrow_mut().push(delta)) {
            Ok(true) => break,
            Ok(false) => {}
            Err(failure) => {
                return FixtureAnswer { answer: Err(failure), heard: heard.into_inner() };
            }
        }
    }
    FixtureAnswer { answer: reader.finish(), heard: heard.into_inner() }
}

/// Reads a stream.
pub(crate) fn read(wire: &dyn ProtocolCodec, model: &str, stream: &str) -> FixtureAnswer {
    read_frames(wire, model, &frames(&[stream.as_bytes()]))
}

/// Reads a stream in pieces of several lengths, also byte by byte: the result must be equal.
#[track_caller]
pub(crate) fn read_in_all_pieces(
    wire: &dyn ProtocolCodec,
    model: &str,
    stream: &str,
) -> ModelAnswer {
    let whole = read(wire, model, stream);
    for length in [1, 2, 3, 5, 7, 64] {
        let pieces: Vec<&[u8]> = stream.as_bytes().chunks(length).collect();
        assert_eq!(read_frames(wire, model, &frames(&pieces)), whole, "pieces of {length} bytes");
    }
    check_heard(&whole);
    whole.answer.expect("the stream is a whole answer")
}

/// Checks that the streamed pieces add up to the answer.
#[track_caller]
fn check_heard(streamed: &FixtureAnswer) {
    let FixtureAnswer { answer, heard } = streamed;
    let answer = answer.as_ref().expect("the stream is a whole answer");
    let (mut text, mut thinking) = (String::new(), String::new());
    let mut calls: Vec<(String, String)> = Vec::new();
    for delta in heard {
        match delta {
            Delta::Text(piece) => text.push_str(piece),
            Delta::Thinking(piece) => thinking.push_str(piece),
            Delta::Call { index, name, piece } => {
                if *index == calls.len() {
                    calls.push((name.clone(), String::new()));
                }
                assert_eq!(calls[*index].0, *name);
                calls[*index].1.push_str(piece);
            }
            Delta::Restart => panic!("a protocol restarts nothing"),
        }
    }
    assert_eq!((&text, &thinking), (&answer.text, &answer.thinking));
    let heard: Vec<(String, Value)> =
        calls.into_iter().map(|(name, text)| (name, crate::arguments::read(&text))).collect();
    let asked: Vec<(String, Value)> =
        answer.calls.iter().map(|call| (call.name.clone(), call.input.clone())).collect();
    assert_eq!(heard, asked);
}

/// Leaves out the last frames, from one to all but `whole`: each result must be a truncated answer.
#[track_caller]
pub(crate) fn check_cut_before_frame(
    wire: &dyn ProtocolCodec,
    model: &str,
    stream: &str,
    end: usize,
) {
    let frames = frames(&[stream.as_bytes()]);
    assert!(end <= frames.len());
    for kept in 0..end {
        let failure = read_frames(wire, model, &frames[..kept]).answer.expect_err("it was cut");
        assert_eq!(failure.kind, FailureKind::Cut, "after {kept} frames: {}", failure.message);
    }
    for kept in end..frames.len() {
        let answer = read_frames(wire, model, &frames[..kept]).answer;
        assert!(answer.is_ok(), "after {kept} frames: {answer:?}");
    }
}

/// Returns the frames in these pieces of a stream.
pub(crate) fn frames(pieces: &[&[u8]]) -> Vec<AnswerFrame> {
    let (mut frames, mut line) = (Vec::new(), Vec::new());
    let (mut event, mut data) = (None, Vec::new());
    for byte in pieces.iter().copied().flatten() {
        if *byte != b'\n' {
            line.push(*byte);
            continue;
        }
        let text = String::from_utf8(std::mem::take(&mut line)).expect("a stream is UTF-8");
        let text = text.trim_end_matches('\r');
        if text.is_empty() {
            if !data.is_empty() {
                frames.push(AnswerFrame { event: event.take(), data: data.join("\n") });
            }
            data.clear();
        } else if let Some(rest) = text.strip_prefix("data:") {
            data.push(rest.strip_prefix(' ').unwrap_or(rest).to_owned());
        } else if let Some(rest) = text.strip_prefix("event:") {
            event = Some(rest.trim().to_owned());
        }
    }
    frames
}

/// Prints the share of a request that begins the next one, and requires nearly all of it.
#[track_caller]
#[expect(clippy::print_stdout, reason = "the figure is wanted in the log of the tests")]
pub(crate) fn check_prefix_share(wire: &dyn ProtocolCodec, model: &str) {
    let share = prefix_share(wire, model);
    let name = wire.name();
    println!("{name}: at least {:.2} % of each request begins the next one", share * 100.0);
    assert!(share > 0.95, "{share}");
}

/// Returns the smallest such share over a transcript of 30 steps, from the second step on.
fn prefix_share(wire: &dyn ProtocolCodec, model: &str) -> f64 {
    let mut messages = vec![Message::user("Fix the tests.")];
    let mut before: Option<Vec<u8>> = None;
    let mut least: f64 = 1.0;
    for step in 0..30_u128 {
        let request = request(messages.clone());
        let body = wire.write(CodecInput { request: &request, model, session: SESSION }).body;
        if let Some(before) = before.filter(|_| step > 1) {
            let common = before.iter().zip(&body).take_while(|(a, b)| a == b).count();
            #[expect(clippy::cast_precision_loss, reason = "the bodies are small")]
            let share = common as f64 / before.len() as f64;
            least = least.min(share);
        }
        before = Some(body);
        let input = json!({"path": format!("src/{step}.rs")});
        messages.push(asking("I look.", vec![call(step, "read_file", input)]));
        messages.push(outcome(step, &"line of a file\n".repeat(20), step % 7 != 0));
    }
    least
}
