//! The tools of a request as they are shown to a model, and the check of its calls.
//!
//! Must never: accept a call that violates the schema of its tool.

use agentry_protocol::message::RawToolCall;
use agentry_protocol::tool_call::ToolSpec;
use jsonschema::Validator;

use crate::dialect::{Dialect, DialectTool};
use crate::error::LocalError;
use crate::schema;

/// The tools of a request.
pub(crate) struct RequestTools {
    pub(crate) offered: Vec<DialectTool>,
    validators: Vec<Validator>,
}

impl RequestTools {
    /// Prepares the tools of a request; fails for a tool whose schema cannot be offered.
    pub(crate) fn of(tools: &[ToolSpec], dialect: &dyn Dialect) -> Result<Self, LocalError> {
        let offered = offered(tools, dialect);
        let validators = offered
            .iter()
            .map(|tool| {
                jsonschema::validator_for(&tool.parameters).map_err(|error| LocalError::Schema {
                    tool: tool.tool.clone(),
                    why: error.to_string(),
                })
            })
            .collect::<Result<_, LocalError>>()?;
        Ok(Self { offered, validators })
    }

    /// Returns the name in Agentry of a tool that the model names.
    pub(crate) fn name(&self, shown: &str) -> String {
        let tool = self.offered.iter().find(|tool| tool.shown == shown);
        tool.map_or_else(|| shown.to_owned(), |tool| tool.tool.clone())
    }

    /// Returns the call with the name in Agentry, if it matches the tool's schema.
    pub(crate) fn validate_call(&self, call: &RawToolCall) -> Result<RawToolCall, LocalError> {
        let at = self.offered.iter().position(|tool| tool.shown == call.name);
        let Some(at) = at else {
            let why = "there is no such tool".to_owned();
            return Err(LocalError::InvalidCall { tool: call.name.clone(), why });
        };
        let tool = self.offered[at].tool.clone();
        match self.validators[at].validate(&call.input) {
            Ok(()) => Ok(RawToolCall { name: tool, input: call.input.clone() }),
            Err(error) => Err(LocalError::InvalidCall { tool, why: error.to_string() }),
        }
    }
}

fn offered(tools: &[ToolSpec], dialect: &dyn Dialect) -> Vec<DialectTool> {
    let mut offered: Vec<DialectTool> = Vec::with_capacity(tools.len());
    for tool in tools {
        let name = dialect.shown_name(tool.name.as_str());
        let mut shown = name.clone();
        let mut number = 2;
        while offered.iter().any(|other| other.shown == shown) {
            shown = format!("{name}_{number}");
            number += 1;
        }
        offered.push(DialectTool {
            shown,
            tool: tool.name.as_str().to_owned(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
            bounded: schema::bounded(&tool.parameters),
        });
    }
    offered
}

#[cfg(test)]
pub(crate) mod sample {
    //! A conversation and a tool for the tests of dialects.

    use std::sync::Arc;

    use agentry_protocol::CallId;
    use agentry_protocol::message::{Message, ModelRequest};
    use agentry_protocol::tool::{Risk, ToolCategory, ToolName};
    use agentry_protocol::tool_call::{RepeatSafety, ToolCall, ToolSpec};
    use serde_json::{Value, json};

    use super::offered as offered_by;
    use crate::dialect::{Dialect, DialectTool};

    pub(crate) fn tool(name: &str, parameters: Value) -> ToolSpec {
        ToolSpec {
            name: ToolName::canonical(name),
            description: "Reads a file".into(),
            parameters,
            category: ToolCategory::Read,
            risk: Risk::Low,
            repeat: RepeatSafety::Harmless,
        }
    }

    fn read_file() -> ToolSpec {
        tool(
            "read_file",
            json!({
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"]
            }),
        )
    }

    pub(crate) fn offered(dialect: &dyn Dialect) -> Vec<DialectTool> {
        offered_by(&[read_file()], dialect)
    }

    pub(crate) fn talk() -> ModelRequest {
        talk_with("hello")
    }

    pub(crate) fn talk_with(result: &str) -> ModelRequest {
        let id = CallId::from_number(1);
        let call = ToolCall {
            id: id.clone(),
            tool: ToolName::canonical("read_file"),
            input: json!({"path": "a.txt"}),
        };
        let messages = vec![
            Message::User { content: "What is in a.txt?".into(), images: Vec::new() },
            Message::Assistant {
                content: String::new(),
                thinking: String::new(),
                calls: vec![call],
                sealed: None,
            },
            Message::Tool { call: id, content: result.into(), ok: true },
        ];
        ModelRequest {
            model: "local".into(),
            temperature: None,
            max_tokens: None,
            system: "Be brief.".into(),
            tools: vec![read_file()].into(),
            messages: messages.into_iter().map(Arc::new).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::function_gemma::FunctionGemma;
    use serde_json::json;

    #[test]
    fn two_tools_are_never_shown_under_one_name() {
        let tools = [sample::tool("a/b", json!({})), sample::tool("a_b", json!({}))];
        let offered = offered(&tools, &FunctionGemma::default());
        let shown: Vec<_> = offered.iter().map(|tool| tool.shown.as_str()).collect();
        assert_eq!(shown, ["a_b", "a_b_2"]);
    }

    #[test]
    fn a_call_passes_only_if_the_schema_takes_it() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let tools = [sample::tool("count/up", schema)];
        let set = RequestTools::of(&tools, &FunctionGemma::default()).expect("the schema is right");
        let call = |name: &str, input| RawToolCall { name: name.into(), input };
        let checked = set.validate_call(&call("count_up", json!({"n": 1}))).expect("it is valid");
        assert_eq!(checked.name, "count/up");
        set.validate_call(&call("count_up", json!({"n": "1"})))
            .expect_err("a string is no integer");
        set.validate_call(&call("other", json!({}))).expect_err("there is no such tool");
    }

    #[test]
    fn a_schema_that_is_none_names_its_tool() {
        let tools = [sample::tool("odd", json!({"type": "wibble"}))];
        let error =
            RequestTools::of(&tools, &FunctionGemma::default()).err().expect("no such type");
        assert!(error.to_string().contains("`odd`"), "{error}");
    }
}
