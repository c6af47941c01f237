//! Views of a text with bytes shown as numbers, as `xxd`, `hexdump` and `od` print them.
//!
//! Must never: fail on a text; anything but numbers is skipped.

use super::view::{TextView, ValueSpread};
use crate::limits::{DUMP_LINE_BYTES_MAX, DUMP_OFFSET_DIGITS_MAX};

/// The fewest digits of an offset at the start of a line; `od` writes seven.
const OFFSET_DIGITS_MIN: usize = 6;

/// The order of the bytes in a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    /// In the order in which they are written.
    Written,
    /// The last byte first, as numbers are stored in memory.
    Swapped,
}

/// Keeps only letters and digits: drops signs between letters, colons between hexadecimal digits,
/// `0x`, `\\x` and the offsets of dumps.
pub(super) fn loose(text: &[u8]) -> TextView<'static> {
    let (mut bytes, mut places) = (Vec::with_capacity(text.len()), Vec::with_capacity(text.len()));
    let mut open = None;
    let mut at = 0;
    // An offset at the start of the text has no bytes before it.
    let mut is_line_start = false;
    while at < text.len() {
        let byte = text[at];
        if is_line_start {
            is_line_start = byte == b'\n';
            match od_offset(&text[at..]) {
                Some(length) if at + length == text.len() => open = open.or(Some(at)),
                Some(length) => {
                    at += length;
                    continue;
                }
                None => {}
            }
        } else {
            is_line_start = byte == b'\n';
        }
        if matches!(byte, b'0' | b'\\') {
            match &text[at + 1..] {
                [b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => {
                    at += 2;
                    continue;
                }
                [] | [b'x' | b'X'] => open = open.or(Some(at)),
                _ => {}
            }
        }
        if byte.is_ascii_alphanumeric() || !byte.is_ascii() {
            bytes.push(byte);
            places.push(at);
        }
        at += 1;
    }
    TextView::places(bytes, places, open).reaching(ValueSpread::Spread)
}

/// Returns the length of an offset of `od`, or of a possible part of one.
fn od_offset(line: &[u8]) -> Option<usize> {
    let digits = line.iter().take(8).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    match line.get(digits) {
        None => (1..=7).contains(&digits).then_some(digits),
        Some(b' ') => (digits == 7).then_some(digits),
        Some(_) => None,
    }
}

/// Returns the length of an offset at the start of a dump's line.
fn offset(line: &[u8]) -> Option<usize> {
    let digits = line
        .iter()
        .take(DUMP_OFFSET_DIGITS_MAX + 1)
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let is_offset = (OFFSET_DIGITS_MIN..=DUMP_OFFSET_DIGITS_MAX).contains(&digits);
    (is_offset && matches!(line.get(digits), Some(b':' | b' '))).then_some(digits)
}

/// Decodes decimal byte values, with anything between them; None if there are none.
pub(super) fn decimal(text: &[u8]) -> Option<TextView<'static>> {
    numbers(text, |digits| match digits.len() {
        1..=3 => Some(vec![std::str::from_utf8(digits).ok()?.parse().ok()?]),
        _ => None,
    })
}

/// Decodes bytes of three octal digits, or pairs of them with six, as `od` writes them.
pub(super) fn octal(text: &[u8]) -> Option<TextView<'static>> {
    numbers(text, |digits| {
        let value = || u16::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok();
        match digits.len() {
            3 => Some(vec![u8::try_from(value()?).ok()?]),
            6 => Some(value()?.to_le_bytes().to_vec()),
            _ => None,
        }
    })
}

fn numbers(text: &[u8], read: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Option<TextView<'static>> {
    let (mut bytes, mut spans, mut open) = (Vec::new(), Vec::new(), None);
    let mut at = 0;
    while let Some(start) = text[at..].iter().position(u8::is_ascii_digit).map(|found| at + found) {
        let length = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        at = start + length;
        if at == text.len() && length <= 6 {
            open = Some(start);
        }
        let is_word = start > 0 && text[start - 1].is_ascii_alphabetic();
        if let Some(read) = read(&text[start..at]).filter(|_| !is_word) {
            spans.extend(read.iter().map(|_| (start, at)));
            bytes.extend(read);
        }
    }
    (!bytes.is_empty() || open.is_some()).then(|| TextView::ranges(bytes, spans, open))
}

/// Decodes lines of an offset and hexadecimal numbers. Each byte spans its whole line, because the
/// text beside the numbers repeats them. None without such a line.
pub(super) fn lines(text: &[u8], order: ByteOrder) -> Option<TextView<'static>> {
    let (mut bytes, mut spans, mut open) = (Vec::new(), Vec::new(), None);
    let mut start = 0;
    while start < text.len() {
        let end = text[start..].iter().position(|byte| *byte == b'\n').map(|length| start + length);
        let line = &text[start..end.unwrap_or(text.len())];
        if line.len() <= DUMP_LINE_BYTES_MAX {
            let read = hexadecimal(line, order).unwrap_or_default();
            let stop = start + line.len();
            if end.is_none() && (!read.is_empty() || may_become_offset(line)) {
                open = Some(start);
            }
            spans.extend(read.iter().map(|_| (start, stop)));
            bytes.extend(read);
        }
        start = end.map_or(text.len(), |end| end + 1);
    }
    (!bytes.is_empty() || open.is_some())
        .then(|| TextView::ranges(bytes, spans, open).reaching(ValueSpread::Lines))
}

fn may_become_offset(line: &[u8]) -> bool {
    let digits = line.strip_suffix(b":").or(line.strip_suffix(b" ")).unwrap_or(line);
    (1..=DUMP_OFFSET_DIGITS_MAX).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit)
}

/// Decodes the bytes of a dump's line.
fn hexadecimal(line: &[u8], order: ByteOrder) -> Option<Vec<u8>> {
    let offset = offset(line)?;
    let has_colon = line[offset] == b':';
    let rest = &line[offset + 1..];
    let rest = &rest[rest.iter().position(|byte| *byte != b' ')?..];
    let mut bytes = Vec::new();
    let mut blanks = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at] == b' ' {
            blanks += 1;
            at += 1;
            continue;
        }
        // `xxd` shows the letters after two blanks, `hexdump` and `od` after `|` or `>`.
        if has_colon && blanks > 1 {
            break;
        }
        blanks = 0;
        let length = rest[at..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let is_whole = matches!(rest.get(at + length), None | Some(b' '));
        if length < 2 || !length.is_multiple_of(2) || length > 16 && !has_colon || !is_whole {
            break;
        }
        let group = rest[at..at + length]
            .chunks(2)
            .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        match order {
            ByteOrder::Written => bytes.extend(group),
            ByteOrder::Swapped => bytes.extend(group.collect::<Vec<u8>>().into_iter().rev()),
        }
        at += length;
    }
    (!bytes.is_empty()).then_some(bytes)
}
