//! Generates one answer: decides if the model calls, then writes a constrained call or free text.
//!
//! Must never: return a call that violates the schema of its tool.

use agentry_protocol::message::RawToolCall;

use crate::context::{EngineContext, EvaluationStatus};
use crate::dialect::{Dialect, PromptFragment, find_call};
use crate::error::LocalError;
use crate::grammar::CallGrammar;
use crate::kv_cache::ModelToken;
use crate::limits::{CALL_AGAIN_PROBABILITY_MIN, CALL_PROBABILITY_MIN, CALLS_MAX};
use crate::repetition::repeats;
use crate::request::{FinishReason, GenerationDelta, ToolChoice};
use crate::sampler::{self, TokenSampler};
use crate::schema;
use crate::stream::TextDecoder;
use crate::tokenizer::Tokenizer;

/// Minimal length of forced text, in bytes; the model writes shorter text itself at no more cost.
const FORCED_BYTES: usize = 6;

/// The openings of a call that small models use besides its mark.
const OPENINGS: [&str; 3] = ["```json", "{\"name\"", "{\n"];

/// The receiver of the pieces of an answer, which also decides if generation goes on.
pub(crate) trait GenerationListener {
    fn hear(&mut self, piece: GenerationDelta);
    fn go_on(&mut self) -> bool;
}

/// The inputs and the state of one answer.
pub(crate) struct AnswerGenerator<'a, 'm> {
    pub(crate) tape: &'a mut EngineContext<'m>,
    pub(crate) vocabulary: &'a Tokenizer<'m>,
    pub(crate) dialect: &'a dyn Dialect,
    pub(crate) calls: Option<&'a CallGrammar>,
    pub(crate) dice: TokenSampler,
    pub(crate) listener: &'a mut dyn GenerationListener,
    /// The maximum of tokens in the answer.
    pub(crate) most: usize,
    /// True if the last message is the outcome of a call.
    pub(crate) has_outcome: bool,
    /// Tokens that an answer may not begin with.
    pub(crate) barred: Vec<ModelToken>,
    pub(crate) spoken: GeneratorOutput,
}

/// The answer so far.
#[derive(Default)]
pub(crate) struct GeneratorOutput {
    pub(crate) text: String,
    pub(crate) thinking: String,
    pub(crate) calls: Vec<RawToolCall>,
    /// All tokens of the answer, in order.
    pub(crate) tokens: Vec<ModelToken>,
    pub(crate) call_probability: Option<f32>,
    /// The number of calls that were announced to the listener.
    named: usize,
}

/// The result of writing one call.
enum CallAttempt {
    Call(RawToolCall),
    Ended(FinishReason),
}

impl AnswerGenerator<'_, '_> {
    /// Generates until the end of the turn; the prompt must be set.
    pub(crate) fn generate(&mut self, choice: ToolChoice) -> Result<FinishReason, LocalError> {
        if self.advance()? == EvaluationStatus::Stopped {
            return Ok(FinishReason::Interrupted);
        }
        match (choice, self.calls) {
            (ToolChoice::Call, None) => Err(LocalError::NothingToCall),
            (ToolChoice::Call, Some(calls)) => self.write_calls(calls, false),
            (ToolChoice::Either, Some(calls)) if self.wants_to_call(calls) => {
                self.write_calls(calls, false)
            }
            (ToolChoice::Either, calls) => self.write_text(calls),
            (ToolChoice::Answer, calls) => {
                self.barred = calls.map(|calls| self.openings(calls)).unwrap_or_default();
                self.write_text(None)
            }
            (ToolChoice::Unguided, calls) => {
                let finish = self.write_text(None)?;
                if let Some(calls) = calls {
                    self.read_call(calls);
                }
                Ok(finish)
            }
        }
    }

    /// Returns true if a call's opening is probable enough. After an outcome it must be likelier
    /// than not: a small model that is forced to call would call forever.
    fn wants_to_call(&mut self, calls: &CallGrammar) -> bool {
        let firsts = self.openings(calls);
        let scores = self.tape.scores();
        let firsts = firsts.into_iter().filter_map(|token| usize::try_from(token).ok());
        let probability = firsts.map(|token| sampler::probability(scores, token)).sum::<f32>();
        self.spoken.call_probability = Some(probability);
        let least =
            if self.has_outcome { CALL_AGAIN_PROBABILITY_MIN } else { CALL_PROBABILITY_MIN };
        probability >= least
    }

    /// Returns the first tokens of all openings of a call.
    fn openings(&self, calls: &CallGrammar) -> Vec<ModelToken> {
        let forced = calls.matcher().compute_ff_bytes();
        let mut openings = OPENINGS.map(|text| self.vocabulary.text_tokens(text)).to_vec();
        openings.push(self.vocabulary.tokens(&self.dialect.call_opening()));
        openings.push(self.vocabulary.text_tokens(&String::from_utf8_lossy(&forced)));
        let mut firsts: Vec<ModelToken> =
            openings.iter().filter_map(|tokens| tokens.first().copied()).collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts
    }

