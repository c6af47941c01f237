//! The dialect of Llama 3: a call is the whole answer, `{"name": …, "parameters": …}`.
//!
//! Must never: write more than one call in an answer; the model was not taught to.

use agentry_protocol::message::RawToolCall;
use serde_json::{Value, json};

use crate::card::DialectName;
use crate::dialect::hermes::{call_in_json, json_grammar, name_in_json, signature};
use crate::dialect::{Dialect, Outcome, Part, Role, spaced};
use crate::toolset::Offered;

/// The dialect.
pub(crate) struct Llama;

impl Dialect for Llama {
    fn name(&self) -> DialectName {
        DialectName::Llama
    }

    fn between(&self, from: Option<Role>, to: Role) -> String {
        let role = match to {
            Role::System => "system",
            Role::User => "user",
            Role::Model => "assistant",
            Role::Results => "ipython",
        };
        let closes = if from.is_some() { "<|eot_id|>" } else { "" };
        format!("{closes}<|start_header_id|>{role}<|end_header_id|>\n\n")
    }

    fn system(&self, system: &str, tools: &[Offered]) -> Vec<Part> {
        if tools.is_empty() {
            return vec![Part::text(system)];
        }
        let mut parts = vec![Part::mark(
            "Environment: ipython\n\nYou have access to the following functions. To call a \
             function, please respond with JSON for a function call. Respond in the format \
             {\"name\": function name, \"parameters\": dictionary of argument name and its value}. \
             Do not use variables.\n\n",
        )];
        for tool in tools {
            parts.push(Part::text(spaced(&signature(tool))));
            parts.push(Part::mark("\n\n"));
        }
        parts.push(Part::text(system));
        parts
    }

    fn results(&self, outcomes: &[Outcome<'_>]) -> Vec<Part> {
        let mut parts = Vec::new();
        for (index, outcome) in outcomes.iter().enumerate() {
            if index > 0 {
                parts.push(Part::mark("\n"));
            }
            parts.push(Part::text(outcome.content));
        }
        parts
    }

    fn call(&self, name: &str, input: &Value) -> Vec<Part> {
        vec![Part::text(spaced(&json!({"name": name, "parameters": input})))]
    }

    fn call_opens(&self) -> Vec<Part> {
        Vec::new()
    }

    fn call_closes(&self) -> Vec<Part> {
        Vec::new()
    }

    fn between_calls(&self) -> Option<Vec<Part>> {
        None
    }

    fn grammar(&self, tools: &[Offered]) -> Result<String, (String, String)> {
        Ok(json_grammar(tools, "parameters"))
    }

    fn name_so_far(&self, written: &str) -> Option<String> {
        name_in_json(written)
    }

    fn parse(&self, written: &str) -> Option<RawToolCall> {
        call_in_json(written)
    }

    fn stops(&self) -> &[&str] {
        &["<|eom_id|>"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{flat_prompt, render};
    use crate::toolset::sample;

    #[test]
    fn a_talk_with_tools_is_written_with_headers() {
        let tools = sample::offered(&Llama);
        let prompt = flat_prompt(&render(&Llama, &sample::talk(), &tools));
        let expected = concat!(
            "<|start_header_id|>system<|end_header_id|>\n\nEnvironment: ipython\n\nYou have access ",
            "to the following functions. To call a function, please respond with JSON for a ",
            "function call. Respond in the format {\"name\": function name, \"parameters\": ",
            "dictionary of argument name and its value}. Do not use variables.\n\n{\"type\": ",
            "\"function\", \"function\": {\"name\": \"read_file\", \"description\": \"Reads a ",
            "file\", \"parameters\": {\"type\": \"object\", \"properties\": {\"path\": {\"type\": ",
            "\"string\"}}, \"required\": [\"path\"]}}}\n\nBe brief.<|eot_id|>",
            "<|start_header_id|>user<|end_header_id|>\n\nWhat is in a.txt?<|eot_id|>",
            "<|start_header_id|>assistant<|end_header_id|>\n\n{\"name\": \"read_file\", ",
            "\"parameters\": {\"path\": \"a.txt\"}}<|eot_id|>",
            "<|start_header_id|>ipython<|end_header_id|>\n\nhello<|eot_id|>",
            "<|start_header_id|>assistant<|end_header_id|>\n\n",
        );
        assert_eq!(prompt, expected);
    }

    #[test]
    fn a_call_has_parameters() {
        let call = Llama.parse(r#"{"name": "grep", "parameters": {"pattern": "x"}}"#);
        let expected = RawToolCall { name: "grep".into(), input: json!({"pattern": "x"}) };
        assert_eq!(call, Some(expected));
        assert_eq!(Llama.name_so_far("{\"name\": \"grep\", \"par").as_deref(), Some("grep"));
    }
}
