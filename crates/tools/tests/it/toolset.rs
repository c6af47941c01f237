//! The set as a whole: what is offered, and that a call always ends in an answer.

use agentry_protocol::tool::{Risk, ToolCategory, ToolName, find_known_tool};
use agentry_protocol::tool_call::{OutcomeStatus, RepeatSafety, ToolOutcome, ToolSpec};
use agentry_tools::{Tool, ToolContext, Toolset};
use serde_json::{Value, json};

use crate::{Bench, call};

/// What all tools together may cost in every request.
const SPECS_BYTES_MAX: usize = 4 * 1024;

#[test]
fn all_tools_are_offered_in_less_than_four_kilobytes() {
    let toolset = Toolset::builtin();
    let offered: Vec<Value> = toolset
        .specs()
        .map(|spec| {
            json!({"name": spec.name, "description": spec.description, "parameters": spec.parameters})
        })
        .collect();
    let bytes = serde_json::to_string(&offered).unwrap().len();
    println!("{bytes} bytes");
    assert!(bytes < SPECS_BYTES_MAX, "{bytes} bytes");
}

#[test]
fn every_tool_is_in_the_dictionary_and_takes_no_unknown_argument() {
    let toolset = Toolset::builtin();
    let names: Vec<&str> = toolset.specs().map(|spec| spec.name.as_str()).collect();
    let expected = ["read_file", "write_file", "edit_file", "glob", "grep", "bash", "web_fetch"];
    assert_eq!(names, expected);
    for spec in toolset.specs() {
        let known = find_known_tool(spec.name.as_str()).unwrap();
        assert_eq!((spec.category, spec.risk), (known.category, known.risk));
        assert_eq!(spec.parameters["additionalProperties"], json!(false));
        let properties = spec.parameters["properties"].as_object().unwrap();
        for required in spec.parameters["required"].as_array().unwrap() {
            assert!(properties.contains_key(required.as_str().unwrap()));
        }
    }
}

#[test]
fn only_what_looks_may_be_repeated() {
    for spec in Toolset::builtin().specs() {
        let looks = ["read_file", "glob", "grep", "web_fetch"].contains(&spec.name.as_str());
        let expected = if looks { RepeatSafety::Harmless } else { RepeatSafety::Uncertain };
        assert_eq!(spec.repeat, expected, "{}", spec.name);
    }
}

#[test]
fn an_unknown_tool_is_answered_with_near_names() {
    let bench = Bench::with(&[]);
    assert_eq!(
        bench.failed("read_fil", json!({})),
        "There is no tool `read_fil`. Did you mean `read_file` or `edit_file` or `write_file`?"
    );
    assert_eq!(
        bench.failed("xyz", json!({})),
        "There is no tool `xyz`. There are: read_file, write_file, edit_file, glob, grep, bash, \
         web_fetch."
    );
}

#[test]
fn arguments_that_do_not_fit_are_answered() {
    let bench = Bench::with(&[]);
    for tool in Toolset::builtin().specs() {
        for input in [json!({}), json!([]), json!(null), json!("x"), json!({"surprise": 1})] {
            let text = bench.failed(tool.name.as_str(), input);
            assert!(text.starts_with("The arguments do not fit: "), "{text}");
        }
    }
}

struct Broken {
    spec: ToolSpec,
}

impl Tool for Broken {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, _: &Value, _: &ToolContext<'_>) -> ToolOutcome {
        panic!("on purpose")
    }

    fn preview(&self, _: &Value, _: &ToolContext<'_>) -> Option<String> {
        panic!("on purpose")
    }
}

#[test]
fn a_tool_that_panics_is_an_answer() {
    let spec = ToolSpec {
        name: ToolName::canonical("broken"),
        description: String::new(),
        parameters: json!({}),
        category: ToolCategory::Custom,
        risk: Risk::Low,
        repeat: RepeatSafety::Harmless,
    };
    let toolset = Toolset::of(vec![Box::new(Broken { spec })]);
    let bench = Bench::with(&[]);
    let outcome = toolset.run(&call("broken", json!({})), &bench.context());
    assert_eq!(outcome.status, OutcomeStatus::Failed);
    assert_eq!(
        outcome.text,
        "The tool `broken` broke down. This is a defect of the tool, not of the call."
    );
    assert_eq!(toolset.preview(&call("broken", json!({})), &bench.context()), None);
}
