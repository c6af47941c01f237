//! Reads the tensors of a safetensors file.
//!
//! Must never: read outside the file, even if its header says so.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::limits::CONVERT_BYTES_MAX;

/// A file of tensors, in memory.
pub(crate) struct Tensors {
    header: Value,
    bytes: Vec<u8>,
    starts: usize,
}

/// A tensor of 32-bit numbers, the slowest dimension first.
pub(crate) struct SourceTensor {
    pub(crate) shape: Vec<u64>,
    pub(crate) numbers: Vec<f32>,
}

impl Tensors {
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        let length = fs::metadata(file).map_err(|error| error.to_string())?.len();
        if length > CONVERT_BYTES_MAX {
            return Err(format!("it has {length} bytes, more than {CONVERT_BYTES_MAX}"));
        }
        let bytes = fs::read(file).map_err(|error| error.to_string())?;
        let length = bytes.first_chunk::<8>().ok_or("it is cut short")?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| "it is damaged")?;
        let starts = length.checked_add(8).filter(|end| *end <= bytes.len());
        let starts = starts.ok_or("it is cut short")?;
        let header =
            serde_json::from_slice(&bytes[8..starts]).map_err(|error| error.to_string())?;
        Ok(Self { header, bytes, starts })
    }

    /// Returns a tensor by its name, or the reason why it cannot be used.
    pub(crate) fn find(&self, name: &str) -> Result<SourceTensor, String> {
        let entry = self.header.get(name).ok_or_else(|| format!("it has no tensor `{name}`"))?;
        let wrong = || format!("the tensor `{name}` has a wrong shape or length");
        if entry.get("dtype").and_then(Value::as_str) != Some("F32") {
            return Err(format!("the tensor `{name}` has no 32-bit numbers"));
        }
        let list = |key: &str| -> Option<Vec<u64>> {
            entry.get(key)?.as_array()?.iter().map(Value::as_u64).collect()
        };
        let shape = list("shape").ok_or_else(wrong)?;
        let offsets = list("data_offsets").ok_or_else(wrong)?;
        let [from, to] = offsets[..] else { return Err(wrong()) };
        let place = |offset: u64| usize::try_from(offset).ok()?.checked_add(self.starts);
        let (from, to) = (place(from).ok_or_else(wrong)?, place(to).ok_or_else(wrong)?);
        let bytes = self.bytes.get(from..to).ok_or_else(wrong)?;
        let numbers: Vec<f32> = bytes
            .chunks_exact(4)
            .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect();
        let count = shape.iter().try_fold(1_u64, |count, size| count.checked_mul(*size));
        if count != u64::try_from(numbers.len()).ok() || bytes.len() % 4 != 0 {
            return Err(wrong());
        }
        Ok(SourceTensor { shape, numbers })
    }
}
