//! Records exchanges with providers in a file, and replays them without any network.
//!
//! A recording has one JSON line for each exchange: the request, and the answer in the pieces in
//! which it came. Headers with keys are left out, and all texts are redacted. Redaction does not
//! find a secret that a model itself spells in several pieces. In a replay, the n-th request must
//! equal the recorded one, or it fails and names the first difference; our own ids, which are new
//! in every run, count as equal if they appear in the same order.
//!
//! Must never: overwrite a file, write a key, or answer a request that was not recorded.

mod compare;

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use agentry_protocol::message::{FailureKind, ModelFailure};
use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::limits::TAPE_BYTES_MAX;
use crate::provider_request::ProviderRequest;

/// A function that removes secrets from a text.
pub type RedactFn = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The use of a recording: written or replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingMode {
    /// Record into this file, which must not exist yet.
    Record(PathBuf),
    /// Replay this file; nothing is sent.
    Play(PathBuf),
}

/// The reason why a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A recording would overwrite a file.
    #[error("{file} is there already; name a new file for the recording")]
    Exists {
        /// The file.
        file: String,
    },
    /// The file cannot be read or written.
    #[error("cannot use the recording {file}: {error}")]
    Unusable {
        /// The file.
        file: String,
        /// The error of the system.
        error: std::io::Error,
    },
    /// A line of it is not an exchange.
    #[error("{file}:{line}: {why}")]
    Line {
        /// The file.
        file: String,
        /// The line, from one.
        line: usize,
        /// The defect of the line.
        why: String,
    },
}

/// Headers of an answer that are recorded.
const KEPT_HEADERS: [&str; 6] =
    ["content-type", "retry-after", "retry-after-ms", "request-id", "x-request-id", "location"];
/// Headers of a request that are left out, in addition to those marked as sensitive.
const SECRET_HEADERS: [&str; 5] =
    ["authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "cookie"];

#[derive(Debug, Serialize, Deserialize)]
struct RecordedExchange {
    request: RecordedRequest,
    response: RecordedResponse,
}

#[derive(Debug, Serialize, Deserialize)]
struct RecordedRequest {
    method: String,
    url: String,
    headers: Map<String, Value>,
    body: Value,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct RecordedResponse {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default)]
    headers: Map<String, Value>,
    /// The pieces, each with its time in milliseconds after the request.
    #[serde(default)]
    chunks: Vec<(u64, String)>,
    /// The failure that ended the answer early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<ModelFailure>,
}

/// A recording in use.
pub(crate) enum Recorder {
    Recording(RecordingWriter),
    Playing(RecordingPlayer),
}

impl Recorder {
    pub(crate) fn open(tape: &RecordingMode, redact: RedactFn) -> Result<Self, RecordingError> {
        match tape {
            RecordingMode::Record(path) => {
                RecordingWriter::create(path, redact).map(Self::Recording)
            }
            RecordingMode::Play(path) => RecordingPlayer::read(path, redact).map(Self::Playing),
        }
    }
}

/// A recording that is written.
pub(crate) struct RecordingWriter {
    name: String,
    file: Mutex<RecordingFile>,
    redact: RedactFn,
}

struct RecordingFile {
    file: File,
    /// The failure to record an exchange that no caller waited for.
    failure: Option<ModelFailure>,
}

impl RecordingWriter {
    fn create(path: &Path, redact: RedactFn) -> Result<Self, RecordingError> {
        let name = path.display().to_string();
        match OpenOptions::new().append(true).create_new(true).mode(0o600).open(path) {
            Ok(file) => {
                let file = Mutex::new(RecordingFile { file, failure: None });
                Ok(Self { name, file, redact })
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(RecordingError::Exists { file: name })
            }
            Err(error) => Err(RecordingError::Unusable { file: name, error }),
        }
    }

    /// Begins the recording of an exchange.
    pub(crate) fn begin(&self, outgoing: &ProviderRequest) -> ExchangeRecorder<'_> {
        ExchangeRecorder {
            writer: self,
            began: Instant::now(),
            request: asked(outgoing, &self.redact),
            response: RecordedResponse::default(),
            pieces: Vec::new(),
        }
    }

    /// Appends a line. A recording that lacks an exchange cannot be replayed, so all appends after
    /// a failure that no caller got return it.
    fn append(&self, line: &RecordedExchange) -> Result<(), ModelFailure> {
        let failed = |why: String| {
            let message = format!("the exchange cannot be recorded in {}: {why}", self.name);
            ModelFailure::new(FailureKind::Other, message)
        };
        let mut text = serde_json::to_string(line).map_err(|error| failed(error.to_string()))?;
        text.push('\n');
        let mut recording = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = &recording.failure {
            return Err(failure.clone());
        }
        recording.file.write_all(text.as_bytes()).map_err(|error| failed(error.to_string()))
    }
}

