//! The forms in which a value may occur in a text, and the search for them.
//!
//! Must never: be printed; all its content derives from secret values.

use std::collections::{BTreeSet, HashSet};

use aho_corasick::AhoCorasick;
use secrecy::{ExposeSecret, SecretString};

use crate::limits::{SECRET_CHARS_MIN, SECRET_DENSE_BYTES_MIN, SECRET_LINE_BYTES_MIN};

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// The fewest bytes of a partial value beside a cut that are redacted.
const EDGE_BYTES_MIN: usize = 4;
/// The number of base64 characters for that many bytes.
const EDGE_BASE64_CHARS_MIN: usize = 6;
/// The number of hexadecimal digits for that many bytes.
const EDGE_HEX_CHARS_MIN: usize = 8;

/// The length of a row, by which a text is preselected; at most the shortest redacted part.
const ROW_BYTES: usize = EDGE_BYTES_MIN;
/// The number of bytes within which an escape may encode a row.
const ESCAPES_BYTES: usize = 6 * ROW_BYTES;

/// A side of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextSide {
    /// The beginning; read forward.
    Beginning,
    /// The end; read backward.
    End,
}

/// All values in all forms.
pub(super) struct SecretForms {
    /// The value itself, backwards, and with `+` for spaces.
    pub(super) plain: Needles,
    /// The value without blanks, for texts whose blanks are removed.
    pub(super) dense: Needles,
    /// The value in base64 within a longer text, at each of its three alignments.
    pub(super) base64: Needles,
    /// The letters and digits alone, two hexadecimal digits per byte, and base32; for texts reduced
    /// to letters and digits, in any case.
    pub(super) loose: Needles,
    /// All rows of four bytes of these forms, in lower case.
    rows: HashSet<[u8; ROW_BYTES]>,
    /// True if a value has blanks, so that rows prove nothing.
    has_blanks: bool,
}

/// One form of one value.
pub(super) struct Needle {
    bytes: Vec<u8>,
    /// The index of the value.
    pub(super) name: usize,
    /// True if the character before it carries some of its bits.
    pub(super) before: bool,
    /// True if the character after it carries some of its bits.
    pub(super) after: bool,
}

/// The place where a needle was found.
pub(super) struct NeedleMatch {
    pub(super) needle: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The forms that are searched together.
pub(super) struct Needles {
    /// Sorted by their bytes.
    pub(super) all: Vec<Needle>,
    pub(super) longest: usize,
    /// The fewest bytes of a part at a cut that are redacted.
    pub(super) edge_min: usize,
    any_case: bool,
    search: AhoCorasick,
    /// The reversed bytes, sorted, each with its index in `all`.
    backward: Vec<(Vec<u8>, usize)>,
}

impl SecretForms {
    /// Builds all forms; None if no value is long enough to search.
    pub(super) fn of(values: &[SecretString]) -> Option<Self> {
        let mut seen = BTreeSet::new();
        let mut texts = Vec::new();
        for (name, value) in values.iter().enumerate() {
            for text in parts(value.expose_secret()) {
                if seen.insert(text.to_owned()) {
                    texts.push((name, text));
                }
            }
        }
        if texts.is_empty() {
            return None;
        }
        let has_blanks = texts.iter().any(|(_, text)| text.contains(char::is_whitespace));
        let texts = || texts.iter().copied();
        let mut forms = Self {
            plain: Needles::new(
                texts().flat_map(|(name, text)| plain(name, text)),
                EDGE_BYTES_MIN,
                false,
            ),
            dense: Needles::new(
                texts().filter_map(|(name, text)| dense(name, text)),
                EDGE_BYTES_MIN,
                false,
            ),
            base64: Needles::new(
                texts().flat_map(|(name, text)| base64(name, text)),
                EDGE_BASE64_CHARS_MIN,
                false,
            ),
            loose: Needles::new(
                texts().flat_map(|(name, text)| loose(name, text)),
                EDGE_HEX_CHARS_MIN,
                true,
            ),
            rows: HashSet::new(),
            has_blanks,
        };
        let all = [&forms.plain, &forms.base64, &forms.loose];
        let needles = all.iter().flat_map(|needles| &needles.all);
        forms.rows = needles.flat_map(|needle| rows(&needle.bytes)).collect();
        Some(forms)
    }

