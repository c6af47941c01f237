//! Writes a request of Responses.
//!
//! The talk comes last, so that each request begins with the bytes of the one before.
//!
//! Must never: put anything that changes from step to step before the talk.

use std::borrow::Cow;

use agentry_protocol::message::{Image, SealedContent};
use agentry_protocol::schema::ModelSchema;
use agentry_protocol::tool_call::{ToolCall, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::sealer;
use crate::talk::{self, Names, Said};
use crate::wire::Asked;

/// The request, as JSON.
pub(super) fn body(asked: Asked<'_>) -> Vec<u8> {
    let request = asked.request;
    let names = Names::of(&request.tools);
    let body = Body {
        model: asked.model,
        stream: true,
        store: false,
        include: if reasons(asked.model) { &["reasoning.encrypted_content"] } else { &[] },
        max_output_tokens: request.max_tokens,
        temperature: request.temperature,
        prompt_cache_key: asked.session,
        instructions: &request.system,
        tools: request.tools.iter().map(|spec| tool(spec, &names)).collect(),
        input: items(asked, &names),
    };
    serde_json::to_vec(&body).expect("a request holds only what JSON can write")
}

/// Whether the model seals its thinking; the others refuse to be asked for it.
fn reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    let number = |text: &str| -> u32 {
        let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    };
    let of_family =
        |family: &str, least| name.strip_prefix(family).is_some_and(|rest| number(rest) >= least);
    name.starts_with("codex-")
        || of_family("o", 1)
        || (of_family("gpt-", 5) && !name.contains("-chat"))
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'a [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    prompt_cache_key: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    input: Vec<Item<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: String,
    description: &'a str,
    parameters: ModelSchema<'a>,
    strict: bool,
}

fn tool<'a>(spec: &'a ToolSpec, names: &Names) -> Tool<'a> {
    Tool {
        r#type: "function",
        name: names.written(spec.name.as_str()),
        description: &spec.description,
        parameters: spec.model_schema(),
        strict: false,
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Message { role: &'static str, content: Content<'a> },
    Call { r#type: &'static str, call_id: &'a str, name: String, arguments: String },
    Output { r#type: &'static str, call_id: &'a str, output: Cow<'a, str> },
    Sealed(&'a Value),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText { text: &'a str },
    InputImage { image_url: String },
}

fn items<'a>(asked: Asked<'a>, names: &Names) -> Vec<Item<'a>> {
    let sealer = sealer(asked.model);
    let mut items = Vec::with_capacity(asked.request.messages.len());
    for said in talk::said(&asked.request.messages) {
        match said {
            Said::User { content, images } => {
                items.push(Item::Message { role: "user", content: content_of(content, images) });
            }
            Said::Assistant { content, thinking: _, calls, sealed } => {
                let sealed = sealed.filter(|sealed| sealed.by == sealer);
                add_answer(&mut items, content, calls, sealed, names);
            }
            Said::Outcome { call, content, ok } => items.push(Item::Output {
                r#type: "function_call_output",
                call_id: call.id.as_str(),
                output: talk::marked(content, ok),
            }),
        }
    }
    items
}

/// Adds words and calls, and before each the thinking that led to it: the provider takes none that leads to
/// nothing.
fn add_answer<'a>(
    items: &mut Vec<Item<'a>>,
    content: &'a str,
    calls: &'a [ToolCall],
    sealed: Option<&'a SealedContent>,
    names: &Names,
) {
    let text = (!content.is_empty())
        .then_some(Item::Message { role: "assistant", content: Content::Text(content) });
    let calls = calls.iter().map(|call| Item::Call {
        r#type: "function_call",
        call_id: call.id.as_str(),
        name: names.written(call.tool.as_str()),
        arguments: talk::object(&call.input).to_string(),
    });
    let sealed = sealed.map_or(&[][..], |sealed| &sealed.items);
    for (place, item) in text.into_iter().chain(calls).enumerate() {
        let leads_here = |sealed: &&Value| {
            sealed.get("place").and_then(Value::as_u64) == u64::try_from(place).ok()
        };
        let thinking = sealed.iter().filter(leads_here).filter_map(|sealed| sealed.get("item"));
        items.extend(thinking.map(Item::Sealed));
        items.push(item);
    }
}

fn content_of<'a>(content: &'a str, images: &'a [Image]) -> Content<'a> {
    if images.is_empty() {
        return Content::Text(content);
    }
    let text = (!content.is_empty()).then_some(Part::InputText { text: content });
    let images = images.iter().map(|image| Part::InputImage {
        image_url: format!("data:{};base64,{}", image.media_type, image.data),
    });
    Content::Parts(text.into_iter().chain(images).collect())
}
