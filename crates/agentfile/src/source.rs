//! Text with a name, and places in it.
//!
//! A `SourceText` is one file as people see it; a `Span` is a range of its bytes; an `Origin` is
//! the file, line and column of a value, both counted from one.
//!
//! Must never: change a text after a place in it was returned.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A range of bytes of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last.
    pub end: usize,
}

impl Span {
    /// Returns the span from one byte to before another.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end: end.max(start) }
    }

    /// Returns the span moved forward by a number of bytes.
    pub fn shifted(self, by: usize) -> Self {
        Self { start: self.start + by, end: self.end + by }
    }

    /// Returns the span as a range of bytes.
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// A text with the name of its file.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// The path as people see it.
    pub file: Arc<str>,
    /// The whole text: no byte order mark, lines end with `\n`.
    pub text: Arc<str>,
    // True for a text made from a flag or a variable, in which lines and columns mean nothing.
    made: bool,
    // Invariant: the byte offset at which each line of `text` begins; never empty.
    lines: Arc<[usize]>,
    // Invariant: the number of characters before each `MARK_BYTES` bytes; never empty.
    // Without it a column on a line of a megabyte costs a megabyte, each time.
    marks: Arc<[usize]>,
}

const MARK_BYTES: usize = 1024;

impl SourceText {
    /// Creates the text of a file; removes no byte order mark and changes no line ending.
    pub fn new(file: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        let text: Arc<str> = text.into();
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        let chunks = text.as_bytes().chunks(MARK_BYTES);
        let marks = chunks.scan(0, |before, chunk| {
            let mark = *before;
            *before += characters(chunk);
            Some(mark)
        });
        let marks = marks.chain(text.is_empty().then_some(0)).collect();
        Self { file: file.into(), text, made: false, lines, marks }
    }

    /// Creates the text of a flag or a variable, which no editor can open at a line.
    pub fn synthetic(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { made: true, ..Self::new(name, text) }
    }

    /// Returns the number of characters before a byte.
    fn characters_before(&self, byte: usize) -> usize {
        let mark = (byte / MARK_BYTES).min(self.marks.len() - 1);
        self.marks[mark] + characters(&self.text.as_bytes()[mark * MARK_BYTES..byte])
    }

    /// Returns the line and column of a byte, both from one; columns count characters.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let byte = floor_char(&self.text, byte);
        let line = self.lines.partition_point(|start| *start <= byte) - 1;
        let column = self.characters_before(byte) - self.characters_before(self.lines[line]);
        (line + 1, column + 1)
    }

    /// Returns the byte at a line and column, both from one; the end of the text if there is none.
    pub fn offset(&self, line: usize, column: usize) -> usize {
        let Some(start) = self.lines.get(line.saturating_sub(1)) else { return self.text.len() };
        let line = self.text[*start..].split('\n').next().unwrap_or_default();
        let rest = line.chars().take(column.saturating_sub(1));
        start + rest.map(char::len_utf8).sum::<usize>()
    }

    /// Returns the origin of the beginning of a span.
    pub fn origin(&self, span: Span) -> Origin {
        if self.made {
            return Origin::named(self.file.clone());
        }
        let (line, column) = self.position(span.start);
        Origin { file: self.file.clone(), line, column }
    }

    /// Returns the text of a span.
    pub fn slice(&self, span: Span) -> &str {
        let end = floor_char(&self.text, span.end);
        &self.text[floor_char(&self.text, span.start).min(end)..end]
    }
}

/// Counts the characters that begin in these bytes of a text.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

fn floor_char(text: &str, byte: usize) -> usize {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}

/// The file and the place from which a value came.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The file, or a name such as `built-in` or `environment SHELL_TOOL_MODE`.
    pub file: Arc<str>,
    /// The line, from one; zero when the origin is not a text.
    pub line: usize,
    /// The column, from one; zero when the origin is not a text.
    pub column: usize,
}

impl Origin {
    /// Creates an origin that is not a place in a file.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self { file: name.into(), line: 0, column: 0 }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}:{}", self.file, self.column),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Parses the form that `Display` writes.
impl From<String> for Origin {
    fn from(text: String) -> Self {
        let place = || {
            let (rest, column) = text.rsplit_once(':')?;
            let (file, line) = rest.rsplit_once(':')?;
            Some(Self { file: file.into(), line: line.parse().ok()?, column: column.parse().ok()? })
        };
        // `a:01:1` is a name that only looks like a place.
        place().filter(|place| place.to_string() == text).unwrap_or_else(|| Self::named(text))
    }
}

impl<'de> Deserialize<'de> for Origin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SourcedValue<T> {
    /// The value.
    pub value: T,
    /// The place of the value.
    pub origin: Origin,
}

impl<T> SourcedValue<T> {
    /// Creates a value with its origin.
    pub fn new(value: T, origin: Origin) -> Self {
        Self { value, origin }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_count_from_one() {
        let source = SourceText::new("a.yml", "é: 1\nb: ü2\n");
        assert_eq!(source.position(0), (1, 1));
        assert_eq!(source.position(source.text.find("1\n").unwrap()), (1, 4));
        assert_eq!(source.position(source.text.find('2').unwrap()), (2, 5));
        assert_eq!(source.position(1_000), (3, 1));
    }

    #[test]
    fn an_origin_is_read_back_as_it_was_written() {
        let place = Origin { file: "a:b/c.yml".into(), line: 3, column: 7 };
        let names = ["built-in", "environment X", "a.yml", "a:01:1", "a:0:1", "b:+1:2", ":", "::"];
        for origin in names.map(Origin::named).into_iter().chain([place]) {
            let json = serde_json::to_string(&origin).unwrap();
            assert_eq!(serde_json::from_str::<Origin>(&json).unwrap(), origin, "{json}");
        }
    }

    #[test]
    fn columns_of_a_long_line_are_exact() {
        let text = format!("é\n{}b\nc", "äa".repeat(5_000));
        let source = SourceText::new("a.yml", text.as_str());
        for (found, expected) in [("é", (1, 1)), ("b", (2, 10_001)), ("c", (3, 1))] {
            let at = text.find(found).unwrap();
            assert_eq!(source.position(at), expected);
            assert_eq!(source.offset(expected.0, expected.1), at);
        }
        assert_eq!(source.position(3 + 3 * 700), (2, 1_401));
    }
}
