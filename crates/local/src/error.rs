//! Errors of opening a local model and of its answers.
//!
//! Must never: expose a type of the engine, or have a message without advice.

use std::path::PathBuf;

/// The reason why a local model was not opened or did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocalError {
    /// The file does not exist.
    #[error("there is no model file {}; pull it, or give the path of a GGUF file", .0.display())]
    Missing(PathBuf),
    /// Reading the file failed.
    #[error("the model file {} cannot be read: {why}", file.display())]
    Unreadable {
        /// The model file.
        file: PathBuf,
        /// The error of the system.
        why: String,
    },
    /// The file has another format.
    #[error("{} is not a GGUF file; only that format can be run here", .0.display())]
    NotGguf(PathBuf),
    /// The file is shorter than its header demands.
    #[error(
        "the model file {} is cut short: it has {has} of {needs} bytes; pull it again",
        file.display()
    )]
    CutShort {
        /// The model file.
        file: PathBuf,
        /// Its length, in bytes.
        has: u64,
        /// The length that its header demands, in bytes.
        needs: u64,
    },
    /// The weights and the smallest context need more memory than is free.
    #[error(
        "too little memory for {}: it needs {} MB and {} MB are free; close other programs or take a smaller model",
        file.display(), needs / 1_000_000, free / 1_000_000
    )]
    TooLittleMemory {
        /// The model file.
        file: PathBuf,
        /// The memory for the weights and the smallest context, in bytes.
        needs: u64,
        /// The free memory, in bytes.
        free: u64,
    },
    /// The processor lacks an instruction set that the engine was built for.
    #[error(
        "this processor lacks {0}, which the local model needs; use a provider over the network"
    )]
    OldProcessor(&'static str),
    /// The engine refused the file.
    #[error("the model file {} could not be loaded: {why}; pull it again, or take another model", file.display())]
    NotLoaded {
        /// The model file.
        file: PathBuf,
        /// The last lines of the engine's log.
        why: String,
    },
    /// The model is of another kind than this use needs.
    #[error("the model file {} does not fit this use: {why}", file.display())]
    WrongKind {
        /// The model file.
        file: PathBuf,
        /// The difference from the kind that is needed.
        why: String,
    },
    /// The conversation exceeds the window.
    #[error(
        "the conversation is too long for the local model: it has {needs} tokens and the window holds {window}; \
         make it shorter, compact it, or open the model with a larger context"
    )]
    ContextFull {
        /// The tokens of the conversation, with space for an answer.
        needs: u64,
        /// The window, in tokens.
        window: u64,
    },
    /// A tool's schema has no grammar.
    #[error(
        "the local model cannot use the schema of the tool `{tool}`: {why}; simplify the schema"
    )]
    Schema {
        /// The tool.
        tool: String,
        /// The part of the schema without a grammar.
        why: String,
    },
    /// The model wrote a call that matches the looser grammar and violates the schema.
    #[error("the local model wrote a call of `{tool}` that its schema refuses: {why}")]
    InvalidCall {
        /// The tool.
        tool: String,
        /// The violation of the schema.
        why: String,
    },
    /// The request demands a call and offers no tool.
    #[error("the local model must call a tool and none is offered; offer one, or let it answer")]
    NothingToCall,
    /// The engine failed, for this reason.
    #[error("the local engine failed: {0}")]
    Engine(String),
    /// A file cannot be converted to GGUF.
    #[error("{} cannot be converted: {why}", file.display())]
    NotConverted {
        /// The file to convert.
        file: PathBuf,
        /// The reason.
        why: String,
    },
}
