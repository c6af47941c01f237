//! Writes a request of Responses.
//!
//! The transcript comes last, so that each request begins with the bytes of the one before.
//!
//! Must never: put anything that changes from step to step before the transcript.

use std::borrow::Cow;

use agentry_protocol::message::{Image, SealedContent};
use agentry_protocol::schema::ModelSchema;
use agentry_protocol::tool_call::{ToolCall, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::sealer;
use crate::codec::CodecInput;
use crate::transcript::{self, ToolNameMap, TranscriptMessage};

/// Writes the request as JSON.
pub(super) fn body(asked: CodecInput<'_>) -> Vec<u8> {
    let request = asked.request;
    let names = ToolNameMap::of(&request.tools);
    let body = ResponsesRequest {
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

/// True if the model seals its thinking; the others refuse a request for it.
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
struct ResponsesRequest<'a> {
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
    tools: Vec<ResponsesTool<'a>>,
    input: Vec<ResponsesItem<'a>>,
}

#[derive(Serialize)]
struct ResponsesTool<'a> {
    r#type: &'static str,
    name: String,
    description: &'a str,
    parameters: ModelSchema<'a>,
    strict: bool,
}

fn tool<'a>(spec: &'a ToolSpec, names: &ToolNameMap) -> ResponsesTool<'a> {
    ResponsesTool {
        r#type: "function",
        name: names.wire_name(spec.name.as_str()),
        description: &spec.description,
        parameters: spec.model_schema(),
        strict: false,
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResponsesItem<'a> {
    Message { role: &'static str, content: ResponsesContent<'a> },
    Call { r#type: &'static str, call_id: &'a str, name: String, arguments: String },
    Output { r#type: &'static str, call_id: &'a str, output: Cow<'a, str> },
    Sealed(&'a Value),
}

#[derive(Serialize)]
#[serde(untagged)]
enum ResponsesContent<'a> {
    Text(&'a str),
    Parts(Vec<ResponsesPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponsesPart<'a> {
    InputText { text: &'a str },
    InputImage { image_url: String },
}

fn items<'a>(asked: CodecInput<'a>, names: &ToolNameMap) -> Vec<ResponsesItem<'a>> {
    let sealer = sealer(asked.model);
    let mut items = Vec::with_capacity(asked.request.messages.len());
    for said in transcript::transcript(&asked.request.messages) {
        match said {
            TranscriptMessage::User { content, images } => {
                items.push(ResponsesItem::Message {
                    role: "user",
                    content: content_of(content, images),
                });
            }
            TranscriptMessage::Assistant { content, thinking: _, calls, sealed } => {
                let sealed = sealed.filter(|sealed| sealed.by == sealer);
                add_answer(&mut items, content, calls, sealed, names);
            }
            TranscriptMessage::Outcome { call, content, ok } => items.push(ResponsesItem::Output {
                r#type: "function_call_output",
                call_id: call.id.as_str(),
                output: transcript::outcome_text(content, ok),
            }),
        }
    }
    items
}

/// Adds text and calls, and before each the thinking that led to it: the provider refuses thinking
/// without one of them.
fn add_answer<'a>(
    items: &mut Vec<ResponsesItem<'a>>,
    content: &'a str,
    calls: &'a [ToolCall],
    sealed: Option<&'a SealedContent>,
    names: &ToolNameMap,
) {
    let text = (!content.is_empty()).then_some(ResponsesItem::Message {
        role: "assistant",
        content: ResponsesContent::Text(content),
    });
    let calls = calls.iter().map(|call| ResponsesItem::Call {
        r#type: "function_call",
        call_id: call.id.as_str(),
        name: names.wire_name(call.tool.as_str()),
        arguments: transcript::object(&call.input).to_string(),
    });
    let sealed = sealed.map_or(&[][..], |sealed| &sealed.items);
    for (place, item) in text.into_iter().chain(calls).enumerate() {
        let leads_here = |sealed: &&Value| {
            sealed.get("place").and_then(Value::as_u64) == u64::try_from(place).ok()
        };
        let thinking = sealed.iter().filter(leads_here).filter_map(|sealed| sealed.get("item"));
        items.extend(thinking.map(ResponsesItem::Sealed));
        items.push(item);
    }
}

fn content_of<'a>(content: &'a str, images: &'a [Image]) -> ResponsesContent<'a> {
    if images.is_empty() {
        return ResponsesContent::Text(content);
    }
    let text = (!content.is_empty()).then_some(ResponsesPart::InputText { text: content });
    let images = images.iter().map(|image| ResponsesPart::InputImage {
        image_url: format!("data:{};base64,{}", image.media_type, image.data),
    });
    ResponsesContent::Parts(text.into_iter().chain(images).collect())
}
