//! A language model from a GGUF file, run in this process by llama.cpp.
//!
//! A conversation is evaluated token by token, each token once; calls are bound to the schemas of the
//! tools while they are written. An embedder for texts comes from the same engine.
//!
//! Must never: show a type of the engine, know a provider, or fetch a file.

pub mod limits;

mod ask;
mod backend;
mod card;
mod dialect;
mod dice;
mod embedder;
mod engine;
mod error;
mod gguf;
mod grammar;
mod machine;
mod repetition;
mod schema;
mod sequences;
mod sort;
mod speak;
mod stream;
mod tape;
mod toolset;
mod vocabulary;
mod worker;

pub use ask::{Ask, Choice, Finish, Piece, Said};
pub use card::{Card, DialectName, Settings};
pub use embedder::{Embedder, GgufEmbedder};
pub use engine::Engine;
pub use error::LocalError;
pub use gguf::bert::gguf_of_bert;
