//! Writes a request to Gemini.
//!
//! The talk comes last, so that each request begins with the bytes of the one before.
//!
//! Must never: put anything that changes from step to step before the talk.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;

use agentry_protocol::message::{Image, SealedContent};
use agentry_protocol::schema::ModelSchema;
use agentry_protocol::tool_call::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use super::{bare, sealer};
use crate::talk::{self, Names, Said};
use crate::wire::Asked;

/// The signature of a call that another model made: the documentation gives this one for it.
const NOT_SIGNED: &str = "skip_thought_signature_validator";
/// What a talk begins with when its first words are the model's; Gemini wants a user there.
const BEFORE: &str = "(The talk goes on.)";

/// Where the request goes.
pub(super) fn path(model: &str) -> String {
    let mut path = "/v1beta/models/".to_owned();
    for byte in bare(model).bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            path.push(char::from(byte));
        } else {
            write!(path, "%{byte:02X}").expect("a string takes all text");
        }
    }
    path + ":streamGenerateContent?alt=sse"
}

/// The request, as JSON.
pub(super) fn body(asked: Asked<'_>) -> Vec<u8> {
    let request = asked.request;
    let names = Names::of(&request.tools);
    let system = (!request.system.is_empty())
        .then(|| System { parts: [Part { text: Some(&request.system), ..Part::default() }] });
    let tools = (!request.tools.is_empty()).then(|| {
        [Tools {
            function_declarations: request
                .tools
                .iter()
                .map(|spec| declared(spec, &names))
                .collect(),
        }]
    });
    let config = Config {
        max_output_tokens: request.max_tokens,
        temperature: request.temperature,
        thinking_config: thinks(asked.model).then_some(Thinking { include_thoughts: true }),
    };
    let body = Body {
        system_instruction: system,
        tools,
        generation_config: (!config.is_empty()).then_some(config),
        contents: contents(asked, &names),
    };
    serde_json::to_vec(&body).expect("a request holds only what JSON can write")
}

/// The version in the name of a model, in tenths: 25 for `gemini-2.5-pro`.
fn version(model: &str) -> u32 {
    let Some(rest) = bare(model).strip_prefix("gemini-") else { return 0 };
    let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let (whole, tenths) = number.split_once('.').unwrap_or((&number, "0"));
    let digits = |text: &str| text.parse::<u32>().unwrap_or(0);
    digits(whole).saturating_mul(10).saturating_add(digits(tenths).min(9))
}

/// Whether the model shows its thoughts when asked; the others refuse to be asked.
fn thinks(model: &str) -> bool {
    let other = ["lite", "image", "tts", "audio", "live", "embedding"];
    version(model) >= 25 && !other.iter().any(|word| model.contains(word))
}

/// Whether the model refuses a call of its own that it has not signed.
fn wants_signatures(model: &str) -> bool {
    version(model) >= 30
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<System<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<Config>,
    contents: Vec<Content<'a>>,
}

#[derive(Serialize)]
struct System<'a> {
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declared<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declared<'a> {
    name: String,
    description: &'a str,
    parameters_json_schema: ModelSchema<'a>,
}

fn declared<'a>(spec: &'a ToolSpec, names: &Names) -> Declared<'a> {
    Declared {
        name: names.written(spec.name.as_str()),
        description: &spec.description,
        parameters_json_schema: spec.model_schema(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Thinking>,
}

impl Config {
    fn is_empty(&self) -> bool {
        self.max_output_tokens.is_none()
            && self.temperature.is_none()
            && self.thinking_config.is_none()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thinking {
    include_thoughts: bool,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<Picture<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<Called<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<Outcome<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Picture<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct Called<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: String,
    args: Cow<'a, Value>,
}

#[derive(Serialize)]
struct Outcome<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: String,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Response<'a> {
    Result(&'a str),
    Error(&'a str),
}

fn contents<'a>(asked: Asked<'a>, names: &Names) -> Vec<Content<'a>> {
    let sealer = sealer(asked.model);
    let mut contents = Vec::with_capacity(asked.request.messages.len());
    // How Gemini itself calls the calls whose outcomes come next.
    let mut ids = VecDeque::new();
    let talk = talk::said(&asked.request.messages);
    if !matches!(talk.first(), Some(Said::User { .. })) {
        add(&mut contents, "user", Part { text: Some(BEFORE), ..Part::default() });
    }
    for said in talk {
        match said {
            Said::User { content, images } => add_user(&mut contents, content, images),
            Said::Assistant { content, thinking: _, calls, sealed } => {
                let sealed = Seals(sealed.filter(|sealed| sealed.by == sealer));
                let first = usize::from(!content.is_empty());
                if !content.is_empty() {
                    let thought_signature = sealed.get(0, "thoughtSignature");
                    let part = Part { text: Some(content), thought_signature, ..Part::default() };
                    add(&mut contents, "model", part);
                }
                for (at, call) in calls.iter().enumerate() {
                    let id = sealed.get(first + at, "id");
                    let name = names.written(call.tool.as_str());
                    let args = talk::object(&call.input);
                    let unsigned = at == 0 && wants_signatures(asked.model);
                    let signature = sealed.get(first + at, "thoughtSignature");
                    let part = Part {
                        function_call: Some(Called { id, name, args }),
                        thought_signature: signature.or(unsigned.then_some(NOT_SIGNED)),
                        ..Part::default()
                    };
                    add(&mut contents, "model", part);
                    ids.push_back(id);
                }
            }
            Said::Outcome { call, content, ok } => {
                let id = ids.pop_front().flatten();
                let name = names.written(call.tool.as_str());
                let response =
                    if ok { Response::Result(content) } else { Response::Error(content) };
                let outcome = Outcome { id, name, response };
                let part = Part { function_response: Some(outcome), ..Part::default() };
                add(&mut contents, "user", part);
            }
        }
    }
    contents
}

/// What Gemini wants back with the parts of an answer: its words, if any, and then its calls.
struct Seals<'a>(Option<&'a SealedContent>);

impl<'a> Seals<'a> {
    fn get(&self, part: usize, key: &str) -> Option<&'a str> {
        let items = self.0.map_or(&[][..], |sealed| &sealed.items);
        let part = u64::try_from(part).ok();
        let item = items.iter().find(|item| item.get("part").and_then(Value::as_u64) == part)?;
        item.get(key)?.as_str()
    }
}

fn add_user<'a>(contents: &mut Vec<Content<'a>>, content: &'a str, images: &'a [Image]) {
    if !content.is_empty() {
        add(contents, "user", Part { text: Some(content), ..Part::default() });
    }
    for image in images {
        let picture = Picture { mime_type: &image.media_type, data: &image.data };
        add(contents, "user", Part { inline_data: Some(picture), ..Part::default() });
    }
}

/// Adds a part to the last content, or begins a new one. Outcomes stand alone: there must be as many of them
/// as there were calls.
fn add<'a>(contents: &mut Vec<Content<'a>>, role: &'static str, part: Part<'a>) {
    let is_outcome = |part: &Part<'_>| part.function_response.is_some();
    match contents.last_mut() {
        Some(last)
            if last.role == role
                && last
                    .parts
                    .last()
                    .is_none_or(|before| is_outcome(before) == is_outcome(&part)) =>
        {
            last.parts.push(part);
        }
        Some(_) | None => contents.push(Content { role, parts: vec![part] }),
    }
}