    /// Tests quickly if a part of a value may be at one side of a text, for texts with many cuts.
    /// True may be a false alarm; false is certain.
    pub(super) fn may_stand<'a>(
        &self,
        text: impl Iterator<Item = &'a u8> + Clone,
        side: TextSide,
    ) -> bool {
        let is_escaped = text.clone().take(ESCAPES_BYTES).any(|byte| b"%\\&\0:".contains(byte));
        let is_numeric =
            text.clone().take(ESCAPES_BYTES).filter(|byte| byte.is_ascii_digit()).count()
                >= ROW_BYTES;
        let mut row: Vec<u8> = text
            .filter(|byte| !byte.is_ascii_whitespace())
            .take(ROW_BYTES)
            .map(u8::to_ascii_lowercase)
            .collect();
        if side == TextSide::End {
            row.reverse();
        }
        let is_known = <[u8; ROW_BYTES]>::try_from(row).is_ok_and(|row| self.rows.contains(&row));
        self.has_blanks || is_escaped || is_known || is_numeric
    }

    pub(super) fn longest(&self) -> usize {
        let all = [&self.plain, &self.dense, &self.base64, &self.loose];
        all.iter().map(|needles| needles.longest).max().unwrap_or_default()
    }
}

/// Returns a value and its longer lines; the framing lines of a key are public and left out.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    let is_known = value.chars().count() >= SECRET_CHARS_MIN;
    let lines = value.lines().map(str::trim).filter(move |line| {
        *line != value && line.len() >= SECRET_LINE_BYTES_MIN && !line.starts_with("-----")
    });
    is_known.then_some(value).into_iter().chain(lines)
}

fn rows(bytes: &[u8]) -> impl Iterator<Item = [u8; ROW_BYTES]> {
    bytes
        .windows(ROW_BYTES)
        .filter_map(|row| <[u8; ROW_BYTES]>::try_from(row.to_ascii_lowercase()).ok())
}

fn plain(name: usize, text: &str) -> Vec<Needle> {
    let needle = |bytes| Needle { bytes, name, before: false, after: false };
    let with_plus = text.contains(' ').then(|| text.replace(' ', "+").into_bytes());
    let backwards: String = text.chars().rev().collect();
    let all = [text.as_bytes().to_vec(), backwards.into_bytes()];
    let mut all: Vec<Vec<u8>> = all.into_iter().chain(with_plus).collect();
    all.dedup();
    all.into_iter().map(needle).collect()
}

fn dense(name: usize, text: &str) -> Option<Needle> {
    let bytes: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let is_long = bytes.len() >= SECRET_DENSE_BYTES_MIN;
    is_long.then_some(Needle { bytes, name, before: false, after: false })
}

fn loose(name: usize, text: &str) -> Vec<Needle> {
    let needle = |bytes| Needle { bytes, name, before: false, after: false };
    let is_kept = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let letters: Vec<u8> =
        text.bytes().filter(is_kept).map(|byte| byte.to_ascii_lowercase()).collect();
    let letters = (letters.len() >= SECRET_DENSE_BYTES_MIN).then(|| needle(letters));
    let hexadecimal = encodings(text).into_iter().map(|bytes| needle(hex(&bytes)));
    let mut all: Vec<Needle> = letters.into_iter().chain(hexadecimal).collect();
    all.extend(base32(name, text.as_bytes()));
    all
}

/// Returns a text's bytes in UTF-8, and in UTF-16 in both byte orders.
fn encodings(text: &str) -> [Vec<u8>; 3] {
    [
        text.as_bytes().to_vec(),
        text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    ]
}

fn hex(bytes: &[u8]) -> Vec<u8> {
    let digits = b"0123456789abcdef";
    let pair = |byte: &u8| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]];
    bytes.iter().flat_map(pair).collect()
}

/// Returns the characters that the value alone determines, per alignment in five bytes.
fn base32(name: usize, value: &[u8]) -> impl Iterator<Item = Needle> + '_ {
    (0..5).map(move |place| {
        let placed: Vec<u8> = std::iter::repeat_n(0, place).chain(value.iter().copied()).collect();
        let undecided = (place * 8).div_ceil(5);
        let bytes = groups(&placed, 5).map(|bits| BASE32[usize::from(bits)]).skip(undecided);
        let (before, after) = (place > 0, !placed.len().is_multiple_of(5));
        Needle { bytes: bytes.collect(), name, before, after }
    })
}