/// An exchange that is being recorded.
pub(crate) struct ExchangeRecorder<'a> {
    writer: &'a RecordingWriter,
    began: Instant,
    request: RecordedRequest,
    response: RecordedResponse,
    pieces: Vec<(u64, Bytes)>,
}

impl ExchangeRecorder<'_> {
    pub(crate) fn head(&mut self, status: u16, headers: &HeaderMap) {
        self.response.status = Some(status);
        for name in KEPT_HEADERS {
            if let Some(value) = headers.get(name).and_then(|value| value.to_str().ok()) {
                let value = (self.writer.redact)(value);
                self.response.headers.insert(name.to_owned(), Value::String(value));
            }
        }
    }

    pub(crate) fn data(&mut self, bytes: &Bytes) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.pieces.push((ms, bytes.clone()));
    }

    /// Writes the line of the exchange.
    pub(crate) fn end(mut self, failure: Option<&ModelFailure>) -> Result<(), ModelFailure> {
        self.response.chunks = texts(std::mem::take(&mut self.pieces), &self.writer.redact);
        self.response.failure = failure.map(|failure| ModelFailure {
            message: (self.writer.redact)(&failure.message),
            ..failure.clone()
        });
        self.writer.append(&RecordedExchange { request: self.request, response: self.response })
    }

    /// Writes the line of an exchange that no caller waits for; the next exchange reports a failure.
    pub(crate) fn abandon(self, reason: &ModelFailure) {
        let writer = self.writer;
        if let Err(failure) = self.end(Some(reason)) {
            let mut recording = writer.file.lock().unwrap_or_else(PoisonError::into_inner);
            recording.failure.get_or_insert(failure);
        }
    }
}

/// Converts the pieces to texts; a split character belongs to the later piece. If the whole text
/// holds a secret, which may be split as well, the whole is one piece.
fn texts(pieces: Vec<(u64, Bytes)>, redact: &RedactFn) -> Vec<(u64, String)> {
    let mut chunks = Vec::with_capacity(pieces.len());
    let mut whole = String::new();
    let mut rest: Vec<u8> = Vec::new();
    let mut last = 0;
    for (ms, bytes) in pieces {
        last = ms;
        rest.extend_from_slice(&bytes);
        let until = match std::str::from_utf8(&rest) {
            Ok(_) => rest.len(),
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => rest.len(),
        };
        let text = String::from_utf8_lossy(&rest[..until]).into_owned();
        rest.drain(..until);
        whole.push_str(&text);
        chunks.push((ms, text));
    }
    if !rest.is_empty() {
        let text = String::from_utf8_lossy(&rest).into_owned();
        whole.push_str(&text);
        chunks.push((last, text));
    }
    let clean = redact(&whole);
    if clean == whole { chunks } else { vec![(last, clean)] }
}

fn asked(outgoing: &ProviderRequest, redact: &RedactFn) -> RecordedRequest {
    let mut headers = Map::new();
    for (name, value) in &outgoing.headers {
        let secret = value.is_sensitive() || SECRET_HEADERS.contains(&name.as_str());
        if let (false, Ok(value)) = (secret, value.to_str()) {
            headers.insert(name.to_string(), Value::String(redact(value)));
        }
    }
    let text = redact(&String::from_utf8_lossy(&outgoing.body));
    let body = match serde_json::from_str(&text) {
        Ok(body) => body,
        Err(_) if text.is_empty() => Value::Null,
        Err(_) => Value::String(text),
    };
    let url = redact(outgoing.url.as_str());
    RecordedRequest { method: outgoing.method.to_string(), url, headers, body }
}

/// A recording that is replayed.
pub(crate) struct RecordingPlayer {
    name: String,
    lines: Mutex<(usize, VecDeque<RecordedExchange>)>,
    redact: RedactFn,
}

/// A recorded answer.
pub(crate) struct PlaybackResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pieces: VecDeque<Bytes>,
    failure: Option<ModelFailure>,
}

