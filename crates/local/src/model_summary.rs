//! Facts about an opened model, and the settings to open it.
//!
//! Must never: come from any source but the file and the machine.

use std::fmt;

/// The settings to open a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EngineSettings {
    /// The number of computing threads; None means the idle physical cores of the machine.
    pub threads: Option<u32>,
    /// The window, in tokens; None means as trained, if memory allows.
    pub context_tokens: Option<u32>,
    /// The number of conversations that are kept in memory.
    pub sessions: u32,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self { threads: None, context_tokens: None, sessions: 4 }
    }
}

/// Facts about an opened model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSummary {
    /// The family of the network, such as `qwen2`.
    pub architecture: String,
    /// The name in the file; empty if it has none.
    pub name: String,
    /// The number of parameters.
    pub parameters: u64,
    /// The window that the model was trained for, in tokens.
    pub trained_context: u32,
    /// The window now, in tokens.
    pub context: u32,
    /// The dialect of calls.
    pub dialect: DialectName,
    /// The length of the file, in bytes.
    pub bytes: u64,
    /// The number of computing threads.
    pub threads: u32,
}

/// The form in which a model writes calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DialectName {
    /// `<tool_call>{"name": …, "arguments": …}</tool_call>`, as Qwen and Hermes do.
    Hermes,
    /// `{"name": …, "parameters": …}`, as Llama 3 does.
    Llama,
    /// `<start_function_call>call:NAME{…}<end_function_call>`.
    FunctionGemma,
    /// Tools are described in the system prompt, since the file's template has none.
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
