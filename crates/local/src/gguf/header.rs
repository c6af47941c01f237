//! The header of a GGUF file: the facts about the model, and the length that the file must have.
//!
//! Must never: trust a length in the file; each is checked before memory is allocated.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use crate::error::LocalError;
use crate::gguf::{ALIGNMENT, MAGIC};
use crate::limits::{HEADER_BYTES_MAX, HEADER_ENTRIES_MAX};

/// The header of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header {
    numbers: BTreeMap<String, u64>,
    texts: BTreeMap<String, String>,
    /// The length of the file, in bytes.
    pub(crate) bytes: u64,
}

impl Header {
    /// Reads the header of a file and checks that the file is complete.
    pub(crate) fn of(file: &Path) -> Result<Self, LocalError> {
        let unreadable = |error: &io::Error| LocalError::Unreadable {
            file: file.to_owned(),
            why: error.to_string(),
        };
        let opened = match File::open(file) {
            Ok(opened) => opened,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(LocalError::Missing(file.to_owned()));
            }
            Err(error) => return Err(unreadable(&error)),
        };
        let about = opened.metadata().map_err(|error| unreadable(&error))?;
        if !about.is_file() {
            return Err(LocalError::NotGguf(file.to_owned()));
        }
        let bytes = about.len();
        let mut reader = GgufReader { from: BufReader::new(opened), at: 0 };
        let mut magic = [0; 4];
        if reader.fill(&mut magic).is_err() || &magic != MAGIC {
            return Err(LocalError::NotGguf(file.to_owned()));
        }
        match reader.header() {
            Ok((header, needs)) if needs <= bytes => Ok(Self { bytes, ..header }),
            Ok((_, needs)) => {
                Err(LocalError::CutShort { file: file.to_owned(), has: bytes, needs })
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(LocalError::CutShort { file: file.to_owned(), has: bytes, needs: bytes + 1 })
            }
            Err(error) => Err(LocalError::NotLoaded {
                file: file.to_owned(),
                why: format!("its header is damaged: {error}"),
            }),
        }
    }

    /// Returns a text of the header; empty if there is none.
    pub(crate) fn text(&self, key: &str) -> &str {
        self.texts.get(key).map_or("", String::as_str)
    }

    /// Returns a number whose key begins with the name of the architecture.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.numbers.get(&format!("{}.{key}", self.text("general.architecture"))).copied()
    }

    /// Returns the bytes of context memory for one token, with numbers of 16 bits.
    pub(crate) fn bytes_per_token(&self) -> u64 {
        let layers = self.number("block_count").unwrap_or(1);
        let heads = self.number("attention.head_count").unwrap_or(1).max(1);
        let width = self.number("embedding_length").unwrap_or(1);
        let kept = self.number("attention.head_count_kv").unwrap_or(heads);
        let key = self.number("attention.key_length").unwrap_or(width / heads);
        let value = self.number("attention.value_length").unwrap_or(width / heads);
        layers.saturating_mul(kept).saturating_mul(key.saturating_add(value)).saturating_mul(2)
    }
}

struct GgufReader<R> {
    from: R,
    at: u64,
}

impl<R: Read> GgufReader<R> {
    fn header(&mut self) -> io::Result<(Header, u64)> {
        let version = self.u32()?;
        if !(2..=3).contains(&version) {
            return Err(broken(&format!("version {version} is unknown")));
        }
        let tensors = self.count()?;
        let entries = self.count()?;
        let mut header = Header::default();
        for _ in 0..entries {
            let key = self.text()?;
            let kind = self.u32()?;
            self.entry(&mut header, key, kind)?;
        }
        let mut end = 0;
        for _ in 0..tensors {
            end = end.max(self.tensor()?);
        }
        let alignment = header.numbers.get("general.alignment").copied().unwrap_or(ALIGNMENT);
        let starts = self.at.next_multiple_of(alignment.clamp(1, 1 << 20));
        Ok((header, starts.saturating_add(end)))
    }

    fn entry(&mut self, header: &mut Header, key: String, kind: u32) -> io::Result<()> {
        match kind {
            STRING => {
                let text = self.text()?;
                header.texts.insert(key, text);
            }
            ARRAY => {
                let (inner, count) = (self.u32()?, self.count()?);
                let mut most = 0;
                for _ in 0..count {
                    match inner {
                        STRING => self.skip_text()?,
                        kind => most = self.number(kind)?.unwrap_or(0).max(most),
                    }
                }
                // Some models have such a number for each layer.
                if inner != STRING {
                    header.numbers.insert(key, most);
                }
            }
            kind => {
                if let Some(number) = self.number(kind)? {
                    header.numbers.insert(key, number);
                }
            }
        }
        Ok(())
    }

    /// Returns the end of a tensor, in bytes from the first tensor.
    fn tensor(&mut self) -> io::Result<u64> {
        self.skip_text()?;
        let dimensions = self.u32()?;
        if dimensions > 8 {
            return Err(broken("a tensor has more than 8 dimensions"));
        }
        let mut numbers: u64 = 1;
        for _ in 0..dimensions {
            numbers = numbers.saturating_mul(self.u64()?);
        }
        let kind = self.u32()?;
        let starts = self.u64()?;
        // The engine checks tensors of an unknown type.
        let bytes = block(kind).map_or(0, |(many, bytes)| (numbers / many).saturating_mul(bytes));
        Ok(starts.saturating_add(bytes))
    }

