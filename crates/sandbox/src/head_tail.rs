//! The beginning and the end of a stream of any length.
//!
//! Must never: hold more than its limit.

use std::collections::VecDeque;

/// The kept beginning and end of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadTailBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_bytes_max: usize,
    tail_bytes_max: usize,
    bytes_left_out: u64,
    characters_left_out: u64,
}

impl HeadTailBuffer {
    /// Keeps at most `bytes_max` bytes, half of them from the beginning.
    pub fn with_bytes_max(bytes_max: usize) -> Self {
        let head_bytes_max = bytes_max / 2;
        Self { head_bytes_max, tail_bytes_max: bytes_max - head_bytes_max, ..Self::default() }
    }

    /// Appends the next piece of the stream.
    pub fn push(&mut self, piece: &[u8]) {
        let room = self.head_bytes_max - self.head.len();
        let (head, rest) = piece.split_at(room.min(piece.len()));
        self.head.extend_from_slice(head);

        // Of a piece longer than the tail only its own end can remain.
        let (skipped, rest) = rest.split_at(rest.len().saturating_sub(self.tail_bytes_max));
        let over = (self.tail.len() + rest.len()).saturating_sub(self.tail_bytes_max);
        let dropped = self.tail.drain(..over);
        let characters = dropped.filter(|byte| begins_character(*byte)).count()
            + skipped.iter().filter(|byte| begins_character(**byte)).count();
        self.bytes_left_out += widen(over + skipped.len());
        self.characters_left_out += widen(characters);
        self.tail.extend(rest);
    }

    /// Returns the beginning.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Returns the bytes after the beginning, or after the omitted part.
    pub fn tail(&self) -> Vec<u8> {
        self.tail.iter().copied().collect()
    }

    /// Returns the number of omitted bytes between head and tail.
    pub fn bytes_left_out(&self) -> u64 {
        self.bytes_left_out
    }

    /// Returns the number of characters in the omitted bytes, if they are UTF-8.
    pub fn characters_left_out(&self) -> u64 {
        self.characters_left_out
    }

    /// Returns true if bytes were omitted.
    pub fn is_cut(&self) -> bool {
        self.bytes_left_out > 0
    }

    /// Returns the whole stream; None if bytes were omitted.
    pub fn whole(&self) -> Option<Vec<u8>> {
        (!self.is_cut()).then(|| self.head.iter().chain(&self.tail).copied().collect())
    }
}

fn begins_character(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

fn widen(count: usize) -> u64 {
    u64::try_from(count).expect("a length fits 64 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(bytes_max: usize, pieces: &[&[u8]]) -> HeadTailBuffer {
        let mut kept = HeadTailBuffer::with_bytes_max(bytes_max);
        pieces.iter().for_each(|piece| kept.push(piece));
        kept
    }

    #[test]
    fn a_stream_as_long_as_the_limit_is_whole() {
        for pieces in [&[b"0123456789".as_slice()][..], &[b"01234", b"5", b"6789"]] {
            assert_eq!(kept(10, pieces).whole().as_deref(), Some(b"0123456789".as_slice()));
        }
    }

    #[test]
    fn one_byte_more_than_the_limit_leaves_one_byte_out() {
        for pieces in [&[b"0123456789a".as_slice()][..], &[b"0123456789", b"a"]] {
            let kept = kept(10, pieces);
            assert_eq!((kept.head(), kept.tail()), (b"01234".as_slice(), b"6789a".to_vec()));
            assert_eq!((kept.bytes_left_out(), kept.characters_left_out()), (1, 1));
            assert_eq!(kept.whole(), None);
        }
    }

    #[test]
    fn characters_that_are_left_out_are_counted_as_characters() {
        let kept = kept(4, &["aaéüöüzz".as_bytes()]);
        assert_eq!((kept.head(), kept.tail()), (b"aa".as_slice(), b"zz".to_vec()));
        assert_eq!((kept.bytes_left_out(), kept.characters_left_out()), (8, 4));
    }

    #[test]
    fn a_limit_of_nothing_keeps_nothing() {
        let kept = kept(0, &[b"abc"]);
        assert_eq!((kept.head().len(), kept.tail().len(), kept.bytes_left_out()), (0, 0, 3));
    }
}
