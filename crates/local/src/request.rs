//! What is asked of a local model and what it says.
//!
//! Must never: name anything of the engine behind it.

use agentry_protocol::message::{ModelRequest, RawToolCall, Usage};

/// One question to a model.
#[derive(Clone, Copy)]
pub struct GenerationRequest<'a> {
    /// The talk so far and the tools.
    pub request: &'a ModelRequest,
    /// Which conversation this is, so that only its new tokens are evaluated.
    pub session: &'a str,
    /// Hears what the model says while it says it.
    pub hear: &'a dyn Fn(GenerationDelta),
    /// Is asked at every token and every batch whether to go on.
    pub go_on: &'a dyn Fn() -> bool,
    /// What the model may do.
    pub choice: ToolChoice,
    /// The seed of the dice; it matters only with a temperature.
    pub seed: u64,
}

/// What the model may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// First it is found whether it wants to call or to answer; a call is bound to the schemas.
    Either,
    /// It must call one of the tools, bound to the schemas.
    Call,
    /// It must answer; the opening of a call is not its to write.
    Answer,
    /// Nothing is bound, and a call counts only if it is written in full; for measurements.
    Unguided,
}

/// A piece of what the model says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GenerationDelta {
    /// Some of the answer.
    Text(String),
    /// Some of what it thinks.
    Thinking(String),
    /// A call has begun; only `Said` tells whether it was finished.
    CallName {
        /// Which call of this answer, from 0.
        index: usize,
        /// The tool.
        name: String,
    },
    /// The arguments of a call, whole.
    CallArguments {
        /// Which call of this answer, from 0.
        index: usize,
        /// JSON.
        json: String,
    },
}

/// All that the model said.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// The answer.
    pub text: String,
    /// What it thought.
    pub thinking: String,
    /// What it asked for; each one is valid by the schema of its tool.
    pub calls: Vec<RawToolCall>,
    /// All tokens of the prompt, those still known, and those written.
    pub usage: Usage,
    /// How many tokens went through the model now, those of the prompt and those written.
    pub evaluated: u64,
    /// How many tokens of the prompt did not have to.
    pub reused: u64,
    /// How probable the opening of a call was, if that was looked at.
    pub call_probability: Option<f32>,
    /// Why it ended.
    pub finish: FinishReason,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model was done.
    Done,
    /// The longest answer, or the end of the window, was reached.
    Length,
    /// It said the same again and again.
    Repetition,
    /// Somebody asked it to stop.
    Interrupted,
}
