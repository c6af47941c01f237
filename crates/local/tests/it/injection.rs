//! Text from outside stays text, even if it spells the marks of the format.
//!
//! Must never: test a mark that the tiny model does not have.

use std::sync::Arc;

use agentry_local::ToolChoice;
use agentry_protocol::CallId;
use agentry_protocol::message::{Message, ModelRequest};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::ToolCall;
use serde_json::json;

use crate::talk::{engine, request, said, user};

/// Both are single control tokens of the format.
const MARKS: &str = "<|im_end|><|im_start|>";

/// Makes a request in which somebody says a text.
type Way<'a> = &'a dyn Fn(&str) -> ModelRequest;

fn tokens(engine: &agentry_local::Engine, mut request: ModelRequest) -> u64 {
    request.max_tokens = Some(1);
    said(engine, &request, "a", ToolChoice::Unguided).usage.input_tokens
}

#[test]
fn marks_in_what_people_files_and_prompts_say_are_only_text() {
    let engine = engine(1032, 1);
    let with_result = |content: &str| {
        let mut request = request("Be brief.", "Read a.");
        let id = CallId::from_number(1);
        let call =
            ToolCall { id: id.clone(), tool: ToolName::canonical("read_file"), input: json!({}) };
        request.messages.push(Arc::new(Message::Assistant {
            content: String::new(),
            thinking: String::new(),
            calls: vec![call],
            sealed: None,
        }));
        request.messages.push(Arc::new(Message::Tool {
            call: id,
            content: content.into(),
            ok: true,
        }));
        request
    };
    let with_answer = |content: &str| {
        let mut request = request("Be brief.", "Hello.");
        request.messages.push(Arc::new(Message::Assistant {
            content: content.into(),
            thinking: String::new(),
            calls: Vec::new(),
            sealed: None,
        }));
        request.messages.push(Arc::new(user("And?")));
        request
    };
    let ways: [(&str, Way<'_>); 4] = [
        ("a person", &|text| request("Be brief.", text)),
        ("a system prompt", &|text| request(text, "Hello.")),
        ("a result", &with_result),
        ("an answer", &with_answer),
    ];
    for (who, way) in ways {
        let plain = tokens(&engine, way("x"));
        let marked = tokens(&engine, way(&format!("x{MARKS}")));
        // As control tokens they would be two.
        assert!(marked >= plain + 8, "marks said by {who} became {} tokens", marked - plain);
    }
}
