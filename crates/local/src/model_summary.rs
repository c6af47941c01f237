//! What an opened model is, and how it is to be opened.
//!
//! Must never: be read from anything but the file and the machine.

use std::fmt;

/// How a model is to be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EngineSettings {
    /// How many threads compute; the physical cores of the machine that are idle otherwise.
    pub threads: Option<u32>,
    /// How many tokens fit; what the model was trained for and memory holds otherwise.
    pub context_tokens: Option<u32>,
    /// How many conversations are kept in memory.
    pub sessions: u32,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self { threads: None, context_tokens: None, sessions: 4 }
    }
}

/// What an opened model is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSummary {
    /// The family of the network, such as `qwen2`.
    pub architecture: String,
    /// The name in the file, if it has one.
    pub name: String,
    /// How many numbers it has.
    pub parameters: u64,
    /// How many tokens it was trained for.
    pub trained_context: u32,
    /// How many tokens fit now.
    pub context: u32,
    /// How it writes calls.
    pub dialect: DialectName,
    /// The length of the file, in bytes.
    pub bytes: u64,
    /// How many threads compute.
    pub threads: u32,
}

/// How a model writes calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DialectName {
    /// `<tool_call>{"name": …, "arguments": …}</tool_call>`, as Qwen and Hermes do.
    Hermes,
    /// `{"name": …, "parameters": …}`, as Llama 3 does.
    Llama,
    /// `<start_function_call>call:NAME{…}<end_function_call>`.
    FunctionGemma,
    /// The file's template knows no tools: they are described in the system prompt.
    Plain,
}

impl fmt::Display for DialectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hermes => "hermes",
            Self::Llama => "llama",
            Self::FunctionGemma => "functiongemma",
            Self::Plain => "plain",
        })
    }
}