impl RecordingPlayer {
    fn read(path: &Path, redact: RedactFn) -> Result<Self, RecordingError> {
        let name = path.display().to_string();
        let mut text = String::new();
        let read = File::open(path)
            .and_then(|file| file.take(TAPE_BYTES_MAX + 1).read_to_string(&mut text));
        if let Err(error) = read {
            return Err(RecordingError::Unusable { file: name, error });
        }
        if text.len() as u64 > TAPE_BYTES_MAX {
            let why = format!("the recording is longer than {TAPE_BYTES_MAX} bytes");
            return Err(RecordingError::Line { file: name, line: 1, why });
        }
        let mut lines = VecDeque::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            lines.push_back(serde_json::from_str(line).map_err(|error| RecordingError::Line {
                file: name.clone(),
                line: at + 1,
                why: format!("{error}; each line is one recorded exchange"),
            })?);
        }
        Ok(Self { name, lines: Mutex::new((0, lines)), redact })
    }

    /// Returns the answer to this request, which must be the next recorded one.
    pub(crate) fn next(
        &self,
        outgoing: &ProviderRequest,
    ) -> Result<PlaybackResponse, ModelFailure> {
        let (number, line) = {
            let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.0 += 1;
            (lines.0, lines.1.pop_front())
        };
        let Some(RecordedExchange { request, response }) = line else {
            let message = format!(
                "the recording {} has {} exchanges, and this is request {number}",
                self.name,
                number - 1
            );
            return Err(ModelFailure::new(FailureKind::ScriptEnded, message));
        };
        if let Some(difference) = difference(&request, &asked(outgoing, &self.redact)) {
            let message = format!(
                "request {number} is not the one in the recording {}: {difference}",
                self.name
            );
            return Err(ModelFailure::new(FailureKind::ScriptBroken, message));
        }
        let Some(status) = response.status else {
            return Err(response.failure.unwrap_or_else(|| no_answer(&self.name)));
        };
        let mut headers = HeaderMap::new();
        for (name, value) in &response.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let value = HeaderValue::from_str(value.as_str().unwrap_or_default());
            if let (Ok(name), Ok(value)) = (name, value) {
                headers.insert(name, value);
            }
        }
        let pieces = response.chunks.into_iter().map(|(_, text)| Bytes::from(text)).collect();
        Ok(PlaybackResponse { status, headers, pieces, failure: response.failure })
    }
}

impl PlaybackResponse {
    pub(crate) fn next(&mut self) -> Result<Option<Bytes>, ModelFailure> {
        match (self.pieces.pop_front(), self.failure.take()) {
            (Some(piece), failure) => {
                self.failure = failure;
                Ok(Some(piece))
            }
            (None, Some(failure)) => Err(failure),
            (None, None) => Ok(None),
        }
    }
}

fn no_answer(name: &str) -> ModelFailure {
    let message = format!("the recording {name} has a request without an answer");
    ModelFailure::new(FailureKind::ScriptBroken, message)
}

/// Returns the difference between the request and the recorded one. The host may differ.
fn difference(recorded: &RecordedRequest, now: &RecordedRequest) -> Option<String> {
    let told =
        |what: &str, then: &str, now: &str| Some(format!("{what} was `{then}` and is `{now}`"));
    if recorded.method != now.method {
        return told("the method", &recorded.method, &now.method);
    }
    let (then_path, now_path) = (compare::path(&recorded.url), compare::path(&now.url));
    if then_path != now_path {
        return told("the path", then_path, now_path);
    }
    compare::body_difference(&recorded.body, &now.body)
}

#[cfg(test)]
mod tests {
    use reqwest::{Method, Url};

    use super::*;

    #[test]
    fn the_next_exchange_reports_that_an_abandoned_one_was_not_recorded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tape.jsonl");
        std::fs::write(&path, "").unwrap();
        // A file that is open for reading refuses each write.
        let file = RecordingFile { file: File::open(&path).unwrap(), failure: None };
        let writer = RecordingWriter {
            name: "tape.jsonl".to_owned(),
            file: Mutex::new(file),
            redact: Arc::new(str::to_owned),
        };
        let request = ProviderRequest {
            method: Method::GET,
            url: Url::parse("http://provider.test/").unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
        };
        writer
            .begin(&request)
            .abandon(&ModelFailure::new(FailureKind::Interrupted, "the call was stopped"));
        writer.file.lock().unwrap().file = OpenOptions::new().append(true).open(&path).unwrap();
        let failure = writer.begin(&request).end(None).unwrap_err();
        let begin = "the exchange cannot be recorded in tape.jsonl: ";
        assert!(failure.message.starts_with(begin), "{}", failure.message);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
    }
}
