//! Writes a GGUF file of unquantized numbers.
//!
//! Must never: leave a part of a file under its final name.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::gguf::{ALIGNMENT, MAGIC};

/// A value in the header.
pub(crate) enum GgufValue {
    Text(String),
    Texts(Vec<String>),
    Number(u32),
    Numbers(Vec<i32>),
    Float(f32),
    Bool(bool),
}

/// A tensor of 32-bit numbers, the fastest dimension first.
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) shape: Vec<u64>,
    pub(crate) numbers: Vec<f32>,
}

/// Writes the file under a temporary name and then renames it.
pub(crate) fn write(
    to: &Path,
    entries: &[(&str, GgufValue)],
    tensors: &[Tensor],
) -> io::Result<()> {
    let beside = to.with_extension("gguf.part");
    let written = write_file(&beside, entries, tensors).and_then(|()| fs::rename(&beside, to));
    if written.is_err() {
        remove_unfinished(&beside);
    }
    written
}

/// Removes the file of a write that failed. The error of the write is the one to return, and the
/// next write begins the file again.
fn remove_unfinished(file: &Path) {
    fs::remove_file(file).ok();
}

fn write_file(to: &Path, entries: &[(&str, GgufValue)], tensors: &[Tensor]) -> io::Result<()> {
    let mut file = GgufWriter { to: BufWriter::new(File::create(to)?), at: 0 };
    file.bytes(MAGIC)?;
    file.bytes(&3_u32.to_le_bytes())?;
    file.count(tensors.len())?;
    file.count(entries.len())?;
    for (key, entry) in entries {
        file.text(key)?;
        file.entry(entry)?;
    }
    let mut starts = 0;
    for tensor in tensors {
        file.text(&tensor.name)?;
        file.number(tensor.shape.len())?;
        for size in &tensor.shape {
            file.bytes(&size.to_le_bytes())?;
        }
        file.bytes(&0_u32.to_le_bytes())?;
        file.count(starts)?;
        starts = (starts + tensor.numbers.len() * 4).next_multiple_of(32);
    }
    for tensor in tensors {
        file.align()?;
        for number in &tensor.numbers {
            file.bytes(&number.to_le_bytes())?;
        }
    }
    let file = file.to.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()
}

struct GgufWriter {
    to: BufWriter<File>,
    at: u64,
}

impl GgufWriter {
    fn entry(&mut self, entry: &GgufValue) -> io::Result<()> {
        match entry {
            GgufValue::Number(number) => {
                self.kind(4)?;
                self.bytes(&number.to_le_bytes())
            }
            GgufValue::Float(number) => {
                self.kind(6)?;
                self.bytes(&number.to_le_bytes())
            }
            GgufValue::Bool(truth) => {
                self.kind(7)?;
                self.bytes(&[u8::from(*truth)])
            }
            GgufValue::Text(text) => {
                self.kind(8)?;
                self.text(text)
            }
            GgufValue::Texts(texts) => {
                self.kind(9)?;
                self.kind(8)?;
                self.count(texts.len())?;
                texts.iter().try_for_each(|text| self.text(text))
            }
            GgufValue::Numbers(numbers) => {
                self.kind(9)?;
                self.kind(5)?;
                self.count(numbers.len())?;
                numbers.iter().try_for_each(|number| self.bytes(&number.to_le_bytes()))
            }
        }
    }

    fn kind(&mut self, kind: u32) -> io::Result<()> {
        self.bytes(&kind.to_le_bytes())
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.count(text.len())?;
        self.bytes(text.as_bytes())
    }

    fn count(&mut self, count: usize) -> io::Result<()> {
        self.bytes(&u64::try_from(count).map_err(io::Error::other)?.to_le_bytes())
    }

    fn number(&mut self, count: usize) -> io::Result<()> {
        self.bytes(&u32::try_from(count).map_err(io::Error::other)?.to_le_bytes())
    }

    fn align(&mut self) -> io::Result<()> {
        while !self.at.is_multiple_of(ALIGNMENT) {
            self.bytes(&[0])?;
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += u64::try_from(bytes.len()).map_err(io::Error::other)?;
        self.to.write_all(bytes)
    }
}
