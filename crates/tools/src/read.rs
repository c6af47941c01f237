//! Reads a file, or a range of its lines.
//!
//! Must never: hold more of a file than it returns, or return content that is not text.

use std::io::Read;

use agentry_protocol::tool_call::{
    CallMeasurements, OutcomeStatus, RepeatSafety, ToolOutcome, ToolSpec,
};
use cap_std::fs::File;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::parse;
use crate::limits::{READ_FILE_BYTES_MAX, SNIFF_BYTES_MAX};
use crate::tool::{Tool, ToolContext, spec};
use crate::workspace::Error;

pub(crate) struct ReadFile {
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadFileArgs {
    path: String,
    start_line: Option<u64>,
    end_line: Option<u64>,
}

impl ReadFile {
    pub(crate) fn new() -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1},
                "start_line": {"type": "integer", "minimum": 1},
                "end_line": {"type": "integer", "minimum": 1}
            },
            "required": ["path"],
            "additionalProperties": false
        });
        let description = "Read a text file, or some of its lines, counted from 1.";
        Self { spec: spec("read_file", description, parameters, RepeatSafety::Harmless) }
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn is_file_tool(&self) -> bool {
        true
    }

    fn run(&self, input: &Value, context: &ToolContext<'_>) -> ToolOutcome {
        let arguments: ReadFileArgs = match parse(input) {
            Ok(arguments) => arguments,
            Err(outcome) => return outcome,
        };
        let range = LineRange {
            first: arguments.start_line.unwrap_or(1).max(1),
            last: arguments.end_line.unwrap_or(u64::MAX),
        };
        let LineRange { first, last } = range;
        if last < first {
            return ToolOutcome::failed(format!(
                "The range is empty: start_line {first} comes after end_line {last}."
            ));
        }
        match read(&arguments.path, range, context) {
            Ok(outcome) => outcome,
            Err(error) => error.into(),
        }
    }
}

/// The first and the last line of a read, counted from 1.
#[derive(Clone, Copy)]
struct LineRange {
    first: u64,
    last: u64,
}

fn read(path: &str, range: LineRange, context: &ToolContext<'_>) -> Result<ToolOutcome, Error> {
    context.workspace.check_read(&context.workspace.relative(path)?)?;
    let real = context.workspace.locate(path, context.judged)?;
    let (mut file, metadata) = context.workspace.open_real(&real.path)?;
    let bytes = metadata.len();
    if bytes > READ_FILE_BYTES_MAX {
        let bytes_max = READ_FILE_BYTES_MAX;
        return Err(Error::TooLarge { path: path.to_owned(), bytes, bytes_max });
    }
    let mut sniffed = vec![0; SNIFF_BYTES_MAX];
    let unusable = |reason| Error::Unusable { path: path.to_owned(), reason };
    let length = fill(&mut file, &mut sniffed).map_err(unusable)?;
    sniffed.truncate(length);
    let kind = kind_of(&sniffed);
    if kind.is_some() {
        return Ok(not_text(path, kind, bytes));
    }
    let bytes_max = usize::try_from(context.bounds.read_bytes).unwrap_or(usize::MAX);
    let mut lines = LineCollector::new(range, bytes_max);
    lines.push(&sniffed);
    let mut rest = file.take(READ_FILE_BYTES_MAX);
    loop {
        let length = rest.read(&mut sniffed).map_err(unusable)?;
        if length == 0 {
            break;
        }
        lines.push(&sniffed[..length]);
    }
    Ok(match lines.finish() {
        Some(lines) => lines.outcome(path, range.first),
        None => not_text(path, None, bytes),
    })
}

fn fill(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut length = 0;
    loop {
        match file.read(&mut buffer[length..])? {
            0 => return Ok(length),
            read => length += read,
        }
    }
}

fn not_text(path: &str, kind: Option<&str>, bytes: u64) -> ToolOutcome {
    let kind = kind.unwrap_or("binary file");
    ToolOutcome::done(format!("`{path}` is a {kind} of {bytes} bytes; it is not shown as text."))
}

