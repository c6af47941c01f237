//! Downloads one piece, a file or a wheel, and resumes an interrupted download.
//!
//! `<name>.part` holds the received bytes, `<name>.tag` the server's tag. Both outlive the process.
//!
//! Must never: install a piece whose size or digest is wrong, or mix two versions of it.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::header::{
    CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderMap, HeaderName, IF_RANGE, RANGE,
};
use reqwest::{StatusCode, Url};
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::PullProgress;
use super::catalog::is_digest;
use super::failure::{PullError, disk};
use super::http::{DownloadClient, DownloadError, DownloadResponse};
use crate::limits::{PULL_CHUNK_BYTES, PULL_LOCK_LOOK_MS, PULL_PAUSE_MS, PULL_TRIES_MAX};

/// A piece to download, and its destination.
pub(super) struct DownloadItem<'a> {
    /// The name for messages.
    pub(super) name: &'a str,
    /// The address of the piece.
    pub(super) from: Url,
    /// The path of the finished piece.
    pub(super) to: PathBuf,
    /// The size in bytes.
    pub(super) bytes: u64,
    /// The SHA-256 digest.
    pub(super) sha256: &'a str,
}

/// Counts the received bytes, and stops when the caller does.
pub(super) struct DownloadMeter<'a> {
    watch: &'a dyn Fn(PullProgress) -> bool,
    total: u64,
    before: Cell<u64>,
}

impl<'a> DownloadMeter<'a> {
    /// Creates a meter for this number of bytes in all.
    pub(super) fn new(watch: &'a dyn Fn(PullProgress) -> bool, total: u64) -> Self {
        Self { watch, total, before: Cell::new(0) }
    }

    /// Reports the received bytes of the present piece.
    fn at(&self, bytes: u64) -> Result<(), PullError> {
        report_progress(
            self.watch,
            PullProgress::Moved { done: self.before.get() + bytes, total: self.total },
        )
    }

    /// Records that a piece is complete.
    pub(super) fn whole(&self, bytes: u64) -> Result<(), PullError> {
        self.before.set(self.before.get() + bytes);
        self.at(0)
    }

    fn pause(&self, time: Duration, bytes: u64) -> Result<(), PullError> {
        let look = Duration::from_millis(PULL_LOCK_LOOK_MS);
        let mut left = time;
        while !left.is_zero() {
            let now = left.min(look);
            std::thread::sleep(now);
            left -= now;
            self.at(bytes)?;
        }
        Ok(())
    }
}

/// Reports progress to the caller, and stops if the caller returns false.
pub(super) fn report_progress(
    watch: &dyn Fn(PullProgress) -> bool,
    what: PullProgress,
) -> Result<(), PullError> {
    if watch(what) { Ok(()) } else { Err(PullError::Stopped) }
}

/// The result of one request.
enum DownloadStatus {
    /// The whole piece was received.
    Whole,
    /// The download broke off, for this reason.
    Cut(String),
}

/// Downloads a piece; bytes that are present already are not requested again.
pub(super) fn get(
    http: &DownloadClient,
    piece: &DownloadItem<'_>,
    meter: &DownloadMeter<'_>,
) -> Result<(), PullError> {
    if length(&piece.to) == Some(piece.bytes) {
        return meter.whole(piece.bytes);
    }
    if let Some(directory) = piece.to.parent() {
        fs::create_dir_all(directory).map_err(disk(directory))?;
    }
    let part = piece.part();
    let mut furthest = length(&part).unwrap_or(0);
    let mut tries = 0;
    while let DownloadStatus::Cut(why) = attempt(http, piece, meter)? {
        let there = length(&part).unwrap_or(0);
        if there > furthest {
            (furthest, tries) = (there, 0);
            continue;
        }
        tries += 1;
        if tries >= PULL_TRIES_MAX || !http.was_heard() {
            return Err(PullError::Unreachable { place: http.place.to_owned(), why });
        }
        meter.pause(Duration::from_millis(PULL_PAUSE_MS << (tries - 1)), there)?;
    }
    check(&part, piece)?;
    fs::rename(&part, &piece.to).map_err(disk(&piece.to))?;
    remove_if_present(&piece.tag())?;
    meter.whole(piece.bytes)
}

