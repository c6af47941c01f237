//! Models that run in this process, from weights on this machine.
//!
//! A model is opened at its first query, since most commands never need the weights.
//!
//! Must never: fetch weights, or open another model than the named one.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentry_local::{
    Engine, EngineSettings, FinishReason, GenerationDelta, GenerationRequest, GgufEmbedder,
    LocalError, ToolChoice,
};
use agentry_protocol::message::{FailureKind, Message, ModelFailure, ModelRequest, RawToolCall};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::ToolCall;
use serde_json::Value;

use crate::weights::{Kind, WeightStore};
use crate::{Delta, Model, ModelAnswer, ModelOpenError, ModelQuery};

/// The file of a converted embedder, beside the files it was made from.
const CONVERTED: &str = "model.gguf";
/// The text after an answer that repeated itself and was stopped.
const REPEATED: &str = "\n\n[It said the same again and again, and was stopped.]";

/// The models of this machine, opened when needed.
#[derive(Clone, Debug)]
pub struct LocalModels {
    store: WeightStore,
    settings: EngineSettings,
}

impl LocalModels {
    /// Creates the set of models whose weights are in the store.
    pub fn new(store: WeightStore) -> Self {
        Self { store, settings: EngineSettings::default() }
    }

    /// Returns the model of this name, or of a GGUF file.
    pub(crate) fn open(&self, name: &str) -> Result<Arc<dyn Model>, ModelOpenError> {
        let file = self.file(name)?;
        Ok(Arc::new(LocalModel { file, settings: self.settings, engine: Mutex::default() }))
    }

    fn file(&self, name: &str) -> Result<PathBuf, ModelOpenError> {
        if name.ends_with(".gguf") && name.contains('/') {
            return Ok(PathBuf::from(name));
        }
        self.store.find(name).ok_or_else(|| ModelOpenError::NotInstalled { name: name.to_owned() })
    }

    /// Returns the embedder; its weights are converted once, beside the pulled files.
    pub fn embedder(&self) -> Result<GgufEmbedder, ModelOpenError> {
        let name = "all-minilm-l6-v2";
        let missing = || ModelOpenError::NotInstalled { name: name.to_owned() };
        let installed = self.store.installed_as(name).ok_or_else(missing)?;
        debug_assert_eq!(installed.kind, Kind::Embedder);
        let folder = self.store.dir().join(name);
        let converted = folder.join(CONVERTED);
        if !converted.exists() {
            agentry_local::gguf_of_bert(&folder, &converted)?;
        }
        Ok(GgufEmbedder::open(&converted, &self.settings)?)
    }
}

struct LocalModel {
    file: PathBuf,
    settings: EngineSettings,
    engine: Mutex<Option<Engine>>,
}

impl LocalModel {
    fn engine(&self) -> Result<Engine, LocalError> {
        let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = &*engine {
            return Ok(engine.clone());
        }
        let opened = Engine::open(&self.file, &self.settings)?;
        *engine = Some(opened.clone());
        Ok(opened)
    }
}

impl LocalModel {
    fn is_talk(&self, question: &ModelQuery<'_>) -> Result<bool, ModelFailure> {
        let go_on = || (question.wait)(Duration::ZERO);
        let talk = self.engine().and_then(|engine| engine.needs_no_tool(question.request, &go_on));
        talk.map_err(|error| failure(&error))
    }
}

impl Model for LocalModel {
    fn ask(&self, question: &ModelQuery<'_>) -> Result<ModelAnswer, ModelFailure> {
        if has_pictures(question.request) {
            let message = "the local model takes no pictures; name another model";
            return Err(ModelFailure::new(FailureKind::InvalidRequest, message));
        }
        let answer = |choice, request: &ModelRequest, session: &str| {
            let engine = self.engine()?;
            engine.answer(&GenerationRequest {
                request,
                session,
                hear: &|piece| (question.hear)(delta(piece)),
                go_on: &|| (question.wait)(Duration::ZERO),
                choice,
                seed: question.number,
            })
        };
        let ask = |choice| answer(choice, question.request, question.session);
        let said = if self.is_talk(question)? {
            // Without the tools in its prompt it answers far better; its cache is kept separately.
            let bare = ModelRequest { tools: Arc::from([]), ..question.request.clone() };
            answer(ToolChoice::Either, &bare, &format!("{}\0talk", question.session))
        } else {
            ask(ToolChoice::Either)
        };
        let mut said = said.map_err(|error| failure(&error))?;
        if said.calls.is_empty() && describes_a_call(&said.text, question.request) {
            // The model describes a call as text: it is queried again for a real call.
            (question.hear)(Delta::Restart);
            let before = said.usage;
            said = ask(ToolChoice::Call).map_err(|error| failure(&error))?;
            said.usage = said.usage.plus(before);
        }
        if said.calls.iter().any(|call| was_made(call, question.request)) {
            // The model has the outcome of this very call: it is queried again for an answer.
            (question.hear)(Delta::Restart);
            let before = said.usage;
            said = ask(ToolChoice::Answer).map_err(|error| failure(&error))?;
            said.usage = said.usage.plus(before);
        }
        let mut text = said.text;
        match said.finish {
            FinishReason::Interrupted => {
                let message = "nobody wants the answer any more";
                return Err(ModelFailure::new(FailureKind::Interrupted, message));
            }
            FinishReason::Repetition => text.push_str(REPEATED),
            FinishReason::Done | FinishReason::Length => {}
        }
        Ok(ModelAnswer {
            text,
            thinking: said.thinking,
            calls: said.calls,
            usage: Some(said.usage),
            ..ModelAnswer::default()
        })
    }
}