/// Returns the characters that the value alone determines, per alignment in three bytes.
fn base64(name: usize, text: &str) -> Vec<Needle> {
    let mut needles: Vec<Needle> = Vec::new();
    let places =
        encodings(text).into_iter().flat_map(|bytes| (0..3).map(move |at| (at, bytes.clone())));
    for (place, value) in places {
        for alphabet in [STANDARD, URL_SAFE] {
            let placed: Vec<u8> =
                std::iter::repeat_n(0, place).chain(value.iter().copied()).collect();
            let undecided = (place * 8).div_ceil(6);
            let characters = groups(&placed, 6).map(|bits| alphabet[usize::from(bits)]);
            let bytes: Vec<u8> = characters.skip(undecided).collect();
            if needles.iter().all(|needle| needle.bytes != bytes) {
                let (before, after) = (place > 0, !placed.len().is_multiple_of(3));
                needles.push(Needle { bytes, name, before, after });
            }
        }
    }
    needles
}

/// Splits bytes into groups of `size` bits; an incomplete group at the end is dropped.
fn groups(bytes: &[u8], size: usize) -> impl Iterator<Item = u8> {
    let bit = |at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
    let whole = bytes.len() * 8 / size;
    (0..whole).map(move |at| (at * size..at * size + size).fold(0, |bits, at| bits << 1 | bit(at)))
}

/// True if a byte may occur in base64.
pub(super) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

impl Needles {
    fn new(all: impl Iterator<Item = Needle>, edge_min: usize, any_case: bool) -> Self {
        let mut all: Vec<Needle> = all.collect();
        all.sort_by(|a, b| a.bytes.cmp(&b.bytes));
        let longest = all.iter().map(|needle| needle.bytes.len()).max().unwrap_or_default();
        let search = AhoCorasick::builder()
            .ascii_case_insensitive(any_case)
            .build(all.iter().map(|needle| &needle.bytes));
        // The only error is an input too large for 32-bit indexes; the limits prevent it.
        let search = search.expect("the bytes of all forms can be counted");
        let mut backward: Vec<(Vec<u8>, usize)> = all
            .iter()
            .enumerate()
            .map(|(at, needle)| (needle.bytes.iter().rev().copied().collect(), at))
            .collect();
        backward.sort();
        Self { all, longest, edge_min, any_case, search, backward }
    }

    /// Finds all needles in a text, including those that overlap.
    pub(super) fn find_in<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = NeedleMatch> + 'a {
        self.search.find_overlapping_iter(text).map(|one| NeedleMatch {
            needle: one.pattern().as_usize(),
            start: one.start(),
            end: one.end(),
        })
    }

    /// Returns a needle that begins with these bytes.
    pub(super) fn beginning_with(&self, bytes: &[u8]) -> Option<usize> {
        let bytes = self.cased(bytes);
        let at = self.all.partition_point(|needle| needle.bytes.as_slice() < &*bytes);
        self.all.get(at).filter(|needle| needle.bytes.starts_with(&bytes)).map(|_| at)
    }

    /// True if a needle begins with these bytes and is longer.
    pub(super) fn is_begun_with(&self, bytes: &[u8]) -> bool {
        let bytes = self.cased(bytes);
        let at = self.all.partition_point(|needle| needle.bytes.as_slice() <= &*bytes);
        self.all.get(at).is_some_and(|needle| needle.bytes.starts_with(&bytes))
    }

    /// Returns a needle that ends with these bytes.
    pub(super) fn ending_with(&self, bytes: &[u8]) -> Option<usize> {
        let bytes: Vec<u8> = self.cased(bytes).iter().rev().copied().collect();
        let at = self.backward.partition_point(|(needle, _)| *needle < bytes);
        let (needle, at) = self.backward.get(at)?;
        needle.starts_with(&bytes).then_some(*at)
    }

    fn cased<'a>(&self, bytes: &'a [u8]) -> std::borrow::Cow<'a, [u8]> {
        if self.any_case { bytes.to_ascii_lowercase().into() } else { bytes.into() }
    }
}
