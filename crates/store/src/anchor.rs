//! A second record of the ledger's length: a text file of `seq hash time` lines, and a file with
//! one such line for the newest entry.
//!
//! A chain does not reveal that its end was cut off; a line about a later entry does. A line is
//! written after its entry is on disk, so a sound ledger is never shorter than its lines. Each
//! commit writes the newest entry in place, unsynced: a power cut leaves an older line.
//!
//! Must never: fail an append, or be shortened.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::chain::{ChainTip, HASH_BYTES};
use crate::error::Error;
use crate::home::{self, Home};
use crate::limits::{ANCHOR_ENTRIES_MAX, ANCHOR_TIME_MS_MAX, ANCHOR_WINDOW_BYTES};

/// The open anchor files, and the last line that this process wrote.
pub(crate) struct Anchor {
    file: File,
    /// A file with one line about the newest entry, always of the same length.
    head: File,
    seq: u64,
    time: u64,
}

/// A line of an anchor file: an entry with its hash and time.
#[derive(Clone, Debug)]
pub(crate) struct AnchorLine {
    pub(crate) seq: u64,
    pub(crate) hash: String,
    /// The time of writing, in milliseconds since 1970.
    pub(crate) time: u64,
}

impl AnchorLine {
    fn is_same(&self, other: &Self) -> bool {
        self.seq == other.seq && self.hash == other.hash
    }
}

impl Anchor {
    /// Opens both files and writes the present tip to them.
    pub(crate) fn open(home: &Home, tip: &ChainTip, now: u64) -> Result<Self, Error> {
        let opened = |path: &Path, options: &mut std::fs::OpenOptions| {
            let fault = |source| Error::File { path: path.to_owned(), doing: "write", source };
            options.open(path).map_err(fault)
        };
        let file = opened(&home.anchor(), home::private_file().append(true))?;
        let head =
            opened(&home.head(), home::private_file().read(true).write(true).truncate(false))?;
        let mut anchor = Self { file, head, seq: 0, time: now };
        anchor.write(tip, now).map_err(|source| Error::File {
            path: home.anchor(),
            doing: "write",
            source,
        })?;
        anchor.write_head(tip, now).map_err(|source| Error::File {
            path: home.head(),
            doing: "write",
            source,
        })?;
        Ok(anchor)
    }

    /// Writes the newest entry, and a line in the anchor file if one is due. Failed writes are
    /// tried again with the next commit.
    pub(crate) fn follow(&mut self, tip: &ChainTip, now: u64) {
        let is_far = tip.seq >= self.seq + ANCHOR_ENTRIES_MAX;
        // A clock that was set back must not keep lines from being written.
        let is_late = now.abs_diff(self.time) >= ANCHOR_TIME_MS_MAX;
        let is_headed = self.write_head(tip, now).is_ok_and(|is_written| is_written);
        if is_far || is_late || !is_headed {
            self.close(tip, now);
        }
    }

    /// Writes a last line for the tip; errors are ignored.
    pub(crate) fn close(&mut self, tip: &ChainTip, now: u64) {
        match self.write(tip, now) {
            // After an error the line stays due, and the next commit writes it.
            Ok(()) | Err(_) => {}
        }
    }

    /// Writes the newest entry, unless another process wrote a later one. Returns true if the file
    /// is up to date, and false if another process is writing to it now.
    fn write_head(&self, tip: &ChainTip, now: u64) -> std::io::Result<bool> {
        if tip.seq == 0 {
            return Ok(true);
        }
        if self.head.try_lock().is_err() {
            return Ok(false);
        }
        let mut found = [0; HEAD_BYTES];
        let length = self.head.read_at(&mut found, 0)?;
        let found = std::str::from_utf8(&found[..length]).ok().map(str::trim).and_then(parse);
        let written = match found {
            Some(mark) if mark.seq > tip.seq => Ok(()),
            Some(_) | None => self.head.write_all_at(head_line(tip, now).as_bytes(), 0),
        };
        self.head.unlock()?;
        written.map(|()| true)
    }

    fn write(&mut self, tip: &ChainTip, now: u64) -> std::io::Result<()> {
        if tip.seq == self.seq {
            return Ok(());
        }
        // One write for the whole line: other processes append to this file. The line begins with a
        // line break, since a full disk may have cut the line before.
        let hash = blake3::Hash::from(tip.hash).to_hex();
        self.file.write_all(format!("\n{} {hash} {now}", tip.seq).as_bytes())?;
        (self.seq, self.time) = (tip.seq, now);
        Ok(())
    }
}

/// Length of the line about the newest entry, in bytes.
const HEAD_BYTES: usize = 20 + 1 + 2 * HASH_BYTES + 1 + 20 + 1;

/// Formats a line of constant length, so that a new line overwrites the old one completely.
fn head_line(tip: &ChainTip, now: u64) -> String {
    let hash = blake3::Hash::from(tip.hash).to_hex();
    format!("{:020} {hash} {now:020}\n", tip.seq)
}

/// Returns all readable lines, and the number of unreadable ones (from a full disk or a power cut).
pub(crate) fn read(home: &Home) -> Result<(Vec<AnchorLine>, usize), Error> {
    let (mut marks, unreadable) = lines(&home::read_if_there(&home.anchor())?.unwrap_or_default());
    let (head, torn) = lines(&home::read_if_there(&home.head())?.unwrap_or_default());
    let is_new = |mark: &AnchorLine| !marks.iter().any(|one| one.is_same(mark));
    let head: Vec<AnchorLine> = head.into_iter().filter(is_new).collect();
    marks.extend(head);
    Ok((marks, unreadable + torn))
}

/// Returns the last line of each of the two files.
pub(crate) fn newest(home: &Home) -> Result<Vec<AnchorLine>, Error> {
    let (mut marks, _) = lines(&end_of(&home.anchor())?);
    let last = marks.drain(..).max_by_key(|mark| mark.seq);
    let (head, _) = lines(&home::read_if_there(&home.head())?.unwrap_or_default());
    Ok(last.into_iter().chain(head).collect())
}

fn lines(bytes: &[u8]) -> (Vec<AnchorLine>, usize) {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<Option<AnchorLine>> =
        text.lines().filter(|line| !line.is_empty()).map(parse).collect();
    let unreadable = lines.iter().filter(|line| line.is_none()).count();
    (lines.into_iter().flatten().collect(), unreadable)
}

/// Reads the last `ANCHOR_WINDOW_BYTES` of a file, from the beginning of a line.
fn end_of(path: &Path) -> Result<Vec<u8>, Error> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened?,
        };
        let from = file.metadata()?.len().saturating_sub(ANCHOR_WINDOW_BYTES);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(2 * ANCHOR_WINDOW_BYTES).read_to_end(&mut bytes)?;
        if from > 0 {
            // The first line may be cut, and its rest may look like a whole line.
            let whole = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
            bytes.drain(..whole);
        }
        Ok(bytes)
    };
    read().map_err(|source| Error::File { path: path.to_owned(), doing: "read", source })
}

fn parse(line: &str) -> Option<AnchorLine> {
    let mut words = line.split(' ');
    let (seq, hash, time) = (words.next()?, words.next()?, words.next()?);
    let (seq, time) = (seq.parse().ok()?, time.parse().ok()?);
    let is_whole = hash.len() == 2 * HASH_BYTES && words.next().is_none();
    is_whole.then(|| AnchorLine { seq, hash: hash.to_owned(), time })
}
