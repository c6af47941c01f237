//! Embedders: they map texts to vectors, and texts of similar meaning to near vectors.
//!
//! Must never: return a vector whose length is not 1, or vectors in another order than the texts.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use llama_cpp_2::context::params::{LlamaContextParams, LlamaPoolingType};
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

use crate::backend::{backend, capture_log, load_weights};
use crate::error::LocalError;
use crate::gguf::header::Header;
use crate::hardware;
use crate::limits::{EMBED_TEXTS_MAX, EMBED_TOKENS_MAX};
use crate::model_summary::EngineSettings;

/// An embedder of texts.
pub trait Embedder: Send + Sync {
    /// Returns the number of dimensions of a vector.
    fn dimensions(&self) -> usize;

    /// Returns a vector of length 1 for each text, in order; texts over the token limit are cut.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LocalError>;
}

/// An embedder from a GGUF file.
pub struct GgufEmbedder {
    file: PathBuf,
    model: LlamaModel,
    dimensions: usize,
    threads: i32,
}

impl GgufEmbedder {
    /// Opens a file; of the settings, only `threads` is used.
    pub fn open(file: &Path, settings: &EngineSettings) -> Result<Self, LocalError> {
        hardware::check_processor()?;
        let header = Header::of(file)?;
        // Only networks of this family read a text as a whole.
        if !header.text("general.architecture").contains("bert") {
            return Err(LocalError::WrongKind {
                file: file.to_owned(),
                why: "it is not an embedder; take one of the BERT family".into(),
            });
        }
        let model = load_weights(file)?;
        let dimensions = usize::try_from(model.n_embd_out()).map_err(engine)?;
        let threads = i32::try_from(hardware::threads(settings)).unwrap_or(1);
        Ok(Self { file: file.to_owned(), model, dimensions, threads })
    }

    fn tokens(&self, text: &str) -> Vec<LlamaToken> {
        let mut tokens = self.model.vocab().tokenize(text.as_bytes(), true, false);
        if tokens.len() > EMBED_TOKENS_MAX
            && let Some(last) = tokens.last().copied()
        {
            tokens.truncate(EMBED_TOKENS_MAX - 1);
            tokens.push(last);
        }
        tokens
    }

    fn embed_some(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LocalError> {
        let tokens: Vec<_> = texts.iter().map(|text| self.tokens(text)).collect();
        let total: usize = tokens.iter().map(Vec::len).sum();
        // The engine requires equal space for each sequence.
        let room = total.max(1).next_multiple_of(EMBED_TEXTS_MAX);
        let size = u32::try_from(room).map_err(engine)?;
        let parameters = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(size))
            .with_n_batch(size)
            .with_n_ubatch(size)
            .with_n_seq_max(u32::try_from(EMBED_TEXTS_MAX).map_err(engine)?)
            .with_kv_unified(true)
            .with_n_threads(self.threads)
            .with_n_threads_batch(self.threads)
            .with_embeddings(true)
            .with_pooling_type(LlamaPoolingType::Mean);
        let (context, log) =
            capture_log(|| self.model.new_context(backend()?, parameters).map_err(engine));
        let mut context = context.map_err(|error| LocalError::NotLoaded {
            file: self.file.clone(),
            why: if log.is_empty() { error.to_string() } else { log },
        })?;
        let mut batch = LlamaBatch::new(total.max(1), 1);
        for (index, tokens) in tokens.iter().enumerate() {
            let sequence = i32::try_from(index).map_err(engine)?;
            for (at, token) in tokens.iter().enumerate() {
                let at = i32::try_from(at).map_err(engine)?;
                batch.add(*token, at, &[sequence], true).map_err(engine)?;
            }
        }
        context.encode(&mut batch).map_err(engine)?;
        (0..texts.len())
            .map(|index| {
                let sequence = i32::try_from(index).map_err(engine)?;
                context.embeddings_seq_ith(sequence).map(normal).map_err(engine)
            })
            .collect()
    }
}

impl Embedder for GgufEmbedder {
    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, LocalError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for some in texts.chunks(EMBED_TEXTS_MAX) {
            vectors.extend(self.embed_some(some)?);
        }
        Ok(vectors)
    }
}

/// Scales a vector to length 1.
fn normal(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    vector.iter().map(|number| number / length.max(f32::MIN_POSITIVE)).collect()
}

fn engine(error: impl ToString) -> LocalError {
    LocalError::Engine(error.to_string())
}