impl DownloadItem<'_> {
    fn part(&self) -> PathBuf {
        with_ending(&self.to, ".part")
    }

    fn tag(&self) -> PathBuf {
        with_ending(&self.to, ".tag")
    }

    /// Returns the number of bytes left by an earlier attempt.
    pub(super) fn downloaded_bytes(&self) -> u64 {
        length(&self.to).or_else(|| length(&self.part())).unwrap_or(0).min(self.bytes)
    }
}

/// Sends one request for the missing bytes.
fn attempt(
    http: &DownloadClient,
    piece: &DownloadItem<'_>,
    meter: &DownloadMeter<'_>,
) -> Result<DownloadStatus, PullError> {
    let (part, tag) = (piece.part(), piece.tag());
    let mut there = length(&part).unwrap_or(0);
    if there == piece.bytes {
        return Ok(DownloadStatus::Whole);
    }
    if there > piece.bytes {
        remove_if_present(&part)?;
        there = 0;
    }
    let known_tag = fs::read_to_string(&tag).ok().filter(|_| there > 0);
    let given = match http.get(&piece.from, &headers(there, known_tag.as_deref())) {
        Ok(given) => given,
        Err(DownloadError::Unreachable(why)) => return Ok(DownloadStatus::Cut(why)),
        // The bytes on the disk are not of the server's file.
        Err(DownloadError::Refused(StatusCode::RANGE_NOT_SATISFIABLE)) if there > 0 => {
            remove_if_present(&part)?;
            return Ok(DownloadStatus::Cut("it has no such range".to_owned()));
        }
        Err(other) => return Err(other.into_error(http.place, piece.name)),
    };
    let found_tag = text(given.response.headers(), &ETAG);
    let goes_on = there > 0 && goes_on(&given, there, piece.bytes);
    if goes_on && known_tag.is_some() && known_tag != found_tag {
        remove_if_present(&part)?;
        return Ok(DownloadStatus::Cut("it changed under way".to_owned()));
    }
    if !goes_on && given.response.status() == StatusCode::PARTIAL_CONTENT {
        remove_if_present(&part)?;
        return Ok(DownloadStatus::Cut(
            "it answers with another range than was asked for".to_owned(),
        ));
    }
    offers(&given, piece, if goes_on { there } else { 0 }, http.place)?;
    match &found_tag {
        Some(found) => fs::write(&tag, found).map_err(disk(&tag))?,
        None => remove_if_present(&tag)?,
    }
    let mut options = OpenOptions::new();
    let options = options.create(true).append(goes_on).write(true).truncate(!goes_on);
    let file = options.open(&part).map_err(disk(&part))?;
    pour(given, file, if goes_on { there } else { 0 }, piece, meter)
}

/// Requests the rest, and only if the file has not changed.
fn headers(there: u64, known_tag: Option<&str>) -> Vec<(HeaderName, String)> {
    if there == 0 {
        return Vec::new();
    }
    let mut headers = vec![(RANGE, format!("bytes={there}-"))];
    // A weak tag does not identify bytes. Without a tag the digest decides in the end.
    if let Some(strong) = known_tag.filter(|tag| tag.starts_with('"')) {
        headers.push((IF_RANGE, strong.to_owned()));
    }
    headers
}

/// True if the answer begins at the end of our bytes.
fn goes_on(given: &DownloadResponse, there: u64, bytes: u64) -> bool {
    let range = text(given.response.headers(), &CONTENT_RANGE).unwrap_or_default();
    let range = range.strip_prefix("bytes ").and_then(|range| range.split_once('/'));
    let Some((span, whole)) = range else { return false };
    let begins = span.split_once('-').is_some_and(|(first, _)| first.parse() == Ok(there));
    given.response.status() == StatusCode::PARTIAL_CONTENT
        && begins
        && (whole == "*" || whole.parse() == Ok(bytes))
}

