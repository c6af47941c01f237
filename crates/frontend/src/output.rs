//! Standard output and standard error of all commands.
//!
//! Names, paths, descriptions and errors come from files of other authors. Characters that control
//! a terminal or reorder a line are escaped here, for all of them. Only our own colors pass:
//! sequences that set a weight or a plain color.
//!
//! Escapes have the form of JSON (`\u001b`), so that a JSON document keeps its meaning.
//!
//! Must never: pass a control character other than line ends, tabs and our own colors.

use std::io::{self, Write};

use crate::diagnostics::visible;
use crate::limits::STYLE_BYTES_MAX;

/// A writer that escapes control characters.
pub struct EscapingWriter<W: Write> {
    to: W,
    /// The incomplete character or color sequence at the end of the input so far.
    held: Vec<u8>,
}

/// Returns standard output, escaped.
pub fn stdout() -> EscapingWriter<anstream::Stdout> {
    EscapingWriter::new(anstream::stdout())
}

/// Returns standard error, escaped.
pub fn stderr() -> EscapingWriter<anstream::Stderr> {
    EscapingWriter::new(anstream::stderr())
}

/// Writes a line to stderr. Nothing depends on such a line: the facts are in the ledger, in the exit
/// code or in the answer of another command. So a closed stderr ends nothing.
pub fn write_stderr_line(line: &str) {
    writeln!(stderr().lock(), "{line}").ok();
}

/// Writes a log line for the operator to stderr.
pub fn log_line(text: &str) {
    write_stderr_line(&format!("agentry: {}", visible(text)));
}

/// Writes a warning to stderr.
pub fn warn(text: &str) {
    write_stderr_line(&format!("warning: {}", visible(text)));
}

impl EscapingWriter<anstream::Stdout> {
    /// Locks the stream, so that output of other threads does not mix in.
    pub fn lock(self) -> EscapingWriter<anstream::AutoStream<io::StdoutLock<'static>>> {
        EscapingWriter::new(anstream::stdout().lock())
    }
}

impl EscapingWriter<anstream::Stderr> {
    /// Locks the stream, so that output of other threads does not mix in.
    pub fn lock(self) -> EscapingWriter<anstream::AutoStream<io::StderrLock<'static>>> {
        EscapingWriter::new(anstream::stderr().lock())
    }
}

impl<W: Write> EscapingWriter<W> {
    pub fn new(to: W) -> Self {
        Self { to, held: Vec::new() }
    }

    /// Writes the incomplete bytes at the end of the input, escaped.
    fn end(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            Ok(())
        } else {
            self.to.write_all(escaped(&String::from_utf8_lossy(&held)).as_bytes())
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
    /// Writes the incomplete bytes at the end. An output that is closed has failed a write before,
    /// and that write has returned the error.
    fn drop(&mut self) {
        self.end().ok();
    }
}

/// Returns the number of bytes at the end that start an incomplete character or color.
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

/// Returns true if the bytes are an incomplete UTF-8 character.
fn is_begun(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// Escapes all control characters except our own colors.
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

/// Returns the length of a color sequence at the start of a text; None for colors that hide text.
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
        if steers(c) {
            let mut units = [0; 2];
            let units = c.encode_utf16(&mut units).iter();
            units.for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c)
        }
    }
    out
}

/// Returns true if a character moves the cursor, reorders the line or carries invisible text.
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
