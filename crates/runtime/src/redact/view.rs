//! Views of a text with its escapes decoded, each byte mapped to its place in the text.
//!
//! Must never: fail on a text; bytes outside of escapes stay as they are.

use std::borrow::Cow;

use crate::limits::{DUMP_LINE_BYTES_MAX, SECRET_BLANK_BYTES_MAX};

/// A decoded form of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextView<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    spans: Spans,
    /// The start of an incomplete escape; None if there is none.
    pub(super) open: Option<usize>,
    reach: ValueSpread,
}

/// The place of each byte in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Spans {
    /// Each byte is at its own index.
    Same,
    /// Each is a single byte, at these places.
    Places(Vec<usize>),
    /// Each takes a range: start and end.
    Ranges(Vec<(usize, usize)>),
}

/// The distance over which a value may be spread in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueSpread {
    /// Each byte is plain or an escape.
    Escaped,
    /// Any signs may be between the bytes.
    Spread,
    /// Each byte spans its whole line.
    Lines,
}

impl<'a> TextView<'a> {
    pub(super) fn ranges(bytes: Vec<u8>, spans: Vec<(usize, usize)>, open: Option<usize>) -> Self {
        Self { bytes: bytes.into(), spans: Spans::Ranges(spans), open, reach: ValueSpread::Escaped }
    }

    pub(super) fn places(bytes: Vec<u8>, places: Vec<usize>, open: Option<usize>) -> Self {
        Self {
            bytes: bytes.into(),
            spans: Spans::Places(places),
            open,
            reach: ValueSpread::Escaped,
        }
    }

    /// Returns the most bytes that a value may take in a text; `\u0041` takes six for one.
    pub(super) fn reach(&self, bytes: usize) -> usize {
        match self.reach {
            ValueSpread::Escaped => 6 * bytes + SECRET_BLANK_BYTES_MAX,
            ValueSpread::Spread => 12 * bytes + 4 * SECRET_BLANK_BYTES_MAX,
            ValueSpread::Lines => 8 * bytes + 2 * DUMP_LINE_BYTES_MAX,
        }
    }

    /// Returns the view with another spread of values.
    pub(super) fn reaching(self, reach: ValueSpread) -> Self {
        Self { reach, ..self }
    }

    /// Returns the range of a byte in the text: start and end.
    pub(super) fn span(&self, at: usize) -> (usize, usize) {
        match &self.spans {
            Spans::Same => (at, at + 1),
            Spans::Places(places) => (places[at], places[at] + 1),
            Spans::Ranges(ranges) => ranges[at],
        }
    }

    /// Returns the bytes before the first incomplete escape.
    pub(super) fn certain(&self) -> &[u8] {
        let end = match (self.open, &self.spans) {
            (None, _) => self.bytes.len(),
            (Some(open), Spans::Same) => open,
            (Some(open), Spans::Places(places)) => places.partition_point(|place| *place < open),
            (Some(open), Spans::Ranges(ranges)) => ranges.partition_point(|span| span.0 < open),
        };
        &self.bytes[..end]
    }
}

/// The token at a place of a text.
enum EscapeToken {
    /// A byte that is no escape.
    Same,
    /// The decoded bytes, and the length of the escape.
    Bytes(Vec<u8>, usize),
    /// A possible escape whose rest is missing.
    Open,
}

/// Returns the text itself.
pub(super) fn plain(text: &[u8]) -> TextView<'_> {
    TextView { bytes: text.into(), spans: Spans::Same, open: None, reach: ValueSpread::Escaped }
}

/// Decodes `%41` as `A`; None without a percent sign.
pub(super) fn percent_decoded(text: &[u8]) -> Option<TextView<'static>> {
    text.contains(&b'%').then(|| {
        read(text, |rest| match rest {
            [b'%', after @ ..] => hexadecimal(after, 2, 1, |number| vec![number.to_le_bytes()[0]]),
            _ => EscapeToken::Same,
        })
    })
}

/// Decodes `\"`, `\n`, `\x41`, `\101` and `\u0041`; None without a backslash.
pub(super) fn unescaped(text: &[u8]) -> Option<TextView<'static>> {
    text.contains(&b'\\').then(|| read(text, escape))
}

/// Decodes `&#65;`, `&#x41;` and `&amp;`; None without an ampersand.
pub(super) fn without_entities(text: &[u8]) -> Option<TextView<'static>> {
    text.contains(&b'&').then(|| read(text, entity))
}

/// Removes blanks; None if there are none.
pub(super) fn dense(text: &[u8]) -> Option<TextView<'static>> {
    kept(text, |byte| !byte.is_ascii_whitespace())
}

/// Removes the zero bytes that UTF-16 has beside each letter; None if there are none.
pub(super) fn without_zeros(text: &[u8]) -> Option<TextView<'static>> {
    text.contains(&0).then(|| kept(text, |byte| byte != 0)).flatten()
}

fn kept(text: &[u8], is_kept: impl Fn(u8) -> bool) -> Option<TextView<'static>> {
    if text.iter().all(|byte| is_kept(*byte)) {
        return None;
    }
    let kept = text.iter().enumerate().filter(|(_, byte)| is_kept(**byte));
    let (bytes, places) = kept.map(|(at, byte)| (*byte, at)).unzip();
    Some(TextView::places(bytes, places, None))
}

