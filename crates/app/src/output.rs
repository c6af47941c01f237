//! Standard output and standard error, as every verb writes them.
//!
//! Names, paths, descriptions and errors come from files that others wrote. Whatever in them could steer a
//! terminal or reorder a line is written as an escape, here, for all of them. Our own colors pass: of the
//! sequences that a terminal obeys only those that set a weight or a plain color.
//!
//! An escape is written as in JSON (`\u001b`), so that a JSON document stays one and means the same.
//!
//! Must never: let a control character through but line ends, tabs and our own colors.

use std::io::{self, Write};

use crate::limits::STYLE_BYTES_MAX;

/// Where text for people and programs goes.
pub(crate) struct EscapingWriter<W: Write> {
    to: W,
    /// The beginning of a character or of a color that is not whole yet.
    held: Vec<u8>,
}

/// Standard output.
pub(crate) fn stdout() -> EscapingWriter<anstream::Stdout> {
    EscapingWriter::new(anstream::stdout())
}

/// Standard error.
pub(crate) fn stderr() -> EscapingWriter<anstream::Stderr> {
    EscapingWriter::new(anstream::stderr())
}

impl EscapingWriter<anstream::Stdout> {
    /// Keeps others from writing in between.
    pub(crate) fn lock(self) -> EscapingWriter<anstream::AutoStream<io::StdoutLock<'static>>> {
        EscapingWriter::new(anstream::stdout().lock())
    }
}

impl EscapingWriter<anstream::Stderr> {
    /// Keeps others from writing in between.
    pub(crate) fn lock(self) -> EscapingWriter<anstream::AutoStream<io::StderrLock<'static>>> {
        EscapingWriter::new(anstream::stderr().lock())
    }
}

impl<W: Write> EscapingWriter<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, held: Vec::new() }
    }

    /// Writes what waited for its rest.
    fn end(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        match held.is_empty() {
            true => Ok(()),
            false => self.to.write_all(escaped(&String::from_utf8_lossy(&held)).as_bytes()),
        }
    }
}

impl<W: Write> Write for EscapingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        let all = std::mem::take(&mut self.held);
        let whole = all.len() - unfinished(&all);
        self.held = all[whole..].to_vec();
        self.to.write_all(passed(&all[..whole]).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end()?;
        self.to.flush()
    }
}

impl<W: Write> Drop for EscapingWriter<W> {
    fn drop(&mut self) {
        // With nowhere left to write to there is nobody to tell.
        self.end().unwrap_or_default();
    }
}

/// How many bytes at the end are the beginning of a character or of a color.
fn unfinished(bytes: &[u8]) -> usize {
    let near = bytes.len().saturating_sub(STYLE_BYTES_MAX);
    if let Some(at) = bytes[near..].iter().rposition(|byte| *byte == 0x1b) {
        let tail = &bytes[near + at..];
        let is_begun = match tail {
            [_] => true,
            [_, b'[', rest @ ..] => rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b';'),
            _ => false,
        };
        if is_begun {
            return tail.len();
        }
    }
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    match std::str::from_utf8(tail) {
        Ok(_) => 0,
        Err(_) => {
            let lead = tail.iter().rposition(|byte| *byte >= 0xc0);
            let rest = lead.map(|at| &tail[at..]);
            rest.filter(|rest| is_begun(rest)).map_or(0, <[u8]>::len)
        }
    }
}

/// Whether these are the first bytes of a character that has more.
fn is_begun(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// A text with everything escaped but our own colors.
fn passed(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&escaped(&rest[..at]));
        rest = &rest[at..];
        let taken = match style(rest) {
            Some(length) => {
                out.push_str(&rest[..length]);
                length
            }
            None => {
                out.push_str(&escaped("\u{1b}"));
                1
            }
        };
        rest = &rest[taken..];
    }
    out.push_str(&escaped(rest));
    out
}

/// The length of a color at the beginning of a text. Colors that hide text are none of ours.
fn style(text: &str) -> Option<usize> {
    let behind = text.strip_prefix("\u{1b}[")?;
    let length = behind.find('m').filter(|length| length + 3 <= STYLE_BYTES_MAX)?;
    let is_ours = |number: &str| {
        matches!(number.parse::<u8>(), Ok(0..=4 | 9 | 22..=24 | 29 | 31..=37 | 39 | 90..=97))
            || number.is_empty()
    };
    behind[..length].split(';').all(is_ours).then_some(length + 3)
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match steers(c) {
            true => {
                let mut units = [0; 2];
                let units = c.encode_utf16(&mut units).iter();
                units.for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
            }
            false => out.push(c),
        }
    }
    out
}

/// Whether a character moves the cursor, reorders the line, or carries a text that is not shown.
fn steers(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        _ => {
            c.is_control()
                || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                    | '\u{e0000}'..='\u{e0fff}')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: &[&[u8]]) -> String {
        let mut out = Vec::new();
        let mut output = EscapingWriter::new(&mut out);
        for piece in pieces {
            output.write_all(piece).unwrap();
        }
        drop(output);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_steers_a_terminal_is_escaped_and_colors_pass() {
        let text = "a\u{1b}]0;PWN\u{7}\u{9b}2J\u{202e}\r\u{7f}\u{e0041}b\n\tc";
        let shown = "a\\u001b]0;PWN\\u0007\\u009b2J\\u202e\\u000d\\u007f\\udb40\\udc41b\n\tc";
        assert_eq!(written(&[text.as_bytes()]), shown);
        let red = "\u{1b}[1m\u{1b}[31mred\u{1b}[0m";
        assert_eq!(written(&[red.as_bytes()]), red);
        assert_eq!(
            written(&[b"\x1b[8mx\x1b[30mx\x1b[2Jx\x1b["]),
            "\\u001b[8mx\\u001b[30mx\\u001b[2Jx\\u001b["
        );
    }

    #[test]
    fn every_way_to_cut_a_text_in_two_writes_the_same() {
        let text =
            "é漢😀\u{1b}[1;31mx\u{1b}]0;\u{7}\u{202e}\u{1b}[0m\u{1b}[9999999999999999999999999mend"
                .as_bytes();
        let whole = written(&[text]);
        for at in 0..=text.len() {
            assert_eq!(written(&[&text[..at], &text[at..]]), whole, "{at}");
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(written(&bytes), whole);
    }

    #[test]
    fn a_json_document_stays_one_and_means_the_same() {
        let value = serde_json::json!({ "a\u{202e}": ["\u{9b}\u{1b}", "\u{e0041}", "\u{2028}é"] });
        let text = written(&[value.to_string().as_bytes()]);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(text.is_ascii() || text.contains('é'));
    }
}
