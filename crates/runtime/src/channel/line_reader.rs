//! Reads the lines of a program's output, with a limit on their length.
//!
//! Must never: keep more of a line in memory than its limit.

use std::io::{BufRead, ErrorKind};

/// The result of reading a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineRead {
    /// A line, without its end.
    Line,
    /// A line longer than the limit; its rest was skipped.
    TooLong,
    /// The output has ended.
    End,
}

/// Reads the next line into a buffer.
pub(super) fn next(from: &mut impl BufRead, line: &mut Vec<u8>, max: usize) -> LineRead {
    line.clear();
    let mut is_too_long = false;
    loop {
        let bytes = match from.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // A pipe with a read error has ended.
            Err(_) => &[],
        };
        if bytes.is_empty() {
            // A last line without a line end is unfinished and is dropped.
            return if is_too_long { LineRead::TooLong } else { LineRead::End };
        }
        let newline = bytes.iter().position(|byte| *byte == b'\n');
        let part = &bytes[..newline.unwrap_or(bytes.len())];
        is_too_long |= line.len() + part.len() > max;
        if is_too_long {
            let room = max.saturating_sub(line.len());
            line.extend_from_slice(&part[..room.min(part.len())]);
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(newline.is_some());
        from.consume(used);
        if newline.is_some() {
            return if is_too_long { LineRead::TooLong } else { LineRead::Line };
        }
    }
}
