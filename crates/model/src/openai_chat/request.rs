//! Writes a request of Chat Completions.
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

use super::{ChatDialect, sealer};
use crate::codec::CodecInput;
use crate::transcript::{self, ToolNameMap, TranscriptMessage};

/// Writes the request as JSON.
pub(super) fn body(dialect: ChatDialect, asked: CodecInput<'_>) -> Vec<u8> {
    let request = asked.request;
    let names = ToolNameMap::of(&request.tools);
    let (old, new, key) = match dialect {
        ChatDialect::Openai => (None, request.max_tokens, Some(asked.session)),
        ChatDialect::Compatible => (request.max_tokens, None, None),
    };
    let body = ChatCompletionRequest {
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
struct ChatCompletionRequest<'a> {
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
    tools: Vec<ChatCompletionTool<'a>>,
    messages: Vec<ChatCompletionMessage<'a>>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ChatCompletionTool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: String,
    description: &'a str,
    parameters: ModelSchema<'a>,
}

fn tool<'a>(spec: &'a ToolSpec, names: &ToolNameMap) -> ChatCompletionTool<'a> {
    ChatCompletionTool {
        r#type: "function",
        function: Function {
            name: names.wire_name(spec.name.as_str()),
            description: &spec.description,
            parameters: spec.model_schema(),
        },
    }
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum ChatCompletionMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: ChatCompletionContent<'a>,
    },
    Assistant {
        content: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_details: Option<&'a Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<ChatCompletionCall<'a>>,
    },
    Tool {
        tool_call_id: String,
        content: Cow<'a, str>,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum ChatCompletionContent<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ChatCompletionPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ChatCompletionPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct ChatCompletionCall<'a> {
    id: String,
    r#type: &'static str,
    function: FunctionInvocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct FunctionInvocation {
    name: String,
    arguments: String,
}

fn entries<'a>(
    dialect: ChatDialect,
    asked: CodecInput<'a>,
    names: &ToolNameMap,
) -> Vec<ChatCompletionMessage<'a>> {
    let request = asked.request;
    let sealer = sealer(asked.model);
    let mut entries = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        entries.push(ChatCompletionMessage::System { content: &request.system });
    }
    let talk = transcript::transcript(&request.messages);
    let mut outcomes = 0;
    let mut rest = talk.as_slice();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match *first {
            TranscriptMessage::User { content, images } => {
                // Some templates refuse two messages of one role in a row.
                let mut users = vec![(content, images)];
                while let [TranscriptMessage::User { content, images }, after @ ..] = rest {
                    users.push((*content, *images));
                    rest = after;
                }
                entries.push(ChatCompletionMessage::User { content: content_of(&users) });
            }
            TranscriptMessage::Assistant { content, thinking, calls, sealed } => {
                let sealed = sealed.filter(|sealed| sealed.by == sealer);
                let said = AssistantAnswer { content, thinking, sealed, calls };
                entries.push(answer(dialect, said, outcomes, names));
            }
            TranscriptMessage::Outcome { call: _, content, ok } => {
                entries.push(ChatCompletionMessage::Tool {
                    tool_call_id: id(outcomes),
                    content: transcript::outcome_text(content, ok),
                });
                outcomes += 1;
            }
        }
    }
    entries
}

struct AssistantAnswer<'a> {
    content: &'a str,
    thinking: &'a str,
    sealed: Option<&'a SealedContent>,
    calls: &'a [ToolCall],
}

fn answer<'a>(
    dialect: ChatDialect,
    said: AssistantAnswer<'a>,
    first: usize,
    names: &ToolNameMap,
) -> ChatCompletionMessage<'a> {
    let items = || said.sealed.into_iter().flat_map(|sealed| &sealed.items);
    let empty = match dialect {
        ChatDialect::Openai => None,
        // A template may print a null.
        ChatDialect::Compatible => Some(""),
    };
    let calls = said.calls.iter().enumerate().map(|(at, call)| ChatCompletionCall {
        id: id(first + at),
        r#type: "function",
        function: FunctionInvocation {
            name: names.wire_name(call.tool.as_str()),
            arguments: transcript::object(&call.input).to_string(),
        },
        extra_content: items()
            .find(|item| item.get("call").and_then(Value::as_u64) == u64::try_from(at).ok())
            .and_then(|item| item.get("extra_content")),
    });
    // DeepSeek and Kimi want it back beside calls, and may refuse it elsewhere.
    let wants_thinking = !said.calls.is_empty()
        && items().any(|item| item.get("wants").is_some_and(|wants| wants == "reasoning_content"));
    ChatCompletionMessage::Assistant {
        content: if said.content.is_empty() { empty } else { Some(said.content) },
        reasoning_content: wants_thinking.then_some(said.thinking),
        reasoning_details: items().find_map(|item| item.get("reasoning_details")),
        tool_calls: calls.collect(),
    }
}

/// Returns the id of the nth call. Mistral accepts only ids of nine letters and digits.
fn id(number: usize) -> String {
    format!("c{number:08}")
}

fn content_of<'a>(users: &[(&'a str, &'a [Image])]) -> ChatCompletionContent<'a> {
    match users {
        [(content, [])] => ChatCompletionContent::Text(Cow::Borrowed(content)),
        _ if users.iter().all(|(_, images)| images.is_empty()) => {
            let texts: Vec<&str> = users.iter().map(|(content, _)| *content).collect();
            ChatCompletionContent::Text(Cow::Owned(texts.join("\n\n")))
        }
        _ => ChatCompletionContent::Parts(
            users.iter().flat_map(|(content, images)| parts(content, images)).collect(),
        ),
    }
}

fn parts<'a>(
    content: &'a str,
    images: &'a [Image],
) -> impl Iterator<Item = ChatCompletionPart<'a>> {
    let text = (!content.is_empty()).then_some(ChatCompletionPart::Text { text: content });
    text.into_iter().chain(images.iter().map(|image| ChatCompletionPart::ImageUrl {
        image_url: ImageUrl { url: format!("data:{};base64,{}", image.media_type, image.data) },
    }))
}
