//! A model that answers from a file: the N-th request of a run gets the N-th line.
//!
//! The file is read and checked completely before a run begins, so that a wrong line is reported
//! with its number and not during the work. The model streams like a real one.
//!
//! Must never: guess. Running out of lines is a failure with its own name.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use agentry_protocol::message::{FailureKind, ModelFailure, RawToolCall, Usage};
use serde::Deserialize;

use crate::limits::{SCRIPT_BYTES_MAX, SCRIPT_DELAY_MS_MAX};
use crate::{Delta, Model, ModelAnswer, ModelOpenError, ModelQuery};

/// A model that answers from a file.
#[derive(Debug)]
pub struct ScriptedModel {
    file: String,
    lines: Vec<ScriptLine>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptLine {
    #[serde(default)]
    text: String,
    #[serde(default)]
    thinking: String,
    #[serde(default)]
    tool_calls: Vec<RawToolCall>,
    error: Option<ScriptFailure>,
    #[serde(default)]
    delay_ms: u64,
    /// The time between two pieces, in milliseconds.
    #[serde(default)]
    pace_ms: u64,
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptFailure {
    kind: FailureKind,
    message: Option<String>,
}

impl ScriptedModel {
    /// Reads the file and checks every line.
    pub fn read(path: &Path) -> Result<Self, ModelOpenError> {
        let file = path.display().to_string();
        let mut text = String::new();
        let read = std::fs::File::open(path)
            .and_then(|opened| opened.take(SCRIPT_BYTES_MAX + 1).read_to_string(&mut text));
        if let Err(error) = read {
            return Err(ModelOpenError::Unreadable { file, error });
        }
        if text.len() as u64 > SCRIPT_BYTES_MAX {
            let why = format!("the script is longer than {SCRIPT_BYTES_MAX} bytes");
            return Err(ModelOpenError::Line { file, line: 1, why });
        }
        let wrong = |line, why| ModelOpenError::Line { file: file.clone(), line, why };
        let mut lines = Vec::new();
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            let parsed: ScriptLine = serde_json::from_str(line).map_err(|error| {
                let why = format!("{error}; write one JSON object with text, thinking, tool_calls, error, delay_ms or pace_ms");
                wrong(at + 1, why)
            })?;
            if parsed.delay_ms.max(parsed.pace_ms) > SCRIPT_DELAY_MS_MAX {
                return Err(wrong(
                    at + 1,
                    format!("delay_ms or pace_ms is above {SCRIPT_DELAY_MS_MAX}"),
                ));
            }
            lines.push(parsed);
        }
        Ok(Self { file, lines })
    }
}

impl Model for ScriptedModel {
    fn ask(&self, question: &ModelQuery<'_>) -> Result<ModelAnswer, ModelFailure> {
        let at = usize::try_from(question.number).unwrap_or(usize::MAX).saturating_sub(1);
        let Some(line) = self.lines.get(at) else {
            let message = format!(
                "the script {} has {} lines, and this is request {}",
                self.file,
                self.lines.len(),
                question.number
            );
            return Err(ModelFailure::new(FailureKind::ScriptEnded, message));
        };
        if line.delay_ms > 0 && !(question.wait)(Duration::from_millis(line.delay_ms)) {
            let message = "nobody wants the answer any more".to_owned();
            return Err(ModelFailure::new(FailureKind::Interrupted, message));
        }
        for piece in pieces(&line.thinking) {
            (question.hear)(Delta::Thinking(piece.to_owned()));
        }
        for piece in pieces(&line.text) {
            (question.hear)(Delta::Text(piece.to_owned()));
            if line.pace_ms > 0 && !(question.wait)(Duration::from_millis(line.pace_ms)) {
                let message = "nobody wants the answer any more".to_owned();
                return Err(ModelFailure::new(FailureKind::Interrupted, message));
            }
        }
        if let Some(ScriptFailure { kind, message }) = &line.error {
            let message = message.clone().unwrap_or_else(|| format!("scripted failure: {kind:?}"));
            return Err(ModelFailure::new(*kind, message));
        }
        Ok(ModelAnswer {
            text: line.text.clone(),
            thinking: line.thinking.clone(),
            calls: line.tool_calls.clone(),
            usage: line.usage,
            ..ModelAnswer::default()
        })
    }
}

/// Splits a text into words, each with the space after it, as streams do.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}
