//! Finds the end of a body: after a length, after the last chunk, or with the connection.
//!
//! Must never: count a byte to a body that was not announced.

use crate::limits::EGRESS_CHUNK_LINE_BYTES_MAX;

/// The framing of a body, with the progress of reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    /// The number of bytes that are still to come.
    Length(u64),
    /// Chunks, with the position in them.
    Chunks(ChunkParser),
    /// It ends with the connection.
    UntilClosed,
}

/// The position in a chunked body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkParser {
    at: ChunkState,
    /// The bytes of this line, or of all trailers.
    line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkState {
    Size { value: u64, digits: u32 },
    Extension { value: u64 },
    SizeNewline { value: u64 },
    Content { left: u64 },
    ContentReturn,
    ContentNewline,
    TrailerStart,
    Trailer,
    TrailerNewline,
    LastNewline,
    End,
}

impl BodyFraming {
    pub(crate) fn chunked() -> Self {
        Self::Chunks(ChunkParser { at: ChunkState::Size { value: 0, digits: 0 }, line: 0 })
    }

    /// Returns true if the body is complete.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Self::Length(left) => *left == 0,
            Self::Chunks(chunks) => chunks.at == ChunkState::End,
            Self::UntilClosed => false,
        }
    }

    /// Returns the number of these bytes that belong to the body.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<usize, &'static str> {
        match self {
            Self::Length(left) => {
                let count = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= count as u64;
                Ok(count)
            }
            Self::Chunks(chunks) => chunks.take(bytes),
            Self::UntilClosed => Ok(bytes.len()),
        }
    }
}

impl ChunkParser {
    fn take(&mut self, bytes: &[u8]) -> Result<usize, &'static str> {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..)
            && let Some(first) = rest.first()
        {
            match self.at {
                ChunkState::End => break,
                ChunkState::Content { left } => {
                    let count = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                    taken += count;
                    self.at = match left - count as u64 {
                        0 => ChunkState::ContentReturn,
                        left => ChunkState::Content { left },
                    };
                }
                around => {
                    self.line += 1;
                    if self.line > EGRESS_CHUNK_LINE_BYTES_MAX {
                        return Err("a line around a chunk is too long");
                    }
                    self.at = next(around, *first)?;
                    taken += 1;
                    if matches!(self.at, ChunkState::Content { .. }) {
                        self.line = 0;
                    }
                }
            }
        }
        Ok(taken)
    }
}

fn next(at: ChunkState, byte: u8) -> Result<ChunkState, &'static str> {
    let wrong = Err("the chunks of the body are malformed");
    let is_text = byte == b'\t' || (b' '..=b'~').contains(&byte) || byte >= 0x80;
    Ok(match (at, byte) {
        (ChunkState::Size { digits: 1.., value }, b'\r') => ChunkState::SizeNewline { value },
        (ChunkState::Size { digits: 1.., value }, b';' | b' ' | b'\t') => {
            ChunkState::Extension { value }
        }
        (ChunkState::Size { value, digits: digits @ 0..16 }, _) if byte.is_ascii_hexdigit() => {
            let digit = char::from(byte).to_digit(16).map_or(0, u64::from);
            ChunkState::Size { value: value << 4 | digit, digits: digits + 1 }
        }
        (ChunkState::Extension { value }, b'\r') => ChunkState::SizeNewline { value },
        (ChunkState::Extension { value }, _) if is_text => ChunkState::Extension { value },
        (ChunkState::SizeNewline { value: 0 }, b'\n') => ChunkState::TrailerStart,
        (ChunkState::SizeNewline { value }, b'\n') => ChunkState::Content { left: value },
        (ChunkState::ContentReturn, b'\r') => ChunkState::ContentNewline,
        (ChunkState::ContentNewline, b'\n') => ChunkState::Size { value: 0, digits: 0 },
        (ChunkState::TrailerStart, b'\r') => ChunkState::LastNewline,
        (ChunkState::TrailerStart, _) if byte.is_ascii_graphic() => ChunkState::Trailer,
        (ChunkState::Trailer, b'\r') => ChunkState::TrailerNewline,
        (ChunkState::Trailer, _) if is_text => ChunkState::Trailer,
        (ChunkState::TrailerNewline, b'\n') => ChunkState::TrailerStart,
        (ChunkState::LastNewline, b'\n') => ChunkState::End,
        _ => return wrong,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads bytes at once and one by one; both must give the same result.
    fn taken(body: &BodyFraming, bytes: &[u8]) -> Result<(usize, bool), &'static str> {
        let mut whole = body.clone();
        let at_once = whole.take(bytes).map(|count| (count, whole.is_over()));
        let mut pieces = body.clone();
        let mut count = 0;
        for byte in bytes {
            match pieces.take(&[*byte]) {
                Ok(more) => count += more,
                Err(why) => {
                    assert_eq!(at_once, Err(why));
                    return Err(why);
                }
            }
        }
        assert_eq!(at_once, Ok((count, pieces.is_over())));
        at_once
    }

    #[test]
    fn a_length_takes_so_many_bytes_and_no_more() {
        assert_eq!(taken(&BodyFraming::Length(3), b"abcdef"), Ok((3, true)));
        assert_eq!(taken(&BodyFraming::Length(3), b"ab"), Ok((2, false)));
        assert_eq!(taken(&BodyFraming::Length(0), b"ab"), Ok((0, true)));
        assert_eq!(taken(&BodyFraming::UntilClosed, b"ab"), Ok((2, false)));
    }

    #[test]
    fn chunks_end_with_the_last_one() {
        let whole = b"3\r\nabc\r\n00A;x=\"y\"\r\n0123456789\r\n0\r\n\r\n";
        let mut more = whole.to_vec();
        more.extend_from_slice(b"GET http://evil.org/ HTTP/1.1\r\n\r\n");
        assert_eq!(taken(&BodyFraming::chunked(), &more), Ok((whole.len(), true)));
        assert_eq!(taken(&BodyFraming::chunked(), b"0\r\nA: b\r\n\r\nrest"), Ok((11, true)));
        assert_eq!(taken(&BodyFraming::chunked(), b"5\r\nabc"), Ok((6, false)));
    }

    #[test]
    fn malformed_chunks_are_refused() {
        for bytes in [
            &b"\r\n"[..],
            b"x\r\n",
            b"-1\r\n",
            b"0x3\r\n",
            b"3\nabc",
            b"3\r\nabcd",
            b"3\r\nabc\n",
            b"0\r\n\n",
            b"0\n\r\n",
            b"00000000000000001\r\n",
            b"3;a\x00\r\n",
            b"3;a\nb\r\n",
            b"0\r\n folded\r\n\r\n",
            b"0\r\nA: b\n\r\n",
            b"3\rabc",
        ] {
            assert!(taken(&BodyFraming::chunked(), bytes).is_err(), "{}", bytes.escape_ascii());
        }
        let mut long = b"1;".to_vec();
        long.resize(EGRESS_CHUNK_LINE_BYTES_MAX + 1, b'a');
        assert!(taken(&BodyFraming::chunked(), &long).is_err());
    }
}
