//! Calls of the tiny model are valid, whatever the schema; whether they are clever is not asked.
//!
//! Must never: let one invalid call pass.

use std::sync::Arc;

use agentry_local::{
    Engine, FinishReason, Generation, GenerationDelta, GenerationRequest, LocalError, ToolChoice,
};
use agentry_protocol::message::{Message, ModelRequest};
use serde_json::{Value, json};

use crate::talk::{engine, heard, message, request, said, tool};

/// Schemas of many kinds, each with an end.
fn schemas() -> Vec<(&'static str, Value)> {
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    let short = json!({"type": "string", "maxLength": 12});
    vec![
        ("read_file", object(json!({"path": short}), json!(["path"]))),
        ("set_mode", object(json!({"mode": {"enum": ["on", "off", 3, null]}}), json!(["mode"]))),
        (
            "move_to",
            object(
                json!({"x": {"type": "integer", "minimum": -5, "maximum": 17},
                       "y": {"type": "number", "minimum": 0, "maximum": 1}}),
                json!(["x", "y"]),
            ),
        ),
        (
            "order",
            object(
                json!({"items": {"type": "array", "minItems": 1, "maxItems": 3, "items": {
                    "type": "object",
                    "properties": {"name": short, "count": {"type": "integer", "minimum": 1, "maximum": 9}},
                    "required": ["name"]}}}),
                json!(["items"]),
            ),
        ),
        (
            "paint",
            object(
                json!({"color": {"type": "string", "pattern": "^#[0-9a-f]{6}$"}}),
                json!(["color"]),
            ),
        ),
        (
            "look_up",
            object(
                json!({"query": short, "limit": {"type": "integer", "minimum": 1, "maximum": 50},
                       "exact": {"type": "boolean"}}),
                json!([]),
            ),
        ),
        (
            "plan",
            object(
                json!({"when": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 9},
                                            {"const": "never"}]},
                       "where": {"type": "object", "properties": {"city": short,
                            "at": {"type": ["number", "null"], "maximum": 9, "minimum": 0}},
                            "required": ["city"]}}),
                json!(["when", "where"]),
            ),
        ),
        (
            "tag",
            json!({"type": "object", "additionalProperties": false,
                   "properties": {"tags": {"$ref": "#/$defs/tags"}}, "required": ["tags"],
                   "$defs": {"tags": {"type": "array", "maxItems": 2, "items": {"enum": ["a", "b"]}}}}),
        ),
        ("stop", json!({})),
        (
            "pick",
            object(
                json!({"one": {"oneOf": [{"type": "string", "maxLength": 5}, {"type": "boolean"}]}}),
                json!(["one"]),
            ),
        ),
    ]
}

fn asked(engine: &Engine, request: &ModelRequest, seed: u64) -> Generation {
    let ask = GenerationRequest {
        request,
        session: "calls",
        hear: &|_| {},
        go_on: &|| true,
        choice: ToolChoice::Call,
        seed,
    };
    engine.answer(&ask).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn two_hundred_calls_are_all_valid() {
    let engine = engine(2049, 1);
    let schemas = schemas();
    let subjects = ["the red car", "my notes", "a file named b.txt", "seven apples", "Berlin"];
    let mut calls = 0;
    let mut named = std::collections::BTreeSet::new();
    for (at, first) in schemas.iter().enumerate() {
        let second = &schemas[(at + 3) % schemas.len()];
        let tools: Vec<_> =
            [first, second].iter().map(|(name, schema)| tool(name, schema.clone())).collect();
        let goal = calls + 20;
        for turn in 0..20 {
            if calls >= goal {
                break;
            }
            let subject = subjects[turn % subjects.len()];
            let mut request =
                request("Call a tool.", &format!("Use {} for {subject}.", tools[turn % 2].name));
            request.tools = tools.clone().into();
            request.temperature = Some(if turn % 4 == 0 { 0.0 } else { 1.0 });
            request.max_tokens = Some(120);
            let said = asked(&engine, &request, u64::try_from(turn).expect("it is small"));
            assert_eq!(said.finish, FinishReason::Done, "{} {turn}: {said:?}", first.0);
            for call in &said.calls {
                let (_, schema) = [first, second]
                    .into_iter()
                    .find(|(name, _)| *name == call.name)
                    .unwrap_or_else(|| panic!("{} was not offered", call.name));
                let valid = jsonschema::validate(schema, &call.input);
                assert!(valid.is_ok(), "{}: {} {valid:?}", call.name, call.input);
                named.insert(call.name.clone());
            }
            assert!(!said.calls.is_empty());
            calls += said.calls.len();
        }
    }
    assert!(calls >= 200, "only {calls} calls were made");
    assert!(named.len() >= 8, "only {named:?} were called");
}

#[test]
fn a_call_is_heard_and_its_result_is_answered() {
    let engine = engine(2050, 1);
    let (name, schema) = schemas().remove(0);
    let mut request = request("Help.", "Read a.txt.");
    request.max_tokens = Some(60);
    request.tools = vec![tool(name, schema)].into();
    let (first, pieces) = heard(&engine, &request, "a", ToolChoice::Call);
    let first = first.expect("it calls");
    let call = &first.calls[0];
    assert_eq!(pieces[0], GenerationDelta::CallName { index: 0, name: "read_file".into() });
    let json = call.input.to_string();
    assert_eq!(pieces[1], GenerationDelta::CallArguments { index: 0, json });
    request.messages.push(Arc::new(message(&first, 1)));
    let Message::Assistant { calls, .. } = &**request.messages.last().expect("it was pushed")
    else {
        panic!("the model said it")
    };
    let id = calls[0].id.clone();
    request.messages.push(Arc::new(Message::Tool { call: id, content: "hello".into(), ok: true }));
    let second = said(&engine, &request, "a", ToolChoice::Either);
    assert!(second.call_probability.is_some_and(|probability| (0.0..=1.0).contains(&probability)));
    assert!(second.reused > first.usage.input_tokens);
}

#[test]
fn a_schema_that_no_grammar_can_say_is_checked_afterwards_or_names_its_tool() {
    let engine = engine(2051, 1);
    let mut request = request("Help.", "Go.");
    request.max_tokens = Some(60);
    let properties = json!({"a": {"type": "integer", "minimum": 0, "maximum": 9}});
    let odd = json!({"type": "object", "properties": properties, "required": ["a"],
                     "dependentSchemas": {"a": {"minProperties": 1}}});
    request.tools = vec![tool("odd", odd.clone())].into();
    match heard(&engine, &request, "a", ToolChoice::Call).0 {
        Ok(said) => {
            for call in said.calls {
                assert!(jsonschema::is_valid(&odd, &call.input), "{}", call.input);
            }
        }
        Err(error) => assert!(error.to_string().contains("`odd`"), "{error}"),
    }
    request.tools = vec![tool("wrong", json!({"type": "wibble"}))].into();
    let error =
        heard(&engine, &request, "a", ToolChoice::Call).0.expect_err("there is no such type");
    assert!(matches!(&error, LocalError::Schema { tool, .. } if tool == "wrong"), "{error}");
}

#[test]
fn without_tools_nothing_can_be_called() {
    let engine = engine(2051, 1);
    let error = heard(&engine, &request("Help.", "Go."), "b", ToolChoice::Call).0;
    assert_eq!(error.expect_err("there is no tool"), LocalError::NothingToCall);
}
