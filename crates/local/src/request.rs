//! Requests to a local model, and its answers.
//!
//! Must never: name anything of the engine behind it.

use agentry_protocol::message::{ModelRequest, RawToolCall, Usage};

/// One request to a model.
#[derive(Clone, Copy)]
pub struct GenerationRequest<'a> {
    /// The conversation so far and the tools.
    pub request: &'a ModelRequest,
    /// The session, so that only its new tokens are evaluated.
    pub session: &'a str,
    /// Called with each piece of the answer as it is written.
    pub hear: &'a dyn Fn(GenerationDelta),
    /// Called at every token and every batch; false stops the answer.
    pub go_on: &'a dyn Fn() -> bool,
    /// The choice between calls and text.
    pub choice: ToolChoice,
    /// The seed of sampling; it matters only with a temperature.
    pub seed: u64,
}

/// The choice between calls and text in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides to call or to answer; a call is constrained to the schemas.
    Either,
    /// The model must call one of the tools, constrained to the schemas.
    Call,
    /// The model must answer with text; it cannot write the opening of a call.
    Answer,
    /// No constraints; only a complete call counts. For measurements.
    Unguided,
}

/// A piece of an answer, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GenerationDelta {
    /// A piece of the text.
    Text(String),
    /// A piece of the thinking.
    Thinking(String),
    /// A call has begun; only the final `Generation` shows if it was finished.
    CallName {
        /// The index of the call in this answer, from 0.
        index: usize,
        /// The tool.
        name: String,
    },
    /// The complete arguments of a call.
    CallArguments {
        /// The index of the call in this answer, from 0.
        index: usize,
        /// The arguments as JSON.
        json: String,
    },
}

/// A complete answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// The text.
    pub text: String,
    /// The thinking.
    pub thinking: String,
    /// The calls; each one matches the schema of its tool.
    pub calls: Vec<RawToolCall>,
    /// The tokens of the prompt, those reused from the context, and those written.
    pub usage: Usage,
    /// The number of tokens that were evaluated now, of the prompt and written.
    pub evaluated: u64,
    /// The number of prompt tokens that were reused from the context.
    pub reused: u64,
    /// The probability of a call's opening; None if it was not measured.
    pub call_probability: Option<f32>,
    /// The reason why the answer ended.
    pub finish: FinishReason,
}

/// The reason why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended its turn.
    Done,
    /// The longest answer, or the end of the window, was reached.
    Length,
    /// The model repeated itself.
    Repetition,
    /// The caller stopped it.
    Interrupted,
}
