//! Content hashes, which identify exact bytes.
//!
//! Runs record the hash of every definition file that they start with; the prompt carries the
//! hash of its stable beginning. Printed as `blake3:` and 64 hexadecimal digits.
//!
//! Must never: be used for secrets or passwords.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The BLAKE3 hash of a content, in its printed form.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// Returns the hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("blake3:{}", blake3::hash(bytes).to_hex()))
    }

    /// Returns the printed form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A hasher for parts in sequence. Each part includes its length, so that a byte that moves from
/// one part to the next changes the hash.
#[derive(Clone, Debug, Default)]
pub struct ContentHasher(blake3::Hasher);

impl ContentHasher {
    /// Adds a part, preceded by its length.
    pub fn part(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds a piece of a part; the caller adds the length of the whole part as a part of its own.
    pub fn piece(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(bytes);
        self
    }

    /// Returns the hash of all parts so far.
    pub fn finish(&self) -> ContentHash {
        ContentHash(format!("blake3:{}", self.0.finalize().to_hex()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_moves_between_parts_changes_the_hash() {
        let mut one = ContentHasher::default();
        one.part(b"ab").part(b"c");
        let mut other = ContentHasher::default();
        other.part(b"a").part(b"bc");
        assert_ne!(one.finish(), other.finish());
    }
}
