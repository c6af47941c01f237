//! Checks the arguments of a call against the schema of its tool.
//!
//! Must never: fetch a schema from anywhere, or treat a schema that does not compile as a match.

use std::collections::HashMap;
use std::sync::OnceLock;

use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::ToolSpec;
use jsonschema::Validator;
use serde_json::Value;

use crate::limits::INPUT_DEFECT_CHARS_MAX;

/// The schemas of tools, each compiled on first use.
#[derive(Default)]
pub(super) struct Schemas {
    compiled: HashMap<ToolName, CompiledSchema>,
}

struct CompiledSchema {
    // Compared at each use: a name may refer to another schema later.
    parameters: Value,
    validator: OnceLock<Result<Validator, String>>,
}

impl Schemas {
    pub(super) fn of<'a>(specs: impl Iterator<Item = &'a ToolSpec>) -> Self {
        let compiled = specs.map(|spec| {
            let parameters = spec.parameters.clone();
            (spec.name.clone(), CompiledSchema { parameters, validator: OnceLock::new() })
        });
        Self { compiled: compiled.collect() }
    }

    /// Returns the defects of the arguments: one sentence each, with the place.
    pub(super) fn argument_errors(&self, spec: &ToolSpec, input: &Value) -> Vec<String> {
        if let Value::String(text) = input {
            return vec![unreadable(text)];
        }
        let own = self.compiled.get(&spec.name).filter(|own| own.parameters == spec.parameters);
        match own {
            Some(own) => {
                let validator = own.validator.get_or_init(|| compile(&spec.parameters));
                told(validator.as_ref(), input)
            }
            None => told(compile(&spec.parameters).as_ref(), input),
        }
    }
}

/// Describes arguments that are no JSON and could not be repaired.
fn unreadable(text: &str) -> String {
    let why = match serde_json::from_str::<Value>(text) {
        Ok(_) => "they are no object".to_owned(),
        Err(error) => error.to_string(),
    };
    shortened(&format!(
        "the arguments are not one JSON object ({why}); nothing was done; write the call again"
    ))
}

fn compile(parameters: &Value) -> Result<Validator, String> {
    jsonschema::options().build(parameters).map_err(|error| error.to_string())
}

/// Returns the defects of a value under a schema: one sentence each, with the place.
pub fn schema_errors(schema: &Value, value: &Value, whole: &str) -> Vec<String> {
    told_of(compile(schema).as_ref(), value, whole)
}

fn told(validator: Result<&Validator, &String>, input: &Value) -> Vec<String> {
    told_of(validator, input, "the arguments")
}

fn told_of(validator: Result<&Validator, &String>, input: &Value, whole: &str) -> Vec<String> {
    match validator {
        Ok(validator) => validator
            .iter_errors(input)
            .map(|error| {
                let pointer = error.instance_path().as_str();
                let place = if pointer.is_empty() { whole } else { pointer };
                shortened(&format!("{place}: {}", error.masked_with(MASK)))
            })
            .collect(),
        Err(error) => vec![shortened(&format!("the tool's own schema does not compile: {error}"))],
    }
}

/// Replaces the wrong value, which may be long and is known to its author.
const MASK: &str = "the value";

fn shortened(text: &str) -> String {
    match text.char_indices().nth(INPUT_DEFECT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use agentry_protocol::tool::{Risk, ToolCategory};
    use agentry_protocol::tool_call::RepeatSafety;
    use serde_json::json;

    use super::*;

    fn spec(required: &str) -> ToolSpec {
        ToolSpec {
            name: ToolName::canonical("own"),
            description: String::new(),
            parameters: json!({"required": [required]}),
            category: ToolCategory::Custom,
            risk: Risk::Medium,
            repeat: RepeatSafety::Uncertain,
        }
    }

    #[test]
    fn a_schema_that_changed_under_its_name_is_the_one_that_counts() {
        let (first, second, third) = (spec("a"), spec("b"), spec("c"));
        let schemas = Schemas::of([&first].into_iter());
        for spec in [&second, &third, &first, &third] {
            let required = spec.parameters["required"][0].as_str().expect("it is a name");
            assert!(schemas.argument_errors(spec, &json!({required: 1})).is_empty(), "{required}");
            assert_eq!(schemas.argument_errors(spec, &json!({"x": 1})).len(), 1, "{required}");
        }
    }
}
