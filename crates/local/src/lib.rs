//! A language model from a GGUF file, run in this process by llama.cpp.
//!
//! A conversation is evaluated token by token, each token once; calls are bound to the schemas of the
//! tools while they are written. An embedder for texts comes from the same engine.
//!
//! Must never: show a type of the engine, know a provider, or fetch a file.

pub mod limits;

mod backend;
mod context;
mod dialect;
mod embedder;
mod engine;
mod error;
mod generate;
mod gguf;
mod grammar;
mod hardware;
mod intent;
mod kv_cache;
mod model_summary;
mod repetition;
mod request;
mod sampler;
mod schema;
mod stream;
mod tokenizer;
mod toolset;
mod worker;

pub use embedder::{Embedder, GgufEmbedder};
pub use engine::Engine;
pub use error::LocalError;
pub use gguf::bert::gguf_of_bert;
pub use model_summary::{DialectName, EngineSettings, ModelSummary};
pub use request::{FinishReason, Generation, GenerationDelta, GenerationRequest, ToolChoice};
