//! A second place that knows how far the ledger went: a text file of `seq hash time` lines.
//!
//! A chain alone does not show that its end was cut off; a line that names a later entry does. A line is
//! written after its entry is on disk, so that the ledger is never behind it by itself.
//!
//! Must never: fail an append, or be shortened.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::chain::HASH_BYTES;
use crate::error::Error;
use crate::home;
use crate::limits::{ANCHOR_ENTRIES_MAX, ANCHOR_TIME_MS_MAX};

/// The file, and what was last written to it from here.
pub(crate) struct Anchor {
    file: File,
    seq: u64,
    time: u64,
}

/// The entry that a line is about.
#[derive(Clone, Copy)]
pub(crate) struct Tip {
    /// Its place; zero is before the first.
    pub(crate) seq: u64,
    /// Its hash.
    pub(crate) hash: [u8; HASH_BYTES],
}

/// One line.
pub(crate) struct Mark {
    pub(crate) seq: u64,
    pub(crate) hash: String,
}

impl Anchor {
    /// Opens the file and writes where the ledger is now.
    pub(crate) fn open(path: &Path, tip: &Tip, now: u64) -> Result<Self, Error> {
        let fault = |source| Error::File { path: path.to_owned(), doing: "write", source };
        let file = home::private_file().append(true).open(path).map_err(fault)?;
        let mut anchor = Self { file, seq: 0, time: now };
        anchor.write(tip, now).map_err(fault)?;
        Ok(anchor)
    }

    /// Writes a line if it is time for one. What did not work is tried again with the next commit.
    pub(crate) fn follow(&mut self, tip: &Tip, now: u64) {
        let is_far = tip.seq >= self.seq + ANCHOR_ENTRIES_MAX;
        // A clock that was set back must not keep lines from being written.
        let is_late = now.abs_diff(self.time) >= ANCHOR_TIME_MS_MAX;
        if is_far || is_late {
            self.close(tip, now);
        }
    }

    /// Writes a last line.
    pub(crate) fn close(&mut self, tip: &Tip, now: u64) {
        self.write(tip, now).unwrap_or_default();
    }

    fn write(&mut self, tip: &Tip, now: u64) -> std::io::Result<()> {
        if tip.seq == self.seq {
            return Ok(());
        }
        // One write for the whole line: other processes write to the same file. It begins with a line
        // break of its own, since the line before may have been cut by a full disk.
        let hash = blake3::Hash::from(tip.hash).to_hex();
        self.file.write_all(format!("\n{} {hash} {now}", tip.seq).as_bytes())?;
        (self.seq, self.time) = (tip.seq, now);
        Ok(())
    }
}

/// All lines that can be read, and how many cannot: a full disk or a power cut leaves such.
pub(crate) fn read(path: &Path) -> Result<(Vec<Mark>, usize), Error> {
    let bytes = home::read_if_there(path)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<Option<Mark>> =
        text.lines().filter(|line| !line.is_empty()).map(parse).collect();
    let unreadable = lines.iter().filter(|line| line.is_none()).count();
    Ok((lines.into_iter().flatten().collect(), unreadable))
}

fn parse(line: &str) -> Option<Mark> {
    let mut words = line.split(' ');
    let (seq, hash, time) = (words.next()?, words.next()?, words.next()?);
    time.parse::<u64>().ok()?;
    let is_whole = hash.len() == 2 * HASH_BYTES && words.next().is_none();
    is_whole.then_some(Mark { seq: seq.parse().ok()?, hash: hash.to_owned() })
}
