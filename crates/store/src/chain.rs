//! The chain of hashes: each row of the ledger is hashed together with the row before.
//!
//! A change shows in every row after it. The input carries the length of each part; an absent part
//! has a length of its own.
//!
//! Must never: give two different rows the same input.

pub(crate) const HASH_BYTES: usize = 32;

/// The hash before the first entry.
pub(crate) const GENESIS: [u8; HASH_BYTES] = *b"agentry ledger: the first entry.";

/// The length that marks an absent part.
const ABSENT: u64 = u64::MAX;

/// The last entry of the chain, or the entry that a line names.
#[derive(Clone, Copy)]
pub(crate) struct ChainTip {
    /// The number of the entry; zero means before the first.
    pub(crate) seq: u64,
    /// The hash of the entry.
    pub(crate) hash: [u8; HASH_BYTES],
}

/// The parts of a row that its hash covers, besides the hash of the row before.
pub(crate) struct RowHashInput<'a> {
    pub(crate) seq: u64,
    pub(crate) time: u64,
    pub(crate) cause: Option<u64>,
    pub(crate) version: u32,
    pub(crate) stream: &'a str,
    pub(crate) session: Option<&'a str>,
    pub(crate) run: Option<&'a str>,
    pub(crate) turn: Option<&'a str>,
    pub(crate) body: &'a str,
}

/// Returns the hash of a row that follows another.
pub(crate) fn seal(previous: &[u8; HASH_BYTES], row: &RowHashInput<'_>) -> [u8; HASH_BYTES] {
    let cause = row.cause.map(u64::to_le_bytes);
    let parts: [Option<&[u8]>; 10] = [
        Some(previous),
        Some(&row.seq.to_le_bytes()),
        Some(&row.time.to_le_bytes()),
        cause.as_ref().map(<[u8; 8]>::as_slice),
        Some(&row.version.to_le_bytes()),
        Some(row.stream.as_bytes()),
        row.session.map(str::as_bytes),
        row.run.map(str::as_bytes),
        row.turn.map(str::as_bytes),
        Some(row.body.as_bytes()),
    ];
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        match part {
            Some(bytes) => {
                hasher.update(&(bytes.len() as u64).to_le_bytes());
                hasher.update(bytes);
            }
            None => {
                hasher.update(&ABSENT.to_le_bytes());
            }
        }
    }
    hasher.finalize().into()
}
