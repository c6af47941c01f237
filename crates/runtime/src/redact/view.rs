//! A text as it reads when its escapes are undone, with the way back to the bytes that it has.
//!
//! Must never: refuse a text; what is no escape stands for itself.

/// A text that was read in some way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    /// For each byte, where it stands in the text: from and to.
    pub(super) spans: Vec<(usize, usize)>,
    /// Where an escape begins that is not at its end.
    pub(super) open: Option<usize>,
}

impl View {
    /// The bytes before an escape that is not at its end.
    pub(super) fn certain(&self) -> &[u8] {
        let end = match self.open {
            Some(open) => self.spans.partition_point(|span| span.0 < open),
            None => self.bytes.len(),
        };
        &self.bytes[..end]
    }
}

/// What stands at some place of a text.
enum Read {
    /// A byte that stands for itself.
    Same,
    /// These bytes, written with so many.
    Bytes(Vec<u8>, usize),
    /// Perhaps an escape; the rest is missing.
    Open,
}

/// As it is.
pub(super) fn plain(text: &[u8]) -> View {
    let spans = (0..text.len()).map(|at| (at, at + 1)).collect();
    View { bytes: text.to_vec(), spans, open: None }
}

/// With `%41` read as `A`; nothing if there is no percent sign.
pub(super) fn percent_decoded(text: &[u8]) -> Option<View> {
    text.contains(&b'%').then(|| {
        read(text, |rest| match rest {
            [b'%', after @ ..] => hexadecimal(after, 2, 1, |number| vec![number.to_le_bytes()[0]]),
            _ => Read::Same,
        })
    })
}

/// With `\"`, `\n`, `\x41` and `\u0041` read as what they stand for; nothing if there is no backslash.
pub(super) fn unescaped(text: &[u8]) -> Option<View> {
    text.contains(&b'\\').then(|| read(text, escape))
}

/// Without blanks; nothing if there is none.
pub(super) fn dense(text: &[u8]) -> Option<View> {
    if !text.iter().any(u8::is_ascii_whitespace) {
        return None;
    }
    let kept = text.iter().enumerate().filter(|(_, byte)| !byte.is_ascii_whitespace());
    let (spans, bytes) = kept.map(|(at, byte)| ((at, at + 1), *byte)).unzip();
    Some(View { bytes, spans, open: None })
}

fn read(text: &[u8], next: impl Fn(&[u8]) -> Read) -> View {
    let mut view = View { bytes: Vec::new(), spans: Vec::new(), open: None };
    let mut at = 0;
    while at < text.len() {
        let read = next(&text[at..]);
        if let Read::Bytes(bytes, taken) = read {
            view.spans.extend(bytes.iter().map(|_| (at, at + taken)));
            view.bytes.extend(bytes);
            at += taken;
            continue;
        }
        if let Read::Open = read {
            view.open = view.open.or(Some(at));
        }
        view.spans.push((at, at + 1));
        view.bytes.push(text[at]);
        at += 1;
    }
    view
}

fn escape(rest: &[u8]) -> Read {
    let one = |byte: u8| Read::Bytes(vec![byte], 2);
    match rest {
        [b'\\'] => Read::Open,
        [b'\\', b'n', ..] => one(b'\n'),
        [b'\\', b't', ..] => one(b'\t'),
        [b'\\', b'r', ..] => one(b'\r'),
        [b'\\', b'b', ..] => one(8),
        [b'\\', b'f', ..] => one(12),
        [b'\\', byte @ (b'"' | b'\'' | b'\\' | b'/' | b'$' | b'`' | b' '), ..] => one(*byte),
        [b'\\', b'x', after @ ..] => {
            hexadecimal(after, 2, 2, |number| vec![number.to_le_bytes()[0]])
        }
        [b'\\', b'u', after @ ..] => unicode(after),
        _ => Read::Same,
    }
}

/// `\u00e9`, or two of them for one character.
fn unicode(after: &[u8]) -> Read {
    let is_high = |number: &u32| (0xd800..0xdc00).contains(number);
    let high = after.get(..4).and_then(number).filter(is_high);
    let Some(high) = high else { return hexadecimal(after, 4, 2, character) };
    match &after[4..] {
        [] | [b'\\'] => Read::Open,
        [b'\\', b'u', low @ ..] => hexadecimal(low, 4, 8, |low| {
            character(0x10000 + ((high - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff))
        }),
        _ => Read::Same,
    }
}

fn character(number: u32) -> Vec<u8> {
    let character = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
    character.to_string().into_bytes()
}

/// So many digits, after so many bytes that announce them.
fn hexadecimal(
    after: &[u8],
    digits: usize,
    announced: usize,
    made: impl Fn(u32) -> Vec<u8>,
) -> Read {
    let shown = &after[..after.len().min(digits)];
    match number(shown) {
        Some(number) if shown.len() == digits => Read::Bytes(made(number), announced + digits),
        Some(_) => Read::Open,
        None if shown.is_empty() => Read::Open,
        None => Read::Same,
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    let all = digits.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| all)?;
    u32::from_str_radix(text, 16).ok()
}
