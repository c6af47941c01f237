//! A conversation goes through the model once, token by token.
//!
//! Must never: compare anything but counts and words.

use std::sync::Arc;

use agentry_local::{FinishReason, GenerationDelta, ToolChoice};
use agentry_protocol::CallId;
use agentry_protocol::message::Message;
use serde_json::json;

use crate::talk::{engine, heard, message, request, said, tool, user};

#[test]
fn in_thirty_steps_each_token_is_evaluated_once() {
    let engine = engine(4097, 1);
    let mut request = request("You help with files.", "Read the first file, please.");
    request.max_tokens = Some(60);
    request.tools = vec![tool(
        "read_file",
        json!({
            "type": "object",
            "properties": {"path": {"type": "string", "maxLength": 12}},
            "required": ["path"]
        }),
    )]
    .into();
    let (mut evaluated, mut last) = (0, None);
    for step in 0..30 {
        // Calls and free answers by turns: both must be found again.
        let choice = if step % 3 == 2 { ToolChoice::Unguided } else { ToolChoice::Call };
        if choice == ToolChoice::Unguided {
            request.max_tokens = Some(12);
        } else {
            request.max_tokens = Some(60);
        }
        let said = said(&engine, &request, "talk", choice);
        assert_eq!(said.reused, said.usage.cached_tokens);
        assert!(said.reused + 1 >= last.map_or(0, |(all, _): (u64, u64)| all), "step {step}");
        evaluated += said.evaluated;
        // The last word written is not evaluated before somebody goes on.
        let all = said.usage.input_tokens + said.usage.output_tokens;
        last = Some((said.reused + said.evaluated, all));
        request.messages.push(Arc::new(message(&said, step)));
        for index in 0..said.calls.len() {
            let id = step * 100 + u128::try_from(index).expect("few calls");
            request.messages.push(Arc::new(Message::Tool {
                call: CallId::from_number(id),
                content: format!("line {step} of the file"),
                ok: true,
            }));
        }
        if said.calls.is_empty() {
            request.messages.push(Arc::new(user(&format!("And file {step}?"))));
        }
    }
    let (there, all) = last.expect("thirty steps were made");
    assert_eq!(evaluated, there, "some token was evaluated twice");
    assert!(all - there <= 8, "{there} of {all} tokens of the talk were evaluated");
    assert!(all > 900, "the talk was too short to show anything: {all}");
}

#[test]
fn the_same_question_again_costs_one_token() {
    let engine = engine(1025, 1);
    let request = request("Be brief.", "Say something about the sea.");
    let first = said(&engine, &request, "a", ToolChoice::Either);
    let again = said(&engine, &request, "a", ToolChoice::Either);
    assert_eq!(again.text, first.text);
    assert_eq!(first.reused, 0);
    assert_eq!(again.reused, first.usage.input_tokens - 1);
}

#[test]
fn sessions_share_a_beginning_and_the_oldest_is_forgotten() {
    let engine = engine(1026, 2);
    let system = "You are a careful person who answers questions about the weather in one word.";
    let ask = |session: &str, said_now: &str| {
        said(&engine, &request(system, said_now), session, ToolChoice::Either)
    };
    let first = ask("a", "Rain?");
    let second = ask("b", "Snow?");
    assert_eq!(first.reused, 0);
    assert!(second.reused > 10, "the system prompt is the same: {}", second.reused);
    let third = said(&engine, &request("Other words.", "Hello"), "c", ToolChoice::Either);
    assert!(third.reused < 8, "{}", third.reused);
    let back = ask("b", "Snow?");
    assert_eq!(back.reused, back.usage.input_tokens - 1, "b was used after a");
}

#[test]
fn a_full_context_takes_the_room_of_an_older_session() {
    let engine = engine(769, 3);
    let long = |word: &str| request("Be brief.", &format!("{word} ").repeat(300));
    let first = said(&engine, &long("apple"), "a", ToolChoice::Either);
    assert!(first.usage.input_tokens > 300);
    said(&engine, &long("stone"), "b", ToolChoice::Either);
    let third = said(&engine, &long("river"), "c", ToolChoice::Either);
    assert!(third.usage.input_tokens > 300, "all three together do not fit");
}

#[test]
fn what_is_heard_is_what_was_said() {
    let engine = engine(1027, 1);
    let request = request("Be brief.", "Write one sentence about bread.");
    let (said, pieces) = heard(&engine, &request, "a", ToolChoice::Either);
    let said = said.expect("it answers");
    let heard: String = pieces
        .iter()
        .map(|piece| match piece {
            GenerationDelta::Text(text) => text.as_str(),
            GenerationDelta::Thinking(_)
            | GenerationDelta::CallName { .. }
            | GenerationDelta::CallArguments { .. } => "",
        })
        .collect();
    assert_eq!(heard, said.text);
    assert!(!said.text.is_empty());
}

#[test]
fn a_seed_decides_when_there_is_a_temperature() {
    let engine = engine(1028, 1);
    let mut request = request("Be creative.", "Invent a name for a boat.");
    request.temperature = Some(1.2);
    let with_seed = |seed| {
        let ask = agentry_local::GenerationRequest {
            request: &request,
            session: "a",
            hear: &|_| {},
            go_on: &|| true,
            choice: ToolChoice::Either,
            seed,
        };
        engine.answer(&ask).expect("it answers").text
    };
    assert_eq!(with_seed(1), with_seed(1));
    assert!((2..6).any(|seed| with_seed(seed) != with_seed(1)), "no seed makes a difference");
}

#[test]
fn the_longest_answer_is_kept_to() {
    let engine = engine(1029, 1);
    let mut request = request("Be long.", "Tell a story.");
    request.max_tokens = Some(5);
    let said = said(&engine, &request, "a", ToolChoice::Either);
    assert_eq!((said.finish, said.usage.output_tokens), (FinishReason::Length, 5));
}
