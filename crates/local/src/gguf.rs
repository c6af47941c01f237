//! The file format of weights: its header is read before the engine sees the file, and a file is
//! written for the embedder.
//!
//! Must never: read weights into memory to learn what a file is.

pub(crate) mod bert;
pub(crate) mod header;
mod safetensors;
pub(crate) mod write;

/// What a GGUF file begins with.
pub(crate) const MAGIC: &[u8; 4] = b"GGUF";
/// Tensors stand at multiples of this, unless the file says otherwise.
pub(crate) const ALIGNMENT: u64 = 32;