/// Checks that the source has the listed file, before a download that may take hours.
fn offers(
    given: &DownloadResponse,
    piece: &DownloadItem<'_>,
    there: u64,
    place: &str,
) -> Result<(), PullError> {
    let other = |why: String| PullError::NotOffered { place: place.to_owned(), why };
    let length = text(given.response.headers(), &CONTENT_LENGTH);
    let found = length.and_then(|length| length.parse::<u64>().ok()).map(|length| length + there);
    if let Some(found) = found.filter(|found| *found != piece.bytes) {
        let (name, expected) = (piece.name, piece.bytes);
        return Err(other(format!("its {name} has {found} bytes, not {expected}")));
    }
    // The hub gives the digest of large files in its redirects.
    let linked = HeaderName::from_static("x-linked-etag");
    let linked = given.on_the_way.iter().find_map(|headers| text(headers, &linked));
    let linked = linked.map(|tag| tag.trim_matches('"').to_ascii_lowercase());
    match linked.filter(|tag| is_digest(tag) && tag != piece.sha256) {
        Some(found) => {
            let (name, expected) = (piece.name, piece.sha256);
            Err(other(format!("its {name} has sha256 {found}, not {expected}")))
        }
        None => Ok(()),
    }
}

/// Writes the received bytes, up to the size of the piece and not a byte more.
fn pour(
    mut given: DownloadResponse,
    mut file: File,
    there: u64,
    piece: &DownloadItem<'_>,
    meter: &DownloadMeter<'_>,
) -> Result<DownloadStatus, PullError> {
    let part = piece.part();
    let mut there = there;
    let mut chunk = vec![0; PULL_CHUNK_BYTES];
    loop {
        meter.at(there)?;
        let count = match given.response.read(&mut chunk) {
            Ok(0) if there == piece.bytes => return Ok(DownloadStatus::Whole),
            Ok(0) => return Ok(DownloadStatus::Cut("the connection ended early".to_owned())),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Ok(DownloadStatus::Cut(deepest(&error))),
        };
        there += count as u64;
        if there > piece.bytes {
            drop(file);
            remove_if_present(&part)?;
            remove_if_present(&piece.tag())?;
            return Err(PullError::Size {
                what: piece.name.to_owned(),
                expected: piece.bytes,
                found: "more".to_owned(),
            });
        }
        file.write_all(&chunk[..count]).map_err(disk(&part))?;
    }
}

/// Checks the bytes on the disk, and removes them if they are wrong.
fn check(part: &Path, piece: &DownloadItem<'_>) -> Result<(), PullError> {
    let found = digest(part, &|_| Ok(()))?;
    if found == piece.sha256 {
        return Ok(());
    }
    remove_if_present(part)?;
    remove_if_present(&piece.tag())?;
    let (what, expected) = (piece.name.to_owned(), piece.sha256.to_owned());
    Err(PullError::Digest { what, expected, found })
}

/// Returns the digest of a file, and reports the number of bytes read.
pub(super) fn digest(
    path: &Path,
    read: &dyn Fn(u64) -> Result<(), PullError>,
) -> Result<String, PullError> {
    let mut file = File::open(path).map_err(disk(path))?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0; PULL_CHUNK_BYTES];
    let mut done = 0;
    loop {
        let count = file.read(&mut chunk).map_err(disk(path))?;
        if count == 0 {
            return Ok(hex(hash));
        }
        hash.update(&chunk[..count]);
        done += count as u64;
        read(done)?;
    }
}

/// Returns a digest in hexadecimal digits.
pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Opens a regular file; anything else is refused, and a pipe cannot block it.
pub(super) fn open_regular(path: &Path) -> Result<File, PullError> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).expect("the flags of a file fit");
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(disk(path))?;
    if file.metadata().map_err(disk(path))?.is_file() {
        Ok(file)
    } else {
        Err(disk(path)(std::io::Error::other("it is not a regular file")))
    }
}

/// Returns the size of a file; `None` if there is no file.
pub(super) fn length(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
}

/// Removes a file that may not be there.
pub(super) fn remove_if_present(path: &Path) -> Result<(), PullError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(disk(path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns a path with an ending after its name.
pub(super) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Returns the innermost cause of a read error.
fn deepest(error: &std::io::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
