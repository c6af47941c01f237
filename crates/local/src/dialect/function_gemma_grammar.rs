//! The grammar of a FunctionGemma call, from the schemas of the tools.
//!
//! The grammar is looser than a schema where the format cannot express it, such as a pattern; the
//! check of the finished call catches the rest.
//!
//! Must never: allow the delimiter inside a text.

use serde_json::Value;

use crate::dialect::DialectTool;
use crate::limits::{ARGUMENT_CHARS_MAX, ARGUMENT_ITEMS_MAX, SCHEMA_DEPTH_MAX};

/// The delimiter of a text.
pub(super) const ESCAPE: &str = "<escape>";

/// Returns the grammar over all tools, or the faulty tool and the schema part that has no grammar.
pub(crate) fn grammar(tools: &[DialectTool], control: bool) -> Result<String, (String, String)> {
    // In the grammar, a control token has no quotes and text has quotes.
    let escape = if control { ESCAPE.to_owned() } else { format!("\"{ESCAPE}\"") };
    let mut rules = GrammarRules { escape, text: String::new(), count: 0 };
    let mut starts = Vec::new();
    for tool in tools {
        let object = rules.object(&tool.bounded, 0).map_err(|why| (tool.tool.clone(), why))?;
        starts.push(rules.rule(&format!("{} {object}", quoted(&format!("call:{}", tool.shown)))));
    }
    Ok(format!("start: {}\n{}", starts.join(" | "), rules.text))
}

struct GrammarRules {
    escape: String,
    text: String,
    count: usize,
}

impl GrammarRules {
    fn rule(&mut self, body: &str) -> String {
        let name = format!("r{}", self.count);
        self.count += 1;
        self.text += &format!("{name}: {body}\n");
        name
    }

