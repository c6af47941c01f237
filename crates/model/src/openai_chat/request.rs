//! Writes a request of Chat Completions.
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

use super::{Dialect, sealer};
use crate::talk::{self, Names, Said};
use crate::wire::Asked;

/// The request, as JSON.
pub(super) fn body(dialect: Dialect, asked: Asked<'_>) -> Vec<u8> {
    let request = asked.request;
    let names = Names::of(&request.tools);
    let (old, new, key) = match dialect {
        Dialect::Openai => (None, request.max_tokens, Some(asked.session)),
        Dialect::Compatible => (request.max_tokens, None, None),
    };
    let body = Body {
        model: asked.model,
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_tokens: old,
        max_completion_tokens: new,
        temperature: request.temperature,
        prompt_cache_key: key,
        tools: request.tools.iter().map(|spec| tool(spec, &names)).collect(),
        messages: entries(dialect, asked, &names),
    };
    serde_json::to_vec(&body).expect("a request holds only what JSON can write")
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    messages: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: String,
    description: &'a str,
    parameters: ModelSchema<'a>,
}

fn tool<'a>(spec: &'a ToolSpec, names: &Names) -> Tool<'a> {
    Tool {
        r#type: "function",
        function: Function {
            name: names.written(spec.name.as_str()),
            description: &spec.description,
            parameters: spec.model_schema(),
        },
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Entry<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_details: Option<&'a Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: String,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: Url },
}

#[derive(Serialize)]
struct Url {
    url: String,
}

#[derive(Serialize)]
struct Call<'a> {
    id: String,
    r#type: &'static str,
    function: Asking,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct Asking {
    name: String,
    arguments: String,
}

fn entries<'a>(dialect: Dialect, asked: Asked<'a>, names: &Names) -> Vec<Entry<'a>> {
    let request = asked.request;
    let sealer = sealer(asked.model);
    let mut entries = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        entries.push(Entry::System { content: &request.system });
    }
    let talk = talk::said(&request.messages);
    let mut outcomes = 0;
    let mut rest = talk.as_slice();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match *first {
            Said::User { content, images } => {
                // Some templates take no two messages of one role in a row.
                let mut users = vec![(content, images)];
                while let [Said::User { content, images }, after @ ..] = rest {
                    users.push((*content, *images));
                    rest = after;
                }
                entries.push(Entry::User { content: content_of(&users) });
            }
            Said::Assistant { content, thinking, calls, sealed } => {
                let sealed = sealed.filter(|sealed| sealed.by == sealer);
                let said = Answered { content, thinking, sealed, calls };
                entries.push(answer(dialect, said, outcomes, names));
            }
            Said::Outcome { call: _, content, ok } => {
                entries.push(Entry::Tool {
                    tool_call_id: id(outcomes),
                    content: talk::marked(content, ok),
                });
                outcomes += 1;
            }
        }
    }
    entries
}

struct Answered<'a> {
    content: &'a str,
    thinking: &'a str,
    sealed: Option<&'a SealedContent>,
    calls: &'a [ToolCall],
}

fn answer<'a>(dialect: Dialect, said: Answered<'a>, first: usize, names: &Names) -> Entry<'a> {
    let items = || said.sealed.into_iter().flat_map(|sealed| &sealed.items);
    let empty = match dialect {
        Dialect::Openai => None,
        // A template may print what is null.
        Dialect::Compatible => Some(""),
    };
    let calls = said.calls.iter().enumerate().map(|(at, call)| Call {
        id: id(first + at),
        r#type: "function",
        function: Asking {
            name: names.written(call.tool.as_str()),
            arguments: talk::object(&call.input).to_string(),
        },
        extra_content: items()
            .find(|item| item.get("call").and_then(Value::as_u64) == u64::try_from(at).ok())
            .and_then(|item| item.get("extra_content")),
    });
    // DeepSeek and Kimi want it back beside calls, and may refuse it elsewhere.
    let wants_thinking = !said.calls.is_empty()
        && items().any(|item| item.get("wants").is_some_and(|wants| wants == "reasoning_content"));
    Entry::Assistant {
        content: if said.content.is_empty() { empty } else { Some(said.content) },
        reasoning_content: wants_thinking.then_some(said.thinking),
        reasoning_details: items().find_map(|item| item.get("reasoning_details")),
        tool_calls: calls.collect(),
    }
}

/// The nth call of the talk. Mistral takes ids of nine letters and digits only.
fn id(number: usize) -> String {
    format!("c{number:08}")
}

fn content_of<'a>(users: &[(&'a str, &'a [Image])]) -> Content<'a> {
    match users {
        [(content, [])] => Content::Text(Cow::Borrowed(content)),
        _ if users.iter().all(|(_, images)| images.is_empty()) => {
            let texts: Vec<&str> = users.iter().map(|(content, _)| *content).collect();
            Content::Text(Cow::Owned(texts.join("\n\n")))
        }
        _ => Content::Parts(
            users.iter().flat_map(|(content, images)| parts(content, images)).collect(),
        ),
    }
}

fn parts<'a>(content: &'a str, images: &'a [Image]) -> impl Iterator<Item = Part<'a>> {
    let text = (!content.is_empty()).then_some(Part::Text { text: content });
    text.into_iter().chain(images.iter().map(|image| Part::ImageUrl {
        image_url: Url { url: format!("data:{};base64,{}", image.media_type, image.data) },
    }))
}
