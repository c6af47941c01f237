//! The engine's context: evaluated tokens of each conversation, and scores of the next token.
//!
//! Must never: evaluate a token again that is still in the context.

use llama_cpp_2::DecodeError;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;

use crate::error::LocalError;
use crate::kv_cache::{ModelToken, Sequences};
use crate::limits::BATCH_TOKENS_MAX;

/// The context with all its sequences.
pub(crate) struct EngineContext<'m> {
    context: LlamaContext<'m>,
    batch: LlamaBatch<'static>,
    pub(crate) sequences: Sequences,
    slot: usize,
    window: usize,
    /// Tokens of this sequence that are not evaluated yet.
    pending: Vec<ModelToken>,
    /// The number of tokens evaluated since the last `set_prompt`.
    pub(crate) evaluated: u64,
}

/// The result of an evaluation: complete, or stopped by the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EvaluationStatus {
    Complete,
    Stopped,
}

impl<'m> EngineContext<'m> {
    /// Creates a context. The engine may round the window up; `window` keeps the requested size.
    pub(crate) fn new(context: LlamaContext<'m>, window: u32, sequences: u32) -> Self {
        Self {
            context,
            batch: LlamaBatch::new(BATCH_TOKENS_MAX, 1),
            sequences: Sequences::new(sequences),
            slot: 0,
            window: usize::try_from(window).unwrap_or(usize::MAX),
            pending: Vec::new(),
            evaluated: 0,
        }
    }

    /// Returns the window, in tokens.
    pub(crate) fn window(&self) -> usize {
        self.window
    }

    /// Selects the sequence of a session and returns its slot.
    pub(crate) fn claim(&mut self, session: &str) -> Result<usize, LocalError> {
        let (slot, emptied) = self.sequences.claim(session);
        self.slot = slot;
        self.pending.clear();
        if emptied {
            self.forget(slot, 0)?;
        }
        Ok(slot)
    }

    /// Sets the prompt: evaluated tokens are kept, the rest is pending. Returns the number kept.
    pub(crate) fn set_prompt(&mut self, prompt: &[ModelToken]) -> Result<usize, LocalError> {
        self.evaluated = 0;
        let (from, common) = self.sequences.longest_prefix(self.slot, prompt);
        // The last token must be evaluated again, since its scores are needed.
        let mut kept = common.min(prompt.len().saturating_sub(1));
        if from == self.slot {
            if !self.forget(self.slot, kept)? {
                kept = 0;
            }
        } else {
            self.forget(self.slot, 0)?;
            let end = position(kept)?;
            self.context
                .copy_kv_cache_seq(id(from)?, id(self.slot)?, Some(0), Some(end))
                .map_err(engine)?;
        }
        let tokens = &mut self.sequences.get(self.slot).tokens;
        tokens.clear();
        tokens.extend_from_slice(&prompt[..kept]);
        self.pending.clear();
        self.pending.extend_from_slice(&prompt[kept..]);
        Ok(kept)
    }

    /// Appends a token to the pending ones.
    pub(crate) fn push(&mut self, token: ModelToken) {
        self.pending.push(token);
    }

    /// Returns the number of tokens in this sequence, evaluated or pending.
    pub(crate) fn length(&mut self) -> usize {
        self.sequences.get(self.slot).tokens.len() + self.pending.len()
    }

    /// Evaluates the pending tokens; then the scores are those of the next token.
    pub(crate) fn advance(
        &mut self,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<EvaluationStatus, LocalError> {
        while !self.pending.is_empty() {
            if !go_on() {
                return Ok(EvaluationStatus::Stopped);
            }
            let count = self.pending.len().min(BATCH_TOKENS_MAX);
            self.evaluate(count)?;
            self.sequences.get(self.slot).tokens.extend(self.pending.drain(..count));
            self.evaluated += u64::try_from(count).unwrap_or(u64::MAX);
        }
        Ok(EvaluationStatus::Complete)
    }

    /// Returns the score of every token of the vocabulary, after `advance`.
    pub(crate) fn scores(&self) -> &[f32] {
        self.context.get_logits_ith(-1)
    }

    fn evaluate(&mut self, count: usize) -> Result<(), LocalError> {
        let starts = self.sequences.get(self.slot).tokens.len();
        let sequence = id(self.slot)?;
        self.batch.clear();
        for (index, token) in self.pending[..count].iter().enumerate() {
            let at = id(starts + index)?;
            let last = index + 1 == self.pending.len();
            self.batch.add(LlamaToken(*token), at, &[sequence], last).map_err(engine)?;
        }
        loop {
            match self.context.decode(&mut self.batch) {
                Ok(()) => return Ok(()),
                Err(DecodeError::NoKvCacheSlot) => {
                    let Some(other) = self.sequences.evict(self.slot) else {
                        let needs = starts + self.pending.len();
                        return Err(context_full_error(needs, self.window()));
                    };
                    self.context
                        .clear_kv_cache_seq(Some(position(other)?), None, None)
                        .map_err(engine)?;
                }
                Err(error) => return Err(engine(error)),
            }
        }
    }

    /// Removes the tokens from a position on; false if the model cannot, and all were removed.
    fn forget(&mut self, slot: usize, from: usize) -> Result<bool, LocalError> {
        let sequence = Some(position(slot)?);
        let part = self.context.clear_kv_cache_seq(sequence, Some(position(from)?), None);
        if part.map_err(engine)? {
            return Ok(true);
        }
        self.context.clear_kv_cache_seq(sequence, None, None).map_err(engine)?;
        Ok(false)
    }
}

/// Returns the error for a conversation that exceeds the window.
pub(crate) fn context_full_error(needs: usize, window: usize) -> LocalError {
    let number = |count| u64::try_from(count).unwrap_or(u64::MAX);
    LocalError::ContextFull { needs: number(needs), window: number(window) }
}

fn engine(error: impl ToString) -> LocalError {
    LocalError::Engine(error.to_string())
}

fn id(number: usize) -> Result<i32, LocalError> {
    i32::try_from(number).map_err(engine)
}

fn position(number: usize) -> Result<u32, LocalError> {
    u32::try_from(number).map_err(engine)
}
