//! A hash of content: which bytes exactly were meant.
//!
//! Runs record the hash of every definition file they were started with; the prompt carries the
//! hash of its stable beginning. Printed as `blake3:` and 64 hexadecimal digits.
//!
//! Must never: be used for secrets or passwords.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The BLAKE3 hash of some content, in its printed form.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(format!("blake3:{}", blake3::hash(bytes).to_hex()))
    }

    /// The printed form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Hashes parts one after the other. Each part carries its length, so that moving a byte from
/// one part to the next gives another hash.
#[derive(Clone, Debug, Default)]
pub struct ContentHasher(blake3::Hasher);

impl ContentHasher {
    /// Adds a part, with its length before it.
    pub fn part(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds bytes of a part that comes in pieces; the caller adds its length as a part of its own.
    pub fn piece(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(bytes);
        self
    }

    /// The hash of all that was added.
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
