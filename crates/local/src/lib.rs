//! A language model from a GGUF file, run in this process by llama.cpp.
//!
//! Each token of a conversation is evaluated once. Calls are constrained to the schemas of the
//! tools while the model writes them. The engine also provides an embedder for texts.
//!
//! Must never: expose a type of the engine, know a provider, or fetch a file.

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
