//! The thread that owns a model: it loads the file and answers one request after another.
//!
//! Must never: outlive the engine that started it, or share the model.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use agentry_protocol::message::{Message, ModelRequest, RawToolCall, Usage};
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::model::{LlamaChatMessage, LlamaModel};

use crate::backend::{backend, capture_log, load_weights};
use crate::context::{EngineContext, context_full_error};
use crate::dialect::function_gemma::FunctionGemma;
use crate::dialect::hermes::Hermes;
use crate::dialect::llama::Llama;
use crate::dialect::plain::plain;
use crate::dialect::separators::TurnSeparators;
use crate::dialect::{self, Dialect, Segment};
use crate::error::LocalError;
use crate::generate::{AnswerGenerator, GenerationListener, GeneratorOutput};
use crate::gguf::header::Header;
use crate::grammar::Grammars;
use crate::hardware;
use crate::kv_cache::{ModelToken, message_key};
use crate::limits::{ANSWER_TOKENS_MAX, ANSWER_TOKENS_MIN, BATCH_TOKENS_MAX, SESSIONS_MAX};
use crate::model_summary::{DialectName, EngineSettings, ModelSummary};
use crate::request::{Generation, GenerationDelta, ToolChoice};
use crate::sampler::TokenSampler;
use crate::tokenizer::Tokenizer;

/// One request, as it is sent to the thread.
pub(crate) struct EngineJob {
    pub(crate) request: ModelRequest,
    pub(crate) session: String,
    pub(crate) choice: ToolChoice,
    pub(crate) seed: u64,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) heard: SyncSender<EngineMessage>,
}

/// A message from the thread to the caller.
pub(crate) enum EngineMessage {
    Piece(GenerationDelta),
    /// A token or a batch is about to be evaluated.
    Step,
    Done(Box<Result<Generation, LocalError>>),
}

/// Loads the file, sends its summary, and answers until the last sender is dropped.
pub(crate) fn run(
    file: &Path,
    settings: &EngineSettings,
    opened: &SyncSender<Result<ModelSummary, LocalError>>,
    jobs: &Receiver<EngineJob>,
) {
    let loaded = LoadedModel::open(file, settings);
    match loaded {
        Err(error) => {
            send_if_open(opened, Err(error));
        }
        Ok(loaded) => loaded.serve(opened, jobs),
    }
}

/// Sends a message. A caller that is gone has closed the channel, and needs no message.
fn send_if_open<T>(caller: &SyncSender<T>, message: T) {
    caller.send(message).ok();
}

struct LoadedModel {
    file: PathBuf,
    model: LlamaModel,
    header: Header,
    context: u32,
    threads: u32,
    sessions: u32,
}

impl LoadedModel {
    fn open(file: &Path, settings: &EngineSettings) -> Result<Self, LocalError> {
        hardware::check_processor()?;
        let header = Header::of(file)?;
        let context = hardware::fit_context(file, &header, settings, hardware::free_memory())?;
        let model = load_weights(file)?;
        Ok(Self {
            file: file.to_owned(),
            model,
            header,
            context,
            threads: hardware::threads(settings),
            sessions: settings.sessions.clamp(1, SESSIONS_MAX),
        })
    }

    fn serve(
        &self,
        opened: &SyncSender<Result<ModelSummary, LocalError>>,
        jobs: &Receiver<EngineJob>,
    ) {
        let vocabulary = Tokenizer::of(&self.model);
        let made = self.dialect(&vocabulary).and_then(|dialect| Ok((dialect, self.tape()?)));
        let (dialect, tape) = match made {
            Ok(made) => made,
            Err(error) => {
                send_if_open(opened, Err(error));
                return;
            }
        };
        if opened.send(Ok(self.card(dialect.name()))).is_err() {
            return;
        }
        let mut worker =
            EngineWorker { model: &self.model, vocabulary, dialect, tape, grammars: None };
        for job in jobs {
            let said = worker.answer(&job);
            send_if_open(&job.heard, EngineMessage::Done(Box::new(said)));
        }
    }

    fn tape(&self) -> Result<EngineContext<'_>, LocalError> {
        let threads = i32::try_from(self.threads).unwrap_or(1);
        let batch = u32::try_from(BATCH_TOKENS_MAX).unwrap_or(1);
        let parameters = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(self.context))
            .with_n_batch(batch)
            .with_n_ubatch(batch)
            .with_n_seq_max(self.sessions)
            .with_kv_unified(true)
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_no_perf(true);
        let backend = backend()?;
        let (context, log) = capture_log(|| self.model.new_context(backend, parameters));
        let context = context.map_err(|error| LocalError::NotLoaded {
            file: self.file.clone(),
            why: if log.is_empty() { error.to_string() } else { log },
        })?;
        Ok(EngineContext::new(context, self.context, self.sessions))
    }

    fn dialect(&self, vocabulary: &Tokenizer<'_>) -> Result<Box<dyn Dialect>, LocalError> {
        let template = self.header.text("tokenizer.chat_template");
        Ok(match dialect::detect_dialect(template) {
            DialectName::Hermes => Box::new(Hermes::chatml()),
            DialectName::Llama => Box::new(Llama),
            DialectName::FunctionGemma => {
                Box::new(FunctionGemma { escape_is_control: vocabulary.is_control("<escape>") })
            }
            DialectName::Plain => Box::new(plain(self.frame()?)),
        })
    }

    /// Returns the turn separators of the file's own template.
    fn frame(&self) -> Result<TurnSeparators, LocalError> {
        let unknown = || LocalError::WrongKind {
            file: self.file.clone(),
            why: "its chat template is missing or unknown; take an instruct model".into(),
        };
        let template = self.model.chat_template(None).map_err(|_| unknown())?;
        TurnSeparators::from_template(|talk, answer| {
            let talk = talk
                .iter()
                .map(|(role, said)| LlamaChatMessage::new((*role).into(), (*said).into()))
                .collect::<Result<Vec<_>, _>>()
                .ok()?;
            self.model.apply_chat_template(&template, &talk, answer).ok()
        })
        .ok_or_else(unknown)
    }

    fn card(&self, dialect: DialectName) -> ModelSummary {
        ModelSummary {
            architecture: self.header.text("general.architecture").to_owned(),
            name: self.header.text("general.name").to_owned(),
            parameters: self.model.n_params(),
            trained_context: self.model.n_ctx_train(),
            context: self.context,
            dialect,
            bytes: self.header.bytes,
            threads: self.threads,
        }
    }
}