    fn number(&mut self, kind: u32) -> io::Result<Option<u64>> {
        Ok(match kind {
            0 | 7 => Some(u64::from(self.array::<1>()?[0])),
            1 => u64::try_from(i8::from_le_bytes(self.array()?)).ok(),
            2 => Some(u64::from(u16::from_le_bytes(self.array()?))),
            3 => u64::try_from(i16::from_le_bytes(self.array()?)).ok(),
            4 => Some(u64::from(self.u32()?)),
            5 => u64::try_from(i32::from_le_bytes(self.array()?)).ok(),
            6 => {
                self.array::<4>()?;
                None
            }
            10 => Some(self.u64()?),
            11 => u64::try_from(i64::from_le_bytes(self.array()?)).ok(),
            12 => {
                self.array::<8>()?;
                None
            }
            other => return Err(broken(&format!("entry type {other} is unknown"))),
        })
    }

    fn text(&mut self) -> io::Result<String> {
        let length = self.length()?;
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.fill(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn skip_text(&mut self) -> io::Result<()> {
        let mut left = self.length()?;
        let mut bytes = [0; 256];
        while left > 0 {
            let now = usize::try_from(left.min(256)).map_err(io::Error::other)?;
            self.fill(&mut bytes[..now])?;
            left -= left.min(256);
        }
        Ok(())
    }

    fn length(&mut self) -> io::Result<u64> {
        let length = self.u64()?;
        if length > HEADER_BYTES_MAX {
            return Err(broken("a text is too long"));
        }
        Ok(length)
    }

    fn count(&mut self) -> io::Result<u64> {
        let count = self.u64()?;
        if count > HEADER_ENTRIES_MAX {
            return Err(broken("it has too many entries"));
        }
        Ok(count)
    }

    fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn u64(&mut self) -> io::Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        self.at += u64::try_from(bytes.len()).map_err(io::Error::other)?;
        if self.at > HEADER_BYTES_MAX {
            return Err(broken("it is too long"));
        }
        self.from.read_exact(bytes)
    }
}

const STRING: u32 = 8;
const ARRAY: u32 = 9;

fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Returns the numbers in one block of a type, and the block's length in bytes.
fn block(kind: u32) -> Option<(u64, u64)> {
    Some(match kind {
        0 | 26 => (1, 4),
        1 | 25 | 30 => (1, 2),
        2 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        10 => (256, 84),
        11 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        24 => (1, 1),
        27 | 28 => (1, 8),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gguf::write::{GgufValue, Tensor, write};

    fn file_with(length: Option<u64>) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("a.gguf");
        let entries = [
            ("general.architecture", GgufValue::Text("llama".into())),
            ("llama.block_count", GgufValue::Number(3)),
            ("llama.attention.head_count", GgufValue::Number(4)),
            ("llama.embedding_length", GgufValue::Number(64)),
        ];
        let tensors = [Tensor { name: "a".into(), shape: vec![4, 2], numbers: vec![1.0; 8] }];
        write(&path, &entries, &tensors).expect("there is room");
        if let Some(length) = length {
            let file = File::options().write(true).open(&path).expect("we wrote it");
            file.set_len(length).expect("it can be cut");
        }
        (folder, path)
    }

    #[test]
    fn what_was_written_is_read() {
        let (_folder, path) = file_with(None);
        let header = Header::of(&path).expect("it is whole");
        assert_eq!(header.text("general.architecture"), "llama");
        assert_eq!(header.number("block_count"), Some(3));
        assert_eq!(header.bytes_per_token(), 3 * 4 * (16 + 16) * 2);
    }

    #[test]
    fn a_file_that_ends_early_says_so_wherever_it_ends() {
        let (_folder, path) = file_with(None);
        let whole = Header::of(&path).expect("it is whole").bytes;
        for length in 4..whole {
            let (_folder, path) = file_with(Some(length));
            let error = Header::of(&path).expect_err("it is not whole");
            assert!(matches!(error, LocalError::CutShort { .. }), "{length}: {error}");
        }
    }

    #[test]
    fn another_file_is_none_of_ours() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("a.gguf");
        for text in [&b"PK\x03\x04 a zip"[..], b"", b"GG"] {
            std::fs::write(&path, text).expect("there is room");
            let error = Header::of(&path).expect_err("it is no such file");
            assert_eq!(error, LocalError::NotGguf(path.clone()));
        }
        let error = Header::of(folder.path()).expect_err("a directory is none");
        assert_eq!(error, LocalError::NotGguf(folder.path().to_owned()));
        let gone = folder.path().join("b.gguf");
        assert_eq!(Header::of(&gone).expect_err("it is gone"), LocalError::Missing(gone));
    }

    #[test]
    fn lengths_that_lie_cost_no_memory() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("a.gguf");
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(0_u64.to_le_bytes());
        bytes.extend(1_u64.to_le_bytes());
        bytes.extend(u64::MAX.to_le_bytes());
        std::fs::write(&path, bytes).expect("there is room");
        let error = Header::of(&path).expect_err("the key is too long");
        assert!(matches!(error, LocalError::NotLoaded { .. }), "{error}");
    }
}