/// True if an answer holds, alone or in a code fence, the text of a call of an offered tool.
fn describes_a_call(text: &str, request: &ModelRequest) -> bool {
    let fenced = text.split("```").skip(1).step_by(2);
    let fenced = fenced.map(|block| block.trim_start_matches(|c: char| c.is_ascii_alphabetic()));
    fenced.chain([text]).any(|block| {
        let Ok(Value::Object(fields)) = serde_json::from_str(block.trim()) else { return false };
        let name = fields.get("name").and_then(Value::as_str);
        name.map(ToolName::canonical)
            .is_some_and(|name| request.tools.iter().any(|tool| tool.name == name))
    })
}

/// True if a call is equal to the last successful one of this turn.
fn was_made(call: &RawToolCall, request: &ModelRequest) -> bool {
    let mut made = Vec::new();
    for message in request.messages.iter().rev() {
        match &**message {
            Message::User { .. } => break,
            Message::Tool { call, ok: true, .. } => made.push(call),
            Message::Tool { ok: false, .. } => {}
            Message::Assistant { calls, .. } => {
                let same = |one: &ToolCall| {
                    one.tool == ToolName::canonical(&call.name) && one.input == call.input
                };
                return calls.iter().any(|one| made.contains(&&one.id) && same(one));
            }
        }
    }
    false
}

fn has_pictures(request: &ModelRequest) -> bool {
    request.messages.iter().any(|message| match &**message {
        Message::User { images, .. } => !images.is_empty(),
        Message::Assistant { .. } | Message::Tool { .. } => false,
    })
}

fn delta(piece: GenerationDelta) -> Delta {
    match piece {
        GenerationDelta::Text(text) => Delta::Text(text),
        GenerationDelta::Thinking(text) => Delta::Thinking(text),
        GenerationDelta::CallName { index, name } => {
            Delta::Call { index, name, piece: String::new() }
        }
        GenerationDelta::CallArguments { index, json } => {
            Delta::Call { index, name: String::new(), piece: json }
        }
    }
}

fn failure(error: &LocalError) -> ModelFailure {
    let kind = match error {
        LocalError::Missing(_) => FailureKind::UnknownModel,
        LocalError::ContextFull { .. } => FailureKind::ContextOverflow,
        LocalError::Schema { .. } | LocalError::NothingToCall => FailureKind::InvalidRequest,
        LocalError::InvalidCall { .. } => FailureKind::Malformed,
        LocalError::Unreadable { .. }
        | LocalError::NotGguf(_)
        | LocalError::CutShort { .. }
        | LocalError::TooLittleMemory { .. }
        | LocalError::OldProcessor(_)
        | LocalError::NotLoaded { .. }
        | LocalError::WrongKind { .. }
        | LocalError::Engine(_)
        | LocalError::NotConverted { .. } => FailureKind::Other,
    };
    ModelFailure::new(kind, error.to_string())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agentry_protocol::tool::{Risk, ToolCategory};
    use agentry_protocol::tool_call::{RepeatSafety, ToolSpec};

    use super::*;

    #[test]
    fn a_call_that_is_only_described_is_noticed() {
        let tool = ToolSpec {
            name: ToolName::canonical("bash"),
            description: String::new(),
            parameters: serde_json::json!({}),
            category: ToolCategory::Bash,
            risk: Risk::High,
            repeat: RepeatSafety::Uncertain,
        };
        let request = ModelRequest {
            model: "local/tiny".into(),
            temperature: None,
            max_tokens: None,
            system: Arc::from(""),
            tools: Arc::from([tool]),
            messages: Vec::new(),
        };
        let describes = |text: &str| describes_a_call(text, &request);
        assert!(describes("```json\n{\"name\": \"bash\", \"arguments\": {}}\n```"));
        assert!(describes("Do so:\n```\n{\"name\": \"bash\"}\n```\nand look."));
        assert!(describes(" {\"name\": \"bash\", \"arguments\": 1}"));
        assert!(!describes("```json\n{\"name\": \"Anna\"}\n```"));
        assert!(!describes("```python\nprint(1)\n```"));
        assert!(!describes("Use `bash`."));
    }
}
