//! A piece of an answer as servers of Chat Completions write it.
//!
//! Everything may be missing or null: no two servers send the same fields.
//!
//! Must never: refuse a piece because of a field that is not used.

use agentry_protocol::message::Usage;
use serde::Deserialize;
use serde_json::Value;

/// One event of the stream.
#[derive(Deserialize)]
pub(super) struct ChatCompletionChunk {
    pub(super) choices: Option<Vec<ChunkChoice>>,
    usage: Option<ChunkUsage>,
    /// The usage, as Groq sends it.
    x_groq: Option<GroqUsage>,
    error: Option<Value>,
    /// The type, by which vLLM marks an error.
    object: Option<String>,
    message: Option<Value>,
    code: Option<Value>,
}

impl ChatCompletionChunk {
    /// Returns the error, if the event is one.
    pub(super) fn error(&self) -> Option<Value> {
        match (&self.error, self.object.as_deref()) {
            (Some(error), _) => Some(error.clone()),
            (None, Some("error")) => {
                Some(serde_json::json!({ "message": self.message, "code": self.code }))
            }
            (None, _) => None,
        }
    }

    /// Returns the usage so far.
    pub(super) fn usage(&self) -> Option<&ChunkUsage> {
        self.usage.as_ref().or_else(|| self.x_groq.as_ref().and_then(|groq| groq.usage.as_ref()))
    }
}

#[derive(Deserialize)]
struct GroqUsage {
    usage: Option<ChunkUsage>,
}

/// One of the requested answers.
#[derive(Deserialize)]
pub(super) struct ChunkChoice {
    index: Option<i64>,
    pub(super) delta: Option<ChoiceDelta>,
    /// The complete message of a server that does not stream.
    pub(super) message: Option<ChoiceDelta>,
    pub(super) finish_reason: Option<String>,
    /// The usage, as Moonshot sends it.
    pub(super) usage: Option<ChunkUsage>,
}

impl ChunkChoice {
    /// True for the first answer, which is the one that is used.
    pub(super) fn is_first(&self) -> bool {
        self.index.unwrap_or(0) == 0
    }
}

/// The new part of an answer.
#[derive(Deserialize)]
pub(super) struct ChoiceDelta {
    pub(super) content: Option<DeltaContent>,
    pub(super) reasoning_content: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) reasoning_details: Option<Vec<Value>>,
    pub(super) refusal: Option<String>,
    pub(super) tool_calls: Option<Vec<CallPiece>>,
    pub(super) function_call: Option<FunctionPiece>,
}

/// Text, or the list that Mistral sends.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum DeltaContent {
    Text(String),
    Parts(Vec<DeltaPart>),
}

/// A part of Mistral's list.
#[derive(Deserialize)]
pub(super) struct DeltaPart {
    pub(super) text: Option<String>,
    thinking: Option<Value>,
}

impl DeltaPart {
    /// Returns the thinking in the part.
    pub(super) fn thought(&self) -> String {
        match &self.thinking {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                parts.iter().filter_map(|part| part.get("text")?.as_str()).collect()
            }
            Some(_) | None => String::new(),
        }
    }
}

/// A piece of a call.
#[derive(Deserialize)]
pub(super) struct CallPiece {
    pub(super) index: Option<i64>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionPiece>,
    /// The content that Gemini wants back with the call.
    pub(super) extra_content: Option<Value>,
}

/// The name of the tool, and a piece of the arguments.
#[derive(Deserialize)]
pub(super) struct FunctionPiece {
    pub(super) name: Option<String>,
    pub(super) arguments: Option<ArgumentsDelta>,
}

/// A piece of the text of the arguments, or all of them.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ArgumentsDelta {
    Text(String),
    Whole(Value),
}

/// The token usage.
#[derive(Deserialize)]
pub(super) struct ChunkUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<TokenDetails>,
    /// The number of cached tokens, as DeepSeek sends it.
    prompt_cache_hit_tokens: Option<u64>,
    /// The number of cached tokens, as Moonshot sends it.
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct TokenDetails {
    cached_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
}

impl ChunkUsage {
    /// Converts it to our own form.
    pub(super) fn counted(&self) -> Usage {
        let details = self.prompt_tokens_details.as_ref();
        Usage {
            input_tokens: self.prompt_tokens.unwrap_or(0),
            output_tokens: self.completion_tokens.unwrap_or(0),
            cached_tokens: details
                .and_then(|details| details.cached_tokens)
                .or(self.prompt_cache_hit_tokens)
                .or(self.cached_tokens)
                .unwrap_or(0),
            cache_write_tokens: details.and_then(|details| details.cache_write_tokens).unwrap_or(0),
            estimated: false,
        }
    }
}