/// The state of an opened model that answers.
struct EngineWorker<'m> {
    model: &'m LlamaModel,
    vocabulary: Tokenizer<'m>,
    dialect: Box<dyn Dialect>,
    tape: EngineContext<'m>,
    /// Created when the first tools are offered.
    grammars: Option<Grammars>,
}

impl EngineWorker<'_> {
    fn answer(&mut self, job: &EngineJob) -> Result<Generation, LocalError> {
        let calls = if job.request.tools.is_empty() {
            None
        } else {
            let grammars = match self.grammars.take() {
                Some(grammars) => grammars,
                None => Grammars::of(self.model)?,
            };
            let grammars = self.grammars.insert(grammars);
            Some(grammars.calls(&job.request.tools, &*self.dialect)?)
        };
        let offered = calls.as_ref().map_or(&[][..], |calls| &calls.toolset.offered);
        let segments = dialect::render(&*self.dialect, &job.request, offered);
        let slot = self.tape.claim(&job.session)?;
        let prompt = self.prompt(slot, &job.request, &segments);
        let window = self.tape.window();
        if prompt.len() + ANSWER_TOKENS_MIN > window {
            return Err(context_full_error(prompt.len() + ANSWER_TOKENS_MIN, window));
        }
        let reused = self.tape.set_prompt(&prompt)?;
        let asked = job.request.max_tokens.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
        let mut listener = EngineListener { job, stopped: false };
        let mut speaker = AnswerGenerator {
            tape: &mut self.tape,
            vocabulary: &self.vocabulary,
            dialect: &*self.dialect,
            calls: calls.as_deref(),
            dice: TokenSampler::new(job.request.temperature, job.seed),
            listener: &mut listener,
            most: asked.unwrap_or(ANSWER_TOKENS_MAX),
            has_outcome: matches!(
                job.request.messages.last().map(AsRef::as_ref),
                Some(Message::Tool { .. })
            ),
            barred: Vec::new(),
            spoken: GeneratorOutput::default(),
        };
        let finish = speaker.generate(job.choice);
        let spoken = speaker.spoken;
        let count = |tokens: usize| u64::try_from(tokens).unwrap_or(u64::MAX);
        let usage = Usage {
            input_tokens: count(prompt.len()),
            output_tokens: count(spoken.tokens.len()),
            cached_tokens: count(reused),
            estimated: false,
            cache_write_tokens: 0,
        };
        let place = message_key(job.request.messages.len(), &spoken.text, &spoken.calls);
        self.tape.sequences.get(slot).remember(place, spoken.tokens);
        Ok(Generation {
            text: spoken.text,
            thinking: spoken.thinking,
            calls: spoken.calls,
            usage,
            evaluated: self.tape.evaluated,
            reused: count(reused),
            call_probability: spoken.call_probability,
            finish: finish?,
        })
    }

    /// Returns the tokens of the conversation; messages of the model have the tokens that it wrote.
    fn prompt(
        &mut self,
        slot: usize,
        request: &ModelRequest,
        segments: &[Segment],
    ) -> Vec<ModelToken> {
        let mut tokens: Vec<ModelToken> = self.vocabulary.bos_token().into_iter().collect();
        for segment in segments {
            match segment {
                Segment::Parts(parts) => tokens.extend(self.vocabulary.tokens(parts)),
                Segment::Reply { message, parts } => {
                    let known = place(request, *message);
                    match self.tape.sequences.get(slot).recall(&known) {
                        Some(said) => tokens.extend_from_slice(said),
                        None => tokens.extend(self.vocabulary.tokens(parts)),
                    }
                }
            }
        }
        tokens
    }
}

/// Returns the key of a message that the model wrote.
fn place(request: &ModelRequest, message: usize) -> String {
    match &*request.messages[message] {
        Message::Assistant { content, calls, .. } => {
            let calls: Vec<RawToolCall> = calls
                .iter()
                .map(|call| RawToolCall {
                    name: call.tool.as_str().to_owned(),
                    input: call.input.clone(),
                })
                .collect();
            message_key(message, content, &calls)
        }
        Message::User { .. } | Message::Tool { .. } => String::new(),
    }
}

/// Forwards the pieces to the caller, and checks if the answer should go on.
struct EngineListener<'a> {
    job: &'a EngineJob,
    stopped: bool,
}

impl GenerationListener for EngineListener<'_> {
    fn hear(&mut self, piece: GenerationDelta) {
        self.stopped |= self.job.heard.send(EngineMessage::Piece(piece)).is_err();
    }

    fn go_on(&mut self) -> bool {
        self.stopped |= self.job.heard.send(EngineMessage::Step).is_err();
        !self.stopped && !self.job.stop.load(Ordering::Acquire)
    }
}
