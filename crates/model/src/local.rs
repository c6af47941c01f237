//! Models that run in this process, from weights on this machine.
//!
//! A model is opened when it is first asked: most of what the program does never needs the weights.
//!
//! Must never: fetch weights, or take a model that is not here for one that is.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentry_local::{Ask, Choice, Engine, Finish, GgufEmbedder, LocalError, Piece, Settings};
use agentry_protocol::message::{FailureKind, Message, ModelFailure, ModelRequest, RawToolCall};
use agentry_protocol::tool::ToolName;
use agentry_protocol::tool_call::ToolCall;
use serde_json::Value;

use crate::weights::{Kind, Store};
use crate::{Answer, Delta, Model, NoModel, Question};

/// How the file of a converted embedder is named, beside what it was made from.
const CONVERTED: &str = "model.gguf";
/// What is said after an answer that went round in circles.
const REPEATED: &str = "\n\n[It said the same again and again, and was stopped.]";

/// The models of this machine.
#[derive(Clone, Debug)]
pub struct Locals {
    store: Store,
    settings: Settings,
}

impl Locals {
    /// Those whose weights are here.
    pub fn new(store: Store) -> Self {
        Self { store, settings: Settings::default() }
    }

    /// The model of this name, or of a GGUF file.
    pub(crate) fn open(&self, name: &str) -> Result<Arc<dyn Model>, NoModel> {
        let file = self.file(name)?;
        Ok(Arc::new(Local { file, settings: self.settings, engine: Mutex::default() }))
    }

    fn file(&self, name: &str) -> Result<PathBuf, NoModel> {
        if name.ends_with(".gguf") && name.contains('/') {
            return Ok(PathBuf::from(name));
        }
        self.store.find(name).ok_or_else(|| NoModel::NotInstalled { name: name.to_owned() })
    }

    /// What turns texts into vectors; its weights are converted once, beside what was pulled.
    pub fn embedder(&self) -> Result<GgufEmbedder, NoModel> {
        let name = "all-minilm-l6-v2";
        let missing = || NoModel::NotInstalled { name: name.to_owned() };
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

struct Local {
    file: PathBuf,
    settings: Settings,
    engine: Mutex<Option<Engine>>,
}

impl Local {
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

impl Local {
    fn is_talk(&self, question: &Question<'_>) -> Result<bool, ModelFailure> {
        let go_on = || (question.wait)(Duration::ZERO);
        let talk = self.engine().and_then(|engine| engine.is_talk(question.request, &go_on));
        talk.map_err(|error| failure(&error))
    }
}

impl Model for Local {
    fn ask(&self, question: &Question<'_>) -> Result<Answer, ModelFailure> {
        if has_pictures(question.request) {
            let message = "the local model takes no pictures; name another model";
            return Err(ModelFailure::new(FailureKind::InvalidRequest, message));
        }
        let answer = |choice, request: &ModelRequest, session: &str| {
            let engine = self.engine()?;
            engine.answer(&Ask {
                request,
                session,
                hear: &|piece| (question.hear)(delta(piece)),
                go_on: &|| (question.wait)(Duration::ZERO),
                choice,
                seed: question.number,
            })
        };
        let ask = |choice| answer(choice, question.request, question.session);
        let mut said = match self.is_talk(question)? {
            // Without the tools before its eyes it answers far better; what it knows of this is kept apart.
            true => {
                let bare = ModelRequest { tools: Arc::from([]), ..question.request.clone() };
                answer(Choice::Either, &bare, &format!("{}\0talk", question.session))
            }
            false => ask(Choice::Either),
        }
        .map_err(|error| failure(&error))?;
        if said.calls.is_empty() && describes_a_call(&said.text, question.request) {
            // It wants to call and does not write it as a call: it is asked to.
            (question.hear)(Delta::Restart);
            let before = said.usage;
            said = ask(Choice::Call).map_err(|error| failure(&error))?;
            said.usage = said.usage.plus(before);
        }
        if said.calls.iter().any(|call| was_made(call, question.request)) {
            // It has the outcome of this very call; it is asked to say what it makes of it.
            (question.hear)(Delta::Restart);
            let before = said.usage;
            said = ask(Choice::Answer).map_err(|error| failure(&error))?;
            said.usage = said.usage.plus(before);
        }
        let mut text = said.text;
        match said.finish {
            Finish::Interrupted => {
                let message = "nobody wants the answer any more";
                return Err(ModelFailure::new(FailureKind::Interrupted, message));
            }
            Finish::Repetition => text.push_str(REPEATED),
            Finish::Done | Finish::Length => {}
        }
        Ok(Answer {
            text,
            thinking: said.thinking,
            calls: said.calls,
            usage: Some(said.usage),
            ..Answer::default()
        })
    }
}

/// Whether an answer holds, in a code fence or alone, what would be a call of a tool that is offered.
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

/// Whether a call is the one that was made last in this turn, just so, and worked.
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

fn delta(piece: Piece) -> Delta {
    match piece {
        Piece::Text(text) => Delta::Text(text),
        Piece::Thinking(text) => Delta::Thinking(text),
        Piece::CallName { index, name } => Delta::Call { index, name, piece: String::new() },
        Piece::CallArguments { index, json } => {
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
