//! Writes a request to Gemini.
//!
//! The transcript comes last, so that each request begins with the bytes of the one before.
//!
//! Must never: put anything that changes from step to step before the transcript.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;

use agentry_protocol::message::{Image, SealedContent};
use agentry_protocol::schema::ModelSchema;
use agentry_protocol::tool_call::ToolSpec;
use serde::Serialize;
use serde_json::Value;

use super::{bare, sealer};
use crate::codec::CodecInput;
use crate::transcript::{self, ToolNameMap, TranscriptMessage};

/// The documented signature for a call that another model made.
const NOT_SIGNED: &str = "skip_thought_signature_validator";
/// The text before a transcript that begins with the model's message; Gemini requires a user's.
const BEFORE: &str = "(The talk goes on.)";

/// Returns the path of the request.
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

/// Writes the request as JSON.
pub(super) fn body(asked: CodecInput<'_>) -> Vec<u8> {
    let request = asked.request;
    let names = ToolNameMap::of(&request.tools);
    let system = (!request.system.is_empty()).then(|| SystemInstruction {
        parts: [GeminiPart { text: Some(&request.system), ..GeminiPart::default() }],
    });
    let tools = (!request.tools.is_empty()).then(|| {
        [GeminiTools {
            function_declarations: request
                .tools
                .iter()
                .map(|spec| declared(spec, &names))
                .collect(),
        }]
    });
    let config = GenerationConfig {
        max_output_tokens: request.max_tokens,
        temperature: request.temperature,
        thinking_config: thinks(asked.model).then_some(ThinkingConfig { include_thoughts: true }),
    };
    let body = GeminiRequest {
        system_instruction: system,
        tools,
        generation_config: (!config.is_empty()).then_some(config),
        contents: contents(asked, &names),
    };
    serde_json::to_vec(&body).expect("a request holds only what JSON can write")
}

/// Returns the version in the name of a model, in tenths: 25 for `gemini-2.5-pro`.
fn version(model: &str) -> u32 {
    let Some(rest) = bare(model).strip_prefix("gemini-") else { return 0 };
    let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let (whole, tenths) = number.split_once('.').unwrap_or((&number, "0"));
    let digits = |text: &str| text.parse::<u32>().unwrap_or(0);
    digits(whole).saturating_mul(10).saturating_add(digits(tenths).min(9))
}

/// True if the model shows its thoughts on request; the others refuse the request.
fn thinks(model: &str) -> bool {
    let other = ["lite", "image", "tts", "audio", "live", "embedding"];
    version(model) >= 25 && !other.iter().any(|word| model.contains(word))
}

/// True if the model refuses a call of its own without its signature.
fn wants_signatures(model: &str) -> bool {
    version(model) >= 30
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiRequest<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<SystemInstruction<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[GeminiTools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<GenerationConfig>,
    contents: Vec<GeminiContent<'a>>,
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: [GeminiPart<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiTools<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: String,
    description: &'a str,
    parameters_json_schema: ModelSchema<'a>,
}

fn declared<'a>(spec: &'a ToolSpec, names: &ToolNameMap) -> FunctionDeclaration<'a> {
    FunctionDeclaration {
        name: names.wire_name(spec.name.as_str()),
        description: &spec.description,
        parameters_json_schema: spec.model_schema(),
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

impl GenerationConfig {
    fn is_empty(&self) -> bool {
        self.max_output_tokens.is_none()
            && self.temperature.is_none()
            && self.thinking_config.is_none()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    include_thoughts: bool,
}

#[derive(Serialize)]
struct GeminiContent<'a> {
    role: &'static str,
    parts: Vec<GeminiPart<'a>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiPart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<InlineImage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineImage<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: String,
    args: Cow<'a, Value>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: String,
    response: FunctionResult<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum FunctionResult<'a> {
    Result(&'a str),
    Error(&'a str),
}

fn contents<'a>(asked: CodecInput<'a>, names: &ToolNameMap) -> Vec<GeminiContent<'a>> {
    let sealer = sealer(asked.model);
    let mut contents = Vec::with_capacity(asked.request.messages.len());
    // Gemini's own ids of the calls whose outcomes come next.
    let mut ids = VecDeque::new();
    let talk = transcript::transcript(&asked.request.messages);
    if !matches!(talk.first(), Some(TranscriptMessage::User { .. })) {
        add(&mut contents, "user", GeminiPart { text: Some(BEFORE), ..GeminiPart::default() });
    }
    for said in talk {
        match said {
            TranscriptMessage::User { content, images } => add_user(&mut contents, content, images),
            TranscriptMessage::Assistant { content, thinking: _, calls, sealed } => {
                let sealed = PartSignatures(sealed.filter(|sealed| sealed.by == sealer));
                let first = usize::from(!content.is_empty());
                if !content.is_empty() {
                    let thought_signature = sealed.get(0, "thoughtSignature");
                    let part = GeminiPart {
                        text: Some(content),
                        thought_signature,
                        ..GeminiPart::default()
                    };
                    add(&mut contents, "model", part);
                }
                for (at, call) in calls.iter().enumerate() {
                    let id = sealed.get(first + at, "id");
                    let name = names.wire_name(call.tool.as_str());
                    let args = transcript::object(&call.input);
                    let unsigned = at == 0 && wants_signatures(asked.model);
                    let signature = sealed.get(first + at, "thoughtSignature");
                    let part = GeminiPart {
                        function_call: Some(FunctionCall { id, name, args }),
                        thought_signature: signature.or(unsigned.then_some(NOT_SIGNED)),
                        ..GeminiPart::default()
                    };
                    add(&mut contents, "model", part);
                    ids.push_back(id);
                }
            }
            TranscriptMessage::Outcome { call, content, ok } => {
                let id = ids.pop_front().flatten();
                let name = names.wire_name(call.tool.as_str());
                let response = if ok {
                    FunctionResult::Result(content)
                } else {
                    FunctionResult::Error(content)
                };
                let outcome = FunctionResponse { id, name, response };
                let part = GeminiPart { function_response: Some(outcome), ..GeminiPart::default() };
                add(&mut contents, "user", part);
            }
        }
    }
    contents
}

/// The sealed values for the parts of an answer: its text, if any, and then its calls.
struct PartSignatures<'a>(Option<&'a SealedContent>);

impl<'a> PartSignatures<'a> {
    fn get(&self, part: usize, key: &str) -> Option<&'a str> {
        let items = self.0.map_or(&[][..], |sealed| &sealed.items);
        let part = u64::try_from(part).ok();
        let item = items.iter().find(|item| item.get("part").and_then(Value::as_u64) == part)?;
        item.get(key)?.as_str()
    }
}

fn add_user<'a>(contents: &mut Vec<GeminiContent<'a>>, content: &'a str, images: &'a [Image]) {
    if !content.is_empty() {
        add(contents, "user", GeminiPart { text: Some(content), ..GeminiPart::default() });
    }
    for image in images {
        let picture = InlineImage { mime_type: &image.media_type, data: &image.data };
        add(contents, "user", GeminiPart { inline_data: Some(picture), ..GeminiPart::default() });
    }
}

/// Adds a part to the last content, or begins a new one. Outcomes have a content of their own: it
/// must have as many of them as there were calls.
fn add<'a>(contents: &mut Vec<GeminiContent<'a>>, role: &'static str, part: GeminiPart<'a>) {
    let is_outcome = |part: &GeminiPart<'_>| part.function_response.is_some();
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
        Some(_) | None => contents.push(GeminiContent { role, parts: vec![part] }),
    }
}