    fn value(&mut self, schema: &Value, depth: usize) -> Result<String, String> {
        if depth > SCHEMA_DEPTH_MAX {
            return Err("it is nested too deep".into());
        }
        if let Some(options) = schema.get("enum").and_then(Value::as_array) {
            return self.one_of(options);
        }
        if let Some(only) = schema.get("const") {
            return self.one_of(std::slice::from_ref(only));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(options) = schema.get(key).and_then(Value::as_array) {
                let rules = options
                    .iter()
                    .map(|option| self.value(option, depth + 1))
                    .collect::<Result<Vec<_>, _>>()?;
                return Ok(self.rule(&rules.join(" | ")));
            }
        }
        match schema.get("type") {
            Some(Value::String(kind)) => self.typed(kind, schema, depth),
            Some(Value::Array(kinds)) => {
                let rules = kinds
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|kind| self.typed(kind, schema, depth))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok(self.rule(&rules.join(" | ")))
            }
            Some(_) | None => Err("a part of it has no type".into()),
        }
    }

    fn typed(&mut self, kind: &str, schema: &Value, depth: usize) -> Result<String, String> {
        match kind {
            "string" => {
                let most = bound(schema, "maxLength", ARGUMENT_CHARS_MAX);
                let least = bound(schema, "minLength", 0);
                let escape = self.escape.clone();
                Ok(self.rule(&format!("{escape} /(?s:[^<]{{{least},{most}}})/ {escape}")))
            }
            "integer" => Ok(self.rule("/-?(0|[1-9][0-9]{0,14})/")),
            "number" => Ok(self.rule(r"/-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,9})?/")),
            "boolean" => Ok(self.rule("\"true\" | \"false\"")),
            "null" => Ok(self.rule("\"null\"")),
            "array" => {
                let item = match schema.get("items") {
                    Some(items) => self.value(items, depth + 1)?,
                    None => return Err("a list in it has no type of items".into()),
                };
                let most = bound(schema, "maxItems", ARGUMENT_ITEMS_MAX);
                let least = bound(schema, "minItems", 0);
                Ok(self.rule(&list(&item, least, most)))
            }
            "object" => self.object(schema, depth),
            other => Err(format!("there is no type `{other}`")),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Result<String, String> {
        for key in ["$ref", "allOf", "patternProperties"] {
            if schema.get(key).is_some() {
                return Err(format!("it uses `{key}`"));
            }
        }
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut fields = Vec::new();
        for (key, inner) in
            schema.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            if key.contains(['{', '}', '[', ']', ',', ':', '<']) {
                return Err(format!("the key `{key}` cannot be written in this format"));
            }
            let value = self.value(inner, depth + 1)?;
            let field = self.rule(&format!("{} {value}", quoted(&format!("{key}:"))));
            fields.push((field, required.contains(&key.as_str())));
        }
        // From the last field backwards: the rest after another field, and the rest at the start.
        let mut rest = self.rule("\"\"");
        let mut first = rest.clone();
        for (field, needed) in fields.into_iter().rev() {
            let (next_rest, next_first) = if needed {
                (format!("\",\" {field} {rest}"), format!("{field} {rest}"))
            } else {
                (format!("(\",\" {field})? {rest}"), format!("{field} {rest} | {first}"))
            };
            rest = self.rule(&next_rest);
            first = self.rule(&next_first);
        }
        Ok(self.rule(&format!("\"{{\" {first} \"}}\"")))
    }

    fn one_of(&mut self, options: &[Value]) -> Result<String, String> {
        let mut rules = Vec::new();
        for option in options {
            rules.push(match option {
                Value::String(text) if !text.contains('<') => {
                    let escape = self.escape.clone();
                    // An empty text has no content between its delimiters.
                    let text = if text.is_empty() { String::new() } else { quoted(text) };
                    self.rule(&format!("{escape} {text} {escape}"))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {
                    self.rule(&quoted(&option.to_string()))
                }
                Value::String(_) | Value::Array(_) | Value::Object(_) => {
                    return Err(format!("the choice {option} cannot be written in this format"));
                }
            });
        }
        Ok(self.rule(&rules.join(" | ")))
    }
}

fn list(item: &str, least: u64, most: u64) -> String {
    let more = most.saturating_sub(1);
    let some = format!("{item} (\",\" {item}){{{},{more}}}", least.saturating_sub(1).min(more));
    match (least, most) {
        (_, 0) => "\"[]\"".to_owned(),
        (0, _) => format!("\"[\" ({some})? \"]\""),
        (_, _) => format!("\"[\" {some} \"]\""),
    }
}

fn bound(schema: &Value, key: &str, otherwise: u64) -> u64 {
    schema.get(key).and_then(Value::as_u64).unwrap_or(otherwise)
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::function_gemma::FunctionGemma;
    use crate::toolset::{RequestTools, sample};
    use serde_json::json;

    fn written(parameters: Value) -> Result<String, (String, String)> {
        let tools = [sample::tool("find", parameters)];
        let set = RequestTools::of(&tools, &FunctionGemma::default()).expect("the schema is right");
        grammar(&set.offered, false)
    }

    #[test]
    fn fields_follow_in_order_and_only_required_ones_must_stand() {
        let grammar = written(json!({
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}},
            "required": ["a"]
        }))
        .expect("this can be written");
        let expected = concat!(
            "start: r10\n",
            "r0: /-?(0|[1-9][0-9]{0,14})/\nr1: \"a:\" r0\n",
            "r2: \"true\" | \"false\"\nr3: \"b:\" r2\nr4: \"\"\n",
            "r5: (\",\" r3)? r4\nr6: r3 r4 | r4\n",
            "r7: \",\" r1 r5\nr8: r1 r5\nr9: \"{\" r8 \"}\"\nr10: \"call:find\" r9\n",
        );
        assert_eq!(grammar, expected);
    }

    #[test]
    fn what_cannot_be_written_names_its_tool() {
        for schema in [
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}}),
            json!({"type": "object", "properties": {"a:b": {"type": "string"}}}),
            json!({"type": "object", "properties": {"a": {"type": "array"}}}),
            json!({"type": "object", "properties": {"a": {"enum": ["<escape>"]}}}),
        ] {
            let (tool, _) = written(schema).expect_err("the format has no word for it");
            assert_eq!(tool, "find");
        }
    }
}
