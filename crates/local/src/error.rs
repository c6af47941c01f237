//! Why a local model could not be opened or did not answer.
//!
//! Must never: show a type of the engine, or a message without what to do.

use std::path::PathBuf;

/// Why a local model could not be opened or did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocalError {
    /// There is no such file.
    #[error("there is no model file {}; pull it, or give the path of a GGUF file", .0.display())]
    Missing(PathBuf),
    /// The file cannot be read.
    #[error("the model file {} cannot be read: {why}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        why: String,
    },
    /// The file is something else.
    #[error("{} is not a GGUF file; only that format can be run here", .0.display())]
    NotGguf(PathBuf),
    /// The file ends too early.
    #[error(
        "the model file {} is cut short: it has {has} of {needs} bytes; pull it again",
        file.display()
    )]
    CutShort {
        /// The file.
        file: PathBuf,
        /// Its length in bytes.
        has: u64,
        /// The length its header asks for, in bytes.
        needs: u64,
    },
    /// The machine has not enough memory.
    #[error(
        "too little memory for {}: it needs {} MB and {} MB are free; close other programs or take a smaller model",
        file.display(), needs / 1_000_000, free / 1_000_000
    )]
    TooLittleMemory {
        /// The file.
        file: PathBuf,
        /// What weights and the smallest context need, in bytes.
        needs: u64,
        /// What is free, in bytes.
        free: u64,
    },
    /// The processor is older than the engine's code.
    #[error(
        "this processor lacks {0}, which the local model needs; use a provider over the network"
    )]
    OldProcessor(&'static str),
    /// The engine does not take the file.
    #[error("the model file {} could not be loaded: {why}", file.display())]
    NotLoaded {
        /// The file.
        file: PathBuf,
        /// The last lines of the engine's log.
        why: String,
    },
    /// The file has weights for something other than this use.
    #[error("the model file {} cannot be used so: {why}", file.display())]
    WrongKind {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The talk is longer than the window.
    #[error(
        "the talk is too long for the local model: it has {needs} tokens and the window holds {window}; \
         make it shorter, compact it, or open the model with a larger context"
    )]
    ContextFull {
        /// The tokens of the talk, with room for an answer.
        needs: u64,
        /// The tokens that fit.
        window: u64,
    },
    /// A tool's schema cannot be turned to a grammar.
    #[error("the schema of the tool `{tool}` cannot be used with a local model: {why}")]
    Schema {
        /// The tool.
        tool: String,
        /// What the schema has.
        why: String,
    },
    /// The model wrote a call that the looser grammar let through.
    #[error("the local model wrote a call of `{tool}` that its schema refuses: {why}")]
    InvalidCall {
        /// The tool.
        tool: String,
        /// What the schema says.
        why: String,
    },
    /// A call was demanded and no tool was offered.
    #[error("the local model must call a tool and none is offered; offer one, or let it answer")]
    NothingToCall,
    /// The engine failed.
    #[error("the local engine failed: {0}")]
    Engine(String),
    /// A file cannot be converted.
    #[error("{} cannot be converted: {why}", file.display())]
    NotConverted {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}