/// Returns the type of a file that is not text, by its first bytes.
#[rustfmt::skip]
fn kind_of(beginning: &[u8]) -> Option<&'static str> {
    const MAGIC: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1a\n", "PNG image"), (b"\xff\xd8\xff", "JPEG image"),
        (b"GIF87a", "GIF image"), (b"GIF89a", "GIF image"),
        (b"BM", "BMP image"), (b"II*\0", "TIFF image"), (b"MM\0*", "TIFF image"),
        (b"\0\0\x01\0", "icon image"), (b"%PDF-", "PDF document"),
        (b"PK\x03\x04", "ZIP archive"), (b"\x1f\x8b", "gzip archive"),
        (b"BZh", "bzip2 archive"), (b"\xfd7zXZ\0", "xz archive"), (b"\x28\xb5\x2f\xfd", "zstd archive"),
        (b"\x7fELF", "ELF program"), (b"\0asm", "WebAssembly module"),
        (b"SQLite format 3\0", "SQLite database"),
        (b"OggS", "Ogg recording"), (b"ID3", "MP3 recording"), (b"fLaC", "FLAC recording"),
    ];
    if beginning.starts_with(b"RIFF") && beginning.get(8..12) == Some(b"WEBP") {
        return Some("WebP image");
    }
    if beginning.get(4..8) == Some(b"ftyp") {
        return Some("video or HEIF image");
    }
    let has_nul = beginning.contains(&0);
    let found = MAGIC.iter().find(|(magic, _)| beginning.starts_with(magic));
    match found {
        // A text may begin with two or three letters of these by chance.
        Some((magic, kind)) if has_nul || magic.len() > 3 || !magic.is_ascii() => Some(kind),
        Some(_) | None => has_nul.then_some("binary file"),
    }
}

/// A collector for the lines of a range, filled with pieces of a file.
struct LineCollector {
    range: LineRange,
    bytes_max: usize,
    text: Vec<u8>,
    /// The number of the line of the next byte.
    line: u64,
    /// The first line that was not read to its end.
    cut: Option<u64>,
    ends_with_newline: bool,
    is_empty: bool,
}

struct CollectedLines {
    text: String,
    total: u64,
    cut: Option<u64>,
    last: u64,
}

impl LineCollector {
    fn new(range: LineRange, bytes_max: usize) -> Self {
        Self {
            range,
            bytes_max,
            text: Vec::new(),
            line: 1,
            cut: None,
            ends_with_newline: false,
            is_empty: true,
        }
    }

    fn push(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            self.is_empty = false;
            self.ends_with_newline = part.ends_with(b"\n");
            if (self.range.first..=self.range.last).contains(&self.line) && self.cut.is_none() {
                let room = self.bytes_max - self.text.len();
                self.text.extend_from_slice(&part[..part.len().min(room)]);
                if part.len() > room {
                    self.cut = Some(self.line);
                }
            }
            if self.ends_with_newline {
                self.line += 1;
            }
        }
    }

    /// Returns the lines; None if they are not UTF-8.
    fn finish(mut self) -> Option<CollectedLines> {
        let total = match (self.is_empty, self.ends_with_newline) {
            (true, _) => 0,
            (false, true) => self.line - 1,
            (false, false) => self.line,
        };
        let mut last = self.range.last.min(total);
        if let Some(cut) = self.cut {
            if cut > self.range.first {
                // A part of a line misleads; the next read continues at its beginning.
                let end = self.text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                self.text.truncate(end);
                last = cut - 1;
            } else {
                last = cut;
                let valid = std::str::from_utf8(&self.text).map_or_else(
                    |error| error.error_len().is_none().then(|| error.valid_up_to()),
                    |text| Some(text.len()),
                );
                self.text.truncate(valid?);
            }
        }
        let text = String::from_utf8(self.text).ok()?;
        Some(CollectedLines { text, total, cut: self.cut, last })
    }
}

impl CollectedLines {
    fn outcome(self, path: &str, first: u64) -> ToolOutcome {
        let Self { text, total, cut, last } = self;
        if total == 0 {
            return ToolOutcome::done("[empty file]");
        }
        if first > total {
            return ToolOutcome::failed(format!(
                "`{path}` has {total} lines; start_line {first} is past the end."
            ));
        }
        let note = match cut {
            None => String::new(),
            Some(line) if line == first && line < total => {
                format!("; line {line} is cut, read on with start_line {}", line + 1)
            }
            Some(line) if line == first => format!("; line {line} is cut"),
            Some(line) => format!("; cut, read on with start_line {line}"),
        };
        ToolOutcome {
            status: OutcomeStatus::Done,
            text: format!("[lines {first}-{last} of {total}{note}]\n{text}"),
            measured: CallMeasurements { truncated: cut.is_some(), ..CallMeasurements::default() },
        }
    }
}