    /// Writes calls; `marked` is true if the mark of the first one is already written.
    fn write_calls(
        &mut self,
        calls: &CallGrammar,
        marked: bool,
    ) -> Result<FinishReason, LocalError> {
        let mut opens = self.dialect.call_opening();
        if marked {
            opens.remove(0);
        }
        loop {
            self.force(&opens);
            match self.write_call(calls)? {
                CallAttempt::Ended(finish) => return Ok(finish),
                CallAttempt::Call(call) => {
                    self.force(&self.dialect.call_closing());
                    // A model that repeats a call has finished.
                    if self.spoken.calls.contains(&call) {
                        return Ok(FinishReason::Done);
                    }
                    self.found(call);
                }
            }
            let Some(between) = self.dialect.between_calls() else { return Ok(FinishReason::Done) };
            opens = self.dialect.call_opening();
            if self.spoken.calls.len() >= CALLS_MAX || !self.wants_more(&between, &opens)? {
                return Ok(FinishReason::Done);
            }
        }
    }

    /// Returns true if the model is likely to open another call, and then writes the separator.
    fn wants_more(
        &mut self,
        between: &[PromptFragment],
        opens: &[PromptFragment],
    ) -> Result<bool, LocalError> {
        let between = self.vocabulary.tokens(between);
        let opens = self.vocabulary.tokens(opens);
        let Some(first) = opens.first().copied() else { return Ok(false) };
        for (index, wanted) in between.iter().copied().chain([first]).enumerate() {
            if self.tape.length() >= self.tape.window()
                || self.advance()? == EvaluationStatus::Stopped
            {
                return Ok(false);
            }
            let best = sampler::best(self.tape.scores(), |_| true);
            if best.and_then(|token| ModelToken::try_from(token).ok()) != Some(wanted) {
                return Ok(false);
            }
            if index < between.len() {
                self.write(wanted);
            }
        }
        Ok(true)
    }

    fn write_call(&mut self, calls: &CallGrammar) -> Result<CallAttempt, LocalError> {
        let mut matcher = calls.matcher();
        let mut bytes = Vec::new();
        while !matcher.is_stopped() {
            if let Some(finish) = self.ended() {
                return Ok(CallAttempt::Ended(finish));
            }
            let forced = matcher.compute_ff_bytes();
            let tokens = match std::str::from_utf8(&forced) {
                Ok(text) if text.len() >= FORCED_BYTES => self.forced_tokens(text),
                Ok(_) | Err(_) => Vec::new(),
            };
            let tokens = if tokens.is_empty() {
                if self.advance()? == EvaluationStatus::Stopped {
                    return Ok(CallAttempt::Ended(FinishReason::Interrupted));
                }
                let mask = matcher.compute_mask().map_err(engine)?;
                let allowed = |token: usize| {
                    u32::try_from(token).is_ok_and(|token| mask.is_allowed(token))
                        && ModelToken::try_from(token)
                            .is_ok_and(|token| !self.vocabulary.is_end_token(token))
                };
                let chosen = self.dice.choose(self.tape.scores(), allowed);
                // The call is complete.
                let Some(chosen) = chosen else { break };
                vec![ModelToken::try_from(chosen).map_err(engine)?]
            } else {
                tokens
            };
            for token in tokens {
                matcher.consume_token(u32::try_from(token).map_err(engine)?).map_err(engine)?;
                bytes.extend(self.vocabulary.bytes(token));
                self.write(token);
            }
            if let Some(name) = self.dialect.name_so_far(&String::from_utf8_lossy(&bytes)) {
                self.announce(calls.toolset.name(&name));
            }
        }
        self.check_call(calls, &bytes)
    }

    /// Returns the tokens of forced text without the last one, whose end the model may choose.
    fn forced_tokens(&self, text: &str) -> Vec<ModelToken> {
        let mut tokens = self.vocabulary.text_tokens(text);
        tokens.pop();
        let bytes: Vec<u8> =
            tokens.iter().flat_map(|token| self.vocabulary.bytes(*token)).collect();
        // Some tokenizers put a space before all text; then the model writes the text itself.
        if text.as_bytes().starts_with(&bytes) { tokens } else { Vec::new() }
    }

    fn check_call(&self, calls: &CallGrammar, bytes: &[u8]) -> Result<CallAttempt, LocalError> {
        let written = String::from_utf8_lossy(bytes);
        let Some(call) = self.dialect.parse(&written) else {
            let why = "it is no whole call".to_owned();
            let tool = self.dialect.name_so_far(&written).unwrap_or_default();
            return Err(LocalError::InvalidCall { tool, why });
        };
        if schema::is_truncated(&call.input) {
            return Ok(CallAttempt::Ended(FinishReason::Length));
        }
        calls.toolset.validate_call(&call).map(CallAttempt::Call)
    }

