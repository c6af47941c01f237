//! The GGUF file format: its header is read before the engine opens the file, and a writer serves
//! the embedder.
//!
//! Must never: read weights into memory to identify a file.

pub(crate) mod bert;
pub(crate) mod header;
mod safetensors;
pub(crate) mod write;

/// The first bytes of a GGUF file.
pub(crate) const MAGIC: &[u8; 4] = b"GGUF";
/// The alignment of tensors, in bytes, unless the file sets another.
pub(crate) const ALIGNMENT: u64 = 32;
