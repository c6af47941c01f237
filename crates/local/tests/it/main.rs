//! The engine with real weights: the tiny model, and the embedder.
//!
//! Must never: pass because the weights are missing.

mod calls;
mod conversation;
mod embedder;
mod faults;
mod injection;
mod talk;