    fn write_text(&mut self, calls: Option<&CallGrammar>) -> Result<FinishReason, LocalError> {
        let mark = self.dialect.call_opening().into_iter().next();
        let mark = mark
            .filter(|_| calls.is_some())
            .map(|(PromptFragment::Mark(text) | PromptFragment::Text(text))| text);
        let mut stream = TextDecoder::new(mark);
        let finish = self.write_stream(&mut stream, calls);
        if let (Ok(_), Some(calls)) = (&finish, calls)
            && let Some(found) =
                find_call(&stream.text, |call| calls.toolset.validate_call(call).is_ok())
        {
            self.spoken.text = found.before;
            self.spoken.thinking = stream.thinking;
            self.found(calls.toolset.validate_call(&found.call)?);
            return Ok(FinishReason::Done);
        }
        stream.finish(&mut |piece| self.listener.hear(piece));
        self.spoken.text = stream.text;
        self.spoken.thinking = stream.thinking;
        match (stream.opened, calls) {
            (true, Some(calls)) => {
                self.spoken.text.truncate(self.spoken.text.trim_end().len());
                self.write_calls(calls, true)
            }
            (true | false, _) => finish,
        }
    }

    fn write_stream(
        &mut self,
        stream: &mut TextDecoder,
        calls: Option<&CallGrammar>,
    ) -> Result<FinishReason, LocalError> {
        loop {
            if let Some(finish) = self.ended() {
                return Ok(finish);
            }
            if self.advance()? == EvaluationStatus::Stopped {
                return Ok(FinishReason::Interrupted);
            }
            // Only the first token is barred: later, a fence may be a code block.
            let barred = if self.spoken.tokens.is_empty() { &*self.barred } else { &[] };
            let may =
                |token: usize| ModelToken::try_from(token).is_ok_and(|one| !barred.contains(&one));
            let Some(token) = self.dice.choose(self.tape.scores(), may) else {
                return Ok(FinishReason::Done);
            };
            let token = ModelToken::try_from(token).map_err(engine)?;
            if self.vocabulary.is_end_token(token) {
                return Ok(FinishReason::Done);
            }
            let bytes = self.vocabulary.bytes(token);
            if self.dialect.stops().iter().any(|stop| stop.as_bytes() == bytes) {
                return Ok(FinishReason::Done);
            }
            self.write(token);
            stream.push(&bytes, calls.is_some(), &mut |piece| self.listener.hear(piece));
            if stream.opened {
                return Ok(FinishReason::Done);
            }
            if let Some(calls) = calls
                && stream.may_be_call()
                && find_call(&stream.text, |call| calls.toolset.validate_call(call).is_ok())
                    .is_some()
            {
                return Ok(FinishReason::Done);
            }
        }
    }

    /// Finds a call in unconstrained text.
    fn read_call(&mut self, calls: &CallGrammar) {
        let valid = |call: &RawToolCall| calls.toolset.validate_call(call).is_ok();
        let marks = |parts: Vec<PromptFragment>| {
            parts
                .into_iter()
                .next()
                .map(|(PromptFragment::Mark(text) | PromptFragment::Text(text))| text)
        };
        let opens = marks(self.dialect.call_opening()).unwrap_or_default();
        let closes = marks(self.dialect.call_closing()).unwrap_or_default();
        let marked = self.spoken.text.split_once(opens.as_str()).filter(|_| !opens.is_empty());
        let marked = marked.and_then(|(_, rest)| {
            let inside = rest.split_once(closes.trim()).map_or(rest, |(inside, _)| inside);
            self.dialect.parse(inside).filter(valid)
        });
        let call = marked.or_else(|| find_call(&self.spoken.text, valid).map(|found| found.call));
        if let Some(Ok(call)) = call.map(|call| calls.toolset.validate_call(&call)) {
            self.found(call);
        }
    }

    fn found(&mut self, call: RawToolCall) {
        self.announce(call.name.clone());
        let index = self.spoken.calls.len();
        self.listener.hear(GenerationDelta::CallArguments { index, json: call.input.to_string() });
        self.spoken.calls.push(call);
    }

    fn announce(&mut self, name: String) {
        let index = self.spoken.calls.len();
        if self.spoken.named <= index {
            self.spoken.named = index + 1;
            self.listener.hear(GenerationDelta::CallName { index, name });
        }
    }

    fn force(&mut self, parts: &[PromptFragment]) {
        for token in self.vocabulary.tokens(parts) {
            self.write(token);
        }
    }

    fn write(&mut self, token: ModelToken) {
        self.spoken.tokens.push(token);
        self.tape.push(token);
    }

    fn advance(&mut self) -> Result<EvaluationStatus, LocalError> {
        self.tape.advance(&mut || self.listener.go_on())
    }

    /// Returns the reason why the answer must end now, or None.
    fn ended(&mut self) -> Option<FinishReason> {
        let full = self.tape.length() >= self.tape.window();
        if full || self.spoken.tokens.len() >= self.most {
            return Some(FinishReason::Length);
        }
        repeats(&self.spoken.tokens).then_some(FinishReason::Repetition)
    }
}

fn engine(error: impl ToString) -> LocalError {
    LocalError::Engine(error.to_string())
}
