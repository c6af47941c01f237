//! The dialect of Llama 3: a call is the whole answer, `{"name": …, "parameters": …}`.
//!
//! Must never: write more than one call in an answer; the model was not trained for it.

use agentry_protocol::message::RawToolCall;
use serde_json::{Value, json};

use crate::dialect::hermes::{call_in_json, json_grammar, name_in_json, signature};
use crate::dialect::{
    Dialect, DialectRole, DialectTool, PromptFragment, RenderedOutcome, to_spaced_json,
};
use crate::model_summary::DialectName;

/// The dialect of Llama 3.
pub(crate) struct Llama;

impl Dialect for Llama {
    fn name(&self) -> DialectName {
        DialectName::Llama
    }

    fn between(&self, from: Option<DialectRole>, to: DialectRole) -> String {
        let role = match to {
            DialectRole::System => "system",
            DialectRole::User => "user",
            DialectRole::Model => "assistant",
            DialectRole::Results => "ipython",
        };
        let closes = if from.is_some() { "<|eot_id|>" } else { "" };
        format!("{closes}<|start_header_id|>{role}<|end_header_id|>\n\n")
    }

    fn system(&self, system: &str, tools: &[DialectTool]) -> Vec<PromptFragment> {
        if tools.is_empty() {
            return vec![PromptFragment::text(system)];
        }
        let mut parts = vec![PromptFragment::mark(
            "Environment: ipython\n\nYou have access to the following functions. To call a \
             function, please respond with JSON for a function call. Respond in the format \
             {\"name\": function name, \"parameters\": dictionary of argument name and its value}. \
             Do not use variables.\n\n",
        )];
        for tool in tools {
            parts.push(PromptFragment::text(to_spaced_json(&signature(tool))));
            parts.push(PromptFragment::mark("\n\n"));
        }
        parts.push(PromptFragment::text(system));
        parts
    }

    fn results(&self, outcomes: &[RenderedOutcome<'_>]) -> Vec<PromptFragment> {
        let mut parts = Vec::new();
        for (index, outcome) in outcomes.iter().enumerate() {
            if index > 0 {
                parts.push(PromptFragment::mark("\n"));
            }
            parts.push(PromptFragment::text(outcome.content));
        }
        parts
    }

    fn call(&self, name: &str, input: &Value) -> Vec<PromptFragment> {
        vec![PromptFragment::text(to_spaced_json(&json!({"name": name, "parameters": input})))]
    }

    fn call_opening(&self) -> Vec<PromptFragment> {
        Vec::new()
    }

    fn call_closing(&self) -> Vec<PromptFragment> {
        Vec::new()
    }

    fn between_calls(&self) -> Option<Vec<PromptFragment>> {
        None
    }

    fn grammar(&self, tools: &[DialectTool]) -> Result<String, (String, String)> {
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