fn read(text: &[u8], next: impl Fn(&[u8]) -> EscapeToken) -> TextView<'static> {
    let (mut all, mut spans, mut open) = (Vec::new(), Vec::new(), None);
    let mut at = 0;
    while at < text.len() {
        let read = next(&text[at..]);
        if let EscapeToken::Bytes(bytes, taken) = read {
            spans.extend(bytes.iter().map(|_| (at, at + taken)));
            all.extend(bytes);
            at += taken;
            continue;
        }
        if let EscapeToken::Open = read {
            open = open.or(Some(at));
        }
        spans.push((at, at + 1));
        all.push(text[at]);
        at += 1;
    }
    TextView::ranges(all, spans, open)
}

fn escape(rest: &[u8]) -> EscapeToken {
    let one = |byte: u8| EscapeToken::Bytes(vec![byte], 2);
    match rest {
        [b'\\'] => EscapeToken::Open,
        [b'\\', b'n', ..] => one(b'\n'),
        [b'\\', b't', ..] => one(b'\t'),
        [b'\\', b'r', ..] => one(b'\r'),
        [b'\\', b'b', ..] => one(8),
        [b'\\', b'f', ..] => one(12),
        [b'\\', byte @ (b'"' | b'\'' | b'\\' | b'/' | b'$' | b'`' | b' '), ..] => one(*byte),
        [b'\\', b'x', after @ ..] => {
            hexadecimal(after, 2, 2, |number| vec![number.to_le_bytes()[0]])
        }
        [b'\\', b'u', b'{', after @ ..] => braced(after),
        [b'\\', b'u', after @ ..] => unicode(after),
        [b'\\', b'0'..=b'3', ..] => octal(&rest[1..]),
        _ => EscapeToken::Same,
    }
}

/// Decodes `\101`.
fn octal(after: &[u8]) -> EscapeToken {
    let shown = &after[..after.len().min(3)];
    let is_octal = shown.iter().all(|byte| (b'0'..=b'7').contains(byte));
    match (is_octal, shown.len()) {
        (true, 3) => {
            let byte = shown.iter().fold(0_u8, |number, digit| number << 3 | (digit - b'0'));
            EscapeToken::Bytes(vec![byte], 4)
        }
        (true, _) => EscapeToken::Open,
        (false, _) => EscapeToken::Same,
    }
}

/// Decodes `\u{e9}`.
fn braced(after: &[u8]) -> EscapeToken {
    let digits = after.iter().take(6).take_while(|byte| byte.is_ascii_hexdigit()).count();
    match (after.get(digits), number(&after[..digits])) {
        (Some(b'}'), Some(number)) => EscapeToken::Bytes(character(number), digits + 4),
        (None, _) => EscapeToken::Open,
        (Some(_), _) => EscapeToken::Same,
    }
}

/// Decodes `&#65;`, `&#x41;` and the five common named entities.
fn entity(rest: &[u8]) -> EscapeToken {
    const NAMED: [(&[u8], u8); 5] =
        [(b"&amp;", b'&'), (b"&lt;", b'<'), (b"&gt;", b'>'), (b"&quot;", b'"'), (b"&apos;", b'\'')];
    let Some(b'&') = rest.first() else { return EscapeToken::Same };
    if let Some((name, byte)) = NAMED.iter().find(|(name, _)| rest.starts_with(name)) {
        return EscapeToken::Bytes(vec![*byte], name.len());
    }
    if NAMED.iter().any(|(name, _)| name.starts_with(rest)) || b"&#x".starts_with(rest) {
        return EscapeToken::Open;
    }
    let (radix, lead) = match rest {
        [_, b'#', b'x' | b'X', ..] => (16, 3),
        [_, b'#', ..] => (10, 2),
        _ => return EscapeToken::Same,
    };
    let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
    let digits = rest[lead..].iter().take(7).take_while(is_digit).count();
    let text = std::str::from_utf8(&rest[lead..lead + digits]).unwrap_or_default();
    match (u32::from_str_radix(text, radix), rest.get(lead + digits)) {
        (_, None) => EscapeToken::Open,
        (Ok(number), Some(end)) => {
            EscapeToken::Bytes(character(number), lead + digits + usize::from(*end == b';'))
        }
        (Err(_), Some(_)) => EscapeToken::Same,
    }
}

/// Decodes `\u00e9`, or a surrogate pair of two of them.
fn unicode(after: &[u8]) -> EscapeToken {
    let is_high = |number: &u32| (0xd800..0xdc00).contains(number);
    let high = after.get(..4).and_then(number).filter(is_high);
    let Some(high) = high else { return hexadecimal(after, 4, 2, character) };
    match &after[4..] {
        [] | [b'\\'] => EscapeToken::Open,
        [b'\\', b'u', low @ ..] => hexadecimal(low, 4, 8, |low| {
            character(0x10000 + ((high - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff))
        }),
        _ => EscapeToken::Same,
    }
}

fn character(number: u32) -> Vec<u8> {
    let character = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
    character.to_string().into_bytes()
}

/// Decodes `digits` hexadecimal digits after a prefix of `announced` bytes.
fn hexadecimal(
    after: &[u8],
    digits: usize,
    announced: usize,
    made: impl Fn(u32) -> Vec<u8>,
) -> EscapeToken {
    let shown = &after[..after.len().min(digits)];
    match number(shown) {
        Some(number) if shown.len() == digits => {
            EscapeToken::Bytes(made(number), announced + digits)
        }
        Some(_) => EscapeToken::Open,
        None if shown.is_empty() => EscapeToken::Open,
        None => EscapeToken::Same,
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    let all = digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| all)?;
    u32::from_str_radix(text, 16).ok()
}
